//! The search: free slots of some days, the next day that has one, and whether one slot can be booked.

use super::{
    free::{Free, Gaps},
    query::{Slot, SlotQuery},
    windows::Windows,
};
use crate::{
    ids::AppointmentTypeId,
    schedule::{
        calendar::{Calendar, Holder},
        hours::WorkingHour,
        zone::{Date, Zone},
    },
    time::{Span, Timestamp},
};

/// All slots the query asks for, in order of start, provider and operatory.
///
/// Slots stand on a grid from the start of each merged window, windows of the evening before `from` included. Their length
/// is time that really passes, so gaps of the zone are never offered and both passes of an overlap are.
pub fn free_slots<'a>(
    hours: impl IntoIterator<Item = &'a WorkingHour>,
    calendar: &Calendar,
    zone: &Zone,
    query: &SlotQuery,
) -> Vec<Slot> {
    let hours: Vec<&WorkingHour> = hours.into_iter().filter(|hour| query.asks_for(hour)).collect();
    if !query.problems().is_empty() { Vec::new() } else { slots_within(&hours, calendar, zone, query) }
}

/// `free_slots` for a valid query and the hours it asks for.
fn slots_within(hours: &[&WorkingHour], calendar: &Calendar, zone: &Zone, query: &SlotQuery) -> Vec<Slot> {
    let Some(starts) = query.starts(zone) else { return Vec::new() };
    let last = zone.local_date(starts.end.plus(query.length));
    let windows = Windows::open(hours, zone, query.from.add_days(-1), last, query.join_blocks);
    let gaps = Gaps::of(&windows, calendar, starts, query.length);
    let mut slots = Vec::new();
    let mut timeslot = 0; // where the slots of the last provider and start begin
    for slot in Free::within(&windows, &gaps, starts, query) {
        let same_timeslot = |other: &Slot| (other.span, other.provider) == (slot.span, slot.provider);
        if slots.get(timeslot).is_some_and(|first| !same_timeslot(first)) {
            timeslot = close_timeslot(&mut slots, timeslot, query);
            if slots.len() >= query.limit {
                break;
            }
        }
        // Hours and blocks that do not join may both offer it.
        if slots.last() != Some(&slot) {
            slots.push(slot);
        }
    }
    close_timeslot(&mut slots, timeslot, query);
    slots.truncate(query.limit);
    slots
}

/// Keeps of one provider's slots of the same start those to be offered; tells where the next ones begin.
fn close_timeslot(slots: &mut Vec<Slot>, first: usize, query: &SlotQuery) -> usize {
    if slots.len() - first < usize::from(query.appointments_per_timeslot) {
        slots.truncate(first);
    } else if !query.overlapping_operatory_slots {
        slots.truncate(first + 1);
    }
    slots.len()
}

/// The first local date after the query's days, at most `horizon_days` after them, that has a free slot.
pub fn next_available<'a>(
    hours: impl IntoIterator<Item = &'a WorkingHour>,
    calendar: &Calendar,
    zone: &Zone,
    query: &SlotQuery,
    horizon_days: u16,
) -> Option<Date> {
    /// Most searches end in the first weeks; those that do not should not pay for the whole horizon at once.
    const STEP: u16 = 28;
    let hours: Vec<&WorkingHour> = hours.into_iter().filter(|hour| query.asks_for(hour)).collect();
    let mut next = SlotQuery { from: query.from.add_days(i32::from(query.days)), limit: 1, ..query.clone() };
    let mut left = horizon_days;
    while left > 0 {
        next.days = left.min(STEP);
        if !next.problems().is_empty() {
            return None;
        }
        if let Some(slot) = slots_within(&hours, calendar, zone, &next).first() {
            return Some(zone.local_date(slot.span.start));
        }
        left -= next.days;
        next.from = next.from.add_days(i32::from(next.days));
    }
    None
}

