//! The page after the one in flight, requested before that one is applied. The request is not part of the state: the
//! event that asks for the page records it, and a reload forgets it.

use std::collections::BTreeSet;

use crate::{Event, Resource, Timestamp};

/// A page request that no event has recorded yet. It reserves one request of the quota.
#[derive(Clone, Debug)]
pub(crate) struct Prefetch {
    /// The call whose page precedes this one in its pass.
    pub(super) after: u64,
    pub(super) resource: Resource,
    pub(super) asked_at: Timestamp,
    /// Records that our writes reached since the request; the page may show their earlier state.
    pub(super) written: BTreeSet<u64>,
}

impl Prefetch {
    /// Collects the record that a write reached. Moves the time of the request if the clock was set back, so that the
    /// page does not count as newer than it is.
    pub(crate) fn apply(&mut self, event: &Event) {
        if let Event::ClockSetBack { by } = event {
            self.asked_at = self.asked_at.minus(*by);
        }
        let reached = event.reached().filter(|(resource, _)| *resource == self.resource);
        self.written.extend(reached.map(|(_, id)| id));
    }
}
