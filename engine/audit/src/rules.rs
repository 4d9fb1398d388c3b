//! The limits of a trail and the reason for each value.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Rules {
    /// Number of full days that a file is kept after its own day. `None` keeps files forever.
    pub keep_days: Option<u32>,
    /// Maximum file size. Opening reads the whole last file, which takes less than a second for 64 MiB. Retention
    /// deletes whole files. A file contains at least one entry of any size.
    pub max_file_bytes: u64,
    /// Maximum bytes of entries that wait for a sync, as JSON. 8 MiB are about 30,000 entries, more than a second
    /// of peak traffic; a slower disk must be reported. Writing them as one group needs the same memory again.
    pub max_waiting_bytes: usize,
    /// How long entries of `Trail::append_soon` wait for others to share their sync. Each sync competes with
    /// those of the store. At 2,000 changes per second, 20 syncs per second are a hundredth of a sync per change.
    pub gather: Duration,
    /// Number of entries after which the head is written. This many entries can be cut off the end undetected.
    /// Writing the head costs two syncs, a few thousandths of a sync per entry.
    pub head_entries: u64,
    /// Maximum age of the head by the times of entries, and maximum idle time before it is written. Two syncs in
    /// ten seconds are negligible on any disk.
    pub head_after: Duration,
    /// Delay before the disk is tried again after an error. Callers receive errors meanwhile, so it is no longer
    /// than a usual retry interval.
    pub retry_after: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            keep_days: None,
            max_file_bytes: 64 << 20,
            max_waiting_bytes: 8 << 20,
            gather: Duration::from_millis(50),
            head_entries: 1_000,
            head_after: Duration::from_secs(10),
            retry_after: Duration::from_secs(1),
        }
    }
}
