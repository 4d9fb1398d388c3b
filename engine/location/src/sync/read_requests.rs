//! Reads of the appointments on request: before an answer that must be fresh, or after a hint from the EHR. Such a read
//! precedes the other resources of a running cycle. Without one, it is a cycle that contains only the appointments and
//! leaves the time of the next ordinary cycle unchanged. Between two such reads, a running cycle makes progress.

use crate::{
    Decision, DecisionContext, Event, Location, Reply, Resource, Timestamp,
    settings::PullPlan,
    sync::{
        pulls::{Cycle, Pulls},
        schedule_read::{Freshness, ScheduleRead},
    },
};

impl Pulls {
    /// Returns a new cycle. Before the scheduled time of the next one, a requested read is a cycle that reads only the
    /// appointments.
    pub(crate) fn new_cycle(&self, at: Timestamp) -> Cycle {
        let only = (self.schedule.requested.is_some() && at < self.next_cycle).then_some(at);
        Cycle { appointments_only: only, ..Cycle::default() }
    }

    pub(crate) fn page_requested(&mut self, resource: Resource, asked_at: Timestamp) {
        let continues = self.progress.get(&resource).is_some_and(|progress| progress.running);
        if resource == Resource::Appointments && !(continues && self.schedule.asked.is_some()) {
            self.schedule.asked = Some(asked_at);
        }
    }

    /// Records that a resource is read from its beginning.
    pub(crate) fn restart_reading(&mut self, resource: Resource, keep_cursor: bool) {
        self.needs_full_pass.remove(&resource);
        self.drop_cursor(resource, keep_cursor);
        self.passes.remove(&resource);
        if self.missing.contains_key(&resource) {
            self.confirming.insert(resource);
        }
        if resource == Resource::Appointments {
            self.schedule.asked = None;
        }
    }

    /// Records a request for a read of the appointments or, with `everything`, for a cycle.
    pub(crate) fn read_requested(&mut self, at: Timestamp, everything: bool) {
        if everything {
            self.request_cycle(at);
        } else {
            self.schedule.requested = Some(at);
        }
    }

    /// Records that the guard stopped a pass. A whole pass starts again.
    pub(crate) fn guard_tripped(&mut self, resource: Resource, whole: bool) {
        if whole {
            self.cursors.remove(&resource);
            if resource == Resource::Appointments {
                self.schedule.asked = None;
            }
        }
        self.appointments_not_read(resource);
    }

    /// Drops the request for a read of the appointments, because they could not be read. A cycle that had read them
    /// before continues with its other resources, without that failure.
    pub(crate) fn appointments_not_read(&mut self, resource: Resource) {
        if resource != Resource::Appointments || self.schedule.requested.take().is_none() {
            return;
        }
        if self.cycle.as_ref().is_some_and(|cycle| cycle.done.contains(&resource)) {
            self.failures = 0;
        }
    }

    /// Ends the cycle. `next`: start of the next ordinary cycle. Returns `true` if everything was read.
    pub(crate) fn cycle_ended(&mut self, at: Timestamp, next: Timestamp) -> bool {
        let cycle = self.cycle.take();
        let complete = cycle.as_ref().is_none_or(|cycle| !cycle.incomplete);
        // A request during the last pass gave way to the end of the cycle.
        let has_read = cycle.as_ref().is_some_and(|cycle| cycle.done.contains(&Resource::Appointments));
        if !has_read {
            self.schedule.requested = None;
        }
        if let Some(since) = cycle.and_then(|cycle| cycle.appointments_only) {
            self.again = false;
            // A failure within this cycle is over. An earlier one may concern another resource.
            if complete && self.failing.as_ref().is_some_and(|(failing, _)| *failing >= since) {
                self.failing = None;
            }
            return false;
        }
        self.schedule.cycle_ended = Some(at);
        self.next_cycle = if std::mem::take(&mut self.again) { at } else { next };
        complete
    }
}

impl Location {
    /// Returns the time up to which the EHR's changes to appointments are known: the start of the last complete read,
    /// or `now` without EHR. Returns `None` before the first one.
    pub fn schedule_as_of(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.settings.capabilities.integrated {
            return Some(now);
        }
        let pulls = &self.state.pulls;
        // Locations of earlier releases have only the end of the last pass.
        let ended = || pulls.progress.get(&Resource::Appointments).and_then(|progress| progress.ended_at);
        pulls.schedule.as_of.or_else(ended)
    }

