//! What can happen in a simulation, and how it is set up.

use location::{gate::Gate, pause::Directions, resource::Operation, settings::Quota, time::Millis};

/// What happens next in a simulation.
#[derive(Clone, Debug)]
pub enum Step {
    Book {
        slot: u8,
        patient: u8,
        key: u8,
        data: bool,
        new: bool,
        hold: u8,
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
    /// Hours are set, changed or removed here.
    Hour {
        which: u8,
        what: u8,
    },
    /// Staff change or remove hours that were set here.
    StaffHour {
        which: u8,
        what: u8,
    },
    /// An operator has a failed write tried again.
    Retry {
        which: u8,
    },
    /// An operator gives a write up.
    Drop {
        which: u8,
    },
    /// A call comes back, in one way or another.
    Answer {
        which: u8,
        how: How,
    },
    /// An answer that was given before comes once more, or for an attempt that never was.
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
    /// Time goes on to when something is due.
    UntilDue,
    Sync,
    /// The workstation gate turns, or is said to stand as it does.
    Gate(Gate),
    /// An operator pauses something, or resumes it.
    Pause(Directions, bool),
    Accept,
    Restart,
}

#[derive(Clone, Copy, Debug)]
pub enum How {
    /// Done, and said so.
    Well,
    /// Done, but the answer says that nobody knows.
    DoneUnknown,
    /// Done, but nobody ever hears of it.
    DoneSilent,
    /// Not done, and nobody knows.
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
    /// Whether staff change anything in the EHR.
    pub staff: bool,
}
