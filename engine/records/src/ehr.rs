//! The interface between the engine and a health record system. `adapter_host` is the one production implementation;
//! tests and the simulation have their own. References are foreign ids, which the actor resolves to ours.

use std::{future::Future, pin::Pin, time::Duration};

pub use location::{Operation, Resource, pull::Skipped};
use serde::{Deserialize, Serialize};

pub use crate::{Address, references::ForeignId, schema::*, values::Extra};

/// A call in flight; it ends by its deadline.
pub type EhrFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// The connection of one location to its EHR. `deadline` limits each call; a call that exceeds it returns a fault.
pub trait Ehr: Send + Sync + 'static {
    /// Returns the capabilities and limits of the EHR, which may take a request.
    fn describe(&self, deadline: Duration) -> EhrFuture<'_, Description>;
    /// Returns one page of at most `limit` records. Without a cursor, a whole pass begins.
    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, deadline: Duration) -> EhrFuture<'_, Page>;
    /// Writes once. `write_key` is the same in all attempts of one write.
    fn push(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Receipt>;
    /// Looks up a write. Returns `Ok(None)` if it was certainly not written.
    fn find(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Option<Receipt>>;
    /// Returns the number of requests that calls sent beyond one each since the last invocation. The EHR's quota counts
    /// requests.
    fn take_requests_beyond(&self) -> u32 {
        0
    }
}

/// The reason why a call failed, by the required reaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Fault {
    /// The same write will never be accepted.
    #[error("rejected by the EHR: {0}")]
    Rejected(String),
    /// Nothing was written.
    #[error("not written, retry later: {reason}")]
    RetryLater {
        /// The reason, in words for operators and clients.
        reason: String,
        /// The pause requested by the EHR.
        after: Option<Duration>,
    },
    /// The outcome is unknown: the write must be looked up before it is sent again.
    #[error("outcome unknown: {0}")]
    Unknown(String),
    /// Nothing was written, and every other call would fail in the same way.
    #[error("the EHR did not accept the credentials: {0}")]
    Unauthorized(String),
    /// No attempt can succeed.
    #[error("not supported by the EHR: {0}")]
    Unsupported(String),
    /// Nothing was sent, because no workstation is available.
    #[error("the workstation gate is closed")]
    GateClosed,
    /// Nothing was sent: a precondition, such as the staff's approval, is not met. Does not count against the EHR.
    #[error("not sent yet: {0}")]
    NotReady(String),
    /// The call was not started: no call slot was free, or the adapter is not loaded yet. Does not count against the
    /// EHR.
    #[error("not started: {0}")]
    NotBegun(String),
}

/// The capabilities and limits of an EHR.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Display name, such as `Open Dental`.
    pub name: String,
    /// Version of the adapter.
    pub version: String,
    /// `cloud` or `onprem`.
    pub hosting: String,
    /// Readable resources, in pull order.
    pub pulls: Vec<PullAbility>,
    /// Supported writes, by the names of the WIT enum `write-kind`.
    pub writes: Vec<String>,
    /// Fields required to create a patient, by their names in the API.
    pub required_patient_fields: Vec<String>,
    /// Patient fields that the EHR cannot store; `extra` means all values in addition to the fields.
    #[serde(default)]
    pub unkept_patient_fields: Vec<String>,
    /// Maximum length in characters by field (`insurance_plan.name`).
    pub max_lengths: Vec<(String, u32)>,
    /// `true` if the EHR creates patients.
    pub new_patients: bool,
    /// `true` if appointments have an operatory.
    pub operatories: bool,
    /// The EHR's request limit, if it has one.
    pub requests_per_minute: Option<u32>,
    /// `true` if writes go through a workstation.
    pub gated: bool,
}

impl Description {
    /// Returns `true` if the EHR supports a write, by its name in the WIT enum `write-kind`.
    pub fn supports(&self, kind: &str) -> bool {
        self.writes.iter().any(|known| known == kind)
    }

    /// Returns `true` if appointments are moved by a new one and the cancellation of the old one, because the EHR
    /// cannot move them.
    pub fn moves_by_replacement(&self) -> bool {
        !self.supports("reschedule-appointment")
            && self.supports("create-appointment")
            && self.supports("cancel-appointment")
    }
}

