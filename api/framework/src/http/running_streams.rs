//! Streamed responses in progress, limited by API key. A stream lasts as long as its client reads.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

/// Hash of an API key.
type StreamKey = [u8; 32];

/// Number of streams in progress, by API key.
#[derive(Default)]
pub struct RunningStreams(Mutex<HashMap<StreamKey, usize>>);

/// Drop guard of a stream in progress.
pub struct RunningStream {
    of: Arc<RunningStreams>,
    key: StreamKey,
}

impl RunningStreams {
    /// Returns `None` if `limit` streams of the key are in progress.
    pub fn begin(self: &Arc<Self>, key: StreamKey, limit: usize) -> Option<RunningStream> {
        let mut running = self.0.lock();
        if running.get(&key).is_some_and(|count| *count >= limit) {
            return None;
        }
        *running.entry(key).or_default() += 1;
        Some(RunningStream { of: self.clone(), key })
    }
}

impl Drop for RunningStream {
    fn drop(&mut self) {
        let mut running = self.of.0.lock();
        if let Some(count) = running.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn streams_beyond_the_limit_of_a_key_are_refused_until_one_ends() {
        let running = Arc::new(RunningStreams::default());
        let (first, second) = (running.begin([1; 32], 2).unwrap(), running.begin([1; 32], 2).unwrap());
        assert!(running.begin([1; 32], 2).is_none());
        assert!(running.begin([2; 32], 2).is_some(), "each key has its own limit");
        drop(first);
        assert!(running.begin([1; 32], 2).is_some());
        drop(second);
        assert!(running.0.lock().is_empty());
    }
}
