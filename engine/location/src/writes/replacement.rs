//! The steps of a move in an EHR that cannot move appointments. `replacing` decides and applies them.

use serde::{Deserialize, Serialize};

use crate::{AppointmentId, AppointmentTypeId, PatientId, Placement, WriteId, writes::intent::Written};

/// An appointment of the EHR that a replacement left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// Its number: the id of the first write that cancels it.
    pub write: WriteId,
    pub placement: Placement,
}

/// Marks the number of a replaced appointment in a whole pass. Ids of records are below it.
const REPLACED: u64 = 1 << 62;

impl Replaced {
    /// Returns the id under which whole passes count the replaced appointment with this number. Its visit counts under
    /// its own id.
    pub fn pass_id(number: WriteId) -> u64 {
        REPLACED | number.0
    }

    /// Returns the number of the replaced appointment that a whole pass counts under this id, if it is one.
    pub(crate) fn from_pass_id(id: u64) -> Option<WriteId> {
        (id & REPLACED != 0).then_some(WriteId(id & !REPLACED))
    }
}

/// A visit that the state no longer contains, as its document shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenVisit {
    pub patient: PatientId,
    pub appointment_type: Option<AppointmentTypeId>,
    /// Its last known placement.
    pub placement: Placement,
    /// `true` if the visit is cancelled, or belongs to another location.
    pub gone: bool,
}

/// A step of a replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// The new appointment is in the EHR and is the one of the visit from now on.
    Done {
        appointment: AppointmentId,
        /// The number of the old one.
        replaced: WriteId,
        /// Placement of the old one; `None` if the EHR had none.
        from: Option<Placement>,
        to: Placement,
        written: Written,
    },
    /// The EHR has an appointment whose replacement failed, or whose visit is cancelled. It is cancelled.
    Late {
        appointment: AppointmentId,
        /// The number of the superfluous one.
        replaced: WriteId,
        at: Placement,
        /// The visit, if the state does not contain it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        visit: Option<ForgottenVisit>,
        /// Its identifier and version in the EHR.
        written: Written,
    },
    /// The EHR shows a replaced appointment at another place.
    Shown { appointment: AppointmentId, replaced: WriteId, at: Placement },
    /// The EHR has cancelled or removed a replaced appointment.
    Gone { appointment: AppointmentId, replaced: WriteId },
}
