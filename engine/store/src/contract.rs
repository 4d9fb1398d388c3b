//! The interface of a store, independent of its implementation.

use std::{future::Future, path::Path, pin::Pin, time::Duration};

use super::{Batch, CommitError, Direction, Key, KeyRange, Sealed, SealedValue, StoreError, Versioned, keys};

pub type CommitFuture = Pin<Box<dyn Future<Output = Result<(), CommitError>> + Send>>;

pub trait Store: Send + Sync + 'static {
    /// Reads the durable state. A commit is visible when its future has resolved, not before.
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError>;
    /// Reads a value without its version, for callers that set no precondition on it.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read(key)?.map(|found| found.value))
    }
    /// Reads several keys, in order. A store shared by several processes may return values of different states.
    fn read_many(&self, keys: &[Key]) -> Result<Vec<Option<Versioned>>, StoreError> {
        keys.iter().map(|key| self.read(key)).collect()
    }
    /// Like `read_many`, without opening the values, for callers that know the contents of some versions and set no
    /// precondition.
    fn get_sealed(&self, keys: &[Key]) -> Result<Vec<Option<SealedValue>>, StoreError>;
    /// Like `read_many`, without versions, for callers that set no precondition on the values.
    fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let found = keys.iter().zip(self.get_sealed(keys)?);
        found.map(|(key, value)| value.map(|value| self.unseal(key, value)).transpose()).collect()
    }
    /// Returns the content of a sealed value. `key` is the key under which this store returned it.
    fn unseal(&self, key: &[u8], value: SealedValue) -> Result<Vec<u8>, StoreError>;
    /// Returns at most `limit` pairs in key order. A scan reads one consistent state: all of a commit or nothing
    /// of it.
    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        let unseal = |(key, value): (Key, SealedValue)| {
            let value = self.unseal(&key, value)?;
            Ok((key, value))
        };
        self.scan_sealed(range, direction, limit)?.into_iter().map(unseal).collect()
    }
    /// Like `scan`, without opening the values.
    fn scan_sealed(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, SealedValue)>, StoreError>;
    /// Scans keys without reading or decrypting values.
    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError>;
    /// Submits the batch. It is in progress when this method returns, even if the future is never polled. Commits
    /// of one caller take effect in the order of the calls. The future resolves to `Ok` once every write is
    /// durable. After any error but `StoreError::Unknown`, nothing was written.
    fn commit(&self, batch: Batch) -> CommitFuture;
    /// Returns the last number given in the sequence of `stream`, or in any sequence if `stream` is `None`.
    /// Returns 0 before the first number.
    fn feed_end(&self, _stream: Option<u64>) -> Result<u64, StoreError> {
        self.get(&keys::feed_end())?.map_or(Ok(0), |value| feed_number(&value))
    }
    /// Returns whether each read waits for another machine. Callers with many reads should then use a blocking
    /// thread.
    fn is_remote(&self) -> bool {
        false
    }
    /// Returns the interface to the sealing keys, or `None` if values are not sealed.
    fn sealed(&self) -> Option<&dyn Sealed> {
        None
    }
    /// Writes all values of one consistent state to a file. Reads and commits continue meanwhile. Blocks until
    /// the file is written, and reports the number of values written by each step.
    fn back_up(&self, _to: &Path, _written: &mut dyn FnMut(u64)) -> Result<BackedUp, StoreError> {
        Err(StoreError::NoBackup)
    }
    fn health(&self) -> Health;
}

/// The size of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackedUp {
    pub values: u64,
    /// Size of the file.
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Free bytes on the disk: `u64::MAX` if the store has no disk of this machine, `None` if they could not be
    /// determined.
    pub free: Option<u64>,
    /// Commits are refused while less than this is free.
    pub floor: u64,
    /// The reason why commits are refused, until the store is reopened or its database is reachable again.
    pub refusing: Option<String>,
    /// Known loss or damage, which an operator has to repair.
    pub damage: Option<String>,
    /// Number of batches in the queue.
    pub waiting: usize,
    /// Duration of the last group of commits, from the arrival of its oldest batch to the release of all.
    pub last_commit: Duration,
}

impl Health {
    pub fn accepts_writes(&self) -> bool {
        self.refusing.is_none() && self.damage.is_none() && self.free.is_some_and(|free| free >= self.floor)
    }
}

pub(crate) fn feed_number(value: &[u8]) -> Result<u64, StoreError> {
    let bytes = value.try_into().map_err(|_| StoreError::damaged(&keys::feed_end(), "not a number"))?;
    Ok(u64::from_be_bytes(bytes))
}
