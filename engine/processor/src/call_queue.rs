//! The queue of changes by calls, from the locations to the follower for the audit trail (`call_changes`).
//!
//! A location passes each committed change in memory, in the order of its journal. The follower reads the journal of a
//! location only after it was loaded, with a snapshot, after a failure, and if the queue is full. Until such a read has
//! succeeded, changes in memory are ignored, because there may be earlier ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use location::LocationId;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::call_changes::CallChange;

/// Maximum number of changes in memory. Ten thousand are about a second of peak traffic, and a few MiB.
const MAX_CHANGES: usize = 10_000;

#[derive(Default)]
pub struct CallQueue {
    state: Mutex<QueueState>,
    arrived: Notify,
}

#[derive(Default)]
struct QueueState {
    changes: Vec<CallChange>,
    /// Locations whose journals have to be read.
    unread: BTreeSet<LocationId>,
    followed: BTreeMap<LocationId, Followed>,
}

/// Progress of the follower of this process at a location.
#[derive(Clone, Copy, Default)]
struct Followed {
    /// The number of the last followed record, or 0.
    number: u64,
    /// `true` if all later changes are pushed.
    is_current: bool,
}

/// Changes and locations taken from the queue.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct QueuedCalls {
    /// Changes in the order of each journal. There is no change by a call between those of a location, or between the
    /// last followed record and the first of them.
    pub changes: Vec<CallChange>,
    /// Locations whose journals have to be read, with the number of the last followed record, or 0. They have no
    /// change in `changes`.
    pub unread: BTreeMap<LocationId, u64>,
}

impl QueuedCalls {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.unread.is_empty()
    }

    pub fn locations(&self) -> BTreeSet<LocationId> {
        self.changes.iter().map(|change| change.decision.0).chain(self.unread.keys().copied()).collect()
    }
}

impl CallQueue {
    /// Adds a committed change. If the queue is full, the change is read from the journal.
    pub fn push(&self, change: CallChange) {
        let mut state = self.state.lock();
        let QueueState { changes, unread, .. } = &mut *state;
        // The follower reads the change with the journal.
        if unread.contains(&change.decision.0) {
            return;
        }
        if changes.len() < MAX_CHANGES {
            changes.push(change);
        } else {
            unread.insert(change.decision.0);
        }
        drop(state);
        self.arrived.notify_one();
    }

    /// Adds locations whose journals may have changes that were not pushed.
    pub fn ring(&self, locations: impl IntoIterator<Item = LocationId>) {
        self.state.lock().unread.extend(locations);
        self.arrived.notify_one();
    }

    /// Takes everything that was added since the last call, without changes that are already followed. The journals of
    /// `earlier` have to be read too.
    pub fn take(&self, earlier: impl IntoIterator<Item = LocationId>) -> QueuedCalls {
        let mut state = self.state.lock();
        let QueueState { changes, unread, followed } = &mut *state;
        let (mut changes, mut unread) = (mem::take(changes), mem::take(unread));
        unread.extend(earlier);
        changes.retain(|CallChange { decision: (location, number), .. }| {
            let last = followed.get(location).copied().unwrap_or_default();
            if !last.is_current {
                unread.insert(*location);
            }
            // A change may have been read from the journal between its commit and its push.
            *number > last.number && !unread.contains(location)
        });
        let begin = |location| {
            let last = followed.entry(location).or_default();
            last.is_current = false;
            (location, last.number)
        };
        QueuedCalls { changes, unread: unread.into_iter().map(begin).collect() }
    }

    /// Records the number of the last followed record of each location.
    pub fn note_followed(&self, positions: &BTreeMap<LocationId, u64>) {
        let followed =
            |(location, number): (&LocationId, &u64)| (*location, Followed { number: *number, is_current: true });
        self.state.lock().followed.extend(positions.iter().map(followed));
    }

    /// Returns the number of changes and of locations to read.
    pub fn waiting(&self) -> usize {
        let state = self.state.lock();
        state.changes.len() + state.unread.len()
    }

    pub async fn wait(&self) {
        self.arrived.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: LocationId = LocationId(7);

    fn change(location: LocationId, number: u64) -> CallChange {
        CallChange { decision: (location, number), at: None, institution: None, caller: None, records: Vec::new() }
    }

    fn unread(locations: &[(LocationId, u64)]) -> QueuedCalls {
        QueuedCalls { changes: Vec::new(), unread: locations.iter().copied().collect() }
    }

    /// Returns the queue of a follower that has read the journals of two locations.
    fn queue() -> CallQueue {
        let queue = CallQueue::default();
        queue.note_followed(&BTreeMap::from([(HERE, 3), (LocationId(8), 1)]));
        queue
    }

    #[test]
    fn changes_of_an_unread_location_are_left_to_the_journal() {
        let queue = queue();
        queue.push(change(HERE, 4));
        queue.push(change(LocationId(8), 2));
        queue.ring([HERE]);
        queue.push(change(HERE, 5));
        let taken = queue.take([]);
        assert_eq!(taken.changes, [change(LocationId(8), 2)]);
        assert_eq!(taken.unread, BTreeMap::from([(HERE, 3)]));
        assert_eq!((queue.waiting(), queue.take([])), (0, QueuedCalls::default()));
    }

    #[test]
    fn changes_are_left_to_the_journal_until_it_has_been_read() {
        let queue = CallQueue::default();
        for _ in 0..2 {
            queue.push(change(HERE, 4));
            assert_eq!(queue.take([]), unread(&[(HERE, 0)]), "the read of the journal fails");
        }
        queue.note_followed(&BTreeMap::from([(HERE, 4)]));
        queue.push(change(HERE, 5));
        assert_eq!(queue.take([]).changes, [change(HERE, 5)]);
    }

    #[test]
    fn change_that_was_read_before_its_push_is_not_taken_again() {
        let queue = queue();
        queue.ring([HERE]);
        assert_eq!(queue.take([]), unread(&[(HERE, 3)]));
        queue.note_followed(&BTreeMap::from([(HERE, 5)]));
        (4..=6).for_each(|number| queue.push(change(HERE, number)));
        assert_eq!(queue.take([]).changes, [change(HERE, 6)]);
    }

    #[test]
    fn changes_above_the_limit_are_read_from_the_journal() {
        let queue = queue();
        (4..=MAX_CHANGES as u64 + 10).for_each(|number| queue.push(change(HERE, number)));
        assert_eq!(queue.waiting(), MAX_CHANGES + 1);
        assert_eq!(queue.take([]), unread(&[(HERE, 3)]));
    }
}
