//! A practice whose health record system is the FHIR server, and an engine that serves it.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use api::shapes::Wire;
use chrono::Datelike;
use engine::{
    clock,
    engine::{BookRequest, Booked, Engine, Offer, Parts, PatientDetails, Refused, Stretch},
    records::{self, Writeback},
    setup::{DataSource, LocationSetup, Setup},
    store::{SledConfig, SledStore, Store, StoreKey},
};
use location::{
    command::Placement,
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId, ProviderId},
    settings::{PullRules, WriteRules},
    slots::{Slot, SlotQuery},
    time::{DAY, HOUR, MINUTE, SECOND, Span, Timestamp},
    zone::Date,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    adapters,
    conformance::proxy::Proxy,
    door::Door,
    medplum::{FhirServer, Seeded},
    practice::{self, INSTITUTION, SOURCE},
    wait::until,
};

pub const LOCATION: LocationId = LocationId(7);
/// It has one offset all year, as the seed does.
const ZONE: chrono_tz::Tz = chrono_tz::America::Phoenix;
const OFFSET: &str = "-07:00";
const DAYS: u32 = 3;
/// What the server takes.
pub const TOKEN: &str = "s3cret-of-the-clinic";
/// The system of our write keys in the FHIR server.
pub const KEYS: &str = "urn:practice-sync:write-key";
pub const CHECK_UP: &str = "CHECKUP";
const TYPES: &str = r#"[{"id":"CHECKUP","system":"urn:clinic:types","name":"Check-up – kurz","minutes":30}]"#;
/// A stretch of a list that holds all there is in these tests.
const ALL: Stretch = Stretch { after: None, before: None, limit: 1_000 };

pub struct Clinic {
    pub server: FhirServer,
    /// The engine's way to the server, and what stands on it.
    pub door: Door,
    pub proxy: Proxy,
    pub seeded: Seeded,
    pub engine: Engine,
    /// The first of the days the practice has slots on: tomorrow.
    pub first_day: Date,
    setup: Setup,
    dir: TempDir,
}

impl Clinic {
    /// A practice the engine has read once. None: the test is to be left out.
    pub async fn open() -> Option<Clinic> {
        Clinic::open_with(|_| ()).await
    }

    /// The same with other settings.
    pub async fn open_with(change: impl FnOnce(&mut LocationSetup)) -> Option<Clinic> {
        Clinic::open_as(change, |_| ()).await
    }

    /// The same with another way to the server.
    pub async fn open_as(
        change: impl FnOnce(&mut LocationSetup),
        reach: impl FnOnce(&mut DataSource),
    ) -> Option<Clinic> {
        let server = FhirServer::start(TOKEN).await?;
        let first_day = tomorrow();
        let seeded = server.seed(&first_day.to_string(), OFFSET, DAYS).await;
        let proxy = Proxy::to(server.address()).await;
        let door = Door::to(proxy.address()).await;
        let dir = tempfile::tempdir().expect("a folder for the store");
        let mut place = place(&seeded);
        change(&mut place);
        let setup = setup(&server, &door, place, reach);
        let engine = start(dir.path(), setup.clone()).await;
        let clinic = Clinic { server, door, proxy, seeded, engine, first_day, setup, dir };
        let pulled = async || clinic.engine.sync_state(LOCATION).await.ok()?.last_sync;
        until("the first pull", pulled).await;
        Some(clinic)
    }

    /// Stops the engine and starts another one on its store.
    pub async fn restart(self) -> Clinic {
        self.engine.stop().await;
        let Clinic { engine, setup, dir, .. } = self;
        drop(engine);
        let engine = start(dir.path(), setup.clone()).await;
        Clinic { engine, setup, dir, ..self }
    }

    /// Reads the EHR now, to the end.
    pub async fn sync(&self) {
        let last = async || self.engine.sync_state(LOCATION).await.ok()?.last_sync;
        let before = last().await;
        self.engine.sync_now(LOCATION).await.expect("a read cycle can be asked for");
        until("a read cycle", async || last().await.filter(|at| Some(*at) > before)).await;
    }

    pub fn operatories(&self) -> Vec<records::Operatory> {
        self.engine.operatories(LOCATION, ALL).expect("the store can be read")
    }

