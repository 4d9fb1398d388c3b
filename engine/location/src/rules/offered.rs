//! Slots of a query that booking rules offer.

use std::cell::RefCell;

use super::{
    candidate::{Candidate, Companion},
    day_load::DayLoad,
    judge::Bounds,
    rule_set::RulesInForce,
};
use crate::{
    Calendar, Date, Holder, Location, Slot, SlotQuery, Timestamp, WorkingHour,
    command::{Closed, OfferedSlot},
    schedule::{
        calendar::Entry,
        slots::{RequestedSlot, Restrictions, free_slots, nearest_by, next_available_by, restricted_slots},
    },
};

impl Location {
    /// Returns the slots of a query that `judge` offers to a caller without patient, in order of start, provider and
    /// operatory. With an alignment, the grid of each window begins at the first aligned start and the interval is
    /// rounded up to a multiple of the alignment. Without rules these are the free slots.
    pub fn offered_slots(
        &self,
        now: Timestamp,
        query: &SlotQuery,
        closed: &Closed,
        channel: Option<&str>,
    ) -> Vec<Slot> {
        if closed.appointment_type || !self.has_read_schedule() {
            return Vec::new();
        }
        let in_force = self.settings.rules.in_force(query.appointment_type, channel);
        self.offered(now, query, &self.open_hours(closed), &in_force, &self.state.calendar, &[])
    }

    /// Returns the first local date with an offered slot, among the `horizon_days` dates after those of the query.
    pub fn next_offered(
        &self,
        now: Timestamp,
        query: &SlotQuery,
        closed: &Closed,
        channel: Option<&str>,
        horizon_days: u16,
    ) -> Option<Date> {
        if closed.appointment_type || !self.has_read_schedule() {
            return None;
        }
        let hours = self.open_hours(closed);
        let in_force = self.settings.rules.in_force(query.appointment_type, channel);
        let search = |query: &SlotQuery| self.offered(now, query, &hours, &in_force, &self.state.calendar, &[]);
        next_available_by(search, &self.settings.zone, query, horizon_days)
    }

    /// Returns the free slots nearest to a refused one, next to the other visits of the request. Those of an intent
    /// obey the booking rules. An appointment that moves does not count as taken, unless its EHR replaces appointments
    /// and thus keeps the old one until it has the new one. The present place is no alternative.
    pub(crate) fn alternatives(
        &self,
        now: Timestamp,
        requested: &RequestedSlot,
        intent: Option<&OfferedSlot>,
        others: &[Companion],
    ) -> Vec<Slot> {
        let (rules, zone) = (&self.settings.rules, &self.settings.zone);
        let nothing = Closed::default();
        let (closed, channel) = intent.map_or((&nothing, None), |offer| (&offer.closed, offer.channel.as_deref()));
        let hours = self.open_hours(closed);
        let in_force =
            intent.filter(|_| !rules.is_neutral()).map(|_| rules.in_force(requested.appointment_type, channel));
        // A hold stays taken, because an alternative has another token.
        let moving: Vec<Holder> =
            requested.own.iter().copied().filter(|holder| !matches!(holder, Holder::Hold(_))).collect();
        let capabilities = &self.settings.capabilities;
        let is_vacated = !capabilities.integrated || capabilities.reschedules;
        let calendar = self.state.calendar.without(if is_vacated { &moving[..] } else { &[] });
        let present = moving.iter().find_map(|holder| match holder {
            Holder::Appointment(id) => {
                self.state.appointments.get(id).and_then(|it| Slot::from_placement(&it.placement))
            }
            Holder::Vacating(_) | Holder::Hold(_) => None,
        });
        let search = |query: &SlotQuery| {
            // The present place must not hide the same time in another operatory.
            let overlapping_operatory_slots = query.overlapping_operatory_slots || present.is_some();
            let query = SlotQuery { overlapping_operatory_slots, ..query.clone() };
            let mut found = match &in_force {
                Some(in_force) => self.offered(now, &query, &hours, in_force, &calendar, &moving),
                None => free_slots(hours.iter().copied(), &calendar, zone, &query),
            };
            found.retain(|slot| Some(*slot) != present);
            found
        };
        let count = usize::from(self.settings.booking.alternatives);
        let slots: Vec<Slot> = others.iter().map(|other| other.slot).collect();
        // The rules may refuse some of them because of the other visits.
        let margin = if in_force.is_some() { others.len().saturating_mul(count) } else { 0 };
        let mut found = nearest_by(search, zone, requested, now, count.saturating_add(margin), &slots);
        if let Some(in_force) = in_force.as_ref().filter(|_| !others.is_empty()) {
            let RequestedSlot { appointment_type, join_blocks, ref own, .. } = *requested;
            found.retain(|slot| {
                let (slot, own) = (*slot, own.clone());
                let patient = None;
                let also_taken = others;
                let candidate =
                    Candidate { slot, appointment_type, join_blocks, own, closed, channel, patient, also_taken };
                self.slot_reason(now, in_force, &candidate).is_none()
            });
        }
        found.truncate(count);
        found
    }

