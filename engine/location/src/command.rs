//! What can be asked of a location: a closed list. Documents a decision needs were read by the processor and arrive as facts.

use std::collections::BTreeSet;

use crate::{
    gate::Gate,
    ids::{AppointmentId, AppointmentTypeId, LocationId, OperatoryId, PatientId, WorkingHourId, WriteId},
    pause::Directions,
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
    sync::page::{Page, PulledAppointment, PulledOperatory, SweepStep},
    writes::intent::{Failure, Outcome, Written},
};

/// The moment of a decision and its randomness.
#[derive(Clone, Copy, Debug)]
pub struct Cx {
    /// The moment of the decision.
    pub now: Timestamp,
    /// The randomness of the decision.
    pub random: u64,
}

/// A request to a location: a client's, an operator's, the answer of a call, or the time.
#[derive(Clone, Debug)]
pub enum Command {
    /// Books an appointment.
    Book(Book),
    /// Keeps a slot for a client that has not booked yet.
    Hold(Hold),
    /// Gives a hold up. Unknown holds are gone already.
    Release {
        /// The id of the hold.
        hold: u64,
    },
    /// Moves an appointment.
    Move {
        /// The appointment.
        appointment: AppointmentId,
        /// The new place and time.
        to: Placement,
        /// Whether schedulable blocks join synced hours (v3.0.0 on).
        join_blocks: bool,
    },
    /// Cancels an appointment.
    Cancel {
        /// The appointment.
        appointment: AppointmentId,
        /// The reason, in words for operators and clients.
        reason: Option<String>,
    },
    /// Changes what of an appointment is no matter of its place, and with `to` its place too: all of it or nothing.
    Change {
        /// The appointment.
        appointment: AppointmentId,
        /// The new place and time.
        to: Option<Placement>,
        /// Whether schedulable blocks join synced hours (v3.0.0 on).
        join_blocks: bool,
        /// What was changed besides the place.
        what: ChangedDetails,
    },
    /// Saves a record.
    Save(Save),
    /// Working hours set here, not by the EHR.
    SetHour {
        /// The working hours.
        hour: WorkingHour,
        /// The EHR cannot have them: they rest on what it does not know.
        here_only: bool,
    },
    /// An operatory of a location without EHR, made or changed here.
    SetOperatory {
        /// The operatory, and whether it is in use.
        operatory: PulledOperatory,
        /// What becomes of its record.
        operation: Operation,
    },
    /// Removes working hours that were set here.
    RemoveHour {
        /// The working hours.
        hour: WorkingHourId,
    },
    /// A call came back.
    Pushed {
        /// The write.
        write: WriteId,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// How the call ended.
        outcome: Outcome<Written>,
    },
    /// A look-up of a write came back.
    Found {
        /// The write.
        write: WriteId,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// How the call ended.
        outcome: Outcome<Option<Written>>,
    },
    /// A page came back, or did not.
    Pulled {
        /// The resource.
        resource: Resource,
        /// The number of the call.
        call: u64,
        /// How the call ended.
        outcome: Outcome<Page>,
    },
    /// Known records were looked at, whether the last whole pass showed them.
    Sweep(SweepStep),
    /// Calls sent so many requests beyond one each: the EHR's quota is of requests.
    RequestsSent {
        /// How many requests.
        requests: u32,
    },
    /// What was pulled as an appointment of its own turned out to be what a write of ours made: `record` says of ours what the EHR said
    /// of it.
    TwinFound {
        /// The record that was pulled as one of its own.
        twin: AppointmentId,
        /// What the EHR says of it.
        record: PulledAppointment,
    },
    /// The same of working hours. None in `shown`: the EHR has removed them since.
    HourTwinFound {
        /// The record that was pulled as one of its own.
        twin: WorkingHourId,
        /// Our record.
        ours: WorkingHourId,
        /// What the EHR shows.
        shown: Option<WorkingHour>,
    },
    /// An operator wants a failed write tried again.
    RetryWrite(Retry),
    /// An operator gives a write up: one that waits, or one that `failed`.
    DropWrite {
        /// The write.
        write: WriteId,
        /// Whether the write had failed already.
        failed: bool,
    },
    /// The time `wake_at` named has come.
    Wake,
    /// The clock was set back, within this life or since the last one.
    ClockSetBack {
        /// How far the clock went back, in milliseconds.
        by: Millis,
    },
    /// Another process may have begun the calls that are under way, by a clock of its own.
    TakenOver,
    /// The process that asked for a page ended before the answer came.
    ReadInterrupted,
    /// The store was restored from a backup: since it was made, the location has gone on.
    Restored,
    /// An operator: start a read cycle and try waiting writes now.
    SyncNow,
    /// An operator: nothing is read, or written, until it is resumed.
    Pause {
        /// What is paused; the rest stays as it is.
        which: Directions,
    },
    /// An operator: what is named goes on.
    Resume {
        /// What is resumed; the rest stays as it is.
        which: Directions,
    },
    /// How the workstation gate stands. Said again where it is open, the staff approved what waits.
    Gate(Gate),
    /// The EHR was asked what it can do, and said so or not.
    Described {
        /// How the call ended.
        outcome: Outcome<()>,
    },
    /// An operator accepts the deletions the guard stopped.
    AcceptDeletions {
        /// The resource.
        resource: Resource,
    },
}

