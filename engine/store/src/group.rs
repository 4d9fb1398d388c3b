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
    pub writes: BTreeMap<&'a [u8], GroupWrite<'a>>,
    pub appends: Vec<&'a Append>,
}

/// The last write of a group to a key.
#[derive(Clone, Copy)]
pub(super) struct GroupWrite<'a> {
    /// The version before the group.
    pub before: Option<Version>,
    /// `None` deletes the key.
    pub sealed: Option<&'a [u8]>,
}

impl<'a> Group<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty()
    }

    /// Admits the batch, or returns the reason for its refusal and leaves the group unchanged.
    pub(crate) fn admit<F: PriorVersions + ?Sized>(&mut self, found: &mut F, job: &'a Job) -> CommitOutcome {
        for (key, expect) in &job.expects {
            let held = match self.writes.get(key.as_slice()) {
                Some(write) => write.sealed.map(Version::from_sealed),
                None => found.version(key)?,
            };
            if !expect.is_met(held) {
                return Err(CommitError::Conflict { key: key.clone() });
            }
        }
        // Reading the versions detects damage before anything is written.
        let before = job.writes.iter().map(|(key, _)| match self.writes.get(key.as_slice()) {
            Some(write) => Ok(write.before),
            None => found.replacing(key),
        });
        let before: Vec<Option<Version>> = before.collect::<Result<_, StoreError>>()?;
        let writes = job.writes.iter().zip(before);
        let writes =
            writes.map(|((key, value), before)| (key.as_slice(), GroupWrite { before, sealed: value.as_deref() }));
        self.writes.extend(writes);
        self.appends.extend(&job.appends);
        Ok(())
    }
}
