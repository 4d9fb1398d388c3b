//! The commands of a location: a closed list. The processor reads the documents that a decision needs and passes them
//! as facts.

use std::collections::BTreeSet;

use crate::{
    AppointmentId, AppointmentTypeId, Date, LocationId, Millis, Operation, OperatoryId, OrderingKey, PatientId,
    Resource, Timestamp, WorkingHour, WorkingHourId, WriteId, WriteIntent, gate::Gate, pause::Directions,
    writes::intent::ChangedDetails,
};
pub use crate::{
    Placement,
    sync::page::{LateAppointment, PulledAppointment, PulledOperatory, PulledPage, PulledReplaced, SweepStep},
    writes::intent::{Failure, Outcome, Written},
};

/// The time and randomness of a decision.
#[derive(Clone, Copy, Debug)]
pub struct DecisionContext {
    pub now: Timestamp,
    pub random: u64,
}

/// A command to a location: a request of a client or an operator, the result of a call, or the timer.
#[derive(Clone, Debug)]
pub enum Command {
    /// Books an appointment.
    Book(Book),
    /// Books several appointments: all or none.
    BookGroup(BookGroup),
    /// Holds a slot for a client that has not booked yet.
    Hold(Hold),
    /// Releases a hold. Unknown holds are ignored.
    Release { hold: u64 },
    /// Moves an appointment.
    Move {
        appointment: AppointmentId,
        to: Placement,
        /// `true` if schedulable blocks join synced hours (v3.0.0 and later).
        join_blocks: bool,
    },
    /// Moves an appointment to an offered slot, with the idempotency key of the client.
    Reschedule(Reschedule),
    /// Records that the patient confirms the appointment.
    Confirm { appointment: AppointmentId },
    /// Cancels an appointment.
    Cancel { appointment: AppointmentId, reason: Option<String> },
    /// Changes details of an appointment and, with `to`, its placement, atomically.
    Change {
        appointment: AppointmentId,
        to: Option<Placement>,
        /// `true` if schedulable blocks join synced hours (v3.0.0 and later).
        join_blocks: bool,
        what: ChangedDetails,
    },
    /// Saves a record.
    Save(Save),
    /// Creates or changes local working hours.
    SetHour {
        hour: WorkingHour,
        /// `true` if the hours depend on records that the EHR does not have, so they stay local.
        here_only: bool,
    },
    /// Creates or changes an operatory of a location without EHR.
    SetOperatory { operatory: PulledOperatory, operation: Operation },
    /// Removes local working hours.
    RemoveHour { hour: WorkingHourId },
    /// The result of a write call.
    Pushed {
        write: WriteId,
        /// The number of the attempt, from 1.
        attempt: u32,
        outcome: Outcome<Written>,
    },
    /// The result of a look-up of a write.
    Found {
        write: WriteId,
        /// The number of the attempt, from 1.
        attempt: u32,
        outcome: Outcome<Option<Written>>,
    },
    /// The result of a page request.
    Pulled { resource: Resource, call: u64, outcome: Outcome<PulledPage> },
    /// One step of the sweep: known records were compared with the last whole pass.
    Sweep(SweepStep),
    /// Requests that calls sent beyond the one counted for each. The EHR's quota counts requests.
    RequestsSent { requests: u32 },
    /// A pulled appointment turned out to be a duplicate of one that a write of ours created.
    DuplicateFound {
        /// The duplicate that was created for the pulled record.
        duplicate: AppointmentId,
        /// The pulled data, under the id of our appointment.
        record: PulledAppointment,
    },
    /// Pulled working hours turned out to be a duplicate of hours that a write of ours created.
    HourDuplicateFound {
        /// The duplicate that was created for the pulled record.
        duplicate: WorkingHourId,
        local: WorkingHourId,
        /// The hours as the EHR shows them; `None` if the EHR has removed them since.
        shown: Option<WorkingHour>,
    },
    /// An operator retries a failed write.
    RetryWrite(Retry),
    /// An operator drops a write that waits or has failed.
    DropWrite {
        write: WriteId,
        /// `true` if the write had failed already.
        failed: bool,
    },
    /// The time returned by `wake_at` has come.
    Wake,
    /// The clock was set back, during this run or since the previous one.
    ClockSetBack {
        by: Millis,
        /// Upcoming appointments that the state lacks, because they counted as past while the clock was ahead.
        forgotten: Vec<PulledAppointment>,
    },
    /// Another process, with a different clock, may have started the calls in flight.
    TakenOver,
    /// The process that requested a page ended before the answer came.
    ReadInterrupted,
    /// The store was restored from a backup, so later changes of the location are lost.
    Restored,
    /// An operator starts a read cycle and retries waiting writes now.
    SyncNow,
    /// A client needs a fresh schedule, or the EHR reported a change.
    RequestRead {
        /// `true` for a cycle, `false` for a read of the appointments.
        everything: bool,
    },
    /// An operator pauses reading, writing, or both.
    Pause {
        /// The directions to pause; the others keep their state.
        which: Directions,
    },
    /// An operator resumes reading, writing, or both.
    Resume {
        /// The directions to resume; the others keep their state.
        which: Directions,
    },
    /// The state of the workstation gate. A repeated `Open` means that staff approved the waiting writes.
    Gate(Gate),
    /// The result of the adapter's `describe`.
    Described { outcome: Outcome<()> },
    /// An operator accepts the deletions that the guard stopped.
    AcceptDeletions { resource: Resource },
}

