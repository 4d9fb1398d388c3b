//! Changes and their webhook messages, with real machines, turns, store and follower, fake EHRs, and a clock moved by
//! hand.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use location::{
    command::{Command, DecisionContext, Failure, Outcome, Placement, Written},
    decision::Call,
    event::CallKind,
    gate::{Gate, Shut},
    ids::{AppointmentId, InstitutionId, LocationId, OperatoryId, ProviderId},
    pull::Resource,
    settings::WriteRules,
    time::{DAY, HOUR, MINUTE, SECOND, Span, Timestamp},
};
use query::{
    feed::{self, Reader},
    log,
    stream::{self, Change, ChangeKind, CommitHeader, Readers, Recorded, Stream},
};
use records::{
    Appointment, Payment, Writeback,
    document::DocumentKind,
    ehr::{
        Description, EhrAppointment, EhrOperatory, EhrPatient, EhrProvider, EhrRecord, EhrWorkingHour, Page,
        PullAbility,
    },
    facts::{ChangedBy, VisitFact},
    record::Record,
    schema,
};
use serde::Serialize;
use serde_json::{Value, json};
use setup::Setup;
use store::{Batch, CommitError, Direction, KeyRange, MemoryStore, Store, StoreError, counters::Ids, keys::Space};
use testing::{HookedStore, PlainViews, deliveries};
use webhooks::{
    catalogue::{Event, ResourceType},
    delivery::Delivery,
    doorbell::Doorbell,
    egress::{Egress, Reach},
    follower::{Follower, FollowerBatch},
    model::{EndpointId, Owner},
    outbox::Outbox,
    placement::Placement as NodePlacement,
    registry::{EndpointRegistry, NewSubscription},
    sign::SecretKey,
    subscriptions::Everyone,
};

use crate::{
    commands::{
        AppointmentChange, BookSlot, BookSlots, ChangeAppointment, ChangePatient, CreateAppointment, CreatePatient,
        CreateRecord, Offer, PatientChange, RescheduleVisit, RetryWrite, SlotBooking,
    },
    error::Prepared,
    ingest::IngestPage,
    patients::PatientDetails,
    processor::{Deps, Processor, decode},
    reply::Saved,
    request::Request,
    testing::{DOCUMENTS, deps, turn},
    unit_of_work::UnitOfWork,
};

/// A request of the location to itself.
#[expect(clippy::large_enum_variant, reason = "few at a time")]
enum SelfRequest {
    Page(IngestPage),
    Command(Command),
}

impl Request for SelfRequest {
    type Reply = ();

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<()> {
        match self {
            SelfRequest::Page(page) => page.prepare(at, cx, unit),
            SelfRequest::Command(command) => command.prepare(at, cx, unit),
        }
    }
}

const START: Timestamp = Timestamp(1_795_255_200_000);
/// Institution 1 has two locations on one EHR. Institution 2 has one location with another EHR.
const PLACES: [(u32, u32); 3] = [(1, 1), (2, 1), (3, 2)];
const MAIN: u32 = 1;
const RIVAL: u32 = 3;

const PULLED: [Resource; 11] = [
    Resource::Providers,
    Resource::Operatories,
    Resource::Patients,
    Resource::WorkingHours,
    Resource::Appointments,
    Resource::HistoryItems,
    Resource::PatientHistoryItems,
    Resource::PaymentTypes,
    Resource::Charges,
    Resource::Payments,
    Resource::FormSchemas,
];
const WRITES: [&str; 10] = [
    "create-patient",
    "update-patient",
    "create-appointment",
    "reschedule-appointment",
    "cancel-appointment",
    "note-appointment",
    "create-payment",
    "create-form-response",
    "save-patient-history-item",
    "create-coverage",
];

/// The EHR's answer to writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    Taken,
    /// Accepted, always as the same record.
    Same(&'static str),
    Refused,
    Later,
    NotLetIn,
}

struct PracticeEhr {
    records: BTreeMap<(Resource, String), EhrRecord>,
    gone: Vec<(Resource, String)>,
    writes: Writes,
    readable: bool,
    written: usize,
}

struct NotifyWorld {
    deps: Arc<Deps>,
    store: Arc<MemoryStore>,
    registry: Arc<EndpointRegistry>,
    follower: Arc<Follower>,
    views: Arc<PlainViews>,
    processors: BTreeMap<u32, Processor>,
    /// EHRs by data source, which has the number of its institution.
    ehrs: BTreeMap<u32, PracticeEhr>,
    now: Timestamp,
    seen_messages: usize,
    /// Number of values written by turns.
    values: usize,
}

/// A message to an endpoint.
#[derive(Clone, Debug)]
struct SentEvent {
    endpoint: EndpointId,
    institution: u32,
    event: String,
    /// The location in the message.
    location: Option<u32>,
    data: Value,
}

impl NotifyWorld {
    /// Creates a world in which both practices have been read once, without subscriptions.
    async fn new() -> NotifyWorld {
        NotifyWorld::with(WriteRules { deadline: HOUR, ..WriteRules::default() }).await
    }

    async fn with(write: WriteRules) -> NotifyWorld {
        let (store, setup) = (Arc::new(MemoryStore::new()), Arc::new(setup(write)));
        let views = Arc::new(PlainViews::default());
        let mut deps = deps(store.clone(), setup);
        let (registry, follower) = follower(store.clone(), &deps, &views);
        let subscriptions = registry.subscriptions().clone();
        Arc::get_mut(&mut deps).unwrap().image_permits = Some(Arc::new(move |id| subscriptions.without_images(id)));
        let ehrs = [1, 2].map(|source| (source, practice())).into_iter().collect();
        let (processors, now) = (BTreeMap::new(), START);
        let mut world =
            NotifyWorld { deps, store, registry, follower, views, processors, ehrs, now, seen_messages: 0, values: 0 };
        for (location, _) in PLACES {
            let mut processor = Processor::load(world.deps.clone(), LocationId(location)).unwrap();
            let batch = processor.describing(&description()).unwrap();
            processor.described(description());
            world.store.commit_now(batch).unwrap();
            world.processors.insert(location, processor);
            world.run(location).await;
        }
        world
    }

    async fn endpoint(&self) -> EndpointId {
        let (owner, secret) = (Owner("org".into()), SecretKey::from_entropy([9; 32]));
        let made = self.registry.create_endpoint(&owner, "https://hooks.example.com/in", true, secret, None, self.now);
        made.await.unwrap().record.id
    }

    async fn subscribe(&self, institution: u32, event: Event, version: &str) -> EndpointId {
        let endpoint = self.endpoint().await;
        self.add(endpoint, institution, event, version).await;
        endpoint
    }

    async fn add(&self, endpoint: EndpointId, institution: u32, event: Event, version: &str) -> bool {
        self.add_at(endpoint, institution, None, event, version).await
    }

    async fn add_at(
        &self,
        endpoint: EndpointId,
        institution: u32,
        location: Option<u32>,
        event: Event,
        version: &str,
    ) -> bool {
        let new = NewSubscription {
            payload: None,
            institution_id: InstitutionId(institution),
            location_id: location.map(LocationId),
            resource_type: event.resource_type().name(),
            event: event.name(),
            active: true,
            api_version: version,
        };
        self.registry.create_subscription(&Owner("org".into()), endpoint, new, None, self.now).await.is_ok()
    }

    /// Creates a world with an endpoint subscribed to all events of the first institution.
    async fn listening() -> NotifyWorld {
        let mut world = NotifyWorld::new().await;
        let all: Vec<Event> = ResourceType::ALL.iter().flat_map(|kind| kind.events()).copied().collect();
        let endpoint = world.subscribe(1, all[0], "v3.0.0").await;
        for event in &all[1..] {
            assert!(world.add(endpoint, 1, *event, "v3.0.0").await);
        }
        assert_eq!(world.new_messages().len(), 0);
        world
    }

    async fn turn<R: Request>(&mut self, location: u32, request: &R) -> (R::Reply, Vec<Call>) {
        let processor = self.processors.get_mut(&location).unwrap();
        let (reply, calls, values) = turn(&self.deps, processor, &mut self.now, request).await;
        self.values += values;
        (reply, calls)
    }

    /// Unloads and reloads a location.
    fn nap(&mut self, location: u32) {
        let batch = self.processors[&location].leave().unwrap();
        self.store.commit_now(batch).unwrap();
        self.processors.insert(location, Processor::load(self.deps.clone(), LocationId(location)).unwrap());
    }

    /// Runs everything that is due at a location, with the EHR's answers.
    async fn run(&mut self, location: u32) {
        self.follow(location, VecDeque::from([SelfRequest::Command(Command::Wake)])).await;
    }

    async fn follow(&mut self, location: u32, mut requests: VecDeque<SelfRequest>) {
        for _ in 0..10_000 {
            if let Some(request) = requests.pop_front() {
                for call in self.turn(location, &request).await.1 {
                    requests.extend([self.answer(location, call)]);
                }
            } else if self.processors[&location].wake_at().is_some_and(|at| at <= self.now) {
                requests.push_back(SelfRequest::Command(Command::Wake));
            } else {
                return;
            }
        }
        panic!("location {location} does not come to rest");
    }

    fn answer(&mut self, location: u32, call: Call) -> SelfRequest {
        let source = self.processors[&location].source().unwrap();
        let ehr = self.ehrs.get_mut(&source).unwrap();
        match call {
            Call::Pull { resource, call, .. } => {
                SelfRequest::Page(IngestPage { resource, call, outcome: ehr.page(location, resource) })
            }
            Call::Write { write, attempt, kind: CallKind::Push, .. } => {
                let outcome = ehr.write();
                SelfRequest::Command(Command::Pushed { write, attempt, outcome })
            }
            Call::Write { write, attempt, kind: CallKind::Find, .. } => {
                SelfRequest::Command(Command::Found { write, attempt, outcome: Ok(None) })
            }
        }
    }

    async fn sync(&mut self, location: u32) {
        self.follow(location, VecDeque::from([SelfRequest::Command(Command::SyncNow)])).await;
    }

    /// Advances the clock, and runs due work of the location and of the follower at its time.
    async fn pass(&mut self, location: u32, time: i64) {
        let until = self.now.plus(time);
        loop {
            let (held, wake) = (self.follow_changes(), self.processors[&location].wake_at());
            let Some(at) = held.into_iter().chain(wake).filter(|at| *at <= until).min() else { break };
            self.now = self.now.max(at);
            if wake.is_some_and(|wake| wake <= self.now) {
                self.nap(location);
                self.run(location).await;
            }
        }
        self.now = self.now.max(until);
    }

    /// Follows all changes. Returns the time at which a held message is due.
    fn follow_changes(&self) -> Option<Timestamp> {
        let mut held = None;
        for institution in [1, 2].map(InstitutionId) {
            let due = loop {
                let mut step = self.follower.prepare(institution, self.now).unwrap();
                if let Some(prepared) = step.batch.take() {
                    self.commit_batch(prepared).unwrap();
                }
                if !step.more {
                    break step.due;
                }
            };
            held = held.into_iter().chain(due).min();
        }
        held
    }

