//! The EHR of each location. Writes of new appointments never end, so a booking stays `pending` until the test opens
//! the books. `file_records` decides about writes of patients; every other write is accepted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use engine::records::ehr::{
    Description, Ehr, EhrAppointment, EhrAppointmentType, EhrFuture, EhrOperatory, EhrPatient, EhrProvider, EhrRecord,
    EhrWorkingHour, Fault, Operation, Page, PullAbility, Receipt, Resource, Write,
};
use engine::records::record::Scope;
use location::{
    hours::Weekday,
    time::{DAY, HOUR, MINUTE, SECOND as ONE_SECOND, Timestamp},
};
use parking_lot::Mutex;

use crate::{
    file_records::{self, WriteOutcome},
    practice_ledger,
    support::{MAIN, REAL, RIVAL, SECOND, midnight_utc, monday},
};

const ALL: [Resource; 6] = [
    Resource::Providers,
    Resource::Operatories,
    Resource::AppointmentTypes,
    Resource::Patients,
    Resource::WorkingHours,
    Resource::Appointments,
];

const WRITES: [&str; 7] = [
    "create-patient", "create-appointment", "reschedule-appointment", "cancel-appointment", "confirm-appointment",
    "check-in-appointment", "note-appointment",
];

/// Writes of working hours. The second location's EHR accepts them except for certain begin times.
const HOURS: [&str; 3] = ["create-working-hour", "update-working-hour", "delete-working-hour"];
pub const REFUSED_BEGIN: &str = "00:07";
pub const SLOW_BEGIN: &str = "00:08";

pub struct PracticeEhr {
    location: u32,
    order: usize,
    /// Position of the location that is pulled next.
    turn: Arc<AtomicUsize>,
    books: Arc<Books>,
}

impl PracticeEhr {
    pub fn new(location: u32, order: usize, turn: Arc<AtomicUsize>, books: Arc<Books>) -> PracticeEhr {
        PracticeEhr { location, order, turn, books }
    }
}

/// Writes to the EHRs of all locations, and the state set by a test.
#[derive(Default)]
pub struct Books {
    /// Accepts new patients and appointments.
    pub open: AtomicBool,
    /// Accepts writes that were refused before, and answers look-ups.
    pub kind: AtomicBool,
    written: Mutex<Vec<(u32, Receipt, Write)>>,
    /// Records deleted by the practice's staff.
    gone: Mutex<Vec<(Resource, String)>>,
    /// Patients that the EHR hides for a while.
    pub hidden: Mutex<Vec<String>>,
    /// Records created or changed by the staff of the first location.
    edited: Mutex<Vec<EhrRecord>>,
    /// Fails all reads.
    pub unreadable: AtomicBool,
    /// Refuses the credentials of all writes.
    pub locked: AtomicBool,
}

impl Books {
    /// Returns the writes of all locations, oldest first.
    pub fn all(&self) -> Vec<Write> {
        self.written.lock().iter().map(|(.., write)| write.clone()).collect()
    }

    /// Returns the writes of a location, oldest first.
    pub fn written(&self, location: u32) -> Vec<Write> {
        let written = self.written.lock();
        written.iter().filter(|(from, ..)| *from == location).map(|(.., write)| write.clone()).collect()
    }

    pub fn remove(&self, resource: Resource, id: &str) {
        self.gone.lock().push((resource, id.to_owned()));
    }

    pub fn edit(&self, record: EhrRecord) {
        self.edited.lock().push(record);
    }

    /// Changes some fields of a record of the first location, or creates another one like it.
    pub fn edit_entry(&self, resource: Resource, (like, id): (&str, &str), fields: serde_json::Value) {
        let known = self.edit_of(MAIN, resource, records(MAIN, resource)).into_iter().find(|it| it.id() == like);
        let mut changed = known.unwrap_or_else(|| panic!("{resource:?} {like} is not there")).fields();
        changed.extend(fields.as_object().unwrap().clone());
        self.edit(EhrRecord::from_fields(resource, id, changed.into()).unwrap());
    }

