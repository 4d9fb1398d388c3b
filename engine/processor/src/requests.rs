//! What requests of several kinds are made of, and why they may not be met.

use location::{pull::Resource, slots::Slot, time::Timestamp, zone::Date};

#[derive(Clone, Default, serde::Serialize)]
pub struct PatientDetails {
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    pub date_of_birth: Option<Date>,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub gender: Option<String>,
    pub address: Option<records::values::Address>,
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

impl<T> Saved<T> {
    pub fn of(record: T) -> Saved<T> {
        Saved { record, replay: false, existing: false, warnings: Vec::new() }
    }
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