    fn commit_batch(&self, mut prepared: FollowerBatch) -> Result<(), CommitError> {
        self.store.commit_now(std::mem::take(&mut prepared.batch))?;
        self.follower.committed(prepared);
        Ok(())
    }

    /// Starts another process on the store, with its own registry and follower.
    fn restart_follower(&mut self) {
        (self.registry, self.follower) = follower(self.store.clone(), &self.deps, &self.views);
    }

    async fn save<T: Serialize, R: Request<Reply = Saved<T>>>(&mut self, request: R) -> Value {
        let (saved, calls) = self.turn(MAIN, &request).await;
        let requests = calls.into_iter().map(|call| self.answer(MAIN, call)).collect();
        self.follow(MAIN, requests).await;
        serde_json::to_value(saved.record).unwrap()
    }

    fn ehr(&mut self) -> &mut PracticeEhr {
        self.ehrs.get_mut(&1).unwrap()
    }

    /// Returns the payload of a delivery.
    fn payload(&self, delivery: &Delivery) -> Value {
        serde_json::from_str(delivery.data(&*self.store).unwrap().get()).unwrap()
    }

    /// Returns the messages since the last call, in no order.
    fn new_messages(&mut self) -> Vec<SentEvent> {
        self.follow_changes();
        let sent_events = deliveries(&*self.store).into_iter().map(|delivery| SentEvent {
            endpoint: delivery.endpoint_id,
            institution: delivery.institution_id.unwrap().0,
            event: delivery.event_name.clone(),
            location: delivery.location_id.map(|location| location.0),
            data: self.payload(&delivery),
        });
        let sent_events: Vec<SentEvent> = sent_events.collect();
        let mut batch = Batch::new();
        for key in self.store.scan_keys(Space::DeliveryEvent.range(), Direction::Forward, 100_000).unwrap() {
            batch.delete(key);
        }
        self.store.commit_now(batch).unwrap();
        self.seen_messages += sent_events.len();
        sent_events
    }

    /// Checks the event names since the last call, and returns the message of `event`.
    fn one(&mut self, event: &str, all: &[&str]) -> Value {
        let sent_events = self.new_messages();
        let mut names: Vec<&str> = sent_events.iter().map(|it| it.event.as_str()).collect();
        let mut all = all.to_vec();
        names.sort();
        all.sort();
        assert_eq!(names, all);
        sent_events.iter().find(|it| it.event == event).unwrap().data.clone()
    }

    fn id_of(&self, resource: Resource, foreign_id: &str) -> u64 {
        let key = store::keys::link(1, records::document::DocumentKind::Of(resource).byte(), foreign_id.as_bytes());
        records::document::Link::from_bytes(&self.store.get(&key).unwrap().unwrap()).unwrap().id
    }
}

/// Returns the webhooks of a process on a store.
fn follower(store: Arc<dyn Store>, deps: &Deps, views: &Arc<PlainViews>) -> (Arc<EndpointRegistry>, Arc<Follower>) {
    follower_among(store, deps, views, None)
}

/// Returns the webhooks of one of several processes on a store.
fn follower_among(
    store: Arc<dyn Store>,
    deps: &Deps,
    views: &Arc<PlainViews>,
    placement: Option<Arc<dyn NodePlacement>>,
) -> (Arc<EndpointRegistry>, Arc<Follower>) {
    let ids = Arc::new(Ids::new(store.clone()));
    let egress = Arc::new(Egress::new(Reach::PublicAndLoopback).unwrap());
    let (rules, audience) = (Default::default(), Arc::new(Everyone));
    let registry = EndpointRegistry::load(store.clone(), ids, egress, rules, audience, placement).unwrap();
    let outbox = Outbox::new(registry.subscriptions().clone(), Arc::new(Doorbell::default()));
    let follower = Follower::new(deps.setup.clone(), store, outbox, views.clone(), None);
    (registry, follower)
}

/// A node that sends to all endpoints.
struct AllEndpoints;

impl NodePlacement for AllEndpoints {
    fn is_here(&self, _: EndpointId) -> bool {
        true
    }

    fn name(&self) -> String {
        "node".into()
    }

    fn is_gone(&self, _: &str) -> Result<bool, StoreError> {
        Ok(true)
    }
}

impl PracticeEhr {
    fn page(&mut self, location: u32, resource: Resource) -> Outcome<Box<Page>> {
        if !self.readable {
            return Err(Failure::RetryLater { reason: "it is down".into(), after: None });
        }
        let records = self.records.iter().filter(|((of, _), _)| *of == resource).map(|(_, record)| record);
        // Records of locations belong to the first location of each practice.
        let records = records.filter(|_| resource.shared() || location != 2).cloned().collect();
        let deleted = self.gone.iter().filter(|(of, _)| *of == resource).map(|(_, id)| id.clone()).collect();
        Ok(Box::new(Page { records, deleted, cursor: "end".into(), last: true, whole: true, ..Page::default() }))
    }

    fn write(&mut self) -> Outcome<Written> {
        match self.writes {
            Writes::Taken => {
                self.written += 1;
                Ok(Written { foreign_id: format!("written {}", self.written), version: None })
            }
            Writes::Same(id) => Ok(Written { foreign_id: id.to_owned(), version: None }),
            Writes::Refused => Err(Failure::Rejected("the practice says no".into())),
            Writes::Later => Err(Failure::RetryLater { reason: "busy".into(), after: None }),
            Writes::NotLetIn => Err(Failure::Unauthorized("wrong key".into())),
        }
    }

    fn put(&mut self, id: &str, record: EhrRecord) {
        self.records.insert((record.resource(), id.to_owned()), record);
    }

    fn entry(&mut self, resource: Resource, id: &str, fields: Value) {
        self.put(id, EhrRecord::from_fields(resource, id, fields).unwrap());
    }

    fn payment(&mut self, id: &str, amount: &str) {
        let amount = json!({"amount": amount, "currency": "USD"});
        self.entry(Resource::Payments, id, json!({"patient": "pat", "amount": amount}));
    }

    fn patient(&mut self, id: &str, last_name: &str) {
        self.put(id, EhrRecord::Patient(patient_named(id, last_name)));
    }

    fn remove(&mut self, resource: Resource, id: &str) {
        self.records.remove(&(resource, id.to_owned()));
        self.gone.push((resource, id.to_owned()));
    }
}

fn patient_named(id: &str, last_name: &str) -> EhrPatient {
    let birth = Some("1980-01-01".to_owned());
    EhrPatient { id: id.into(), last_name: last_name.into(), date_of_birth: birth, ..EhrPatient::default() }
}

fn practice() -> PracticeEhr {
    let mut practice =
        PracticeEhr { records: BTreeMap::new(), gone: Vec::new(), writes: Writes::Taken, readable: true, written: 0 };
    let anna = EhrProvider { id: "anna".into(), first_name: "Anna".into(), ..EhrProvider::default() };
    let chair = EhrOperatory {
        id: "chair".into(),
        name: "1".into(),
        active: true,
        bookable_online: true,
        ..EhrOperatory::default()
    };
    practice.put("anna", EhrRecord::Provider(anna));
    practice.put("chair", EhrRecord::Operatory(chair));
    practice.put("hours", EhrRecord::WorkingHour(hours("17:00")));
    practice.patient("pat", "Present");
    practice.entry(Resource::HistoryItems, "latex", json!({"category": "allergies", "name": "Latex"}));
    practice.entry(Resource::HistoryItems, "pollen", json!({"category": "allergies", "name": "Pollen"}));
    practice.payment("old", "5.00");
    practice
}

fn hours(end: &str) -> EhrWorkingHour {
    EhrWorkingHour {
        id: "hours".into(),
        provider: "anna".into(),
        operatory: Some("chair".into()),
        ..testing::working_hour("08:00", end)
    }
}

fn description() -> Description {
    let pull = |resource| PullAbility { resource, delta: false, deletions_by_absence: false };
    Description {
        pulls: PULLED.map(pull).to_vec(),
        writes: WRITES.map(str::to_owned).to_vec(),
        new_patients: true,
        operatories: true,
        ..Description::default()
    }
}

fn setup(write: WriteRules) -> Setup {
    let location = |(id, institution)| {
        testing::location_with(LocationId(id), institution, institution, |settings| settings.write = write)
    };
    let sources = [1, 2].map(|id| testing::source(id, id));
    testing::setup([1, 2].map(testing::institution), PLACES.map(location), sources)
}

fn payment(world: &NotifyWorld) -> CreateRecord<Payment> {
    let patient = world.id_of(Resource::Patients, "pat") as u32;
    let amount = json!({"amount": "12.50", "currency": "USD"});
    let body = schema::read(json!({"patient_id": patient, "amount": amount})).unwrap();
    CreateRecord { body, patient: Some(patient), number: None }
}

fn appointment(world: &NotifyWorld, hour: i64) -> CreateAppointment {
    let midnight = Timestamp((START.0 / DAY + 2) * DAY);
    let start = midnight.plus(hour * HOUR);
    CreateAppointment {
        patient_id: world.id_of(Resource::Patients, "pat") as u32,
        dependent: None,
        provider_id: world.id_of(Resource::Providers, "anna") as u32,
        operatory_id: Some(world.id_of(Resource::Operatories, "chair")),
        span: Span { start, end: start.plus(30 * MINUTE) },
        appointment_type_id: None,
        note: None,
        is_guardian: false,
        is_new_clients_patient: false,
        referrer: None,
        descriptor_ids: Vec::new(),
        join_blocks: true,
        created_by: "test".into(),
    }
}

#[tokio::test]
async fn pulled_records_cause_messages_only_when_changed() {
    let mut world = NotifyWorld::listening().await;
    world.sync(MAIN).await;
    assert_eq!(world.new_messages().len(), 0, "the EHR shows the same as before");

    world.ehr().patient("ann", "New");
    world.sync(MAIN).await;
    let data = world.one("patient_created", &["patient_created"]);
    assert_eq!((&data["patients"][0]["last_name"], data.get("previous_attributes")), (&json!("New"), None));

    world.ehr().patient("ann", "Newer");
    world.sync(MAIN).await;
    let data = world.one("patient_updated", &["patient_updated"]);
    assert_eq!(data["patients"][0]["last_name"], "Newer");
    let before = data["previous_attributes"][0].as_object().unwrap();
    assert_eq!(before["last_name"], "New");
    assert!(before.keys().all(|name| ["last_name", "updated_at", "last_sync_time"].contains(&name.as_str())), "{data}");

    world.ehr().put("hours", EhrRecord::WorkingHour(hours("18:00")));
    world.sync(MAIN).await;
    let data = world.one("working_hour_updated", &["working_hour_updated"]);
    assert_eq!((&data["working_hour"]["end"], &data["previous_attributes"]["end"]), (&json!(1080), &json!(1020)));

    world.ehr().payment("new", "7.00");
    world.sync(MAIN).await;
    world.one("payment_created", &["payment_created"]);
    world.ehr().payment("new", "8.00");
    world.sync(MAIN).await;
    let data = world.one("payment_updated", &["payment_updated"]);
    assert_eq!(data["previous_attributes"]["amount"]["amount"], "7.00");
    world.ehr().remove(Resource::Payments, "new");
    world.sync(MAIN).await;
    let data = world.one("payment_deleted", &["payment_deleted"]);
    assert!(data["payment"]["deleted_at"].is_number() && data.get("previous_attributes").is_none(), "{data}");
    world.sync(MAIN).await;
    assert_eq!(world.new_messages().len(), 0, "it is gone already");

    world.ehr().remove(Resource::Patients, "ann");
    world.sync(MAIN).await;
    let data = world.one("patient_updated", &["patient_updated"]);
    assert_eq!(
        (&data["patients"][0]["inactive"], &data["previous_attributes"][0]["inactive"]),
        (&json!(true), &json!(false))
    );
}

