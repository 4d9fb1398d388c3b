//! An EHR that keeps its contract but is otherwise unreliable: it is slow, loses answers, refuses, repeats itself,
//! and staff change its records. Modules: `fate` for the outcome of calls, `staff` for changes by staff, `pages` for
//! reads.
//!
//! Exactly-once writes rest on two guarantees. The EHR finds a write by its key, and an unanswered write takes effect
//! before the settling time ends, or never.

pub mod fate;
mod pages;
pub mod staff;

use std::collections::{BTreeMap, BTreeSet};

use location::{
    ids::{AppointmentId, LocationId},
    intent::WriteIntent,
};
use records::ehr::{EhrAppointment, EhrRecord, Fault, Receipt, Resource, Write};

use tests::harness::random::SeededRandom;

/// Current reachability of an EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachability {
    Fine,
    GateClosed,
    Unauthorized,
    Down,
}

pub struct SimRow {
    /// `None` for records shared by the locations of the source.
    pub location: Option<LocationId>,
    pub record: EhrRecord,
    /// Number of the last change.
    pub changed: u64,
    /// Former locations with the change that moved the record away. There it is deleted.
    pub left: BTreeMap<LocationId, u64>,
    pub deleted: bool,
    /// Our write that created the record.
    pub made_for: Option<(LocationId, WriteIntent)>,
    /// The key of that write.
    pub key: Option<String>,
    /// The keys of our writes that confirmed the appointment.
    pub confirmed_by: Vec<String>,
    /// Moved, cancelled or deleted by staff.
    pub by_staff: bool,
}

impl SimRow {
    pub fn appointment(&self) -> Option<&EhrAppointment> {
        match &self.record {
            EhrRecord::Appointment(appointment) => Some(appointment),
            _ => None,
        }
    }

    /// Returns the booking for which we created the appointment, at first or with a move.
    pub fn booking(&self) -> Option<(LocationId, AppointmentId)> {
        match self.made_for? {
            (location, WriteIntent::CreateAppointment(id) | WriteIntent::Replace(id)) => Some((location, id)),
            _ => None,
        }
    }

    /// Returns the appointment if it occupies its slot.
    pub fn occupying(&self) -> Option<&EhrAppointment> {
        self.appointment().filter(|appointment| !self.deleted && !appointment.cancelled)
    }
}

pub struct SimEhr {
    pub source: u32,
    /// Refuses overlapping appointments in an operatory.
    pub strict: bool,
    /// Resources read in full passes, in which missing records are deleted. The others are read by change.
    pub whole: BTreeSet<Resource>,
    /// Full passes are paged by offset.
    pub pages_by_offset: bool,
    pub weather: Reachability,
    /// Pulls contain our write keys.
    pub shows_keys: bool,
    /// Appointments can be moved. If not, a move is an insert and a cancellation.
    pub moves: bool,
    /// Takes confirmations.
    pub confirms: bool,
    /// Appointments have version tags.
    pub tags_versions: bool,
    /// From now on quick, reachable and truthful.
    pub honest: bool,
    /// Violates the contract by never finding a write. Used to test that the simulation detects it.
    pub forgets_keys: bool,
    /// Violates the contract by not storing confirmations. Used to test that the simulation detects it.
    pub loses_confirmations: bool,
    pub rows: BTreeMap<(Resource, String), SimRow>,
    written: BTreeMap<String, Receipt>,
    changes: u64,
}

impl SimEhr {
    pub fn new(source: u32, random: &mut SeededRandom) -> SimEhr {
        let resources = [
            Resource::Providers,
            Resource::Operatories,
            Resource::AppointmentTypes,
            Resource::Patients,
            Resource::WorkingHours,
            Resource::Appointments,
        ];
        SimEhr {
            source,
            strict: random.chance(500),
            whole: resources.into_iter().filter(|_| random.chance(500)).collect(),
            pages_by_offset: random.chance(500),
            weather: Reachability::Fine,
            shows_keys: random.chance(700),
            moves: true,
            confirms: false,
            tags_versions: random.chance(500),
            honest: false,
            forgets_keys: false,
            loses_confirmations: false,
            rows: BTreeMap::new(),
            written: BTreeMap::new(),
            changes: 0,
        }
    }

    /// Adds a record under the next id.
    pub fn add(&mut self, location: Option<LocationId>, mut record: EhrRecord) -> String {
        self.changes += 1;
        let id = format!("{:06}", self.rows.len() + 1);
        let resource = record.resource();
        record.set_id(id.clone());
        let row = SimRow {
            location,
            record,
            changed: self.changes,
            left: BTreeMap::new(),
            deleted: false,
            made_for: None,
            key: None,
            confirmed_by: Vec::new(),
            by_staff: false,
        };
        self.rows.insert((resource, id.clone()), row);
        id
    }

    /// Changes a record, which the next pull by change returns.
    pub fn change(&mut self, resource: Resource, id: &str, change: impl FnOnce(&mut SimRow)) {
        self.changes += 1;
        let (changes, tags_versions) = (self.changes, self.tags_versions);
        if let Some(row) = self.rows.get_mut(&(resource, id.to_owned())) {
            change(row);
            row.changed = changes;
            if let EhrRecord::Appointment(appointment) = &mut row.record {
                appointment.version = tags_versions.then(|| changes.to_string());
            }
        }
    }

