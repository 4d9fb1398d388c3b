//! What is pulled from the EHR.

use serde::{Deserialize, Serialize};

/// A resource of the EHR, in the order in which a cycle pulls them: what others refer to comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    Providers,
    Operatories,
    AppointmentTypes,
    Patients,
    WorkingHours,
    Appointments,
}
