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
    pub(super) fn of(files: impl IntoIterator<Item = PathBuf>) -> Stamps {
        let stamp = |file: &Path| {
            let about = fs::metadata(file).ok()?;
            let times = [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()];
            Some((times, about.len(), about.ino()))
        };
        Stamps(files.into_iter().map(|file| (file.clone(), stamp(&file))).collect())
    }
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    AsRead,
    /// Changed, but not since the last check, so the write is complete.
    Changed,
    Changing,
}

/// Stamps at the last read and at the last check.
pub(super) struct Watched {
    read: Stamps,
    seen: Stamps,
}

impl Watched {
    pub(super) fn new(read: Stamps) -> Watched {
        Watched { seen: read.clone(), read }
    }

    pub(super) fn look(&mut self, now: Stamps) -> Seen {
        let seen = match (now == self.read, now == self.seen) {
            (true, _) => Seen::AsRead,
            (false, true) => Seen::Changed,
            (false, false) => Seen::Changing,
        };
        self.seen = now;
        seen
    }

    pub(super) fn is_read(&mut self, read: Stamps) {
        *self = Watched::new(read);
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
        let now = || Stamps::of([file.clone()]);
        let mut watched = Watched::new(now());
        assert_eq!(watched.look(now()), Seen::AsRead);
        fs::write(&file, "half").unwrap();
        assert_eq!(watched.look(now()), Seen::Changing);
        fs::write(&file, "a whole one").unwrap();
        assert_eq!(watched.look(now()), Seen::Changing);
        assert_eq!(watched.look(now()), Seen::Changed);
        assert_eq!(watched.look(now()), Seen::Changed, "until it is read");
        watched.is_read(now());
        assert_eq!(watched.look(now()), Seen::AsRead);
        fs::remove_file(&file).unwrap();
        assert_eq!(watched.look(now()), Seen::Changing);
        assert_eq!(watched.look(now()), Seen::Changed);
    }
}