#[tokio::test]
async fn payment_made_here_counts_as_created_when_it_reaches_the_ledger() {
    let mut world = NotifyWorld::listening().await;
    world.ehr().writes = Writes::Later;
    let made = payment(&world);
    world.save(made).await;
    assert_eq!(world.new_messages().len(), 0, "it is on its way");
    world.ehr().writes = Writes::Taken;
    world.pass(MAIN, 10 * MINUTE).await;
    let all = ["payment_insertion.complete", "payment_created"];
    let data = world.one("payment_created", &all);
    assert_eq!((&data["payment"]["foreign_id"], data.get("failure_reason")), (&json!("written 1"), None));

    world.ehr().writes = Writes::Refused;
    let made = payment(&world);
    world.save(made).await;
    let data = world.one("payment_insertion.failed", &["payment_insertion.failed"]);
    assert_eq!(data["failure_reason"], "the practice says no");
    assert_eq!(data["payment"]["foreign_id"], Value::Null);

    world.ehr().writes = Writes::Later;
    let made = payment(&world);
    world.save(made).await;
    world.pass(MAIN, 2 * HOUR).await;
    let sent_events = world.new_messages();
    let late: Vec<&SentEvent> = sent_events.iter().filter(|it| it.event.starts_with("payment")).collect();
    assert_eq!(late.len(), 1, "{sent_events:?}");
    assert_eq!(late[0].event, "payment_insertion.timed_out");
    assert!(late[0].data["failure_reason"].is_string());
}

#[tokio::test]
async fn appointment_made_and_changed_here_sends_its_events() {
    let mut world = NotifyWorld::listening().await;
    let made = appointment(&world, 9);
    let record = world.save(made).await;
    let all = ["appointment_created", "appointment_insertion.complete", "appointment_updated"];
    let data = world.one("appointment_updated", &all);
    assert_eq!((&data["appointment"]["id"], &data["appointment"]["foreign_id"]), (&record["id"], &json!("written 1")));
    assert_eq!(data["previous_attributes"]["foreign_id"], Value::Null);

    let id = AppointmentId(record["id"].as_u64().unwrap());
    let note = |text: &str| ChangeAppointment {
        id,
        change: AppointmentChange { note: Some(text.into()), ..AppointmentChange::default() },
    };
    world.save(note("Hello")).await;
    let data = world.one("appointment_updated.complete", &["appointment_updated", "appointment_updated.complete"]);
    assert_eq!((&data["appointment"]["note"], data.get("previous_attributes")), (&json!("Hello"), None));

    world.ehr().writes = Writes::Refused;
    world.save(note("Bye")).await;
    // Changed, and reverted.
    let all = ["appointment_updated", "appointment_updated.failed", "appointment_updated"];
    let data = world.one("appointment_updated.failed", &all);
    assert_eq!(
        (&data["appointment"]["note"], &data["failure_reason"]),
        (&json!("Hello"), &json!("the practice says no"))
    );

    let made = appointment(&world, 10);
    world.save(made).await;
    let data = world.one(
        "appointment_insertion.failed",
        &["appointment_created", "appointment_insertion.failed", "appointment_updated"],
    );
    assert_eq!(data["failure_reason"], "the practice says no");

    world.ehr().writes = Writes::Later;
    let made = appointment(&world, 11);
    world.save(made).await;
    world.pass(MAIN, 4 * DAY).await;
    let sent_events = world.new_messages();
    assert!(sent_events.iter().any(|it| it.event == "appointment_insertion.timed_out"), "{sent_events:?}");
}

#[tokio::test]
async fn patient_created_and_changed_here_sends_its_events() {
    let mut world = NotifyWorld::listening().await;
    let new = CreatePatient {
        provider_id: world.id_of(Resource::Providers, "anna") as u32,
        details: PatientDetails {
            first_name: "Fay".into(),
            last_name: "Fresh".into(),
            date_of_birth: Some(location::zone::Date(7_000)),
            phone_number: Some("+1 555 010 7777".into()),
            email: Some("fay@example.com".into()),
            ..PatientDetails::default()
        },
        change: PatientChange::default(),
        more: Vec::new(),
        return_existing: false,
    };
    let made = world.save(new).await;
    let data =
        world.one("patient_updated.complete", &["patient_created", "patient_updated.complete", "patient_updated"]);
    assert_eq!((&data["patients"][0]["id"], &data["patients"][0]["foreign_id"]), (&made["id"], &json!("written 1")));

    let id = made["id"].as_u64().unwrap() as u32;
    let change = PatientChange { email: Some("fresh@example.com".into()), ..PatientChange::default() };
    world.save(ChangePatient { id, change }).await;
    let data = world.one("patient_updated", &["patient_updated", "patient_updated.complete"]);
    assert_eq!(data["previous_attributes"][0]["email"], "fay@example.com");
    assert_eq!(data["patients"][0]["email"], "fresh@example.com");
}

/// The first commit also starts the patient's write. The second one ends it and starts the appointment's write, which
/// the third one ends.
#[tokio::test]
async fn booking_of_a_new_patient_takes_three_commits_until_confirmed() {
    let mut world = NotifyWorld::new().await;
    let mut counted = Vec::new();
    for (hour, name) in [(9, "Ada"), (10, "Grace")] {
        let slot = appointment(&world, hour);
        let (provider, operatory, location) = (ProviderId(slot.provider_id), slot.operatory_id.map(OperatoryId), MAIN);
        let offer = Offer {
            institution: InstitutionId(1),
            location: LocationId(location),
            provider,
            operatory,
            span: slot.span,
            appointment_type: None,
            expires: world.now.plus(HOUR),
            join_blocks: true,
            hold: 7,
            channel: None,
            rules: None,
        };
        let patient = PatientDetails {
            first_name: name.into(),
            middle_name: None,
            last_name: "Sample".into(),
            date_of_birth: "1985-03-01".parse().ok(),
            phone_number: Some("+15550102233".into()),
            email: None,
            gender: None,
            address: None,
        };
        let book = BookSlot { offer, idempotency_key: name.into(), patient, note: None, created_by: "client".into() };
        let cost = |world: &NotifyWorld| {
            let (decoded, encoded) = DOCUMENTS.get();
            [world.store.commits(), world.values as u64, world.store.reads(), decoded, encoded]
        };
        let before = cost(&world);
        let since = |world: &NotifyWorld| std::array::from_fn(|i| cost(world)[i] - before[i]);
        let (booked, calls) = world.turn(MAIN, &book).await;
        let accepted: [u64; 5] = since(&world);
        let requests = calls.into_iter().map(|call| world.answer(MAIN, call)).collect();
        world.follow(MAIN, requests).await;
        counted.push((accepted, since(&world)));
        assert!(world.processors[&MAIN].machine.state.queue.is_empty());
        let stored = world.processors[&MAIN].appointment(booked.appointment.id).unwrap().unwrap();
        assert_eq!(stored.booking.clone().unwrap().writeback, Writeback::Confirmed);
    }
    // Commits, values, reads, and documents decoded and encoded. The first booking also reserved ids. The second one
    // reads the list of patients with the same name, the first patient in it, and the claim of its key.
    let (accepted, confirmed) = counted[1];
    assert_eq!(accepted, [1, 7, 3, 1, 2]);
    // The end of each write reads the link of the new identifier and the record.
    assert_eq!(confirmed, [3, 17, 7, 3, 6]);
}

fn group_booking(world: &NotifyWorld, hour: i64, first_name: &str) -> SlotBooking {
    let slot = appointment(world, hour);
    let offer = Offer {
        institution: InstitutionId(1),
        location: LocationId(MAIN),
        provider: ProviderId(slot.provider_id),
        operatory: slot.operatory_id.map(OperatoryId),
        span: slot.span,
        appointment_type: None,
        expires: world.now.plus(HOUR),
        join_blocks: true,
        hold: hour as u64,
        channel: None,
        rules: None,
    };
    let patient = PatientDetails {
        first_name: first_name.into(),
        last_name: "Sample".into(),
        date_of_birth: "1985-03-01".parse().ok(),
        phone_number: Some("+15550102233".into()),
        ..PatientDetails::default()
    };
    SlotBooking { offer, patient, note: None }
}

#[tokio::test]
async fn retried_insert_resumes_the_move_that_it_carries() {
    let mut world = NotifyWorld::new().await;
    let made = appointment(&world, 9);
    let (saved, mut calls) = world.turn(MAIN, &made).await;
    let record = serde_json::to_value(saved.record).unwrap();
    let appointment = AppointmentId(record["id"].as_u64().unwrap());
    let status = |world: &NotifyWorld| {
        let stored = world.processors[&MAIN].appointment(appointment.0).unwrap().unwrap();
        stored.reschedule.as_ref().map(|it| (it.status, it.failure_reason.is_some()))
    };
    let offer = group_booking(&world, 10, "Pat").offer;
    let request = RescheduleVisit { appointment, offer, idempotency_key: "move".into(), reason: None };
    world.turn(MAIN, &request).await;
    assert_eq!(status(&world), Some((Writeback::Pending, false)));
    let call = calls.pop().expect("the insert is in flight");
    let Call::Write { write, .. } = call else { panic!("a write") };
    world.ehr().writes = Writes::Refused;
    let answer = world.answer(MAIN, call);
    world.follow(MAIN, VecDeque::from([answer])).await;
    assert_eq!(status(&world), Some((Writeback::Failed, true)));
    world.ehr().writes = Writes::Taken;
    let (_, calls) = world.turn(MAIN, &RetryWrite(write)).await;
    assert_eq!(status(&world), Some((Writeback::Pending, false)));
    let answers = calls.into_iter().map(|call| world.answer(MAIN, call)).collect();
    world.follow(MAIN, answers).await;
    world.pass(MAIN, MINUTE).await;
    assert_eq!(status(&world), Some((Writeback::Confirmed, false)));
}

