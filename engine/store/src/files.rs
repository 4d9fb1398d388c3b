//! Small files that are written atomically and durably: keys, secrets, notes.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Creates a file readable by its owner only. Returns `false` if the file exists. If two processes create it
/// concurrently, one of them wins.
pub fn write_new(path: &Path, text: &str) -> io::Result<bool> {
    let draft = Draft::write(path, text)?;
    let made = match fs::hard_link(&draft.0, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        linked => linked.map(|()| true)?,
    };
    drop(draft);
    sync_parent(path)?;
    Ok(made)
}

/// Replaces a file atomically and keeps its owner. Follows a symbolic link.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let draft = Draft::write(path, text)?;
    #[cfg(unix)]
    if let Ok(before) = fs::metadata(path) {
        use std::os::unix::fs::{MetadataExt, chown};
        chown(&draft.0, Some(before.uid()), Some(before.gid()))?;
    }
    fs::rename(&draft.0, path)?;
    sync_parent(path)
}

/// Makes the names in the parent directory of `path` durable.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}

pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Returns the size of all files below a folder. An engine may delete files meanwhile; they count as 0.
pub fn bytes_below(dir: &Path) -> io::Result<u64> {
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match fs::read_dir(dir) {
        Err(error) if gone(&error) => return Ok(0),
        entries => entries?,
    };
    let mut bytes = 0;
    for entry in entries {
        let entry = entry?;
        bytes += match entry.metadata() {
            Ok(meta) if meta.is_dir() => bytes_below(&entry.path())?,
            Ok(meta) => meta.len(),
            Err(error) if gone(&error) => 0,
            Err(error) => return Err(error),
        };
    }
    Ok(bytes)
}

/// A file with the new content under a temporary name. Dropping it removes the file.
struct Draft(PathBuf);

impl Draft {
    fn write(path: &Path, text: &str) -> io::Result<Self> {
        let draft = Self(path.with_extension(format!("draft-{}", std::process::id())));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&draft.0)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        Ok(draft)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a rename the draft no longer exists. A draft that cannot be removed is never read.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_is_written_once_and_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("some.secret");
        assert!(write_new(&path, "one").unwrap());
        assert!(!write_new(&path, "two").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
        replace(&path, "three").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft stays");
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
    }

    #[test]
    fn size_of_a_folder_includes_its_subfolders() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("one/two");
        fs::create_dir_all(&below).unwrap();
        fs::write(dir.path().join("some"), "abc").unwrap();
        fs::write(below.join("more"), "defg").unwrap();
        assert_eq!(bytes_below(dir.path()).unwrap(), 7);
        assert_eq!(bytes_below(&dir.path().join("gone")).unwrap(), 0);
    }
}
