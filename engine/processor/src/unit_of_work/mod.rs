//! The documents of one turn. Reads return earlier writes of the turn, and all writes go into its single batch.

pub mod merge_base;

use std::{
    any::Any,
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use location::{InstitutionId, LocationId, Resource, Timestamp};
use query::{
    idempotency::GuardedValues,
    index::{Index, IndexEntries},
    stream::{
        self, Change, ChangeKind, CommitHeader, EndedWrite, Readers, RecordStates, Recorded, StatusChange, Stream,
    },
};
use records::{
    Appointment, Record,
    document::{Document, DocumentKind, Link},
    facts::VisitState,
};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use store::{Batch, Key, Store, StoreError, Versioned, keys};

use crate::{Pool, Reject, facts::FactContext};

/// A field without a value, in a stored record.
const NO_VALUE: &[u8] = b":null";

/// Location and time of a turn.
#[derive(Clone, Copy, Debug)]
pub struct TurnContext {
    pub institution: u32,
    pub source: Option<u32>,
    pub location: u32,
    pub now: Timestamp,
}

/// A record written by the turn: its stored value, and before and after the turn its index entries and, for an
/// appointment, its state.
struct WrittenRecord {
    resource: Resource,
    id: u64,
    readers: Readers,
    stored: Option<Vec<u8>>,
    before: Option<IndexEntries>,
    after: IndexEntries,
    visit_before: Option<VisitState>,
    visit_after: Option<VisitState>,
}

impl WrittenRecord {
    /// Returns the kind of change, or `None` if the value is unchanged.
    fn change(&self, written: &Option<Vec<u8>>) -> Option<ChangeKind> {
        if *written == self.stored {
            return None;
        }
        Some(match &self.before {
            None => ChangeKind::Created,
            Some(before) if self.after.deleted && !before.deleted => ChangeKind::Deleted,
            Some(_) => ChangeKind::Updated,
        })
    }

    /// Returns the entries for the log of changes, by stream. For readers of a location that the record leaves, it is
    /// deleted. `written` is the record after the change.
    fn recorded(
        self,
        change: ChangeKind,
        written: Option<&[u8]>,
        facts: &FactContext,
    ) -> Result<Vec<(Stream, Recorded)>, Reject> {
        let WrittenRecord { resource, id, readers, stored, before, after, visit_before, visit_after } = self;
        let facts = visit_before.zip(visit_after).and_then(|(before, after)| facts.facts(id, before, after));
        let (deleted, in_ehr) = (after.deleted, in_ehr(resource, written)?);
        let states = RecordStates { before: stored, deleted, in_ehr, facts };
        let recorded = |change, readers, (removed, added), states| Recorded {
            resource,
            id,
            change,
            readers,
            removed,
            added,
            states,
        };
        let (from, to) = (before.as_ref().and_then(|before| before.stream), after.stream);
        let stays = before.as_ref().filter(|_| from == to);
        // A turn may change a record of another location.
        let readers_of = |stream, others| match (stream, readers) {
            (Stream::Location(location), Readers::Location(_)) => Readers::Location(location),
            _ => others,
        };
        let arrives = to.map(|to| (to, recorded(change, readers_of(to, readers), after.since(stays), Some(states))));
        let Some((left, before)) = from.zip(before).filter(|_| from != to) else {
            return Ok(arrives.into_iter().collect());
        };
        let gone = readers_of(left, Readers::None);
        let leaves = (left, recorded(ChangeKind::Deleted, gone, (before.entries, Vec::new()), None));
        Ok([leaves].into_iter().chain(arrives).collect())
    }
}

/// Returns the state of an appointment, or `None` for another record.
fn visit_state<T: Document>(record: &T) -> Option<VisitState> {
    let record = (record as &dyn Any).downcast_ref::<Record<Appointment>>()?;
    Some(VisitState::from(&record.body))
}

/// Returns `true` if the EHR has a payment or adjustment. Returns `true` for other records, for which no follower needs
/// it.
fn in_ehr(resource: Resource, written: Option<&[u8]>) -> Result<bool, Reject> {
    #[derive(Deserialize)]
    struct Filed {
        foreign_id: Option<IgnoredAny>,
    }
    match written.filter(|_| matches!(resource, Resource::Payments | Resource::Adjustments)) {
        Some(written) => Ok(decode::<Filed>(written)?.foreign_id.is_some()),
        None => Ok(true),
    }
}

pub struct UnitOfWork<'a> {
    store: &'a dyn Store,
    pool: &'a Pool,
    index: &'a Index,
    home: TurnContext,
    /// Ids taken from the pool, to be returned if the turn is discarded.
    taken: BTreeSet<(Resource, u64)>,
    /// Written values. `None` deletes the key.
    written: BTreeMap<Key, Option<Vec<u8>>>,
    /// Values that must be unchanged at the commit.
    expected: BTreeMap<Key, Option<Versioned>>,
    /// Stored values that only this location writes.
    read: BTreeMap<Key, Option<Vec<u8>>>,
    /// The current state of documents, so that each is decoded once.
    decoded: BTreeMap<Key, Box<dyn Any>>,
    touched: BTreeMap<Key, WrittenRecord>,
    /// Entries of the log of changes, in addition to those of records.
    pub(crate) ended: Vec<EndedWrite>,
    pub(crate) status: Option<StatusChange>,
    /// The causes of the turn's changes, from which the facts of its appointments follow.
    pub(crate) facts: FactContext,
    /// The log of changes gets the records before the changes.
    pub(crate) has_images: bool,
}

