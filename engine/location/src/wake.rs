//! The timer of a location: its next due time, and the work that is due.

use std::collections::BTreeSet;

use crate::{
    AppointmentId, Call, Decision, DecisionContext, Event, HOUR, Holder, Location, Millis, OrderingKey, Placement,
    Reply, Slot, Timestamp, WriteId, WriteIntent,
    event::{InsertFailure, MoveReason, SLOT_LOST, TOO_LATE},
    random::mix,
    schedule::slots::{Fit, RequestedSlot, fits},
    settings::ConflictRule,
    sync::page::PulledAppointment,
    writes::{intent::CallKind, queue::Write},
};

/// Maximum writes that one decision ends. Each changes its record and those that depend on it, and the commit delays
/// other requests. The rest is due at once.
const ENDED_AT_ONCE: usize = 32;

impl Location {
    /// Handles everything due at `now`. Expiries come first and alone, then conflicts, so that calls start from the
    /// resulting state.
    pub(crate) fn wake(&self, cx: DecisionContext) -> Decision {
        let mut decision = Decision::nothing();
        self.end_due_items(cx, &mut decision.events);
        if !decision.events.is_empty() {
            return decision;
        }
        let mut quota = self.available_requests(cx.now);
        self.start_writes(cx, &mut quota, &mut decision);
        self.start_pull(cx, &mut quota, &mut decision);
        decision
    }

    fn end_due_items(&self, cx: DecisionContext, events: &mut Vec<Event>) {
        self.end_expired(cx, events);
        if events.is_empty() {
            self.resolve_conflicts(events);
        }
    }

    /// Returns `true` if an expiry or a conflict must be handled before calls start.
    pub(crate) fn has_due_items(&self, cx: DecisionContext) -> bool {
        let mut events = Vec::new();
        self.end_due_items(cx, &mut events);
        !events.is_empty()
    }

    fn end_expired(&self, cx: DecisionContext, events: &mut Vec<Event>) {
        let (now, state) = (cx.now, &self.state);
        for (id, _) in state.holds.iter().filter(|(_, hold)| hold.until <= now) {
            events.push(Event::HoldEnded { hold: *id });
        }
        for (id, write) in state.queue.overdue(now) {
            self.unanswered(cx, id, write, events);
        }
        self.time_out(now, events);
        if events.is_empty() {
            self.fail_lost_writes(now, events);
        }
        if let Some(call) = state.pulls.calling.as_ref().filter(|call| call.until <= now) {
            self.page_refused(cx, call.resource, ("no answer before the call's deadline", false), 0, events);
        }
        if self.prune_at() <= now {
            for (key, _) in state.keys.iter().filter(|(_, known)| known.expires <= now) {
                events.push(Event::KeyExpired { key: key.clone() });
            }
            events.push(Event::Pruned { before: now.minus(self.settings.pull.keep_past) });
        }
    }

    /// Times out writes. A failure may end other writes of its ordering key. So only the first write of each key is
    /// handled, and none of a key with an overdue call.
    fn time_out(&self, now: Timestamp, events: &mut Vec<Event>) {
        let mut ordered: BTreeSet<OrderingKey> =
            self.state.queue.overdue(now).map(|(_, write)| write.ordering_key).collect();
        for (id, write) in self.state.queue.expired(now) {
            if events.len() >= ENDED_AT_ONCE {
                return;
            }
            if ordered.insert(write.ordering_key) {
                self.failed(id, write, InsertFailure::TimedOut, TOO_LATE, events);
            }
        }
    }

    /// Returns the time at which the first write of unknown outcome fails while writing is suspended. Failing look-ups
    /// have the same limit.
    fn lost_at(&self) -> Option<Timestamp> {
        let (_, first) = self.state.queue.first_unknown().filter(|_| self.state.is_writing_suspended())?;
        Some(first.deadline.plus(self.settings.write.deadline))
    }

    fn fail_lost_writes(&self, now: Timestamp, events: &mut Vec<Event>) {
        if self.lost_at().is_none_or(|at| now < at) {
            return;
        }
        // One at a time, because a failure may end other writes.
        if let Some((id, write)) = self.state.queue.first_unknown() {
            let reason = match self.state.shut() {
                Some(_) => "the outcome stayed unknown: the workstation gate did not open again",
                None => "the outcome stayed unknown: an operator paused writing",
            };
            self.failed(id, write, InsertFailure::Failed, reason, events);
        }
    }

    /// Returns the time of the next pruning: at most once an hour, and only if something can be pruned.
    fn prune_at(&self) -> Timestamp {
        let (state, keep) = (&self.state, self.settings.pull.keep_past);
        let due = state
            .first_end
            .map_or(Timestamp::MAX, |end| end.plus(keep))
            .min(state.first_expiry.unwrap_or(Timestamp::MAX));
        let last = state.pruned.map_or(Timestamp::MIN, |before| before.plus(keep));
        due.max(last.plus(HOUR))
    }

    /// Handles a backward step of the clock. Appointments that were pruned too early take their times again. The time
    /// of the next pruning moves back, too.
    pub(crate) fn clock_set_back(&self, cx: DecisionContext, by: Millis, forgotten: &[PulledAppointment]) -> Decision {
        let mut events = vec![Event::ClockSetBack { by }];
        let before = cx.now.minus(self.settings.pull.keep_past);
        events.extend(self.state.pruned.filter(|pruned| before < *pruned).map(|_| Event::Pruned { before }));
        let known_again = |record: &PulledAppointment| Event::AppointmentPulled { record: record.clone(), keep: false };
        events.extend(forgotten.iter().map(known_again));
        Decision::new(Reply::Done, events)
    }

