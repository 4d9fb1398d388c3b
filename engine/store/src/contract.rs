//! What the rest of the engine asks of a store, whatever it lies on.

use std::{future::Future, path::Path, pin::Pin, time::Duration};

use super::{
    batch::Batch,
    error::{CommitError, StoreError},
    keys,
    range::{Direction, Key, KeyRange},
    rotation::Sealed,
    version::Versioned,
};

pub type CommitFuture = Pin<Box<dyn Future<Output = Result<(), CommitError>> + Send>>;

pub trait Store: Send + Sync + 'static {
    /// Durable state only: what a commit wrote is seen when its future has resolved, not before.
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError>;
    /// For those who put no precondition on it.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read(key)?.map(|found| found.value))
    }
    /// Several keys at once, in their order. A store that others share may answer each as of another moment.
    fn read_many(&self, keys: &[Key]) -> Result<Vec<Option<Versioned>>, StoreError> {
        keys.iter().map(|key| self.read(key)).collect()
    }
    /// Ordered scan, at most `limit` pairs. One scan sees one state: all of a commit or nothing of it.
    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError>;
    /// The keys alone: no value is read or decrypted.
    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError>;
    /// The batch is under way when this returns, also if nobody polls the future: commits of one caller take effect in the order of
    /// their calls. The future resolves to `Ok` once every write is durable. Any error but `StoreError::Unknown` means that nothing
    /// was written.
    fn commit(&self, batch: Batch) -> CommitFuture;
    /// The last number given in the sequence that a stream takes its numbers from; without a stream, in any sequence. 0 before the
    /// first.
    fn feed_end(&self, _stream: Option<u64>) -> Result<u64, StoreError> {
        self.get(&keys::feed_end())?.map_or(Ok(0), |value| feed_number(&value))
    }
    /// Whether each read waits for another machine: whoever reads much is better on a thread that may wait.
    fn is_remote(&self) -> bool {
        false
    }
    /// Where values are sealed: which keys they are sealed with.
    fn sealed(&self) -> Option<&dyn Sealed> {
        None
    }
    /// All values of one state into a file, while others read and commit. Takes as long as the file has to be written. Tells how many
    /// values each step wrote.
    fn back_up(&self, _to: &Path, _written: &mut dyn FnMut(u64)) -> Result<BackedUp, StoreError> {
        Err(StoreError::NoBackup)
    }
    fn health(&self) -> Health;
}

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackedUp {
    pub values: u64,
    /// Of the file.
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Bytes left on the disk, without end where it is not ours; `None` when they could not be read.
    pub free: Option<u64>,
    /// Commits are refused while less than this is free.
    pub floor: u64,
    /// Why no commit is taken: until the store is reopened, or until its database is back.
    pub refusing: Option<String>,
    /// What is known to be lost or damaged; an operator has to restore it.
    pub damage: Option<String>,
    /// Batches that wait for their turn.
    pub waiting: usize,
    /// How long the last group of commits took, from the arrival of its oldest batch to the release of all.
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
