//! The disk, seen by the rest of the engine: ordered keys, values, and one way to write, a batch that happens durably and whole or
//! not at all. `sled_store` keeps it on a disk, `memory` is its twin for the simulation, `keys` is the disk's table of contents.

mod audit;
mod committer;
pub mod counters;
mod directory;
mod disk;
pub mod due;
mod envelope;
pub mod files;
pub mod journal;
pub mod keys;
pub mod memory;
mod mend;
pub mod salvage;
pub mod secrets;
mod sled_store;
mod tide;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod sled_tests;

use std::{future::Future, io, pin::Pin, sync::Arc, time::Duration};

pub use disk::{Disk, RealDisk};
pub use envelope::StoreKey;
pub use memory::MemoryStore;
pub use mend::Mended;
pub use sled_store::{SledConfig, SledStore};

pub type Key = Vec<u8>;
pub type CommitFuture = Pin<Box<dyn Future<Output = Result<(), CommitError>> + Send>>;

/// What one key, one value and one batch may weigh. The key limit keeps sled's index pages far below the size at which it moves
/// them to files that it never syncs; the others bound the memory of a commit.
pub const MAX_KEY_BYTES: usize = 256;
pub const MAX_VALUE_BYTES: usize = 32 << 20;
pub const MAX_BATCH_BYTES: usize = 64 << 20;
pub const MAX_BATCH_KEYS: usize = 100_000;

/// Keys start with a byte below this one; those above belong to the implementations.
pub const FIRST_RESERVED: u8 = 0xF0;

pub trait Store: Send + Sync + 'static {
    /// Durable state only: what a commit wrote is seen when its future has resolved, not before.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    /// Ordered scan, at most `limit` pairs. One scan sees one state: all of a commit or nothing of it.
    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError>;
    /// The keys alone: no value is read or decrypted.
    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError>;
    /// The batch is under way when this returns, also if nobody polls the future: commits of one caller take effect in the order of
    /// their calls. The future resolves to `Ok` once every write is durable. Any error but `StoreError::Unknown` means that nothing
    /// was written.
    fn commit(&self, batch: Batch) -> CommitFuture;
    fn health(&self) -> Health;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// Half open: `start` belongs to it, `end` does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub start: Key,
    pub end: Key,
}

impl KeyRange {
    pub fn new(start: Key, end: Key) -> Self {
        Self { start, end }
    }

    /// Every key that starts with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self { start: prefix.to_vec(), end: prefix_end(prefix) }
    }

    /// What is left of a forward scan after it has shown `key`; a backward scan goes on with `end = key`.
    pub fn after(mut self, key: &[u8]) -> Self {
        self.start = key.to_vec();
        self.start.push(0);
        self
    }

    /// Without the implementations' own keys; `None` when nothing is left.
    fn clamped(mut self) -> Option<Self> {
        if self.end.first().is_some_and(|first| *first >= FIRST_RESERVED) {
            self.end = vec![FIRST_RESERVED];
        }
        (self.start < self.end).then_some(self)
    }
}

/// The last number given in the feed; 0 before the first.
pub fn feed_end(store: &dyn Store) -> Result<u64, StoreError> {
    store.get(&keys::feed_end())?.map_or(Ok(0), |value| feed_number(&value))
}

