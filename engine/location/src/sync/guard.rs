//! The deletions of a page, and the guard that stops a pass that would delete most of a resource.

use std::collections::BTreeSet;

use crate::{
    AppointmentId, CalendarAppointment, Decision, DecisionContext, Event, HourSource, Location, OperatoryId, Placement,
    Reply, Resource, Timestamp,
    sync::{
        absence::MISSING_AT_ONCE,
        page::{PulledPage, SweepStep},
    },
    writes::replacement::Replaced,
};

/// Maximum deletions per commit. Each takes some ten keys, and a commit holds 100,000.
pub(super) const DELETIONS_AT_ONCE: usize = 1_000;

impl Location {
    /// Applies a part of a page's deletions if one commit cannot hold all of them. The page is requested again for the
    /// rest. Applied deletions are known by then, so a crash in between is harmless.
    pub(super) fn delete_some(
        &self,
        cx: DecisionContext,
        resource: Resource,
        page: &PulledPage,
        deleted: &BTreeSet<u64>,
    ) -> Decision {
        let mut decision = Decision::new(Reply::PageIgnored, Vec::new());
        decision.events.extend(page.past_deleted.iter().take(DELETIONS_AT_ONCE).map(|id| past_gone(*id)));
        for id in deleted.iter().take(DELETIONS_AT_ONCE.saturating_sub(page.past_deleted.len())) {
            self.deleted(resource, *id, &mut decision.events);
        }
        self.read_again(cx, resource, "more deletions than one commit can hold", &mut decision);
        decision
    }

    /// Returns `true` if a whole pass ends without any record, unless the EHR reports all of them as deleted.
    pub(super) fn shows_nothing(&self, resource: Resource, page: &PulledPage) -> bool {
        let missed = page.absent.iter().any(|id| !page.deleted.contains(id));
        page.whole && page.last && page.seen.is_empty() && !self.pass_shows(resource) && missed
    }

    fn pass_shows(&self, resource: Resource) -> bool {
        self.state.pulls.passes.get(&resource).is_some_and(|pass| pass.shown > 0)
    }

    /// Returns the number of deletions since the last complete pass.
    pub(super) fn deleted_before(&self, resource: Resource) -> Option<u64> {
        self.state.pulls.deleted.get(&resource).copied()
    }

    /// Returns the number of known records at which the guard lets `deletions`, plus earlier ones, pass. Counting may
    /// stop there.
    pub fn known_enough(&self, resource: Resource, deletions: u64) -> u64 {
        let percent = u64::from(self.settings.pull.guard_percent);
        let before = self.deleted_before(resource).unwrap_or_default();
        let all = ((before + deletions) * 100).checked_div(percent).map_or(u64::MAX, |enough| enough + 1);
        all.saturating_sub(before)
    }

    /// Applies a step of the sweep. Counting steps come first. Once all records are counted and the guard agrees, the
    /// steps repeat and delete the records that the previous pass lacked too.
    pub(crate) fn sweep(&self, cx: DecisionContext, step: &SweepStep) -> Decision {
        let Some(sweep) = &self.state.pulls.sweep else { return Decision::nothing() };
        let (resource, mut events) = (sweep.resource, Vec::new());
        let (mut known, mut missing) = (sweep.known, sweep.missing);
        let mut unconfirmed = BTreeSet::new();
        if sweep.counted {
            let (confirmed, others) = self.confirmed(resource, &step.absent);
            for id in confirmed {
                self.deleted(resource, id, &mut events);
            }
            let room = MISSING_AT_ONCE.saturating_sub(sweep.unconfirmed.len());
            unconfirmed = others.into_iter().take(room).collect();
        } else {
            (known, missing) = (known + step.known, missing + step.absent.len() as u64);
        }
        let counted = sweep.counted || step.next.is_none();
        if counted && !sweep.counted {
            let before = self.deleted_before(resource).unwrap_or_default();
            let (deletions, known) = (before + missing, before + known);
            let emptied = deletions == known && !self.pass_shows(resource);
            if missing > 0 && self.guarded(resource, deletions, known, emptied) {
                let tripped = Event::GuardTripped { resource, deletions, known, whole: true };
                return Decision::new(Reply::Done, vec![tripped]);
            }
        }
        let goes_on = step.next.is_some() || (!sweep.counted && missing > 0);
        if goes_on || !unconfirmed.is_empty() {
            events.push(Event::Swept { resource, known, missing, next: step.next.clone(), counted, unconfirmed });
        }
        if goes_on {
            return Decision::new(Reply::Done, events);
        }
        events.push(Event::SweepEnded { resource });
        let mut decision = Decision::new(Reply::Done, events);
        if self.may_request(cx.now) {
            self.request_next(cx, resource, String::new(), (true, false), &mut decision);
        }
        decision
    }

