//! Restrictions of a slot search in addition to working hours and the calendar.

use super::query::Slot;
use crate::{
    Calendar, Millis, Span,
    schedule::calendar::{Column, Entry},
};

/// Restrictions of a slot search, from booking rules.
pub(crate) struct Restrictions<'a> {
    /// Alignment of starts from the full local hour, a divisor of an hour. The interval of slots is rounded up to a
    /// multiple of it.
    pub(crate) align: Option<Millis>,
    /// The longest time by which `occupied` extends an entry.
    pub(crate) reach: Millis,
    /// Returns the span in which an entry in the column of a slot prevents it.
    pub(crate) occupied: &'a dyn Fn(&Entry) -> Span,
    /// Spans without slots.
    pub(crate) closed: Vec<Span>,
    /// Returns `true` if a slot may be offered.
    pub(crate) allows: &'a dyn Fn(&Slot) -> bool,
}

impl Restrictions<'_> {
    /// Collects the spans of a column without slots, in order of start.
    pub(super) fn occupy(&self, column: Column, calendar: &Calendar, whole: Span, occupied: &mut Vec<Span>) {
        let wide = Span { start: whole.start.minus(self.reach), end: whole.end.plus(self.reach) };
        occupied.clear();
        occupied.extend(calendar.overlapping(column, wide).map(self.occupied));
        occupied.extend(self.closed.iter().copied());
        occupied.sort_unstable();
    }
}
