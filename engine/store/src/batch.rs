//! Batches: preconditions and writes that are applied atomically.

use super::{FIRST_RESERVED, Key, StoreError, Version};

/// Maximum sizes of a key, a value and a batch. The key limit keeps sled's index pages far below the size at
/// which sled moves them to files that it never syncs. The other limits bound the memory of a commit.
pub const MAX_KEY_BYTES: usize = 256;
pub const MAX_VALUE_BYTES: usize = 32 << 20;
pub const MAX_BATCH_BYTES: usize = 64 << 20;
pub const MAX_BATCH_KEYS: usize = 100_000;

/// A precondition on the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Present,
    /// The exact write that a read found. A value that changed and changed back has another version.
    Version(Version),
}

impl Expect {
    pub(crate) fn is_met(self, found: Option<Version>) -> bool {
        match self {
            Self::Absent => found.is_none(),
            Self::Present => found.is_some(),
            Self::Version(version) => found == Some(version),
        }
    }
}

/// Preconditions and writes that are applied atomically. Preconditions refer to the state before the batch.
/// Of two writes to one key, the later one wins.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub(crate) expects: Vec<(Key, Expect)>,
    pub(crate) writes: Vec<(Key, Option<Vec<u8>>)>,
    pub(crate) appends: Vec<Append>,
}

/// A value to append to a stream of the feed.
#[derive(Clone, PartialEq, Eq)]
pub struct Append {
    pub stream: u64,
    /// Number of sequence numbers the value takes; one value may represent several changes.
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

    /// Appends a value to a stream of the feed. Its number comes from an increasing sequence in commit order. A
    /// reader that has seen everything visible up to a number can resume from there without gaps. The sequence
    /// covers all streams, or all streams that share an owner (`key_owner`), depending on the store.
    pub fn append(&mut self, stream: u64, value: Vec<u8>) -> &mut Self {
        self.append_many(stream, 1, value)
    }

    /// Appends one value for several changes, each with its own number. The value is stored at the last number.
    pub fn append_many(&mut self, stream: u64, numbers: u64, value: Vec<u8>) -> &mut Self {
        self.appends.push(Append { stream, numbers, value });
        self
    }

    /// Adds the preconditions and writes of another batch.
    pub fn add(&mut self, other: Batch) -> &mut Self {
        self.expects.extend(other.expects);
        self.writes.extend(other.writes);
        self.appends.extend(other.appends);
        self
    }

    pub fn expect_absent(&mut self, key: Key) -> &mut Self {
        self.expect(key, Expect::Absent)
    }

    pub fn expect_present(&mut self, key: Key) -> &mut Self {
        self.expect(key, Expect::Present)
    }

    /// Expects the version that an earlier `read` found, or absence if it found nothing.
    pub fn expect_unchanged(&mut self, key: Key, seen: Option<Version>) -> &mut Self {
        self.expect(key, seen.map_or(Expect::Absent, Expect::Version))
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

    /// Returns the size of the keys and values written by the batch.
    pub fn written_bytes(&self) -> u64 {
        let written = self.writes.iter().filter_map(|(key, value)| Some(key.len() + value.as_ref()?.len()));
        let appended = self.appends.iter().map(|append| append.value.len());
        written.chain(appended).map(|bytes| bytes as u64).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.expects.is_empty() && self.writes.is_empty() && self.appends.is_empty()
    }

    /// Checks the limits and returns the size in bytes.
    pub(crate) fn weigh(&self) -> Result<usize, StoreError> {
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

/// Omits the values, which may be patient data.
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

pub(crate) fn within(what: &'static str, size: usize, limit: usize) -> Result<(), StoreError> {
    if size > limit { Err(StoreError::TooLarge { what, size, limit }) } else { Ok(()) }
}

pub(crate) fn check_key(key: &[u8]) -> Result<(), StoreError> {
    within("bytes in a key", key.len(), MAX_KEY_BYTES)?;
    match key.first() {
        Some(first) if *first < FIRST_RESERVED => Ok(()),
        _ => Err(StoreError::NotAKey),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeded_limits_are_named_in_the_error() {
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
        batch.put(vec![1], b"Jane Doe".to_vec()).expect_present(vec![2]);
        assert_eq!(format!("{batch:?}"), "Batch(1 preconditions, 1 writes, redacted)");
    }
}
