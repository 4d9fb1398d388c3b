//! Reading the EHR: one resource after another, each page applied once, together with its cursor. The EHR takes
//! precedence over confirmed values; pending local changes take precedence until the EHR answers them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    AppointmentId, Call, Decision, DecisionContext, Event, Location, MINUTE, Millis, Quota, Reply, Resource, Timestamp,
    random::{jittered, mix},
    settings::PullPlan,
    sync::{
        guard::{DELETIONS_AT_ONCE, past_gone},
        page::PulledPage,
        prefetch::Prefetch,
        pulls::{Cycle, PullCall, SKIPS},
    },
    writes::{
        intent::{Failure, Outcome},
        retry::{reason_of, requested_pause},
    },
};

/// Maximum postponements of a page that may contain an unanswered insert: some minutes at the usual pauses.
const WAITS_FOR_INSERT: u32 = 6;

/// Consecutive failures after which a cycle skips a resource, so that one unreadable resource does not block the
/// others.
const TRIES: u32 = 5;

/// Consecutive pages without news after which a cycle skips a resource, because its cursor leads nowhere. An EHR that
/// pages through empty weeks or unchanged records stays below the limit, or continues in the next cycle.
const BARREN_PAGES: u32 = 500;

/// Minimum time between two recorded reasons of a failing `describe`, so that changing reasons cannot fill the journal.
const REASON_AGAIN: Millis = 10 * MINUTE;

impl Location {
    /// Records the result of `describe`. A repeated failure is recorded once.
    pub(crate) fn described(&self, cx: DecisionContext, outcome: &Outcome<()>) -> Decision {
        let silent = self.state.pulls.silent.as_ref();
        let noted = |reason: &String| {
            silent.is_some_and(|known| known.reason == *reason || cx.now.since(known.noted) < REASON_AGAIN)
        };
        let event = match outcome {
            Ok(()) => silent.map(|_| Event::DescribeWorked),
            Err(failure) => Some(why(failure)).filter(|why| !noted(why)).map(|reason| Event::DescribeFailed { reason }),
        };
        Decision::new(Reply::Done, event.into_iter().collect())
    }

    pub(super) fn plan(&self) -> &[PullPlan] {
        if self.settings.capabilities.integrated { &self.settings.capabilities.pulls } else { &[] }
    }

    fn max_pages(&self) -> u32 {
        self.settings.pull.max_pages.max(1)
    }

    /// Returns the time at which the call in flight expires, or at which the next page request or cycle is due.
    pub(crate) fn pull_at(&self) -> Option<Timestamp> {
        let pulls = &self.state.pulls;
        if let Some(call) = &pulls.calling {
            return Some(call.until);
        }
        if self.plan().is_empty() || self.state.is_reading_suspended() || pulls.sweep.is_some() {
            return None;
        }
        let is_begun = pulls.cycle.is_some() || self.is_read_requested();
        let due = if is_begun { Timestamp::MIN } else { self.cycle_at() };
        let at = due.max(pulls.retry_at.unwrap_or(Timestamp::MIN));
        // The end of a plan or of a resource starts no call and needs no quota.
        let ends = |cycle: &Cycle| {
            self.next_of(cycle, self.appointments_are_next())
                .is_none_or(|plan| self.enough(cycle, plan.resource).is_some())
        };
        let no_call = pulls.cycle.as_ref().is_some_and(ends);
        Some(if no_call { at } else { at.max(self.call_at(at)) })
    }

    /// Returns the reason to read no more pages of a resource in a cycle, if any.
    fn enough(&self, cycle: &Cycle, resource: Resource) -> Option<String> {
        let (pages, barren) = cycle.pages_of(resource);
        if pages >= self.max_pages() {
            return Some("more pages than a cycle may have".to_owned());
        }
        (barren >= BARREN_PAGES).then(|| format!("{BARREN_PAGES} pages in a row brought nothing new"))
    }

