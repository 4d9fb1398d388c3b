//! A clock that tests set.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use location::{Millis, Timestamp};

/// A clock that changes only when it is set; clones share the time.
#[derive(Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Creates a clock that shows `start`.
    pub fn at(start: Timestamp) -> ManualClock {
        ManualClock(Arc::new(AtomicI64::new(start.0)))
    }

    /// Returns the time the clock shows.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    /// Sets the clock, forward or back.
    pub fn set(&self, to: Timestamp) {
        self.0.store(to.0, Ordering::SeqCst);
    }

    /// Sets the clock forward.
    pub fn advance(&self, by: Millis) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}