    fn change_appointment(&mut self, id: &str, change: impl FnOnce(&mut EhrAppointment)) {
        self.change(Resource::Appointments, id, |row| {
            if let EhrRecord::Appointment(appointment) = &mut row.record {
                change(appointment);
            }
        });
    }

    pub fn rows_for(&self, resource: Resource) -> impl Iterator<Item = (&str, &SimRow)> {
        let of = (resource, String::new())..;
        self.rows.range(of).take_while(move |((kind, _), _)| *kind == resource).map(|((_, id), row)| (id.as_str(), row))
    }

    pub fn appointment(&self, id: &str) -> Option<&SimRow> {
        self.rows.get(&(Resource::Appointments, id.to_owned()))
    }

    /// Applies or refuses a write.
    pub fn write(&mut self, from: LocationId, work: WriteIntent, key: &str, write: &Write) -> Result<Receipt, Fault> {
        let id = match write {
            Write::CreatePatient(patient) => {
                let id = self.add(None, EhrRecord::Patient(patient.clone()));
                self.change(Resource::Patients, &id, |row| row.made_for = Some((from, work)));
                id
            }
            Write::CreateAppointment(appointment) => {
                let patient = appointment.patient.clone().unwrap_or_default();
                assert!(
                    self.rows.contains_key(&(Resource::Patients, patient)),
                    "order per patient: {work:?} of location {from} was written before its patient"
                );
                self.refuse_overlap(None, appointment)?;
                let write_key = self.shows_keys.then(|| key.to_owned());
                let fresh = EhrAppointment { write_key, ..appointment.clone() };
                let id = self.add(Some(from), EhrRecord::Appointment(fresh));
                self.change(Resource::Appointments, &id, |row| {
                    (row.made_for, row.key) = (Some((from, work)), Some(key.to_owned()));
                });
                id
            }
            Write::RescheduleAppointment(appointment, _) if self.moves => {
                self.known(from, appointment, work)?;
                self.refuse_cancelled(appointment)?;
                self.refuse_overlap(Some(&appointment.id), appointment)?;
                self.change_appointment(&appointment.id, |known| move_to(known, appointment));
                appointment.id.clone()
            }
            Write::ConfirmAppointment(appointment) if self.confirms => {
                self.known(from, appointment, work)?;
                self.refuse_cancelled(appointment)?;
                let confirmed = !self.loses_confirmations;
                self.change_appointment(&appointment.id, |known| known.confirmed |= confirmed);
                self.change(Resource::Appointments, &appointment.id, |row| row.confirmed_by.push(key.to_owned()));
                appointment.id.clone()
            }
            Write::CancelAppointment(appointment, _) => {
                self.known(from, appointment, work)?;
                self.change_appointment(&appointment.id, |known| known.cancelled = true);
                appointment.id.clone()
            }
            _ => return Err(Fault::Unsupported(format!("{work:?}"))),
        };
        let receipt = Receipt { id, version: self.tags_versions.then(|| self.changes.to_string()) };
        self.written.insert(key.to_owned(), receipt.clone());
        Ok(receipt)
    }

    pub fn find(&self, key: &str) -> Option<Receipt> {
        self.written.get(key).filter(|_| !self.forgets_keys).cloned()
    }

    /// Refuses a change unless the appointment is at this location. Staff may have moved it.
    fn known(&self, from: LocationId, appointment: &EhrAppointment, work: WriteIntent) -> Result<(), Fault> {
        assert!(!appointment.id.is_empty(), "order per patient: {work:?} was sent before its appointment was written");
        match self.appointment(&appointment.id) {
            Some(row) if !row.deleted && row.location == Some(from) => Ok(()),
            _ => Err(Fault::Rejected("no such appointment".to_owned())),
        }
    }

    fn refuse_cancelled(&self, appointment: &EhrAppointment) -> Result<(), Fault> {
        match self.appointment(&appointment.id).and_then(SimRow::occupying) {
            Some(_) => Ok(()),
            None => Err(Fault::Rejected("the appointment is cancelled".to_owned())),
        }
    }

    fn refuse_overlap(&self, except: Option<&str>, wanted: &EhrAppointment) -> Result<(), Fault> {
        let taken = self.strict
            && self.rows_for(Resource::Appointments).any(|(id, row)| {
                Some(id) != except && row.occupying().is_some_and(|occupying| same_place(occupying, wanted))
            });
        if taken { Err(Fault::Rejected("the time is taken".to_owned())) } else { Ok(()) }
    }
}

/// Returns whether two appointments conflict.
pub fn same_place(a: &EhrAppointment, b: &EhrAppointment) -> bool {
    let room = match (&a.operatory, &b.operatory) {
        (Some(one), Some(other)) => one == other,
        (None, None) => a.provider == b.provider && a.provider.is_some(),
        _ => false,
    };
    room && a.start < b.end && b.start < a.end
}

fn move_to(appointment: &mut EhrAppointment, place: &EhrAppointment) {
    appointment.start = place.start;
    appointment.end = place.end;
    appointment.operatory.clone_from(&place.operatory);
    appointment.provider.clone_from(&place.provider);
}
