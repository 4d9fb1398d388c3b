//! The index state of one stream: its segments, and the entries of later changes. Readers use an immutable
//! view of it.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use store::{Direction, Store, StoreError, Version, keys};

use super::{
    block::Block,
    cursor::{Cursor, PointLookup},
    entry,
    segment::{EntryTable, Manifest, Segment},
};
use crate::stream::{self, Change, Entry, Stream};

/// Number of values of the stream per read.
const READ_AT_ONCE: usize = 256;
/// Time after which an unused state is loaded again, much shorter than `feed::KEPT`: another node may have merged and
/// pruned changes that this state lacks.
const USED_WITHIN: Duration = Duration::from_secs(24 * 3_600);

pub(super) struct IndexState {
    stream: Stream,
    version: Option<Version>,
    segments: Vec<Arc<Segment>>,
    /// Blocks of unmerged changes, newest first. Each has less than half the entries of the next, so their number
    /// is logarithmic.
    fresh: Vec<Arc<Block>>,
    /// The number of the last change in the segments and blocks.
    applied: u64,
    /// The time of the last complete read of the changes.
    caught_up: Instant,
}

impl IndexState {
    /// Loads the merged part; segments in `known` are not read again.
    pub(super) fn load(store: &dyn Store, stream: Stream, known: &[Arc<Segment>]) -> Result<IndexState, StoreError> {
        let (manifest, version) = Manifest::read(store, stream)?;
        let segments = Segment::open_all(store, stream, &manifest.segments, known)?;
        let (fresh, applied, caught_up) = (Vec::new(), manifest.merged_to, Instant::now());
        Ok(IndexState { stream, version, segments, fresh, applied, caught_up })
    }

    /// Returns the approximate size in memory.
    pub(super) fn bytes(&self) -> usize {
        let segments = self.segments.iter().map(|segment| segment.bytes());
        segments.chain(self.fresh.iter().map(|block| block.bytes())).sum()
    }

    /// Reads the changes committed since the last call.
    pub(super) fn catch_up(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let begun = Instant::now();
        let (mut news, mut applied) = (BTreeMap::new(), self.applied);
        loop {
            let found =
                store.scan(keys::feed_after(self.stream.number(), applied), Direction::Forward, READ_AT_ONCE)?;
            for (key, value) in &found {
                for (number, change) in stream::parse(key, value)?.changes {
                    applied = number;
                    apply_change(&mut news, change);
                }
            }
            if found.len() < READ_AT_ONCE {
                break;
            }
        }
        (self.applied, self.caught_up) = (applied, begun);
        if !news.is_empty() {
            self.add(Block::from_entries(news.iter().map(|(entry, present)| (entry.as_slice(), *present))));
        }
        Ok(())
    }

    fn add(&mut self, mut news: Block) {
        let as_long = self.fresh.iter().take_while({
            let mut length = news.len();
            move |older| {
                let joins = older.len() <= 2 * length;
                length += older.len();
                joins
            }
        });
        let as_long = as_long.count();
        for older in self.fresh.drain(..as_long) {
            news = joined(&news, &older);
        }
        self.fresh.insert(0, Arc::new(news));
    }

    pub(super) fn view(&self) -> View {
        let fresh = self.fresh.iter().cloned().map(EntryTable::Fresh);
        let tables = fresh.chain(self.segments.iter().cloned().map(EntryTable::Stored)).collect();
        View { stream: Some(self.stream), version: self.version, tables }
    }
}

/// Applies a change to the index entries.
pub(super) fn apply_change(entries: &mut BTreeMap<Entry, bool>, change: Change) {
    let Change::Record(change) = change else { return };
    entries.extend(change.removed.into_iter().map(|entry| (entry, false)));
    entries.extend(change.added.into_iter().map(|entry| (entry, true)));
}

fn joined(newer: &Block, older: &Block) -> Block {
    let mut all: BTreeMap<&[u8], bool> = older.iter().collect();
    all.extend(newer.iter());
    Block::from_entries(all)
}

/// The entries of a stream at one point in time.
pub(crate) struct View {
    stream: Option<Stream>,
    version: Option<Version>,
    /// The tables, newest first.
    tables: Vec<EntryTable>,
}

impl View {
    /// Returns the view for documents without an index.
    pub(crate) fn empty() -> View {
        View { stream: None, version: None, tables: Vec::new() }
    }

    /// Returns a cursor over the entries from `start` (inclusive) to `end` (exclusive).
    pub(crate) fn cursor(&self, start: Entry, end: Entry, direction: Direction) -> Cursor {
        Cursor::new(self.tables.iter().cloned(), start, end, direction)
    }

