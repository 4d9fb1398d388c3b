//! What happened at a location: a closed list, journaled, replayed. No patient data travels in events, only ids; documents hold
//! the rest. An event names its outcome in full, so that `evolve` never has to decide.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use crate::writes::{breaker::Blocked, intent::CallKind};
use crate::{
    gate::Gate,
    ids::{AppointmentId, AppointmentTypeId, OperatoryId, PatientId, WorkingHourId, WriteId},
    pause::Directions,
    resource::{Operation, Resource},
    schedule::{calendar::Placement, hours::WorkingHour},
    sync::{
        is_zero,
        page::{PulledAppointment, PulledOperatory},
        pulls::Skipped,
    },
    time::{Millis, Timestamp},
    writes::{
        intent::{ChangedDetails, WriteIntent, Written},
        order::OrderingKey,
    },
};

/// What happened at a location.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    // Booking.
    /// An appointment was booked.
    Booked {
        /// The appointment.
        appointment: AppointmentId,
        /// Where and when it takes place.
        placement: Placement,
        /// The appointment type, where one is known.
        appointment_type: Option<AppointmentTypeId>,
        /// The patient.
        patient: PatientId,
        /// The idempotency key it uses.
        key: Option<KeyPinned>,
        /// False where there is no EHR to write to.
        integrated: bool,
    },
    /// A slot is held.
    Held {
        /// The id of the hold.
        hold: u64,
        /// Where and when it takes place.
        placement: Placement,
        /// When it ends.
        until: Timestamp,
        /// Who holds it: a digest of the API key, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<u64>,
    },
    /// Released, used or lapsed.
    HoldEnded {
        /// The id of the hold.
        hold: u64,
    },
    /// An idempotency key expired.
    KeyExpired {
        /// The idempotency key.
        key: String,
    },
    /// An appointment was moved.
    Moved {
        /// The appointment.
        appointment: AppointmentId,
        /// The new place and time.
        to: Placement,
        /// The reason.
        why: MoveReason,
    },
    /// The EHR refused the move: back to where it has the appointment.
    MoveReverted {
        /// The appointment.
        appointment: AppointmentId,
        /// Where the EHR has it.
        to: Placement,
        /// The reason, in words for operators and clients.
        reason: String,
    },
    /// An appointment was cancelled.
    Cancelled {
        /// The appointment.
        appointment: AppointmentId,
        /// Who cancelled it.
        by: CancelledBy,
        /// The reason, in words for operators and clients.
        reason: Option<String>,
    },
    /// The EHR refused the cancellation.
    CancelReverted {
        /// The appointment.
        appointment: AppointmentId,
        /// The reason, in words for operators and clients.
        reason: String,
    },
    /// The cancellation reached the EHR: the slot is free there too.
    CancelConfirmed {
        /// The appointment.
        appointment: AppointmentId,
    },
    /// The appointment is in the EHR.
    InsertDone {
        /// The appointment.
        appointment: AppointmentId,
        /// The proof of the write.
        written: Written,
    },
    /// It never will be. The slot is free again.
    InsertFailed {
        /// The appointment.
        appointment: AppointmentId,
        /// How the write ended.
        how: InsertFailure,
        /// The reason, in words for operators and clients.
        reason: String,
    },

    // Records no rule of the schedule needs, and what of an appointment is no matter of its place.
    /// Made, changed or removed here; its document came with the request.
    RecordSaved {
        /// The resource.
        resource: Resource,
        /// The id of the record.
        id: u64,
        /// What is done to the record.
        #[serde(rename = "verb")]
        operation: Operation,
    },
    /// An appointment was changed besides its place.
    AppointmentChanged {
        /// The appointment.
        appointment: AppointmentId,
        /// What was changed besides the place.
        what: ChangedDetails,
    },
    /// Working hours set here.
    HourSet(WorkingHour),
    /// Hours set here were removed here, or the EHR would not have them at all.
    HourRemoved {
        /// The working hours.
        hour: WorkingHourId,
    },
    /// The EHR refused a change of hours, or their removal: back to what it has.
    HourReverted {
        /// The hours as the EHR has them.
        to: WorkingHour,
        /// The reason, in words for operators and clients.
        reason: String,
    },

    // Write-back.
    /// A write was queued.
    WriteQueued {
        /// The write.
        write: WriteId,
        /// What the write does in the EHR.
        work: WriteIntent,
        /// Which writes it must not overtake.
        #[serde(rename = "lane")]
        ordering_key: OrderingKey,
        /// The write key, the same in every attempt.
        key: String,
        /// The write fails unless it is in the EHR by then.
        deadline: Timestamp,
        /// The id of the request that caused it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
    },
    /// An operator wants a write that failed tried again: the same key, as a write of its own.
    WriteRetried {
        /// The write.
        write: WriteId,
        /// The write that failed.
        of: WriteId,
        /// What the write does in the EHR.
        work: WriteIntent,
        /// Which writes it must not overtake.
        #[serde(rename = "lane")]
        ordering_key: OrderingKey,
        /// The write key, the same in every attempt.
        key: String,
        /// The write fails unless it is in the EHR by then.
        deadline: Timestamp,
        /// It was tried before: to be looked up before it is sent.
        look_first: bool,
        /// The id of the request that caused it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
    },
    /// An operator gave a write up.
    WriteDropped {
        /// The write.
        write: WriteId,
    },
    /// A call of a write began.
    CallStarted {
        /// The write.
        write: WriteId,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// Whether it writes or looks up.
        kind: CallKind,
        /// The deadline of the call.
        until: Timestamp,
        /// Where the appointment stood when it was sent.
        sent: Option<Placement>,
    },
    /// Tried, not written: once more, not before.
    WriteDeferred {
        /// The write.
        write: WriteId,
        /// It is not tried before.
        not_before: Timestamp,
        /// The reason, in words for operators and clients.
        reason: String,
        /// It was sent, and the EHR says that it is not there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_found: bool,
    },
    /// It may have been written: to be looked up before any resend.
    WriteUnknown {
        /// The write.
        write: WriteId,
        /// It is not tried before.
        not_before: Timestamp,
        /// The reason, in words for operators and clients.
        reason: String,
    },
    /// A write is in the EHR.
    WriteDone {
        /// The write.
        write: WriteId,
        /// What the write does in the EHR.
        work: WriteIntent,
        /// The proof of the write.
        written: Option<Written>,
    },
    /// A write ended without being written.
    WriteFailed {
        /// The write.
        write: WriteId,
        /// What the write does in the EHR.
        work: WriteIntent,
        /// How the write ended.
        how: InsertFailure,
        /// The reason, in words for operators and clients.
        reason: String,
    },
    /// A write failed in a way that counts for the circuit breaker.
    #[serde(rename = "path_failed")]
    BreakerFailure {
        /// The write.
        write: WriteId,
    },
    /// No writes are sent until then.
    #[serde(rename = "path_blocked")]
    BreakerOpened {
        /// The reason.
        why: Blocked,
        /// No write is tried before.
        until: Timestamp,
    },
    /// A call got through: writes are sent again.
    #[serde(rename = "path_cleared")]
    BreakerClosed,
    /// The workstation gate stands so from now on; what waits for it is tried at once where it is open.
    GateTurned {
        /// Whether the gate is open.
        gate: Gate,
    },

    /// An operator paused reading or writing, or resumed it: from now on these are paused, and no others.
    PauseTurned {
        /// What is paused.
        to: Directions,
    },

    /// Calls sent so many requests to the EHR beyond the one each was counted as when it started.
    RequestsSent {
        /// How many requests.
        requests: u32,
    },

    // Pull.
    /// Asked what it can do, the EHR gave no answer.
    DescribeFailed {
        /// The reason, in words for operators and clients.
        reason: String,
    },
    /// It said so again.
    DescribeWorked,
    /// A read cycle began.
    CycleStarted,
    /// A resource is read from its beginning: what an insert became may have gone by while nobody knew its name.
    ReadAnew {
        /// The resource.
        resource: Resource,
    },
    /// A page was asked for.
    PullStarted {
        /// The resource.
        resource: Resource,
        /// The number of the call.
        call: u64,
        /// The deadline of the call.
        until: Timestamp,
    },
    /// A page could not be read.
    PullFailed {
        /// The resource.
        resource: Resource,
        /// The reason, in words for operators and clients.
        reason: String,
        /// When it is tried again.
        retry_at: Timestamp,
    },
    /// A page was not asked for, or not taken yet, though nothing is wrong with it: it is asked for (again). No failure of the EHR.
    PullPutOff {
        /// The resource.
        resource: Resource,
        /// The reason, in words for operators and clients.
        reason: String,
        /// When it is tried again.
        retry_at: Timestamp,
        /// It waits for the answer of an insert of ours.
        #[serde(default)]
        insert: bool,
    },
    /// A resource is left for this cycle: on with the next one, the next cycle goes on here.
    PullSuspended {
        /// The resource.
        resource: Resource,
        /// The reason, in words for operators and clients.
        reason: String,
    },
    /// A page was applied.
    PageApplied {
        /// The resource.
        resource: Resource,
        /// Where the next page starts.
        cursor: String,
        /// Whether it is the last page of its pass.
        last: bool,
        /// Whether its pass shows every record, not only changes.
        whole: bool,
        /// How many records were shown.
        #[serde(default)]
        records: u32,
        /// How many records there are in all, where the EHR says.
        #[serde(default)]
        estimate: Option<u64>,
        /// It may have told the fate of an insert of ours that nobody could tell from others.
        #[serde(default, rename = "unsure", skip_serializing_if = "std::ops::Not::not")]
        needs_full_pass: bool,
        /// It brought nothing that this pass had not brought before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        barren: bool,
        /// What the pass missed is looked for from now on, in steps.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sweeping: bool,
        /// Records it showed that could not be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skipped: Vec<Skipped>,
        /// Foreign ids of those left out before that are read now, or gone.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        read_again: Vec<String>,
        /// Records that its whole pass had not shown before. `None` in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        distinct: Option<u32>,
        /// Its other entries: records that are reported deleted, and unreadable ones that are not known.
        #[serde(default, skip_serializing_if = "is_zero")]
        others: u32,
        /// Its whole pass ends and contradicts itself, see [`is_short`](crate::Location::is_short).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        short: bool,
        /// Records that its whole pass, which ends, is the first not to show; before a sweep, records that the page
        /// reports deleted.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        missing: BTreeSet<u64>,
        /// Missing records that it shows.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shown_again: Vec<u64>,
    },
    /// A step of looking for what a whole pass missed. With it went the records that the step found, if all are counted.
    Swept {
        /// The resource.
        resource: Resource,
        /// Known records counted so far.
        known: u64,
        /// Those of them that the pass did not show.
        missing: u64,
        /// Where the next step goes on; none at the beginning.
        next: Option<String>,
        /// All are counted.
        counted: bool,
        /// Missing records that the complete pass before this one showed, found by this step.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        unconfirmed: BTreeSet<u64>,
    },
    /// Nothing is left of what a whole pass missed.
    SweepEnded {
        /// The resource.
        resource: Resource,
    },
    /// The EHR has an appointment that is new, or not as we knew it.
    AppointmentPulled {
        /// What the EHR says of it.
        record: PulledAppointment,
        /// A change of ours is on its way: placement and cancellation stay ours, and the EHR's place stays taken too.
        keep: bool,
    },
    /// An appointment is gone from the EHR.
    AppointmentGone {
        /// The appointment.
        appointment: AppointmentId,
    },
    /// An appointment so long past that only its document is left is gone from the EHR.
    PastAppointmentGone {
        /// The appointment.
        appointment: AppointmentId,
    },
    /// The EHR has working hours that are new, or not as we knew them.
    HourPulled(WorkingHour),
    /// What the EHR has of hours that are being changed here: they stay as they were set.
    HourShown(WorkingHour),
    /// Working hours are gone from the EHR.
    HourGone {
        /// The working hours.
        hour: WorkingHourId,
    },
    /// An operatory is new, or not as we knew it: in the EHR, or at a location without one.
    OperatoryPulled(PulledOperatory),
    /// An operatory is gone from the EHR.
    OperatoryGone {
        /// The operatory.
        operatory: OperatoryId,
    },
    /// A record of a shared resource is gone from the EHR.
    RecordGone {
        /// The resource.
        resource: Resource,
        /// The id of the record.
        id: u64,
    },
    /// A booking of ours and an appointment the EHR has share an operatory and a time.
    ConflictFound {
        /// Our record.
        ours: AppointmentId,
        /// The appointment in the EHR.
        theirs: AppointmentId,
    },
    /// The deletion guard stopped a pass.
    GuardTripped {
        /// The resource.
        resource: Resource,
        /// How many records would be deleted.
        deletions: u64,
        /// How many records are known.
        known: u64,
        /// A whole pass begins anew; else the same page is asked again.
        whole: bool,
    },
    /// An operator accepted the deletions that the guard stopped.
    DeletionsAccepted {
        /// The resource.
        resource: Resource,
    },
    /// A read cycle ended.
    CycleFinished {
        /// When the next one starts.
        next: Timestamp,
    },
    /// An operator asked for a read cycle now.
    SyncRequested,
    /// The store was restored from a backup: everything is read anew, and numbers of writes that may have been given since are left out.
    Restored {
        /// How many.
        skipped_writes: u64,
    },
    /// The write waited when the backup was made, and may have been written since.
    WriteRestored {
        /// The write.
        write: WriteId,
        /// The reason, in words for operators.
        reason: String,
    },
    /// The clock was set back: what waits is due as much earlier, so that every pause keeps its length.
    ClockSetBack {
        /// How far the clock went back, in milliseconds.
        by: Millis,
    },
    /// What ended before this left the machine's memory; documents keep it.
    Pruned {
        /// What ended before this is forgotten.
        before: Timestamp,
    },
    /// Calls of another process may still be under way until then, whatever its clock said.
    CallsOutlast {
        /// When each of them has ended.
        until: Timestamp,
    },
}

