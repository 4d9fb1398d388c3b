//! What the trail asks of the disk. Tests put one here that is full, or slow, or counts.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

pub trait Disk: Send + Sync + 'static {
    /// All of `bytes` at the file's end. After an error any part of them may be there.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    /// The bytes of a file, or the names in a folder, survive the loss of power.
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

/// For a file that nobody but the owner may read.
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

/// Writes a file in place of the one that is there: whole or not at all.
pub(crate) fn replace(disk: &dyn Disk, folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let draft = folder.join(format!("{name}.draft"));
    let file = private().write(true).truncate(true).open(&draft)?;
    disk.write(&file, text.as_bytes())?;
    disk.sync(&file)?;
    fs::rename(&draft, folder.join(name))?;
    sync_folder(disk, folder)
}
