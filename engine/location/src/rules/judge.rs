//! The decision about a candidate time.

use super::{
    candidate::{Candidate, Companion, PatientFacts},
    day_load::DayLoad,
    reason::Reason,
    rule_set::RulesInForce,
    visit_rules::VisitRules,
};
use crate::{
    AppointmentId, CalendarAppointment, Date, Holder, Insert, Location, MINUTE, Millis, SECOND, Slot, Span, Timestamp,
    Zone,
    schedule::{
        calendar::Entry,
        slots::{Fit, RequestedSlot, fits},
    },
};

impl Location {
    /// Decides a candidate time: the first reason against it, or `Offered`. The only place that contains a rule.
    pub fn judge(&self, now: Timestamp, candidate: &Candidate<'_>) -> Reason {
        let in_force = self.settings.rules.in_force(candidate.appointment_type, candidate.channel);
        self.placement_reason(candidate)
            .or_else(|| self.slot_reason(now, &in_force, candidate))
            .or_else(|| patient_reason(&in_force.rules, &self.settings.zone, candidate))
            .unwrap_or(Reason::Offered)
    }

    /// Returns the notice that a visit requires if it is too late to cancel or to reschedule it through an intent.
    pub fn change_too_late(
        &self,
        now: Timestamp,
        appointment: AppointmentId,
        for_cancel: bool,
        channel: Option<&str>,
    ) -> Option<Millis> {
        let rules = &self.settings.rules;
        let appointment = self.state.appointments.get(&appointment).filter(|_| !rules.is_neutral())?;
        let rules = rules.effective(appointment.appointment_type, channel);
        let notice = if for_cancel { rules.cancel_notice } else { rules.reschedule_notice };
        (appointment.placement.span.start.since(now) < notice).then_some(notice)
    }

    /// Returns the reason of the schedule against a candidate, apart from booking rules.
    fn placement_reason(&self, candidate: &Candidate<'_>) -> Option<Reason> {
        if !self.has_read_schedule() {
            return Some(Reason::ScheduleNotRead);
        }
        let Candidate { slot, appointment_type, join_blocks, closed, .. } = candidate;
        let requested = RequestedSlot {
            slot: *slot,
            appointment_type: *appointment_type,
            join_blocks: *join_blocks,
            own: candidate.own.clone(),
        };
        match fits(self.hours(), &self.state.calendar, &self.settings.zone, &requested) {
            Fit::OutsideHours => Some(self.reason_outside_hours(slot)),
            Fit::TypeNotAccepted => Some(Reason::TypeNotOfferedHere),
            Fit::Free | Fit::Busy(_) if closed.appointment_type => Some(Reason::TypeNotBookableOnline),
            Fit::Free | Fit::Busy(_) if slot.operatory.is_some_and(|id| closed.operatories.contains(&id)) => {
                Some(Reason::OperatoryNotBookableOnline)
            }
            Fit::Busy(_) => Some(self.reason_of_busy(candidate)),
            Fit::Free => {
                let taken = candidate.conflicting_slots().any(|other| other.span.overlaps(slot.span));
                taken.then(|| self.reason_of_busy(candidate))
            }
        }
    }

    fn reason_outside_hours(&self, slot: &Slot) -> Reason {
        let zone = &self.settings.zone;
        let date = zone.local_date(slot.span.start);
        let (day, eve) = (zone.day(date), date.add_days(-1));
        let mut works = self.hours().filter(|hour| hour.provider == slot.provider).filter(|hour| {
            // Hours of the eve may end on this day.
            let applies = |on: Date| hour.applies_on(on) && hour.span_on(zone, on).is_some_and(|it| it.overlaps(day));
            applies(date) || applies(eve)
        });
        if works.next().is_some() {
            return Reason::OutsideHours;
        }
        let mut hours = self.state.hours.values().filter(|hour| hour.provider == slot.provider).peekable();
        let is_inactive = hours.peek().is_some() && hours.all(|hour| !hour.active);
        if is_inactive { Reason::ProviderInactive } else { Reason::NoWorkingHours }
    }

