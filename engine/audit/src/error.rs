//! Reasons why an entry is refused, and kinds of damage found while a trail is read.

use std::{io, path::Path, sync::Arc};

#[derive(Clone, Debug, thiserror::Error)]
pub enum AuditError {
    #[error("the audit trail in {folder} is in use by another process")]
    InUse { folder: String },
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The entry is not written.
    #[error("too many audit entries wait for the disk, try again")]
    Full,
    /// The entry is not written. The trail retries the disk by itself.
    #[error("the audit trail cannot be written and takes no entries until it can: {why}")]
    Interrupted { why: String },
    #[error("an audit entry of {bytes} bytes is too large, the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error("an audit entry has the time {at}, which is not in the years 1970 to 9999")]
    Time { at: i64 },
    #[error("the audit trail is closed")]
    Closed,
    #[error("{what}: {source}")]
    Io { what: String, source: Arc<io::Error> },
}

impl AuditError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source: Arc::new(source) }
    }
}

/// The first place where a trail differs from its written form. Nothing after that place is verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("audit trail: {}: {wrong}", self.place())]
pub struct Damage {
    pub file: String,
    /// Line number, from 1 for the header. 0 if the damage concerns the whole file.
    pub line: u64,
    /// Number of the entry expected at this place. 0 if the damage concerns no entry.
    pub seq: u64,
    pub wrong: Wrong,
}

impl Damage {
    pub(crate) fn at(file: &Path, line: u64, seq: u64, wrong: Wrong) -> Self {
        Self { file: file.display().to_string(), line, seq, wrong }
    }

    fn place(&self) -> String {
        let Self { file, line, seq, .. } = self;
        let line = if *line > 0 { format!(", line {line}") } else { String::new() };
        let entry = if *seq > 0 { format!(", entry {seq}") } else { String::new() };
        format!("{file}{line}{entry}")
    }

    pub(crate) fn unread(file: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::at(file, 0, 0, Wrong::NotRead { why: error.to_string() })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    #[error("the secret is not the one it was written with")]
    WrongSecret,
    #[error("it was edited, or inserted without the secret")]
    Edited,
    #[error("it is not a line of an audit trail")]
    Unreadable,
    #[error("the entries {from} to {to} are missing")]
    Missing { from: u64, to: u64 },
    #[error("it is further down: lines were reordered")]
    Reordered,
    #[error("entry {found} is repeated or in the wrong place")]
    Repeated { found: u64 },
    #[error("the header is not the one of this file: it was edited, or the file is of another trail")]
    ForeignHeader,
    #[error("the end was cut off: the entries {from} to {to} were written and are missing")]
    CutOff { from: u64, to: u64 },
    #[error("it is not the entry that the file `head` knows: one of the two is of another trail, or was put back")]
    OtherHistory,
    #[error("the file `head` is missing")]
    NoHead,
    #[error("there is no audit trail")]
    Nothing,
    #[error("it has format {found}, of a newer version")]
    NewerFormat { found: u32 },
    #[error("it cannot be read: {why}")]
    NotRead { why: String },
}
