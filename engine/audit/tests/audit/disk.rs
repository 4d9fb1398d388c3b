//! A disk that counts, waits and fails on request.

use std::{
    fs::File,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use audit::{Disk, RealDisk};
use parking_lot::{Condvar, Mutex};

#[derive(Default)]
pub(crate) struct TestDisk {
    pub(crate) syncs: AtomicUsize,
    /// Writes fail after half of their bytes.
    pub(crate) full: AtomicBool,
    pub(crate) sync_fails: AtomicBool,
    /// The number of writes and syncs so far, and the number of the call that fails.
    pub(crate) calls: AtomicUsize,
    pub(crate) fails_at: AtomicUsize,
    gate: Mutex<SyncGate>,
    moved: Condvar,
}

#[derive(Default)]
struct SyncGate {
    is_shut: bool,
    is_sync_waiting: bool,
}

impl TestDisk {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    fn is_its_turn_to_fail(&self) -> bool {
        self.calls.fetch_add(1, SeqCst) + 1 == self.fails_at.load(SeqCst)
    }

    /// Blocks all syncs until `open`.
    pub(crate) fn shut(&self) {
        *self.gate.lock() = SyncGate { is_shut: true, is_sync_waiting: false };
    }

    pub(crate) fn until_sync_waits(&self) {
        let mut gate = self.gate.lock();
        self.moved.wait_while(&mut gate, |gate| !gate.is_sync_waiting);
    }

    pub(crate) fn open(&self) {
        self.gate.lock().is_shut = false;
        self.moved.notify_all();
    }
}

impl Disk for TestDisk {
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        if self.is_its_turn_to_fail() || self.full.load(SeqCst) {
            RealDisk.write(file, &bytes[..bytes.len() / 2])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        RealDisk.write(file, bytes)
    }

    /// Does not sync the file: a test does not cut the power.
    fn sync(&self, _: &File) -> io::Result<()> {
        self.syncs.fetch_add(1, SeqCst);
        let mut gate = self.gate.lock();
        gate.is_sync_waiting = true;
        self.moved.notify_all();
        // The timeout ends the writer after a failed test that never opened the gate.
        self.moved.wait_while_for(&mut gate, |gate| gate.is_shut, Duration::from_secs(10));
        if self.is_its_turn_to_fail() || self.sync_fails.load(SeqCst) {
            return Err(io::Error::other("the disk is gone"));
        }
        Ok(())
    }
}
