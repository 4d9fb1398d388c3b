//! The steps and settings of a simulation.

use location::{gate::Gate, pause::Directions, resource::Operation, settings::Quota, time::Millis};

/// One step of a simulation.
#[derive(Clone, Debug)]
pub enum SimStep {
    Book {
        slot: u8,
        patient: u8,
        key: u8,
        data: bool,
        new: bool,
        hold: u8,
    },
    /// Several bookings as one request, given by slot and patient.
    BookGroup {
        members: Vec<(u8, u8)>,
        key: u8,
        new: bool,
    },
    Hold {
        slot: u8,
        hold: u8,
    },
    Release {
        hold: u8,
    },
    Move {
        which: u8,
        slot: u8,
    },
    Cancel {
        which: u8,
    },
    Change {
        which: u8,
        slot: u8,
    },
    Save {
        patient: u8,
        record: u8,
        operation: Operation,
    },
    /// Local hours are created, changed or removed.
    Hour {
        which: u8,
        what: u8,
    },
    /// Staff change or remove local hours in the EHR.
    StaffHour {
        which: u8,
        what: u8,
    },
    /// An operator retries a failed write.
    Retry {
        which: u8,
    },
    /// An operator drops a write.
    Drop {
        which: u8,
    },
    /// A call returns.
    Answer {
        which: u8,
        how: How,
    },
    /// An earlier answer is repeated, also for an attempt that does not exist.
    Again {
        which: u8,
        off: bool,
    },
    Staff {
        which: u8,
        what: Staff,
        slot: u8,
    },
    Pass(Millis),
    /// Time advances to the next due time.
    UntilDue,
    Sync,
    /// A read of the appointments or, if `true`, a cycle is requested.
    Read(bool),
    /// A search by an intent.
    Intent,
    /// The workstation gate changes, or its state is repeated.
    Gate(Gate),
    /// An operator pauses or resumes a direction.
    Pause(Directions, bool),
    Accept,
    Restart,
}

#[derive(Clone, Copy, Debug)]
pub enum How {
    /// Done, with a successful answer.
    Well,
    /// Done, with an unknown outcome as the answer.
    DoneUnknown,
    /// Done, without an answer.
    DoneSilent,
    /// Not done, with an unknown outcome as the answer.
    Unknown,
    Silent,
    Rejected,
    RetryLater,
    NotReady,
    NotBegun,
    GateClosed,
    Unauthorized,
}

#[derive(Clone, Copy, Debug)]
pub enum Staff {
    Book,
    Move,
    Cancel,
    Delete,
}

#[derive(Clone, Debug)]
pub struct Variant {
    pub whole: bool,
    pub move_on_conflict: bool,
    pub concurrency: u8,
    pub quota: Quota,
    /// `false` if a move is an insert and a cancellation.
    pub moves: bool,
    /// `true` if staff change the EHR.
    pub staff: bool,
}
