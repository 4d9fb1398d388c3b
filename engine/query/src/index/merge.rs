//! Merging of the index. The changes of a stream since its last merge become a segment, and several segments
//! become one, in commits of bounded size. Each commit expects the manifest that the merge began with, so
//! concurrent merges of a stream conflict. Segments left over by an interrupted merge are deleted by the next
//! merge of the stream.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

use store::{Batch, CommitError, Direction, Key, KeyRange, Store, StoreError, Version, keys, prefix_end};
use tokio::task::JoinSet;

use super::{
    block::{Block, Packer},
    cursor::Cursor,
    segment::{ENTRIES, EntryTable, FIRSTS, Listed, Manifest, Segment},
    state::apply_change,
    streams::{DUE_BYTES, Index},
};
use crate::{
    reading::reading,
    stream::{self, Entry, Stream},
};

/// Maximum size of the changes per merge.
const CHANGES_BYTES: usize = 2 * DUE_BYTES;
const READ_AT_ONCE: usize = 32;
/// Minimum number of segments of similar size to merge into one.
const TOGETHER: usize = 4;
/// Blocks per commit, about as much as a commit group, so that other commits wait only briefly.
const BLOCKS_AT_ONCE: usize = 64;
const KEYS_AT_ONCE: usize = 500;
/// Number of streams merged concurrently.
const STREAMS_AT_ONCE: usize = 4;
/// Pause between two commits.
const PAUSE: Duration = Duration::from_millis(5);
const AFTER_FAILURE: Duration = Duration::from_secs(10);

/// Merges due streams forever, each stream in one task at a time.
pub async fn run(index: Arc<Index>, store: Arc<dyn Store>) {
    let (mut merging, mut busy) = (JoinSet::new(), HashSet::new());
    loop {
        tokio::select! {
            () = index.due.notified(), if merging.len() < STREAMS_AT_ONCE => {}
            Some(done) = merging.join_next() => {
                // A panic is already logged. The stream is not merged again until the next start.
                if let Ok(stream) = done {
                    busy.remove(&stream);
                }
            }
        }
        for stream in index.take_due(&busy, STREAMS_AT_ONCE - merging.len()) {
            busy.insert(stream);
            let (index, store) = (index.clone(), store.clone());
            merging.spawn(async move {
                if let Err(error) = merge(&index, &store, stream, DUE_BYTES, PAUSE).await {
                    tracing::warn!(%error, "a merge of the index ended early; it is tried again");
                    tokio::time::sleep(AFTER_FAILURE).await;
                    index.unknown(stream);
                }
                stream
            });
        }
    }
}

/// Merges a stream with at least `least` bytes of unmerged changes, then segments of similar size.
pub async fn merge(
    index: &Arc<Index>,
    store: &Arc<dyn Store>,
    stream: Stream,
    least: usize,
    pause: Duration,
) -> Result<(), CommitError> {
    let merged = async {
        while add_changes(index, store, stream, least).await? {
            tokio::time::sleep(pause).await;
            while merge_segments(index, store, stream, pause).await? {}
        }
        delete_replaced(index, store, pause).await
    };
    match merged.await {
        // Another process merges the stream.
        Err(CommitError::Conflict { .. }) => Ok(()),
        outcome => outcome,
    }
}

impl Index {
    /// Returns up to `most` of the streams that are due.
    fn take_due(&self, but: &HashSet<Stream>, most: usize) -> Vec<Stream> {
        let mut unmerged = self.unmerged.lock();
        let due = unmerged.iter_mut().filter(|(stream, bytes)| **bytes >= DUE_BYTES && !but.contains(*stream));
        let due = due.take(most).map(|(stream, bytes)| {
            *bytes = 0;
            *stream
        });
        due.collect()
    }

    /// Marks the stream as due, because its amount of unmerged changes is unknown.
    fn unknown(&self, stream: Stream) {
        self.unmerged.lock().insert(stream, DUE_BYTES);
        self.due.notify_one();
    }

