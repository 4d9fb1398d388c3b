//! The store in memory, for tests and the simulation. Commits are durable at once; faults can be injected,
//! and copies model a crash.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use parking_lot::Mutex;

use super::{
    Append, Batch, CommitError, CommitFuture, Direction, Health, Key, KeyRange, SealedValue, Store, StoreError,
    Version, Versioned, batch::check_key, contract::feed_number, keys,
};

/// A fault injected into the next commit.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The commit writes nothing and returns this error.
    Refuse(CommitError),
    /// The commit writes everything, but returns `StoreError::Unknown`.
    LoseAnswer,
}

#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<MemoryState>,
}

#[derive(Clone, Default)]
struct MemoryState {
    values: BTreeMap<Key, Versioned>,
    /// The last version given.
    version: u128,
    faults: VecDeque<Fault>,
    full: bool,
    commits: u64,
    reads: u64,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the state that a crash at this moment would leave on the disk: the values without the faults.
    pub fn fork(&self) -> Self {
        let MemoryState { values, version, .. } = self.state.lock().clone();
        Self { state: Mutex::new(MemoryState { values, version, ..MemoryState::default() }) }
    }

    /// Queues a fault. Each commit takes one.
    pub fn fail_next_commit(&self, fault: Fault) {
        self.state.lock().faults.push_back(fault);
    }

    /// Makes commits fail with `CommitError::Full` while `full` is set.
    pub fn set_full(&self, full: bool) {
        self.state.lock().full = full;
    }

    /// Returns the number of batches written.
    pub fn commits(&self) -> u64 {
        self.state.lock().commits
    }

    /// Returns the number of reads and scans.
    pub fn reads(&self) -> u64 {
        self.state.lock().reads
    }

    pub fn commit_now(&self, batch: Batch) -> Result<(), CommitError> {
        batch.weigh()?;
        let mut state = self.state.lock();
        if state.full {
            return Err(CommitError::Full { free: 0, floor: 1 });
        }
        let lost = match state.faults.pop_front() {
            Some(Fault::Refuse(error)) => return Err(error),
            Some(Fault::LoseAnswer) => true,
            None => false,
        };
        state.apply(batch)?;
        if lost { Err(StoreError::Unknown { why: "the answer was lost".into() }.into()) } else { Ok(()) }
    }

    fn collect<T>(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
        take: impl Fn((&Key, &Versioned)) -> T,
    ) -> Vec<T> {
        let Some(KeyRange { start, end }) = range.clamped() else { return Vec::new() };
        let mut state = self.state.lock();
        state.reads += 1;
        let pairs = state.values.range(start..end);
        match direction {
            Direction::Forward => pairs.take(limit).map(take).collect(),
            Direction::Backward => pairs.rev().take(limit).map(take).collect(),
        }
    }
}

impl MemoryState {
    fn apply(&mut self, batch: Batch) -> Result<(), CommitError> {
        for (key, expect) in batch.expects {
            if !expect.is_met(self.values.get(&key).map(|found| found.version)) {
                return Err(CommitError::Conflict { key });
            }
        }
        for (key, value) in batch.writes {
            match value {
                Some(value) => self.put(key, value),
                None => drop(self.values.remove(&key)),
            }
        }
        self.append(batch.appends)?;
        self.commits += 1;
        Ok(())
    }

    fn append(&mut self, appends: Vec<Append>) -> Result<(), StoreError> {
        let mut last = self.values.get(&keys::feed_end()).map_or(Ok(0), |found| feed_number(&found.value))?;
        for Append { stream, numbers, value } in appends {
            last += numbers;
            self.put(keys::feed(stream, last), value);
            self.put(keys::feed_end(), last.to_be_bytes().to_vec());
        }
        Ok(())
    }

    fn put(&mut self, key: Key, value: Vec<u8>) {
        self.version += 1;
        self.values.insert(key, Versioned { value, version: Version(self.version) });
    }
}

/// Values in memory are not sealed.
impl From<Versioned> for SealedValue {
    fn from(Versioned { value, version }: Versioned) -> Self {
        Self { version, bytes: value }
    }
}

impl Store for MemoryStore {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        check_key(key)?;
        let mut state = self.state.lock();
        state.reads += 1;
        Ok(state.values.get(key).cloned())
    }

    fn get_sealed(&self, keys: &[Key]) -> Result<Vec<Option<SealedValue>>, StoreError> {
        keys.iter().map(|key| Ok(self.read(key)?.map(SealedValue::from))).collect()
    }

    fn unseal(&self, _: &[u8], value: SealedValue) -> Result<Vec<u8>, StoreError> {
        Ok(value.bytes)
    }

    fn scan_sealed(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, SealedValue)>, StoreError> {
        Ok(self.collect(range, direction, limit, |(key, found)| (key.clone(), found.clone().into())))
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        Ok(self.collect(range, direction, limit, |(key, _)| key.clone()))
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        Box::pin(std::future::ready(self.commit_now(batch)))
    }

    fn health(&self) -> Health {
        let full = self.state.lock().full;
        Health {
            free: Some(if full { 0 } else { u64::MAX }),
            floor: 1,
            refusing: None,
            damage: None,
            waiting: 0,
            last_commit: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn put(key: &[u8], value: &[u8]) -> Batch {
        let mut batch = Batch::new();
        batch.put(key.to_vec(), value.to_vec());
        batch
    }

    #[test]
    fn a_fork_is_what_a_crash_leaves() {
        let store = MemoryStore::new();
        store.commit_now(put(b"a", b"1")).unwrap();
        store.set_full(true);
        let after_crash = store.fork();
        after_crash.commit_now(put(b"a", b"2")).unwrap();
        assert_eq!(store.get(b"a").unwrap().unwrap(), b"1");
        assert_eq!(after_crash.get(b"a").unwrap().unwrap(), b"2");
    }

    #[test]
    fn faults_strike_one_commit_each() {
        let store = MemoryStore::new();
        store.fail_next_commit(Fault::Refuse(StoreError::Busy.into()));
        store.fail_next_commit(Fault::LoseAnswer);
        assert!(matches!(store.commit_now(put(b"a", b"1")), Err(CommitError::Store(StoreError::Busy))));
        assert_eq!(store.get(b"a").unwrap(), None);
        assert!(matches!(store.commit_now(put(b"b", b"1")), Err(CommitError::Store(StoreError::Unknown { .. }))));
        assert_eq!(store.get(b"b").unwrap().unwrap(), b"1");
        store.commit_now(put(b"c", b"1")).unwrap();
        store.set_full(true);
        assert!(matches!(store.commit_now(put(b"d", b"1")), Err(CommitError::Full { .. })));
        assert!(!store.health().accepts_writes());
        store.set_full(false);
        store.commit_now(put(b"d", b"1")).unwrap();
        assert_eq!(store.commits(), 3);
    }
}
