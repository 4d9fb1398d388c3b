//! Slot search: free slots of a range of days, the next day that has one, and the check of a single slot.

use super::{
    free::{Free, Gaps},
    grid::Alignment,
    query::{Slot, SlotQuery},
    restrictions::Restrictions,
    windows::Windows,
};
use crate::{AppointmentTypeId, Calendar, Date, Holder, Span, Timestamp, WorkingHour, Zone};

/// Returns the slots that match the query, in order of start, provider and operatory.
///
/// Slots form a grid from the start of each merged window, including windows that began the evening before `from`. Slot
/// lengths are elapsed time, so gaps of the zone are never offered, and both passes of an overlap are.
pub fn free_slots<'a>(
    hours: impl IntoIterator<Item = &'a WorkingHour>,
    calendar: &Calendar,
    zone: &Zone,
    query: &SlotQuery,
) -> Vec<Slot> {
    restricted_slots(hours, calendar, zone, query, None)
}

/// Like `free_slots`, with the restrictions of booking rules.
pub(crate) fn restricted_slots<'a>(
    hours: impl IntoIterator<Item = &'a WorkingHour>,
    calendar: &Calendar,
    zone: &Zone,
    query: &SlotQuery,
    restrictions: Option<&Restrictions<'_>>,
) -> Vec<Slot> {
    if !query.problems().is_empty() {
        return Vec::new();
    }
    let Some(starts) = query.starts(zone) else { return Vec::new() };
    let hours: Vec<&WorkingHour> = hours.into_iter().filter(|hour| query.matches(hour)).collect();
    let last = zone.local_date(starts.end.plus(query.length));
    let windows = Windows::open(&hours, zone, query.from.add_days(-1), last, query.join_blocks);
    let gaps = Gaps::compute(&windows, calendar, starts, query.length, restrictions);
    let alignment = restrictions.and_then(|it| it.align).map(|step| Alignment { zone, step });
    let free = Free::within(&windows, &gaps, starts, query, alignment, restrictions.is_some());
    let mut slots = Vec::with_capacity(free.capacity().min(query.limit));
    let mut timeslot = 0; // index of the first slot of the current provider and start
    for slot in free {
        if restrictions.is_some_and(|it| !(it.allows)(&slot)) {
            continue;
        }
        let same_timeslot = |other: &Slot| (other.span, other.provider) == (slot.span, slot.provider);
        if slots.get(timeslot).is_some_and(|first| !same_timeslot(first)) {
            timeslot = close_timeslot(&mut slots, timeslot, query);
            if slots.len() >= query.limit {
                break;
            }
        }
        // Hours and unjoined blocks may both offer the slot.
        if slots.last() != Some(&slot) {
            slots.push(slot);
        }
    }
    close_timeslot(&mut slots, timeslot, query);
    slots.truncate(query.limit);
    slots
}

/// Applies the options of the query to the slots of one provider and start. Returns the index of the next group.
fn close_timeslot(slots: &mut Vec<Slot>, first: usize, query: &SlotQuery) -> usize {
    if slots.len() - first < usize::from(query.appointments_per_timeslot) {
        slots.truncate(first);
    } else if !query.overlapping_operatory_slots {
        slots.truncate(first + 1);
    }
    slots.len()
}

/// Returns the first local date with a free slot, among the `horizon_days` dates after those of the query.
pub fn next_available<'a>(
    hours: impl IntoIterator<Item = &'a WorkingHour>,
    calendar: &Calendar,
    zone: &Zone,
    query: &SlotQuery,
    horizon_days: u16,
) -> Option<Date> {
    let hours: Vec<&WorkingHour> = hours.into_iter().filter(|hour| query.matches(hour)).collect();
    let search = |query: &SlotQuery| free_slots(hours.iter().copied(), calendar, zone, query);
    next_available_by(search, zone, query, horizon_days)
}

/// Like `next_available`, with the slots of `search`.
pub(crate) fn next_available_by(
    search: impl Fn(&SlotQuery) -> Vec<Slot>,
    zone: &Zone,
    query: &SlotQuery,
    horizon_days: u16,
) -> Option<Date> {
    /// Days per step. Most searches end in the first weeks, without computing the whole horizon.
    const STEP: u16 = 28;
    let mut next = SlotQuery { from: query.from.add_days(i32::from(query.days)), limit: 1, ..query.clone() };
    let mut left = horizon_days;
    while left > 0 {
        next.days = left.min(STEP);
        if !next.problems().is_empty() {
            return None;
        }
        if let Some(slot) = search(&next).first() {
            return Some(zone.local_date(slot.span.start));
        }
        left -= next.days;
        next.from = next.from.add_days(i32::from(next.days));
    }
    None
}

