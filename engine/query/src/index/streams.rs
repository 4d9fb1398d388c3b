//! The index states of streams in use, kept in memory up to a limit.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use store::{Store, StoreError};
use tokio::sync::Notify;

use super::{
    segment::Segment,
    state::{StateSlot, View},
};
use crate::{rows::RowCache, stream::Stream};

/// Maximum size of the states in memory. Above it, the least recently used ones are dropped.
const MOST_BYTES: usize = 64 << 20;
/// Overhead of a stream in memory, in addition to its entries.
const SLOT_BYTES: usize = 512;
/// Size of unmerged changes that makes a stream due for a merge. It bounds the work of the first reader after
/// a start, and fills a good number of blocks.
pub(super) const DUE_BYTES: usize = 128 << 10;
/// Number of attempts of a read that fails because of a concurrent merge.
const AGAIN: usize = 3;

/// Limits of index reads, above which a query switches to another source.
#[derive(Clone, Copy, Debug)]
pub struct ReadBudget {
    /// Maximum number of records collected for a name prefix.
    pub named: usize,
    /// Maximum number of words with a name prefix whose records are merged if they are not collected. With more words,
    /// most pages fill up quickly without the index.
    pub words: usize,
    /// Maximum number of records collected for several terms.
    pub with_terms: usize,
    /// Maximum number of records collected for a time of change.
    pub changed: usize,
    /// Number of mismatches allowed in the times of change before changed records are collected instead, and the
    /// additional credit per match. The values balance both methods at five thousand changes among a million
    /// records.
    pub credit: usize,
    pub earned: usize,
}

impl Default for ReadBudget {
    fn default() -> ReadBudget {
        ReadBudget { named: 5_000, words: 256, with_terms: 100_000, changed: 20_000, credit: 512, earned: 200 }
    }
}

/// The index of a store, and the rows of its recent lists.
#[derive(Default)]
pub struct Index {
    pub(crate) budget: ReadBudget,
    rows: RowCache,
    pub(super) slots: Mutex<Slots>,
    /// Bytes of changes since the last merge, as known to this process. Streams not yet seen have no entry.
    pub(super) unmerged: Mutex<HashMap<Stream, usize>>,
    /// Notified when a stream is due for a merge.
    pub(super) due: Notify,
    /// Replaced segments, which are deleted when no reader uses them.
    pub(super) replaced: Mutex<Vec<Arc<Segment>>>,
}

/// Streams in memory and their total size.
#[derive(Default)]
pub(super) struct Slots {
    pub(super) held: HashMap<Stream, Held>,
    bytes: usize,
    asked: u64,
}

#[derive(Default)]
pub(super) struct Held {
    pub(super) slot: Arc<StateSlot>,
    /// The logical time of the last use.
    asked: u64,
    bytes: usize,
}

impl Index {
    /// Creates an index with other limits.
    pub fn with(budget: ReadBudget) -> Index {
        Index { budget, ..Index::default() }
    }

    /// Returns the rows of recent lists.
    pub fn rows(&self) -> &RowCache {
        &self.rows
    }

    /// Reads from the current index of a stream. Repeats `read` if it fails because another process merged the
    /// stream meanwhile.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        store: &dyn Store,
        stream: Option<Stream>,
        read: impl Fn(&View) -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(stream) = stream else { return read(&View::empty()) };
        for _ in 1..AGAIN {
            let view = self.view(store, stream)?;
            match read(&view) {
                Err(_) if view.is_outdated(store)? => self.slots.lock().remove(stream),
                answer => return answer,
            }
        }
        read(&self.view(store, stream)?)
    }

    fn view(&self, store: &dyn Store, stream: Stream) -> Result<View, StoreError> {
        let slot = self.slots.lock().slot(stream);
        let view = slot.view(store, stream);
        let bytes = slot.bytes();
        self.slots.lock().weigh(stream, bytes);
        view
    }

    /// Reports that a commit adds this number of bytes to a stream.
    pub fn journaled(&self, stream: Stream, bytes: usize) {
        let mut unmerged = self.unmerged.lock();
        let due = match unmerged.get_mut(&stream) {
            Some(sum) => {
                *sum += bytes;
                *sum >= DUE_BYTES
            }
            // The amount of earlier changes is unknown; a merge determines it.
            None => {
                unmerged.insert(stream, DUE_BYTES);
                true
            }
        };
        if due {
            self.due.notify_one();
        }
    }
}

impl Slots {
    fn slot(&mut self, stream: Stream) -> Arc<StateSlot> {
        self.asked += 1;
        let held = self.held.entry(stream).or_default();
        held.asked = self.asked;
        held.slot.clone()
    }

    /// Updates the size of a stream. If the total exceeds the limit, the least recently used streams are dropped
    /// until a quarter is free, which amortizes the cost.
    fn weigh(&mut self, stream: Stream, bytes: usize) {
        let Some(held) = self.held.get_mut(&stream) else { return };
        let before = std::mem::replace(&mut held.bytes, bytes + SLOT_BYTES);
        self.bytes = self.bytes - before + held.bytes;
        if self.bytes <= MOST_BYTES {
            return;
        }
        let mut others: Vec<(u64, Stream)> =
            self.held.iter().filter(|(it, _)| **it != stream).map(|(it, held)| (held.asked, *it)).collect();
        others.sort_unstable();
        for (_, oldest) in others {
            if self.bytes <= MOST_BYTES / 4 * 3 {
                return;
            }
            self.remove(oldest);
        }
    }

    fn remove(&mut self, stream: Stream) {
        self.bytes -= self.held.remove(&stream).map_or(0, |held| held.bytes);
    }
}
