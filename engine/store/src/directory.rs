//! The directory around sled's files: one process at a time, no left-over half snapshots, durable names.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::error::StoreError;
use crate::files;

/// Held while the store is open. Dropping it lets the next process in.
pub(super) struct Directory {
    pub path: PathBuf,
    _lock: File,
}

impl Directory {
    pub(crate) fn claim(path: &Path) -> Result<Self, StoreError> {
        let io = |error| StoreError::io(format!("the store's directory {}", path.display()))(error);
        create_for_owner(path).map_err(io)?;
        let lock = File::options().create(true).truncate(false).write(true).open(path.join("lock")).map_err(io)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => StoreError::Locked { dir: path.display().to_string() },
            TryLockError::Error(error) => io(error),
        })?;
        let directory = Self { path: path.to_path_buf(), _lock: lock };
        directory.remove_half_snapshots().map_err(io)?;
        Ok(directory)
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// sled would read a snapshot that a crash left half written, and refuse to start.
    fn remove_half_snapshots(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with("snap.") && name.ends_with(".generating") {
                tracing::warn!(file = %path.display(), "removing an unfinished snapshot");
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// sled syncs the contents of its log, never its names.
    pub(crate) fn sync_names(&self) -> Result<(), StoreError> {
        for file in ["conf", "db"] {
            let path = self.path.join(file);
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(StoreError::io(format!("syncing {}", path.display())))?;
        }
        files::sync_directory(&self.path)
            .and_then(|()| files::sync_parent(&self.path))
            .map_err(StoreError::io(format!("syncing {}", self.path.display())))
    }
}

fn create_for_owner(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
