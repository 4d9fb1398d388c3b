//! Segments: sorted entries in packed blocks, immutable, and replaced by merging several into one. The
//! manifest of a stream lists its segments and the number of the last change they contain.
//!
//! ```text
//! manifest  stream                        ─► list of segments, newest first
//! block     stream, segment, 0, number    ─► entries
//! block     stream, segment, 1, number    ─► first entries of the segment's blocks
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use store::{Direction, Key, KeyRange, Store, StoreError, Version, keys};

use super::block::Block;
use crate::stream::Stream;

pub(super) const ENTRIES: u8 = 0;
pub(super) const FIRSTS: u8 = 1;
/// Number of blocks of first entries per read.
const READ_AT_ONCE: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The number of the last change in the segments.
    pub merged_to: u64,
    /// The number of the next segment; numbers are never reused.
    pub next_segment: u64,
    /// The segments, newest first.
    pub segments: Vec<Listed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub number: u64,
    pub blocks: u32,
}

impl Manifest {
    pub(super) fn read(store: &dyn Store, stream: Stream) -> Result<(Manifest, Option<Version>), StoreError> {
        let key = keys::index_manifest(stream.number());
        let Some(found) = store.read(&key)? else { return Ok((Manifest::default(), None)) };
        let manifest = serde_json::from_slice(&found.value);
        let manifest = manifest.map_err(|_| StoreError::damaged(&key, "a manifest that cannot be read"))?;
        Ok((manifest, Some(found.version)))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers can always be written as JSON")
    }
}

/// Returns the number of the last change of a stream that is contained in the segments.
pub(crate) fn merged_to(store: &dyn Store, stream: Stream) -> Result<u64, StoreError> {
    Ok(Manifest::read(store, stream)?.0.merged_to)
}

pub(super) struct Segment {
    pub(super) stream: Stream,
    pub(super) listed: Listed,
    /// The first entry of each block.
    firsts: Block,
}

impl Segment {
    fn open(store: &dyn Store, stream: Stream, listed: Listed) -> Result<Segment, StoreError> {
        let of = |number| keys::index_block(stream.number(), listed.number, FIRSTS, number);
        let (mut firsts, mut range) = (Block::default(), KeyRange::new(of(0), of(u32::MAX)));
        loop {
            let found = store.scan(range.clone(), Direction::Forward, READ_AT_ONCE)?;
            for (key, packed) in &found {
                firsts.unpack(packed).ok_or_else(|| unreadable(key))?;
            }
            let Some((last, _)) = found.last().filter(|_| found.len() == READ_AT_ONCE) else { break };
            range = range.after(last);
        }
        if firsts.len() != listed.blocks as usize {
            return Err(StoreError::damaged(&of(0), "a segment that does not have all its blocks"));
        }
        Ok(Segment { stream, listed, firsts })
    }

    /// Opens the listed segments. Known ones are not read again.
    pub(super) fn open_all(
        store: &dyn Store,
        stream: Stream,
        of: &[Listed],
        known: &[Arc<Segment>],
    ) -> Result<Vec<Arc<Segment>>, StoreError> {
        let open = |listed: &Listed| match known.iter().find(|known| known.listed == *listed) {
            Some(known) => Ok(known.clone()),
            None => Segment::open(store, stream, *listed).map(Arc::new),
        };
        of.iter().map(open).collect()
    }

    pub(super) fn from_parts(stream: Stream, listed: Listed, firsts: Block) -> Segment {
        Segment { stream, listed, firsts }
    }

    pub(super) fn bytes(&self) -> usize {
        self.firsts.bytes()
    }

    /// Returns the first entries of the blocks that begin in a range. They are in memory.
    pub(super) fn first_entries(&self, start: &[u8], end: &[u8]) -> impl Iterator<Item = &[u8]> {
        let range = self.firsts.before(start)..self.firsts.before(end);
        range.filter_map(move |index| self.firsts.get(index)).map(|(first, _)| first)
    }

    fn block(&self, store: &dyn Store, number: usize) -> Result<Block, StoreError> {
        let number = u32::try_from(number).expect("blocks are counted in 32 bits");
        let key = keys::index_block(self.stream.number(), self.listed.number, ENTRIES, number);
        let packed = store.get(&key)?.ok_or_else(|| StoreError::damaged(&key, "a block that is not there"))?;
        let mut block = Block::default();
        block.unpack(&packed).ok_or_else(|| unreadable(&key))?;
        Ok(block)
    }
}

fn unreadable(key: &Key) -> StoreError {
    StoreError::damaged(key, "a block that cannot be read")
}

/// Sorted entries, in memory or on the disk.
#[derive(Clone)]
pub(super) enum EntryTable {
    Fresh(Arc<Block>),
    Stored(Arc<Segment>),
}

impl EntryTable {
    pub(super) fn blocks(&self) -> usize {
        match self {
            EntryTable::Fresh(_) => 1,
            EntryTable::Stored(segment) => segment.firsts.len(),
        }
    }

    /// Returns the block that would contain an entry.
    pub(super) fn block_of(&self, entry: &[u8]) -> usize {
        match self {
            EntryTable::Fresh(_) => 0,
            EntryTable::Stored(segment) => {
                let before = segment.firsts.before(entry);
                let starts_with_it = segment.firsts.get(before).is_some_and(|(first, _)| first == entry);
                if starts_with_it { before } else { before.saturating_sub(1) }
            }
        }
    }

    pub(super) fn block(&self, store: &dyn Store, number: usize) -> Result<Arc<Block>, StoreError> {
        match self {
            EntryTable::Fresh(block) => Ok(block.clone()),
            EntryTable::Stored(segment) => segment.block(store, number).map(Arc::new),
        }
    }
}
