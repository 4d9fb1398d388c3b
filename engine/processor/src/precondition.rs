//! Unmet preconditions of a request: invalid references or values, found before the machine decides.

use location::Resource;

/// A precondition that a request does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreconditionError {
    NotFound {
        resource: Resource,
        id: u64,
    },
    /// No longer in use, or of a kind that cannot be used here.
    NotUsable {
        resource: Resource,
        id: u64,
    },
    /// The location has an EHR, where such records are created and changed.
    OfEhr,
    /// The provider to be removed has working hours.
    StillWorks {
        location: u32,
    },
    /// A patient not yet in the EHR belongs to the location that created them.
    PatientOfOtherLocation {
        id: u32,
    },
    /// A patient of another EHR of the institution. `synced` if that EHR has them.
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
    /// The client's number belongs to this record, which was created with other data.
    NumberTaken {
        resource: Resource,
        id: u64,
    },
    /// A message about an invalid value, beginning with the field.
    InvalidValue(String),
    /// Messages about answers that do not fit their form.
    InvalidAnswers(Vec<String>),
    /// Several errors, so that a client can correct all of them at once.
    Several(Vec<PreconditionError>),
}

impl PreconditionError {
    /// Returns `None` if all preconditions are met.
    pub fn from_all(mut all: Vec<PreconditionError>) -> Option<PreconditionError> {
        all.dedup();
        if all.len() > 1 { Some(PreconditionError::Several(all)) } else { all.pop() }
    }
}
