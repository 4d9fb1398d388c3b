//! Changes made by calls, as the audit trail reads them from the journals. The journal record of such a change contains
//! its caller, which is therefore as durable as the change.
//!
//! The follower receives the changes of this process in memory (`call_queue`), and reads the others here.
//!
//! The position of a location is the durable cursor of the trail: the number of the last journal record that it has
//! followed. It is stored after the entries are durable, so an entry may come twice but is never lost. Pruning keeps
//! later records. A location without changes by calls since it was loaded stores the position with its snapshots.

use std::sync::Arc;

use location::{Event, InstitutionId, LocationId, Operation, Resource, Timestamp};
use runtime::{Caller, origin::DecisionId};
use serde::{Deserialize, de::IgnoredAny};
use store::{
    Batch, CommitError, Direction, KeyRange, Store, StoreError, Version,
    keys::{self, Space},
};

use crate::journal_record::JournalRecord;

/// Journal records read per step, which bounds the memory of a follower that is far behind.
const AT_ONCE: usize = 500;
/// Positions per commit while those of an earlier version are set.
const POSITIONS_AT_ONCE: usize = 1_000;
/// The field of the caller. A record without this text has no caller and is not decoded.
const CALLER: &str = "\"by\":";

/// A decision caused by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallChange {
    pub decision: DecisionId,
    /// `None` if the journal record cannot be decoded.
    pub at: Option<Timestamp>,
    /// The institution of the location at that time. `None` if an earlier version committed the decision, or if the
    /// journal record cannot be decoded.
    pub institution: Option<InstitutionId>,
    /// `None` if the journal record cannot be decoded.
    pub caller: Option<Arc<Caller>>,
    pub records: Vec<ChangedRecord>,
}

/// A changed record, as the audit trail names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedRecord {
    pub action: &'static str,
    pub kind: &'static str,
    pub id: u64,
}

/// The changes in some records of a journal.
#[derive(Debug, PartialEq, Eq)]
pub struct CallChanges {
    pub changes: Vec<CallChange>,
    /// The number of the last record that was followed before.
    pub after: u64,
    /// The number of the last record that was read, or `after`.
    pub read_to: u64,
    /// There may be further records.
    pub more: bool,
}

/// Returns the records that the events change at a location. Holds are left out, because they contain no records.
pub(crate) fn changed_records(location: LocationId, events: &[Event]) -> Vec<ChangedRecord> {
    let appointment = |action, id: u64| (action, name_of(Resource::Appointments), id);
    let here = |action| (action, "location", u64::from(location.0));
    let changed = |event: &Event| {
        let (action, kind, id) = match event {
            Event::Booked { appointment: id, .. } => appointment("create", id.0),
            Event::Moved { appointment: id, .. } | Event::AppointmentChanged { appointment: id, .. } => {
                appointment("update", id.0)
            }
            Event::Cancelled { appointment: id, .. } => appointment("cancel", id.0),
            Event::RecordSaved { resource, id, operation } => (word(*operation), name_of(*resource), *id),
            Event::HourSet(hour) => ("write", name_of(Resource::WorkingHours), hour.id.0.into()),
            Event::HourRemoved { hour } => ("delete", name_of(Resource::WorkingHours), hour.0.into()),
            Event::WriteRetried { of, .. } => ("retry", "write request", of.0),
            Event::WriteDropped { write } => ("drop", "write request", write.0),
            // The action names the directions that are paused from then on.
            Event::PauseTurned { to } => here(match (to.reading, to.writing) {
                (true, true) => "pause",
                (true, false) => "pause reading",
                (false, true) => "pause writing",
                (false, false) => "resume",
            }),
            Event::SyncRequested => here("start read cycle"),
            Event::DeletionsAccepted { .. } => here("accept deletions"),
            _ => return None,
        };
        Some(ChangedRecord { action, kind, id })
    };
    events.iter().filter_map(changed).collect()
}

fn name_of(resource: Resource) -> &'static str {
    match resource {
        Resource::Patients => "patient",
        Resource::Appointments => "appointment",
        other => records::schema::rules(other).name,
    }
}

fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "create",
        Operation::Update => "update",
        Operation::Delete => "delete",
    }
}

/// Returns the position of a location, or `None` before its first one.
pub fn position(store: &dyn Store, location: LocationId) -> Result<Option<u64>, StoreError> {
    Ok(read_position(store, location)?.map(|(number, _)| number))
}

fn read_position(store: &dyn Store, location: LocationId) -> Result<Option<(u64, Version)>, StoreError> {
    let key = keys::audit_position(location.0);
    let Some(found) = store.read(&key)? else { return Ok(None) };
    let number = found.value.try_into();
    let number = number.map_err(|_| StoreError::damaged(&key, "a position that cannot be decoded"))?;
    Ok(Some((u64::from_be_bytes(number), found.version)))
}

