//! The directory of an engine's files: the lock of the process, and durable file names.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::StoreError;
use crate::files;

/// Time to wait for the lock. A child process that is being started inherits all locks until its own program
/// runs. A store that was closed and is reopened may therefore be locked for a moment.
const PATIENCE: Duration = Duration::from_secs(1);

/// The lock of an open store. Dropping it releases the directory to other processes.
pub struct DirectoryLock {
    pub(super) path: PathBuf,
    _lock: File,
}

impl DirectoryLock {
    /// Locks the directory, and creates it if it does not exist.
    pub fn claim(path: &Path) -> Result<Self, StoreError> {
        let io = |error| StoreError::io(format!("the store's directory {}", path.display()))(error);
        create_for_owner(path).map_err(io)?;
        let until = Instant::now() + PATIENCE;
        loop {
            // Opened for each attempt, because another store may take this one's place meanwhile.
            let lock = File::options().create(true).truncate(false).write(true).open(path.join("lock")).map_err(io)?;
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path: path.to_path_buf(), _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(Duration::from_millis(10)),
                Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { dir: path.display().to_string() }),
                Err(TryLockError::Error(error)) => return Err(io(error)),
            }
        }
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Syncs the directory and its parent, because engines do not sync every file name.
    pub(crate) fn sync_names(&self) -> Result<(), StoreError> {
        files::sync_directory(&self.path)
            .and_then(|()| files::sync_parent(&self.path))
            .map_err(StoreError::io(format!("syncing {}", self.path.display())))
    }
}

fn create_for_owner(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