fn feed_number(value: &[u8]) -> Result<u64, StoreError> {
    let bytes = value.try_into().map_err(|_| StoreError::damaged(&keys::feed_end(), "not a number"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// The first key after all those that start with `prefix`.
pub fn prefix_end(prefix: &[u8]) -> Key {
    match prefix.iter().rposition(|byte| *byte != u8::MAX) {
        Some(last) => {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            end
        }
        None => vec![FIRST_RESERVED],
    }
}

/// What a key must hold for a batch to be written. Compared by content: a value that changed and changed back is the same value.
#[derive(Clone, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Present,
    Value(Vec<u8>),
}

/// Preconditions and writes that belong together. Preconditions speak of the state before the batch; of two writes to one key the later
/// one counts.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Batch {
    expects: Vec<(Key, Expect)>,
    writes: Vec<(Key, Option<Vec<u8>>)>,
    appends: Vec<Append>,
}

/// A value for the end of a stream of the feed.
#[derive(Clone, PartialEq, Eq)]
pub struct Append {
    pub stream: u64,
    /// How many numbers it takes: it may stand for several changes.
    pub numbers: u64,
    pub value: Vec<u8>,
}

impl Batch {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn put(&mut self, key: Key, value: Vec<u8>) -> &mut Self {
        self.writes.push((key, Some(value)));
        self
    }

    pub fn delete(&mut self, key: Key) -> &mut Self {
        self.writes.push((key, None));
        self
    }

    /// Adds a value to the end of a stream of the feed. Its number comes from one rising sequence over all streams, in the order of
    /// commits: whoever has seen what is visible up to a number misses nothing by going on from there.
    pub fn append(&mut self, stream: u64, value: Vec<u8>) -> &mut Self {
        self.append_many(stream, 1, value)
    }

    /// One value for several changes, each with a number of its own. It is kept at the last of them.
    pub fn append_many(&mut self, stream: u64, numbers: u64, value: Vec<u8>) -> &mut Self {
        self.appends.push(Append { stream, numbers, value });
        self
    }

    pub fn expect_absent(&mut self, key: Key) -> &mut Self {
        self.expect(key, Expect::Absent)
    }

    pub fn expect_present(&mut self, key: Key) -> &mut Self {
        self.expect(key, Expect::Present)
    }

    pub fn expect_value(&mut self, key: Key, value: Vec<u8>) -> &mut Self {
        self.expect(key, Expect::Value(value))
    }

    /// What a `get` answered earlier must still be so.
    pub fn expect_unchanged(&mut self, key: Key, seen: Option<Vec<u8>>) -> &mut Self {
        self.expect(key, seen.map_or(Expect::Absent, Expect::Value))
    }

    pub fn expect(&mut self, key: Key, expect: Expect) -> &mut Self {
        self.expects.push((key, expect));
        self
    }

    pub fn expects(&self) -> &[(Key, Expect)] {
        &self.expects
    }

    pub fn writes(&self) -> &[(Key, Option<Vec<u8>>)] {
        &self.writes
    }

    pub fn appends(&self) -> &[Append] {
        &self.appends
    }

    pub fn writes_to(&self, key: &[u8]) -> bool {
        self.writes.iter().any(|(written, _)| written == key)
    }

    /// Bytes of the keys and values it writes.
    pub fn written_bytes(&self) -> u64 {
        let written = self.writes.iter().filter_map(|(key, value)| Some(key.len() + value.as_ref()?.len()));
        let appended = self.appends.iter().map(|append| append.value.len());
        written.chain(appended).map(|bytes| bytes as u64).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.expects.is_empty() && self.writes.is_empty() && self.appends.is_empty()
    }

    /// Checks the limits and answers the weight in bytes.
    fn weigh(&self) -> Result<usize, StoreError> {
        within("keys in a batch", self.expects.len() + self.writes.len() + self.appends.len(), MAX_BATCH_KEYS)?;
        let mut bytes = 0;
        for key in self.expects.iter().map(|(key, _)| key).chain(self.writes.iter().map(|(key, _)| key)) {
            check_key(key)?;
            bytes += key.len();
        }
        let appended = self.appends.iter().map(|append| &append.value);
        for value in self.writes.iter().filter_map(|(_, value)| value.as_ref()).chain(appended) {
            within("bytes in a value", value.len(), MAX_VALUE_BYTES)?;
            bytes += value.len();
        }
        within("bytes in a batch", bytes, MAX_BATCH_BYTES)?;
        Ok(bytes)
    }
}

/// Values may be patient data: only the shape is shown.
impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Batch({} preconditions, {} writes, redacted)",
            self.expects.len(),
            self.writes.len() + self.appends.len()
        )
    }
}

fn within(what: &'static str, size: usize, limit: usize) -> Result<(), StoreError> {
    if size > limit { Err(StoreError::TooLarge { what, size, limit }) } else { Ok(()) }
}

