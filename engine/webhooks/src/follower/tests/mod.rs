//! Tests of the follower on a log that they write directly, without locations and EHRs.
#![allow(clippy::unwrap_used)]

mod activation;
mod each_step;
mod earlier_version;
mod failures;
mod lag;
mod late;
mod newer;
mod places;
mod repair;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use location::{
    ids::{InstitutionId, LocationId},
    pull::Resource,
    resource::Operation,
    time::{SECOND, Timestamp},
};
use parking_lot::Mutex;
use query::stream::{
    self, Change, ChangeKind, CommitHeader, EndedWrite, Readers, RecordStates, Recorded, Stream, WriteResult,
};
use records::{
    facts::{ChangedBy, VisitFact, VisitFacts},
    sync_state::SyncSummary,
};
use serde_json::{Value, json};
use setup::{Current, WebhookRules};
use store::{Batch, Direction, MemoryStore, Store, counters::Ids, keys::Space};

use super::{Follower, Sizes};
use crate::{
    catalogue::{Event, ResourceType},
    delivery::Delivery,
    doorbell::Doorbell,
    egress::{Egress, Reach},
    event::StoredEvent,
    keys,
    model::Owner,
    outbox::Outbox,
    registry::{EndpointRegistry, NewSubscription},
    sign::SecretKey,
    subscriptions::Everyone,
    views::{RelatedRecords, ViewContext, ViewError, Views},
};

const INSTITUTION: InstitutionId = InstitutionId(1);
const SOURCE: u32 = 1;
const T0: Timestamp = Timestamp(1_795_255_200_000);

/// Records as they are stored.
struct StoredViews;

impl Views for StoredViews {
    fn record(
        &self,
        _: &ViewContext<'_>,
        _: Resource,
        stored: &[u8],
        _: &dyn RelatedRecords,
    ) -> Result<Value, ViewError> {
        serde_json::from_slice(stored).map_err(|_| ViewError::Damaged)
    }

    fn sync_status(&self, _: &ViewContext<'_>, _: &SyncSummary) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }
}

/// A change of a record in a commit.
#[derive(Clone, Copy, Debug)]
struct Write {
    resource: Resource,
    id: u64,
    change: ChangeKind,
    /// The commit also ends a write of the record to the EHR.
    ends: bool,
    /// A fact of the appointment.
    fact: Option<VisitFact>,
}

impl Write {
    fn new(resource: Resource, id: u64, change: ChangeKind) -> Write {
        Write { resource, id, change, ends: false, fact: None }
    }
}

type RecordId = (Resource, u64);

/// A message about a record. A version is the number of the commit that wrote a state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sent {
    event: String,
    version: u64,
    previous: Option<u64>,
    is_newer: bool,
}

/// Messages by record, each in the order of the deliveries.
type Messages = BTreeMap<RecordId, Vec<Sent>>;

/// Writes commits of the locations of one institution and data source: records, and their entries in the log.
struct LogWriter {
    institution: InstitutionId,
    store: Arc<MemoryStore>,
    state: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    commits: u64,
    deleted: BTreeSet<RecordId>,
    /// The messages that the commits must cause.
    expected: Messages,
}

impl LogWriter {
    fn new(store: Arc<MemoryStore>) -> Arc<LogWriter> {
        LogWriter::of(INSTITUTION, store)
    }

    fn of(institution: InstitutionId, store: Arc<MemoryStore>) -> Arc<LogWriter> {
        Arc::new(LogWriter { institution, store, state: Mutex::default() })
    }

    /// Commits one turn of a location.
    fn write(&self, location: u32, writes: &[Write]) {
        self.commit(&mut self.state.lock(), location, writes);
    }

