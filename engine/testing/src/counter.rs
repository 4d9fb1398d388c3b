//! A counter shared between a fixture and its test.

use std::sync::atomic::{AtomicUsize, Ordering};

/// An atomic counter that starts at 0.
#[derive(Debug, Default)]
pub struct Counter(AtomicUsize);

impl Counter {
    /// Returns the current count.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Adds `count` and returns the count before.
    pub fn add(&self, count: usize) -> usize {
        self.0.fetch_add(count, Ordering::SeqCst)
    }
}
