//! The documents: what the store keeps of each record and the API reads. Ids are ours; `foreign_id` is the EHR's.

#![warn(unreachable_pub)]

pub mod currencies;
pub mod document;
pub mod documents;
pub mod ehr;
pub mod entry;
pub mod form_answers;
pub mod index;
pub mod money;
pub mod schema;
pub mod sync_state;
pub mod values;
pub mod words;

pub use crate::{schema::*, words::*};
pub use schema as entries;

use location::{
    command::Placement,
    hours::{HourKind, HourSource, Recurrence},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    pub id: u32,
    pub institution_id: u32,
    pub source_id: u32,
    pub foreign_id: Option<String>,
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    pub display_name: Option<String>,
    pub email: Option<String>,
    pub npi: Option<String>,
    pub tin: Option<String>,
    pub state_license: Option<String>,
    pub specialty_code: Option<String>,
    pub inactive: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_sync_time: Option<Timestamp>,
}

impl Provider {
    /// Name to show.
    pub fn name(&self) -> String {
        match &self.display_name {
            Some(name) => name.clone(),
            None => full_name(&self.first_name, self.middle_name.as_deref(), &self.last_name),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operatory {
    pub id: u64,
    pub location_id: u32,
    pub foreign_id: Option<String>,
    pub name: String,
    pub display_name: Option<String>,
    pub active: bool,
    pub bookable_online: bool,
    pub appointment_type_ids: Vec<u32>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_sync_time: Option<Timestamp>,
    pub deleted_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppointmentType {
    pub id: u32,
    pub institution_id: u32,
    /// None of a type made here.
    pub source_id: Option<u32>,
    /// The one location it is for; none: for the whole institution.
    pub location_id: Option<u32>,
    pub foreign_id: Option<String>,
    pub name: String,
    pub minutes: u32,
    pub bookable_online: bool,
    /// Descriptors of the EHR that appointments of this type carry.
    pub descriptor_ids: Vec<u32>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingHour {
    pub id: u32,
    pub location_id: u32,
    pub foreign_id: Option<String>,
    pub provider_id: u32,
    pub operatory_id: Option<u64>,
    /// Minutes after local midnight.
    pub begin: u16,
    pub end: u16,
    pub recurrence: Recurrence,
    pub kind: HourKind,
    pub source: HourSource,
    pub appointment_type_ids: Vec<u32>,
    pub label: Option<String>,
    pub active: bool,
    /// How its last write to the EHR goes; none of what came from there, and of what stays here.
    #[serde(default)]
    pub write: Option<entry::EntryWrite>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

impl WorkingHour {
    /// Offers slots. What the EHR would not have offers none, however it was set.
    pub fn in_force(&self) -> bool {
        self.active && !self.refused()
    }

    /// The EHR would not have it.
    pub fn refused(&self) -> bool {
        self.foreign_id.is_none() && self.write.as_ref().is_some_and(|write| write.status == entry::WriteStatus::Failed)
    }
}

#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patient {
    pub id: u32,
    pub institution_id: u32,
    pub source_id: Option<u32>,
    pub foreign_id: Option<String>,
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    pub date_of_birth: Option<String>,
    pub gender: Option<String>,
    pub email: Option<String>,
    pub cell_phone: Option<String>,
    pub home_phone: Option<String>,
    pub work_phone: Option<String>,
    pub work_phone_extension: Option<String>,
    pub primary_phone: Option<String>,
    pub address: Option<PatientAddress>,
    /// Until the EHR has it: written, never read back.
    pub ssn: Option<String>,
    pub guarantor_id: Option<u32>,
    pub provider_id: Option<u32>,
    pub billing_type: Option<String>,
    pub chart_id: Option<String>,
    pub preferred_language: Option<String>,
    pub premedication: Option<String>,
    pub inactive: bool,
    pub new_patient: bool,
    pub non_patient: bool,
    pub unsubscribed_sms: bool,
    pub unsubscribed_email: bool,
    /// What was given here beyond the fields above, and is told to the EHR: name and value.
    pub more: Vec<(String, String)>,
    /// Locations the patient was created or seen at.
    pub location_ids: Vec<u32>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_sync_time: Option<Timestamp>,
    /// Why the EHR would not take the patient.
    pub write_error: Option<String>,
    /// How the last write of the patient goes; none of one who only came from the EHR.
    #[serde(default)]
    pub write: Option<entry::EntryWrite>,
}

/// Patient data never reaches a log by accident.
impl std::fmt::Debug for Patient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Patient({}, redacted)", self.id)
    }
}

impl Patient {
    pub fn name(&self) -> String {
        full_name(&self.first_name, self.middle_name.as_deref(), &self.last_name)
    }
}

#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatientAddress {
    pub line_1: Option<String>,
    pub line_2: Option<String>,
    pub city: Option<String>,
    pub region: Option<String>,
    pub postal_code: Option<String>,
    pub country: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appointment {
    pub id: u64,
    pub institution_id: u32,
    pub location_id: u32,
    pub foreign_id: Option<String>,
    /// Version tag in the EHR.
    pub version: Option<String>,
    pub patient_id: Option<u32>,
    pub appointment_type_id: Option<u32>,
    pub placement: Placement,
    pub note: Option<String>,
    pub unavailable: bool,
    pub cancelled: bool,
    pub cancelled_at: Option<Timestamp>,
    pub cancel_reason: Option<String>,
    pub confirmed: bool,
    pub confirmed_at: Option<Timestamp>,
    pub patient_confirmed: bool,
    pub patient_confirmed_at: Option<Timestamp>,
    pub patient_missed: bool,
    pub checkin_at: Option<Timestamp>,
    pub checked_out_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_sync_time: Option<Timestamp>,
    /// Only for appointments made here.
    pub booking: Option<Booking>,
}

impl std::fmt::Debug for Appointment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Appointment({}, {:?}, redacted)", self.id, self.placement)
    }
}

/// What the booking intent adds to an appointment (specification 2.10).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    pub booking_ref: String,
    pub writeback: Writeback,
    /// Why the insert failed, without patient data.
    pub failure_reason: Option<String>,
    /// The name the client gave, for the booking object.
    pub patient_first_name: String,
    pub patient_last_name: String,
    /// Whether the patient was known before; none where that was not noted.
    #[serde(default)]
    pub patient_matched: Option<bool>,
    pub created_by: String,
    /// The patient books for somebody else.
    #[serde(default)]
    pub is_guardian: bool,
    #[serde(default)]
    pub is_new_clients_patient: bool,
    #[serde(default)]
    pub referrer: Option<String>,
    #[serde(default)]
    pub descriptor_ids: Vec<u32>,
}