    pub fn providers(&self) -> Vec<records::Provider> {
        self.engine.providers(INSTITUTION, ALL).expect("the store can be read")
    }

    pub fn patients(&self) -> Vec<records::Patient> {
        let patient = |id| self.engine.patient(INSTITUTION, id).expect("the store can be read");
        (1..=1_000).filter_map(patient).collect()
    }

    /// All appointments of the first days, cancelled ones too.
    pub fn appointments(&self) -> Vec<records::Appointment> {
        let start = self.at(0, 0);
        let span = Span { start, end: start.plus(DAY * i64::from(DAYS)) };
        self.engine.appointments(LOCATION, span, None, false, 1_000).expect("the store can be read")
    }

    pub fn appointment(&self, id: u64) -> records::Appointment {
        self.engine.appointment(AppointmentId(id)).expect("the store can be read").expect("it is known")
    }

    /// What we made of an appointment of the EHR, if anything.
    pub fn seen(&self, foreign_id: &str) -> Option<records::Appointment> {
        self.appointments().into_iter().find(|seen| seen.foreign_id.as_deref() == Some(foreign_id))
    }

    pub fn operatory(&self, room: usize) -> OperatoryId {
        let ours = self.operatories().into_iter().find(|o| o.foreign_id.as_ref() == Some(&self.seeded.rooms[room]));
        OperatoryId(ours.expect("the room is known").id)
    }

    pub fn provider(&self, practitioner: usize) -> ProviderId {
        let theirs = &self.seeded.practitioners[practitioner];
        let ours = self.providers().into_iter().find(|p| p.foreign_id.as_ref() == Some(theirs));
        ProviderId(ours.expect("the practitioner is known").id)
    }

    pub fn check_up(&self) -> AppointmentTypeId {
        let types = self.engine.appointment_types(INSTITUTION).expect("the store can be read");
        let ours = types.iter().find(|kind| kind.foreign_id.as_deref() == Some(CHECK_UP));
        AppointmentTypeId(ours.expect("the type is known").id)
    }

    /// The moment a local time of day names on the n-th day.
    pub fn at(&self, day: i32, minute: i64) -> Timestamp {
        let zone = self.engine.zone(LOCATION).expect("the location is configured");
        zone.day(self.first_day.add_days(day)).start.plus(minute * MINUTE)
    }

    pub fn place(&self, room: usize, day: i32, minute: i64) -> Placement {
        let start = self.at(day, minute);
        let span = Span { start, end: start.plus(30 * MINUTE) };
        Placement { operatory: Some(self.operatory(room)), provider: Some(self.provider(room)), span }
    }

    /// Free slots of half an hour in a room on the n-th day.
    pub async fn free(&self, room: usize, day: i32) -> Vec<Slot> {
        let query = SlotQuery {
            from: self.first_day.add_days(day),
            days: 1,
            length: 30 * MINUTE,
            interval: None,
            appointment_type: Some(self.check_up()),
            providers: Vec::new(),
            operatories: vec![self.operatory(room)],
            source: None,
            join_blocks: true,
            overlapping_operatory_slots: false,
            appointments_per_timeslot: 1,
            not_before: self.engine.now(),
            limit: 1_000,
        };
        self.engine.free_slots(LOCATION, query).await.expect("slots can be looked for").slots
    }

    /// The local times of day, `09:30`, at which a room is free on the n-th day.
    pub async fn free_times(&self, room: usize, day: i32) -> Vec<String> {
        let start = self.at(day, 0);
        let minutes = self.free(room, day).await.into_iter().map(|slot| slot.span.start.since(start) / MINUTE);
        minutes.map(|minute| format!("{:02}:{:02}", minute / 60, minute % 60)).collect()
    }

    pub fn request(&self, to: Placement, key: &str, patient: &PatientDetails, note: &str) -> BookRequest {
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
        };
        BookRequest {
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
    ) -> Result<Booked, Refused> {
        self.engine.book(self.request(to, key, patient, note)).await
    }