fn check_key(key: &[u8]) -> Result<(), StoreError> {
    within("bytes in a key", key.len(), MAX_KEY_BYTES)?;
    match key.first() {
        Some(first) if *first < FIRST_RESERVED => Ok(()),
        _ => Err(StoreError::NotAKey),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Bytes left on the disk; `None` when they could not be read.
    pub free: Option<u64>,
    /// Commits are refused while less than this is free.
    pub floor: u64,
    /// Why no commit is taken any more, until the store is reopened.
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
        self.refusing.is_none() && self.free.is_some_and(|free| free >= self.floor)
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store in {dir} is in use by another process")]
    Locked { dir: String },
    #[error("the store in {dir} is encrypted with another key than the one given, or its first record is damaged")]
    WrongKey { dir: String },
    #[error(
        "the store in {dir} has lost commits: it ends at commit group {found}, but group {expected} was reported as durable; restore a \
         backup, or remove the file `tide` to accept the loss"
    )]
    LostCommits { dir: String, found: u64, expected: u64 },
    /// Never answered with other data instead.
    #[error("damaged data in the key space `{space}`: {what}")]
    Damaged { space: &'static str, what: String },
    #[error("too many commits are waiting, try again")]
    Busy,
    #[error("the store takes no more writes until it is reopened: {why}")]
    Refusing { why: String },
    /// It may be there after a restart, or not: read again once the store is reopened.
    #[error("a commit failed half way, its outcome is unknown until the store is reopened: {why}")]
    Unknown { why: String },
    #[error("{size} {what} are too many, the limit is {limit}")]
    TooLarge { what: &'static str, size: usize, limit: usize },
    #[error("an empty key, or one that starts with a reserved byte")]
    NotAKey,
    #[error("the key file {path}: {why}")]
    KeyFile { path: String, why: String },
    #[error("{what}: {source}")]
    Io { what: String, source: Arc<io::Error> },
}

impl StoreError {
    fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source: Arc::new(source) }
    }

    /// A value that is not what its key promises.
    pub fn damaged(key: &[u8], what: impl Into<String>) -> Self {
        Self::Damaged { space: keys::space_name(key), what: what.into() }
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// The state was not the one the batch expected: read again and decide again.
    #[error("a precondition in the key space `{}` no longer holds", keys::space_name(key))]
    Conflict { key: Key },
    #[error("{free} bytes are free on the store's disk, writes are refused below {floor}")]
    Full { free: u64, floor: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_end_is_the_first_key_after_the_prefix() {
        assert_eq!(prefix_end(b"ab"), b"ac");
        assert_eq!(prefix_end(&[1, 0xFF, 0xFF]), [2]);
        assert_eq!(prefix_end(&[]), [FIRST_RESERVED]);
        assert_eq!(prefix_end(&[0xFF]), [FIRST_RESERVED]);
        assert!(b"ab\xFF\xFF\xFF".as_slice() < prefix_end(b"ab").as_slice());
    }

    #[test]
    fn ranges_never_reach_reserved_keys() {
        assert_eq!(KeyRange::prefix(&[]).clamped(), Some(KeyRange::new(vec![], vec![FIRST_RESERVED])));
        assert_eq!(KeyRange::new(vec![1], vec![0xFF; 9]).clamped(), Some(KeyRange::new(vec![1], vec![FIRST_RESERVED])));
        assert_eq!(KeyRange::prefix(&[0xFE]).clamped(), None);
        assert_eq!(KeyRange::new(vec![2], vec![2]).clamped(), None);
        assert_eq!(KeyRange::new(vec![3], vec![2]).clamped(), None);
    }

    #[test]
    fn limits_are_named() {
        let weigh = |fill: &dyn for<'b> Fn(&'b mut Batch) -> &'b mut Batch| {
            let mut batch = Batch::new();
            fill(&mut batch);
            batch.weigh().map_err(|error| error.to_string())
        };
        assert_eq!(weigh(&|batch| batch.put(vec![1; 256], vec![0; 10])), Ok(266));
        assert!(weigh(&|batch| batch.put(vec![1; 257], vec![])).is_err_and(|why| why.contains("257 bytes in a key")));
        assert!(weigh(&|batch| batch.delete(vec![])).is_err_and(|why| why.contains("an empty key")));
        assert!(weigh(&|batch| batch.expect_absent(vec![0xF0])).is_err_and(|why| why.contains("reserved")));
        assert!(
            weigh(&|batch| batch.put(vec![1], vec![0; MAX_VALUE_BYTES + 1])).is_err_and(|why| why.contains("value"))
        );
    }

    #[test]
    fn a_batch_prints_redacted() {
        let mut batch = Batch::new();
        batch.put(vec![1], b"Jane Doe".to_vec()).expect_value(vec![2], b"Jane".to_vec());
        assert_eq!(format!("{batch:?}"), "Batch(1 preconditions, 1 writes, redacted)");
    }
}
