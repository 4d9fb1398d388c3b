//! What clients may ask of a location, and what comes of it.

use location::{
    command::Placement,
    ids::{AppointmentId, AppointmentTypeId, InstitutionId, LocationId, OperatoryId, ProviderId},
    pull::Resource,
    slots::Slot,
    time::{Span, Timestamp},
    zone::Date,
};
use query::idempotency::IdempotencyKey;
use serde_json::Value;

/// A slot that may be booked, as sealed into a slot token. The HTTP layer seals and unseals; the engine decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub institution: InstitutionId,
    pub location: LocationId,
    pub provider: ProviderId,
    pub operatory: Option<OperatoryId>,
    pub span: Span,
    pub appointment_type: Option<AppointmentTypeId>,
    pub expires: Timestamp,
    /// Offered under a version that joins synced hours with schedulable blocks.
    pub join_blocks: bool,
    /// Identifies the token: what a hold on it is known by.
    pub hold: u64,
}

impl Offer {
    pub fn placement(&self) -> Placement {
        Placement { operatory: self.operatory, provider: Some(self.provider), span: self.span }
    }
}

/// A booking from a slot token (specification 4.8).
#[derive(Clone)]
pub struct BookRequest {
    pub offer: Offer,
    pub idempotency_key: String,
    pub patient: PatientDetails,
    pub note: Option<String>,
    /// Name of the API key, for the record.
    pub created_by: String,
}

#[derive(Clone, Default, serde::Serialize)]
pub struct PatientDetails {
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    pub date_of_birth: Option<Date>,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub gender: Option<String>,
    pub address: Option<records::PatientAddress>,
}

pub struct Booked {
    pub appointment: records::Appointment,
    pub replay: bool,
    /// What the client should know though it worked.
    pub warnings: Vec<String>,
}

/// Free slots of a location with what is needed to show them.
pub struct FreeSlots {
    pub slots: Vec<Slot>,
    /// First later date with a slot, within the horizon; looked for only when there are no slots.
    pub next_available_date: Option<Date>,
    /// False: no active working hours match at all.
    pub any_hours: bool,
    /// When the practice's system was read last, where that is long ago.
    pub old_read: Option<Timestamp>,
}

/// One thing to be saved at a location.
#[derive(Clone)]
pub struct SaveRequest {
    pub location: LocationId,
    pub what: Saving,
    /// From the client's `Idempotency-Key`.
    pub once: Option<IdempotencyKey>,
}

#[derive(Clone)]
pub enum Saving {
    Patient(Box<NewPatient>),
    PatientChange {
        id: u32,
        change: Box<PatientChange>,
    },
    Appointment(Box<NewAppointment>),
    AppointmentChange {
        id: AppointmentId,
        change: AppointmentChange,
    },
    Hour(NewHour),
    HourChange {
        id: u32,
        change: HourChange,
    },
    HourRemoval {
        id: u32,
    },
    AppointmentType(NewAppointmentType),
    AppointmentTypeChange {
        id: u32,
        change: AppointmentTypeChange,
    },
    AppointmentTypeRemoval {
        id: u32,
    },
    /// What of a medical history catalogue applies to a patient, or applies no more.
    HistoryItem(NewHistoryItem),
    /// A typed body as JSON.
    Entry(NewEntry),
    EntryChange {
        resource: Resource,
        id: u64,
        body: Value,
    },
    EntryRemoval {
        resource: Resource,
        id: u64,
    },
}

#[derive(Clone)]
pub struct NewPatient {
    pub provider_id: u32,
    pub details: PatientDetails,
    pub home_phone: Option<String>,
    pub cell_phone: Option<String>,
    pub work_phone: Option<String>,
    pub ssn: Option<String>,
    /// Beyond the fields of a patient: name and value.
    pub more: Vec<(String, String)>,
    /// A patient with the same date of birth, name and phone number is answered instead of refused.
    pub return_existing: bool,
}

/// Only what is given changes (specification 4.4).
#[derive(Clone, Default)]
pub struct PatientChange {
    pub first_name: Option<String>,
    pub middle_name: Option<String>,
    pub last_name: Option<String>,
    pub email: Option<String>,
    pub date_of_birth: Option<String>,
    pub gender: Option<String>,
    pub cell_phone: Option<String>,
    pub home_phone: Option<String>,
    pub work_phone: Option<String>,
    pub work_phone_extension: Option<String>,
    pub ssn: Option<String>,
    pub address: Option<records::PatientAddress>,
}