    /// Returns the reason of the entry at the start. If the start is free, the gap is too short.
    fn reason_of_busy(&self, candidate: &Candidate<'_>) -> Reason {
        let Slot { span, provider, operatory } = candidate.slot;
        let first = Span { start: span.start, end: span.start.plus(1) };
        let others = self.state.calendar.busy(operatory, provider, first);
        let others = others.filter(|entry| !candidate.own.contains(&entry.holder));
        let reasons = others.map(|entry| match entry.holder {
            Holder::Hold(_) => Reason::Held,
            Holder::Appointment(id) if self.is_block(id) => Reason::Blocked,
            Holder::Appointment(_) | Holder::Vacating(_) => Reason::Taken,
        });
        let of_request =
            candidate.conflicting_slots().filter(|other| other.span.overlaps(first)).map(|_| Reason::Taken);
        reasons.chain(of_request).min().unwrap_or(Reason::TooShort)
    }

    fn is_block(&self, id: AppointmentId) -> bool {
        self.state.appointments.get(&id).is_some_and(|it| it.unavailable)
    }

    /// Returns the booking rule that refuses a time that is free, apart from rules about patients.
    pub(crate) fn slot_reason(
        &self,
        now: Timestamp,
        in_force: &RulesInForce<'_>,
        candidate: &Candidate<'_>,
    ) -> Option<Reason> {
        let (slot, zone, rules) = (&candidate.slot, &self.settings.zone, &in_force.rules);
        if slot.span.start < now {
            return Some(Reason::TooSoon);
        }
        if in_force.is_neutral() {
            return None;
        }
        let date = zone.local_date(slot.span.start);
        if let Some(reason) = Bounds::new(rules, zone, now).reason(slot.span.start, date) {
            return Some(reason);
        }
        if in_force.longest_buffer > 0 && self.is_in_buffer(in_force, candidate) {
            return Some(Reason::Buffer);
        }
        if rules.caps().any() || rules.type_caps.any() {
            let appointment_type = candidate.appointment_type;
            let mut load = DayLoad::count(&self.state, zone, date, rules, appointment_type, &candidate.own);
            load.add_visits(candidate.also_taken, appointment_type);
            if load.exceeds(rules, slot) {
                return Some(Reason::DailyCap);
            }
        }
        let last = zone.local_date(slot.span.end);
        if rules.closures.iter().any(|closure| closure.overlaps(zone, slot.span, date, last)) {
            return Some(Reason::Closed);
        }
        let misaligned = rules.alignment().is_some_and(|align| !is_aligned(zone, slot.span.start, align));
        misaligned.then_some(Reason::NotAligned)
    }

    /// Returns `true` if another visit in the column of the candidate is closer than the buffers of both allow.
    fn is_in_buffer(&self, in_force: &RulesInForce<'_>, candidate: &Candidate<'_>) -> bool {
        let (slot, reach) = (&candidate.slot, in_force.longest_buffer);
        let around = Span { start: slot.span.start.minus(reach), end: slot.span.end.plus(reach) };
        let others = self.state.calendar.overlapping(slot.column(), around);
        let mut others = others.filter(|entry| !candidate.own.contains(&entry.holder));
        let own = (in_force.rules.buffer_before, in_force.rules.buffer_after);
        let is_near = |other: &Companion| {
            let is_same = other.appointment_type == candidate.appointment_type;
            let other_buffers =
                if is_same { own } else { in_force.buffers_of(other.appointment_type, candidate.channel) };
            other.slot.column() == slot.column()
                && with_buffers(other.slot.span, other_buffers, own).overlaps(slot.span)
        };
        others.any(|entry| self.span_with_buffers(in_force, entry).overlaps(slot.span))
            || candidate.also_taken.iter().any(is_near)
    }

