//! What can be asked of a location: a closed list. Documents a decision needs were read by the shell and arrive as facts.

use std::collections::BTreeSet;

use crate::{
    gate::Gate,
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId, PatientId, WorkingHourId, WriteId},
    resource::{Operation, Resource},
    schedule::hours::WorkingHour,
    time::{Millis, Timestamp},
    writes::{
        intent::{ChangedDetails, WriteIntent},
        order::OrderingKey,
    },
};
pub use crate::{
    schedule::calendar::Placement,
    sync::page::{Page, PulledAppointment, PulledOperatory},
    writes::intent::{Failure, Outcome, Written},
};

/// The moment of a decision and its randomness.
#[derive(Clone, Copy, Debug)]
pub struct Cx {
    pub now: Timestamp,
    pub random: u64,
}

#[derive(Clone, Debug)]
pub enum Command {
    Book(Book),
    Hold(Hold),
    /// Gives a hold up. Unknown holds are gone already.
    Release {
        hold: u64,
    },
    Move {
        appointment: AppointmentId,
        to: Placement,
        join_blocks: bool,
    },
    Cancel {
        appointment: AppointmentId,
        reason: Option<String>,
    },
    /// Changes what of an appointment is no matter of its place, and with `to` its place too: all of it or nothing.
    Change {
        appointment: AppointmentId,
        to: Option<Placement>,
        join_blocks: bool,
        what: ChangedDetails,
    },
    Save(Save),
    /// Working hours set here, not by the EHR.
    SetHour {
        hour: WorkingHour,
        /// The EHR cannot have them: they rest on what it does not know.
        here_only: bool,
    },
    RemoveHour {
        hour: WorkingHourId,
    },
    /// A call came back.
    Pushed {
        write: WriteId,
        attempt: u32,
        outcome: Outcome<Written>,
    },
    Found {
        write: WriteId,
        attempt: u32,
        outcome: Outcome<Option<Written>>,
    },
    Pulled {
        resource: Resource,
        call: u64,
        outcome: Outcome<Page>,
    },
    /// Calls sent so many requests beyond one each: the EHR's quota is of requests.
    RequestsSent {
        requests: u32,
    },
    /// What was pulled as an appointment of its own turned out to be what a write of ours made: `record` says of ours what the EHR said
    /// of it.
    Superseded {
        twin: AppointmentId,
        record: PulledAppointment,
    },
    /// The same of working hours. None in `shown`: the EHR has removed them since.
    HourSuperseded {
        twin: WorkingHourId,
        ours: WorkingHourId,
        shown: Option<WorkingHour>,
    },
    /// An operator wants a failed write tried again.
    RetryWrite(Retry),
    /// An operator gives a write up: one that waits, or one that `failed`.
    DropWrite {
        write: WriteId,
        failed: bool,
    },
    /// The time `wake_at` named has come.
    Wake,
    /// The clock was set back, within this life or since the last one.
    ClockSetBack {
        by: Millis,
    },
    /// An operator: start a read cycle and try waiting writes now.
    SyncNow,
    /// How the workstation gate stands. Said again where it is open, the staff approved what waits.
    Gate(Gate),
    /// The EHR was asked what it can do, and said so or not.
    Described {
        outcome: Outcome<()>,
    },
    /// An operator accepts the deletions the guard stopped.
    AcceptDeletions {
        resource: Resource,
    },
}

/// A booking from a slot token.
#[derive(Clone, Debug)]
pub struct Book {
    pub appointment: AppointmentId,
    pub placement: Placement,
    pub appointment_type: Option<AppointmentTypeId>,
    /// When the offer lapses.
    pub expires: Timestamp,
    /// The hold this token may have.
    pub hold: u64,
    pub join_blocks: bool,
    pub key: Option<KeyUse>,
    pub patient: BookPatient,
    pub closed: Closed,
}

/// What the practice does not let patients book themselves (`bookable_online`). Staff may book all of it: for them nothing is closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    pub operatories: BTreeSet<OperatoryId>,
    /// The appointment type that is asked for.
    pub appointment_type: bool,
}

/// A record made, changed or removed here.
#[derive(Clone, Copy, Debug)]
pub struct Save {
    pub resource: Resource,
    pub id: u64,
    pub verb: Operation,
    pub lane: OrderingKey,
    /// Nothing of it concerns the EHR.
    pub here_only: bool,
}

/// A write that failed, as it was.
#[derive(Clone, Debug)]
pub struct Retry {
    pub write: WriteId,
    pub work: WriteIntent,
    pub lane: OrderingKey,
    pub key: String,
    /// It was tried before: the EHR is asked for it before it is sent again.
    pub sent: bool,
    pub what: Retried,
}

/// What of a failed write's record the machine forgot.
#[derive(Clone, Debug)]
pub enum Retried {
    Record,
    Hour(WorkingHour),
    Appointment(RetriedAppointment),
}

#[derive(Clone, Copy, Debug)]
pub struct RetriedAppointment {
    pub placement: Placement,
    pub appointment_type: Option<AppointmentTypeId>,
    pub patient: PatientId,
}

/// An idempotency key and what it was used for.
#[derive(Clone, Debug)]
pub struct KeyUse {
    pub key: String,
    /// Digest of the request data.
    pub fingerprint: String,
    /// The location of the institution that holds the key, as recorded in the store.
    pub claimed_by: Option<LocationId>,
}

#[derive(Clone, Debug)]
pub struct BookPatient {
    pub id: PatientId,
    /// No such patient in the data source yet: it is created with this booking.
    pub is_new: bool,
    /// Fields the EHR needs to create a patient and the request lacks.
    pub missing_fields: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Hold {
    pub hold: u64,
    pub placement: Placement,
    pub appointment_type: Option<AppointmentTypeId>,
    pub expires: Timestamp,
    pub join_blocks: bool,
    pub closed: Closed,
    /// Whose hold it is: a digest of the client's key. Holds without one count for the location alone.
    pub holder: Option<u64>,
}