    /// Returns the known records that a page deletes, those missing for the first time, and, if there are any of the
    /// two, the number of known records. A sweep determines them at its end. A `short` pass deletes only records
    /// reported as deleted.
    pub(super) fn deletions(
        &self,
        now: Timestamp,
        resource: Resource,
        page: &PulledPage,
        short: bool,
    ) -> (BTreeSet<u64>, BTreeSet<u64>, u64) {
        if page.sweep_on.is_some() {
            return (BTreeSet::new(), BTreeSet::new(), page.known);
        }
        let mut deleted: BTreeSet<u64> = page.deleted.iter().copied().collect();
        let absent: Vec<u64> = page.absent.iter().copied().filter(|id| !short && !deleted.contains(id)).collect();
        let (confirmed, mut unconfirmed) = self.confirmed(resource, &absent);
        deleted.extend(confirmed);
        // Most pages delete nothing. The guard does not need the number of known records then.
        if resource.shared() || (deleted.is_empty() && unconfirmed.is_empty()) {
            return (deleted, unconfirmed, page.known);
        }
        let known = self.known(now, resource);
        // Reported deletions may concern past appointments: the rest of a block is free again.
        deleted.retain(|id| known.contains(id) || self.holds(resource, *id));
        unconfirmed.retain(|id| known.contains(id));
        let known = known.union(&deleted).count();
        (deleted, unconfirmed, known as u64)
    }

    pub(super) fn holds(&self, resource: Resource, id: u64) -> bool {
        resource == Resource::Appointments
            && self.state.appointments.get(&AppointmentId(id)).is_some_and(|known| known.in_ehr() && !known.gone)
    }

    /// Returns the records of this location that a whole pass must contain, and the replaced appointments. Past
    /// appointments are left out, because an EHR need not list them.
    pub fn known(&self, now: Timestamp, resource: Resource) -> BTreeSet<u64> {
        match resource {
            Resource::Appointments => {
                let to_come = |placement: &Placement| now < placement.span.start;
                let listed = |a: &CalendarAppointment| a.in_ehr() && !a.gone && to_come(&a.placement);
                let current = self.state.appointments.iter().filter(|(_, a)| listed(a)).map(|(id, _)| id.0);
                let replaced = self.state.appointments.values().flat_map(|a| &a.replaced);
                let replaced = replaced.filter(|replaced| to_come(&replaced.placement));
                current.chain(replaced.map(|replaced| Replaced::pass_id(replaced.write))).collect()
            }
            Resource::WorkingHours => {
                let synced = self.state.hours.values().filter(|hour| hour.source == HourSource::Synced);
                synced.chain(self.state.confirmed_hours.values()).map(|hour| u64::from(hour.id.0)).collect()
            }
            Resource::Operatories => self.state.operatories.keys().map(|id| id.0).collect(),
            _ => BTreeSet::new(),
        }
    }

    /// Returns `true` if the guard stops the deletions: a large share of the resource, or all of a small one, without
    /// acceptance by an operator.
    pub(super) fn guarded(&self, resource: Resource, deletions: u64, known: u64, emptied: bool) -> bool {
        let rules = &self.settings.pull;
        let many =
            deletions >= u64::from(rules.guard_at_least) && deletions * 100 > known * u64::from(rules.guard_percent);
        (many || emptied) && !self.state.pulls.accepted.contains(&resource)
    }

    pub(super) fn deleted(&self, resource: Resource, id: u64, events: &mut Vec<Event>) {
        match resource {
            Resource::Appointments => match Replaced::from_pass_id(id) {
                Some(number) => self.replaced_absent(number, events),
                None => self.gone(AppointmentId(id), events),
            },
            Resource::WorkingHours => self.hour_gone(id, events),
            Resource::Operatories => {
                events.push(Event::OperatoryGone { operatory: OperatoryId(id) });
                events.push(Event::RecordGone { resource, id });
            }
            _ => events.push(Event::RecordGone { resource, id }),
        }
    }
}

pub(super) fn past_gone(id: u64) -> Event {
    Event::PastAppointmentGone { appointment: AppointmentId(id) }
}
