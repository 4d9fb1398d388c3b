//! Replies that requests of several kinds share. What one kind alone answers stands with it in `commands`.

use location::{slots::Slot, time::Timestamp, zone::Date};

/// A saved record.
#[derive(Clone, Debug)]
pub struct Saved<T> {
    pub record: T,
    /// The answer of an earlier request with the same idempotency key, or the record that has the number already.
    pub replay: bool,
    /// It was there before.
    pub existing: bool,
    /// What the client should know though the request worked.
    pub warnings: Vec<String>,
}

impl<T> Saved<T> {
    pub fn of(record: T) -> Saved<T> {
        Saved { record, replay: false, existing: false, warnings: Vec::new() }
    }
}

/// Free slots of a location with what is needed to show them.
pub struct FreeSlots {
    pub slots: Vec<Slot>,
    /// First later date with a slot, within the horizon; looked for only when there are no slots.
    pub next_available_date: Option<Date>,
    /// False: no active working hours match at all.
    pub any_hours: bool,
    /// When the practice's system was read last, where that is long ago.
    pub old_read: Option<Timestamp>,
}