    fn segment_written(&self, store: &dyn Store, stream: Stream, written: &[Arc<Segment>]) -> Result<(), StoreError> {
        let slot = self.slots.lock().held.get(&stream).map(|held| held.slot.clone());
        slot.map_or(Ok(()), |slot| slot.refresh(store, stream, written))
    }

    /// Returns segments of a stream, reusing those in memory.
    fn segments(&self, store: &dyn Store, stream: Stream, of: &[Listed]) -> Result<Vec<Arc<Segment>>, StoreError> {
        let slot = self.slots.lock().held.get(&stream).map(|held| held.slot.clone());
        let known = slot.map(|slot| slot.segments()).unwrap_or_default();
        Segment::open_all(store, stream, of, &known)
    }
}

/// Merges the changes after the last merge into a segment. Returns `false` if they have fewer than `least`
/// bytes.
async fn add_changes(
    index: &Arc<Index>,
    store: &Arc<dyn Store>,
    stream: Stream,
    least: usize,
) -> Result<bool, CommitError> {
    let begun = reading(store, move |store| {
        let (manifest, version) = Manifest::read(store, stream)?;
        let changes = UnmergedChanges::read(store, stream, manifest.merged_to)?;
        Ok((manifest, version, changes))
    });
    let (mut manifest, version, changes) = begun.await?;
    if changes.last == manifest.merged_to || changes.bytes < least {
        index.unmerged.lock().insert(stream, changes.bytes);
        return Ok(false);
    }
    let mut batch = guarded_batch(stream, version);
    let mut writer = Writer::new(stream, manifest.next_segment);
    // Removal markers matter only if there are older segments.
    let oldest = manifest.segments.is_empty();
    for (entry, present) in changes.entries.iter().filter(|(_, present)| **present || !oldest) {
        writer.push(entry, *present, &mut batch);
    }
    let segment = writer.finish(&mut batch);
    manifest.merged_to = changes.last;
    if let Some(segment) = &segment {
        manifest.next_segment += 1;
        manifest.segments.insert(0, segment.listed);
    }
    batch.put(keys::index_manifest(stream.number()), manifest.to_bytes());
    store.commit(batch).await?;
    let (index, written) = (index.clone(), segment.map(Arc::new));
    reading(store, move |store| index.segment_written(store, stream, written.as_slice())).await?;
    Ok(true)
}

struct UnmergedChanges {
    entries: BTreeMap<Entry, bool>,
    last: u64,
    bytes: usize,
}

impl UnmergedChanges {
    fn read(store: &dyn Store, stream: Stream, after: u64) -> Result<UnmergedChanges, StoreError> {
        let mut changes = UnmergedChanges { entries: BTreeMap::new(), last: after, bytes: 0 };
        while changes.bytes < CHANGES_BYTES {
            let range = keys::feed_after(stream.number(), changes.last);
            let found = store.scan(range, Direction::Forward, READ_AT_ONCE)?;
            for (key, value) in &found {
                for (number, change) in stream::parse(key, value)?.changes {
                    changes.bytes += change.weight();
                    changes.last = number;
                    apply_change(&mut changes.entries, change);
                }
            }
            if found.len() < READ_AT_ONCE {
                break;
            }
        }
        Ok(changes)
    }
}

/// Returns the number of newest segments to merge: each is at most twice as large as all newer ones together.
/// An entry is therefore rewritten only when its segment doubles.
fn of_about_one_size(segments: &[Listed]) -> usize {
    let (mut together, mut count) = (0u64, 0);
    for segment in segments {
        if count > 0 && u64::from(segment.blocks) > 2 * together {
            break;
        }
        together += u64::from(segment.blocks);
        count += 1;
    }
    count
}