impl<'a> UnitOfWork<'a> {
    pub fn new(store: &'a dyn Store, pool: &'a Pool, index: &'a Index, home: TurnContext) -> UnitOfWork<'a> {
        UnitOfWork {
            store,
            pool,
            index,
            home,
            taken: BTreeSet::new(),
            written: BTreeMap::new(),
            expected: BTreeMap::new(),
            read: BTreeMap::new(),
            decoded: BTreeMap::new(),
            touched: BTreeMap::new(),
            ended: Vec::new(),
            status: None,
            facts: FactContext::default(),
            has_images: true,
        }
    }

    pub fn store(&self) -> &'a dyn Store {
        self.store
    }

    /// Reads a value that other locations may write, too. The commit requires that it is unchanged.
    pub fn guarded(&mut self, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(value) = self.written.get(&key) {
            return Ok(value.clone());
        }
        if !self.expected.contains_key(&key) {
            self.expected.insert(key.clone(), self.store.read(&key)?);
        }
        Ok(self.expected(&key).flatten())
    }

    /// Reads several values that `guarded` will return. On a remote store, this takes a single round trip.
    pub fn prefetch(&mut self, keys: impl IntoIterator<Item = Key>) -> Result<(), StoreError> {
        let unread = |key: &Key| !self.written.contains_key(key) && !self.expected.contains_key(key);
        let keys: Vec<Key> = keys.into_iter().filter(unread).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let found = self.store.read_many(&keys)?;
        self.expected.extend(keys.into_iter().zip(found));
        Ok(())
    }

    /// Returns a value as it was read, if the commit requires it to be unchanged.
    fn expected(&self, key: &Key) -> Option<Option<Vec<u8>>> {
        self.expected.get(key).map(|found| found.as_ref().map(|found| found.value.clone()))
    }

