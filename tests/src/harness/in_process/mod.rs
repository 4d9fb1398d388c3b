//! An in-process engine and an EHR with a small practice. This module contains the common part; parts of one EHR are
//! in submodules.

pub mod fhir;
pub mod open_dental;

use adapter_conformance::flaky_proxy::FlakyProxy;
use records::record::Record;
use std::{net::SocketAddr, path::Path, sync::Arc};

use chrono::Datelike;
use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts};
use location::{
    command::{Command, Placement},
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId, ProviderId},
    pull::Resource,
    settings::{PullRules, WriteRules},
    slots::{Slot, SlotQuery},
    time::{DAY, HOUR, MINUTE, SECOND, Span, Timestamp},
    zone::Date,
};
use processor::{
    commands::{BookSlot, Booked, Offer},
    error::EngineError,
    patients::PatientDetails,
};
use query::lists::{Filter, ListQuery, Order, PageRequest};
use records::{
    self, Writeback,
    document::{Document, DocumentKind},
    sync_state::SyncState,
};
use setup::{DataSource, LocationSetup, Setup};
use store::{EmbeddedStore, Store, StoreConfig, StoreKey};
use tempfile::TempDir;

use crate::harness::{
    components,
    fixtures::{self, INSTITUTION, SOURCE},
};
use testing::until;

pub const LOCATION: LocationId = LocationId(7);
/// A zone with one offset all year.
pub const ZONE: chrono_tz::Tz = chrono_tz::America::Phoenix;
/// Days of the seeded schedules.
pub const DAYS: u32 = 3;
/// Maximum length of a list in these tests.
const ALL: usize = 1_000;
/// Maximum time ahead of an appointment in these tests.
const CALENDAR: i64 = 420 * DAY;

/// The seeded records by their ids in the EHR.
pub trait Seeds {
    fn room(&self, n: usize) -> String;
    /// Each provider works in the room of the same number.
    fn provider(&self, n: usize) -> String;
    /// The type of half-hour appointments.
    fn check_up(&self) -> String;
}

pub struct Harness<Server, Seeded> {
    pub server: Server,
    /// Proxy between the engine and the server.
    pub proxy: FlakyProxy,
    pub seeded: Seeded,
    pub engine: Engine,
    /// The first day with slots: tomorrow.
    pub first_day: Date,
    setup: Setup,
    dir: TempDir,
}

/// The parts needed to open an EHR.
struct Opening {
    /// The EHR's address and the path of its API.
    address: SocketAddr,
    base_path: String,
    /// The base URL is replaced by the proxy's.
    source: DataSource,
    place: LocationSetup,
    first_day: Date,
}

impl<Server, Seeded: Seeds> Harness<Server, Seeded> {
    /// Starts an engine and reads the practice once.
    async fn begin(server: Server, seeded: Seeded, opening: Opening) -> Harness<Server, Seeded> {
        let Opening { address, base_path, mut source, place, first_day } = opening;
        let proxy = FlakyProxy::to(address).await;
        source.base_url = format!("http://{}{base_path}", proxy.address());
        let setup = testing::setup([fixtures::institution(INSTITUTION, "harbour-dental")], [place], [source]);
        let dir = tempfile::tempdir().expect("a folder for the store");
        let engine = start(dir.path(), setup.clone()).await;
        let harness = Harness { server, proxy, seeded, engine, first_day, setup, dir };
        until("the first pull", async || harness.engine.sync_state(LOCATION).await.ok()?.last_sync).await;
        harness
    }

    /// Stops the engine and starts another one on the same store.
    pub async fn restart(self) -> Harness<Server, Seeded> {
        self.engine.stop().await;
        let Harness { engine, setup, dir, .. } = self;
        drop(engine);
        let engine = start(dir.path(), setup.clone()).await;
        Harness { engine, setup, dir, ..self }
    }

    /// Reads the EHR completely.
    pub async fn sync(&self) {
        sync(&self.engine).await;
    }

    /// Reads the EHR after all records of a resource were deleted. The engine holds back these deletions until an
    /// operator accepts them.
    pub async fn sync_of_none(&self, resource: Resource) {
        let state = async || self.engine.sync_state(LOCATION).await.ok();
        let before = state().await.and_then(|state| state.last_sync);
        self.engine.sync_now(LOCATION).await.expect("a read cycle can be asked for");
        let stopped = async || state().await.filter(|state| state.guarded.contains(&resource));
        until("the deletions are stopped", stopped).await;
        let accept = Command::AcceptDeletions { resource };
        self.engine.send(LOCATION, accept).await.expect("an operator may accept them");
        until("a read cycle", async || state().await?.last_sync.filter(|at| Some(*at) > before)).await;
        // The pass after the acceptance confirms the deletions.
        read(&self.engine).await;
    }

    /// Waits until no write is pending.
    pub async fn idle(&self) {
        idle(&self.engine).await;
    }