    /// Returns the span in which an entry prevents visits in its column: with the buffers of its visit and of the new
    /// one. Appointments of the EHR have no buffers, and blocks of unavailable time need none.
    pub(super) fn span_with_buffers(&self, in_force: &RulesInForce<'_>, entry: &Entry) -> Span {
        let new = (in_force.rules.buffer_before, in_force.rules.buffer_after);
        let entry_buffers = match entry.holder {
            Holder::Hold(id) => {
                let hold = self.state.holds.get(&id);
                in_force.set.buffers(hold.and_then(|hold| hold.appointment_type))
            }
            Holder::Appointment(id) | Holder::Vacating(id) => match self.state.appointments.get(&id) {
                Some(CalendarAppointment { unavailable: true, .. }) => return entry.span,
                Some(CalendarAppointment { insert: Insert::Done | Insert::Pending, appointment_type, .. }) => {
                    in_force.set.buffers(*appointment_type)
                }
                Some(CalendarAppointment { insert: Insert::Pulled, .. }) | None => (0, 0),
            },
        };
        with_buffers(entry.span, entry_buffers, new)
    }
}

/// Extends the span of a visit by the longer buffer on each side: its own, and that of a new visit there.
fn with_buffers(visit: Span, own: (Millis, Millis), new: (Millis, Millis)) -> Span {
    Span { start: visit.start.minus(own.0.max(new.1)), end: visit.end.plus(own.1.max(new.0)) }
}

/// Returns `PatientNotEligible` if the patient may not book the visit.
pub(crate) fn patient_reason(rules: &VisitRules, zone: &Zone, candidate: &Candidate<'_>) -> Option<Reason> {
    let PatientFacts { is_new, date_of_birth } = candidate.patient?;
    let allowed = if is_new { rules.new_patients } else { rules.known_patients };
    let age = date_of_birth.map(|born| age_on(zone.local_date(candidate.slot.span.start), born));
    let too_young = age.zip(rules.age_min).is_some_and(|(age, least)| age < i32::from(least));
    let too_old = age.zip(rules.age_max).is_some_and(|(age, most)| age > i32::from(most));
    (!allowed || too_young || too_old).then_some(Reason::PatientNotEligible)
}

/// Returns the age in full years. A birthday on February 29 is on March 1 in other years.
fn age_on(date: Date, born: Date) -> i32 {
    let ((year, month, day), (born_year, born_month, born_day)) = (date.ymd(), born.ymd());
    year - born_year - i32::from((month, day) < (born_month, born_day))
}

/// Returns `true` if local clocks show a multiple of `align` after the full hour.
fn is_aligned(zone: &Zone, at: Timestamp, align: Millis) -> bool {
    let (_, offset) = zone.period(at);
    at.plus(offset).0.rem_euclid(align) == 0
}

/// The starts that notice, cutoff and horizon allow.
pub(super) struct Bounds {
    pub(super) earliest: Timestamp,
    /// The first bookable date without the cutoff.
    first: Date,
    /// The first bookable date.
    pub(super) first_after_cutoff: Date,
    pub(super) last: Date,
}

impl Bounds {
    pub(super) fn new(rules: &VisitRules, zone: &Zone, now: Timestamp) -> Bounds {
        let (today, second) = zone.local(now);
        let cut = rules.cutoff.is_some_and(|minute| i64::from(second) * SECOND >= i64::from(minute) * MINUTE);
        let first = today.add_days(rules.minimum_notice_days.into());
        Bounds {
            earliest: now.plus(rules.minimum_notice),
            first,
            first_after_cutoff: first.add_days(i32::from(cut)),
            last: today.add_days(rules.horizon_days.into()),
        }
    }

    /// Returns the reason against a start on a local date.
    pub(super) fn reason(&self, start: Timestamp, date: Date) -> Option<Reason> {
        if start < self.earliest || date < self.first {
            Some(Reason::TooSoon)
        } else if date < self.first_after_cutoff {
            Some(Reason::AfterCutoff)
        } else {
            (date > self.last).then_some(Reason::BeyondHorizon)
        }
    }
}