/// A booking from a slot token.
#[derive(Clone, Debug)]
pub struct Book {
    /// The appointment.
    pub appointment: AppointmentId,
    /// Where and when it takes place.
    pub placement: Placement,
    /// The appointment type, where one is known.
    pub appointment_type: Option<AppointmentTypeId>,
    /// When the offer lapses.
    pub expires: Timestamp,
    /// The hold this token may have.
    pub hold: u64,
    /// Whether schedulable blocks join synced hours (v3.0.0 on).
    pub join_blocks: bool,
    /// The idempotency key it uses.
    pub key: Option<KeyUse>,
    /// The patient.
    pub patient: BookPatient,
    /// What patients cannot book themselves.
    pub closed: Closed,
}

/// What the practice does not let patients book themselves (`bookable_online`). Staff may book all of it: for them nothing is closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// The operatories.
    pub operatories: BTreeSet<OperatoryId>,
    /// The appointment type that is asked for.
    pub appointment_type: bool,
}

/// A record made, changed or removed here.
#[derive(Clone, Copy, Debug)]
pub struct Save {
    /// The resource.
    pub resource: Resource,
    /// The id of the record.
    pub id: u64,
    /// What is done to the record.
    pub operation: Operation,
    /// Which writes it must not overtake.
    pub ordering_key: OrderingKey,
    /// Nothing of it concerns the EHR.
    pub here_only: bool,
}

/// A write that failed, as it was.
#[derive(Clone, Debug)]
pub struct Retry {
    /// The write.
    pub write: WriteId,
    /// What the write does in the EHR.
    pub work: WriteIntent,
    /// Which writes it must not overtake.
    pub ordering_key: OrderingKey,
    /// The write key, the same in every attempt.
    pub key: String,
    /// It was tried before: the EHR is asked for it before it is sent again.
    pub sent: bool,
    /// What was changed besides the place.
    pub what: Retried,
}

/// What of a failed write's record the machine forgot.
#[derive(Clone, Debug)]
pub enum Retried {
    /// Nothing: the documents have it.
    Record,
    /// The working hours.
    Hour(WorkingHour),
    /// The appointment.
    Appointment(RetriedAppointment),
}

/// The appointment of a failed insert, as it was booked.
#[derive(Clone, Copy, Debug)]
pub struct RetriedAppointment {
    /// Where and when it takes place.
    pub placement: Placement,
    /// The appointment type, where one is known.
    pub appointment_type: Option<AppointmentTypeId>,
    /// The patient.
    pub patient: PatientId,
}

/// An idempotency key and what it was used for.
#[derive(Clone, Debug)]
pub struct KeyUse {
    /// The idempotency key.
    pub key: String,
    /// Digest of the request data.
    pub fingerprint: String,
    /// The location of the institution that holds the key, as recorded in the store.
    pub claimed_by: Option<LocationId>,
}

/// The patient of a booking.
#[derive(Clone, Debug)]
pub struct BookPatient {
    /// The id of the record.
    pub id: PatientId,
    /// No such patient in the data source yet: it is created with this booking.
    pub is_new: bool,
    /// Fields the EHR needs to create a patient and the request lacks.
    pub missing_fields: Vec<String>,
}

/// A hold that is asked for.
#[derive(Clone, Debug)]
pub struct Hold {
    /// The id of the hold.
    pub hold: u64,
    /// Where and when it takes place.
    pub placement: Placement,
    /// The appointment type, where one is known.
    pub appointment_type: Option<AppointmentTypeId>,
    /// When it expires.
    pub expires: Timestamp,
    /// Whether schedulable blocks join synced hours (v3.0.0 on).
    pub join_blocks: bool,
    /// What patients cannot book themselves.
    pub closed: Closed,
    /// Whose hold it is: a digest of the client's key. Holds without one count for the location alone.
    pub holder: Option<u64>,
}
