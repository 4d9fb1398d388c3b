//! What a page of a pull says, its foreign ids already turned into ours.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{AppointmentId, AppointmentTypeId, OperatoryId, PatientId},
    schedule::{calendar::Placement, hours::WorkingHour},
    sync::pulls::Skipped,
    writes::intent::Written,
};

/// One page of a pull, foreign ids already turned into ours.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The appointments on the page.
    pub appointments: Vec<PulledAppointment>,
    /// The working hours on the page.
    pub hours: Vec<WorkingHour>,
    /// The operatories on the page.
    pub operatories: Vec<PulledOperatory>,
    /// Ids of all records on the page, whatever the resource.
    pub seen: Vec<u64>,
    /// Known records the EHR reports deleted.
    pub deleted: Vec<u64>,
    /// Known records that neither this page nor an earlier one of the pass showed, as far as the first step of the sweep has found.
    /// Filled on the last page of a whole pass only.
    pub absent: Vec<u64>,
    /// Known records of a shared resource, for the deletion guard: needed where its deletions since the last good pass, which the
    /// state counts, and those of this page come to what the guard heeds. Else 0. Of a sweep those of its first step.
    pub known: u64,
    /// Where the sweep goes on, if one step does not look at all that is known. Nothing is deleted before all of it was counted.
    pub sweep_on: Option<String>,
    /// Deletions that one commit has room for, where that is less than usual.
    pub deletions_at_once: Option<usize>,
    /// Appointments or hours on the page, and deletions of such, that nobody had heard of: a write whose answer is still out may have
    /// made one of them.
    pub unmatched: u32,
    /// Appointments so long past that the machine forgot them, that the EHR reports deleted.
    pub past_deleted: Vec<u64>,
    /// It may be older than what another location of the data source learned since it was asked for.
    pub outdated: bool,
    /// It says something that was not known, or, in a whole pass, shows something that the pass has not shown before.
    pub news: bool,
    /// Records the EHR shows that could not be read.
    pub skipped: Vec<Skipped>,
    /// Foreign ids of those that were left out before, and are read now, or gone.
    pub read_again: Vec<String>,
    /// Cursor of the next page.
    pub cursor: String,
    /// `true` for the last page of its pass.
    pub last: bool,
    /// `true` if its pass lists every record, `false` if only changes.
    pub whole: bool,
    /// Records on the page; one that comes twice counts once.
    pub records: u32,
    /// Those of them that its whole pass had not shown before.
    pub distinct: u32,
    /// Other entries of the page: records that are reported deleted, and unreadable ones that are not known.
    pub others: u32,
    /// Records in all, where the EHR tells.
    pub estimate: Option<u64>,
    /// Only some records of it: one commit does not hold what there is to tell of all of them.
    pub part: bool,
}

/// One step of looking for the records that a whole pass has missed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepStep {
    /// Known records it looked at.
    pub known: u64,
    /// Counted records that the pass did not contain.
    pub absent: Vec<u64>,
    /// Start of the next step; `None` after the last one.
    pub next: Option<String>,
}

/// An appointment as the EHR shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledAppointment {
    /// The id of the record.
    pub id: AppointmentId,
    /// The patient.
    pub patient: Option<PatientId>,
    /// The appointment type, if known.
    pub appointment_type: Option<AppointmentTypeId>,
    /// Operatory, provider and time span.
    pub placement: Placement,
    /// Whether it is a block of unavailable time.
    pub unavailable: bool,
    /// Whether it is cancelled in the EHR.
    pub cancelled: bool,
    /// Identifier and version in the EHR, for a pending insert that this record turns out to be.
    pub written: Written,
}

/// An operatory as the EHR shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledOperatory {
    /// The id of the record.
    pub id: OperatoryId,
    /// Whether it is in use.
    pub active: bool,
}
