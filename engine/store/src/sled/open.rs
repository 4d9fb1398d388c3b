//! Opening of sled 0.34 in a directory: removes unfinished snapshots and makes file names durable.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
};

use super::{
    compact,
    create::{self, CONFIGURATION, LOG},
    log::open_log,
    writer::LogWriter,
};
use crate::{StoreError, engine::Opened, guard::quiet_panics};

pub(crate) fn open(dir: &Path, cache_bytes: u64) -> Result<Opened, StoreError> {
    quiet_panics();
    compact::finish(dir).map_err(StoreError::io(format!("finishing a compaction of {}", dir.display())))?;
    create::create(dir, cache_bytes)?;
    remove_half_snapshots(dir).map_err(StoreError::io(format!("the store's directory {}", dir.display())))?;
    let log = Arc::new(open_log(dir, cache_bytes)?);
    // sled syncs the contents of its log, but never its names.
    for file in [CONFIGURATION, LOG] {
        let path = dir.join(file);
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(StoreError::io(format!("syncing {}", path.display())))?;
    }
    let file = File::options().read(true).write(true).open(dir.join(LOG));
    let file = file.map_err(StoreError::io("opening sled's log"))?;
    let writer = Box::new(LogWriter::new(log.clone()));
    Ok(Opened { medium: log, writer, sync: Box::new(move || file.sync_data()) })
}

/// Removes unfinished snapshots left by a crash. sled would read them and refuse to start.
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
