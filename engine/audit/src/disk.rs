//! The disk operations of the trail. Tests substitute a disk that is full, slow, or counts its calls.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

pub trait Disk: Send + Sync + 'static {
    /// Appends all of `bytes` to the file. After an error, any prefix of `bytes` may have been written.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    /// Makes the content of a file, or the names in a folder, survive a power loss.
    fn sync(&self, file: &File) -> io::Result<()>;
}

pub struct RealDisk;

impl Disk for RealDisk {
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }
}

/// Returns options that create a file readable by its owner only.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

pub(crate) fn sync_folder(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    disk.sync(&File::open(folder)?)
}

/// Replaces the content of a file atomically: writes and syncs a draft, then renames it.
pub(crate) fn replace(disk: &dyn Disk, folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let draft = folder.join(format!("{name}.draft"));
    let file = private().write(true).truncate(true).open(&draft)?;
    disk.write(&file, text.as_bytes())?;
    disk.sync(&file)?;
    fs::rename(&draft, folder.join(name))?;
    sync_folder(disk, folder)
}