impl Event {
    /// The record this event says is gone from the EHR.
    pub fn gone(&self) -> Option<u64> {
        match self {
            Event::RecordGone { id, .. } => Some(*id),
            Event::AppointmentGone { appointment } | Event::PastAppointmentGone { appointment } => Some(appointment.0),
            _ => None,
        }
    }

    /// What the EHR has since a write of ours reached it.
    pub fn reached(&self) -> Option<(Resource, u64)> {
        match self {
            Event::CancelConfirmed { appointment } | Event::InsertDone { appointment, .. } => {
                Some((Resource::Appointments, appointment.0))
            }
            Event::WriteDone { work: WriteIntent::Record { resource: Resource::WorkingHours, id, .. }, .. } => {
                Some((Resource::WorkingHours, *id))
            }
            Event::WriteDone { work, .. } => work.appointment().map(|id| (Resource::Appointments, id.0)),
            _ => None,
        }
    }

    /// The write this event ends.
    pub fn write_ended(&self) -> Option<WriteId> {
        match self {
            Event::WriteDone { write, .. } | Event::WriteFailed { write, .. } => Some(*write),
            _ => None,
        }
    }

    /// The write this event says is in the EHR.
    pub fn write_done(&self) -> Option<WriteId> {
        match self {
            Event::WriteDone { write, .. } => Some(*write),
            _ => None,
        }
    }
}

/// A key now answers with this booking until it expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPinned {
    /// The idempotency key.
    pub key: String,
    /// Digest of the request data.
    pub fingerprint: String,
    /// When it expires.
    pub expires: Timestamp,
}

/// Why an appointment was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveReason {
    /// A client asked for it.
    Client,
    /// Staff took the slot in the EHR and the location's rule moved the booking on.
    Conflict,
}

/// Who cancelled an appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelledBy {
    /// A client asked for it.
    Client,
    /// Staff, in the EHR.
    Ehr,
}

/// Reason of an insert that lost its time to staff.
pub(crate) const SLOT_LOST: &str = "the slot was taken in the EHR";
/// Reason of a write that waited too long.
pub(crate) const TOO_LATE: &str = "not in the EHR before its deadline";

/// Whether an insert failed for a reason that another time avoids.
pub fn another_time_helps(reason: &str) -> bool {
    [SLOT_LOST, TOO_LATE].contains(&reason)
}

/// How a write ended without being written (specification 6.5 and 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertFailure {
    /// The EHR refused it, or an operator gave it up.
    Failed,
    /// It was not in the EHR before its deadline.
    TimedOut,
    /// Cancelled before it was sent: nothing to tell anyone.
    Withdrawn,
}