/// A slot someone wants to book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The slot.
    pub slot: Slot,
    /// The appointment type, if known.
    pub appointment_type: Option<AppointmentTypeId>,
    /// `true` if schedulable blocks join synced hours (v3.0.0 and later).
    pub join_blocks: bool,
    /// What does not count as busy: the hold that is being used, or both places of an appointment that moves.
    pub own: Vec<Holder>,
}

/// Whether a slot can be booked, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It can be booked.
    Free,
    /// It lies outside of working hours.
    OutsideHours,
    /// Within hours, but not within those that accept the type.
    TypeNotAccepted,
    /// Somebody has it.
    Busy(Holder),
}

/// Whether a slot can be booked. It need not stand on any grid.
pub fn fits<'a>(
    hours: impl IntoIterator<Item = &'a WorkingHour>,
    calendar: &Calendar,
    zone: &Zone,
    wanted: &Wanted,
) -> Fit {
    let Slot { span, provider, operatory } = wanted.slot;
    let here = |hour: &&WorkingHour| hour.active && hour.provider == provider && hour.operatory == operatory;
    let mut hours: Vec<&WorkingHour> = hours.into_iter().filter(here).collect();
    if !covers(&hours, zone, span, wanted.join_blocks) {
        return Fit::OutsideHours;
    }
    hours.retain(|hour| hour.accepts(wanted.appointment_type));
    if !covers(&hours, zone, span, wanted.join_blocks) {
        return Fit::TypeNotAccepted;
    }
    let others = |holder: &Holder| !wanted.own.contains(holder);
    let busy = calendar.busy(operatory, provider, span).map(|entry| entry.holder).filter(others);
    // Of several the one that stays.
    let busy = busy.min_by_key(|holder| matches!(holder, Holder::Vacating(_)));
    busy.map_or(Fit::Free, Fit::Busy)
}

fn covers(hours: &[&WorkingHour], zone: &Zone, span: Span, join_blocks: bool) -> bool {
    if span.start >= span.end || span.length() > *SlotQuery::LENGTHS.end() {
        return false;
    }
    let (first, last) = (zone.local_date(span.start).add_days(-1), zone.local_date(span.end));
    let windows = Windows::open(hours, zone, first, last, join_blocks);
    windows.runs.iter().flat_map(|run| windows.of(run)).any(|window| window.contains(span))
}

/// Up to `count` free slots in place of a taken one, of the same length: first those of the same provider, then the others',
/// each nearest in time first. One per provider and start.
pub fn nearest<'a>(
    hours: impl IntoIterator<Item = &'a WorkingHour>,
    calendar: &Calendar,
    zone: &Zone,
    wanted: &Wanted,
    not_before: Timestamp,
    count: usize,
) -> Vec<Slot> {
    /// Days to either side. Further away is searched only when the nearer days have too few.
    const RADII: [u16; 3] = [3, 14, 60];
    let hours: Vec<&WorkingHour> = hours.into_iter().collect();
    let Slot { span, provider, .. } = wanted.slot;
    let mut found = Vec::new();
    for radius in RADII {
        let query = SlotQuery {
            from: zone.local_date(span.start).add_days(-i32::from(radius)),
            days: 2 * radius + 1,
            length: span.length(),
            interval: None,
            appointment_type: wanted.appointment_type,
            providers: Vec::new(),
            operatories: Vec::new(),
            source: None,
            hours: None,
            join_blocks: wanted.join_blocks,
            overlapping_operatory_slots: false,
            appointments_per_timeslot: 1,
            not_before,
            limit: usize::MAX,
        };
        found = free_slots(hours.iter().copied(), calendar, zone, &query);
        found.retain(|slot| *slot != wanted.slot);
        if found.len() >= count {
            break;
        }
    }
    // Stable, so that equally good ones stay in order of start, provider and operatory.
    found.sort_by_key(|slot| (slot.provider != provider, slot.span.start.since(span.start).abs()));
    found.truncate(count);
    found
}
