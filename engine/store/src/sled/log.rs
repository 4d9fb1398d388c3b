//! sled's log in a folder, with the options a store has it with.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{faults::sled_error, past::Past, view::Log};
use crate::{error::StoreError, files::sync_directory, guard::guarded, watermark::WATERMARK_KEY};

pub(super) fn open_log(dir: &Path, cache_bytes: u64) -> Result<Log, StoreError> {
    let sled = sled::Config::new()
        .path(dir)
        .cache_capacity(cache_bytes)
        .mode(sled::Mode::HighThroughput)
        .use_compression(false)
        .flush_every_ms(None);
    // sled's threads may hold its files a moment longer than the store that was closed here just before: as long as a disk takes to write
    // what they began. No other process can hold them, it would hold the directory.
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        match guarded(|| sled.open()) {
            Ok(db) => {
                // sled has put a new snapshot of its page table in the place of the earlier one, and cleared the parts of the log that only
                // the earlier one knows: without the new one nothing is found in it. It syncs contents, never names: the sooner this name is
                // durable the better. Between the two nothing can be done from outside.
                sync_directory(dir).map_err(StoreError::io(format!("syncing {}", dir.display())))?;
                return Ok(Log { db, past: Past::default() });
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
