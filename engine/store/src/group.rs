//! Admission of batches to a group: each batch is checked against the store and the batches before it. Only
//! versions are compared, not values.

use std::collections::BTreeMap;

use super::{
    Append, CommitError, StoreError, Version,
    jobs::{CommitOutcome, Job},
};

/// The state of the store before the group.
pub(super) trait PriorVersions {
    fn version(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError>;
    /// Like `version`, for a key that the group may write.
    fn replacing(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError>;
}

/// Batches that are written to the disk together.
#[derive(Default)]
pub(super) struct Group<'a> {
    pub writes: BTreeMap<&'a [u8], Option<&'a [u8]>>,
    /// The versions of the keys to be written, before the group.
    pub before: BTreeMap<&'a [u8], Option<Version>>,
    pub appends: Vec<&'a Append>,
}

impl<'a> Group<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty()
    }

    /// Admits the batch, or returns the reason for its refusal and leaves the group unchanged.
    pub(crate) fn admit<F: PriorVersions + ?Sized>(&mut self, found: &mut F, job: &'a Job) -> CommitOutcome {
        for (key, expect) in &job.expects {
            let held = match self.writes.get(key.as_slice()) {
                Some(value) => value.map(Version::from_sealed),
                None => found.version(key)?,
            };
            if !expect.is_met(held) {
                return Err(CommitError::Conflict { key: key.clone() });
            }
        }
        // Reading the versions detects damage before anything is written.
        for (key, _) in &job.writes {
            if !self.before.contains_key(key.as_slice()) {
                self.before.insert(key, found.replacing(key)?);
            }
        }
        self.writes.extend(job.writes.iter().map(|(key, value)| (key.as_slice(), value.as_deref())));
        self.appends.extend(&job.appends);
        Ok(())
    }
}
