//! What records are found by besides their ids: the terms of their fields, the words of names, and orders by a time. All of it follows
//! from the changes in the streams; only what was merged lies on the disk as well, sorted and packed.
//!
//! ```text
//!  Facets (entry) ──► stream, in the batch of the record
//!                       │ read on by whoever asks            Index ──► view (state) ──► cursor, probe ──► lists
//!                       └─────────────► state: fresh entries ──┘          │
//!                       └─► merge: a new segment, or several into one ──► segment (block)
//! ```

mod block;
mod cursor;
pub(crate) mod entry;
mod merge;
mod segment;
mod state;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segment::{Manifest, Segment};
use state::Slot;
use store::{Store, StoreError};
use tokio::sync::Notify;

pub(crate) use self::{
    cursor::{Cursor, Probe},
    state::View,
};
pub use self::{
    entry::Facets,
    merge::{merge, run},
};
use crate::stream::Stream;

/// Bytes of what is kept in memory of streams that were asked for: beyond them those asked for longest ago are forgotten.
const MOST_BYTES: usize = 64 << 20;
/// Of a stream in memory beside its entries.
const SLOT_BYTES: usize = 512;
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
    slots: Mutex<Slots>,
    /// Bytes of changes since the last merge that this process knows of; none of a stream it has not looked at.
    unmerged: Mutex<HashMap<Stream, usize>>,
    /// There is something to merge.
    due: Notify,
    /// Segments that were replaced; they are deleted when nobody reads them any more.
    replaced: Mutex<Vec<Arc<Segment>>>,
}

/// Streams in memory, and the bytes of all of them.
#[derive(Default)]
struct Slots {
    held: HashMap<Stream, Held>,
    bytes: usize,
    asked: u64,
}

#[derive(Default)]
struct Held {
    slot: Arc<Slot>,
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
                *sum >= merge::DUE_BYTES
            }
            // How much it has from before, a merge finds out.
            None => {
                unmerged.insert(stream, merge::DUE_BYTES);
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

/// The number of the last change of a stream that the index has without it.
pub(crate) fn merged_to(store: &dyn Store, stream: Stream) -> Result<u64, StoreError> {
    Ok(Manifest::read(store, stream)?.0.merged_to)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
