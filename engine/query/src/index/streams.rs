//! The streams whose index somebody asked for: what is known of them is kept in memory, up to a bound.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use store::{Store, StoreError};
use tokio::sync::Notify;

use super::{
    segment::Segment,
    state::{Slot, View},
};
use crate::stream::Stream;

/// Bytes of what is kept in memory of streams that were asked for: beyond them those asked for longest ago are forgotten.
const MOST_BYTES: usize = 64 << 20;
/// Of a stream in memory beside its entries.
const SLOT_BYTES: usize = 512;
/// Bytes of changes after which they are merged: what a reader takes in after a start, and a good number of blocks.
pub(super) const DUE_BYTES: usize = 128 << 10;
/// Times a reader begins again when what it reads was merged meanwhile.
const AGAIN: usize = 3;

/// How much is read of the index before another way is taken.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Records of a beginning of a name that are collected.
    pub named: usize,
    /// Records changed since a time that are collected.
    pub changed: usize,
    /// Times of change read in vain before what changed is collected instead, and how many more for each that was not: as many as
    /// collecting costs where it is about as good, with five thousand of a million.
    pub credit: usize,
    pub earned: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { named: 5_000, changed: 20_000, credit: 512, earned: 200 }
    }
}

/// The index of a store.
#[derive(Default)]
pub struct Index {
    effort: Effort,
    pub(super) slots: Mutex<Slots>,
    /// Bytes of changes since the last merge that this process knows of; none of a stream it has not looked at.
    pub(super) unmerged: Mutex<HashMap<Stream, usize>>,
    /// There is something to merge.
    pub(super) due: Notify,
    /// Segments that were replaced; they are deleted when nobody reads them any more.
    pub(super) replaced: Mutex<Vec<Arc<Segment>>>,
}

/// Streams in memory, and the bytes of all of them.
#[derive(Default)]
pub(super) struct Slots {
    pub(super) held: HashMap<Stream, Held>,
    bytes: usize,
    asked: u64,
}

#[derive(Default)]
pub(super) struct Held {
    pub(super) slot: Arc<Slot>,
    /// When it was asked for last, as a count.
    asked: u64,
    bytes: usize,
}

impl Index {
    /// One that readers take another way to sooner or later than usual.
    pub fn with(effort: Effort) -> Index {
        Index { effort, ..Index::default() }
    }

    pub(crate) fn effort(&self) -> Effort {
        self.effort
    }

    /// Reads from a stream's index as it is now. `read` begins again when what it reads was merged meanwhile by another process.
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
                Err(_) if view.is_outdated(store)? => self.forget(stream),
                answer => return answer,
            }
        }
        read(&self.view(store, stream)?)
    }

    fn view(&self, store: &dyn Store, stream: Stream) -> Result<View, StoreError> {
        let slot = lock(&self.slots).slot(stream);
        let view = slot.view(store, stream);
        let bytes = slot.bytes();
        lock(&self.slots).weigh(stream, bytes);
        view
    }

    fn forget(&self, stream: Stream) {
        lock(&self.slots).remove(stream);
    }

    /// A commit added so many bytes to a stream, or is about to.
    pub fn journaled(&self, stream: Stream, bytes: usize) {
        let mut unmerged = lock(&self.unmerged);
        let due = match unmerged.get_mut(&stream) {
            Some(sum) => {
                *sum += bytes;
                *sum >= DUE_BYTES
            }
            // How much it has from before, a merge finds out.
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
    fn slot(&mut self, stream: Stream) -> Arc<Slot> {
        self.asked += 1;
        let held = self.held.entry(stream).or_default();
        held.asked = self.asked;
        held.slot.clone()
    }

    /// Notes what a stream takes. Too much in all: those asked for longest ago are forgotten until a quarter is free, so that it is not
    /// done for each one.
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

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