    fn edit_of(&self, location: u32, resource: Resource, mut records: Vec<EhrRecord>) -> Vec<EhrRecord> {
        let edited = self.edited.lock();
        for record in edited.iter().filter(|record| location == MAIN && record.resource() == resource) {
            records.retain(|known| known.id() != record.id());
            records.push(record.clone());
        }
        records
    }

    fn write(&self, location: u32, write: Write) -> Result<Receipt, Fault> {
        let mut written = self.written.lock();
        let id = match &write {
            Write::CreatePatient(_) | Write::CreateAppointment(_) => String::new(),
            Write::UpdatePatient(patient, _) => patient.id.clone(),
            Write::RescheduleAppointment(it, _)
            | Write::CancelAppointment(it, _)
            | Write::ConfirmAppointment(it)
            | Write::CheckInAppointment(it)
            | Write::NoteAppointment(it) => it.id.clone(),
            Write::Record(_, entry)
                if !self.kind.load(Ordering::SeqCst)
                    && entry
                        .fields()
                        .values()
                        .any(|value| value.as_str().is_some_and(|value| value.starts_with("REFUSE"))) =>
            {
                return Err(Fault::Rejected("the practice refuses it".into()));
            }
            Write::Record(_, entry) => entry.id().to_owned(),
            Write::CreateWorkingHour(hour) | Write::UpdateWorkingHour(hour) if hour.begin_time == REFUSED_BEGIN => {
                return Err(Fault::Rejected("no provider works then".into()));
            }
            Write::CreateWorkingHour(hour) | Write::UpdateWorkingHour(hour) => hour.id.clone(),
            Write::DeleteWorkingHour(id) => id.clone(),
        };
        let id = if id.is_empty() { format!("written {}", written.len()) } else { id };
        let receipt = Receipt { id, version: None };
        written.push((location, receipt.clone(), write));
        Ok(receipt)
    }

    /// Returns the entries that were written to the EHR, as the EHR shows them.
    fn created_records(&self, location: u32, resource: Resource) -> Vec<EhrRecord> {
        let written = self.written.lock();
        let entries = written.iter().filter_map(|(from, receipt, write)| match write {
            Write::Record(Operation::Create, entry) if *from == location && entry.resource() == resource => {
                let mut made = entry.clone();
                made.set_id(receipt.id.clone());
                Some(made)
            }
            _ => None,
        });
        entries.collect()
    }

    /// Returns the working hours that were written to the EHR, as the EHR shows them.
    fn hours(&self, location: u32) -> Vec<EhrWorkingHour> {
        let written = self.written.lock();
        let mut hours: Vec<EhrWorkingHour> = Vec::new();
        for (_, receipt, write) in written.iter().filter(|(from, ..)| *from == location) {
            let changed = match write {
                Write::CreateWorkingHour(hour) | Write::UpdateWorkingHour(hour) => Some(hour.clone()),
                Write::DeleteWorkingHour(_) => None,
                _ => continue,
            };
            hours.retain(|hour| hour.id != receipt.id);
            hours.extend(changed.map(|hour| EhrWorkingHour { id: receipt.id.clone(), ..hour }));
        }
        hours
    }

    fn gone(&self, resource: Resource) -> Vec<String> {
        let gone = self.gone.lock();
        gone.iter().filter(|(of, _)| *of == resource).map(|(_, id)| id.clone()).collect()
    }
}

