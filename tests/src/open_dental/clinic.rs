//! A practice whose system is the fake Open Dental, and an engine that serves it.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use api::shapes::Wire;
use chrono::Datelike;
use chrono_tz::Tz;
use engine::{
    actor::docs::Kind,
    engine::{BookRequest, Booked, Engine, Offer, Parts, PatientDetails, Refused, Stretch},
    records::{
        self, Writeback,
        entry::{Body, Entry, WriteStatus},
    },
    saving::{NewEntry, SaveRequest, Saving},
    setup::{DataSource, LocationSetup, Setup},
    store::{SledConfig, SledStore, Store, StoreKey},
};
use location::{
    command::Placement,
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId, ProviderId},
    pull::Resource,
    settings::{PullRules, WriteRules},
    slots::{Slot, SlotQuery},
    time::{DAY, HOUR, MINUTE, SECOND, Span, Timestamp},
    zone::Date,
};
use serde::Serialize;
use tempfile::TempDir;

use super::{BASE, Fate, Office, OpenDentalServer, Row, Seeded, Switches};
use crate::{
    adapters,
    door::Door,
    practice::{self, INSTITUTION, SOURCE},
    wait::until,
};

pub const LOCATION: LocationId = LocationId(9);
/// One offset all year.
pub const ZONE: Tz = chrono_tz::America::Phoenix;
pub const KEYS: &str = "d3veloper/cust0mer";
/// Days of the seeded schedule; the last is a holiday.
pub const DAYS: u32 = 3;
const ALL: Stretch = Stretch { after: None, before: None, limit: 1_000 };

pub struct Clinic {
    pub server: OpenDentalServer,
    /// The engine's way to the server.
    pub door: Door,
    pub seeded: Seeded,
    pub engine: Engine,
    /// Tomorrow.
    pub first_day: Date,
    setup: Setup,
    dir: TempDir,
}

impl Clinic {
    /// A practice the engine has read once.
    pub async fn open() -> Clinic {
        Clinic::open_with(ZONE, |_, _| (), |_| ()).await
    }

