//! What happened at a location: a closed list, journaled, replayed. No patient data travels in events, only ids; documents hold
//! the rest. An event names its outcome in full, so that `evolve` never has to decide.

use serde::{Deserialize, Serialize};

pub use crate::writes::{breaker::Blocked, intent::CallKind};
use crate::{
    gate::Gate,
    ids::{AppointmentId, AppointmentTypeId, OperatoryId, PatientId, WorkingHourId, WriteId},
    resource::{Operation, Resource},
    schedule::{calendar::Placement, hours::WorkingHour},
    sync::page::{PulledAppointment, PulledOperatory},
    time::{Millis, Timestamp},
    writes::{
        intent::{ChangedDetails, WriteIntent, Written},
        order::OrderingKey,
    },
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    // Booking.
    Booked {
        appointment: AppointmentId,
        placement: Placement,
        appointment_type: Option<AppointmentTypeId>,
        patient: PatientId,
        key: Option<KeyPinned>,
        /// False where there is no EHR to write to.
        integrated: bool,
    },
    Held {
        hold: u64,
        placement: Placement,
        until: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<u64>,
    },
    /// Released, used or lapsed.
    HoldEnded {
        hold: u64,
    },
    KeyExpired {
        key: String,
    },
    Moved {
        appointment: AppointmentId,
        to: Placement,
        why: MoveReason,
    },
    /// The EHR refused the move: back to where it has the appointment.
    MoveReverted {
        appointment: AppointmentId,
        to: Placement,
        reason: String,
    },
    Cancelled {
        appointment: AppointmentId,
        by: CancelledBy,
        reason: Option<String>,
    },
    /// The EHR refused the cancellation.
    CancelReverted {
        appointment: AppointmentId,
        reason: String,
    },
    /// The cancellation reached the EHR: the slot is free there too.
    CancelConfirmed {
        appointment: AppointmentId,
    },
    /// The appointment is in the EHR.
    InsertDone {
        appointment: AppointmentId,
        written: Written,
    },
    /// It never will be. The slot is free again.
    InsertFailed {
        appointment: AppointmentId,
        how: InsertFailure,
        reason: String,
    },

    // Records no rule of the schedule needs, and what of an appointment is no matter of its place.
    /// Made, changed or removed here; its document came with the request.
    RecordSaved {
        resource: Resource,
        id: u64,
        verb: Operation,
    },
    AppointmentChanged {
        appointment: AppointmentId,
        what: ChangedDetails,
    },
    /// Working hours set here.
    HourSet(WorkingHour),
    /// Hours set here were removed here, or the EHR would not have them at all.
    HourRemoved {
        hour: WorkingHourId,
    },
    /// The EHR refused a change of hours, or their removal: back to what it has.
    HourReverted {
        to: WorkingHour,
        reason: String,
    },

    // Write-back.
    WriteQueued {
        write: WriteId,
        work: WriteIntent,
        lane: OrderingKey,
        key: String,
        deadline: Timestamp,
    },
    /// An operator wants a write that failed tried again: the same key, as a write of its own.
    WriteRetried {
        write: WriteId,
        of: WriteId,
        work: WriteIntent,
        lane: OrderingKey,
        key: String,
        deadline: Timestamp,
        /// It was tried before: to be looked up before it is sent.
        look_first: bool,
    },
    /// An operator gave a write up.
    WriteDropped {
        write: WriteId,
    },
    CallStarted {
        write: WriteId,
        attempt: u32,
        kind: CallKind,
        until: Timestamp,
        /// Where the appointment stood when it was sent.
        sent: Option<Placement>,
    },
    /// Tried, not written: once more, not before.
    WriteDeferred {
        write: WriteId,
        not_before: Timestamp,
        reason: String,
        /// It was sent, and the EHR says that it is not there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_found: bool,
    },
    /// It may have been written: to be looked up before any resend.
    WriteUnknown {
        write: WriteId,
        not_before: Timestamp,
        reason: String,
    },
    WriteDone {
        write: WriteId,
        work: WriteIntent,
        written: Option<Written>,
    },
    WriteFailed {
        write: WriteId,
        work: WriteIntent,
        how: InsertFailure,
        reason: String,
    },
    #[serde(rename = "path_failed")]
    BreakerFailure {
        write: WriteId,
    },
    #[serde(rename = "path_blocked")]
    BreakerOpened {
        why: Blocked,
        until: Timestamp,
    },
    #[serde(rename = "path_cleared")]
    BreakerClosed,
    /// The workstation gate stands so from now on; what waits for it is tried at once where it is open.
    GateTurned {
        gate: Gate,
    },

    /// Calls sent so many requests to the EHR beyond the one each was counted as when it started.
    RequestsSent {
        requests: u32,
    },

    // Pull.
    /// Asked what it can do, the EHR gave no answer.
    DescribeFailed {
        reason: String,
    },
    /// It said so again.
    DescribeWorked,
    CycleStarted,
    /// A resource is read from its beginning: what an insert became may have gone by while nobody knew its name.
    ReadAnew {
        resource: Resource,
    },
    PullStarted {
        resource: Resource,
        call: u64,
        until: Timestamp,
    },
    PullFailed {
        resource: Resource,
        reason: String,
        retry_at: Timestamp,
    },
    /// A page was not asked for, or not taken yet, though nothing is wrong with it: it is asked for (again). No failure of the EHR.
    PullPutOff {
        resource: Resource,
        reason: String,
        retry_at: Timestamp,
        /// It waits for the answer of an insert of ours.
        #[serde(default)]
        insert: bool,
    },
    /// A resource is left for this cycle: on with the next one, the next cycle goes on here.
    PullSuspended {
        resource: Resource,
        reason: String,
    },
    PageApplied {
        resource: Resource,
        cursor: String,
        last: bool,
        whole: bool,
        seen: Vec<u64>,
        #[serde(default)]
        records: u32,
        #[serde(default)]
        estimate: Option<u64>,
        /// It may have told the fate of an insert of ours that nobody could tell from others.
        #[serde(default, rename = "unsure", skip_serializing_if = "std::ops::Not::not")]
        needs_full_pass: bool,
        /// It brought nothing that this pass had not brought before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        barren: bool,
    },
    AppointmentPulled {
        record: PulledAppointment,
        /// A change of ours is on its way: placement and cancellation stay ours, and the EHR's place stays taken too.
        keep: bool,
    },
    AppointmentGone {
        appointment: AppointmentId,
    },
    /// An appointment so long past that only its document is left is gone from the EHR.
    PastAppointmentGone {
        appointment: AppointmentId,
    },
    HourPulled(WorkingHour),
    /// What the EHR has of hours that are being changed here: they stay as they were set.
    HourShown(WorkingHour),
    HourGone {
        hour: WorkingHourId,
    },
    OperatoryPulled(PulledOperatory),
    OperatoryGone {
        operatory: OperatoryId,
    },
    /// A record of a shared resource is gone from the EHR.
    RecordGone {
        resource: Resource,
        id: u64,
    },
    /// A booking of ours and an appointment the EHR has share an operatory and a time.
    ConflictFound {
        ours: AppointmentId,
        theirs: AppointmentId,
    },
    GuardTripped {
        resource: Resource,
        deletions: u64,
        known: u64,
        /// A whole pass begins anew; else the same page is asked again.
        whole: bool,
    },
    DeletionsAccepted {
        resource: Resource,
    },
    CycleFinished {
        next: Timestamp,
    },
    SyncRequested,
    /// The clock was set back: what waits is due as much earlier, so that every pause keeps its length.
    ClockSetBack {
        by: Millis,
    },
    /// What ended before this left the machine's memory; documents keep it.
    Pruned {
        before: Timestamp,
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
    pub key: String,
    pub fingerprint: String,
    pub expires: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveReason {
    Client,
    /// Staff took the slot in the EHR and the location's rule moved the booking on.
    Conflict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelledBy {
    Client,
    Ehr,
}

/// How a write ended without being written (specification 6.5 and 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertFailure {
    Failed,
    TimedOut,
    /// Cancelled before it was sent: nothing to tell anyone.
    Withdrawn,
}
