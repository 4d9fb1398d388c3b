//! Opening of sled's log in a folder, with the options of a store.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{faults::sled_error, history::History, view::Log};
use crate::{StoreError, files::sync_directory, guard::guarded, watermark::WATERMARK_KEY};

pub(super) fn open_log(dir: &Path, cache_bytes: u64) -> Result<Log, StoreError> {
    let sled = sled::Config::new()
        .path(dir)
        .cache_capacity(cache_bytes)
        .mode(sled::Mode::HighThroughput)
        .use_compression(false)
        .flush_every_ms(None);
    // sled's threads may hold its files a moment longer than a store that was just closed, until pending writes
    // are on the disk. No other process can hold them, because it would need the lock of the directory.
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        match guarded(|| sled.open()) {
            Ok(db) => {
                // On opening, sled replaces the snapshot of its page table and clears the parts of the log that only
                // the old snapshot refers to. Without the new snapshot, the log is unreadable. sled syncs contents but
                // no names, so the name is made durable as early as possible.
                sync_directory(dir).map_err(StoreError::io(format!("syncing {}", dir.display())))?;
                return Ok(Log { db, history: History::default() });
            }
            Err(error) if error.to_string().contains("could not acquire lock") => {
                if Instant::now() > patience {
                    return Err(StoreError::Locked { dir: dir.display().to_string() });
                }
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(sled_error(WATERMARK_KEY, error)),
        }
    }
}