/// Merges the newest segments into one. Returns `false` if there are not enough of similar size.
async fn merge_segments(
    index: &Arc<Index>,
    store: &Arc<dyn Store>,
    stream: Stream,
    pause: Duration,
) -> Result<bool, CommitError> {
    let (mut manifest, version) = reading(store, move |store| Manifest::read(store, stream)).await?;
    let count = of_about_one_size(&manifest.segments);
    if count < TOGETHER {
        return Ok(false);
    }
    let number = manifest.next_segment;
    manifest.next_segment += 1;
    let mut claim = guarded_batch(stream, version);
    claim.put(keys::index_manifest(stream.number()), manifest.to_bytes());
    store.commit(claim).await?;
    let (claimed, version) = reading(store, move |store| Manifest::read(store, stream)).await?;
    if claimed != manifest {
        return Ok(false);
    }
    delete_left_over(index, store, stream, &manifest, version, pause).await?;

    let (at, listed) = (index.clone(), manifest.segments[..count].to_vec());
    let old = reading(store, move |store| at.segments(store, stream, &listed)).await?;
    let oldest = count == manifest.segments.len();
    let tables = old.iter().cloned().map(EntryTable::Stored);
    let mut merge = Merge {
        cursor: Cursor::new(tables, Entry::new(), vec![u8::MAX; 2], Direction::Forward),
        writer: Writer::new(stream, number),
        oldest,
    };
    let written = loop {
        let step = reading(store, move |store| {
            let mut batch = guarded_batch(stream, version);
            let more = merge.step(store, &mut batch)?;
            Ok((merge, batch, more))
        });
        let (rest, mut batch, more) = step.await?;
        merge = rest;
        if more {
            store.commit(batch).await?;
            tokio::time::sleep(pause).await;
            continue;
        }
        let written = merge.writer.finish(&mut batch);
        manifest.segments.splice(..count, written.as_ref().map(|written| written.listed));
        batch.put(keys::index_manifest(stream.number()), manifest.to_bytes());
        store.commit(batch).await?;
        break written.map(Arc::new);
    };
    index.replaced.lock().extend(old);
    let index = index.clone();
    reading(store, move |store| index.segment_written(store, stream, written.as_slice())).await?;
    Ok(true)
}

struct Merge {
    cursor: Cursor,
    writer: Writer,
    /// `true` if the oldest segment is included, so that removal markers can be dropped.
    oldest: bool,
}

impl Merge {
    /// Writes some blocks. Returns whether there are more.
    fn step(&mut self, store: &dyn Store, batch: &mut Batch) -> Result<bool, StoreError> {
        while batch.writes().len() < BLOCKS_AT_ONCE {
            let Some((entry, present)) = self.cursor.next_or_gone(store)? else { return Ok(false) };
            if present || !self.oldest {
                self.writer.push(&entry, present, batch);
            }
        }
        Ok(true)
    }
}

/// Writes a segment block by block.
struct Writer {
    stream: Stream,
    number: u64,
    entries: Packer,
    first: Entry,
    blocks: u32,
    firsts: Packer,
    blocks_of_firsts: u32,
    all_firsts: Vec<Entry>,
}

impl Writer {
    fn new(stream: Stream, number: u64) -> Writer {
        let (entries, firsts) = (Packer::default(), Packer::default());
        let (first, all_firsts) = (Entry::new(), Vec::new());
        Writer { stream, number, entries, first, blocks: 0, firsts, blocks_of_firsts: 0, all_firsts }
    }

    fn push(&mut self, entry: &[u8], present: bool, batch: &mut Batch) {
        if self.entries.is_empty() {
            self.first = entry.to_vec();
        }
        self.entries.push(entry, present);
        if self.entries.is_full() {
            self.write_entries(batch);
        }
    }

