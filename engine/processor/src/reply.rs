//! Replies shared by several requests. Other replies are in the file of their request in `commands`.

use location::{Date, Slot, Timestamp};

#[derive(Clone, Debug)]
pub struct Saved<T> {
    pub record: T,
    /// The record was saved by an earlier request with the same idempotency key or number.
    pub replay: bool,
    /// The record existed before.
    pub existing: bool,
    /// Warnings for the client of a successful request.
    pub warnings: Vec<String>,
}

impl<T> Saved<T> {
    pub fn new(record: T) -> Saved<T> {
        Saved { record, replay: false, existing: false, warnings: Vec::new() }
    }
}

/// The booking rules that bind a search for slots.
#[derive(Clone, Debug)]
pub enum SlotRules {
    /// The available slots of the specification, without booking rules.
    None,
    /// The booking rules of the location for a channel.
    Booking { channel: Option<String> },
}

/// Groups of free slots of a location, one for each start that has one.
pub struct FreeGroups {
    pub groups: Vec<Vec<Slot>>,
    /// First date after the query on which a group may start, within the horizon. Searched only if there are no groups.
    pub next_possible_date: Option<Date>,
    /// Time of the last read of the EHR, if it was long ago.
    pub old_read: Option<Timestamp>,
}

/// Free slots of a location, and the facts needed to show them.
pub struct FreeSlots {
    pub slots: Vec<Slot>,
    /// First later date with a slot, within the horizon. Searched only if there are no slots.
    pub next_available_date: Option<Date>,
    /// `false` if no active working hours match.
    pub any_hours: bool,
    /// Time of the last read of the EHR, if it was long ago.
    pub old_read: Option<Timestamp>,
}
