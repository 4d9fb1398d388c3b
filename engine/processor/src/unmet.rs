//! Why a request is not met: something that it names or gives is not as it must be. Found before the machine is asked.

use location::pull::Resource;

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
    /// The location has an EHR, where such records are made and changed.
    OfEhr,
    /// A provider who is to go has working hours.
    StillWorks {
        location: u32,
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
