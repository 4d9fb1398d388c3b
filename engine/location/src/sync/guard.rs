//! Deletions that a page brings: which records they are, and the guard that stops a pass that would delete most of a resource.

use std::collections::BTreeSet;

use crate::{
    Location,
    command::Cx,
    decision::{Decision, Reply},
    event::Event,
    ids::{AppointmentId, OperatoryId},
    resource::Resource,
    schedule::hours::HourSource,
    state::Appointment,
    sync::page::Page,
    time::Timestamp,
};

/// Deletions of one commit: each costs some ten keys, and a commit holds 100,000.
pub(super) const DELETIONS_AT_ONCE: usize = 1_000;

impl Location {
    /// More deletions than one commit holds: some of them are applied, and nothing else of the page, which is then asked for again. What
    /// was applied is known by then; so a crash in between costs nothing.
    pub(super) fn delete_some(&self, cx: Cx, resource: Resource, page: &Page, deleted: &BTreeSet<u64>) -> Decision {
        let (mut events, mut calls) = (Vec::new(), Vec::new());
        events.extend(page.past_deleted.iter().take(DELETIONS_AT_ONCE).map(|id| past_gone(*id)));
        for id in deleted.iter().take(DELETIONS_AT_ONCE.saturating_sub(page.past_deleted.len())) {
            self.deleted(resource, *id, &mut events);
        }
        self.read_again(cx, resource, "more deletions than can be taken in at once", &mut events, &mut calls);
        Decision { reply: Reply::PageIgnored, events, calls }
    }

    /// Whether a whole pass ends without having shown a record, and not because the EHR says one by one that they are deleted.
    pub(super) fn shows_nothing(&self, resource: Resource, page: &Page, deleted: &BTreeSet<u64>) -> bool {
        let shown = self.state.pulls.seen.get(&resource).is_some_and(|seen| !seen.is_empty());
        let missed = deleted.iter().any(|id| !page.deleted.contains(id));
        page.whole && page.last && page.seen.is_empty() && !shown && missed
    }

    /// Known records this page says are gone, and how many are known.
    pub(super) fn deletions(
        &self,
        now: Timestamp,
        resource: Resource,
        page: &Page,
        written_during_pull: &BTreeSet<u64>,
    ) -> (BTreeSet<u64>, u64) {
        let mut deleted: BTreeSet<u64> = page.deleted.iter().copied().collect();
        if resource.shared() {
            deleted.extend(&page.absent);
            return (deleted, page.known);
        }
        let known = self.known(now, resource);
        let by_absence = self.plan().iter().any(|plan| plan.resource == resource && plan.deletions_by_absence);
        if page.last && page.whole && by_absence {
            let seen = self.state.pulls.seen.get(&resource);
            let shown: BTreeSet<u64> = page.seen.iter().chain(written_during_pull).copied().collect();
            let shown = |id: &u64| shown.contains(id) || seen.is_some_and(|seen| seen.contains(id));
            deleted.extend(known.iter().filter(|id| !shown(id)));
        }
        // What the EHR says is deleted need not be to come: the rest of a block is free again.
        deleted.retain(|id| known.contains(id) || self.holds(resource, *id));
        let known = known.union(&deleted).count();
        (deleted, known as u64)
    }

    pub(super) fn holds(&self, resource: Resource, id: u64) -> bool {
        resource == Resource::Appointments
            && self.state.appointments.get(&AppointmentId(id)).is_some_and(Appointment::in_ehr)
    }

    /// Records of this location the EHR should still show. Of appointments only those to come: an EHR need not list the past.
    pub(super) fn known(&self, now: Timestamp, resource: Resource) -> BTreeSet<u64> {
        match resource {
            Resource::Appointments => {
                let listed = |a: &Appointment| a.in_ehr() && now < a.placement.span.start;
                self.state.appointments.iter().filter(|(_, a)| listed(a)).map(|(id, _)| id.0).collect()
            }
            Resource::WorkingHours => {
                let synced = self.state.hours.values().filter(|hour| hour.source == HourSource::Synced);
                synced.chain(self.state.confirmed_hours.values()).map(|hour| u64::from(hour.id.0)).collect()
            }
            Resource::Operatories => self.state.operatories.keys().map(|id| id.0).collect(),
            _ => BTreeSet::new(),
        }
    }

    /// A pass that would delete most of a resource, or of a small one all, is a fault until an operator says otherwise.
    pub(super) fn guarded(&self, resource: Resource, deletions: u64, known: u64, emptied: bool) -> bool {
        let rules = &self.settings.pull;
        let many =
            deletions >= u64::from(rules.guard_at_least) && deletions * 100 > known * u64::from(rules.guard_percent);
        (many || emptied) && !self.state.pulls.accepted.contains(&resource)
    }

    pub(super) fn deleted(&self, resource: Resource, id: u64, events: &mut Vec<Event>) {
        match resource {
            Resource::Appointments => self.gone(AppointmentId(id), events),
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