#[derive(Clone)]
pub struct NewAppointment {
    pub patient_id: u32,
    /// The one the appointment is for, when `patient_id` is their guardian.
    pub dependent: Option<PatientDetails>,
    pub provider_id: u32,
    pub operatory_id: Option<u64>,
    pub span: Span,
    pub appointment_type_id: Option<u32>,
    pub note: Option<String>,
    pub is_guardian: bool,
    pub is_new_clients_patient: bool,
    pub referrer: Option<String>,
    pub descriptor_ids: Vec<u32>,
    /// Synced hours and schedulable blocks count together.
    pub join_blocks: bool,
    /// Name of the API key, for the record.
    pub created_by: String,
}

/// Only what is given changes (specification 4.10, PATCH /appointments).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AppointmentChange {
    pub confirmed: Option<bool>,
    pub checkin_at: Option<Timestamp>,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    pub operatory_id: Option<u64>,
    pub note: Option<String>,
    pub join_blocks: bool,
}

/// Working hours as they should be.
#[derive(Clone)]
pub struct NewHour {
    pub provider_id: u32,
    pub operatory_id: Option<u64>,
    /// Minutes after local midnight.
    pub begin: u16,
    pub end: u16,
    pub recurrence: location::hours::Recurrence,
    pub appointment_type_ids: Vec<u32>,
    pub active: bool,
}

/// Only what is given changes.
#[derive(Clone, Default)]
pub struct HourChange {
    pub provider_id: Option<u32>,
    /// None in it: without an operatory.
    pub operatory_id: Option<Option<u64>>,
    pub begin: Option<u16>,
    pub end: Option<u16>,
    pub recurrence: Option<location::hours::Recurrence>,
    pub appointment_type_ids: Option<Vec<u32>>,
    pub active: Option<bool>,
}

#[derive(Clone)]
pub struct NewAppointmentType {
    pub name: String,
    pub minutes: u32,
    pub bookable_online: bool,
    pub descriptor_ids: Vec<u32>,
    /// For this location only, not for its institution.
    pub of_location: bool,
}

#[derive(Clone, Default)]
pub struct AppointmentTypeChange {
    /// For this location only, or for its institution.
    pub of_location: Option<bool>,
    pub name: Option<String>,
    pub minutes: Option<u32>,
    pub bookable_online: Option<bool>,
    pub descriptor_ids: Option<Vec<u32>>,
}

/// Changes the patient's entry for the catalogue's item, or makes one.
#[derive(Clone)]
pub struct NewHistoryItem {
    pub patient_id: u32,
    pub category: records::history::HistoryCategory,
    pub item_id: u64,
    /// None keeps the note there is.
    pub note: Option<String>,
    pub active: bool,
}

#[derive(Clone)]
pub struct NewEntry {
    pub resource: Resource,
    pub body: Value,
    /// Whose it is: their writes go to the EHR one after the other.
    pub patient: Option<u32>,
    /// The client's own number of it: there is one record of each number.
    pub number: Option<IdempotencyKey>,
}

/// A saved record.
#[derive(Clone, Debug)]
pub struct Saved<T> {
    pub record: T,
    /// The answer of an earlier request with the same idempotency key, or the record that has the number already.
    pub replay: bool,
    /// It was there before.
    pub existing: bool,
    /// What the client should know though the request worked.
    pub warnings: Vec<String>,
}

/// What a request rests on and is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmet {
    NotFound {
        resource: Resource,
        id: u64,
    },
    /// Not in use any more, or of a kind that cannot be used here.
    NotUsable {
        resource: Resource,
        id: u64,
    },
    /// A patient who is not in the EHR yet belongs to the location that made them.
    PatientOfOtherLocation {
        id: u32,
    },
    /// A patient of another EHR of the institution; `synced`: that EHR has them.
    PatientOfOtherEhr {
        id: u32,
        synced: bool,
    },
    /// The EHR does not have the patient yet.
    PatientNotSynced,
    /// The EHR shows a new patient on their first appointment only.
    PatientNotConverted,
    DuplicatePatient {
        id: u32,
    },
    /// The idempotency key was used for another request.
    KeyReused,
    /// The client's number of the record stands for this one, which was made with other data.
    NumberTaken {
        resource: Resource,
        id: u64,
    },
    /// What is wrong with a value, beginning with the field.
    Wrong(String),
    /// The answers do not fit their form: what is wrong with each.
    Unfit(Vec<String>),
    /// Several of these, so that a client need not mend one after the other.
    Several(Vec<Unmet>),
}

impl Unmet {
    /// None where all is met.
    pub fn of(mut all: Vec<Unmet>) -> Option<Unmet> {
        all.dedup();
        if all.len() > 1 { Some(Unmet::Several(all)) } else { all.pop() }
    }
}
