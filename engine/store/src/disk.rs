//! The disk operations of a store: syncing and free space. Tests substitute a disk that loses writes.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{CommitError, StoreError, engine::SyncFn};

pub trait Disk: Send + Sync + 'static {
    /// Makes everything written so far survive a power loss.
    fn sync(&self) -> io::Result<()>;
    fn free(&self) -> io::Result<u64>;
    /// Reports that writing, flushing or syncing a group failed. The kernel may have dropped the unwritten pages
    /// without reporting it again, and engines accept no write after a failed one. Only a new process can read
    /// the state of the disk and continue.
    fn failed(&self, why: &str);
}

pub struct RealDisk {
    sync: SyncFn,
    dir: PathBuf,
}

impl RealDisk {
    pub(super) fn new(sync: SyncFn, dir: &Path) -> Self {
        Self { sync, dir: dir.to_path_buf() }
    }
}

impl Disk for RealDisk {
    fn sync(&self) -> io::Result<()> {
        (self.sync)()
    }

    fn free(&self) -> io::Result<u64> {
        free_bytes(&self.dir)
    }

    fn failed(&self, why: &str) {
        tracing::error!(
            why,
            dir = %self.dir.display(),
            "the store could not be written; the process ends because the state of the disk is unknown: restart it to read the stored state"
        );
        std::process::abort()
    }
}

/// Returns the free bytes of the file system that contains a folder.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    fs4::available_space(dir)
}

/// Refuses writes while the disk is nearly full, because an engine cannot continue after a write that found
/// no space.
pub(super) struct Floor {
    pub(super) bytes: u64,
    reading: Mutex<Reading>,
}

struct Reading {
    at: Option<Instant>,
    free: u64,
    written: u64,
}

/// Validity of a reading: this duration, or this number of bytes written.
const GOOD_FOR: Duration = Duration::from_secs(1);
const GOOD_FOR_BYTES: u64 = 16 << 20;

impl Floor {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { bytes, reading: Mutex::new(Reading { at: None, free: 0, written: 0 }) }
    }

    pub(crate) fn free(&self, disk: &dyn Disk) -> io::Result<u64> {
        let mut reading = self.reading.lock();
        if reading.at.is_none_or(|at| at.elapsed() >= GOOD_FOR) || reading.written >= GOOD_FOR_BYTES {
            *reading = Reading { at: Some(Instant::now()), free: disk.free()?, written: 0 };
        }
        Ok(reading.free.saturating_sub(reading.written))
    }

    pub(crate) fn check(&self, disk: &dyn Disk) -> Result<(), CommitError> {
        let free = self.free(disk).map_err(StoreError::io("the free space of the store's disk"))?;
        if free < self.bytes { Err(CommitError::Full { free, floor: self.bytes }) } else { Ok(()) }
    }

    pub(crate) fn written(&self, bytes: u64) {
        self.reading.lock().written += bytes;
    }
}