/// The store keeps the whole group or nothing, and creates a new patient of two bookings once.
#[tokio::test]
async fn group_is_booked_in_one_commit_with_each_new_patient_once() {
    let mut world = NotifyWorld::new().await;
    let group = |world: &NotifyWorld, hours: [i64; 3], names: [&str; 2], key: &str| BookSlots {
        bookings: vec![
            group_booking(world, hours[0], names[0]),
            group_booking(world, hours[1], names[1]),
            group_booking(world, hours[2], names[0]),
        ],
        idempotency_key: key.into(),
        created_by: "client".into(),
    };
    // Reserves the ids.
    let first = group(&world, [9, 10, 11], ["Ada", "Grace"], "first");
    let (booked, calls) = world.turn(MAIN, &first).await;
    let requests = calls.into_iter().map(|call| world.answer(MAIN, call)).collect();
    world.follow(MAIN, requests).await;
    let patients: Vec<_> = booked.appointments.iter().map(|it| it.patient_id).collect();
    assert_eq!(patients[0], patients[2]);
    assert_ne!(patients[0], patients[1]);
    for appointment in &booked.appointments {
        let stored = world.processors[&MAIN].appointment(appointment.id).unwrap().unwrap();
        assert_eq!(stored.booking.clone().unwrap().writeback, Writeback::Confirmed);
    }

    let before = world.store.commits();
    let second = group(&world, [13, 14, 15], ["Ada", "Edith"], "second");
    let (known, _) = world.turn(MAIN, &second).await;
    assert_eq!(world.store.commits() - before, 1);
    let matched: Vec<_> = known.appointments.iter().map(|it| it.booking.as_ref().unwrap().patient_matched).collect();
    assert_eq!(matched, [Some(true), Some(false), Some(true)]);
    assert_eq!(known.appointments[0].patient_id, patients[0]);

    let (again, _) = world.turn(MAIN, &second).await;
    let ids = |group: &crate::commands::BookedGroup| group.appointments.iter().map(|it| it.id).collect::<Vec<_>>();
    assert!(again.replay && !known.replay);
    assert_eq!(ids(&again), ids(&known));
}

/// A call that starts with its decision has the placement of that time, because the EHR may have stored it.
#[tokio::test]
async fn move_sent_with_its_decision_has_the_new_placement() {
    let mut world = NotifyWorld::new().await;
    let made = appointment(&world, 9);
    world.save(made).await;
    let appointments = &world.processors[&MAIN].machine.state.appointments;
    let (id, there) = appointments.first_key_value().map(|(id, there)| (*id, there.clone())).unwrap();
    let span = Span { start: there.placement.span.start.plus(HOUR), end: there.placement.span.end.plus(HOUR) };
    let to = Placement { span, ..there.placement };
    let (_, calls) = world.turn(MAIN, &Command::Move { appointment: id, to, join_blocks: true }).await;
    assert!(matches!(&calls[..], [Call::Write { placement: Some(sent), .. }] if *sent == to), "{calls:?}");
}

/// The calls of this world have no origin, so the party of their changes is unknown.
#[tokio::test]
async fn facts_of_a_visit_are_sent_once_for_the_change_that_shows_them() {
    let mut world = NotifyWorld::listening().await;
    let made = appointment(&world, 9);
    let id = AppointmentId(world.save(made).await["id"].as_u64().unwrap());
    world.new_messages();
    let there = world.processors[&MAIN].machine.state.appointments[&id].placement;
    let at = |hours: i64| Span { start: there.span.start.plus(hours * HOUR), end: there.span.end.plus(hours * HOUR) };
    let to = |hours: i64| {
        let to = Placement { span: at(hours), ..there };
        Command::Move { appointment: id, to, join_blocks: true }
    };
    let calls = begin(&mut world, &to(1)).await;
    world.follow(MAIN, calls).await;
    let all = ["appointment_updated", "appointment_rescheduled", "appointment_updated.complete"];
    let data = world.one("appointment_rescheduled", &all);
    assert_eq!((&data["appointment"]["id"], &data["by"]), (&json!(id.0), &json!("unknown")));
    assert_eq!((&data["from"], &data["to"]), (&json!("2026-11-23T09:00:00.000Z"), &json!("2026-11-23T10:00:00.000Z")));

    // The EHR refuses the next move: the visit goes back without another fact.
    world.ehr().writes = Writes::Refused;
    let calls = begin(&mut world, &to(2)).await;
    world.follow(MAIN, calls).await;
    let all = ["appointment_updated", "appointment_rescheduled", "appointment_updated.failed", "appointment_updated"];
    let data = world.one("appointment_rescheduled", &all);
    assert_eq!(data["from"], "2026-11-23T10:00:00.000Z");

    world.ehr().writes = Writes::Taken;
    let seconds = |at: Timestamp| at.0 / SECOND;
    let mut shown = EhrAppointment {
        id: "written 1".into(),
        patient: Some("pat".into()),
        provider: Some("anna".into()),
        operatory: Some("chair".into()),
        start: seconds(at(1).start),
        end: seconds(at(1).end),
        confirmed: true,
        ..EhrAppointment::default()
    };
    let facts = |world: &mut NotifyWorld| {
        let sent = world.new_messages();
        let of_facts = sent.iter().filter(|it| it.data["by"] != Value::Null);
        let mut facts: Vec<(String, Value)> = of_facts.map(|it| (it.event.clone(), it.data["by"].clone())).collect();
        facts.sort_by(|(one, _), (other, _)| one.cmp(other));
        facts
    };
    let by_staff = |names: &[&str]| {
        names.iter().map(|name| (format!("appointment_{name}"), json!("staff"))).collect::<Vec<(String, Value)>>()
    };
    let step = async |world: &mut NotifyWorld, shown: &EhrAppointment| {
        world.ehr().put("written 1", EhrRecord::Appointment(shown.clone()));
        world.sync(MAIN).await;
    };
    step(&mut world, &shown).await;
    assert_eq!(facts(&mut world), by_staff(&["confirmed"]));
    step(&mut world, &shown).await;
    assert_eq!(facts(&mut world), by_staff(&[]));
    shown.checkin_at = Some(shown.start);
    shown.extra = vec![("status".into(), "fulfilled".into())];
    step(&mut world, &shown).await;
    assert_eq!(facts(&mut world), by_staff(&["arrived", "completed"]));
    shown.note = Some("paid".into());
    step(&mut world, &shown).await;
    assert_eq!(facts(&mut world), by_staff(&[]));
    shown.cancelled = true;
    step(&mut world, &shown).await;
    assert_eq!(facts(&mut world), by_staff(&["cancelled"]));
}

/// Returns the names of the facts that two stored states show, by the guide for clients.
fn differences(before: &Record<Appointment>, after: &Record<Appointment>) -> Vec<&'static str> {
    let confirmed = |it: &Record<Appointment>| it.confirmed || it.patient_confirmed;
    let is_live = !after.cancelled;
    let facts = [
        ("cancelled", !before.cancelled && after.cancelled),
        ("rescheduled", is_live && before.placement.span.start != after.placement.span.start),
        ("confirmed", is_live && !confirmed(before) && confirmed(after)),
        ("arrived", is_live && before.checkin_at.is_none() && after.checkin_at.is_some()),
        ("completed", is_live && before.checked_out_at.is_none() && after.checked_out_at.is_some()),
        ("missed", !before.patient_missed && after.patient_missed),
    ];
    facts.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name).collect()
}

/// Up to three fields of a visit change between two reads of the EHR, or none.
#[tokio::test]
async fn facts_of_random_histories_are_the_differences_of_the_stored_states() {
    let mut world = NotifyWorld::new().await;
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let start = (START.0 / DAY + 2) * DAY / SECOND;
    let (id, patient) = ("visit".to_owned(), Some("pat".to_owned()));
    let mut shown = EhrAppointment { id, patient, start, end: start + 1_800, ..EhrAppointment::default() };
    world.ehr().put("visit", EhrRecord::Appointment(shown.clone()));
    world.sync(MAIN).await;
    let id = world.id_of(Resource::Appointments, "visit");
    let reader = Reader { institution: 1, source: Some(1), location: MAIN };
    let mut since = feed::end(&*world.store, 1).unwrap();
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for round in 0..300 {
        for _ in 0..random(4) {
            match random(8) {
                0 => shown.cancelled = !shown.cancelled,
                1 => {
                    let to = start + 3_600 * random(4).cast_signed();
                    (shown.start, shown.end) = (to, to + 1_800);
                }
                2 => shown.confirmed = !shown.confirmed,
                3 => shown.patient_confirmed = !shown.patient_confirmed,
                4 => shown.checkin_at = shown.checkin_at.is_none().then_some(start),
                5 => shown.checked_out_at = shown.checked_out_at.is_none().then_some(start),
                6 => shown.patient_missed = !shown.patient_missed,
                _ => shown.note = Some(format!("note {}", random(1_000))),
            }
        }
        world.ehr().put("visit", EhrRecord::Appointment(shown.clone()));
        let before = world.processors[&MAIN].appointment(id).unwrap().unwrap();
        world.sync(MAIN).await;
        let after = world.processors[&MAIN].appointment(id).unwrap().unwrap();
        expected.extend(differences(&before, &after));
        if random(3) == 0 || round == 299 {
            let page = feed::page(&*world.store, reader, since, &[Resource::Appointments], 1_000).unwrap().unwrap();
            since = page.next;
            for (fact, by) in page.entries.iter().flat_map(|entry| &entry.facts) {
                assert_eq!(*by, ChangedBy::Staff);
                found.push(fact.name());
            }
        }
    }
    assert_eq!(found, expected);
    for name in VisitFact::NAMES {
        assert!(expected.contains(&name), "no visit was {name}");
    }
}

fn last_write(world: &NotifyWorld, id: AppointmentId) -> (Writeback, Option<String>, Option<Writeback>) {
    let stored = world.processors[&MAIN].appointment(id.0).unwrap().unwrap();
    let (state, reason) = stored.last_write().unwrap();
    (state, reason.map(str::to_owned), stored.booking.as_ref().unwrap().cancellation)
}

/// Decides a request, and returns the answers to its calls.
async fn begin<R: Request>(world: &mut NotifyWorld, request: &R) -> VecDeque<SelfRequest> {
    let (_, calls) = world.turn(MAIN, request).await;
    calls.into_iter().map(|call| world.answer(MAIN, call)).collect()
}

#[tokio::test]
async fn the_state_of_an_appointment_follows_its_last_write() {
    use Writeback::{Confirmed, Failed, Pending};
    let mut world = NotifyWorld::new().await;
    let made = appointment(&world, 9);
    let id = AppointmentId(world.save(made).await["id"].as_u64().unwrap());
    assert_eq!(last_write(&world, id), (Confirmed, None, None));

    let note = |text: &str| ChangeAppointment {
        id,
        change: AppointmentChange { note: Some(text.into()), ..AppointmentChange::default() },
    };
    let there = world.processors[&MAIN].machine.state.appointments[&id].placement;
    let span = Span { start: there.span.start.plus(HOUR), end: there.span.end.plus(HOUR) };
    let moved = Command::Move { appointment: id, to: Placement { span, ..there }, join_blocks: true };
    let cancel = Command::Cancel { appointment: id, reason: None };

    let calls = begin(&mut world, &moved).await;
    assert_eq!(last_write(&world, id), (Pending, None, None));
    // Two writes are queued: the end of the first one confirms nothing.
    let more = begin(&mut world, &note("Hello")).await;
    assert_eq!(last_write(&world, id), (Pending, None, None));
    world.follow(MAIN, calls.into_iter().chain(more).collect()).await;
    assert_eq!(last_write(&world, id), (Confirmed, None, None));

    world.ehr().writes = Writes::Refused;
    let refused = || Some("the practice says no".to_owned());
    let calls = begin(&mut world, &note("Bye")).await;
    world.follow(MAIN, calls).await;
    assert_eq!(last_write(&world, id), (Failed, refused(), None));
    let calls = begin(&mut world, &cancel).await;
    assert_eq!(last_write(&world, id), (Pending, None, Some(Pending)));
    world.follow(MAIN, calls).await;
    assert_eq!(last_write(&world, id), (Failed, refused(), Some(Failed)));

    world.ehr().writes = Writes::Taken;
    let calls = begin(&mut world, &cancel).await;
    assert_eq!(last_write(&world, id), (Pending, None, Some(Pending)));
    world.follow(MAIN, calls).await;
    assert_eq!(last_write(&world, id), (Confirmed, None, Some(Confirmed)));
}