    pub(crate) fn lookup(&self) -> PointLookup {
        PointLookup::new(self.tables.iter().cloned())
    }

    /// Returns the number of stored blocks that are full and in a range, and the largest number of different words with
    /// which the blocks of one segment in the range begin, without a read. Removed entries count until a merge drops
    /// them.
    pub(crate) fn stored_blocks(&self, start: &[u8], end: &[u8]) -> (usize, usize) {
        let (mut full, mut words) = (0, 0);
        for table in &self.tables {
            let EntryTable::Stored(segment) = table else { continue };
            let mut firsts: Vec<&[u8]> = segment.first_entries(start, end).map(entry::with_word).collect();
            // The last block may end after the range, or not be full.
            full += firsts.len().saturating_sub(1);
            firsts.dedup();
            // Blocks of several segments begin with different words, even if the segments contain the same ones.
            words = words.max(firsts.len());
        }
        (full, words)
    }

    /// Returns whether the segments were merged meanwhile, so that their blocks may be deleted.
    pub(crate) fn is_outdated(&self, store: &dyn Store) -> Result<bool, StoreError> {
        let Some(stream) = self.stream else { return Ok(false) };
        Ok(Manifest::read(store, stream)?.1 != self.version)
    }
}

/// The state of a stream, loaded on first use.
#[derive(Default)]
pub(super) struct StateSlot(Mutex<Option<IndexState>>);

impl StateSlot {
    pub(super) fn view(&self, store: &dyn Store, stream: Stream) -> Result<View, StoreError> {
        let mut state = self.0.lock();
        if state.as_ref().is_some_and(|state| state.caught_up.elapsed() > USED_WITHIN) {
            *state = None;
        }
        let state = match &mut *state {
            Some(state) => state,
            none => none.insert(IndexState::load(store, stream, &[])?),
        };
        state.catch_up(store)?;
        Ok(state.view())
    }

    /// Reloads the merged part, if it is in memory.
    pub(super) fn refresh(
        &self,
        store: &dyn Store,
        stream: Stream,
        written: &[Arc<Segment>],
    ) -> Result<(), StoreError> {
        let mut state = self.0.lock();
        if let Some(old) = &*state {
            let known: Vec<_> = old.segments.iter().chain(written).cloned().collect();
            // Dropped first, so that a failed load leaves no outdated state.
            *state = None;
            *state = Some(IndexState::load(store, stream, &known)?);
        }
        Ok(())
    }

    pub(super) fn segments(&self) -> Vec<Arc<Segment>> {
        self.0.lock().as_ref().map(|state| state.segments.clone()).unwrap_or_default()
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.lock().as_ref().map_or(0, IndexState::bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::{pull::Resource, time::Timestamp};
    use store::{Batch, MemoryStore};

    use super::*;
    use crate::{
        feed::{Followed, KEPT},
        retention,
        stream::{ChangeKind, CommitHeader, Readers, Recorded, append},
    };

    #[tokio::test]
    async fn changes_that_another_node_pruned_are_not_missing() {
        let now = Timestamp(1_800_000_000_000);
        let (memory, slot, stream) = (Arc::new(MemoryStore::new()), StateSlot::default(), Stream::Location(1));
        let store: Arc<dyn Store> = memory.clone();
        let change = |entry: u8, at| {
            let header = CommitHeader { at, institution: None, turn: None, origin: None };
            let change = Change::Record(Recorded {
                resource: Resource::Patients,
                id: 1,
                change: ChangeKind::Updated,
                readers: Readers::Location(1),
                removed: Vec::new(),
                added: vec![vec![entry]],
                states: None,
            });
            let mut batch = Batch::new();
            append(&mut batch, stream, &header, &[change]);
            memory.commit_now(batch).unwrap();
        };
        let entries = || {
            let view = slot.view(&*store, stream).unwrap();
            let mut cursor = view.cursor(Entry::new(), vec![u8::MAX], Direction::Forward);
            std::iter::from_fn(|| cursor.next(&*store).unwrap()).collect::<Vec<_>>()
        };
        change(1, now.minus(2 * KEPT));
        assert_eq!(entries(), [[1_u8]]);

        change(2, now.minus(KEPT));
        let followed: Arc<Followed> = Arc::new(|_| Ok(u64::MAX));
        retention::all(&Arc::default(), &store, &followed, now, Duration::ZERO).await.unwrap();
        change(3, now);
        if let Some(state) = &mut *slot.0.lock() {
            state.caught_up = state.caught_up.checked_sub(2 * USED_WITHIN).unwrap();
        }
        assert_eq!(entries(), [[1_u8], [2], [3]]);
    }
}
