//! Which writes go to the EHR one after the other.

use serde::{Deserialize, Serialize};

use crate::{ids::PatientId, resource::Resource};

/// Writes of one ordering key go to the EHR one after the other, in the order in which they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderingKey {
    /// Writes of one patient.
    Patient(PatientId),
    /// What belongs to no patient, an insurance plan for one.
    Record {
        /// The resource.
        resource: Resource,
        /// The id of the record.
        id: u64,
    },
}