    /// Looks up a document without a precondition on the commit.
    pub fn peek<T: Document>(&self, scope: u32, id: u64) -> Result<Option<Cow<'_, T>>, Reject> {
        let key = keys::record(T::BYTE, scope, id);
        if let Some(document) = self.decoded::<T>(&key) {
            return Ok(Some(Cow::Borrowed(document)));
        }
        let known = self.written.get(&key).or_else(|| self.read.get(&key)).cloned().or_else(|| self.expected(&key));
        let value = known.map_or_else(|| self.store.get(&key), Ok)?;
        value.map(|bytes| decode::<T>(&bytes).map(Cow::Owned)).transpose()
    }

    /// Returns `true` if the turn writes the document.
    pub(crate) fn is_written<T: Document>(&self, scope: u32, id: u64) -> bool {
        self.written.contains_key(&keys::record(T::BYTE, scope, id))
    }

    /// Reads a value that only this location writes.
    pub fn read_unshared(&mut self, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(value) = self.written.get(&key).or_else(|| self.read.get(&key)) {
            return Ok(value.clone());
        }
        let value = self.store.get(&key)?;
        self.read.insert(key, value.clone());
        Ok(value)
    }

    pub fn put_raw(&mut self, key: Key, value: Vec<u8>) {
        self.decoded.remove(&key);
        self.written.insert(key, Some(value));
    }

    pub fn delete(&mut self, key: Key) {
        self.decoded.remove(&key);
        self.written.insert(key, None);
    }

    pub fn get<T: Document>(&mut self, scope: u32, id: u64) -> Result<Option<T>, Reject> {
        Ok(self.get_ref::<T>(scope, id)?.cloned())
    }

    pub fn get_ref<T: Document>(&mut self, scope: u32, id: u64) -> Result<Option<&T>, Reject> {
        let key = keys::record(T::BYTE, scope, id);
        if !self.decoded.contains_key(&key) {
            let value = match self.written.get(&key) {
                Some(value) => value.clone(),
                None => self.stored::<T>(&key, id)?,
            };
            let Some(bytes) = value else { return Ok(None) };
            self.decoded.insert(key.clone(), Box::new(decode::<T>(&bytes)?));
        }
        Ok(self.decoded(&key))
    }

    fn decoded<T: Document>(&self, key: &Key) -> Option<&T> {
        self.decoded.get(key)?.downcast_ref()
    }

    /// Returns `true` if the id was allotted by this turn, so that nothing else refers to it.
    pub(super) fn is_fresh<T: Document>(&self, id: u64) -> bool {
        matches!(T::KIND, DocumentKind::Of(resource) if self.taken.contains(&(resource, id)))
    }

    /// Returns the stored document, read once. Fresh ids are not looked up.
    fn stored<T: Document>(&mut self, key: &Key, id: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let fresh = self.is_fresh::<T>(id);
        if T::GUARDED {
            if fresh {
                self.expected.entry(key.clone()).or_insert(None);
            } else if !self.expected.contains_key(key) {
                self.expected.insert(key.clone(), self.store.read(key)?);
            }
            return Ok(self.expected(key).flatten());
        }
        if let Some(value) = self.read.get(key) {
            return Ok(value.clone());
        }
        let value = if fresh { None } else { self.store.get(key)? };
        self.read.insert(key.clone(), value.clone());
        Ok(value)
    }

    pub fn put<T: Document>(&mut self, document: &T) -> Result<(), Reject> {
        #[cfg(test)]
        crate::testing::count_documents(0, 1);
        let value = encode(document)?;
        let key = keys::record(T::BYTE, document.scope(), document.id());
        if let DocumentKind::Of(resource) = T::KIND {
            self.touch(resource, &key, document)?;
        }
        self.put_raw(key.clone(), value);
        self.decoded.insert(key, Box::new(document.clone()));
        Ok(())
    }

    fn touch<T: Document>(&mut self, resource: Resource, key: &Key, document: &T) -> Result<(), Reject> {
        let states = |record: &T| (IndexEntries::from_record(record), visit_state(record));
        let (after, visit_after) = states(document);
        if let Some(touched) = self.touched.get_mut(key) {
            (touched.after, touched.visit_after) = (after, visit_after);
            return Ok(());
        }
        let id = document.id();
        let mut stored = self.stored::<T>(key, id)?;
        let parsed = match self.decoded::<T>(key) {
            Some(_) => None,
            None => stored.as_deref().map(decode::<T>).transpose()?,
        };
        let before = self.decoded::<T>(key).or(parsed.as_ref());
        // Earlier versions stored fields without a value. Their absence is no change.
        if let (Some(bytes), Some(before)) = (&mut stored, before)
            && bytes.windows(NO_VALUE.len()).any(|part| part == NO_VALUE)
        {
            *bytes = encode(before)?;
        }
        let (before, visit_before) = before.map(states).unzip();
        let visit_before = visit_before.flatten();
        let readers = match self.home.source.filter(|_| T::SHARED) {
            Some(source) => Readers::Source(source),
            None => Readers::Location(self.home.location),
        };
        let written = WrittenRecord { resource, id, readers, stored, before, after, visit_before, visit_after };
        self.touched.insert(key.clone(), written);
        Ok(())
    }

    /// Reads, changes and writes a document. Returns `None` if it does not exist.
    pub fn change<T: Document>(
        &mut self,
        scope: u32,
        id: u64,
        change: impl FnOnce(&mut T),
    ) -> Result<Option<T>, Reject> {
        let Some(mut document) = self.get::<T>(scope, id)? else { return Ok(None) };
        change(&mut document);
        self.put(&document)?;
        Ok(Some(document))
    }

    pub fn link(&mut self, source: u32, resource: Resource, foreign_id: &str) -> Result<Option<Link>, Reject> {
        let value = self.guarded(keys::link(source, DocumentKind::Of(resource).byte(), foreign_id.as_bytes()))?;
        value.map(|bytes| Link::from_bytes(&bytes).ok_or(Reject::Damaged("a link"))).transpose()
    }

    pub fn put_link(&mut self, source: u32, resource: Resource, foreign_id: &str, link: Link) {
        self.put_raw(keys::link(source, DocumentKind::Of(resource).byte(), foreign_id.as_bytes()), link.to_bytes());
    }

    /// Returns the id of a foreign record. It is allotted on the first reference, which may precede the record.
    pub fn id_of(&mut self, source: u32, resource: Resource, foreign_id: &str) -> Result<Link, Reject> {
        if let Some(link) = self.link(source, resource, foreign_id)? {
            return Ok(link);
        }
        let link = Link::new(self.allot(resource)?);
        self.put_link(source, resource, foreign_id, link);
        Ok(link)
    }

    pub fn allot(&mut self, resource: Resource) -> Result<u64, Reject> {
        let id = self.pool.take(resource).ok_or(Reject::NeedIds(resource))?;
        self.taken.insert((resource, id));
        Ok(id)
    }

    /// Discards all writes so far, and returns the ids to the pool.
    pub fn discard(&mut self) {
        self.written.clear();
        self.expected.clear();
        self.decoded.clear();
        self.touched.clear();
        (self.ended, self.status) = (Vec::new(), None);
        self.release();
    }

    fn release(&mut self) {
        for (resource, id) in std::mem::take(&mut self.taken).into_iter().rev() {
            self.pool.give_back(resource, id);
        }
    }

    /// Returns `true` if the turn writes nothing but its journal record, apart from records that keep their values.
    pub fn is_unchanged(&self) -> bool {
        let keeps =
            |(key, _): (&Key, _)| self.touched.get(key).is_some_and(|it| it.change(&self.written[key]).is_none());
        self.written.iter().all(keeps) && self.taken.is_empty() && self.ended.is_empty() && self.status.is_none()
    }

    /// Returns `true` if this turn changes the value of a record of the resource.
    pub fn changes(&self, resource: Resource) -> bool {
        let mut touched = self.touched.iter().filter(|(_, touched)| touched.resource == resource);
        touched.any(|(key, touched)| self.written.get(key).is_some_and(|written| touched.change(written).is_some()))
    }

    /// Adds all writes and preconditions to the turn's batch, with its entries in the log of changes. `seq` is the
    /// number of the turn in the journal, `origin` the id of the request that caused it.
    pub fn into_batch(mut self, batch: &mut Batch, seq: u64, origin: Option<&str>) -> Result<(), Reject> {
        let mut changes: BTreeMap<Stream, Vec<Change>> = BTreeMap::new();
        let (here, mut streams) = (Stream::Location(self.home.location), BTreeMap::new());
        for (key, mut touched) in std::mem::take(&mut self.touched) {
            let written = self.written.get(&key);
            let Some((written, change)) = written.and_then(|written| Some((written, touched.change(written)?))) else {
                self.written.remove(&key);
                continue;
            };
            if !self.has_images {
                touched.stored = None;
            }
            let record = (touched.resource, touched.id);
            for (stream, recorded) in touched.recorded(change, written.as_deref(), &self.facts)? {
                streams.insert(record, stream);
                changes.entry(stream).or_default().push(Change::Record(recorded));
            }
        }
        // Next to the change of the record, so that most turns append to few streams.
        for ended in std::mem::take(&mut self.ended) {
            let stream = streams.get(&(ended.resource, ended.id)).copied().unwrap_or(here);
            changes.entry(stream).or_default().push(Change::Ended(ended));
        }
        if let Some(status) = self.status.take() {
            changes.entry(here).or_default().push(Change::Status(status));
        }
        let TurnContext { institution, location, now: at, .. } = self.home;
        let (institution, turn) = (Some(InstitutionId(institution)), Some((LocationId(location), seq)));
        let header = CommitHeader { at, institution, turn, origin: origin.map(str::to_owned) };
        for (stream, changes) in changes {
            self.index.journaled(stream, stream::append(batch, stream, &header, &changes));
        }
        self.taken.clear();
        for (key, found) in std::mem::take(&mut self.expected) {
            batch.expect_unchanged(key, found.map(|found| found.version));
        }
        for (key, value) in std::mem::take(&mut self.written) {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            };
        }
        Ok(())
    }
}

