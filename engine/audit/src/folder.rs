//! The folder of a trail: one process at a time writes, the names of files, and who reads while files could be deleted.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::{day::Day, disk, error::AuditError};

/// A process that is just being started holds every lock of the one that starts it, until its own program runs: a trail that was closed
/// here and is opened again is locked for that moment. So it is tried for a second.
const TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Held while the trail is open. Dropping it lets the next process in.
pub(crate) struct Folder {
    pub path: PathBuf,
    _lock: File,
}

impl Folder {
    pub(crate) fn claim(path: &Path) -> Result<Self, AuditError> {
        let io = |error| AuditError::io(format!("the folder of the audit trail {}", path.display()))(error);
        create_for_owner(path).map_err(io)?;
        let lock = disk::private().truncate(false).write(true).open(path.join("lock")).map_err(io)?;
        // It is there before the first file: whoever reads one finds it.
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

    /// Nobody begins to read as long as the answer lives. None while somebody reads: what is read must not vanish meanwhile.
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

/// Files of this trail are not deleted as long as the answer lives. A copy of a trail may be without the file: nobody deletes there.
pub(crate) fn hold(folder: &Path) -> io::Result<Option<File>> {
    match File::open(folder.join(READERS)) {
        Ok(file) => file.lock_shared().map(|()| Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file of entries, by its name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub first: u64,
    pub day: Day,
    pub path: PathBuf,
}

impl Name {
    /// Twelve digits keep names in order for a trillion entries; later ones are longer, and order is by number here.
    pub(crate) fn new(folder: &Path, day: Day, first: u64) -> Self {
        Self { first, day, path: folder.join(format!("audit-{day}-{first:012}.jsonl")) }
    }

    fn parse(folder: &Path, name: &str) -> Option<Self> {
        let (day, first) = name.strip_prefix("audit-")?.strip_suffix(".jsonl")?.split_once('-')?;
        let found = Self::new(folder, Day::parse(day)?, first.parse().ok()?);
        (found.path == folder.join(name)).then_some(found)
    }
}

/// In the order of their entries. What has another name is not the trail's.
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
        let name = Name::new(folder, Day::of(0).unwrap(), 7);
        assert_eq!(name.path, folder.join("audit-19700101-000000000007.jsonl"));
        assert_eq!(Name::parse(folder, "audit-19700101-000000000007.jsonl"), Some(name));
        let long = Name::new(folder, Day::of(0).unwrap(), u64::MAX);
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