pub fn put_position(batch: &mut Batch, location: LocationId, number: u64) {
    batch.put(keys::audit_position(location.0), number.to_be_bytes().to_vec());
}

/// Returns the batch that moves positions forward. Positions that another node has moved as far are left out. The
/// commit conflicts if another node moves one of the remaining positions meanwhile.
pub fn advance_positions(store: &dyn Store, followed: &[(LocationId, u64)]) -> Result<Batch, StoreError> {
    let mut batch = Batch::new();
    for (location, number) in followed {
        let (stored, seen) = match read_position(store, *location) {
            Ok(position) => position.unzip(),
            Err(error @ StoreError::Damaged { .. }) => {
                tracing::error!(%location, %error, "the audit trail repeats changes of a damaged location once it is restored");
                continue;
            }
            Err(error) => return Err(error),
        };
        if stored.unwrap_or(0) < *number {
            batch.expect_unchanged(keys::audit_position(location.0), seen);
            put_position(&mut batch, *location, *number);
        }
    }
    Ok(batch)
}

/// Reads the changes after the position of a location, or after `followed`, the last record that this process has
/// followed, if its number is higher.
pub fn read(store: &dyn Store, location: LocationId, followed: u64) -> Result<CallChanges, StoreError> {
    let after = position(store, location)?.unwrap_or(0).max(followed);
    let later = KeyRange::new(keys::journal(location.0, after + 1), keys::journal(location.0, u64::MAX));
    let journal = store.scan(later, Direction::Forward, AT_ONCE)?;
    let more = journal.len() == AT_ONCE;
    let mut found = CallChanges { changes: Vec::new(), after, read_to: after, more };
    for (key, bytes) in &journal {
        let Some((_, number)) = keys::parse_journal(key) else { continue };
        found.read_to = number;
        if std::str::from_utf8(bytes).is_ok_and(|record| !record.contains(CALLER)) {
            continue;
        }
        match JournalRecord::read(location, bytes) {
            Ok(JournalRecord { at, events, by: Some(caller), institution }) => found.changes.push(CallChange {
                decision: (location, number),
                at: Some(at),
                institution,
                caller: Some(Arc::new(caller.into_owned())),
                records: changed_records(location, &events),
            }),
            Ok(_) => {}
            Err(error) => {
                tracing::error!(%location, number, %error, "the audit trail lacks the records of a change");
                found.changes.push(unreadable_change((location, number), bytes));
            }
        }
    }
    Ok(found)
}

/// The fields of a journal record whose events cannot be decoded.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ReadableParts {
    at: Option<Timestamp>,
    by: Option<Caller>,
    institution: Option<InstitutionId>,
}

/// Returns the change of a record that cannot be decoded, with the fields that can.
fn unreadable_change(decision: DecisionId, record: &[u8]) -> CallChange {
    let ReadableParts { at, by: caller, institution } = serde_json::from_slice(record).unwrap_or_default();
    let here = ChangedRecord { action: "unreadable change", kind: "location", id: decision.0.0.into() };
    CallChange { decision, at, institution, caller: caller.map(Arc::new), records: vec![here] }
}

/// The fields by which an earlier version confirmed the entries of its changes.
#[derive(Deserialize)]
struct EarlierRecord {
    by: Option<IgnoredAny>,
    /// The first record that was not known to be in the trail.
    untold: Option<u64>,
}

/// Sets the positions of the journals of an earlier version, once per store, before locations are loaded: the newest
/// record of a journal must be of the earlier version.
pub async fn begin(store: &dyn Store) -> Result<(), CommitError> {
    match set_positions(store).await {
        // Another process has set them.
        Err(CommitError::Conflict { .. }) => Ok(()),
        set => set,
    }
}

async fn set_positions(store: &dyn Store) -> Result<(), CommitError> {
    let is_set = keys::audit_positions_set();
    if store.get(&is_set)?.is_some() {
        return Ok(());
    }
    let (mut batch, mut from) = (Batch::new(), Some(0));
    while let Some(location) = from.map(|from| next_journal(store, from)).transpose()?.flatten() {
        let last = last_audited(store, location)?;
        put_position(&mut batch, location, last);
        if batch.writes().len() >= POSITIONS_AT_ONCE {
            store.commit(std::mem::take(batch.expect_absent(is_set.clone()))).await?;
        }
        from = location.0.checked_add(1);
    }
    batch.expect_absent(is_set.clone()).put(is_set, Vec::new());
    store.commit(batch).await
}

