//! Pages of a pull, with foreign ids translated to ours.

use serde::{Deserialize, Serialize};

use crate::{
    AppointmentId, AppointmentTypeId, OperatoryId, PatientId, Placement, WorkingHour, WriteId,
    sync::pulls::Skipped,
    writes::{intent::Written, replacement::ForgottenVisit},
};

/// One page of a pull, with foreign ids translated to ours.
#[derive(Clone, Debug, Default)]
pub struct PulledPage {
    pub appointments: Vec<PulledAppointment>,
    /// Replaced appointments on the page, in the order of the page.
    pub replaced: Vec<PulledReplaced>,
    /// Old appointments of the replacements that the page proves, by visit, with their placement; `None` if they are
    /// cancelled or removed.
    pub old: Vec<(AppointmentId, Option<Placement>)>,
    /// Appointments on the page that must be cancelled in the EHR.
    pub late: Vec<LateAppointment>,
    pub hours: Vec<WorkingHour>,
    pub operatories: Vec<PulledOperatory>,
    /// Ids of all records on the page, of any resource.
    pub seen: Vec<u64>,
    /// Known records that the EHR reports as deleted.
    pub deleted: Vec<u64>,
    /// Known records that the whole pass did not contain, as far as the first step of the sweep found them. Only on the
    /// last page of a whole pass.
    pub absent: Vec<u64>,
    /// Number of known records of a shared resource, for the deletion guard. For a sweep, the number of its first step.
    /// 0 if the deletions of the page, plus those since the last complete pass, are too few for the guard.
    pub known: u64,
    /// Start of the next step of the sweep, if the first one did not cover all known records. Nothing is deleted before
    /// all are counted.
    pub sweep_on: Option<String>,
    /// Number of appointments or hours, and of deletions of such, without a known record. An unanswered write may have
    /// created one of them.
    pub unmatched: u32,
    /// Appointments reported as deleted that were pruned from the state.
    pub past_deleted: Vec<u64>,
    /// `true` if another location of the data source may have read newer data since the request, or if the EHR has
    /// accepted a write of one of the records since.
    pub outdated: bool,
    /// `true` if the page contains changes or, in a whole pass, records new to the pass.
    pub news: bool,
    /// Unreadable records on the page.
    pub skipped: Vec<Skipped>,
    /// Foreign ids of previously skipped records that are now readable, or gone.
    pub read_again: Vec<String>,
    /// Cursor of the next page.
    pub cursor: String,
    /// `true` for the last page of its pass.
    pub last: bool,
    /// `true` if its pass lists every record, `false` if only changes.
    pub whole: bool,
    /// Number of records on the page, without duplicates.
    pub records: u32,
    /// Number of records that are new to the whole pass.
    pub distinct: u32,
    /// Number of other entries: records reported as deleted, and unreadable unknown ones.
    pub others: u32,
    /// Total number of records, if the EHR reports it.
    pub estimate: Option<u64>,
}

/// One step of the sweep for records missing from a whole pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepStep {
    /// Number of known records in the step.
    pub known: u64,
    /// Records of the step that the pass did not contain.
    pub absent: Vec<u64>,
    /// Start of the next step; `None` after the last one.
    pub next: Option<String>,
}

/// An appointment as the EHR shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledAppointment {
    pub id: AppointmentId,
    pub patient: Option<PatientId>,
    pub appointment_type: Option<AppointmentTypeId>,
    pub placement: Placement,
    /// `true` for a block of unavailable time.
    pub unavailable: bool,
    /// `true` if the appointment is cancelled in the EHR.
    pub cancelled: bool,
    /// Identifier and version in the EHR, in case the record is the result of a pending insert.
    pub written: Written,
    /// The replacement in the queue that created the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<WriteId>,
}

/// An appointment that another one of the same visit replaced, as the EHR shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PulledReplaced {
    pub appointment: AppointmentId,
    pub replaced: WriteId,
    /// Its placement; `None` if it is cancelled or removed.
    pub placement: Option<Placement>,
}

/// An appointment of the EHR that its visit does not need: a replacement without success has created it, a replacement
/// has created it a second time, or the insert of a cancelled booking has created it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateAppointment {
    pub appointment: AppointmentId,
    pub placement: Placement,
    /// The visit as its document shows it, in case the state does not contain it.
    pub visit: Option<ForgottenVisit>,
    /// Its identifier and version in the EHR.
    pub written: Written,
}

/// An operatory as the EHR shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledOperatory {
    pub id: OperatoryId,
    /// `true` if the operatory is in use.
    pub active: bool,
}
