//! The events of a location: a closed list, journaled and replayed. Events refer to records by id and contain no
//! patient data, which is in documents. An event contains its full outcome, so that `evolve` makes no decisions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use crate::writes::{breaker::Blocked, intent::CallKind};
use crate::{
    AppointmentId, AppointmentTypeId, Millis, Operation, OperatoryId, OrderingKey, PatientId, Placement, Resource,
    Timestamp, WorkingHour, WorkingHourId, WriteId, WriteIntent,
    gate::Gate,
    pause::Directions,
    sync::{
        is_zero,
        page::{PulledAppointment, PulledOperatory},
        pulls::Skipped,
    },
    writes::{
        intent::{ChangedDetails, Written},
        replacement::{Replaced, Replacement},
    },
};

/// An event at a location. Reasons are in words for operators and clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    // Booking.
    /// An appointment was booked.
    Booked {
        appointment: AppointmentId,
        placement: Placement,
        appointment_type: Option<AppointmentTypeId>,
        patient: PatientId,
        key: Option<KeyPinned>,
        /// `false` if the location has no EHR to write to.
        integrated: bool,
    },
    /// A slot is held.
    Held {
        hold: u64,
        placement: Placement,
        until: Timestamp,
        /// Digest of the holder's API key, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<u64>,
        /// The appointment type, if booking rules refer to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        appointment_type: Option<AppointmentTypeId>,
        /// The channel of the holder's API key, if booking rules refer to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
    },
    /// A hold was released, used, or has expired.
    HoldEnded { hold: u64 },
    /// An idempotency key was used to move an appointment.
    KeyUsed { appointment: AppointmentId, key: KeyPinned },
    /// An idempotency key expired.
    KeyExpired { key: String },
    /// An appointment was moved.
    Moved { appointment: AppointmentId, to: Placement, why: MoveReason },
    /// The EHR refused the move; the appointment returns to its placement in the EHR.
    MoveReverted { appointment: AppointmentId, to: Placement, reason: String },
    /// An appointment was cancelled.
    Cancelled { appointment: AppointmentId, by: CancelledBy, reason: Option<String> },
    /// The EHR refused the cancellation.
    CancelReverted { appointment: AppointmentId, reason: String },
    /// The cancellation reached the EHR, so the slot is free there too.
    CancelConfirmed { appointment: AppointmentId },
    /// The appointment is in the EHR.
    InsertDone { appointment: AppointmentId, written: Written },
    /// The insert failed; the slot is free again.
    InsertFailed { appointment: AppointmentId, how: InsertFailure, reason: String },

    /// A step of a move in an EHR that cannot move appointments.
    Replacement(Replacement),

    // Records that the scheduling rules do not depend on, and details of appointments.
    /// A record was created, changed or removed locally; its document is in the same commit.
    RecordSaved {
        resource: Resource,
        id: u64,
        #[serde(rename = "verb")]
        operation: Operation,
    },
    /// Details of an appointment were changed.
    AppointmentChanged { appointment: AppointmentId, what: ChangedDetails },
    /// Local working hours were created or changed.
    HourSet(WorkingHour),
    /// Local working hours were removed, or the EHR refused to create them.
    HourRemoved { hour: WorkingHourId },
    /// The EHR refused a change or removal of working hours; the values of the EHR are restored.
    HourReverted { to: WorkingHour, reason: String },

    // Write-back.
    /// A write was queued.
    WriteQueued {
        write: WriteId,
        work: WriteIntent,
        #[serde(rename = "lane")]
        ordering_key: OrderingKey,
        /// The write key, the same in every attempt.
        key: String,
        /// Time by which the write must be in the EHR; after it the write fails.
        deadline: Timestamp,
        /// The id of the request that caused it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
    },
    /// An operator retried a failed write: the same key under a new write id.
    WriteRetried {
        write: WriteId,
        of: WriteId,
        work: WriteIntent,
        #[serde(rename = "lane")]
        ordering_key: OrderingKey,
        key: String,
        deadline: Timestamp,
        /// `true` if an earlier attempt may have reached the EHR: the write is looked up before it is sent.
        look_first: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
    },
    /// An operator gave a write up.
    WriteDropped { write: WriteId },
    /// A call of a write began.
    CallStarted {
        write: WriteId,
        /// The number of the attempt, from 1.
        attempt: u32,
        kind: CallKind,
        until: Timestamp,
        /// Placement of the appointment at the time of the call.
        sent: Option<Placement>,
    },
    /// An attempt did not write; another one follows.
    WriteDeferred {
        write: WriteId,
        not_before: Timestamp,
        reason: String,
        /// `true` if an attempt was sent and the look-up did not find it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_found: bool,
    },
    /// The outcome of an attempt is unknown; the write is looked up before it is sent again.
    WriteUnknown { write: WriteId, not_before: Timestamp, reason: String },
    /// A write is in the EHR.
    WriteDone { write: WriteId, work: WriteIntent, written: Option<Written> },
    /// A write ended without being written.
    WriteFailed { write: WriteId, work: WriteIntent, how: InsertFailure, reason: String },
    /// A write failed in a way that counts for the circuit breaker.
    #[serde(rename = "path_failed")]
    BreakerFailure { write: WriteId },
    /// The circuit breaker opened.
    #[serde(rename = "path_blocked")]
    BreakerOpened {
        why: Blocked,
        /// Earliest time of the next write.
        until: Timestamp,
    },
    /// A call succeeded: writes are sent again.
    #[serde(rename = "path_cleared")]
    BreakerClosed,
    /// The workstation gate changed its state, or staff approved the waiting writes. If open, they are retried at once.
    GateTurned { gate: Gate },

    /// An operator paused or resumed reading or writing.
    PauseTurned {
        /// All directions that are paused from now on.
        to: Directions,
    },

    /// Requests that calls sent beyond the one counted for each at its start.
    RequestsSent { requests: u32 },

    // Pull.
    /// The adapter's `describe` failed.
    DescribeFailed { reason: String },
    /// The adapter's `describe` succeeded again.
    DescribeWorked,
    /// A read cycle began.
    CycleStarted,
    /// A resource is read from its beginning: a result of an insert may have been shown unmatched, or missing records
    /// need confirmation.
    ReadAnew {
        resource: Resource,
        /// `true` if the pass after it resumes at the present cursor, because only that one reports later deletions.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keep_cursor: bool,
    },
    /// A page was asked for.
    PullStarted {
        resource: Resource,
        call: u64,
        /// The deadline of the call.
        until: Timestamp,
        /// Time of the request, if it was sent before this event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_at: Option<Timestamp>,
        /// Records that our writes reached between that request and this event.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        written: BTreeSet<u64>,
    },
    /// A page could not be read.
    PullFailed { resource: Resource, reason: String, retry_at: Timestamp },
    /// A page was not requested, or not applied, for a reason other than a failure of the EHR. It is requested again.
    PullPutOff {
        resource: Resource,
        reason: String,
        retry_at: Timestamp,
        /// `true` if the page waits for the answer of an insert.
        #[serde(default)]
        insert: bool,
    },
    /// The resource is skipped in this cycle; the next cycle continues at its cursor.
    PullSuspended { resource: Resource, reason: String },
    /// A page was applied.
    PageApplied {
        resource: Resource,
        /// Cursor of the next page.
        cursor: String,
        /// `true` for the last page of its pass.
        last: bool,
        /// `true` if its pass lists every record, `false` if only changes.
        whole: bool,
        #[serde(default)]
        records: u32,
        /// Total number of records, if the EHR reports it.
        #[serde(default)]
        estimate: Option<u64>,
        /// `true` if the page may have shown the result of an insert without a way to match the two.
        #[serde(default, rename = "unsure", skip_serializing_if = "std::ops::Not::not")]
        needs_full_pass: bool,
        /// `true` if the page contained nothing new to its pass.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        barren: bool,
        /// `true` if a sweep for the records missing from the pass starts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sweeping: bool,
        /// Unreadable records on the page.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skipped: Vec<Skipped>,
        /// Foreign ids of previously skipped records that are now readable, or gone.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        read_again: Vec<String>,
        /// Number of records that are new to the whole pass. `None` in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        distinct: Option<u32>,
        /// Number of other entries of the page: records reported as deleted, and unreadable unknown ones.
        #[serde(default, skip_serializing_if = "is_zero")]
        others: u32,
        /// `true` if the whole pass ends in contradiction with itself, see [`is_short`](crate::Location::is_short).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        short: bool,
        /// Records missing for the first time from the whole pass that ends. Before a sweep: records that the page
        /// reports as deleted.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        missing: BTreeSet<u64>,
        /// Missing records that the page contains.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shown_again: Vec<u64>,
    },
    /// A step of the sweep for records missing from a whole pass. After the counting steps, a step also deletes its
    /// records.
    Swept {
        resource: Resource,
        /// Number of known records counted so far.
        known: u64,
        /// Number of counted records that the pass did not contain.
        missing: u64,
        /// Start of the next step; `None` for the first one.
        next: Option<String>,
        /// `true` once all known records are counted.
        counted: bool,
        /// Missing records found by this step that the previous complete pass contained.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        unconfirmed: BTreeSet<u64>,
    },
    /// The sweep of a whole pass ended.
    SweepEnded { resource: Resource },
    /// The EHR showed an appointment that is new or changed.
    AppointmentPulled {
        record: PulledAppointment,
        /// `true` if a local change is in flight: local placement and cancellation are kept, and the placement in the
        /// EHR stays taken too.
        keep: bool,
    },
    /// An appointment is gone from the EHR.
    AppointmentGone { appointment: AppointmentId },
    /// An appointment was removed from the EHR after it had been pruned from the state; only its document is left.
    PastAppointmentGone { appointment: AppointmentId },
    /// The EHR showed working hours that are new or changed.
    HourPulled(WorkingHour),
    /// The EHR showed working hours that have a local change in flight; the local values are kept.
    HourShown(WorkingHour),
    /// Working hours are gone from the EHR.
    HourGone { hour: WorkingHourId },
    /// An operatory is new or changed, in the EHR or at a location without one.
    OperatoryPulled(PulledOperatory),
    /// An operatory is gone from the EHR.
    OperatoryGone { operatory: OperatoryId },
    /// A record of a shared resource is gone from the EHR.
    RecordGone { resource: Resource, id: u64 },
    /// A pending booking and an appointment in the EHR share an operatory and a time.
    ConflictFound { ours: AppointmentId, theirs: AppointmentId },
    /// The deletion guard stopped a pass.
    GuardTripped {
        resource: Resource,
        /// Number of records that would be deleted.
        deletions: u64,
        known: u64,
        /// `true` if the whole pass starts again, `false` if the same page is requested again.
        whole: bool,
    },
    /// An operator accepted the deletions that the guard stopped.
    DeletionsAccepted { resource: Resource },
    /// A read cycle ended.
    CycleFinished {
        /// Start of the next cycle.
        next: Timestamp,
    },
    /// An operator asked for a read cycle now.
    SyncRequested,
    /// A client needs a fresh schedule, or the EHR reported a change.
    ReadRequested {
        /// `true` for a cycle, `false` for a read of the appointments.
        everything: bool,
    },
    /// The store was restored from a backup: everything is read again, and write ids that may have been used since are
    /// skipped.
    Restored {
        skipped_writes: u64,
        /// `true` if reading resumes at the present cursors after a whole pass, as in [`Event::ReadAnew`].
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keep_cursors: bool,
    },
    /// The write waited when the backup was made, and may have been sent since.
    WriteRestored {
        write: WriteId,
        /// The reason, in words for operators.
        reason: String,
    },
    /// The clock was set back: pending times move back too, so that every pause keeps its length.
    ClockSetBack { by: Millis },
    /// Ended appointments were pruned from the state; their documents remain.
    Pruned {
        /// Appointments that ended by this time were pruned.
        before: Timestamp,
    },
    /// Calls of another process may be in flight until this time, by the local clock.
    CallsOutlast {
        /// Time by which all of them have ended.
        until: Timestamp,
    },
}

