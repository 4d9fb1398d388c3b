//! sled's log in a folder, with the options a store has it with.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{faults::sled_error, past::Past, view::Log};
use crate::{error::StoreError, guard::guarded, watermark::WATERMARK_KEY};

pub(super) fn open_log(dir: &Path, cache_bytes: u64) -> Result<Log, StoreError> {
    let sled = sled::Config::new()
        .path(dir)
        .cache_capacity(cache_bytes)
        .mode(sled::Mode::HighThroughput)
        .use_compression(false)
        .flush_every_ms(None);
    // sled's threads may hold its files a moment longer than the store that was closed here just before.
    let patience = Instant::now() + Duration::from_secs(2);
    loop {
        match guarded(|| sled.open()) {
            Ok(db) => return Ok(Log { db, past: Past::default() }),
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