impl Ehr for PracticeEhr {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        let by_absence = |resource| resource == Resource::Patients;
        let pull = |resource| PullAbility { resource, delta: false, deletions_by_absence: by_absence(resource) };
        let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        let description = Description {
            name: "Practice".into(),
            version: "1".into(),
            hosting: "cloud".into(),
            pulls: pulls(self.location).into_iter().map(pull).collect(),
            writes: [
                names(&WRITES),
                names(file_records::writes(self.location)),
                names(if self.location == SECOND { &HOURS } else { &[] }),
                if self.location == RIVAL { Vec::new() } else { names(&practice_ledger::WRITES) },
            ]
            .concat(),
            unkept_patient_fields: names(&["new_patient", "work_phone_extension", "extra"]),
            max_lengths: file_records::max_lengths(),
            required_patient_fields: names(&["first_name", "last_name", "date_of_birth", "phone_number"]),
            new_patients: true,
            operatories: true,
            ..Description::default()
        };
        Box::pin(async move { Ok(description) })
    }

    fn pull(&self, resource: Resource, _: Option<String>, _: u32, _: Duration) -> EhrFuture<'_, Page> {
        Box::pin(async move {
            while self.turn.load(Ordering::SeqCst) < self.order {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            if self.books.unreadable.load(Ordering::SeqCst) {
                return Err(Fault::RetryLater { reason: "it is down".into(), after: None });
            }
            let mut records = self.books.edit_of(self.location, resource, records(self.location, resource));
            records.extend(self.books.created_records(self.location, resource));
            if resource == Resource::WorkingHours {
                records.extend(self.books.hours(self.location).into_iter().map(EhrRecord::WorkingHour));
            }
            if resource == Resource::Patients {
                let hidden = self.books.hidden.lock();
                records.retain(|record| !hidden.iter().any(|id| record.id() == id));
            }
            let deleted = self.books.gone(resource);
            if engine::records::schema::rules(resource).scope == Scope::Source {
                records.retain(|record| !deleted.iter().any(|id| record.id() == id));
            }
            Ok(Page { records, deleted, cursor: "end".into(), last: true, whole: true, ..Page::default() })
        })
    }

    fn push(&self, _: String, write: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        if self.books.locked.load(Ordering::SeqCst) {
            return Box::pin(async { Err(Fault::Unauthorized("the key was changed".into())) });
        }
        if matches!(write, Write::CreateAppointment(_)) && !self.books.open.load(Ordering::SeqCst) {
            return Box::pin(std::future::pending());
        }
        if let Write::CreateWorkingHour(hour) = &write
            && hour.begin_time == SLOW_BEGIN
        {
            // Written at once; acknowledged when `kind` is set.
            let receipt = self.books.write(self.location, write);
            return Box::pin(async move {
                while !self.books.kind.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                receipt
            });
        }
        let refused = match file_records::fate(&write) {
            WriteOutcome::Taken => None,
            WriteOutcome::Refused(reason) => Some(Fault::Rejected(reason.to_owned())),
            WriteOutcome::Slow => return Box::pin(std::future::pending()),
        };
        let receipt = match refused {
            Some(fault) => Err(fault),
            None => self.books.write(self.location, write),
        };
        Box::pin(async move { receipt })
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        let kind = self.books.kind.load(Ordering::SeqCst);
        Box::pin(async move { if kind { Ok(None) } else { Err(Fault::Unknown("not now".into())) } })
    }
}

fn pulls(location: u32) -> Vec<Resource> {
    let mut all: Vec<Resource> = ALL.into_iter().chain(practice_ledger::PULLED).collect();
    all.extend(file_records::pulls(location));
    all.sort();
    all.dedup();
    all
}

pub fn records(location: u32, resource: Resource) -> Vec<EhrRecord> {
    let chairs: &[(&str, &str)] = match location {
        MAIN => &[("chair 1", "anna"), ("chair 2", "ben")],
        SECOND => &[("chair 3", "anna")],
        RIVAL => &[("chair 4", "rita")],
        _ => &[("chair 5", "rea")],
    };
    match resource {
        Resource::Providers => {
            providers(location).iter().map(|(id, last)| EhrRecord::Provider(provider(id, last))).collect()
        }
        Resource::Operatories => chairs.iter().map(|(id, _)| EhrRecord::Operatory(operatory(id))).collect(),
        Resource::AppointmentTypes => {
            types(location).iter().map(|(id, minutes)| EhrRecord::AppointmentType(kind(id, *minutes))).collect()
        }
        Resource::Patients if location == REAL => vec![EhrRecord::Patient(una())],
        Resource::Patients if location == MAIN => {
            std::iter::once(pat()).chain(file_records::patients()).map(EhrRecord::Patient).collect()
        }
        Resource::Patients => Vec::new(),
        Resource::WorkingHours => chairs.iter().map(|(chair, who)| EhrRecord::WorkingHour(hours(chair, who))).collect(),
        Resource::Appointments => appointments(location).into_iter().map(EhrRecord::Appointment).collect(),
        other => {
            let ledger = practice_ledger::records(location, other).into_iter();
            file_records::records(location, other).into_iter().chain(ledger).collect()
        }
    }
}