    fn commit(&self, state: &mut Written, location: u32, writes: &[Write]) {
        state.commits += 1;
        let version = state.commits;
        let (mut batch, mut changes) = (Batch::new(), BTreeMap::<Stream, Vec<Change>>::new());
        for Write { resource, id, change, ends, fact } in writes.iter().copied() {
            let stream = match resource {
                Resource::Patients => Stream::Institution(self.institution.0),
                Resource::Charges => Stream::Source(SOURCE),
                _ => Stream::Location(location),
            };
            let key = stream.record_key(resource, id);
            let before = self.store.get(&key).unwrap();
            let previous = before.as_deref().map(version_of);
            batch.put(key, record_at(id, version).to_string().into_bytes());
            let deleted = change == ChangeKind::Deleted;
            if deleted {
                state.deleted.insert((resource, id));
            }
            let facts = fact.map(|fact| VisitFacts { by: ChangedBy::Staff, facts: vec![fact] });
            let states = Some(RecordStates { before, deleted, in_ehr: true, facts });
            let (readers, removed, added) = (Readers::Source(SOURCE), Vec::new(), Vec::new());
            let recorded = Recorded { resource, id, change, readers, removed, added, states };
            let entries = changes.entry(stream).or_default();
            entries.push(Change::Record(recorded));
            let expected = state.expected.entry((resource, id)).or_default();
            let kind = ResourceType::from_resource(resource).unwrap();
            if ends {
                let (operation, result, reason) = (Operation::Update, WriteResult::Complete, None);
                entries.push(Change::Ended(EndedWrite { resource, id, operation, result, reason }));
                let event = format!("{}.complete", kind.written(operation).unwrap().name());
                expected.push(Sent { event, version, previous: None, is_newer: false });
            }
            let event = kind.changed(change).unwrap();
            let previous = previous.filter(|_| event.is_update());
            expected.push(Sent { event: event.name().to_owned(), version, previous, is_newer: false });
            expected.extend(fact.map(|fact| {
                let event = Event::from_fact(fact).name().to_owned();
                Sent { event, version, previous: None, is_newer: false }
            }));
        }
        // Each commit is older than the one before, so that times do not order the messages.
        let at = T0.minus(SECOND * i64::try_from(version).unwrap());
        let turn = Some((LocationId(location), version));
        let header = CommitHeader { at, institution: Some(self.institution), turn, origin: None };
        for (stream, changes) in &changes {
            stream::append(&mut batch, *stream, &header, changes);
        }
        self.store.commit_now(batch).unwrap();
    }

    fn expected(&self) -> Messages {
        self.state.lock().expected.clone()
    }
}

/// Returns a record after a commit. Its fields change at different commits, and one field is not in all states.
fn record_at(id: u64, version: u64) -> Value {
    let mut record = json!({"id": id, "source_id": SOURCE, "version": version, "half": version / 2});
    if version.is_multiple_of(3) {
        record["third"] = version.into();
    }
    record
}

/// Returns the earlier values of the fields that differ: null for a new field.
fn difference(before: &Value, after: &Value) -> Value {
    let names: BTreeSet<&String> = [before, after].into_iter().flat_map(|it| it.as_object().unwrap().keys()).collect();
    let changed = names.into_iter().filter(|name| before.get(name) != after.get(name));
    changed.map(|name| (name.clone(), before[name].clone())).collect()
}

fn version_of(stored: &[u8]) -> u64 {
    serde_json::from_slice::<Value>(stored).unwrap()["version"].as_u64().unwrap()
}

/// Returns a setup of one institution and data source with locations from 1 on.
fn setup_of(locations: u32) -> Arc<Current> {
    let locations = (1..=locations).map(|id| testing::location(LocationId(id), INSTITUTION.0, SOURCE));
    let (institution, source) = (testing::institution(INSTITUTION.0), testing::source(SOURCE, INSTITUTION.0));
    Arc::new(Current::from_pointee(testing::setup([institution], locations, [source])))
}

fn registry(store: Arc<dyn Store>) -> Arc<EndpointRegistry> {
    static EGRESS: OnceLock<Arc<Egress>> = OnceLock::new();
    let egress = EGRESS.get_or_init(|| Arc::new(Egress::new(Reach::PublicAndLoopback).unwrap())).clone();
    // No message is ever delivered, so the queue must have room for all.
    let rules = WebhookRules { queue: usize::MAX, ..WebhookRules::default() };
    EndpointRegistry::load(store.clone(), Arc::new(Ids::new(store)), egress, rules, Arc::new(Everyone), None).unwrap()
}