impl Event {
    /// Returns the event that withdraws a write.
    pub(crate) fn withdrawn(write: WriteId, work: WriteIntent, reason: &str) -> Event {
        Event::WriteFailed { write, work, how: InsertFailure::Withdrawn, reason: reason.to_owned() }
    }

    /// Returns the record that the event reports as gone from the EHR.
    pub fn gone(&self) -> Option<u64> {
        match self {
            Event::RecordGone { id, .. } => Some(*id),
            Event::AppointmentGone { appointment } | Event::PastAppointmentGone { appointment } => Some(appointment.0),
            _ => None,
        }
    }

    /// Returns the record, or the replaced appointment, that a write of ours changed in the EHR with this event.
    pub fn reached(&self) -> Option<(Resource, u64)> {
        match self {
            Event::CancelConfirmed { appointment } | Event::InsertDone { appointment, .. } => {
                Some((Resource::Appointments, appointment.0))
            }
            Event::WriteDone { work: WriteIntent::Record { resource: Resource::WorkingHours, id, .. }, .. } => {
                Some((Resource::WorkingHours, *id))
            }
            Event::WriteDone { work, .. } => work.appointment().map(|id| (Resource::Appointments, id.0)),
            // A running pass may have shown it under the id of its visit.
            Event::Replacement(Replacement::Done { replaced, .. } | Replacement::Late { replaced, .. }) => {
                Some((Resource::Appointments, Replaced::pass_id(*replaced)))
            }
            _ => None,
        }
    }