    /// Waits until the booking is written to the EHR.
    pub async fn written(&self, id: u64) -> Record<records::Appointment> {
        written(&self.engine, id).await
    }

    /// Returns our id of a foreign id.
    pub fn id_of(&self, resource: Resource, foreign: &str) -> Option<u64> {
        self.engine.id_of_foreign(SOURCE, DocumentKind::Of(resource), foreign).expect("the store can be read")
    }

    fn small_id_of(&self, resource: Resource, foreign: &str) -> u32 {
        let id = self.id_of(resource, foreign).unwrap_or_else(|| panic!("{resource:?} {foreign} is not known"));
        u32::try_from(id).expect("a small id")
    }

    pub fn operatory(&self, room: usize) -> OperatoryId {
        OperatoryId(self.id_of(Resource::Operatories, &self.seeded.room(room)).expect("the operatory is known"))
    }

    pub fn provider(&self, n: usize) -> ProviderId {
        ProviderId(self.small_id_of(Resource::Providers, &self.seeded.provider(n)))
    }

    pub fn check_up(&self) -> AppointmentTypeId {
        AppointmentTypeId(self.small_id_of(Resource::AppointmentTypes, &self.seeded.check_up()))
    }

    pub fn patient_by_foreign(&self, foreign: impl ToString) -> Record<records::Patient> {
        let id = self.small_id_of(Resource::Patients, &foreign.to_string());
        self.engine.patient(INSTITUTION, id).expect("the store can be read").expect("the patient is known")
    }

    pub fn providers(&self) -> Vec<Record<records::Provider>> {
        self.all(ListQuery::new([INSTITUTION.0], Order::Id))
    }

    pub fn operatories(&self) -> Vec<Record<records::Operatory>> {
        self.all(ListQuery::new([LOCATION.0], Order::Id))
    }

    pub fn patients(&self) -> Vec<Record<records::Patient>> {
        let patient = |id| self.engine.patient(INSTITUTION, id).expect("the store can be read");
        (1..=1_000).filter_map(patient).collect()
    }

    /// Returns all appointments from today on, including cancelled ones.
    pub fn appointments(&self) -> Vec<Record<records::Appointment>> {
        let start = self.at(-1, 0);
        let span = Span { start, end: start.plus(CALENDAR) };
        self.all(ListQuery::new([LOCATION.0], Order::StartsAt).filtered([Filter::Starting(span)]))
    }

    fn all<D: Document>(&self, query: ListQuery) -> Vec<D> {
        self.engine.lists().list(&query, &PageRequest::whole(ALL), |_| true).expect("the store can be read").rows
    }

    pub fn appointment(&self, id: u64) -> Record<records::Appointment> {
        appointment(&self.engine, id)
    }

    /// Returns our record of an appointment in the EHR.
    pub fn seen(&self, foreign: &str) -> Option<Record<records::Appointment>> {
        self.appointments().into_iter().find(|seen| seen.foreign_id.as_deref() == Some(foreign))
    }

    /// Returns the instant of a local time on the n-th day.
    pub fn at(&self, day: i32, minute: i64) -> Timestamp {
        let zone = self.engine.zone(LOCATION).expect("the location is configured");
        zone.day(self.first_day.add_days(day)).start.plus(minute * MINUTE)
    }

    pub fn place(&self, room: usize, day: i32, minute: i64) -> Placement {
        self.place_at(room, self.at(day, minute))
    }

    pub fn place_at(&self, room: usize, start: Timestamp) -> Placement {
        let span = Span { start, end: start.plus(30 * MINUTE) };
        Placement { operatory: Some(self.operatory(room)), provider: Some(self.provider(room)), span }
    }

    /// Returns the free half-hour slots of a room on a day.
    pub async fn free_on(&self, room: usize, from: Date) -> Vec<Slot> {
        let query = SlotQuery {
            appointment_type: Some(self.check_up()),
            operatories: vec![self.operatory(room)],
            ..testing::slot_query(from, 1, 30 * MINUTE, self.engine.now())
        };
        self.engine.free_slots(LOCATION, query).await.expect("slots can be looked for").slots
    }

    /// Returns the free half-hour slots of a room on the n-th day.
    pub async fn free(&self, room: usize, day: i32) -> Vec<Slot> {
        self.free_on(room, self.first_day.add_days(day)).await
    }

    /// Returns the local times, such as `09:30`, of free slots in a room on the n-th day.
    pub async fn free_times(&self, room: usize, day: i32) -> Vec<String> {
        let start = self.at(day, 0);
        let minutes = self.free(room, day).await.into_iter().map(|slot| slot.span.start.since(start) / MINUTE);
        minutes.map(|minute| format!("{:02}:{:02}", minute / 60, minute % 60)).collect()
    }

