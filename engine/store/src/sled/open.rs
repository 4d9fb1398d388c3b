//! sled 0.34 on a directory: its log, no left-over half snapshots, durable names.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{faults::sled_error, past::Past, view::Log, writer::LogWriter};
use crate::{
    engine::Opened,
    error::StoreError,
    guard::{guarded, quiet_panics},
    watermark::WATERMARK_KEY,
};

pub(crate) fn open(dir: &Path, cache_bytes: u64) -> Result<Opened, StoreError> {
    quiet_panics();
    remove_half_snapshots(dir).map_err(StoreError::io(format!("the store's directory {}", dir.display())))?;
    let log = Arc::new(open_log(dir, cache_bytes)?);
    // sled syncs the contents of its log, never its names.
    for file in ["conf", "db"] {
        let path = dir.join(file);
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(StoreError::io(format!("syncing {}", path.display())))?;
    }
    let file = File::options().read(true).write(true).open(dir.join("db"));
    let file = file.map_err(StoreError::io("opening sled's log"))?;
    let writer = Box::new(LogWriter::new(log.clone()));
    Ok(Opened { medium: log, writer, sync: Box::new(move || file.sync_data()) })
}

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

/// sled would read a snapshot that a crash left half written, and refuse to start.
fn remove_half_snapshots(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            tracing::warn!(file = %path.display(), "removing an unfinished snapshot");
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