    /// Returns the write that the event ends.
    pub fn write_ended(&self) -> Option<WriteId> {
        match self {
            Event::WriteDone { write, .. } | Event::WriteFailed { write, .. } => Some(*write),
            _ => None,
        }
    }

    /// Returns the write that the event reports as written.
    pub fn write_done(&self) -> Option<WriteId> {
        match self {
            Event::WriteDone { write, .. } => Some(*write),
            _ => None,
        }
    }
}

/// An idempotency key that replays its booking or its move until it expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPinned {
    pub key: String,
    /// Digest of the request data.
    pub fingerprint: String,
    pub expires: Timestamp,
    /// The appointments of the request after this one, if it booked several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<AppointmentId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveReason {
    /// A client asked for it.
    Client,
    /// Staff took the slot in the EHR, and the conflict rule of the location moved the booking.
    Conflict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelledBy {
    /// A client asked for it.
    Client,
    /// Staff cancelled it in the EHR.
    Ehr,
}

/// Reason of an insert whose slot staff took.
pub(crate) const SLOT_LOST: &str = "the slot was taken in the EHR";
/// Reason of a write that was withdrawn with its visit.
pub(crate) const CANCELLED_UNSENT: &str = "cancelled before it was sent";
/// Reason of a write whose record was removed first.
pub(crate) const REMOVED_UNSENT: &str = "removed before it was sent";
/// Reason of a write that missed its deadline.
pub(crate) const TOO_LATE: &str = "not in the EHR before its deadline";

/// Returns `true` if the insert could succeed at another time.
pub fn is_avoidable_at_another_time(reason: &str) -> bool {
    [SLOT_LOST, TOO_LATE].contains(&reason)
}

/// The kind of failure of a write (specification 6.5 and 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertFailure {
    /// The EHR refused the write, or an operator dropped it.
    Failed,
    /// The write was not in the EHR before its deadline.
    TimedOut,
    /// The write was withdrawn: before it was sent, or because its record left the EHR. Nothing is reported.
    Withdrawn,
}