    pub(crate) fn start_pull(&self, cx: DecisionContext, quota: &mut u32, decision: &mut Decision) {
        let pulls = &self.state.pulls;
        let waiting = pulls.calling.is_some() || self.plan().is_empty() || pulls.retry_at.is_some_and(|at| cx.now < at);
        if waiting || pulls.sweep.is_some() || self.state.is_reading_suspended() {
            return;
        }
        let fresh = pulls.new_cycle(cx.now);
        let cycle = match &pulls.cycle {
            Some(cycle) => cycle,
            None if cx.now < self.cycle_at() && !self.is_read_requested() => return,
            None => &fresh,
        };
        let Some(plan) = self.next_of(cycle, self.appointments_are_next()) else {
            decision.events.push(self.end_cycle(cx, cycle));
            return;
        };
        if let Some(reason) = self.enough(cycle, plan.resource) {
            decision.events.push(Event::PullSuspended { resource: plan.resource, reason });
            return;
        }
        if *quota == 0 {
            return;
        }
        *quota -= 1;
        if pulls.cycle.is_none() {
            decision.events.push(Event::CycleStarted);
        }
        self.start_pass(cx, cycle, plan.resource, decision);
    }

    /// Starts a pass at the cursor of the previous one, or at the beginning if a whole pass is needed. If the EHR
    /// reports deletions, the pass after a whole one resumes at the cursor from before it.
    fn start_pass(&self, cx: DecisionContext, cycle: &Cycle, resource: Resource, decision: &mut Decision) {
        let pulls = &self.state.pulls;
        let mut cursor = pulls.cursors.get(&resource).cloned();
        let answered = || self.state.queue.inserts_on_their_way(resource).next().is_none();
        // An additional pass reads only changes: the ordinary pass of the next cycle confirms missing records.
        if pulls.needs_full_pass.contains(&resource) && !cycle.is_additional(resource) && answered() {
            decision.events.push(Event::ReadAnew { resource, keep_cursor: !self.deletes_by_absence(resource) });
            cursor = None;
        }
        self.request_page(cx, resource, cursor, None, decision);
    }

    fn request_page(
        &self,
        cx: DecisionContext,
        resource: Resource,
        cursor: Option<String>,
        prefetched: Option<&Prefetch>,
        decision: &mut Decision,
    ) {
        let asked_at = prefetched.map(|request| request.asked_at.min(cx.now));
        let written = prefetched.map(|request| request.written.clone()).unwrap_or_default();
        let until = asked_at.unwrap_or(cx.now).plus(self.longest_pull());
        let call = self.state.pulls.next_call;
        decision.events.push(Event::PullStarted { resource, call, until, asked_at, written });
        decision.calls.push(Call::Pull { resource, call, cursor: cursor.filter(|text| !text.is_empty()), until });
    }

    /// Handles a page that the EHR did not return. `finally`: a repeated request would fail too.
    pub(crate) fn page_refused(
        &self,
        cx: DecisionContext,
        resource: Resource,
        (reason, finally): (&str, bool),
        least: Millis,
        events: &mut Vec<Event>,
    ) {
        let (rules, failures) = (&self.settings.pull, self.state.pulls.failures);
        let wait = jittered(rules.retry_base, rules.retry_cap, failures + 1, mix(cx.random, 0x9011)).max(least);
        events.push(Event::PullFailed { resource, reason: reason.to_owned(), retry_at: cx.now.plus(wait) });
        if finally || failures + 1 >= TRIES {
            events.push(Event::PullSuspended { resource, reason: reason.to_owned() });
        }
    }

    /// Postpones a page whose call was not started. The pause is short, because the EHR did not fail.
    fn pull_put_off(&self, cx: DecisionContext, resource: Resource, reason: &str) -> Decision {
        let base = self.settings.pull.retry_base;
        let retry_at = cx.now.plus(jittered(base, base, 1, mix(cx.random, 0x9012)));
        let put_off = Event::PullPutOff { resource, reason: reason.to_owned(), retry_at, insert: false };
        Decision::new(Reply::PageIgnored, vec![put_off])
    }