#[tokio::test]
async fn refused_change_keeps_a_later_pending_change() {
    let mut world = NotifyWorld::listening().await;
    let id = world.id_of(Resource::Patients, "pat") as u32;
    let save = |change: PatientChange| ChangePatient { id, change };
    let stands = |world: &NotifyWorld| {
        let pat = world.processors[&MAIN].deps.store.get(&patient_key(id)).unwrap().unwrap();
        let pat: Record<records::Patient> = decode(&pat).unwrap();
        (pat.body.email, pat.body.middle_name)
    };
    let before = stands(&world);
    let email = save(PatientChange { email: Some("fresh@example.com".into()), ..PatientChange::default() });
    let name = save(PatientChange { middle_name: Some("Kim".into()), ..PatientChange::default() });
    let (_, calls) = world.turn(MAIN, &email).await;
    world.turn(MAIN, &name).await;
    assert_eq!(calls.len(), 1, "the first is on its way, so that the second is a separate write");
    world.ehr().writes = Writes::Refused;
    let refused = calls.into_iter().map(|call| world.answer(MAIN, call)).next().unwrap();
    let (_, calls) = world.turn(MAIN, &refused).await;
    let both = (Some("fresh@example.com".to_owned()), Some("Kim".to_owned()));
    assert_eq!(stands(&world), both, "the second change still waits for its answer");
    let requests = calls.into_iter().map(|call| world.answer(MAIN, call)).collect();
    world.follow(MAIN, requests).await;
    world.run(MAIN).await;
    assert_ne!(before, both);
    assert_eq!(stands(&world), before, "it was refused too: what the EHR has is put back");
}

fn patient_key(id: u32) -> store::Key {
    store::keys::record(records::document::DocumentKind::Of(Resource::Patients).byte(), 1, id.into())
}

#[tokio::test]
async fn history_changes_send_one_message_per_patient_and_commit() {
    let mut world = NotifyWorld::listening().await;
    world.ehr().patient("ann", "New");
    let item = |patient: &str, item: &str, note: &str| json!({"patient": patient, "category": "allergies", "item": item, "note": note, "active": true});
    for (id, patient, of) in [("1", "pat", "latex"), ("2", "ann", "latex"), ("3", "pat", "pollen")] {
        world.ehr().entry(Resource::PatientHistoryItems, id, item(patient, of, "a"));
    }
    world.sync(MAIN).await;
    let event = "medical_history_patient_items_updated";
    world.ehr().entry(Resource::PatientHistoryItems, "3", item("pat", "pollen", "b"));
    let sent_events = world.new_messages();
    let mut sizes: Vec<usize> = sent_events
        .iter()
        .filter(|it| it.event == event)
        .map(|it| it.data["medical_history"]["patient_items"].as_array().unwrap().len())
        .collect();
    sizes.sort();
    assert_eq!(sizes, [1, 2]);
    world.sync(MAIN).await;
    let data = world.one(event, &[event]);
    let pat = world.id_of(Resource::Patients, "pat");
    assert_eq!(data["medical_history"]["patient_id"], pat);
    assert_eq!(data["medical_history"]["patient_items"][0]["note"], "b");
    assert_eq!(data["previous_attributes"][0]["note"], "a");
}

#[tokio::test]
async fn sync_status_is_sent_when_it_changes() {
    let mut world = NotifyWorld::listening().await;
    world.ehr().readable = false;
    world.sync(MAIN).await;
    let data = world.one("sync_status_read_change", &["sync_status_read_change", "sync_degraded"]);
    assert_eq!(data["sync_status"], json!({"location": MAIN, "read": false, "write": true}));
    assert_eq!(data["previous_attributes"], json!({"read_status": "green"}));
    world.ehr().readable = true;
    world.pass(MAIN, 2 * MINUTE).await;
    assert_eq!(world.new_messages().len(), 0, "the status changed back within the pause");
    world.pass(MAIN, 30 * MINUTE).await;
    let data = world.one("sync_status_read_change", &["sync_status_read_change", "sync_recovered"]);
    assert_eq!(
        (&data["sync_status"]["read"], &data["previous_attributes"]["read_status"]),
        (&json!(true), &json!("red"))
    );

    world.ehr().writes = Writes::NotLetIn;
    let made = payment(&world);
    world.save(made).await;
    let data = world.one("sync_degraded", &["sync_status_write_change", "sync_degraded"]);
    assert_eq!(data, json!({"sync_status": {"location": MAIN, "read": true, "write": false}}));
    world.pass(MAIN, 20 * MINUTE).await;
    assert_eq!(world.new_messages().len(), 0, "still so");
    world.ehr().writes = Writes::Taken;
    world.pass(MAIN, HOUR / 2).await;
    let sent_events: Vec<String> = world.new_messages().into_iter().map(|it| it.event).collect();
    assert!(sent_events.contains(&"sync_status_write_change".to_owned()), "{sent_events:?}");
}

#[tokio::test]
async fn shut_gate_changes_the_write_status_without_any_write() {
    let mut world = NotifyWorld::listening().await;
    let gate = |gate| VecDeque::from([SelfRequest::Command(Command::Gate(gate))]);
    world.follow(MAIN, gate(Gate::Open)).await;
    assert_eq!(world.new_messages().len(), 0, "it was green");
    world.follow(MAIN, gate(Gate::Shut(Shut::NoWorkstation))).await;
    let data = world.one("sync_status_write_change", &["sync_status_write_change", "sync_degraded"]);
    assert_eq!(data["sync_status"], json!({"location": MAIN, "read": true, "write": false}));
    world.pass(MAIN, 20 * MINUTE).await;
    world.follow(MAIN, gate(Gate::Shut(Shut::LoggedOut))).await;
    assert_eq!(world.new_messages().len(), 0, "still red, for another reason");
    world.follow(MAIN, gate(Gate::Open)).await;
    let data = world.one("sync_status_write_change", &["sync_status_write_change", "sync_recovered"]);
    assert_eq!(data["sync_status"], json!({"location": MAIN, "read": true, "write": true}));
}

#[tokio::test]
async fn held_status_change_does_not_wait_for_a_clock_that_was_set_back() {
    let mut world = NotifyWorld::new().await;
    world.subscribe(1, Event::SyncStatusWriteChange, "v3.0.0").await;
    let gate = |gate| VecDeque::from([SelfRequest::Command(Command::Gate(gate))]);
    world.follow(MAIN, gate(Gate::Shut(Shut::NoWorkstation))).await;
    world.follow(MAIN, gate(Gate::Open)).await;
    assert_eq!(world.new_messages().len(), 1, "too soon for another one");
    world.now = world.now.minus(12 * HOUR);
    assert_eq!(world.follow_changes(), Some(world.now.plus(5 * MINUTE)));
    world.now = world.now.plus(5 * MINUTE);
    let data = world.one("sync_status_write_change", &["sync_status_write_change"]);
    assert_eq!(data["sync_status"], json!({"location": MAIN, "read": true, "write": true}));
}

#[tokio::test]
async fn held_status_change_is_sent_after_the_pause_without_other_events() {
    let mut world = NotifyWorld::new().await;
    world.subscribe(1, Event::SyncStatusWriteChange, "v3.0.0").await;
    let gate = |gate| VecDeque::from([SelfRequest::Command(Command::Gate(gate))]);
    let shut = Gate::Shut(Shut::NoWorkstation);
    world.follow(MAIN, gate(shut)).await;
    world.pass(MAIN, HOUR).await;
    world.follow(MAIN, gate(Gate::Open)).await;
    assert_eq!(world.new_messages().len(), 2);
    world.pass(MAIN, 3 * MINUTE).await;
    world.follow(MAIN, gate(shut)).await;
    assert_eq!(world.new_messages().len(), 0, "held back during the pause");
    // The location is out of memory, and wakes for this.
    world.pass(MAIN, 3 * MINUTE).await;
    let data = world.one("sync_status_write_change", &["sync_status_write_change"]);
    assert_eq!(data["sync_status"], json!({"location": MAIN, "read": true, "write": false}));
    assert_eq!(data["previous_attributes"], json!({"write_status": "green"}));
    world.pass(MAIN, 12 * HOUR).await;
    assert_eq!(world.new_messages().len(), 0, "once");

    // A status that changes and changes back causes no message and no wake.
    world.follow(MAIN, gate(Gate::Open)).await;
    world.pass(MAIN, MINUTE).await;
    world.follow(MAIN, gate(shut)).await;
    world.follow(MAIN, gate(Gate::Open)).await;
    assert_eq!(world.new_messages().len(), 1);
    world.pass(MAIN, 10 * MINUTE).await;
    assert_eq!(world.new_messages().len(), 0, "the status is the last reported one");
    assert!(world.processors[&MAIN].wake_at() > Some(world.now));
}

#[tokio::test]
async fn write_pending_for_an_hour_changes_the_write_status() {
    let mut world = NotifyWorld::with(WriteRules::default()).await;
    world.subscribe(1, Event::SyncStatusWriteChange, "v3.0.0").await;
    world.ehr().writes = Writes::Later;
    let made = payment(&world);
    world.save(made).await;
    world.pass(MAIN, 50 * MINUTE).await;
    assert_eq!(world.new_messages().len(), 0);
    world.pass(MAIN, HOUR).await;
    let sent_events = world.new_messages();
    assert_eq!(sent_events.len(), 1, "{sent_events:?}");
    assert_eq!(sent_events[0].data["sync_status"], json!({"location": MAIN, "read": true, "write": false}));
}

#[tokio::test]
async fn records_are_rendered_once_per_version_and_only_for_subscribers() {
    let mut world = NotifyWorld::new().await;
    for n in 0..500 {
        world.ehr().patient(&format!("patient {n}"), "Many");
    }
    let quiet = world.subscribe(2, Event::PatientCreated, "v3.0.0").await;
    world.sync(MAIN).await;
    assert_eq!((world.new_messages().len(), world.views.rendered.get()), (0, 0));

    for n in 0..500 {
        world.ehr().patient(&format!("patient {n}"), "More");
    }
    let deaf = world.subscribe(1, Event::PatientCreated, "v3.0.0").await;
    world.sync(MAIN).await;
    assert_eq!((world.new_messages().len(), world.views.rendered.get()), (0, 0), "no endpoint subscribes to updates");

    for n in 500..1_000 {
        world.ehr().patient(&format!("patient {n}"), "Many");
    }
    let (one, other) = (
        world.subscribe(1, Event::PatientCreated, "v3.0.0").await,
        world.subscribe(1, Event::PatientCreated, "v3.1.0").await,
    );
    world.sync(MAIN).await;
    let sent_events = world.new_messages();
    assert_eq!(world.views.rendered.get(), 1_000, "each new patient once in each version");
    let of = |endpoint| sent_events.iter().filter(|it| it.endpoint == endpoint).collect::<Vec<_>>();
    assert_eq!([deaf, one, other, quiet].map(|endpoint| of(endpoint).len()), [5, 5, 5, 0]);
    assert!(of(one).iter().all(|it| it.data["patients"].as_array().unwrap().len() == 100));
    let versions = |endpoint| of(endpoint).iter().all(|it| it.data["patients"][0]["version"] == "v3.1.0");
    assert!(versions(other) && !versions(one));
}

