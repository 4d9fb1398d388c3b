//! What the engine says to a health record system and hears from it, in the engine's own words. `adapter_host` is the one real
//! implementation; tests and the simulation have their own. References are foreign ids: the actor turns them into ours.

use std::{future::Future, pin::Pin, time::Duration};

pub use location::{
    pull::{Resource, Skipped},
    resource::Operation,
};
use serde::{Deserialize, Serialize};

pub use crate::schema::*;
pub use crate::values::{Address, Extra};

/// An identifier in the EHR, opaque to the engine.
pub type ForeignId = String;
/// A call under way; it ends by its deadline.
pub type EhrFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// One location's connection to its EHR. Each call is bounded by `deadline`; running out of it is a fault like any other.
pub trait Ehr: Send + Sync + 'static {
    /// What the EHR can do, and its limits. It may be asked for them.
    fn describe(&self, deadline: Duration) -> EhrFuture<'_, Description>;
    /// One page, at most `limit` records. No cursor: a first, whole pass.
    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, deadline: Duration) -> EhrFuture<'_, Page>;
    /// Writes once. `write_key` is the same over all attempts at one write.
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
    /// The same write will never be accepted.
    #[error("rejected by the EHR: {0}")]
    Rejected(String),
    /// Nothing was written.
    #[error("not written, to be tried again: {reason}")]
    RetryLater {
        /// In words for operators and clients.
        reason: String,
        /// The pause the EHR asked for.
        after: Option<Duration>,
    },
    /// It may have been written: it is looked up before any resend.
    #[error("outcome unknown: {0}")]
    Unknown(String),
    /// Nothing was written, and every other call would fare the same.
    #[error("the EHR did not accept the credentials: {0}")]
    Unauthorized(String),
    /// No attempt can succeed.
    #[error("not supported by the EHR: {0}")]
    Unsupported(String),
    /// Nothing was sent: no workstation does the work.
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
    /// To show, such as `Open Dental`.
    pub name: String,
    /// The adapter's, not the EHR's.
    pub version: String,
    /// `cloud` or `onprem`.
    pub hosting: String,
    /// In the order in which they are pulled.
    pub pulls: Vec<PullAbility>,
    /// Names of the WIT enum `write-kind`.
    pub writes: Vec<String>,
    /// Without these it creates no patient. Named as in the API.
    pub required_patient_fields: Vec<String>,
    /// Fields of a patient it has no place for; `extra`: all beyond the record's own.
    #[serde(default)]
    pub unkept_patient_fields: Vec<String>,
    /// Field (`insurance_plan.name`) and number of characters.
    pub max_lengths: Vec<(String, u32)>,
    /// It creates patients.
    pub new_patients: bool,
    /// Its appointments carry an operatory.
    pub operatories: bool,
    /// None where it names no limit.
    pub requests_per_minute: Option<u32>,
    /// Writes go through a workstation.
    pub gated: bool,
}

/// What can be pulled of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullAbility {
    /// The resource.
    pub resource: Resource,
    /// A cursor of an earlier pass yields only what changed since.
    pub delta: bool,
    /// A whole pass shows every record: what it does not show is gone.
    pub deletions_by_absence: bool,
}

/// One page of a pull.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Created or changed. One that comes twice counts once, as it comes last.
    pub records: Vec<EhrRecord>,
    /// There, and not to be read.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// Gone from the EHR, or from this location.
    pub deleted: Vec<ForeignId>,
    /// Where the next page starts; with `last`, the next pass.
    pub cursor: String,
    /// This pass is complete.
    pub last: bool,
    /// This pass shows every record there is, not only changes.
    pub whole: bool,
    /// Records in all, where the EHR tells.
    pub estimate: Option<u64>,
}

/// Proof of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Of the record that was written.
    pub id: ForeignId,
    /// Where the EHR has version tags.
    pub version: Option<String>,
}

/// What can be written.
#[allow(clippy::large_enum_variant, reason = "patients are the common case; a box each would cost more than it saves")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Write {
    /// A new patient.
    CreatePatient(EhrPatient),
    /// A new appointment.
    CreateAppointment(EhrAppointment),
    /// At its new time, operatory or provider.
    RescheduleAppointment(EhrAppointment),
    /// With the reason, where the client gave one.
    CancelAppointment(EhrAppointment, Option<String>),
    /// As they should be, and as the EHR last showed them: the rest is staff's.
    UpdatePatient(EhrPatient, Option<Box<EhrPatient>>),
    /// Confirmed by the practice.
    ConfirmAppointment(EhrAppointment),
    /// The patient has arrived.
    CheckInAppointment(EhrAppointment),
    /// With its new note.
    NoteAppointment(EhrAppointment),
    /// New working hours.
    CreateWorkingHour(EhrWorkingHour),
    /// As they should be, all of them.
    UpdateWorkingHour(EhrWorkingHour),
    /// By their identifier.
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

/// The word for it in `write_kind`; a creation is an `insert`.
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

/// Every `number` units, counted from `reference`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EhrRecurrence {
    /// At least 1.
    pub number: u32,
    /// The unit.
    pub unit: location::hours::RecurrenceUnit,
    /// A date on which the hours apply, `YYYY-MM-DD`.
    pub reference: String,
}
