//! The file being written: complete lines are appended and synced. The rest of a failed write is cut off
//! before the next write.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use crate::{
    Disk,
    day::Day,
    disk,
    folder::Name,
    line::{Header, Point},
    mac::MacKey,
};

pub(crate) struct Segment {
    file: File,
    pub day: Day,
    /// The length up to the last synced line.
    bytes: u64,
    has_entries: bool,
    /// `true` if the file may contain bytes after that length.
    is_torn: bool,
}

impl Segment {
    /// Creates a file with its header and makes it durable. An existing file of that name is the rest of a failed
    /// attempt and contains no entries.
    pub(crate) fn create(disk: &dyn Disk, folder: &Path, key: &MacKey, point: Point, day: Day) -> io::Result<Self> {
        let header = format!("{}\n", Header::after(point, day).line(key));
        let path = Name::new(folder, day, point.seq + 1).path;
        let made = make(disk, folder, &path, &header);
        let file = made.inspect_err(|_| {
            // If the removal fails, too, the rest is empty, torn or without entries. The next attempt or start repairs
            // it.
            let _ = fs::remove_file(&path);
        })?;
        Ok(Self { file, day, bytes: header.len() as u64, has_entries: false, is_torn: false })
    }

    /// Opens an existing file that is valid up to `bytes`. Its last lines may never have been synced.
    pub(crate) fn open(disk: &dyn Disk, path: &Path, day: Day, bytes: u64, has_entries: bool) -> io::Result<Self> {
        let file = File::options().append(true).open(path)?;
        file.set_len(bytes)?;
        disk.sync(&file)?;
        Ok(Self { file, day, bytes, has_entries, is_torn: false })
    }

    /// Returns whether a line of this day goes into this file. Lines of earlier days do: entries may arrive late
    /// around midnight.
    pub(crate) fn takes(&self, day: Day, drafted: usize, line: usize, max_bytes: u64) -> bool {
        let is_empty = !self.has_entries && drafted == 0;
        day <= self.day && (is_empty || self.bytes + (drafted + line) as u64 <= max_bytes)
    }

    pub(crate) fn append(&mut self, disk: &dyn Disk, lines: &[u8]) -> io::Result<()> {
        self.repair(disk)?;
        self.is_torn = true;
        disk.write(&self.file, lines)?;
        disk.sync(&self.file)?;
        self.bytes += lines.len() as u64;
        (self.has_entries, self.is_torn) = (true, false);
        Ok(())
    }

    /// Truncates the file to the last synced line. After a failed sync, the durable part of the rest is unknown.
    pub(crate) fn repair(&mut self, disk: &dyn Disk) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.bytes)?;
            disk.sync(&self.file)?;
            self.is_torn = false;
        }
        Ok(())
    }
}

fn make(disk: &dyn Disk, folder: &Path, path: &Path, header: &str) -> io::Result<File> {
    let file = disk::private().append(true).open(path)?;
    file.set_len(0)?;
    disk.write(&file, header.as_bytes())?;
    disk.sync(&file)?;
    disk::sync_folder(disk, folder)?;
    Ok(file)
}