    /// Repeats the page request in flight, whose process has ended. Reads are safe to repeat, so no pause is needed.
    pub(crate) fn read_interrupted(&self, cx: DecisionContext) -> Decision {
        let put_off = self.state.pulls.calling.as_ref().map(|call| Event::PullPutOff {
            resource: call.resource,
            reason: "the service was restarted while the page was read; it is requested again".to_owned(),
            retry_at: cx.now,
            insert: false,
        });
        Decision::new(Reply::Done, put_off.into_iter().collect())
    }

    pub(crate) fn pulled(
        &self,
        cx: DecisionContext,
        resource: Resource,
        call: u64,
        outcome: &Outcome<PulledPage>,
    ) -> Decision {
        let pulls = &self.state.pulls;
        let awaited = pulls.calling.as_ref().filter(|calling| calling.call == call && calling.resource == resource);
        let Some(PullCall { written_during_pull, .. }) = awaited else {
            return Decision::new(Reply::PageIgnored, Vec::new());
        };
        let mut events = Vec::new();
        let page = match outcome {
            Ok(page) => page,
            Err(Failure::NotBegun(reason)) => return self.pull_put_off(cx, resource, reason),
            Err(failure) => {
                let after = if let Failure::RetryLater { after, .. } = failure { *after } else { None };
                let finally = matches!(failure, Failure::Rejected(_) | Failure::Unsupported(_));
                self.page_refused(cx, resource, (&why(failure), finally), requested_pause(after), &mut events);
                return Decision::new(Reply::PageIgnored, events);
            }
        };
        if self.is_outdated(page, written_during_pull) {
            let mut decision = Decision::new(Reply::PageIgnored, events);
            self.read_again(cx, resource, "the page is older than what was written meanwhile", &mut decision);
            return decision;
        }
        let needs_full_pass = self.may_show_an_insert(resource, page);
        if needs_full_pass && pulls.waits < WAITS_FOR_INSERT {
            let rules = &self.settings.pull;
            let wait = jittered(rules.retry_base, rules.retry_cap, pulls.waits + 1, mix(cx.random, 0x9011));
            let (reason, retry_at) = ("waiting for a record that is still being written".to_owned(), cx.now.plus(wait));
            events.push(Event::PullPutOff { resource, reason, retry_at, insert: true });
            return Decision::new(Reply::PageIgnored, events);
        }
        let short = self.is_short(resource, page);
        let (deleted, unconfirmed, known) = self.deletions(cx.now, resource, page, short);
        // Earlier deletions are left out if the known records of a shared resource were not counted.
        let counted = !resource.shared() || page.known > 0;
        let before = self.deleted_before(resource).filter(|_| counted).unwrap_or_default();
        let lost = (deleted.len() + unconfirmed.len()) as u64;
        let (deletions, known) = (before + lost, before + known);
        let emptied = deletions == known && self.shows_nothing(resource, page);
        if lost > 0 && self.guarded(resource, deletions, known, emptied) {
            let tripped = Event::GuardTripped { resource, deletions, known, whole: page.whole };
            return Decision::new(Reply::PageIgnored, vec![tripped]);
        }
        if deleted.len() + page.past_deleted.len() > DELETIONS_AT_ONCE {
            return self.delete_some(cx, resource, page, &deleted);
        }
        let barren = deleted.is_empty() && page.past_deleted.is_empty() && !page.news;
        let keep = self.apply_records(cx, resource, page, deleted, &mut events);
        let (cursor, last, whole) = (page.cursor.clone(), page.last, page.whole);
        let (records, estimate) = (page.records, page.estimate);
        let resumes = pulls.resume_at.get(&resource).filter(|_| last && !self.deletes_by_absence(resource));
        let (next, sweeping) = (resumes.unwrap_or(&cursor).clone(), page.sweep_on.is_some() && !short);
        events.push(Event::PageApplied {
            resource,
            cursor: next,
            last,
            whole,
            records,
            estimate,
            needs_full_pass,
            barren,
            sweeping,
            skipped: page.skipped.iter().take(SKIPS).cloned().collect(),
            read_again: page.read_again.clone(),
            distinct: Some(page.distinct),
            others: page.others,
            short,
            // The sweep reaches and deletes the records that this page reports as deleted.
            missing: if sweeping { page.deleted.iter().copied().collect() } else { unconfirmed },
            shown_again: self.reappeared_on_page(resource, page),
        });
        let mut decision = Decision::new(Reply::PageApplied { keep }, events);
        if sweeping {
            let (missing, next) = (page.absent.len() as u64, page.sweep_on.clone());
            let unconfirmed = BTreeSet::new();
            let known = page.known;
            decision.events.push(Event::Swept { resource, known, missing, next, counted: false, unconfirmed });
        } else if self.may_request(cx.now) || (!last && self.prefetched(cx.now, resource).is_some()) {
            self.request_next(cx, resource, cursor, (last, barren), &mut decision);
        }
        decision
    }

