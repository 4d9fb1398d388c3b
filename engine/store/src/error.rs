//! Errors of reads and commits.

use std::{io, sync::Arc};

use super::{EngineKind, Key, KeyId, keys};

#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store in {dir} is in use by another process")]
    Locked { dir: String },
    #[error(
        "the store in {dir} is sealed with another key {id} than the key file holds (it holds {held}), or its first record is damaged: put \
         the right `store.key` back from its backup"
    )]
    WrongKey { dir: String, id: KeyId, held: String },
    #[error(
        "a value in the key space `{space}` is sealed with the key {id}, which the key file does not hold: put that key back into `store.key` \
         from its backup"
    )]
    NoKey { space: &'static str, id: KeyId },
    #[error(
        "the store in {dir} has lost commits: it ends at commit group {found}, but group {expected} was reported as durable; restore a \
         backup, or remove the file `tide` to accept the loss"
    )]
    LostCommits { dir: String, found: u64, expected: u64 },
    /// Damaged data is always reported, never replaced by other data.
    #[error("damaged data in the key space `{space}`: {what}")]
    Damaged { space: &'static str, what: String },
    #[error("too many commits are waiting, try again")]
    Busy,
    #[error("the store refuses writes until it is reopened: {why}")]
    Refusing { why: String },
    /// The batch may or may not be stored. Read again; an embedded store must be reopened first.
    #[error("a commit failed, and its outcome is unknown until the data is read again: {why}")]
    Unknown { why: String },
    /// Nothing was written. The store reconnects by itself.
    #[error("the database of the store cannot be reached: {why}")]
    Away { why: String },
    /// An error of the database that requires an operator.
    #[error("the database of the store: {why}")]
    Database { why: String },
    #[error("{size} {what} are too many, the limit is {limit}")]
    TooLarge { what: &'static str, size: usize, limit: usize },
    #[error("an empty key, or one that starts with a reserved byte")]
    NotAKey,
    #[error("the store in {dir} {problem}")]
    Layout { dir: String, problem: LayoutProblem },
    #[error("the backup {file} is {what}")]
    Backup { file: String, what: String },
    #[error(
        "{file}: its disk has {free} MiB left, and a backup is written above {floor} MiB only (`store_floor_mib`): make room"
    )]
    BackupDisk { file: String, free: u64, floor: u64 },
    #[error(
        "{file}: the values replaced while the backup was written, {kept} MiB, exceed the memory limit of a backup: make it when less is \
         written, on a faster disk, or with the store on fjall, which keeps nothing"
    )]
    BackupKept { file: String, kept: u64 },
    #[error(
        "the store is in a database or in memory: back it up with the tools of that database (`pg_dump`, a base backup)"
    )]
    NoBackup,
    #[error("the key file {path}: {why}")]
    KeyFile { path: String, why: String },
    #[error("{what}: {source}")]
    Io { what: String, source: Arc<io::Error> },
}

/// The reason why a directory cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutProblem {
    #[error(
        "was written by an earlier version, in a layout this one does not read: continue with that version, or name an empty `data_dir`, which \
         the read cycles fill again from the EHRs (bookings not written to their EHR yet exist in the old directory only)"
    )]
    Old,
    #[error("was written by a newer version, in format {found} (this one reads {known}): start that version")]
    New { found: u32, known: u32 },
    #[error(
        "is of the engine {found}, not {wanted}: set `store_engine = \"{found}\"` in [engine], or move the store with `practice-sync store \
         migrate --to {wanted}`"
    )]
    OtherEngine { found: EngineKind, wanted: EngineKind },
    #[error("is of the engine fjall, which recovers disk space by itself: there is nothing to compact")]
    GivesBack,
    #[error("is not there: name the directory that holds it")]
    Missing,
    #[error("has a file `format` that cannot be read: restore it from a backup")]
    Unreadable,
}

impl StoreError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source: Arc::new(source) }
    }

    /// Reports a value that does not match its key.
    pub fn damaged(key: &[u8], what: impl Into<String>) -> Self {
        Self::Damaged { space: keys::space_name(key), what: what.into() }
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// The state differs from the expected one. Read and decide again.
    #[error("a precondition in the key space `{}` no longer holds", keys::space_name(key))]
    Conflict { key: Key },
    #[error("{free} bytes are free on the store's disk, writes are refused below {floor}")]
    Full { free: u64, floor: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}