    /// Returns the freshness of the schedule for an answer that needs the EHR's changes before `since`, and waits until
    /// `until`.
    pub fn freshness(&self, now: Timestamp, since: Timestamp, until: Timestamp) -> Freshness {
        if self.schedule_as_of(now).is_some_and(|as_of| as_of >= since) {
            return Freshness::Fresh;
        }
        if !self.reads_appointments() {
            return Freshness::Unavailable("the appointments of the practice's system are not read");
        }
        if self.state.is_reading_suspended() {
            return Freshness::Unavailable("reading from the practice's system is paused");
        }
        let pulls = &self.state.pulls;
        if pulls.calling.is_some() || pulls.sweep.is_some() {
            return Freshness::Waiting;
        }
        if pulls.retry_at.is_some_and(|at| at > until) {
            return Freshness::Unavailable("the practice's system could not be read recently");
        }
        if self.call_at(now) > until {
            return Freshness::Unavailable("the practice's system accepts no further requests at present");
        }
        Freshness::Waiting
    }

    /// Returns `true` if an answer that needs the EHR's changes before `since` must request a read: none is requested,
    /// and no running one began late enough.
    pub fn needs_read_request(&self, since: Timestamp) -> bool {
        let pulls = &self.state.pulls;
        let is_reading = pulls.cycle.as_ref().is_some_and(|cycle| !cycle.done.contains(&Resource::Appointments));
        let began = pulls.schedule.asked.filter(|_| is_reading);
        began.max(pulls.schedule.requested).is_none_or(|begins| begins < since)
    }

    /// Returns `true` if a read of the appointments or, with `everything`, a cycle is requested or due and has not
    /// started.
    pub fn is_read_pending(&self, now: Timestamp, everything: bool) -> bool {
        let pulls = &self.state.pulls;
        if everything {
            return pulls.again || (pulls.cycle.is_none() && pulls.next_cycle <= now);
        }
        let ScheduleRead { asked, requested, .. } = pulls.schedule;
        requested.is_some_and(|at| asked.is_none_or(|asked| asked < at))
    }

    /// Requests a read of the appointments or, with `everything`, a cycle. Times of retries and the circuit breaker
    /// stay unchanged.
    pub(crate) fn request_read(&self, everything: bool) -> Decision {
        let has_work = if everything { !self.plan().is_empty() } else { self.reads_appointments() };
        let events = if has_work { vec![Event::ReadRequested { everything }] } else { Vec::new() };
        Decision::new(Reply::Done, events)
    }

    /// Returns `true` if a read of the appointments is requested, and the EHR still lists them.
    pub(super) fn is_read_requested(&self) -> bool {
        self.state.pulls.schedule.requested.is_some() && self.reads_appointments()
    }

    fn reads_appointments(&self) -> bool {
        self.plan().iter().any(|plan| plan.resource == Resource::Appointments)
    }

    /// Returns `true` if a requested read of the appointments is next. A failed page of another resource, and one that
    /// waits for an insert, comes first, because failures are counted per resource. So does the rest of a cycle whose
    /// last pass was a requested one.
    pub(super) fn appointments_are_next(&self) -> bool {
        let pulls = &self.state.pulls;
        let gives_way = pulls.cycle.as_ref().is_some_and(|cycle| cycle.gives_way);
        self.is_read_requested() && !gives_way && pulls.failures == 0 && pulls.waits == 0
    }

    /// Returns `true` if a read of the appointments is still requested after a page of a resource, which may be the
    /// last one of its pass.
    pub(super) fn still_requested(&self, resource: Resource) -> bool {
        let ScheduleRead { asked, requested, .. } = self.state.pulls.schedule;
        let open = |at| resource != Resource::Appointments || asked.is_some_and(|began| began < at);
        requested.is_some_and(open) && self.reads_appointments()
    }

    /// Returns the plan of the current or next resource of a cycle. `requested`: the appointments come first.
    pub(super) fn next_of(&self, cycle: &Cycle, requested: bool) -> Option<&PullPlan> {
        let appointments = || self.plan().iter().find(|plan| plan.resource == Resource::Appointments);
        requested.then(appointments).flatten().or_else(|| cycle.next(self.plan()))
    }

    pub(super) fn end_cycle(&self, cx: DecisionContext, cycle: &Cycle) -> Event {
        let next = match cycle.appointments_only {
            Some(_) => self.state.pulls.next_cycle,
            None => cx.now.plus(self.pause_after_cycle(cx)),
        };
        Event::CycleFinished { next }
    }
}
