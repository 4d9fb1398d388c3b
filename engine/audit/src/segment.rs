//! The file that is written: whole lines are put at its end and synced. What a write that failed has left is cut off before the next.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use crate::{
    day::Day,
    disk::{self, Disk},
    folder::Name,
    line::{Header, Point},
    mac::Key,
};

pub(crate) struct Segment {
    file: File,
    pub day: Day,
    /// Up to the last line that is synced.
    bytes: u64,
    has_entries: bool,
    /// There may be more than that in the file.
    is_torn: bool,
}

impl Segment {
    /// A file with its header, durable. What has its name already is left from such a try that failed: no entry has its number.
    pub(crate) fn create(disk: &dyn Disk, folder: &Path, key: &Key, point: Point, day: Day) -> io::Result<Self> {
        let header = format!("{}\n", Header::after(point, day).line(key));
        let path = Name::new(folder, day, point.seq + 1).path;
        let made = make(disk, folder, &path, &header);
        let file = made.inspect_err(|_| {
            // One that stays is empty, torn or without entries; the next try or start mends it.
            let _ = fs::remove_file(&path);
        })?;
        Ok(Self { file, day, bytes: header.len() as u64, has_entries: false, is_torn: false })
    }

    /// A file that was written before and is good up to `bytes`. Its last lines may never have been synced.
    pub(crate) fn open(disk: &dyn Disk, path: &Path, day: Day, bytes: u64, has_entries: bool) -> io::Result<Self> {
        let file = File::options().append(true).open(path)?;
        file.set_len(bytes)?;
        disk.sync(&file)?;
        Ok(Self { file, day, bytes, has_entries, is_torn: false })
    }

    /// Whether a line of this day goes into this file. One of an earlier day does: entries come a little late around midnight.
    pub(crate) fn takes(&self, day: Day, drafted: usize, line: usize, max_bytes: u64) -> bool {
        let is_empty = !self.has_entries && drafted == 0;
        day <= self.day && (is_empty || self.bytes + (drafted + line) as u64 <= max_bytes)
    }

    pub(crate) fn append(&mut self, disk: &dyn Disk, lines: &[u8]) -> io::Result<()> {
        self.mend(disk)?;
        self.is_torn = true;
        disk.write(&self.file, lines)?;
        disk.sync(&self.file)?;
        self.bytes += lines.len() as u64;
        (self.has_entries, self.is_torn) = (true, false);
        Ok(())
    }

    /// Back to the last line that is synced. After a sync that failed nobody knows what of the rest is on the disk.
    pub(crate) fn mend(&mut self, disk: &dyn Disk) -> io::Result<()> {
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