    /// Waits until a booking's insert is done.
    pub async fn written(&self, id: u64) -> records::Appointment {
        let confirmed = async || {
            let record = self.appointment(id);
            match record.booking.as_ref().expect("it was booked here") {
                booking if booking.writeback == Writeback::Confirmed => Some(record),
                booking if booking.writeback == Writeback::Failed => {
                    panic!("not written: {:?}", booking.failure_reason)
                }
                _ => None,
            }
        };
        until("the write-back", confirmed).await
    }

    /// Waits until nothing is left to be written.
    pub async fn idle(&self) {
        let queued = async || Some(self.engine.sync_state(LOCATION).await.ok()?.queued);
        until("the end of the queue", async || queued().await.filter(|queued| *queued == 0)).await;
    }

    /// The appointment as the EHR has it.
    pub async fn in_ehr(&self, record: &records::Appointment) -> Value {
        self.server.read("Appointment", record.foreign_id.as_deref().expect("it was written")).await
    }

    /// What of a resource type carries a write key of ours as its own, not as that of an update.
    pub async fn ours(&self, resource_type: &str) -> Vec<Value> {
        let mut all = self.server.search(resource_type, &[]).await;
        all.retain(|resource| key_of(resource).is_some());
        all
    }
}

/// The write key a resource was created with.
pub fn key_of(resource: &Value) -> Option<String> {
    let identifiers = resource["identifier"].as_array()?;
    let created = identifiers.iter().find(|i| i["system"] == KEYS && i["use"] != "secondary")?;
    created["value"].as_str().map(str::to_owned)
}

/// Somebody nobody has seen before.
pub fn visitor(first_name: &str, last_name: &str, phone_number: &str) -> PatientDetails {
    PatientDetails {
        first_name: first_name.to_owned(),
        last_name: last_name.to_owned(),
        date_of_birth: Date::from_ymd(1990, 2, 28),
        phone_number: Some(phone_number.to_owned()),
        email: Some("visitor@example.org".to_owned()),
        gender: Some("Female".to_owned()),
        ..PatientDetails::default()
    }
}

fn tomorrow() -> Date {
    let now = chrono::DateTime::from_timestamp_millis(clock::now().0).expect("the present is near");
    let today = now.with_timezone(&ZONE).date_naive();
    Date::from_ymd(today.year(), today.month(), today.day()).expect("a date").add_days(1)
}

async fn start(dir: &Path, setup: Setup) -> Engine {
    let mut config = SledConfig::new(dir.join("store"), StoreKey::new([7; 32]));
    config.floor_bytes = 0;
    // The engine before may still be letting go of its last calls.
    let store = until("the store is free", async || SledStore::open(config.clone()).ok()).await;
    let mut parts = Parts::new(Arc::new(store) as Arc<dyn Store>, Wire::shapes());
    parts.adapters = adapters::load(&["fhir"]).await;
    Engine::start(setup, parts).await.expect("the engine starts")
}

fn setup(server: &FhirServer, door: &Door, place: LocationSetup, reach: impl FnOnce(&mut DataSource)) -> Setup {
    let mut setup = Setup::default();
    setup.institutions.insert(INSTITUTION, Arc::new(practice::institution(INSTITUTION, "harbour-dental")));
    let base_url = format!("http://{}{}", door.address(), server.base_path());
    let mut source = DataSource {
        headers: vec![("Authorization".to_owned(), format!("Bearer {TOKEN}"))],
        guest_requests_per_call: 60,
        ..practice::source(SOURCE, INSTITUTION, "fhir", &base_url)
    };
    reach(&mut source);
    setup.sources.insert(SOURCE, Arc::new(source));
    setup.locations.insert(LOCATION, Arc::new(place));
    setup
}

fn place(seeded: &Seeded) -> LocationSetup {
    LocationSetup {
        foreign_id: Some(seeded.site.clone()),
        write: WriteRules {
            call_deadline: 4 * SECOND,
            backoff_base: 50,
            backoff_cap: 400,
            settle: 100,
            breaker_pause: 200,
            breaker_pause_cap: 400,
            ..WriteRules::default()
        },
        // Read once, and then when a test asks for it.
        pull: PullRules { every: HOUR, retry_base: 100, retry_cap: 400, ..PullRules::default() },
        adapter_config: BTreeMap::from([("appointment_types".to_owned(), TYPES.to_owned())]),
        ..practice::location(LOCATION, "harbour", ZONE, true)
    }
}