/// An offered slot and the caller who takes it.
#[derive(Clone, Debug)]
pub struct OfferedSlot {
    pub placement: Placement,
    pub appointment_type: Option<AppointmentTypeId>,
    pub expires: Timestamp,
    /// The id of the hold that belongs to the slot token. No hold has the id 0.
    pub hold: u64,
    /// `true` if schedulable blocks join synced hours (v3.0.0 and later).
    pub join_blocks: bool,
    /// Operatories and types that the caller may not book.
    pub closed: Closed,
    /// The channel of the caller's API key.
    pub channel: Option<String>,
    /// Digest of the booking rules of the offer. `None` if unknown.
    pub rules: Option<u64>,
}

impl OfferedSlot {
    /// Creates an offer for any type, without a hold, under unknown rules.
    pub fn new(placement: Placement, expires: Timestamp) -> OfferedSlot {
        OfferedSlot {
            placement,
            appointment_type: None,
            expires,
            hold: 0,
            join_blocks: true,
            closed: Closed::default(),
            channel: None,
            rules: None,
        }
    }
}

/// A booking of a slot.
#[derive(Clone, Debug)]
pub struct Book {
    pub appointment: AppointmentId,
    pub offer: OfferedSlot,
    pub key: Option<KeyUse>,
    pub patient: BookPatient,
    /// `true` for an intent, which the booking rules bind. Requests of staff are not bound.
    pub by_rules: bool,
}

/// A change of an appointment to an offered slot.
#[derive(Clone, Debug)]
pub struct Reschedule {
    pub appointment: AppointmentId,
    pub appointment_type: Option<AppointmentTypeId>,
    /// The new slot. `closed` is for the type of the appointment.
    pub offer: OfferedSlot,
    pub key: Option<KeyUse>,
}

/// Several bookings as one request.
#[derive(Clone, Debug)]
pub struct BookGroup {
    /// The bookings, without idempotency keys.
    pub bookings: Vec<Book>,
    pub key: Option<KeyUse>,
}

/// Operatories and types that the practice closed to patients (`bookable_online`). Empty for staff, who may book
/// everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    pub operatories: BTreeSet<OperatoryId>,
    /// `true` if the requested appointment type is closed.
    pub appointment_type: bool,
}

/// A record that is created, changed or removed locally.
#[derive(Clone, Copy, Debug)]
pub struct Save {
    pub resource: Resource,
    pub id: u64,
    pub operation: Operation,
    pub ordering_key: OrderingKey,
    /// `true` if the record stays local.
    pub here_only: bool,
}

/// The contents of a failed write that is to be retried.
#[derive(Clone, Debug)]
pub struct Retry {
    pub write: WriteId,
    pub work: WriteIntent,
    pub ordering_key: OrderingKey,
    /// The write key, the same in every attempt.
    pub key: String,
    /// `true` if an earlier attempt was sent: the EHR is searched before the write is sent again.
    pub sent: bool,
    /// The contents of its record, if not in a document.
    pub what: Retried,
}

/// The part of a failed write's record that the state no longer has.
#[derive(Clone, Debug)]
pub enum Retried {
    /// Nothing: the record is in its document.
    Record,
    Hour(WorkingHour),
    Appointment(RetriedAppointment),
}

/// The appointment of a failed insert.
#[derive(Clone, Copy, Debug)]
pub struct RetriedAppointment {
    pub placement: Placement,
    pub appointment_type: Option<AppointmentTypeId>,
    pub patient: PatientId,
}

/// An idempotency key with the request that uses it.
#[derive(Clone, Debug)]
pub struct KeyUse {
    pub key: String,
    /// Digest of the request data.
    pub fingerprint: String,
    /// The location of the institution that has claimed the key, as recorded in the store.
    pub claimed_by: Option<LocationId>,
}

#[derive(Clone, Debug)]
pub struct BookPatient {
    pub id: PatientId,
    /// `true` if the patient does not exist in the data source yet and is created with this booking.
    pub is_new: bool,
    /// Fields that the EHR requires to create a patient and that the request lacks.
    pub missing_fields: Vec<String>,
    pub date_of_birth: Option<Date>,
}

/// A requested hold.
#[derive(Clone, Debug)]
pub struct Hold {
    /// The slot. The hold lasts for `BookingRules::hold`, however long the offer does.
    pub offer: OfferedSlot,
    /// Digest of the client's API key. A hold without it counts only towards the limit of the location.
    pub holder: Option<u64>,
}
