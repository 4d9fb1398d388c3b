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

#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub reply: Reply,
    pub events: Vec<Event>,
    pub calls: Vec<Call>,
}

impl Decision {
    pub fn nothing() -> Decision {
        Decision { reply: Reply::Done, events: Vec::new(), calls: Vec::new() }
    }

    pub fn refuse(refusal: Refusal) -> Decision {
        Decision { reply: Reply::Refused(refusal), events: Vec::new(), calls: Vec::new() }
    }

    pub fn of(reply: Reply, events: Vec<Event>) -> Decision {
        Decision { reply, events, calls: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A new booking, or with `replay` the one this key made before.
    Booked {
        appointment: AppointmentId,
        replay: bool,
    },
    Held {
        until: Timestamp,
    },
    Moved,
    Cancelled {
        already: bool,
    },
    Changed,
    /// A record was saved. Not queued: it stays here only.
    Saved {
        queued: bool,
    },
    /// A page was applied. For these appointments a change of ours is on its way: their placement and cancellation stay ours.
    PageApplied {
        keep: Vec<AppointmentId>,
    },
    /// The page came too late or was stopped by the guard: nothing of it may be stored.
    PageIgnored,
    /// A failed write is tried again, as this one.
    Retried {
        write: WriteId,
    },
    Done,
    Refused(Refusal),
}

/// Why an appointment cannot be changed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    Past,
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
    SlotExpired,
    SlotTaken {
        fit: Fit,
        alternatives: Vec<Slot>,
    },
    IdempotencyConflict,
    PatientFieldsRequired {
        missing: Vec<String>,
    },
    NewPatientNotSupported,
    /// The practice books appointments of this type itself.
    TypeNotOnline,
    /// The location books by operatory (specification 1.8).
    OperatoryRequired,
    AppointmentNotFound,
    AppointmentNotOpen(Over),
    /// The EHR does not have it yet: what it does not have cannot be changed there.
    AppointmentNotSynced,
    HourNotFound,
    /// The hours come from the EHR and are changed there.
    HourOfEhr,
    /// The EHR cannot do it.
    NotSupportedByEhr,
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
    TooManyHours {
        limit: u32,
    },
    /// Of the location, or of the one key that asks.
    TooManyHolds {
        limit: u32,
        of_key: bool,
        /// Until the first of them lapses.
        free_in: Millis,
    },
    QueueFull {
        limit: u32,
    },
}

/// A call to the EHR.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Write {
        write: WriteId,
        attempt: u32,
        kind: CallKind,
        work: WriteIntent,
        key: String,
        placement: Option<Placement>,
        until: Timestamp,
    },
    Pull {
        resource: Resource,
        call: u64,
        cursor: Option<String>,
        until: Timestamp,
    },
}