impl GuardedValues for UnitOfWork<'_> {
    fn read(&mut self, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        self.guarded(key)
    }

    fn write(&mut self, key: Key, value: Option<Vec<u8>>) {
        self.decoded.remove(&key);
        self.written.insert(key, value);
    }
}

impl Drop for UnitOfWork<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

fn encode<T: Document>(document: &T) -> Result<Vec<u8>, Reject> {
    serde_json::to_vec(document).map_err(|_| Reject::Damaged("a document that cannot be written"))
}

pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Reject> {
    #[cfg(test)]
    crate::testing::count_documents(1, 0);
    serde_json::from_slice(bytes).map_err(|_| Reject::Damaged("a document that cannot be read"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::{Placement, Span};
    use records::Patient;
    use store::{MemoryStore, counters::Ids};

    use super::*;

    fn appointment(id: u64) -> Record<Appointment> {
        let span = Span::new(Timestamp(10), Timestamp(20)).unwrap();
        let placement = Placement { operatory: None, provider: None, span };
        let body = Appointment { patient_id: Some(3), ..Appointment::at(placement) };
        Record { location_id: Some(2), ..Record::new(id, 1, Timestamp(5), body) }
    }

    /// The booking path: new documents are not looked up, and known ones are not read again.
    #[tokio::test]
    async fn the_index_costs_no_reads() {
        let (store, pool, index) = (MemoryStore::new(), Pool::default(), Index::default());
        let ids = Ids::new(std::sync::Arc::new(MemoryStore::new()));
        for resource in [Resource::Patients, Resource::Appointments] {
            pool.fill(&ids, resource).await.unwrap();
        }
        let turn = async |now: i64, work: &dyn Fn(&mut UnitOfWork<'_>)| -> (u64, usize) {
            let before = store.reads();
            let home = TurnContext { institution: 1, source: Some(1), location: 2, now: Timestamp(now) };
            let mut unit = UnitOfWork::new(&store, &pool, &index, home);
            work(&mut unit);
            let mut batch = Batch::new();
            unit.into_batch(&mut batch, 1, None).unwrap();
            let written = batch.writes().len() + batch.appends().len();
            store.commit(batch).await.unwrap();
            (store.reads() - before, written)
        };
        let book = |unit: &mut UnitOfWork<'_>| {
            let id = unit.allot(Resource::Appointments).unwrap();
            unit.put(&appointment(id)).unwrap();
        };
        assert_eq!(turn(5, &book).await, (0, 2), "the appointment and its change");
        let with_patient = |unit: &mut UnitOfWork<'_>| {
            let id = unit.allot(Resource::Patients).unwrap() as u32;
            let name = "Ann".to_owned();
            let body = Patient { first_name: name, ..Patient::default() };
            unit.put(&Record::new(id, 1, Timestamp(0), body)).unwrap();
            book(unit);
        };
        assert_eq!(turn(6, &with_patient).await, (0, 4), "each of the two is of another stream");
        let confirm = |unit: &mut UnitOfWork<'_>| {
            unit.change(0, 1, |it: &mut Record<Appointment>| it.updated_at = Timestamp(8)).unwrap();
            unit.change(0, 1, |it: &mut Record<Appointment>| it.confirmed = true).unwrap();
        };
        assert_eq!(turn(8, &confirm).await, (1, 2), "the document is read once");
    }

    #[test]
    fn record_stored_with_empty_fields_is_unchanged_without_them() {
        let (store, pool, index) = (MemoryStore::new(), Pool::default(), Index::default());
        let body = Patient { first_name: "Ann".to_owned(), ..Patient::default() };
        let patient = Record::new(7, 1, Timestamp(0), body);
        let mut earlier = serde_json::to_value(&patient).unwrap();
        (earlier["foreign_id"], earlier["body"]["email"]) = (serde_json::Value::Null, serde_json::Value::Null);
        let mut batch = Batch::new();
        let key = keys::record(DocumentKind::Of(Resource::Patients).byte(), 1, 7);
        batch.put(key, earlier.to_string().into_bytes());
        store.commit_now(batch).unwrap();
        let changes = |patient: &Record<Patient>| {
            let home = TurnContext { institution: 1, source: Some(1), location: 2, now: Timestamp(5) };
            let mut unit = UnitOfWork::new(&store, &pool, &index, home);
            unit.put(patient).unwrap();
            let mut batch = Batch::new();
            unit.into_batch(&mut batch, 1, None).unwrap();
            batch.appends().len()
        };
        assert_eq!(changes(&patient), 0);
        assert_eq!(changes(&Record { updated_at: Timestamp(5), ..patient }), 1);
    }
}