fn next_journal(store: &dyn Store, from: u32) -> Result<Option<LocationId>, StoreError> {
    let range = KeyRange::new(keys::journal(from, 0), Space::Journal.range().end);
    let first = store.scan_keys(range, Direction::Forward, 1)?;
    Ok(first.first().and_then(|key| keys::parse_journal(key)).map(|(location, _)| LocationId(location)))
}

/// Returns the number of the last record before the first one whose entry may be missing. Only locations that are
/// marked as active have such records.
fn last_audited(store: &dyn Store, location: LocationId) -> Result<u64, StoreError> {
    let Some((last, record)) = newest(store, location)? else { return Ok(0) };
    if store.get(&keys::active(location.0))?.is_none() {
        return Ok(last);
    }
    let record = serde_json::from_slice::<EarlierRecord>(&record).ok();
    let missing = record.and_then(|record| record.untold.or(record.by.map(|_| last)));
    Ok(missing.map_or(last, |number| number.saturating_sub(1)))
}

fn newest(store: &dyn Store, location: LocationId) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
    let all = KeyRange::new(keys::journal(location.0, 0), keys::journal(location.0, u64::MAX));
    let newest = store.scan(all, Direction::Backward, 1)?.pop();
    Ok(newest.and_then(|(key, record)| Some((keys::parse_journal(&key)?.1, record))))
}