    fn write_entries(&mut self, batch: &mut Batch) {
        batch.put(self.key(ENTRIES, self.blocks), self.entries.take());
        self.blocks += 1;
        let first = std::mem::take(&mut self.first);
        self.firsts.push(&first, true);
        self.all_firsts.push(first);
        if self.firsts.is_full() {
            self.write_firsts(batch);
        }
    }

    fn write_firsts(&mut self, batch: &mut Batch) {
        batch.put(self.key(FIRSTS, self.blocks_of_firsts), self.firsts.take());
        self.blocks_of_firsts += 1;
    }

    /// Writes the remaining blocks. Returns `None` for a segment without entries.
    fn finish(mut self, batch: &mut Batch) -> Option<Segment> {
        if !self.entries.is_empty() {
            self.write_entries(batch);
        }
        if !self.firsts.is_empty() {
            self.write_firsts(batch);
        }
        let firsts = Block::from_entries(self.all_firsts.iter().map(|first| (first.as_slice(), true)));
        let listed = Listed { number: self.number, blocks: self.blocks };
        (self.blocks > 0).then(|| Segment::from_parts(self.stream, listed, firsts))
    }

    fn key(&self, level: u8, number: u32) -> Key {
        keys::index_block(self.stream.number(), self.number, level, number)
    }
}

/// Returns a batch that expects the manifest in the version that was read.
fn guarded_batch(stream: Stream, version: Option<Version>) -> Batch {
    let mut batch = Batch::new();
    batch.expect_unchanged(keys::index_manifest(stream.number()), version);
    batch
}

/// Deletes segments that no manifest lists, left over by interrupted merges or deletions.
async fn delete_left_over(
    index: &Arc<Index>,
    store: &Arc<dyn Store>,
    stream: Stream,
    manifest: &Manifest,
    version: Option<Version>,
    pause: Duration,
) -> Result<(), CommitError> {
    let read = index.replaced.lock().iter().filter(|it| it.stream == stream).map(|it| it.listed.number).collect();
    let named: BTreeSet<u64> = manifest.segments.iter().map(|listed| listed.number).collect();
    let kept: BTreeSet<u64> = &named | &read;
    let mut from = 0;
    loop {
        let range = KeyRange::new(
            keys::index_block(stream.number(), from, 0, 0),
            prefix_end(&keys::index_block(stream.number(), u64::MAX, u8::MAX, u32::MAX)),
        );
        let next = reading(store, move |store| store.scan_keys(range, Direction::Forward, 1)).await?;
        let Some((_, number, ..)) = next.first().and_then(|key| keys::parse_index_block(key)) else { return Ok(()) };
        if !kept.contains(&number) {
            let blocks = keys::index_segment(stream.number(), number);
            delete_all(store, blocks, || guarded_batch(stream, version), pause).await?;
        }
        from = number + 1;
    }
}

/// Deletes replaced segments that no reader uses.
async fn delete_replaced(index: &Arc<Index>, store: &Arc<dyn Store>, pause: Duration) -> Result<(), CommitError> {
    let unread: Vec<Arc<Segment>> =
        index.replaced.lock().extract_if(.., |segment| Arc::strong_count(segment) == 1).collect();
    for segment in unread {
        let blocks = keys::index_segment(segment.stream.number(), segment.listed.number);
        delete_all(store, blocks, Batch::new, pause).await?;
    }
    Ok(())
}

/// Deletes all keys of a range, each batch with the preconditions of `begin`.
pub(super) async fn delete_all(
    store: &Arc<dyn Store>,
    all: KeyRange,
    begin: impl Fn() -> Batch,
    pause: Duration,
) -> Result<(), CommitError> {
    loop {
        let range = all.clone();
        let found = reading(store, move |store| store.scan_keys(range, Direction::Forward, KEYS_AT_ONCE)).await?;
        if found.is_empty() {
            return Ok(());
        }
        let mut batch = begin();
        for key in found {
            batch.delete(key);
        }
        store.commit(batch).await?;
        tokio::time::sleep(pause).await;
    }
}