    /// Returns `true` if the page is older than something written during its request.
    fn is_outdated(&self, page: &PulledPage, written: &BTreeSet<u64>) -> bool {
        page.outdated
            || page.appointments.iter().any(|record| written.contains(&record.id.0) && self.differs_from_state(record))
            || page.hours.iter().any(|hour| written.contains(&hour.id.0.into()) && self.hour_differs_from_state(hour))
    }

    /// Applies the records of a page, of which the later of two copies counts. Returns the appointments with a local
    /// change in flight.
    fn apply_records(
        &self,
        cx: DecisionContext,
        resource: Resource,
        page: &PulledPage,
        deleted: BTreeSet<u64>,
        events: &mut Vec<Event>,
    ) -> Vec<AppointmentId> {
        let mut keep = Vec::new();
        let latest: BTreeMap<_, _> = page.appointments.iter().map(|record| (record.id, record)).collect();
        // Before an event by which their visit leaves the EHR.
        page.late.iter().for_each(|late| self.cancel_late(cx, late, events));
        for record in latest.values() {
            self.pulled_appointment(cx, record, &mut keep, events);
        }
        page.replaced.iter().for_each(|shown| self.replaced_shown(shown, events));
        page.old.iter().for_each(|(id, placement)| self.old_shown(*id, *placement, events));
        for hour in &page.hours {
            self.pulled_hour(hour, events);
        }
        for operatory in &page.operatories {
            if self.state.operatories.get(&operatory.id) != Some(&operatory.active) {
                events.push(Event::OperatoryPulled(*operatory));
            }
        }
        let cancelled = |id: &u64| {
            resource == Resource::Appointments && latest.get(&AppointmentId(*id)).is_some_and(|record| record.cancelled)
        };
        for id in deleted.into_iter().filter(|id| !cancelled(id)) {
            self.deleted(resource, id, events);
        }
        events.extend(page.past_deleted.iter().map(|id| past_gone(*id)));
        keep
    }

    /// Requests the next page, or the first page of the next resource, in the same commit. Commits take most of the
    /// time of a cycle with few changes.
    pub(super) fn request_next(
        &self,
        cx: DecisionContext,
        resource: Resource,
        cursor: String,
        (last, barren): (bool, bool),
        decision: &mut Decision,
    ) {
        let pulls = &self.state.pulls;
        let Some(mut cycle) = pulls.cycle.clone() else { return };
        if !last {
            cycle.page(resource, barren);
            if resource != Resource::Appointments && self.still_requested(resource) && self.may_request(cx.now) {
                if let Some(plan) = self.next_of(&cycle, true) {
                    self.start_pass(cx, &cycle, plan.resource, decision);
                }
            } else if self.enough(&cycle, resource).is_none() {
                let prefetched = self.prefetched(cx.now, resource);
                self.request_page(cx, resource, Some(cursor), prefetched, decision);
            }
            return;
        }
        cycle.done_with(resource, false);
        let requested = self.still_requested(resource) && !cycle.gives_way;
        if requested && resource == Resource::Appointments {
            // The next pass starts at the cursor of this page, which is not part of the state yet.
            return;
        }
        if let Some(plan) = self.next_of(&cycle, requested) {
            self.start_pass(cx, &cycle, plan.resource, decision);
        }
    }