#[tokio::test]
async fn messages_are_sent_only_with_the_commit_and_once_after_a_conflict() {
    let mut world = NotifyWorld::listening().await;
    let request = payment(&world);
    world.deps.pool.fill(&world.deps.ids, Resource::Payments).await.unwrap();
    world.ehr().writes = Writes::Refused;
    let (_, calls) = world.turn(MAIN, &request).await;
    let refused = calls.into_iter().map(|call| world.answer(MAIN, call)).next().unwrap();
    let cx = DecisionContext { now: world.now, random: 1 };
    let [mut once, mut again] = [(), ()].map(|()| world.processors[&MAIN].prepare(cx, None, &refused).unwrap().0);
    assert_eq!(world.new_messages().len(), 0, "nothing before the commit");
    world.store.commit_now(std::mem::take(&mut once.batch)).unwrap();
    assert!(world.store.commit_now(std::mem::take(&mut again.batch)).is_err(), "another commit was faster");
    world.one("payment_insertion.failed", &["payment_insertion.failed"]);
}

/// A record of one location is published for that location, one without location for all locations of the EHR.
#[tokio::test]
async fn subscription_of_a_location_gets_only_its_records() {
    let mut world = NotifyWorld::new().await;
    let mut endpoints = Vec::new();
    for location in [Some(1), Some(2), None] {
        let endpoint = world.subscribe(2, Event::FormResponseInsertion, "v3.0.0").await;
        for event in [Event::AppointmentCreated, Event::AppointmentInsertion, Event::PaymentCreated] {
            assert!(world.add_at(endpoint, 1, location, event, "v3.0.0").await);
        }
        endpoints.push(endpoint);
    }
    let [here, there, everywhere] = endpoints[..] else { panic!("three") };
    let of = |sent_events: &[SentEvent], event: &str| {
        let sent_events = sent_events.iter().filter(|it| it.event == event).map(|it| (it.endpoint, it.location));
        let mut sent_events: Vec<_> = sent_events.collect();
        sent_events.sort();
        sent_events
    };

    let booked = appointment(&world, 9);
    world.save(booked).await;
    let sent_events = world.new_messages();
    for event in ["appointment_created", "appointment_insertion.complete"] {
        assert_eq!(of(&sent_events, event), [(here, Some(MAIN)), (everywhere, Some(MAIN))], "{event}");
    }
    world.ehr().payment("shared", "7.00");
    world.sync(MAIN).await;
    assert_eq!(of(&world.new_messages(), "payment_created"), [(here, None), (there, None), (everywhere, None)]);
}

/// Returns the number of messages sent, and of those counted as left out.
fn enqueued_and_left_out(world: &mut NotifyWorld) -> (u64, u64) {
    world.follow_changes();
    let endpoints = world.registry.subscriptions().endpoints();
    let backlogs = &world.registry.subscriptions().backlogs;
    let overflow =
        endpoints.iter().filter_map(|it| backlogs.for_endpoint(it.id).overflow).map(|it| it.events).sum::<u64>();
    (world.new_messages().len() as u64, overflow)
}

/// The page is one commit. Its messages follow in several.
#[tokio::test]
async fn messages_beyond_one_commit_follow_with_the_next_commits() {
    const ENDPOINTS: usize = 100;
    let mut world = NotifyWorld::new().await;
    for _ in 0..ENDPOINTS {
        world.subscribe(1, Event::PaymentCreated, "v3.0.0").await;
    }
    for n in 0..500 {
        world.ehr().payment(&format!("payment {n}"), "7.00");
    }
    let before = world.store.commits();
    world.sync(MAIN).await;
    assert_eq!(enqueued_and_left_out(&mut world), (500 * ENDPOINTS as u64, 0));
    assert!(world.store.commits() - before > 3, "it took several commits");
}

#[tokio::test]
async fn messages_about_deletions_beyond_one_commit_follow_with_the_next_commits() {
    const ENDPOINTS: usize = 40;
    let mut world = NotifyWorld::new().await;
    for n in 0..1_500 {
        world.ehr().payment(&format!("payment {n}"), "7.00");
    }
    world.sync(MAIN).await;
    for _ in 0..ENDPOINTS {
        world.subscribe(1, Event::PaymentDeleted, "v3.0.0").await;
    }
    for n in 0..400 {
        world.ehr().remove(Resource::Payments, &format!("payment {n}"));
    }
    world.sync(MAIN).await;
    assert_eq!(enqueued_and_left_out(&mut world), (400 * ENDPOINTS as u64, 0));
}

/// The follower reads after all three changes, and after the deletion.
#[tokio::test]
async fn message_shows_the_record_after_its_commit_and_not_a_later_state() {
    let mut world = NotifyWorld::listening().await;
    for name in ["New", "Newer", "Newest"] {
        world.ehr().patient("ann", name);
        world.sync(MAIN).await;
    }
    let made = appointment(&world, 9);
    let id = AppointmentId(world.save(made).await["id"].as_u64().unwrap());
    let change = AppointmentChange { note: Some("Hello".into()), ..AppointmentChange::default() };
    world.save(ChangeAppointment { id, change }).await;
    let sent_events = world.new_messages();
    let mut names: Vec<_> = sent_events
        .iter()
        .filter(|it| it.event.starts_with("patient_"))
        .map(|it| {
            let before = it.data["previous_attributes"][0]["last_name"].as_str().map(str::to_owned);
            (it.data["patients"][0]["last_name"].as_str().unwrap().to_owned(), before)
        })
        .collect();
    names.sort();
    let expected = [("New", None), ("Newer", Some("New")), ("Newest", Some("Newer"))];
    assert_eq!(names, expected.map(|(name, before)| (name.to_owned(), before.map(str::to_owned))));
    let created = sent_events.iter().find(|it| it.event == "appointment_created").unwrap();
    let first = &created.data["appointments"][0];
    assert_eq!((&first["foreign_id"], &first["note"]), (&Value::Null, &Value::Null), "as it was created");
    let inserted = sent_events.iter().find(|it| it.event == "appointment_insertion.complete").unwrap();
    let first = &inserted.data["appointment"];
    assert_eq!((&first["foreign_id"], &first["note"]), (&json!("written 1"), &Value::Null), "as it was inserted");
}

/// The record changes after the follower has read the log, and before it reads the record.
#[tokio::test]
async fn change_while_a_message_is_prepared_does_not_show_in_it() {
    let mut world = NotifyWorld::listening().await;
    world.ehr().payment("one", "1.00");
    world.sync(MAIN).await;
    let early = Arc::new(world.store.fork());
    world.ehr().payment("one", "2.00");
    world.sync(MAIN).await;
    let later = world.store.scan(KeyRange::new(vec![0], vec![255]), Direction::Forward, 1_000_000).unwrap();

    let (inner, is_first) = (early.clone(), AtomicBool::new(true));
    let payment = [Space::Record as u8, DocumentKind::Of(Resource::Payments).byte()];
    let hooked = HookedStore::over(early.clone()).before_read(move |key| {
        if key.starts_with(&payment) && is_first.swap(false, Ordering::SeqCst) {
            let mut batch = Batch::new();
            for (key, value) in &later {
                batch.put(key.clone(), value.clone());
            }
            inner.commit_now(batch).unwrap();
        }
        Ok(())
    });
    (world.registry, world.follower) = follower(Arc::new(hooked), &world.deps, &world.views);
    world.store = early;
    world.follow_changes();
    let mut sent_events: Vec<_> = world
        .new_messages()
        .iter()
        .map(|it| (it.event.clone(), it.data["payment"]["amount"]["amount"].clone()))
        .collect();
    sent_events.sort_by_key(|(event, _)| event.clone());
    let expected = [("payment_created", "1.00"), ("payment_updated", "2.00")];
    assert_eq!(sent_events, expected.map(|(event, amount)| (event.to_owned(), json!(amount))));
}

/// The follower stops before or after a batch, with or without its memory.
#[tokio::test]
async fn follower_that_stops_anywhere_sends_each_message_once_and_in_order() {
    for seed in 1..8_u64 {
        let mut state = seed.wrapping_mul(88_172_645_463_325_252);
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut world = NotifyWorld::listening().await;
        let mut expected: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for round in 0..30 {
            let (number, amount) = (random(5), format!("{round}.00"));
            world.ehr().payment(&format!("payment {number}"), &amount);
            world.sync(MAIN).await;
            expected.entry(number).or_default().push(amount);
            if random(3) == 0 {
                let step = world.follower.prepare(InstitutionId(1), world.now).unwrap();
                match (random(3), step.batch) {
                    (0, Some(prepared)) => world.commit_batch(prepared).unwrap(),
                    // Stops after the commit, without its memory.
                    (1, Some(mut prepared)) => {
                        world.store.commit_now(std::mem::take(&mut prepared.batch)).unwrap();
                        world.restart_follower();
                    }
                    (_, Some(_)) => world.restart_follower(),
                    (_, None) => {}
                }
            }
        }
        world.follow_changes();
        let mut sent: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for delivery in deliveries(&*world.store) {
            assert!(delivery.record.starts_with("payment "), "{delivery:?}");
            let data = world.payload(&delivery);
            let amount = |of: &Value| of["amount"]["amount"].as_str().map(str::to_owned);
            let messages = sent.entry(delivery.record).or_default();
            // The previous attributes are those of the message before.
            assert_eq!(amount(&data["previous_attributes"]).as_ref(), messages.last(), "seed {seed}");
            messages.push(amount(&data["payment"]).unwrap());
        }
        let mut amounts: Vec<_> = sent.into_values().collect();
        let mut expected: Vec<_> = expected.into_values().collect();
        amounts.sort();
        expected.sort();
        assert_eq!(amounts, expected, "seed {seed}");
    }
}

#[tokio::test]
async fn of_two_followers_only_one_commits_a_batch() {
    let mut world = NotifyWorld::listening().await;
    let (_, other) = follower(world.store.clone(), &world.deps, &world.views);
    for n in 0..3 {
        world.ehr().payment(&format!("payment {n}"), "7.00");
        world.sync(MAIN).await;
        let [here, there] = [&world.follower, &other].map(|it| it.prepare(InstitutionId(1), world.now).unwrap().batch);
        world.commit_batch(here.unwrap()).unwrap();
        let late = world.store.commit_now(there.unwrap().batch);
        assert!(matches!(late, Err(CommitError::Conflict { .. })));
    }
    assert_eq!(world.new_messages().len(), 3);
    world.follower = other;
    assert_eq!(world.new_messages().len(), 0, "the other one continues at the same position");
}

