//! What the engine says to a health record system and hears from it, in the engine's own words. `adapter_host` is the one real
//! implementation; tests and the simulation have their own. References are foreign ids: the actor turns them into ours.

use std::{future::Future, pin::Pin, time::Duration};

pub use location::{pull::Resource, resource::Operation};
use serde::{Deserialize, Serialize};

pub use crate::schema::*;
pub use crate::values::{Address, Extra};

pub type ForeignId = String;
pub type EhrFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// One location's connection to its EHR. Each call is bounded by `deadline`; running out of it is a fault like any other.
pub trait Ehr: Send + Sync + 'static {
    fn describe(&self, deadline: Duration) -> EhrFuture<'_, Description>;
    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, deadline: Duration) -> EhrFuture<'_, Page>;
    fn push(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Receipt>;
    /// `Ok(None)`: certainly not written.
    fn find(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Option<Receipt>>;
    /// Requests that pulls, pushes and look-ups sent beyond one each since it was last asked: the EHR's quota is of requests.
    fn take_requests_beyond(&self) -> u32 {
        0
    }
}

/// Why a call did not succeed, by what happens next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Fault {
    #[error("rejected by the EHR: {0}")]
    Rejected(String),
    #[error("not written, to be tried again: {reason}")]
    RetryLater { reason: String, after: Option<Duration> },
    #[error("outcome unknown: {0}")]
    Unknown(String),
    #[error("the EHR did not accept the credentials: {0}")]
    Unauthorized(String),
    #[error("not supported by the EHR: {0}")]
    Unsupported(String),
    #[error("the workstation gate is closed")]
    GateClosed,
    /// Not sent: something must happen first, such as the staff's approval. Says nothing about the EHR.
    #[error("not sent yet: {0}")]
    NotReady(String),
    /// The call was not even begun: there was no place for it, or its adapter is not loaded yet. Says nothing about the EHR.
    #[error("not begun: {0}")]
    NotBegun(String),
}

/// What an EHR can do, and its limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    pub name: String,
    pub version: String,
    pub hosting: String,
    pub pulls: Vec<PullAbility>,
    /// Names of the WIT enum `write-kind`.
    pub writes: Vec<String>,
    pub required_patient_fields: Vec<String>,
    /// Fields of a patient it has no place for; `extra`: all beyond the record's own.
    #[serde(default)]
    pub unkept_patient_fields: Vec<String>,
    pub max_lengths: Vec<(String, u32)>,
    pub new_patients: bool,
    pub operatories: bool,
    pub requests_per_minute: Option<u32>,
    pub gated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullAbility {
    pub resource: Resource,
    pub delta: bool,
    /// A whole pass shows every record: what it does not show is gone.
    pub deletions_by_absence: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    pub records: Vec<EhrRecord>,
    pub deleted: Vec<ForeignId>,
    pub cursor: String,
    pub last: bool,
    pub whole: bool,
    pub estimate: Option<u64>,
}

/// Proof of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub id: ForeignId,
    pub version: Option<String>,
}

/// What can be written.
#[allow(clippy::large_enum_variant, reason = "patients are the common case; a box each would cost more than it saves")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Write {
    CreatePatient(EhrPatient),
    CreateAppointment(EhrAppointment),
    RescheduleAppointment(EhrAppointment),
    CancelAppointment(EhrAppointment, Option<String>),
    /// As they should be, and as the EHR last showed them: the rest is staff's.
    UpdatePatient(EhrPatient, Option<Box<EhrPatient>>),
    ConfirmAppointment(EhrAppointment),
    CheckInAppointment(EhrAppointment),
    NoteAppointment(EhrAppointment),
    CreateWorkingHour(EhrWorkingHour),
    UpdateWorkingHour(EhrWorkingHour),
    DeleteWorkingHour(ForeignId),
    /// A record that no rule of the schedule needs.
    Record(Operation, EhrRecord),
}

impl Write {
    /// Such as `appointment-insert`.
    pub fn kind(&self) -> String {
        let (resource, what) = match self {
            Write::CreatePatient(_) => (Resource::Patients, "insert"),
            Write::UpdatePatient(..) => (Resource::Patients, "update"),
            Write::CreateAppointment(_) => (Resource::Appointments, "insert"),
            Write::RescheduleAppointment(_) => (Resource::Appointments, "move"),
            Write::CancelAppointment(..) => (Resource::Appointments, "cancel"),
            Write::ConfirmAppointment(_) => (Resource::Appointments, "confirm"),
            Write::CheckInAppointment(_) => (Resource::Appointments, "check-in"),
            Write::NoteAppointment(_) => (Resource::Appointments, "note"),
            Write::CreateWorkingHour(_) => (Resource::WorkingHours, "insert"),
            Write::UpdateWorkingHour(_) => (Resource::WorkingHours, "update"),
            Write::DeleteWorkingHour(_) => (Resource::WorkingHours, "delete"),
            Write::Record(operation, record) => (record.resource(), operation_word(*operation)),
        };
        write_kind(resource, what)
    }

    /// When the appointment it is about starts, in seconds since 1970.
    pub fn starts_at(&self) -> Option<i64> {
        match self {
            Write::CreateAppointment(it)
            | Write::RescheduleAppointment(it)
            | Write::CancelAppointment(it, _)
            | Write::ConfirmAppointment(it)
            | Write::CheckInAppointment(it)
            | Write::NoteAppointment(it) => Some(it.start),
            _ => None,
        }
    }
}

pub fn operation_word(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "insert",
        Operation::Update => "update",
        Operation::Delete => "delete",
    }
}

/// What people are shown of a write: `appointment-insert`, `patient-alert-update`.
pub fn write_kind(resource: Resource, what: &str) -> String {
    format!("{}-{what}", singular(resource).replace(' ', "-"))
}

/// One of the resource's records, in words: `patient alert`.
pub fn singular(resource: Resource) -> String {
    let plural = serde_json::to_value(resource).ok().and_then(|name| name.as_str().map(str::to_owned));
    let plural = plural.unwrap_or_default().replace('_', " ");
    match plural.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => plural.trim_end_matches('s').to_owned(),
    }
}
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EhrRecurrence {
    pub number: u32,
    pub unit: location::hours::RecurrenceUnit,
    pub reference: String,
}
