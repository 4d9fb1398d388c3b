//! The limits of a trail, each with its reason.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Rules {
    /// How many whole days a file is kept after its own. None: for ever.
    pub keep_days: Option<u32>,
    /// A start reads the last file whole, which takes less than a second for 64 MiB; files are also what retention deletes. A file has one
    /// entry at least, whatever its size.
    pub max_file_bytes: u64,
    /// Entries that wait for a sync, as JSON. 8 MiB are some 30,000 entries: more than a second of the fastest traffic, and a disk that
    /// holds up more has to be told of. They are written in one go, which takes as much memory once more.
    pub max_waiting_bytes: usize,
    /// Entries that nobody waits for (`Trail::append_soon`) wait so long for others that share their sync. Each sync takes the disk from
    /// the store's: at 2,000 changes a second twenty a second are a hundredth of one for each.
    pub gather: Duration,
    /// The head is written after so many entries: that many can be cut off the end unnoticed. It costs two syncs, a thousandth of one for
    /// each entry.
    pub head_entries: u64,
    /// And when its entry is older than this by the times of entries, or nothing was written for so long: two syncs in ten seconds are not
    /// noticed on any disk.
    pub head_after: Duration,
    /// After an error of the disk, when it is tried again. Callers get an error until then: not longer than they would wait for a retry.
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