    /// Records that the page after the one of `call` is requested now. Returns the deadline of the request. Returns
    /// `None` if the location may not ask for the page. `requests`: requests that the quota does not count yet.
    pub fn prefetch(&mut self, now: Timestamp, resource: Resource, call: u64, requests: u32) -> Option<Timestamp> {
        let pulls = &self.state.pulls;
        let awaited = |calling: &PullCall| calling.call == call && calling.resource == resource && now < calling.until;
        let mut cycle = pulls.cycle.clone()?;
        cycle.page(resource, false);
        let may_request = pulls.calling.as_ref().is_some_and(awaited)
            && self.enough(&cycle, resource).is_none()
            && (resource == Resource::Appointments || pulls.schedule.requested.is_none())
            && !self.state.is_reading_suspended()
            // The bucket must have room for another call in addition to the reserved one.
            && self.settings.quota.burst > 1
            && self.available_requests(now) > requests;
        if !may_request {
            return None;
        }
        self.prefetch = Some(Prefetch { after: call, resource, asked_at: now, written: BTreeSet::new() });
        Some(now.plus(self.longest_pull()))
    }

    /// Drops the prefetched page, if any, and the request of the quota that it reserves.
    pub fn drop_prefetched(&mut self) {
        self.prefetch = None;
    }

    /// Returns the prefetched page if it follows the page of the call in flight, and its deadline has not passed.
    fn prefetched(&self, now: Timestamp, resource: Resource) -> Option<&Prefetch> {
        let after = self.state.pulls.calling.as_ref()?.call;
        let follows = |request: &&Prefetch| request.after == after && request.resource == resource;
        let in_time = |request: &&Prefetch| now < request.asked_at.plus(self.longest_pull());
        let request = self.prefetch.as_ref().filter(follows).filter(in_time);
        request.filter(|_| !self.state.is_reading_suspended())
    }

    /// Returns the time from a page request to its deadline.
    fn longest_pull(&self) -> Millis {
        self.settings.pull.call_deadline + self.settings.place_wait
    }

    /// Returns the number of calls that may start now.
    pub(crate) fn available_requests(&self, now: Timestamp) -> u32 {
        let available = self.state.quota.available(self.settings.quota, now);
        available.saturating_sub(u32::from(self.prefetch.is_some()))
    }

    /// Returns the earliest time at which a call due at `due` may start.
    pub(crate) fn call_at(&self, due: Timestamp) -> Timestamp {
        let quota = self.settings.quota;
        let burst = quota.burst.saturating_sub(u32::from(self.prefetch.is_some()));
        self.state.quota.next_at(Quota { burst, ..quota }, due)
    }

    pub(super) fn may_request(&self, now: Timestamp) -> bool {
        !self.state.is_reading_suspended() && self.available_requests(now) > 0
    }

    /// Requests a page again from the same cursor, because it may be older than changes made meanwhile.
    pub(super) fn read_again(&self, cx: DecisionContext, resource: Resource, why: &str, decision: &mut Decision) {
        if self.may_request(cx.now) {
            let cursor = self.state.pulls.cursors.get(&resource).cloned();
            self.request_page(cx, resource, cursor, None, decision);
        } else {
            // The request waits for the quota, or until reading resumes.
            let (reason, retry_at) = (why.to_owned(), cx.now);
            decision.events.push(Event::PullPutOff { resource, reason, retry_at, insert: false });
        }
    }
}

/// Returns the reason of a failed read, in words for operators.
fn why(failure: &Failure) -> String {
    match failure {
        Failure::Unauthorized(reason) if reason.is_empty() => "the EHR did not accept the credentials".to_owned(),
        Failure::Unauthorized(reason) => format!("the EHR did not accept the credentials: {reason}"),
        failure => reason_of(failure),
    }
}