    /// Applies the conflict rule to a pending booking whose slot staff took. A booking with a write in flight waits for
    /// its answer.
    fn resolve_conflicts(&self, events: &mut Vec<Event>) {
        // One at a time, so that the next placement takes this one into account.
        let Some((id, write, pending)) = self.resolvable().next() else { return };
        let moved = match self.settings.booking.on_conflict {
            ConflictRule::MoveOperatory => self.other_operatory(id),
            ConflictRule::Fail => None,
        };
        match moved {
            Some(to) => events.push(Event::Moved { appointment: id, to, why: MoveReason::Conflict }),
            None => self.failed(write, pending, InsertFailure::Failed, SLOT_LOST, events),
        }
    }

    fn resolvable(&self) -> impl Iterator<Item = (AppointmentId, WriteId, &Write)> {
        self.state.conflicts.iter().filter_map(|id| {
            let insert =
                self.state.queue.for_appointment(*id).find(|(_, w)| w.work == WriteIntent::CreateAppointment(*id));
            let lost = insert.filter(|(_, write)| write.withdrawable() && self.slot_lost(*id));
            lost.map(|(write, pending)| (*id, write, pending))
        })
    }

    /// Returns `true` if another holder still occupies the booking's slot; staff may have vacated it meanwhile.
    fn slot_lost(&self, id: AppointmentId) -> bool {
        let Some(Placement { operatory, provider: Some(provider), span }) =
            self.state.appointments.get(&id).map(|a| a.placement)
        else {
            return false;
        };
        let own = [Holder::Appointment(id), Holder::Vacating(id)];
        self.state.calendar.busy(operatory, provider, span).any(|entry| !own.contains(&entry.holder))
    }

    /// Returns a placement in another operatory in which the same provider is free at the same time.
    fn other_operatory(&self, id: AppointmentId) -> Option<Placement> {
        let appointment = self.state.appointments.get(&id)?;
        let (place, provider) = (appointment.placement, appointment.placement.provider?);
        let operatories = self.state.operatories.iter().filter(|(_, active)| **active).map(|(operatory, _)| *operatory);
        operatories.filter(|operatory| Some(*operatory) != place.operatory).find_map(|operatory| {
            let slot = Slot { span: place.span, provider, operatory: Some(operatory) };
            let own = vec![Holder::Vacating(id)];
            let requested =
                RequestedSlot { slot, appointment_type: appointment.appointment_type, join_blocks: true, own };
            let fit = fits(self.hours(), &self.state.calendar, &self.settings.zone, &requested);
            (fit == Fit::Free).then_some(Placement { operatory: Some(operatory), ..place })
        })
    }

    pub(crate) fn start_writes(&self, cx: DecisionContext, quota: &mut u32, decision: &mut Decision) {
        if self.state.is_writing_suspended() {
            return;
        }
        let queue = &self.state.queue;
        let allowed = self.state.breaker.concurrency(&self.settings.write, cx.now).saturating_sub(queue.in_flight());
        for (id, write) in queue.ready(cx.now).take(allowed.min(*quota as usize)) {
            let attempt = write.attempts + 1;
            let until = cx.now.plus(self.settings.write.call_deadline + self.settings.place_wait);
            let kind = if write.unknown { CallKind::Find } else { CallKind::Push };
            let placement = write.work.appointment().and_then(|a| self.state.appointments.get(&a)).map(|a| a.placement);
            let sent = if kind == CallKind::Push { placement } else { write.sent };
            decision.events.push(Event::CallStarted { write: id, attempt, kind, until, sent });
            let (work, key) = (write.work, write.key.clone());
            decision.calls.push(Call::Write { write: id, attempt, kind, work, key, placement: sent, until });
            *quota -= 1;
        }
    }

    /// Returns the next due time, or `None` if nothing is due without a command. A sweep is due at once; the processor
    /// supplies its steps.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.state.pulls.sweep.as_ref().map(|_| Timestamp::MIN).into_iter().chain(self.due_at()).min()
    }

    /// Returns the next due time, sweeps excluded.
    pub fn due_at(&self) -> Option<Timestamp> {
        let state = &self.state;
        let holds = state.holds.values().map(|hold| hold.until).min();
        let conflicts = self.resolvable().next().map(|_| Timestamp::MIN);
        let times = [
            holds,
            conflicts,
            state.queue.next_overdue(),
            state.queue.next_deadline(),
            self.lost_at(),
            self.write_at(),
            self.pull_at(),
            Some(self.prune_at()).filter(|at| *at < Timestamp::MAX),
        ];
        times.into_iter().flatten().min()
    }

    /// Returns the time at which the next write may start.
    fn write_at(&self) -> Option<Timestamp> {
        let (queue, rules) = (&self.state.queue, &self.settings.write);
        if self.state.is_writing_suspended() {
            return None;
        }
        let ready = queue.next_ready()?;
        let at = match self.state.breaker.blocked {
            // During a probe, its result starts the next write.
            Some(_) if queue.in_flight() > 0 => return None,
            Some(block) => ready.max(block.until),
            None if queue.in_flight() >= usize::from(rules.concurrency.max(1)) => return None,
            None => ready,
        };
        Some(at.max(self.call_at(at)))
    }

    /// Adds a random share of up to `percent` to a length.
    pub(crate) fn spread(&self, cx: DecisionContext, length: i64, percent: u8) -> i64 {
        let most = length.saturating_mul(i64::from(percent)) / 100;
        let extra = mix(cx.random, 0x5bd1) % (most.max(0).unsigned_abs() + 1);
        length + i64::try_from(extra).unwrap_or(0)
    }
}