/// A slot to book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedSlot {
    pub slot: Slot,
    pub appointment_type: Option<AppointmentTypeId>,
    /// `true` if schedulable blocks join synced hours (v3.0.0 and later).
    pub join_blocks: bool,
    /// Holders that do not count as busy: the hold in use, or both placements of an appointment that moves.
    pub own: Vec<Holder>,
}

/// The result of checking a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    Free,
    OutsideHours,
    /// The slot is within hours, but not within those that accept the type.
    TypeNotAccepted,
    Busy(Holder),
}

/// Checks if a slot can be booked. The slot need not be on a grid.
pub fn fits<'a>(
    hours: impl IntoIterator<Item = &'a WorkingHour>,
    calendar: &Calendar,
    zone: &Zone,
    requested: &RequestedSlot,
) -> Fit {
    let Slot { span, provider, operatory } = requested.slot;
    let here = |hour: &&WorkingHour| hour.active && hour.provider == provider && hour.operatory == operatory;
    let mut hours: Vec<&WorkingHour> = hours.into_iter().filter(here).collect();
    if !covers(&hours, zone, span, requested.join_blocks) {
        return Fit::OutsideHours;
    }
    let all = hours.len();
    hours.retain(|hour| hour.accepts(requested.appointment_type));
    if hours.len() < all && !covers(&hours, zone, span, requested.join_blocks) {
        return Fit::TypeNotAccepted;
    }
    let others = |holder: &Holder| !requested.own.contains(holder);
    let busy = calendar.busy(operatory, provider, span).map(|entry| entry.holder).filter(others);
    // Prefers a permanent holder to one that is being vacated.
    let busy = busy.min_by_key(|holder| matches!(holder, Holder::Vacating(_)));
    busy.map_or(Fit::Free, Fit::Busy)
}

fn covers(hours: &[&WorkingHour], zone: &Zone, span: Span, join_blocks: bool) -> bool {
    if span.start >= span.end || span.length() > *SlotQuery::LENGTHS.end() {
        return false;
    }
    let (first, last) = (zone.local_date(span.start).add_days(-1), zone.local_date(span.end));
    let windows = Windows::open(hours, zone, first, last, join_blocks);
    windows.runs.iter().flat_map(|run| windows.spans_for(run)).any(|window| window.contains(span))
}

/// Returns up to `count` slots of `search` of the wanted length, one per provider and start, without those that
/// conflict with other slots of the same request. Slots of the same provider come first, then the others, each in order
/// of distance.
pub fn nearest_by(
    search: impl Fn(&SlotQuery) -> Vec<Slot>,
    zone: &Zone,
    requested: &RequestedSlot,
    not_before: Timestamp,
    count: usize,
    others: &[Slot],
) -> Vec<Slot> {
    /// Days before and after. Each larger radius is searched only if the smaller one has too few slots.
    const RADII: [u16; 3] = [3, 14, 60];
    let Slot { span, provider, .. } = requested.slot;
    let mut found = Vec::new();
    for radius in RADII {
        let query = SlotQuery {
            from: zone.local_date(span.start).add_days(-i32::from(radius)),
            days: 2 * radius + 1,
            length: span.length(),
            interval: None,
            appointment_type: requested.appointment_type,
            providers: Vec::new(),
            operatories: Vec::new(),
            source: None,
            hours: None,
            join_blocks: requested.join_blocks,
            // Another slot of the request may take the first operatory.
            overlapping_operatory_slots: !others.is_empty(),
            appointments_per_timeslot: 1,
            not_before,
            limit: usize::MAX,
        };
        found = search(&query);
        found.retain(|slot| !others.iter().any(|other| other.conflicts_with(slot)));
        found.dedup_by_key(|slot| (slot.span, slot.provider));
        found.retain(|slot| *slot != requested.slot);
        if found.len() >= count {
            break;
        }
    }
    // Stable sort: slots of equal rank stay in order of start, provider and operatory.
    found.sort_by_key(|slot| (slot.provider != provider, slot.span.start.since(span.start).abs()));
    found.truncate(count);
    found
}