#[tokio::test]
async fn subscription_gets_no_change_from_before_and_each_later_one() {
    let mut world = NotifyWorld::new().await;
    let early = world.subscribe(1, Event::PaymentCreated, "v3.0.0").await;
    world.ehr().payment("first", "1.00");
    world.sync(MAIN).await;
    // The follower is behind.
    let late = world.subscribe(1, Event::PaymentCreated, "v3.0.0").await;
    world.ehr().payment("second", "2.00");
    world.sync(MAIN).await;
    let mut sent_events: Vec<_> =
        world.new_messages().iter().map(|it| (it.endpoint, it.data["payment"]["amount"]["amount"].clone())).collect();
    sent_events.sort_by_key(|(endpoint, amount)| (*endpoint, amount.to_string()));
    assert_eq!(sent_events, [(early, json!("1.00")), (early, json!("2.00")), (late, json!("2.00"))]);
}

/// Returns whether the log of institution 1 has changes after a number with their before images, and without.
fn images(world: &NotifyWorld, after: u64) -> (bool, bool) {
    let streams = [Stream::Institution(1), Stream::Source(1), Stream::Location(1), Stream::Location(2)];
    let ours = |header: &CommitHeader, _: &Change| header.institution == Some(InstitutionId(1));
    let end = feed::end(&*world.store, 1).unwrap();
    let found = log::commits(&*world.store, &streams, (after, end), usize::MAX, ours).unwrap();
    let changes = found.commits.iter().flat_map(|commit| &commit.changes);
    changes.fold((false, false), |(has, lacks), (_, change)| match change {
        Change::Record(it) => {
            let image = it.states.as_ref().and_then(|states| states.before.as_ref());
            (has || image.is_some(), lacks || it.lacks_image())
        }
        Change::Ended(_) | Change::Status(_) => (has, lacks),
    })
}

#[tokio::test]
async fn log_has_before_images_only_while_the_institution_has_subscriptions() {
    let mut world = NotifyWorld::new().await;
    let changed = async |world: &mut NotifyWorld, amount: &str| {
        let since = feed::end(&*world.store, 1).unwrap();
        world.ehr().payment("old", amount);
        world.sync(MAIN).await;
        images(world, since)
    };
    let (all, none) = ((true, false), (false, true));
    assert_eq!(changed(&mut world, "6.00").await, none);
    world.subscribe(2, Event::PaymentUpdated, "v3.0.0").await;
    assert_eq!(changed(&mut world, "7.00").await, none);
    let endpoint = world.subscribe(1, Event::PaymentUpdated, "v3.0.0").await;
    assert_eq!(changed(&mut world, "8.00").await, all);
    world.registry.delete_endpoint(&Owner("org".into()), endpoint).await.unwrap();
    assert_eq!(changed(&mut world, "9.00").await, none);
}

/// In half of the histories, a subscription exists from the beginning and is deleted before the other is created.
#[tokio::test]
async fn subscription_between_any_two_changes_gets_complete_messages_of_all_later_ones() {
    const CHANGES: usize = 6;
    for (earlier, has_predecessor) in (0..CHANGES).flat_map(|earlier| [(earlier, false), (earlier, true)]) {
        let mut world = NotifyWorld::new().await;
        let (mut predecessor, mut endpoint) = (None, None);
        if has_predecessor {
            predecessor = Some(world.subscribe(1, Event::PaymentCreated, "v3.0.0").await);
        }
        for number in 1..=CHANGES {
            if let Some(gone) = predecessor.filter(|_| number == earlier.max(1)) {
                world.registry.delete_endpoint(&Owner("org".into()), gone).await.unwrap();
            }
            if number == earlier + 1 {
                let created = world.subscribe(1, Event::PaymentCreated, "v3.0.0").await;
                assert!(world.add(created, 1, Event::PaymentUpdated, "v3.0.0").await);
                endpoint = Some(created);
            }
            world.ehr().payment("one", &format!("{number}.00"));
            world.sync(MAIN).await;
        }
        let mut sent: Vec<[Value; 2]> = world
            .new_messages()
            .into_iter()
            .filter(|it| Some(it.endpoint) == endpoint)
            .map(|it| [&it.data["payment"], &it.data["previous_attributes"]].map(|of| of["amount"]["amount"].clone()))
            .collect();
        sent.sort_by_key(|[amount, _]| amount.to_string());
        let amount = |number: usize| if number == 0 { Value::Null } else { json!(format!("{number}.00")) };
        let expected: Vec<_> = (earlier + 1..=CHANGES).map(|number| [number, number - 1].map(amount)).collect();
        assert_eq!(sent, expected, "after {earlier} changes");
    }
}

/// The commit was decided before the subscription, and is durable afterwards.
#[tokio::test]
async fn new_subscription_waits_for_a_commit_without_before_images() {
    let mut world = NotifyWorld::new().await;
    let (id, endpoint) = (world.id_of(Resource::Patients, "pat") as u32, world.endpoint().await);
    let change = |email: &str| ChangePatient {
        id,
        change: PatientChange { email: Some(email.into()), ..PatientChange::default() },
    };
    world.now = world.now.plus(1);
    let (now, store, registry) = (world.now, world.store.clone(), world.registry.clone());
    let since = feed::end(&*store, 1).unwrap();
    let processor = world.processors.get_mut(&MAIN).unwrap();
    let context = DecisionContext { now, random: 77 };
    let (mut pending, _) = processor.prepare(context, None, &change("first@example.com")).unwrap();
    let new = NewSubscription {
        payload: None,
        institution_id: InstitutionId(1),
        location_id: None,
        resource_type: Event::PatientUpdated.resource_type().name(),
        event: Event::PatientUpdated.name(),
        active: true,
        api_version: "v3.0.0",
    };
    let owner = Owner("org".into());
    let commit = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let subscriptions = registry.subscriptions();
        assert!(subscriptions.starts(InstitutionId(1)).is_none(), "it waits");
        assert!(subscriptions.without_images(InstitutionId(1)).is_none(), "no further commit is without images");
        store.commit_now(std::mem::take(&mut pending.batch)).unwrap();
        processor.finish(pending)
    };
    let (created, calls) = tokio::join!(registry.create_subscription(&owner, endpoint, new, None, now), commit);
    created.unwrap();
    assert_eq!(images(&world, since), (false, true));
    let answers = calls.into_iter().map(|call| world.answer(MAIN, call)).collect();
    world.follow(MAIN, answers).await;
    world.save(change("second@example.com")).await;
    let new_messages = world.new_messages();
    let updates = new_messages.iter().filter(|it| it.event == "patient_updated").map(|it| &it.data);
    let emails: Vec<_> =
        updates.map(|data| (&data["patients"][0]["email"], &data["previous_attributes"][0]["email"])).collect();
    assert_eq!(emails, [(&json!("second@example.com"), &json!("first@example.com"))]);
}

/// The subscription is created, and a change is committed, while a follower of another node reads.
#[tokio::test]
async fn subscription_of_another_node_gets_a_change_that_is_read_at_once() {
    let mut world = NotifyWorld::new().await;
    let node = |store: Arc<dyn Store>, world: &NotifyWorld| {
        follower_among(store, &world.deps, &world.views, Some(Arc::new(AllEndpoints)))
    };
    (world.registry, world.follower) = node(world.store.clone(), &world);
    world.subscribe(1, Event::PatientCreated, "v3.0.0").await;
    let early = world.store.fork();
    let endpoint = world.subscribe(1, Event::PaymentCreated, "v3.0.0").await;
    world.ehr().payment("one", "1.00");
    world.sync(MAIN).await;
    let later = world.store.scan(KeyRange::new(vec![0], vec![255]), Direction::Forward, 1_000_000).unwrap();

    for space in [Space::WebhookHeard, Space::WebhookPosition, Space::FeedEnd] {
        let (store, is_armed) = (Arc::new(early.fork()), Arc::new(AtomicBool::new(false)));
        let (inner, later, armed) = (store.clone(), later.clone(), is_armed.clone());
        let hooked = HookedStore::over(store.clone()).before_read(move |key| {
            if key.first() == Some(&(space as u8)) && armed.swap(false, Ordering::SeqCst) {
                let mut batch = Batch::new();
                for (key, value) in later.iter().filter(|(key, _)| key[0] != Space::DeliveryStripes as u8) {
                    batch.put(key.clone(), value.clone());
                }
                inner.commit_now(batch).unwrap();
            }
            Ok(())
        });
        (world.registry, world.follower) = node(Arc::new(hooked), &world);
        world.registry.arrive().await.unwrap();
        world.store = store;
        is_armed.store(true, Ordering::SeqCst);
        world.follow_changes();
        let sent_events: Vec<_> = world.new_messages().into_iter().map(|it| (it.endpoint, it.event)).collect();
        assert_eq!(sent_events, [(endpoint, "payment_created".to_owned())], "{space:?}");
    }
}

/// Earlier versions and a rebuild of the index append changes that cause no message.
#[tokio::test]
async fn changes_without_a_turn_are_read_once() {
    let mut world = NotifyWorld::new().await;
    world.subscribe(1, Event::PaymentCreated, "v3.0.0").await;
    for _ in 0..300 {
        let header = CommitHeader { at: world.now, institution: None, turn: None, origin: None };
        let change = Change::Record(Recorded {
            resource: Resource::Payments,
            id: 1,
            change: ChangeKind::Updated,
            readers: Readers::Location(MAIN),
            removed: Vec::new(),
            added: Vec::new(),
            states: None,
        });
        let mut batch = Batch::new();
        stream::append(&mut batch, Stream::Location(MAIN), &header, &[change]);
        world.store.commit_now(batch).unwrap();
    }
    let hooked = Arc::new(HookedStore::over(world.store.clone()));
    (world.registry, world.follower) = follower(hooked.clone(), &world.deps, &world.views);
    let found = || {
        let before = hooked.found.get();
        world.follow_changes();
        hooked.found.get() - before
    };
    let (first, second) = (found(), found());
    assert!(first > 300 && second < 30, "{first} and {second} values read");
}

#[tokio::test]
async fn changes_are_kept_until_they_are_followed() {
    let mut world = NotifyWorld::new().await;
    assert_eq!(world.follower.followed_to(LocationId(MAIN)).unwrap(), u64::MAX, "without subscriptions");
    world.subscribe(1, Event::PaymentCreated, "v3.0.0").await;
    let begun = world.follower.followed_to(LocationId(MAIN)).unwrap();
    assert_eq!(begun, world.store.feed_end(None).unwrap());
    world.ehr().payment("first", "1.00");
    world.sync(MAIN).await;
    assert_eq!(world.follower.followed_to(LocationId(MAIN)).unwrap(), begun);
    assert_eq!(world.new_messages().len(), 1);
    assert_eq!(world.follower.followed_to(LocationId(MAIN)).unwrap(), world.store.feed_end(None).unwrap());
    assert_eq!(world.follower.followed_to(LocationId(RIVAL)).unwrap(), u64::MAX, "of another institution");
}

