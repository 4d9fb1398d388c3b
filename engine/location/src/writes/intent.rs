//! The intended change of a write, and the possible results of a call.

use serde::{Deserialize, Serialize};

use crate::{AppointmentId, Millis, Operation, PatientId, Resource, WorkingHourId, WriteId};

/// The intended change of a write. Its content is read from the documents when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteIntent {
    /// Creates a patient.
    CreatePatient(PatientId),
    /// Creates an appointment.
    CreateAppointment(AppointmentId),
    /// Moves an appointment.
    Reschedule(AppointmentId),
    /// Creates the appointment again at its new place, in an EHR that cannot move appointments.
    Replace(AppointmentId),
    /// Cancels an appointment of the EHR that a replacement left behind.
    CancelReplaced {
        appointment: AppointmentId,
        /// The number of the replaced one: the id of the first write that cancels it.
        replaced: WriteId,
    },
    /// Cancels an appointment.
    Cancel(AppointmentId),
    /// Sends the confirmation state of an appointment.
    Confirm(AppointmentId),
    /// Sends the arrival of a patient.
    CheckIn(AppointmentId),
    /// Writes the note of an appointment.
    Note(AppointmentId),
    /// Changes a record that the scheduling rules do not depend on. For patients, updates only.
    Record {
        resource: Resource,
        id: u64,
        #[serde(rename = "verb")]
        operation: Operation,
    },
}

impl WriteIntent {
    /// Returns `true` if the write creates a record, so that sending it twice would create a duplicate.
    pub fn creates(self) -> bool {
        matches!(
            self,
            WriteIntent::CreatePatient(_)
                | WriteIntent::CreateAppointment(_)
                | WriteIntent::Replace(_)
                | WriteIntent::Record { operation: Operation::Create, .. }
        )
    }

    /// Returns `true` if the write determines the placement of an appointment in the EHR.
    pub fn places(self) -> bool {
        matches!(self, WriteIntent::CreateAppointment(_) | WriteIntent::Reschedule(_) | WriteIntent::Replace(_))
    }

    /// Returns the record of the write, unless it is an appointment.
    pub fn record(self) -> Option<(Resource, u64)> {
        match self {
            WriteIntent::CreatePatient(patient) => Some((Resource::Patients, patient.0.into())),
            WriteIntent::Record { resource, id, .. } => Some((resource, id)),
            _ => None,
        }
    }

    /// Returns the working hours of the write, if any.
    pub(crate) fn hour(self) -> Option<WorkingHourId> {
        match self {
            WriteIntent::Record { resource: Resource::WorkingHours, id, .. } => {
                u32::try_from(id).ok().map(WorkingHourId)
            }
            _ => None,
        }
    }

    /// Returns the appointment of the write, if any.
    pub fn appointment(self) -> Option<AppointmentId> {
        match self {
            WriteIntent::CreatePatient(_) | WriteIntent::Record { .. } => None,
            WriteIntent::CreateAppointment(id)
            | WriteIntent::Reschedule(id)
            | WriteIntent::Replace(id)
            | WriteIntent::CancelReplaced { appointment: id, .. }
            | WriteIntent::Cancel(id)
            | WriteIntent::Confirm(id)
            | WriteIntent::CheckIn(id)
            | WriteIntent::Note(id) => Some(id),
        }
    }
}

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// Writes to the EHR.
    Push,
    /// Looks up whether an earlier call wrote.
    Find,
}

/// The changed details of an appointment, placement excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedDetails {
    pub confirmation: bool,
    pub check_in: bool,
    pub note: bool,
}

impl ChangedDetails {
    /// Returns the writes that send the changed details to the EHR.
    pub fn works(self, appointment: AppointmentId) -> impl Iterator<Item = WriteIntent> {
        let works = [
            self.confirmation.then_some(WriteIntent::Confirm(appointment)),
            self.check_in.then_some(WriteIntent::CheckIn(appointment)),
            self.note.then_some(WriteIntent::Note(appointment)),
        ];
        works.into_iter().flatten()
    }
}

/// The result of a call to the EHR.
pub type Outcome<T> = Result<T, Failure>;

/// The reason why a call failed, by the required reaction (`fault` in the contract).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The EHR refused it for good.
    Rejected(String),
    /// Nothing was written, and a later attempt may succeed.
    RetryLater {
        /// The reason, in words for operators and clients.
        reason: String,
        /// The pause requested by the EHR, in milliseconds.
        after: Option<Millis>,
    },
    /// The outcome is unknown: the EHR may have written it.
    Unknown(String),
    /// The EHR does not accept the credentials.
    Unauthorized(String),
    /// The EHR cannot do it.
    Unsupported(String),
    /// The workstation gate is closed.
    GateClosed,
    /// The EHR returned the identifier of another record of ours, so the outcome is unknown.
    OfAnother(String),
    /// The call was not sent: a precondition is not met, such as a referenced record in the EHR or the staff's
    /// approval. Does not count against the EHR.
    NotReady(String),
    /// The call was not started: all call slots were in use, or the adapter is not loaded yet. Retried soon, and does
    /// not count against the EHR.
    NotBegun(String),
    /// The result of a look-up of a write that cannot have been sent: a record that it refers to was never in the EHR.
    NeverSent(String),
}

/// Proof of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    pub foreign_id: String,
    /// The version in the EHR, if the EHR has versions.
    pub version: Option<String>,
}