/// `ehr_writeback` (specification 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writeback {
    Pending,
    Confirmed,
    Failed,
}

pub fn full_name(first: &str, middle: Option<&str>, last: &str) -> String {
    [Some(first), middle, Some(last)]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A finished write to the EHR; unfinished ones live in their location's machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    pub id: u64,
    pub location_id: u32,
    pub work: location::intent::WriteIntent,
    /// The write key all attempts carried.
    pub key: String,
    pub attempts: u32,
    pub done: bool,
    pub timed_out: bool,
    pub reason: Option<String>,
    pub queued_at: Timestamp,
    pub finished_at: Timestamp,
    #[serde(default)]
    pub lane: Option<location::order::OrderingKey>,
    /// The write an operator had it tried again as.
    #[serde(default)]
    pub retried_as: Option<u64>,
    /// An operator gave it up.
    #[serde(default)]
    pub dropped: bool,
}

/// When a document was made, last changed, and last said by the EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub created: Timestamp,
    pub updated: Timestamp,
    pub synced: Option<Timestamp>,
}

/// A document whose content can be compared apart from its times.
pub trait Timed: PartialEq {
    fn times(&self) -> Times;
    /// Sets the times and answers those before.
    fn swap_times(&mut self, times: Times) -> Times;
}

macro_rules! timed {
    ($($name:ident),*; without last_sync_time: $($bare:ident),*) => {
        $(impl Timed for $name {
            fn times(&self) -> Times {
                Times { created: self.created_at, updated: self.updated_at, synced: self.last_sync_time }
            }

            fn swap_times(&mut self, times: Times) -> Times {
                let before = self.times();
                (self.created_at, self.updated_at, self.last_sync_time) = (times.created, times.updated, times.synced);
                before
            }
        })*
        $(impl Timed for $bare {
            fn times(&self) -> Times {
                Times { created: self.created_at, updated: self.updated_at, synced: None }
            }

            fn swap_times(&mut self, times: Times) -> Times {
                let before = self.times();
                (self.created_at, self.updated_at) = (times.created, times.updated);
                before
            }
        })*
    };
}

timed!(Provider, Operatory, Patient, Appointment; without last_sync_time: AppointmentType, WorkingHour);