/// Random subscriptions of several tenants and random changes in their EHRs, compared with a model.
#[tokio::test]
async fn random_changes_reach_exactly_their_subscribers() {
    let mut world = NotifyWorld::new().await;
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let events = [
        Event::PatientCreated,
        Event::PatientUpdated,
        Event::PaymentCreated,
        Event::PaymentUpdated,
        Event::PaymentDeleted,
        Event::ChargeCreated,
    ];
    let mut asked: BTreeMap<(u32, Event), Vec<EndpointId>> = BTreeMap::new();
    for _ in 0..12 {
        let endpoint = world.subscribe(2, Event::FormResponseInsertion, "v3.0.0").await;
        for _ in 0..random(5) {
            let (institution, event) = (1 + random(2) as u32, events[random(6) as usize]);
            let version = ["v3.0.0", "v3.1.0"][random(2) as usize];
            if world.add(endpoint, institution, event, version).await {
                asked.entry((institution, event)).or_default().push(endpoint);
            }
        }
    }
    assert!(asked.values().map(Vec::len).sum::<usize>() > 15, "{asked:?}");
    let mut expected: Vec<(EndpointId, u32, String, String)> = Vec::new();
    let mut sent_events: Vec<(EndpointId, u32, String, String)> = Vec::new();
    // Each practice's own records, marked by a unique name or amount.
    let mut payments: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut patients: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for round in 0..120_u64 {
        let institution = 1 + random(2) as u32;
        let location = if institution == 1 { MAIN } else { RIVAL };
        let (payments, patients) = (payments.entry(institution).or_default(), patients.entry(institution).or_default());
        let mark = format!("{institution}{round:03}.00");
        let ehr = world.ehrs.get_mut(&institution).unwrap();
        let event = match random(6) {
            0 => {
                patients.push(format!("patient {round}"));
                ehr.patient(&format!("patient {round}"), &mark);
                Some(Event::PatientCreated)
            }
            1 if !patients.is_empty() => {
                ehr.patient(&patients[random(patients.len() as u64) as usize], &mark);
                Some(Event::PatientUpdated)
            }
            2 => {
                payments.push(format!("payment {round}"));
                ehr.payment(&format!("payment {round}"), &mark);
                Some(Event::PaymentCreated)
            }
            3 if !payments.is_empty() => {
                ehr.payment(&payments[random(payments.len() as u64) as usize], &mark);
                Some(Event::PaymentUpdated)
            }
            4 if !payments.is_empty() => {
                let gone = payments.swap_remove(random(payments.len() as u64) as usize);
                ehr.remove(Resource::Payments, &gone);
                Some(Event::PaymentDeleted)
            }
            _ => None,
        };
        world.now = world.now.plus(SECOND);
        world.sync(location).await;
        for endpoint in event.and_then(|event| asked.get(&(institution, event))).into_iter().flatten() {
            let mark = if event == Some(Event::PaymentDeleted) { String::new() } else { mark.clone() };
            expected.push((*endpoint, institution, event.unwrap().name().into(), mark));
        }
        for it in world.new_messages() {
            let name = it.data["patients"][0]["last_name"].as_str();
            let amount = it.data["payment"]["amount"]["amount"].as_str();
            let mark = if it.event.ends_with("_deleted") { "" } else { name.or(amount).unwrap_or("?") };
            sent_events.push((it.endpoint, it.institution, it.event.clone(), mark.to_owned()));
        }
    }
    expected.sort();
    sent_events.sort();
    assert!(expected.len() > 50, "{}", expected.len());
    assert_eq!(sent_events, expected);
}

/// Older versions listed patients under their names as spelt, and compared no first names.
#[tokio::test]
async fn patients_in_lists_of_older_versions_are_found() {
    let mut world = NotifyWorld::new().await;
    let cell_phone = Some("5550101010".to_owned());
    let zoe = EhrPatient { first_name: "Zoë".into(), cell_phone, ..patient_named("zoe", "Müller") };
    world.ehr().put("zoe", EhrRecord::Patient(zoe));
    world.sync(MAIN).await;
    let list = |name: &str| {
        let digest = world.deps.secrets.digest(&[b"patient", name.as_bytes(), b"1980-01-01".as_slice()]);
        store::keys::patient_match(1, 1, &digest)
    };
    let mut batch = Batch::new();
    batch.put(list("müller"), world.store.get(&list("muller")).unwrap().unwrap());
    batch.delete(list("muller"));
    world.store.commit_now(batch).unwrap();

    assert_eq!(matching(&world, "zoe", "1980-01-01"), Some(world.id_of(Resource::Patients, "zoe")));
    assert_eq!(matching(&world, "Ben", "1980-01-01"), None, "a twin");
    // The name as listed by a later version, with its space.
    let mut batch = Batch::new();
    batch.put(list("mu ller"), world.store.get(&list("müller")).unwrap().unwrap());
    batch.delete(list("müller"));
    world.store.commit_now(batch).unwrap();
    assert_eq!(matching_named(&world, ("zoe", "Mu-Ller"), "1980-01-01"), Some(world.id_of(Resource::Patients, "zoe")));
}

/// Returns the patient that matches a booking with this name and date of birth.
fn matching(world: &NotifyWorld, first_name: &str, born: &str) -> Option<u64> {
    matching_named(world, (first_name, "MÜLLER"), born)
}

fn matching_named(world: &NotifyWorld, (first_name, last_name): (&str, &str), born: &str) -> Option<u64> {
    let home = crate::unit_of_work::TurnContext { institution: 1, source: Some(1), location: MAIN, now: world.now };
    let mut unit = UnitOfWork::new(&*world.store, &world.deps.pool, &world.deps.index, home);
    let details = PatientDetails {
        first_name: first_name.to_owned(),
        last_name: last_name.to_owned(),
        date_of_birth: Some(born.parse().unwrap()),
        phone_number: Some("+1 555 010 1010 x3".to_owned()),
        ..PatientDetails::default()
    };
    let cx = DecisionContext { now: world.now, random: 0 };
    let processor = &world.processors[&MAIN];
    let patient = processor.matching_patient(cx, &details, &processor.match_keys(&details), &mut unit).unwrap();
    patient.map(|patient| u64::from(patient.id))
}

#[tokio::test]
async fn an_active_patient_is_matched_before_an_inactive_one() {
    let mut world = NotifyWorld::new().await;
    for (id, inactive) in [("merged", true), ("kept", false)] {
        let (date_of_birth, cell_phone) = (Some("1985-03-01".to_owned()), Some("5550101010".to_owned()));
        let named = patient_named(id, "Müller");
        let zoe = EhrPatient { first_name: "Zoë".into(), cell_phone, date_of_birth, inactive, ..named };
        world.ehr().put(id, EhrRecord::Patient(zoe));
        world.now = world.now.plus(SECOND);
        world.sync(MAIN).await;
        let matched = matching(&world, "Zoe", "1985-03-01");
        assert_eq!(matched, Some(world.id_of(Resource::Patients, id)), "{id}");
    }
}

/// The date in the EHR is shown unchanged.
#[tokio::test]
async fn a_birth_date_in_the_future_or_before_1880_matches_no_patient() {
    let mut world = NotifyWorld::new().await;
    let today = world.processors[&MAIN].settings().zone.local_date(world.now);
    let days = [today, today.add_days(1)].map(|day| day.to_string());
    let days = ["1880-01-01", "1879-12-31", "1753-01-01", "0001-01-01", "2999-12-31"]
        .into_iter()
        .chain(days.iter().map(String::as_str));
    for born in days {
        let date_of_birth = Some(born.to_owned());
        let cell_phone = Some("5550101010".to_owned());
        let zoe =
            EhrPatient { first_name: "Zoë".into(), cell_phone, date_of_birth, ..patient_named("zoe", "Müller") };
        world.ehr().put("zoe", EhrRecord::Patient(zoe));
        world.now = world.now.plus(SECOND);
        world.sync(MAIN).await;
        let id = world.id_of(Resource::Patients, "zoe");
        let shown: records::record::Record<records::Patient> = world.processors[&MAIN].read(1, id).unwrap().unwrap();
        assert_eq!(shown.date_of_birth.as_deref(), Some(born), "shown");
        let is_birth_date = born == "1880-01-01" || born == today.to_string();
        assert_eq!(matching(&world, "Zoe", born), is_birth_date.then_some(id), "{born}");
    }
}

#[tokio::test]
async fn identifier_of_another_record_is_rejected() {
    let mut world = NotifyWorld::new().await;
    // Each payment has its own ordering key, so that a pending one does not delay the others.
    let paid = async |world: &mut NotifyWorld, id: &'static str| {
        world.ehr().writes = Writes::Same(id);
        let payment = CreateRecord { patient: None, ..payment(world) };
        world.save(payment).await["id"].as_u64().unwrap()
    };
    let stands = |world: &NotifyWorld, id: u64| {
        let entry: records::record::Record<records::Payment> = world.processors[&MAIN].read(1, id).unwrap().unwrap();
        (entry.foreign_id, entry.write.unwrap().status)
    };
    use records::record::WriteStatus::{Pending, Succeeded};
    let first = paid(&mut world, "p-1").await;
    assert_eq!(stands(&world, first), (Some("p-1".to_owned()), Succeeded));
    // One created here, and one that the practice has always had.
    for id in ["p-1", "old"] {
        let second = paid(&mut world, id).await;
        assert_eq!(stands(&world, second), (None, Pending));
        let queue = &world.processors[&MAIN].machine.state.queue;
        let reason = queue.iter().last().unwrap().1.reason.clone().unwrap();
        let other = if id == "old" { world.id_of(Resource::Payments, "old") } else { first };
        assert_eq!(reason, format!("the EHR answered with the identifier that Payment {other} has already"));
    }
    assert_eq!(stands(&world, first), (Some("p-1".to_owned()), Succeeded), "it stays whose it is");
    let shown: records::record::Record<records::Payment> =
        world.processors[&MAIN].read(1, world.id_of(Resource::Payments, "old")).unwrap().unwrap();
    assert_eq!(shown.deleted_at, None);
    // An identifier that no other record has is accepted.
    let third = paid(&mut world, "p-4").await;
    assert_eq!(stands(&world, third).0.as_deref(), Some("p-4"));

    // The write was queued by a process with another clock. The record in a pull may thus come from the write, whatever
    // the times are.
    world.ehr().writes = Writes::Same("old");
    let payment = CreateRecord { patient: None, ..payment(&world) };
    let (saved, calls) = world.turn(MAIN, &payment).await;
    world.turn(MAIN, &Command::TakenOver).await;
    let answers = calls.into_iter().map(|call| world.answer(MAIN, call)).collect();
    world.follow(MAIN, answers).await;
    assert_eq!(stands(&world, saved.record.id), (Some("old".to_owned()), Succeeded));
}

#[tokio::test]
async fn failed_snapshot_is_not_retried_at_every_commit() {
    let mut world = NotifyWorld::new().await;
    for _ in 0..500 {
        world.turn(MAIN, &Command::SyncNow).await;
    }
    let processor = world.processors.get_mut(&MAIN).unwrap();
    assert!(processor.snapshot_due());
    processor.snapshot_missed();
    assert!(!processor.snapshot_due());
    for _ in 0..500 {
        world.turn(MAIN, &Command::SyncNow).await;
    }
    let processor = world.processors.get_mut(&MAIN).unwrap();
    assert!(processor.snapshot_due());
    processor.snapshot_taken();
    assert!(!processor.snapshot_due());
}