    /// Returns the working hours in operatories that are open to patients.
    fn open_hours(&self, closed: &Closed) -> Vec<&WorkingHour> {
        let is_closed = |hour: &&WorkingHour| hour.operatory.is_some_and(|id| closed.operatories.contains(&id));
        self.hours().filter(|hour| !is_closed(hour)).collect()
    }

    /// Returns the slots of a query that are free in a calendar and that the rules offer. The visits of `moving` do not
    /// count towards daily caps.
    fn offered(
        &self,
        now: Timestamp,
        query: &SlotQuery,
        hours: &[&WorkingHour],
        in_force: &RulesInForce<'_>,
        calendar: &Calendar,
        moving: &[Holder],
    ) -> Vec<Slot> {
        let (zone, rules) = (&self.settings.zone, &in_force.rules);
        let query = SlotQuery { not_before: query.not_before.max(now), ..query.clone() };
        if in_force.is_neutral() {
            return free_slots(hours.iter().copied(), calendar, zone, &query);
        }
        let bounds = Bounds::new(rules, zone, now);
        let Some(query) = within_bounds(query, &bounds, zone.day(bounds.first_after_cutoff).start) else {
            return Vec::new();
        };
        // One day of margin, because windows of the eve reach into the first day and slots into the day after the last.
        let first = query.from.add_days(-1);
        let last = query.from.add_days(i32::from(query.days) + 1);
        let is_near = |from: Date, to: Date| from <= last && first <= to;
        let near = rules.closures.iter().filter(|closure| is_near(closure.from, closure.to));
        let closed = near.filter_map(|closure| closure.span(zone)).collect();
        let has_caps = rules.caps().any() || rules.type_caps.any();
        let counted: RefCell<Option<DayLoad>> = RefCell::new(None);
        let allows = |slot: &Slot| {
            let date = zone.local_date(slot.span.start);
            if bounds.reason(slot.span.start, date).is_some() {
                return false;
            }
            if !has_caps {
                return true;
            }
            let mut counted = counted.borrow_mut();
            let day = match counted.take().filter(|day| day.date == date) {
                Some(day) => day,
                None => DayLoad::count(&self.state, zone, date, rules, query.appointment_type, moving),
            };
            let exceeds = day.exceeds(rules, slot);
            *counted = Some(day);
            !exceeds
        };
        let occupied = |entry: &Entry| match in_force.longest_buffer {
            0 => entry.span,
            _ => self.span_with_buffers(in_force, entry),
        };
        let restrictions = Restrictions {
            align: rules.alignment(),
            reach: in_force.longest_buffer,
            occupied: &occupied,
            closed,
            allows: &allows,
        };
        restricted_slots(hours.iter().copied(), calendar, zone, &query, Some(&restrictions))
    }
}

/// Narrows a query to the dates that notice, cutoff and horizon allow. Returns `None` if none is left. `allows` still
/// checks the date of each slot, because a clock change at midnight may repeat the end of a day.
fn within_bounds(query: SlotQuery, bounds: &Bounds, first_start: Timestamp) -> Option<SlotQuery> {
    let not_before = query.not_before.max(bounds.earliest).max(first_start);
    let days = bounds.last.add_days(2).days_since(query.from).min(i64::from(query.days));
    let days = u16::try_from(days).ok().filter(|days| *days > 0)?;
    Some(SlotQuery { days, not_before, ..query })
}
