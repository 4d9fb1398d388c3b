//! Detection of file changes by metadata, which also works on network file systems and with symlinks that are replaced.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Modification and status change time, length, and inode of a file.
type Stamp = ([i64; 4], u64, u64);

/// Stamps of files; `None` for a missing file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps(BTreeMap<PathBuf, Option<Stamp>>);

impl Stamps {
    pub(super) fn from_files(files: impl IntoIterator<Item = PathBuf>) -> Stamps {
        let stamp = |file: &Path| {
            let about = fs::metadata(file).ok()?;
            let times = [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()];
            Some((times, about.len(), about.ino()))
        };
        Stamps(files.into_iter().map(|file| (file.clone(), stamp(&file))).collect())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileStatus {
    AsRead,
    /// Changed, but not since the last check, so the write is complete.
    Changed,
    Changing,
}

/// Stamps at the last read and at the last check.
pub(super) struct WatchedFiles {
    read: Stamps,
    seen: Stamps,
}

impl WatchedFiles {
    pub(super) fn new(read: Stamps) -> WatchedFiles {
        WatchedFiles { seen: read.clone(), read }
    }

    pub(super) fn check(&mut self, now: Stamps) -> FileStatus {
        let seen = match (now == self.read, now == self.seen) {
            (true, _) => FileStatus::AsRead,
            (false, true) => FileStatus::Changed,
            (false, false) => FileStatus::Changing,
        };
        self.seen = now;
        seen
    }

    pub(super) fn is_read(&mut self, read: Stamps) {
        *self = WatchedFiles::new(read);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_changed_file_is_reported_once_it_is_stable() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.toml");
        let now = || Stamps::from_files([file.clone()]);
        let mut watched = WatchedFiles::new(now());
        assert_eq!(watched.check(now()), FileStatus::AsRead);
        fs::write(&file, "half").unwrap();
        assert_eq!(watched.check(now()), FileStatus::Changing);
        fs::write(&file, "a whole one").unwrap();
        assert_eq!(watched.check(now()), FileStatus::Changing);
        assert_eq!(watched.check(now()), FileStatus::Changed);
        assert_eq!(watched.check(now()), FileStatus::Changed, "until it is read");
        watched.is_read(now());
        assert_eq!(watched.check(now()), FileStatus::AsRead);
        fs::remove_file(&file).unwrap();
        assert_eq!(watched.check(now()), FileStatus::Changing);
        assert_eq!(watched.check(now()), FileStatus::Changed);
    }
}
