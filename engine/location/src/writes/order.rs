//! The order of writes to the EHR.

use serde::{Deserialize, Serialize};

use crate::{PatientId, Resource};

/// The key that serializes writes: writes with the same key are sent one at a time, in the order of their requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderingKey {
    /// A write of a patient.
    Patient(PatientId),
    /// A write of a record without patient, for example an insurance plan.
    Record { resource: Resource, id: u64 },
}