/// The pull capabilities for one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullAbility {
    pub resource: Resource,
    /// `true` if a cursor of an earlier pass returns only changes.
    pub delta: bool,
    /// `true` if a whole pass lists every record, so that missing records were deleted.
    pub deletions_by_absence: bool,
}

/// One page of a pull.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Created or changed records. If a record occurs twice, the last one counts.
    pub records: Vec<EhrRecord>,
    /// Unreadable records.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// Records removed from the EHR, or from this location. One that is also in `records` counts as removed.
    pub deleted: Vec<ForeignId>,
    /// Cursor of the next page or, with `last`, of the next pass.
    pub cursor: String,
    /// `true` if the pass is complete.
    pub last: bool,
    /// `true` if the pass lists every record, `false` if only changes.
    pub whole: bool,
    /// Total number of records, if the EHR reports it.
    pub estimate: Option<u64>,
}

/// Proof of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The identifier of the written record.
    pub id: ForeignId,
    /// The version tag, if the EHR has version tags.
    pub version: Option<String>,
}

/// A write to the EHR.
#[allow(clippy::large_enum_variant, reason = "patients are the common case; a box each would cost more than it saves")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Write {
    CreatePatient(EhrPatient),
    CreateAppointment(EhrAppointment),
    /// Moves an appointment to its new time, operatory or provider, with the client's reason, if any.
    RescheduleAppointment(EhrAppointment, Option<String>),
    /// Cancels an appointment, with the client's reason, if any.
    CancelAppointment(EhrAppointment, Option<String>),
    /// Updates a patient: the new data, and the data that the EHR last showed. Other fields belong to staff.
    UpdatePatient(EhrPatient, Option<Box<EhrPatient>>),
    /// Confirms an appointment on behalf of the practice.
    ConfirmAppointment(EhrAppointment),
    /// Records that the patient has arrived.
    CheckInAppointment(EhrAppointment),
    /// Changes the note of an appointment.
    NoteAppointment(EhrAppointment),
    CreateWorkingHour(EhrWorkingHour),
    /// Replaces working hours.
    UpdateWorkingHour(EhrWorkingHour),
    /// Deletes working hours by their identifier.
    DeleteWorkingHour(ForeignId),
    /// Changes a record that the scheduling rules do not depend on.
    Record(Operation, EhrRecord),
}

impl Write {
    /// Returns the kind of the write, such as `appointment-insert`.
    pub fn kind(&self) -> String {
        let (resource, what) = match self {
            Write::CreatePatient(_) => (Resource::Patients, "insert"),
            Write::UpdatePatient(..) => (Resource::Patients, "update"),
            Write::CreateAppointment(_) => (Resource::Appointments, "insert"),
            Write::RescheduleAppointment(..) => (Resource::Appointments, "move"),
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

    /// Returns the start of the write's appointment, in seconds since 1970.
    pub fn starts_at(&self) -> Option<i64> {
        match self {
            Write::CreateAppointment(it)
            | Write::RescheduleAppointment(it, _)
            | Write::CancelAppointment(it, _)
            | Write::ConfirmAppointment(it)
            | Write::CheckInAppointment(it)
            | Write::NoteAppointment(it) => Some(it.start),
            _ => None,
        }
    }
}

/// Returns the word for an operation in `write_kind`; a creation is an `insert`.
pub fn operation_word(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "insert",
        Operation::Update => "update",
        Operation::Delete => "delete",
    }
}

/// Returns the display form of a kind of write: `appointment-insert`, `patient-alert-update`.
pub fn write_kind(resource: Resource, what: &str) -> String {
    format!("{}-{what}", singular(resource).replace(' ', "-"))
}

/// Returns the name of a single record of a resource: `patient alert`.
pub fn singular(resource: Resource) -> String {
    let plural = serde_json::to_value(resource).ok().and_then(|name| name.as_str().map(str::to_owned));
    let plural = plural.unwrap_or_default().replace('_', " ");
    match plural.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => plural.trim_end_matches('s').to_owned(),
    }
}
