//! The folder of a trail: file names, the lock of the writing process, and the lock of readers against
//! deletion.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::{AuditError, day::Day, disk};

/// Number of attempts to take the lock. A child process that is being started inherits all locks until its
/// own program runs. A trail that was closed and is reopened may therefore be locked for a moment.
const TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// The lock of an open trail. Dropping it releases the folder to other processes.
pub(crate) struct Folder {
    pub path: PathBuf,
    _lock: File,
}

impl Folder {
    pub(crate) fn claim(path: &Path) -> Result<Self, AuditError> {
        let io = |error| AuditError::io(format!("the folder of the audit trail {}", path.display()))(error);
        create_for_owner(path).map_err(io)?;
        let lock = disk::private().truncate(false).write(true).open(path.join("lock")).map_err(io)?;
        // Created before the first file, so that every reader of a file finds the lock file.
        readers(path).map_err(io)?;
        for _ in 0..TRIES {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path: path.to_path_buf(), _lock: lock }),
                Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN_TRIES),
                Err(TryLockError::Error(error)) => return Err(io(error)),
            }
        }
        Err(AuditError::InUse { folder: path.display().to_string() })
    }

    /// Locks out readers until the returned guard is dropped. Returns `None` if a reader is active, because files
    /// must not be deleted during a read.
    pub(crate) fn without_readers(&self) -> io::Result<Option<File>> {
        let readers = readers(&self.path)?;
        match readers.try_lock() {
            Ok(()) => Ok(Some(readers)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

const READERS: &str = "readers";

fn readers(folder: &Path) -> io::Result<File> {
    disk::private().truncate(false).write(true).open(folder.join(READERS))
}

/// Prevents the deletion of files until the returned guard is dropped. Returns `None` for a copy of a trail
/// without the lock file, where no process deletes files.
pub(crate) fn hold(folder: &Path) -> io::Result<Option<File>> {
    match File::open(folder.join(READERS)) {
        Ok(file) => file.lock_shared().map(|()| Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name of a file of entries: its day and the number of its first entry.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub first: u64,
    pub day: Day,
    pub path: PathBuf,
}

impl Name {
    /// Builds the name. Twelve digits keep names in lexical order for a trillion entries; longer numbers are
    /// still sorted by value here.
    pub(crate) fn new(folder: &Path, day: Day, first: u64) -> Self {
        Self { first, day, path: folder.join(format!("audit-{day}-{first:012}.jsonl")) }
    }

    fn parse(folder: &Path, name: &str) -> Option<Self> {
        let (day, first) = name.strip_prefix("audit-")?.strip_suffix(".jsonl")?.split_once('-')?;
        let found = Self::new(folder, Day::parse(day)?, first.parse().ok()?);
        (found.path == folder.join(name)).then_some(found)
    }
}

/// Returns the files of the trail in the order of their entries. Files with other names are ignored.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<Name>> {
    let mut names = Vec::new();
    for found in fs::read_dir(folder)? {
        names.extend(found?.file_name().to_str().and_then(|name| Name::parse(folder, name)));
    }
    names.sort();
    Ok(names)
}

fn create_for_owner(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_names_as_they_are_written_are_files_of_the_trail() {
        let folder = Path::new("/trail");
        let name = Name::new(folder, Day::from_millis(0).unwrap(), 7);
        assert_eq!(name.path, folder.join("audit-19700101-000000000007.jsonl"));
        assert_eq!(Name::parse(folder, "audit-19700101-000000000007.jsonl"), Some(name));
        let long = Name::new(folder, Day::from_millis(0).unwrap(), u64::MAX);
        assert_eq!(Name::parse(folder, long.path.file_name().unwrap().to_str().unwrap()), Some(long));
        for other in [
            "audit-19700101-7.jsonl",
            "audit-19700101-000000000007.jsonl.gz",
            "audit-19701301-000000000007.jsonl",
            "head",
        ] {
            assert_eq!(Name::parse(folder, other), None, "{other}");
        }
    }
}
