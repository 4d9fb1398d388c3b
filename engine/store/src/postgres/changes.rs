//! The effect of a group on rows: the rows locked before the preconditions are checked, and the rows written
//! afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{owners::Owned, schema::sequence_key};
use crate::{
    Append, Expect, Key, StoreError, Version,
    contract::feed_number,
    envelope::Envelope,
    group::{Group, PriorVersions},
    jobs::{CommitOutcome, Job},
    key_owner::{self, KeyOwner},
    keys,
};

/// The primary key of a row: owner and key. Rows are locked and written in this order.
pub(super) type RowKey = (i64, Key);

/// Returns the owners whose sequences number the appended values of a batch.
fn sequences(job: &Job, owners: &Owned) -> BTreeSet<i64> {
    if job.appends.is_empty() {
        return BTreeSet::new();
    }
    let keys = job.expects.iter().map(|(key, _)| key).chain(job.writes.iter().map(|(key, _)| key));
    let touched = keys.map(|key| key_owner::owner_for_key(key)).filter(|key_owner| *key_owner != KeyOwner::Shared);
    let streams = job.appends.iter().map(|append| key_owner::owner_for_stream(append.stream));
    let shared = owners.shared();
    let touched = touched.map(|key_owner| owners.id_for(key_owner)).filter(|owner| *owner != shared);
    // A stream read by several owners belongs to none of them. Its numbers must increase for each owner, so a
    // batch numbers it in all of its sequences at once.
    touched.chain(streams.map(|key_owner| owners.id_for(key_owner))).collect()
}

/// Returns the owners, as named in the keys, of everything the jobs write.
pub(super) fn homes(jobs: &[Job]) -> impl Iterator<Item = KeyOwner> {
    jobs.iter().flat_map(|job| {
        let keys = job.writes.iter().map(|(key, _)| key_owner::owner_for_key(key));
        keys.chain(job.appends.iter().map(|append| key_owner::owner_for_stream(append.stream)))
    })
}

/// Returns the rows that must not change between the checks and the commit: those with preconditions, and the
/// sequences.
pub(super) fn to_lock(jobs: &[Job], owners: &Owned) -> BTreeSet<RowKey> {
    let mut places = BTreeSet::new();
    for job in jobs {
        places.extend(job.expects.iter().map(|(key, _)| (owners.id_for_key(key), key.clone())));
        places.extend(sequences(job, owners).into_iter().map(|owner| (owner, sequence_key(owner))));
    }
    places
}

/// The locked rows. Keys that are not among them have no value.
#[derive(Default)]
pub(super) struct Locked {
    versions: HashMap<Key, Version>,
    /// The last number given, by owner.
    sequences: HashMap<i64, u64>,
}

impl Locked {
    pub(super) fn add(
        &mut self,
        owner: i64,
        key: Key,
        version: &[u8],
        value: Option<Vec<u8>>,
        envelope: &Envelope,
    ) -> Result<(), StoreError> {
        if let Some(sealed) = value {
            self.sequences.insert(owner, feed_number(&envelope.open(&key, sealed)?)?);
            return Ok(());
        }
        let version = version.try_into().map_err(|_| StoreError::damaged(&key, "a version of another length"))?;
        self.versions.insert(key, Version(u128::from_be_bytes(version)));
        Ok(())
    }
}

impl PriorVersions for &Locked {
    fn version(&mut self, key: &[u8]) -> Result<Option<Version>, StoreError> {
        Ok(self.versions.get(key).copied())
    }

    /// Returns `None`, because this engine does not need replaced versions.
    fn replacing(&mut self, _: &[u8]) -> Result<Option<Version>, StoreError> {
        Ok(None)
    }
}

/// Rows to write, sealed.
#[derive(Default)]
pub(super) struct RowChanges {
    /// Rows that must not exist when they are written.
    pub insert: BTreeMap<RowKey, Vec<u8>>,
    pub put: BTreeMap<RowKey, Vec<u8>>,
    pub delete: BTreeSet<RowKey>,
}

impl RowChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.insert.is_empty() && self.put.is_empty() && self.delete.is_empty()
    }
}

/// Checks the batches in order, each against the state after the admitted ones before it.
pub(super) fn admit_all(
    jobs: &[Job],
    locked: &Locked,
    owners: &Owned,
    envelope: &Envelope,
    base: u64,
) -> Result<(Vec<CommitOutcome>, RowChanges), StoreError> {
    let (mut group, mut found) = (Group::default(), locked);
    let outcomes: Vec<CommitOutcome> = jobs.iter().map(|job| group.admit(&mut found, job)).collect();
    let admitted: Vec<&Job> = jobs.iter().zip(&outcomes).filter(|(_, it)| it.is_ok()).map(|(job, _)| job).collect();
    let expected: BTreeSet<&[u8]> = jobs.iter().flat_map(|job| &job.expects).map(|(key, _)| key.as_slice()).collect();

    let mut changes = RowChanges::default();
    for (key, write) in &group.writes {
        let place = (owners.id_for_key(key), key.to_vec());
        let absent = expected.contains(key) && !locked.versions.contains_key(*key);
        match write.sealed {
            Some(sealed) if absent => drop(changes.insert.insert(place, sealed.to_vec())),
            Some(sealed) => drop(changes.put.insert(place, sealed.to_vec())),
            None if absent => keep_absent(&mut changes, place),
            None => drop(changes.delete.insert(place)),
        }
    }
    for (key, expect) in admitted.iter().flat_map(|job| &job.expects) {
        let rests_on_nothing = *expect == Expect::Absent && !locked.versions.contains_key(key);
        if rests_on_nothing && !group.writes.contains_key(key.as_slice()) {
            keep_absent(&mut changes, (owners.id_for_key(key), key.clone()));
        }
    }
    number(&admitted, locked, owners, envelope, base, &mut changes)?;
    Ok((outcomes, changes))
}

/// An absent row cannot be locked. Inserting and deleting it keeps others from creating it before the commit.
fn keep_absent(changes: &mut RowChanges, place: RowKey) {
    changes.insert.insert(place.clone(), Vec::new());
    changes.delete.insert(place);
}

/// Numbers each appended value, in the order of the batches.
fn number(
    admitted: &[&Job],
    locked: &Locked,
    owners: &Owned,
    envelope: &Envelope,
    base: u64,
    changes: &mut RowChanges,
) -> Result<(), StoreError> {
    let mut ends: BTreeMap<i64, u64> = BTreeMap::new();
    let mut sealer = envelope.sealer()?;
    for job in admitted {
        let sequences = sequences(job, owners);
        let last = |owner: &i64| ends.get(owner).or_else(|| locked.sequences.get(owner)).copied().unwrap_or(base);
        let Some(mut end) = sequences.iter().map(last).max() else { continue };
        for Append { stream, numbers, value } in &job.appends {
            end += numbers;
            let key = keys::feed(*stream, end);
            let sealed = sealer.seal(&key, value)?;
            changes.put.insert((owners.id_for_key(&key), key), sealed);
        }
        ends.extend(sequences.into_iter().map(|owner| (owner, end)));
    }
    for (owner, end) in ends {
        let key = sequence_key(owner);
        let sealed = sealer.seal(&key, &end.to_be_bytes())?;
        let row = if locked.sequences.contains_key(&owner) { &mut changes.put } else { &mut changes.insert };
        row.insert((owner, key), sealed);
    }
    Ok(())
}
