//! What an embedded engine must give, so that a store can be made of it. It keeps sealed values under keys; groups, preconditions, the
//! feed and the watermark are the committer's.
//!
//! The committer calls `Writer` from its one thread: `version`, `replacing` and `fresh` while it gathers a group, then `apply`, a sync,
//! and `show`. Readers see a group once it is shown, all of it in the same moment; neither waits for the other.

use std::{io, sync::Arc};

use super::{
    error::StoreError,
    key_id::KeyId,
    range::{Direction, Key, KeyRange},
    version::Version,
};

/// What readers see: one state, that after the last group shown when the view was made.
pub(super) trait Reads {
    fn sealed(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError>;
    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError>;
    /// Bytes that are kept in memory for it, about: what was replaced since.
    fn kept_bytes(&self) -> u64;
    /// Forward, without what need not be read for it.
    fn outlines(&self, range: KeyRange, limit: usize) -> Result<Vec<Outline>, StoreError>;
}

/// What is known of a value that was not read whole.
pub(super) struct Outline {
    pub key: Key,
    pub version: Version,
    pub sealed_with: KeyId,
    /// Of the key and the sealed value, about.
    pub bytes: u64,
}

pub(super) trait Medium: Send + Sync + 'static {
    fn view(&self) -> Box<dyn Reads + '_>;
}

/// A key, and the sealed value it is to hold or none.
pub(super) type Write<'a> = (&'a [u8], Option<&'a [u8]>);

pub(super) trait Writer: Send {
    /// Of what a key holds before the group.
    fn version(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError>;
    /// The same, of a key that the group may write: whatever readers will need of it is kept from now on.
    fn replacing(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError>;
    /// The group writes a key that never held anything.
    fn fresh(&mut self, key: &[u8]);
    /// Hands all writes to the kernel, as one. None of them is shown. After an error nothing may be written any more.
    fn apply(&mut self, writes: &[Write<'_>]) -> Result<(), String>;
    /// What was applied is durable: readers see it from now on.
    fn show(&mut self);
    /// The group came to nothing.
    fn forget(&mut self);
}

/// Makes what was applied survive the loss of power.
pub(super) type SyncFn = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

pub(super) struct Opened {
    pub medium: Arc<dyn Medium>,
    pub writer: Box<dyn Writer>,
    pub sync: SyncFn,
}