/// Lowers positions that are after the newest record of their journal, in a store that has lost records. Otherwise, the
/// trail would lack the changes that get these numbers again. The store must have no other writer.
pub async fn repair_positions(store: &dyn Store) -> Result<(), CommitError> {
    let followed = store.scan_keys(Space::AuditPosition.range(), Direction::Forward, usize::MAX)?;
    let followed: Vec<_> = followed.iter().filter_map(|key| keys::parse_audit_position(key)).map(LocationId).collect();
    let mut batch = Batch::new();
    if !followed.is_empty() {
        // Without this key, a start would move all positions to the newest records.
        batch.put(keys::audit_positions_set(), Vec::new());
    }
    for location in followed {
        let last = newest(store, location)?.map_or(0, |(number, _)| number);
        if position(store, location)? > Some(last) {
            put_position(&mut batch, location, last);
        }
        if batch.writes().len() >= POSITIONS_AT_ONCE {
            store.commit(std::mem::take(&mut batch)).await?;
        }
    }
    store.commit(batch).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::borrow::Cow;

    use store::{MemoryStore, journal};

    use super::*;

    const HERE: LocationId = LocationId(7);
    const PRACTICE: InstitutionId = InstitutionId(3);

    fn caller(request_id: &str) -> Caller {
        Caller {
            request_id: request_id.into(),
            name: "a key".into(),
            operator: false,
            client: None,
            route: "PATCH /patients/{id}".into(),
            tool: None,
        }
    }

    fn saved(id: u64) -> Event {
        Event::RecordSaved { resource: Resource::Patients, id, operation: Operation::Update }
    }

    fn append(store: &MemoryStore, number: u64, events: Vec<Event>, by: Option<Caller>) {
        let institution = by.is_some().then_some(PRACTICE);
        let by = by.map(Cow::Owned);
        let record = JournalRecord { at: Timestamp(number.cast_signed()), events: events.into(), by, institution };
        append_bytes(store, number, serde_json::to_vec(&record).unwrap());
    }

    fn append_bytes(store: &MemoryStore, number: u64, record: Vec<u8>) {
        let mut batch = Batch::new();
        journal::append(&mut batch, HERE.0, number, record);
        store.commit_now(batch).unwrap();
    }

    fn follow(store: &MemoryStore) -> (Vec<(u64, String)>, bool) {
        let CallChanges { changes, read_to, more, .. } = read(store, HERE, 0).unwrap();
        let mut batch = Batch::new();
        put_position(&mut batch, HERE, read_to);
        store.commit_now(batch).unwrap();
        let request_id = |caller: Option<Arc<Caller>>| {
            caller.map_or_else(|| "unreadable".into(), |caller| caller.request_id.clone())
        };
        (changes.into_iter().map(|change| (change.decision.1, request_id(change.caller))).collect(), more)
    }

    #[test]
    fn changes_after_the_position_are_read_in_order() {
        let store = MemoryStore::new();
        append(&store, 1, vec![Event::CycleStarted], None);
        append(&store, 2, vec![saved(5), Event::CycleStarted, saved(6)], Some(caller("first")));
        append(&store, 3, vec![Event::ClockSetBack { by: 5 }], None);
        append_bytes(&store, 4, br#"{"at":4,"events":[{"unknown":1}],"by":null}"#.to_vec());
        append(&store, 5, vec![saved(5)], Some(caller("second")));
        let found = read(&store, HERE, 0).unwrap();
        let record = |id| ChangedRecord { action: "update", kind: "patient", id };
        let first = CallChange {
            decision: (HERE, 2),
            at: Some(Timestamp(2)),
            institution: Some(PRACTICE),
            caller: Some(Arc::new(caller("first"))),
            records: vec![record(5), record(6)],
        };
        assert_eq!(found.changes.first(), Some(&first));
        let all = [(2, "first"), (4, "unreadable"), (5, "second")].map(|(number, id)| (number, id.to_owned()));
        assert_eq!(follow(&store), (all.to_vec(), false));
        let end = read(&store, HERE, 0).unwrap();
        assert_eq!((end.changes, end.after, end.read_to, end.more), (Vec::new(), 5, 5, false));
        append(&store, 6, vec![saved(5)], Some(caller("third")));
        assert_eq!(follow(&store), (vec![(6, "third".to_owned())], false));
    }

    /// The record is of a later version, or broken.
    #[test]
    fn a_record_that_cannot_be_decoded_is_one_unreadable_change() {
        let by = serde_json::to_string(&caller("later")).unwrap();
        let later = format!(r#"{{"at":4,"events":[{{"unknown":1}}],"by":{by},"institution":3}}"#);
        let known = (Some(Timestamp(4)), Some(PRACTICE), Some(Arc::new(caller("later"))));
        for (record, (at, institution, caller)) in [(later.as_str(), known), (r#"{"at":4,"by":{}"#, (None, None, None))]
        {
            let store = MemoryStore::new();
            append_bytes(&store, 1, record.as_bytes().to_vec());
            let here = ChangedRecord { action: "unreadable change", kind: "location", id: HERE.0.into() };
            let change = CallChange { decision: (HERE, 1), at, institution, caller, records: vec![here] };
            assert_eq!(read(&store, HERE, 0).unwrap().changes, [change]);
            assert_eq!(follow(&store).0.len(), 1);
            assert_eq!(read(&store, HERE, 0).unwrap().changes, []);
        }
    }

    #[test]
    fn long_journals_are_read_in_steps() {
        let store = MemoryStore::new();
        let last = 2 * AT_ONCE as u64 + 1;
        (1..=last).for_each(|number| append(&store, number, vec![saved(number)], Some(caller("x"))));
        let steps = [follow(&store), follow(&store), follow(&store)].map(|(changes, more)| (changes.len(), more));
        assert_eq!(steps, [(AT_ONCE, true), (AT_ONCE, true), (1, false)]);
    }

    #[tokio::test]
    async fn journals_of_an_earlier_version_begin_at_their_first_unaudited_record() {
        let by = r#""by":{"request_id":"r","name":"k","route":"x"}"#;
        for (last, is_active, expected) in [
            (r#"{"at":3,"events":[]}"#.to_owned(), true, 3),
            (format!(r#"{{"at":3,"events":[],{by}}}"#), true, 2),
            (format!(r#"{{"at":3,"events":[],{by},"untold":2}}"#), true, 1),
            (format!(r#"{{"at":3,"events":[],{by},"untold":2}}"#), false, 3),
        ] {
            let store = MemoryStore::new();
            append(&store, 1, Vec::new(), None);
            append(&store, 2, Vec::new(), None);
            append_bytes(&store, 3, last.into_bytes());
            if is_active {
                let mut batch = Batch::new();
                batch.put(keys::active(HERE.0), Vec::new());
                store.commit_now(batch).unwrap();
            }
            begin(&store).await.unwrap();
            assert_eq!(position(&store, HERE).unwrap(), Some(expected));
            // Another start changes nothing.
            append(&store, 4, vec![saved(5)], Some(caller("new")));
            begin(&store).await.unwrap();
            assert_eq!(position(&store, HERE).unwrap(), Some(expected));
        }
    }

    #[tokio::test]
    async fn changes_are_followed_after_newer_records_were_lost() {
        let (store, empty) = (MemoryStore::new(), LocationId(8));
        (1..=3).for_each(|number| append(&store, number, Vec::new(), None));
        for (followed, left) in [(2, 2), (5, 3)] {
            let mut batch = Batch::new();
            put_position(&mut batch, HERE, followed);
            put_position(&mut batch, empty, followed);
            store.commit_now(batch).unwrap();
            repair_positions(&store).await.unwrap();
            assert_eq!([HERE, empty].map(|location| position(&store, location).unwrap()), [Some(left), Some(0)]);
        }
        append(&store, 4, vec![saved(5)], Some(caller("new")));
        begin(&store).await.unwrap();
        assert_eq!(follow(&store), (vec![(4, "new".to_owned())], false));
    }
}