    pub fn request(&self, to: Placement, key: &str, patient: &PatientDetails, note: &str) -> BookSlot {
        let offer = Offer {
            institution: INSTITUTION,
            location: LOCATION,
            provider: to.provider.expect("a provider"),
            operatory: to.operatory,
            span: to.span,
            appointment_type: Some(self.check_up()),
            expires: self.engine.now().plus(10 * MINUTE),
            join_blocks: true,
            hold: to.span.start.0.unsigned_abs() + to.operatory.map_or(0, |id| id.0),
            channel: None,
            rules: None,
        };
        BookSlot {
            offer,
            idempotency_key: key.to_owned(),
            patient: patient.clone(),
            note: Some(note.to_owned()),
            created_by: "test".to_owned(),
        }
    }

    pub async fn book(
        &self,
        to: Placement,
        key: &str,
        patient: &PatientDetails,
        note: &str,
    ) -> Result<Booked, EngineError> {
        self.engine.book(self.request(to, key, patient, note)).await
    }

    pub async fn reschedule(&self, id: u64, to: Placement) -> Result<(), EngineError> {
        let appointment = AppointmentId(id);
        self.engine.send(LOCATION, Command::Move { appointment, to, join_blocks: true }).await
    }
}

/// Reads the EHR completely, and again if deletions must be confirmed.
pub async fn sync(engine: &Engine) {
    if !read(engine).await.missing.is_empty() {
        read(engine).await;
    }
}

/// Runs one read cycle.
async fn read(engine: &Engine) -> SyncState {
    let state = async || engine.sync_state(LOCATION).await.ok();
    let before = state().await.and_then(|state| state.last_sync);
    engine.sync_now(LOCATION).await.expect("a read cycle can be asked for");
    until("a read cycle", async || state().await.filter(|state| state.last_sync > before)).await
}

/// Waits until no write is pending.
pub async fn idle(engine: &Engine) {
    let queued = async || Some(engine.sync_state(LOCATION).await.ok()?.queued);
    until("the end of the queue", async || queued().await.filter(|queued| *queued == 0)).await;
}

pub fn appointment(engine: &Engine, id: u64) -> Record<records::Appointment> {
    engine.appointment(AppointmentId(id)).expect("the store can be read").expect("it is known")
}

/// Waits until the booking is written to the EHR.
pub async fn written(engine: &Engine, id: u64) -> Record<records::Appointment> {
    let confirmed = async || {
        let record = appointment(engine, id);
        match record.booking.as_ref().expect("it was booked here") {
            booking if booking.writeback == Writeback::Confirmed => Some(record),
            booking if booking.writeback == Writeback::Failed => panic!("not written: {:?}", booking.failure_reason),
            _ => None,
        }
    };
    until("the write-back", confirmed).await
}

async fn start(dir: &Path, setup: Setup) -> Engine {
    let mut config = StoreConfig::new(dir.join("store"), StoreKey::new([7; 32]));
    config.floor_bytes = 0;
    // The previous engine may still be finishing its last calls.
    let store = until("the store is free", async || EmbeddedStore::open(config.clone()).ok()).await;
    let mut parts = Parts::new(Arc::new(store) as Arc<dyn Store>, RecordViews::shared());
    let adapters: Vec<&str> = setup.sources.values().map(|source| source.adapter.as_str()).collect();
    parts.adapters = components::load(&adapters).await;
    Engine::start(setup, parts).await.expect("the engine starts")
}

/// Returns a location with short waiting times. `foreign_id` is its id in the EHR.
fn location(foreign_id: &str, zone: chrono_tz::Tz) -> LocationSetup {
    let foreign_id = Some(foreign_id.into());
    let mut place = LocationSetup { foreign_id, ..fixtures::location(LOCATION, "harbour", zone, true) };
    let settings = place.settings_mut();
    settings.write = WriteRules {
        call_deadline: 10 * SECOND,
        backoff_base: 50,
        backoff_cap: 400,
        settle: 100,
        breaker_pause: 200,
        breaker_pause_cap: 400,
        ..WriteRules::default()
    };
    // Reads once, and later only on request of a test. A call interrupted by a restart has a short deadline.
    settings.pull = PullRules {
        every: HOUR,
        call_deadline: 10 * SECOND,
        retry_base: 100,
        retry_cap: 400,
        confirm_after: HOUR,
        ..PullRules::default()
    };
    place
}

fn tomorrow(zone: chrono_tz::Tz) -> Date {
    let day = fixtures::tomorrow(zone);
    Date::from_ymd(day.year(), day.month(), day.day()).expect("a date")
}

/// Returns the details of a new patient.
pub fn visitor(first_name: &str, last_name: &str, phone_number: &str) -> PatientDetails {
    PatientDetails {
        first_name: first_name.to_owned(),
        last_name: last_name.to_owned(),
        date_of_birth: Date::from_ymd(1985, 7, 14),
        phone_number: Some(phone_number.to_owned()),
        email: Some("visitor@example.org".to_owned()),
        gender: Some("Female".to_owned()),
        ..PatientDetails::default()
    }
}
