//! Store of the simulation, in memory or in a database, with fault injection. Commits are synchronous.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use store::{
    Batch, CommitError, CommitFuture, Direction, Health, Key, KeyRange, MemoryStore, SealedValue, Store, StoreError,
    Versioned,
};
use tokio::runtime::{Builder, Runtime};

/// A fault of the next commit.
pub enum DiskFault {
    /// The batch is written, but the result is `StoreError::Unknown`.
    LoseAnswer,
}

pub struct SimDisk {
    store: Arc<dyn Store>,
    waiting: Runtime,
    state: Mutex<DiskState>,
}

#[derive(Default)]
struct DiskState {
    faults: VecDeque<DiskFault>,
    full: bool,
}

impl SimDisk {
    /// Returns two handles of the same store.
    pub fn in_memory() -> [SimDisk; 2] {
        let store = Arc::new(MemoryStore::new());
        [SimDisk::new(store.clone()), SimDisk::new(store)]
    }

    pub fn new(store: Arc<dyn Store>) -> SimDisk {
        let waiting = Builder::new_current_thread().build().expect("a current-thread runtime");
        SimDisk { store, waiting, state: Mutex::default() }
    }

    /// Returns the store without faults.
    pub fn reliable(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    pub fn fail_next_commit(&self, fault: DiskFault) {
        self.state().faults.push_back(fault);
    }

    /// While the disk is full, every commit is refused.
    pub fn set_full(&self, full: bool) {
        self.state().full = full;
    }

    pub fn commit_now(&self, batch: Batch) -> Result<(), CommitError> {
        let fault = {
            let mut state = self.state();
            if state.full {
                return Err(CommitError::Full { free: 0, floor: 1 });
            }
            state.faults.pop_front()
        };
        self.waiting.block_on(self.store.commit(batch))?;
        match fault {
            Some(DiskFault::LoseAnswer) => Err(StoreError::Unknown { why: "the answer was lost".into() }.into()),
            None => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock()
    }
}

impl Store for SimDisk {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        self.store.read(key)
    }

    fn read_many(&self, keys: &[Key]) -> Result<Vec<Option<Versioned>>, StoreError> {
        self.store.read_many(keys)
    }

    fn get_sealed(&self, keys: &[Key]) -> Result<Vec<Option<SealedValue>>, StoreError> {
        self.store.get_sealed(keys)
    }

    fn unseal(&self, key: &[u8], value: SealedValue) -> Result<Vec<u8>, StoreError> {
        self.store.unseal(key, value)
    }

    fn scan_sealed(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, SealedValue)>, StoreError> {
        self.store.scan_sealed(range, direction, limit)
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.store.scan_keys(range, direction, limit)
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        Box::pin(std::future::ready(self.commit_now(batch)))
    }

    fn feed_end(&self, stream: Option<u64>) -> Result<u64, StoreError> {
        self.store.feed_end(stream)
    }

    fn health(&self) -> Health {
        let full = self.state().full;
        Health { free: if full { Some(0) } else { Some(u64::MAX) }, floor: 1, ..self.store.health() }
    }
}