fn providers(location: u32) -> &'static [(&'static str, &'static str)] {
    match location {
        MAIN => &[("anna", "Abel"), ("ben", "Brand")],
        RIVAL => &[("rita", "Rival")],
        _ => &[("rea", "Real")],
    }
}

fn types(location: u32) -> &'static [(&'static str, u32)] {
    match location {
        MAIN => &[("cleaning", 60), ("checkup", 30)],
        RIVAL => &[("rivals", 30)],
        _ => &[],
    }
}

fn capital(name: &str) -> String {
    format!("{}{}", name[..1].to_uppercase(), &name[1..])
}

fn provider(id: &str, last_name: &str) -> EhrProvider {
    EhrProvider { id: id.into(), first_name: capital(id), last_name: last_name.into(), ..EhrProvider::default() }
}

fn operatory(id: &str) -> EhrOperatory {
    let types: &[&str] = if id == "chair 1" { &["cleaning", "checkup"] } else { &[] };
    EhrOperatory {
        id: id.into(),
        name: capital(id),
        active: true,
        bookable_online: true,
        appointment_types: types.iter().map(|id| (*id).to_owned()).collect(),
        ..EhrOperatory::default()
    }
}

fn kind(id: &str, minutes: u32) -> EhrAppointmentType {
    EhrAppointmentType {
        id: id.into(),
        name: capital(id),
        minutes,
        bookable_online: true,
        ..EhrAppointmentType::default()
    }
}

fn pat() -> EhrPatient {
    EhrPatient {
        id: "pat".into(),
        first_name: "Pat".into(),
        last_name: "Present".into(),
        date_of_birth: Some("1980-05-06".into()),
        ..EhrPatient::default()
    }
}

/// A patient shown on a first appointment only, until the practice converts her.
fn una() -> EhrPatient {
    EhrPatient {
        id: "una_np".into(),
        first_name: "Una".into(),
        last_name: "Unconverted".into(),
        new_patient: true,
        ..EhrPatient::default()
    }
}

fn hours(chair: &str, who: &str) -> EhrWorkingHour {
    EhrWorkingHour {
        id: format!("hours in {chair}"),
        provider: who.into(),
        operatory: Some(chair.into()),
        days: vec![Weekday::Monday, Weekday::Tuesday, Weekday::Wednesday, Weekday::Thursday, Weekday::Friday],
        label: (chair == "chair 1").then(|| "Hygiene".into()),
        ..testing::working_hour("09:00", "17:00")
    }
}

/// Returns the appointments three weeks after the Monday of the tests: hourly at the first location, one at the second
/// and one at the rival's.
fn appointments(location: u32) -> Vec<EhrAppointment> {
    let first = midnight_utc(monday(engine::clock::now())).plus(21 * DAY);
    match location {
        MAIN => (1..=12).map(|n| appointment(n, first.plus(n * HOUR), "chair 1", "anna")).collect(),
        SECOND => vec![appointment(50, first.plus(5 * HOUR), "chair 3", "anna")],
        RIVAL => vec![appointment(90, first, "chair 4", "rita")],
        _ => Vec::new(),
    }
}

fn appointment(n: i64, start: Timestamp, chair: &str, who: &str) -> EhrAppointment {
    EhrAppointment {
        id: format!("appointment {n}"),
        patient: (n == 1).then(|| "pat".into()),
        provider: Some(who.into()),
        operatory: Some(chair.into()),
        appointment_type: (n % 2 == 1 && n < 50).then(|| "cleaning".into()),
        start: start.0 / ONE_SECOND,
        end: start.plus(30 * MINUTE).0 / ONE_SECOND,
        unavailable: n == 12,
        cancelled: n == 11,
        ..EhrAppointment::default()
    }
}
