//! What a decision says: the answer, what happened, and the calls to make once that is durable.

use crate::{
    event::Event,
    ids::{AppointmentId, WriteId},
    resource::Resource,
    schedule::{
        calendar::Placement,
        slots::{Fit, Slot},
    },
    time::{Millis, Timestamp},
    writes::intent::{CallKind, WriteIntent},
};

/// What a location decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What the caller is told.
    pub reply: Reply,
    /// What happened, to be committed.
    pub events: Vec<Event>,
    /// The calls to the EHR, to be made once the events are durable.
    pub calls: Vec<Call>,
}

impl Decision {
    /// Nothing happens.
    pub fn nothing() -> Decision {
        Decision { reply: Reply::Done, events: Vec::new(), calls: Vec::new() }
    }

    /// The command is refused.
    pub fn refuse(refusal: Refusal) -> Decision {
        Decision { reply: Reply::Refused(refusal), events: Vec::new(), calls: Vec::new() }
    }

    /// Events without calls.
    pub fn of(reply: Reply, events: Vec<Event>) -> Decision {
        Decision { reply, events, calls: Vec::new() }
    }
}

/// What the caller is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A new booking, or with `replay` the one this key made before.
    Booked {
        /// The appointment.
        appointment: AppointmentId,
        /// Whether an earlier request with the same key made it.
        replay: bool,
    },
    /// The slot is held.
    Held {
        /// When it ends.
        until: Timestamp,
    },
    /// The appointment was moved.
    Moved,
    /// The appointment is cancelled.
    Cancelled {
        /// Whether it was cancelled before.
        already: bool,
    },
    /// The appointment was changed.
    Changed,
    /// A record was saved. Not queued: it stays here only.
    Saved {
        /// Whether a write to the EHR was queued.
        queued: bool,
    },
    /// A page was applied. For these appointments a change of ours is on its way: their placement and cancellation stay ours.
    PageApplied {
        /// Appointments whose placement and cancellation stay ours.
        keep: Vec<AppointmentId>,
    },
    /// The page came too late or was stopped by the guard: nothing of it may be stored.
    PageIgnored,
    /// A failed write is tried again, as this one.
    Retried {
        /// The write.
        write: WriteId,
    },
    /// It is done.
    Done,
    /// It is refused.
    Refused(Refusal),
}

/// Why an appointment cannot be changed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// It has begun already.
    Past,
    /// The appointment is cancelled.
    Cancelled,
    /// A block of the schedule, or nobody's appointment: the EHR's own affair.
    NotOfAPatient,
    /// It never came into the EHR.
    Failed,
    /// It is not in the calendar any more: it ended, was cancelled, or its write failed.
    Forgotten,
}

/// Why not (specification 7.4 and 7.3).
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The offer of the slot has expired, or its time has begun.
    SlotExpired,
    /// The slot is not free.
    SlotTaken {
        /// Why it does not fit.
        fit: Fit,
        /// Free slots instead of it, the nearest first.
        alternatives: Vec<Slot>,
    },
    /// The idempotency key was used for another request, or at another location.
    IdempotencyConflict,
    /// The EHR needs more fields to create the patient.
    PatientFieldsRequired {
        /// The fields that are missing.
        missing: Vec<String>,
    },
    /// The EHR cannot create patients.
    NewPatientNotSupported,
    /// The practice books appointments of this type itself.
    TypeNotOnline,
    /// The location books by operatory (specification 1.8).
    OperatoryRequired,
    /// No such appointment.
    AppointmentNotFound,
    /// The appointment cannot be changed any more.
    AppointmentNotOpen(Over),
    /// The EHR does not have it yet: what it does not have cannot be changed there.
    AppointmentNotSynced,
    /// No such working hours.
    HourNotFound,
    /// The hours come from the EHR and are changed there.
    HourOfEhr,
    /// The EHR cannot do it.
    NotSupportedByEhr,
    /// No such write.
    WriteNotFound,
    /// It is done, still waits, was retried or dropped, or its record came to the EHR in another way.
    WriteNotFailed,
    /// It is being sent, or may have been written: nobody can say yet that it was not.
    WriteOnItsWay,
    /// The last whole pass deleted no suspiciously large part of this resource.
    NoDeletionsStopped,
    /// A refused change was put back: it is asked for anew.
    WriteWasPutBack,
    /// The patient it is for is not in the EHR: their write comes first.
    WriteOfPatientFirst,
    /// The location keeps too many working hours.
    TooManyHours {
        /// The limit that is reached.
        limit: u32,
    },
    /// Of the location, or of the one key that asks.
    TooManyHolds {
        /// The limit that is reached.
        limit: u32,
        /// Whether it is the limit of one API key.
        of_key: bool,
        /// Until the first of them lapses.
        free_in: Millis,
    },
    /// The queue of writes is full.
    QueueFull {
        /// The limit that is reached.
        limit: u32,
    },
}

/// A call to the EHR.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// A write, or its look-up.
    Write {
        /// The write.
        write: WriteId,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// Whether it writes or looks up.
        kind: CallKind,
        /// What the write does in the EHR.
        work: WriteIntent,
        /// The write key, the same in every attempt.
        key: String,
        /// Where and when it takes place.
        placement: Option<Placement>,
        /// The deadline of the call.
        until: Timestamp,
    },
    /// A page of a resource.
    Pull {
        /// The resource.
        resource: Resource,
        /// The number of the call.
        call: u64,
        /// Where the next page starts.
        cursor: Option<String>,
        /// The deadline of the call.
        until: Timestamp,
    },
}
