//! The interface of an embedded engine. An engine keeps sealed values under keys; the committer adds groups,
//! preconditions, the feed and the watermark.
//!
//! The committer calls `Writer` from its single thread: `version`, `replacing` and `fresh` while it collects
//! a group, then `apply`, a sync, and `show`. A group becomes visible to readers atomically with `show`.
//! Readers and the writer do not wait for each other.

use std::{io, sync::Arc};

use super::{Direction, Key, KeyId, KeyRange, StoreError, Version};

/// A read view: the state after the last group shown before the view was created.
pub(super) trait Reads {
    fn sealed(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError>;
    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError>;
    /// Approximate bytes kept in memory for the view: values replaced since its creation.
    fn kept_bytes(&self) -> u64;
    /// Scans forward, without reading whole values.
    fn outlines(&self, range: KeyRange, limit: usize) -> Result<Vec<Outline>, StoreError>;
}

/// Metadata of a value, available without reading it whole.
pub(super) struct Outline {
    pub key: Key,
    pub version: Version,
    pub sealed_with: KeyId,
    /// Approximate size of the key and the sealed value.
    pub bytes: u64,
}

pub(super) trait Medium: Send + Sync + 'static {
    fn view(&self) -> Box<dyn Reads + '_>;
}

/// A key and its new sealed value, or `None` for a deletion.
pub(super) type KeyWrite<'a> = (&'a [u8], Option<&'a [u8]>);

pub(super) trait Writer: Send {
    /// Returns the version of a key before the group.
    fn version(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError>;
    /// Returns whether `replacing` must be called for each key that the group may write. Otherwise the version may
    /// also be known from elsewhere (`recent_versions`).
    fn keeps_replaced(&self) -> bool;
    /// Like `version`, for a key that the group may write. From then on, the engine keeps the old value for
    /// readers.
    fn replacing(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError>;
    /// Announces that the group writes a key that never had a value.
    fn fresh(&mut self, key: &[u8]);
    /// Passes all writes to the kernel as one unit, without showing them to readers. After an error, no further
    /// write is allowed.
    fn apply(&mut self, writes: &[KeyWrite<'_>]) -> Result<(), String>;
    /// Makes the applied writes visible to readers. Called once they are durable.
    fn show(&mut self);
    /// Discards the collected group.
    fn forget(&mut self);
}

/// Makes applied writes survive a power loss.
pub(super) type SyncFn = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

pub(super) struct Opened {
    pub medium: Arc<dyn Medium>,
    pub writer: Box<dyn Writer>,
    pub sync: SyncFn,
}