    /// The same in another zone, with more rows and other settings.
    pub async fn open_with(
        zone: Tz,
        more: impl FnOnce(&mut Office, &Seeded),
        change: impl FnOnce(&mut LocationSetup),
    ) -> Clinic {
        let mut office = Office::new(zone, KEYS);
        let today = super::office::present().with_timezone(&zone).date_naive();
        let today = Date::from_ymd(today.year(), today.month(), today.day()).expect("a date");
        let first_day = today.add_days(1);
        let seeded = office.seed(&first_day.to_string(), DAYS);
        more(&mut office, &seeded);
        let server = OpenDentalServer::start(office).expect("loopback has a free port");
        let door = Door::to(server.address).await;
        let dir = tempfile::tempdir().expect("a folder for the store");
        let mut place = place(zone);
        change(&mut place);
        let setup = setup(&door, place);
        let engine = start(dir.path(), setup.clone()).await;
        let clinic = Clinic { server, door, seeded, engine, first_day, setup, dir };
        let pulled = async || clinic.engine.sync_state(LOCATION).await.ok()?.last_sync;
        until("the first pull", pulled).await;
        clinic
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

    /// Waits until nothing is left to be written.
    pub async fn idle(&self) {
        let queued = async || Some(self.engine.sync_state(LOCATION).await.ok()?.queued);
        until("the end of the queue", async || queued().await.filter(|queued| *queued == 0)).await;
    }

    /// Lets this many requests pass, and then meets one with a fate.
    pub fn fate(&self, n: u64, fate: Fate) {
        self.server.office().switches = Switches::at(n, fate);
    }

    pub fn row(&self, table: &str, key: u64) -> Row {
        self.server.office().row(table, key).cloned().unwrap_or_else(|| panic!("{table} {key} is not there"))
    }

    /// What of a table carries a write key of ours behind the text of a field.
    pub fn ours(&self, table: &str, field: &str) -> Vec<Row> {
        self.server.office().holding(table, field, "[ref:ps-")
    }

    /// Our id of what the EHR calls so.
    pub fn id_of(&self, resource: Resource, foreign: &str) -> Option<u64> {
        self.engine.id_of_foreign(SOURCE, Kind::Of(resource), foreign).expect("the store can be read")
    }

    pub fn entry<T: Body>(&self, foreign: &str) -> Entry<T> {
        let id = self.id_of(T::RESOURCE, foreign).unwrap_or_else(|| panic!("{:?} {foreign} is not known", T::RESOURCE));
        self.entry_by_id(id)
    }

    pub fn entry_by_id<T: Body>(&self, id: u64) -> Entry<T> {
        self.engine.entry::<T>(SOURCE, id).expect("the store can be read").expect("it is known")
    }

    /// Saves a record as a client would.
    pub async fn file<T: Body + Serialize>(&self, body: &T, patient: Option<u32>) -> u64 {
        let body = serde_json::to_value(body).expect("a body is JSON");
        self.save::<Entry<T>>(Saving::Entry(NewEntry { resource: T::RESOURCE, body, patient })).await.id
    }

    pub async fn save<T: serde::de::DeserializeOwned>(&self, what: Saving) -> T {
        let saved = self.engine.save(SaveRequest { location: LOCATION, what, once: None }).await;
        saved.unwrap_or_else(|refused| panic!("it is not saved: {refused:?}")).record
    }

    /// The foreign id of a filed record, once it is written.
    pub async fn filed<T: Body>(&self, id: u64) -> String {
        let written = async || {
            let entry = self.entry_by_id::<T>(id);
            match entry.write.as_ref().map(|write| write.status) {
                Some(WriteStatus::Failed) => panic!("not written: {:?}", entry.write),
                Some(WriteStatus::Succeeded) => entry.foreign_id,
                _ => None,
            }
        };
        until("the write of a record", written).await
    }

    pub fn patient_by_foreign(&self, key: u64) -> records::Patient {
        let id = self.id_of(Resource::Patients, &key.to_string()).expect("the patient is known");
        let id = u32::try_from(id).expect("a small id");
        self.engine.patient(INSTITUTION, id).expect("the store can be read").expect("the patient is known")
    }

    pub fn providers(&self) -> Vec<records::Provider> {
        self.engine.providers(INSTITUTION, ALL).expect("the store can be read")
    }

    pub fn operatories(&self) -> Vec<records::Operatory> {
        self.engine.operatories(LOCATION, ALL).expect("the store can be read")
    }

    /// All appointments from the first day on, cancelled ones too.
    pub fn appointments(&self) -> Vec<records::Appointment> {
        let start = self.at(-1, 0);
        let span = Span { start, end: start.plus(DAY * 420) };
        self.engine.appointments(LOCATION, span, None, false, 1_000).expect("the store can be read")
    }

    pub fn appointment(&self, id: u64) -> records::Appointment {
        self.engine.appointment(AppointmentId(id)).expect("the store can be read").expect("it is known")
    }

    /// What we made of an appointment of the EHR, if anything.
    pub fn seen(&self, foreign: &str) -> Option<records::Appointment> {
        self.appointments().into_iter().find(|seen| seen.foreign_id.as_deref() == Some(foreign))
    }

    pub fn operatory(&self, room: usize) -> OperatoryId {
        let key = self.seeded.operatories[room].to_string();
        OperatoryId(self.id_of(Resource::Operatories, &key).expect("the operatory is known"))
    }

    pub fn provider(&self, n: usize) -> ProviderId {
        let key = self.seeded.providers[n].to_string();
        let id = self.id_of(Resource::Providers, &key).expect("the provider is known");
        ProviderId(u32::try_from(id).expect("a small id"))
    }

    pub fn check_up(&self) -> AppointmentTypeId {
        let id = self.id_of(Resource::AppointmentTypes, &self.seeded.check_up.to_string()).expect("the type is known");
        AppointmentTypeId(u32::try_from(id).expect("a small id"))
    }

    /// The moment a local time of day names on the n-th day.
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

    /// The local times of day, `09:30`, at which half an hour is free in a room on the n-th day.
    pub async fn free_times(&self, room: usize, day: i32) -> Vec<String> {
        let start = self.at(day, 0);
        let clock = |slot: Slot| {
            let minute = slot.span.start.since(start) / MINUTE;
            format!("{:02}:{:02}", minute / 60, minute % 60)
        };
        self.free(room, self.first_day.add_days(day)).await.into_iter().map(clock).collect()
    }

    pub async fn free(&self, room: usize, from: Date) -> Vec<Slot> {
        let query = SlotQuery {
            from,
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

    /// The row of a record of ours.
    pub fn in_ehr(&self, record: &records::Appointment) -> Row {
        let key = record.foreign_id.as_deref().and_then(|id| id.parse().ok()).expect("it was written");
        self.row("appointments", key)
    }
}

async fn start(dir: &Path, setup: Setup) -> Engine {
    let mut config = SledConfig::new(dir.join("store"), StoreKey::new([7; 32]));
    config.floor_bytes = 0;
    // The engine before may still be letting go of its last calls.
    let store = until("the store is free", async || SledStore::open(config.clone()).ok()).await;
    let mut parts = Parts::new(Arc::new(store) as Arc<dyn Store>, Wire::shapes());
    parts.adapters = adapters::load(&["opendental"]).await;
    Engine::start(setup, parts).await.expect("the engine starts")
}

fn setup(door: &Door, place: LocationSetup) -> Setup {
    let mut setup = Setup::default();
    setup.institutions.insert(INSTITUTION, Arc::new(practice::institution(INSTITUTION, "molar-dental")));
    let source = DataSource {
        headers: vec![("Authorization".to_owned(), format!("ODFHIR {KEYS}"))],
        guest_requests_per_call: 60,
        ..practice::source(SOURCE, INSTITUTION, "opendental", &format!("http://{}{BASE}", door.address()))
    };
    setup.sources.insert(SOURCE, Arc::new(source));
    setup.locations.insert(LOCATION, Arc::new(place));
    setup
}

fn place(zone: Tz) -> LocationSetup {
    LocationSetup {
        // An office without clinics.
        foreign_id: Some("office".to_owned()),
        write: WriteRules {
            call_deadline: 10 * SECOND,
            backoff_base: 50,
            backoff_cap: 400,
            settle: 100,
            breaker_pause: 200,
            breaker_pause_cap: 400,
            ..WriteRules::default()
        },
        // Read once, and then when a test asks for it.
        pull: PullRules { every: HOUR, retry_base: 100, retry_cap: 400, ..PullRules::default() },
        adapter_config: BTreeMap::new(),
        ..practice::location(LOCATION, "molar", zone, true)
    }
}

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

/// Every pass shows everything: what is gone, or changed without a stamp, is seen at once.
pub fn whole_passes(place: &mut LocationSetup) {
    for setting in ["whole_pass_minutes", "by_patient_minutes"] {
        place.adapter_config.insert(setting.to_owned(), "0".to_owned());
    }
}