/// Subscribes an endpoint to all events of the written resources.
async fn subscribe(store: Arc<dyn Store>) {
    subscribe_to(INSTITUTION, store).await;
}

async fn subscribe_to(institution_id: InstitutionId, store: Arc<dyn Store>) {
    subscribe_with(&registry(store), institution_id).await;
}

async fn subscribe_with(registry: &Arc<EndpointRegistry>, institution_id: InstitutionId) {
    let owner = Owner("org".into());
    let (url, secret) = ("https://hooks.example.com/in", SecretKey::from_entropy([9; 32]));
    let endpoint = registry.create_endpoint(&owner, url, true, secret, None, T0).await.unwrap().record.id;
    let kinds = [ResourceType::Appointment, ResourceType::Patient, ResourceType::Charge, ResourceType::WorkingHour];
    for event in kinds.into_iter().flat_map(ResourceType::events) {
        let (resource_type, event) = (event.resource_type().name(), event.name());
        let (location_id, active, api_version) = (None, true, "v3.0.0");
        let new =
            NewSubscription { payload: None, institution_id, location_id, resource_type, event, active, api_version };
        registry.create_subscription(&owner, endpoint, new, None, T0).await.unwrap();
    }
}

/// Starts the follower of a new process on a store.
fn start(store: Arc<dyn Store>, setup: &Arc<Current>, sizes: Sizes) -> Arc<Follower> {
    let outbox = Outbox::new(registry(store.clone()).subscriptions().clone(), Arc::new(Doorbell::default()));
    let mut follower = Follower::new(setup.clone(), store, outbox, Arc::new(StoredViews), None);
    Arc::get_mut(&mut follower).unwrap().sizes = sizes;
    follower
}

/// Follows all changes.
fn follow(follower: &Follower, store: &MemoryStore) {
    loop {
        let mut step = follower.prepare(INSTITUTION, T0).unwrap();
        if let Some(mut prepared) = step.batch.take() {
            store.commit_now(std::mem::take(&mut prepared.batch)).unwrap();
            follower.committed(prepared);
        }
        if !step.more {
            return;
        }
    }
}

fn deliveries(store: &MemoryStore) -> Vec<Delivery> {
    let mut deliveries = Vec::new();
    for (key, event) in store.scan(Space::DeliveryEvent.range(), Direction::Forward, usize::MAX).unwrap() {
        let event = StoredEvent::from_bytes(&event).unwrap();
        let ids = event.deliveries(keys::parse_event(&key).unwrap());
        deliveries.extend(ids.map(|(endpoint, id)| Delivery::read(store, endpoint, id).unwrap().unwrap()));
    }
    deliveries
}

/// Returns the messages. Their `previous_attributes` must be the difference between the state before the change and the
/// one in the message.
fn sent(store: &MemoryStore) -> Messages {
    let mut messages = Messages::new();
    for delivery in deliveries(store) {
        let data: Value = serde_json::from_str(delivery.data(store).unwrap().get()).unwrap();
        let (kind, previous) = (delivery.resource_type.unwrap(), &data["previous_attributes"]);
        let mut add = |record: &Value, previous: &Value| {
            let id = (kind.resource().unwrap(), record["id"].as_u64().unwrap());
            if let Some(before) = previous["version"].as_u64() {
                assert_eq!(*previous, difference(&record_at(id.1, before), record), "attributes of {id:?}");
            }
            messages.entry(id).or_default().push(Sent {
                event: delivery.event_name.clone(),
                version: record["version"].as_u64().unwrap(),
                previous: previous["version"].as_u64(),
                is_newer: delivery.is_newer,
            });
        };
        match data[format!("{}s", kind.key())].as_array() {
            Some(records) => records.iter().enumerate().for_each(|(number, it)| add(it, &previous[number])),
            None => add(&data[kind.key()], previous),
        }
    }
    messages
}
