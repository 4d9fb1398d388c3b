//! What a write is to do in the EHR, and how a call to it may end.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{AppointmentId, PatientId, WorkingHourId},
    resource::{Operation, Resource},
    time::Millis,
};

/// What a write does. Its content is read from the documents when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteIntent {
    /// Creates a patient.
    CreatePatient(PatientId),
    /// Creates an appointment.
    CreateAppointment(AppointmentId),
    /// Moves an appointment.
    Reschedule(AppointmentId),
    /// Cancels an appointment.
    Cancel(AppointmentId),
    /// Tells whether an appointment is confirmed.
    Confirm(AppointmentId),
    /// Tells that a patient has arrived.
    CheckIn(AppointmentId),
    /// Writes the note of an appointment.
    Note(AppointmentId),
    /// A record no rule of the schedule needs; of patients only their updates.
    Record {
        /// The resource.
        resource: Resource,
        /// The id of the record.
        id: u64,
        /// What is done to the record.
        #[serde(rename = "verb")]
        operation: Operation,
    },
}

impl WriteIntent {
    /// Done twice, there are two of it.
    pub fn creates(self) -> bool {
        matches!(
            self,
            WriteIntent::CreatePatient(_)
                | WriteIntent::CreateAppointment(_)
                | WriteIntent::Record { operation: Operation::Create, .. }
        )
    }

    /// The record it is about, if that is no appointment.
    pub fn record(self) -> Option<(Resource, u64)> {
        match self {
            WriteIntent::CreatePatient(patient) => Some((Resource::Patients, patient.0.into())),
            WriteIntent::Record { resource, id, .. } => Some((resource, id)),
            _ => None,
        }
    }

    /// The working hours it is about, if it is about some.
    pub(crate) fn hour(self) -> Option<WorkingHourId> {
        match self {
            WriteIntent::Record { resource: Resource::WorkingHours, id, .. } => {
                u32::try_from(id).ok().map(WorkingHourId)
            }
            _ => None,
        }
    }

    /// The appointment it is about, if it is about one.
    pub fn appointment(self) -> Option<AppointmentId> {
        match self {
            WriteIntent::CreatePatient(_) | WriteIntent::Record { .. } => None,
            WriteIntent::CreateAppointment(id)
            | WriteIntent::Reschedule(id)
            | WriteIntent::Cancel(id)
            | WriteIntent::Confirm(id)
            | WriteIntent::CheckIn(id)
            | WriteIntent::Note(id) => Some(id),
        }
    }
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// It writes.
    Push,
    /// It looks up whether an earlier call wrote.
    Find,
}

/// What of an appointment was changed besides its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedDetails {
    /// The confirmation was changed.
    pub confirmation: bool,
    /// The check-in was changed.
    pub check_in: bool,
    /// The note was changed.
    pub note: bool,
}

impl ChangedDetails {
    /// The writes that tell the EHR.
    pub fn works(self, appointment: AppointmentId) -> impl Iterator<Item = WriteIntent> {
        let works = [
            self.confirmation.then_some(WriteIntent::Confirm(appointment)),
            self.check_in.then_some(WriteIntent::CheckIn(appointment)),
            self.note.then_some(WriteIntent::Note(appointment)),
        ];
        works.into_iter().flatten()
    }
}

/// How a call to the EHR ended.
pub type Outcome<T> = Result<T, Failure>;

/// Why a call did not succeed, by what happens next (the contract's `fault`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The EHR refused it for good.
    Rejected(String),
    /// Nothing was written, and a later attempt may succeed.
    RetryLater {
        /// The reason, in words for operators and clients.
        reason: String,
        /// The pause the EHR asked for, in milliseconds.
        after: Option<Millis>,
    },
    /// It may have been written.
    Unknown(String),
    /// The EHR does not accept the credentials.
    Unauthorized(String),
    /// The EHR cannot do it.
    Unsupported(String),
    /// The workstation gate is closed.
    GateClosed,
    /// It answered with the identifier of another record of ours: what became of this one is unknown.
    OfAnother(String),
    /// Not even sent: something the write needs is not there yet. Says nothing about the EHR.
    NotReady(String),
    /// The call was not even begun: others had all places, or the adapter is not loaded yet. Says nothing about the EHR, and it is tried
    /// again soon.
    NotBegun(String),
    /// A lookup of what cannot have been sent: what the write refers to never was in the EHR.
    NeverSent(String),
}

/// Proof of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The identifier in the EHR.
    pub foreign_id: String,
    /// The version in the EHR, where it has one.
    pub version: Option<String>,
}
