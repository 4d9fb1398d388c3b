//! The result of `decide`: a reply, events to commit, and calls to make once the events are durable.

use crate::{
    AppointmentId, AppointmentTypeId, Event, Millis, Placement, Reason, Resource, Slot, Timestamp, WriteId,
    WriteIntent, rules::Instead, schedule::slots::Fit, writes::intent::CallKind,
};

/// The result of deciding one command.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub reply: Reply,
    pub events: Vec<Event>,
    /// The calls to the EHR, to make once the events are durable.
    pub calls: Vec<Call>,
}

impl Decision {
    /// Creates a decision without events or calls.
    pub fn nothing() -> Decision {
        Decision { reply: Reply::Done, events: Vec::new(), calls: Vec::new() }
    }

    pub fn refuse(refusal: Refusal) -> Decision {
        Decision { reply: Reply::Refused(refusal), events: Vec::new(), calls: Vec::new() }
    }

    /// Creates a decision without calls.
    pub fn new(reply: Reply, events: Vec<Event>) -> Decision {
        Decision { reply, events, calls: Vec::new() }
    }
}

/// The reply to the caller.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A new booking, or the earlier one of the idempotency key.
    Booked {
        appointment: AppointmentId,
        /// `true` if an earlier request with the same idempotency key created the appointment.
        replay: bool,
    },
    /// The bookings of a group, or the earlier ones of the idempotency key.
    GroupBooked {
        /// The appointments, in the order of the request.
        appointments: Vec<AppointmentId>,
        /// `true` if an earlier request with the same idempotency key created the appointments.
        replay: bool,
    },
    /// The slot is held.
    Held { until: Timestamp },
    /// The appointment was moved.
    Moved,
    /// The appointment was moved for a client, or an earlier request with the same idempotency key moved it.
    Rescheduled {
        /// `true` if an earlier request with the same idempotency key moved the appointment.
        replay: bool,
    },
    /// The appointment is cancelled.
    Cancelled {
        /// `true` if the appointment was cancelled before.
        already: bool,
    },
    /// The appointment was changed.
    Changed,
    /// A record was saved.
    Saved {
        /// `true` if a write to the EHR was queued, `false` if the record stays local.
        queued: bool,
    },
    /// A page was applied.
    PageApplied {
        /// Appointments with a local change in flight: their local placement and cancellation take precedence over the
        /// page.
        keep: Vec<AppointmentId>,
    },
    /// The page came too late or was stopped by the deletion guard: none of its records may be stored.
    PageIgnored,
    /// A failed write was queued again under a new id.
    Retried { write: WriteId },
    /// The command was applied.
    Done,
    /// The command was refused.
    Refused(Refusal),
}

/// The reason why an appointment can no longer be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOpenReason {
    /// The appointment has begun.
    Past,
    /// The appointment is cancelled.
    Cancelled,
    /// A block of unavailable time, or an appointment without patient: only the EHR changes it.
    NotOfAPatient,
    /// The insert into the EHR failed.
    Failed,
    /// The appointment has left the calendar: it ended, was cancelled, or its write failed.
    Forgotten,
}

/// The reason for a refusal (specification 7.3 and 7.4).
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The offer of the slot has expired, or its time has begun.
    SlotExpired,
    /// The slot is not free.
    SlotTaken {
        /// The reason why the slot does not fit. `Free` if an earlier booking of the same group takes it.
        fit: Fit,
        /// Free alternative slots, nearest first.
        alternatives: Vec<Slot>,
    },
    /// A booking rule refuses the visit.
    NotBookable {
        rule: Reason,
        /// The action that the client should offer, if the practice names one.
        instead: Option<Instead>,
    },
    /// The booking rules changed after the offer, and now refuse it.
    RulesChanged {
        rule: Reason,
        /// Alternative slots under the new rules, nearest first.
        alternatives: Vec<Slot>,
    },
    /// The slot was offered for another type than that of the visit, and has another length.
    OfferOfOtherType { appointment_type: AppointmentTypeId },
    /// The start of the visit is closer than the notice that changes need.
    ChangeTooLate { notice: Millis },
    /// A booking of a group is refused, and with it the group.
    Member {
        /// The index of the booking in the request, from 0.
        index: usize,
        /// The reason. It is never another `Member`.
        refusal: Box<Refusal>,
    },
    /// An earlier booking of the group is for the same patient at the same time.
    PatientTwice,
    /// The idempotency key was used for another request, or at another location.
    IdempotencyConflict,
    /// The EHR needs more fields to create the patient.
    PatientFieldsRequired { missing: Vec<String> },
    /// The EHR cannot create patients.
    NewPatientNotSupported,
    /// The practice books appointments of this type itself.
    TypeNotOnline,
    /// The location books by operatory (specification 1.8).
    OperatoryRequired,
    /// The appointment does not exist.
    AppointmentNotFound,
    /// The appointment cannot be changed any more.
    AppointmentNotOpen(NotOpenReason),
    /// The appointment is not in the EHR yet and cannot be changed there.
    AppointmentNotSynced,
    /// The working hours do not exist.
    HourNotFound,
    /// The hours come from the EHR and are changed there.
    HourOfEhr,
    /// The EHR does not support the operation.
    NotSupportedByEhr,
    /// The write does not exist.
    WriteNotFound,
    /// The write is done, pending, retried or dropped, or its record reached the EHR in another way.
    WriteNotFailed,
    /// The write is in flight or its outcome is unknown, so it cannot be dropped.
    WriteOnItsWay,
    /// The deletion guard stopped no deletions of this resource.
    NoDeletionsStopped,
    /// The refused change was reverted; the client must request it again.
    WriteWasPutBack,
    /// The patient of the write is not in the EHR; retry the write of the patient first.
    WriteOfPatientFirst,
    /// The location keeps too many working hours.
    TooManyHours { limit: u32 },
    /// Too many holds at the location, or of the API key.
    TooManyHolds {
        limit: u32,
        /// `true` if the limit of one API key is reached.
        of_key: bool,
        /// Time until the first of the holds expires, in milliseconds.
        free_in: Millis,
    },
    /// The queue of writes is full.
    QueueFull { limit: u32 },
}

/// A call to the EHR.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// A write or its look-up.
    Write {
        write: WriteId,
        /// The number of the attempt, from 1.
        attempt: u32,
        kind: CallKind,
        work: WriteIntent,
        /// The write key, the same in every attempt.
        key: String,
        placement: Option<Placement>,
        /// The deadline of the call.
        until: Timestamp,
    },
    /// A page of a resource.
    Pull {
        resource: Resource,
        call: u64,
        /// Cursor of the next page.
        cursor: Option<String>,
        /// The deadline of the call.
        until: Timestamp,
    },
}
