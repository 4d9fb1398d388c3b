//! Creation of sled's files. sled creates its log and its configuration under their final names and syncs no
//! name, so an interrupted creation leaves unreadable files. The files are therefore created in a separate
//! folder and renamed once they are durable. The log is renamed last: without it, the directory contains no
//! store, and the next start creates one.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::log::open_log;
use crate::{StoreError, files};

const DRAFT: &str = "sled.draft";
pub(super) const CONFIGURATION: &str = "conf";
pub(super) const LOG: &str = "db";
/// Time to wait for sled's threads to close its files after the store was dropped.
const PATIENCE: Duration = Duration::from_secs(2);

/// Creates the files, unless the log exists.
pub(super) fn create(dir: &Path, cache_bytes: u64) -> Result<(), StoreError> {
    let io = |error| StoreError::io(format!("creating sled's files in {}", dir.display()))(error);
    let draft = dir.join(DRAFT);
    if draft.try_exists().map_err(io)? {
        fs::remove_dir_all(&draft).map_err(io)?;
    }
    if dir.join(LOG).try_exists().map_err(io)? {
        return Ok(());
    }
    drop(open_log(&draft, cache_bytes)?);
    wait_until_closed(&draft.join(LOG)).map_err(io)?;
    name(&draft, dir).map_err(io)
}

/// Renames the files. sled recreates its other files, a snapshot of its page table and an empty folder.
fn name(draft: &Path, dir: &Path) -> io::Result<()> {
    for file in [CONFIGURATION, LOG] {
        File::open(draft.join(file))?.sync_all()?;
    }
    // A file that is renamed before its name is durable may end up in neither folder.
    files::sync_directory(draft)?;
    for file in [CONFIGURATION, LOG] {
        fs::rename(draft.join(file), dir.join(file))?;
        files::sync_directory(dir)?;
    }
    fs::remove_dir_all(draft)
}

pub(super) fn wait_until_closed(log: &Path) -> io::Result<()> {
    let (log, patience) = (File::open(log)?, Instant::now() + PATIENCE);
    loop {
        match log.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < patience => thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{
        EmbeddedStore, EngineKind, Store, StoreConfig,
        testing::{config, put},
    };

    fn opened(dir: &Path) -> EmbeddedStore {
        EmbeddedStore::open(StoreConfig { verify: true, ..config(EngineKind::Sled, dir) }).unwrap()
    }

    /// A first start interrupted after each step: incomplete draft, complete draft, one file renamed, both
    /// renamed.
    #[tokio::test]
    async fn an_interrupted_creation_is_repeated() {
        let whole = tempfile::tempdir().unwrap();
        drop(opened(whole.path()));
        let conf = fs::read(whole.path().join(CONFIGURATION)).unwrap();
        let log = fs::read(whole.path().join(LOG)).unwrap();
        let steps: [&[(&str, &[u8])]; 5] = [
            &[("sled.draft/conf", b"half a configuration"), ("sled.draft/db", &[7; 900])],
            &[("sled.draft/conf", &conf), ("sled.draft/db", &log)],
            &[("conf", &conf), ("sled.draft/db", &log)],
            &[("conf", b"half a configuration"), ("sled.draft/db", b"")],
            &[("conf", &conf), ("db", &log), ("sled.draft/snap.7", b"left over")],
        ];
        for files in steps {
            let dir = tempfile::tempdir().unwrap();
            fs::copy(whole.path().join("format"), dir.path().join("format")).unwrap();
            fs::create_dir(dir.path().join(DRAFT)).unwrap();
            for (name, bytes) in files {
                fs::write(dir.path().join(name), bytes).unwrap();
            }
            for round in 0..2u8 {
                let store = opened(dir.path());
                store.commit(put(vec![round + 1], vec![1])).await.unwrap();
            }
            assert!(!dir.path().join(DRAFT).exists());
            assert_eq!(opened(dir.path()).get(&[1]).unwrap(), Some(vec![1]));
        }
    }
}
