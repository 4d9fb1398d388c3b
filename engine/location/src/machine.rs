//! The state machine of one location: its settings, its state, and the dispatch of commands.

use std::sync::Arc;

use crate::{
    Command, Decision, DecisionContext, Event, MachineSettings, Refusal, Reply, Resource, State, Timestamp,
    WorkingHour, settings::PullPlan, sync::prefetch::Prefetch,
};

/// One location: its settings, its state, and the page request that is not part of the state yet.
#[derive(Clone, Debug)]
pub struct Location {
    pub settings: Arc<MachineSettings>,
    /// The result of all events so far.
    pub state: State,
    /// The prefetched page, until an event records its request.
    pub(crate) prefetch: Option<Prefetch>,
    /// Time of the last search, hold or booking by an intent. It is not part of the state, so that it needs no commit.
    pub last_intent: Option<Timestamp>,
}

impl Location {
    /// Creates a location without history.
    pub fn new(settings: Arc<MachineSettings>) -> Location {
        Location { settings, state: State::default(), prefetch: None, last_intent: None }
    }

    /// Creates a location from a snapshot and rebuilds its calendar.
    pub fn load(settings: Arc<MachineSettings>, state: State) -> Location {
        let calendar = state.rebuilt_calendar();
        Location { settings, state: State { calendar, ..state }, prefetch: None, last_intent: None }
    }

    /// Decides a command without changing the state.
    pub fn decide(&self, cx: DecisionContext, command: &Command) -> Decision {
        self.decide_or_refuse(cx, command).unwrap_or_else(Decision::refuse)
    }

    fn decide_or_refuse(&self, cx: DecisionContext, command: &Command) -> Result<Decision, Refusal> {
        Ok(match command {
            Command::Book(book) => self.book(cx, book)?,
            Command::BookGroup(group) => self.book_group(cx, group)?,
            Command::Hold(hold) => self.hold(cx, hold)?,
            Command::Release { hold } => self.release(*hold),
            Command::Move { appointment, to, join_blocks } => {
                self.move_appointment(cx, *appointment, *to, *join_blocks)?
            }
            Command::Reschedule(reschedule) => self.reschedule(cx, reschedule)?,
            Command::Confirm { appointment } => self.confirm(cx, *appointment)?,
            Command::Cancel { appointment, reason } => self.cancel(cx, *appointment, reason.as_deref())?,
            Command::Change { appointment, to, join_blocks, what } => {
                self.change(cx, *appointment, *to, *join_blocks, *what)?
            }
            Command::Save(save) => self.save(cx, *save)?,
            Command::SetHour { hour, here_only } => self.set_hour(cx, hour, *here_only)?,
            Command::SetOperatory { operatory, operation } => self.set_operatory(*operatory, *operation),
            Command::RemoveHour { hour } => self.remove_hour(cx, *hour)?,
            Command::Pushed { write, attempt, outcome } => self.pushed(cx, *write, *attempt, outcome),
            Command::Found { write, attempt, outcome } => self.found(cx, *write, *attempt, outcome),
            Command::Pulled { resource, call, outcome } => self.pulled(cx, *resource, *call, outcome),
            Command::Sweep(step) => self.sweep(cx, step),
            Command::RequestsSent { requests } => {
                Decision::new(Reply::Done, vec![Event::RequestsSent { requests: *requests }])
            }
            Command::DuplicateFound { duplicate, record } => self.merge_duplicate(cx, *duplicate, record),
            Command::HourDuplicateFound { duplicate, local, shown } => {
                self.merge_duplicate_hour(*duplicate, *local, shown.as_ref())
            }
            Command::RetryWrite(retry) => self.retry_write(cx, retry)?,
            Command::DropWrite { write, failed } => self.drop_write(*write, *failed)?,
            Command::Wake => self.wake(cx),
            Command::ClockSetBack { by, forgotten } => self.clock_set_back(cx, *by, forgotten),
            Command::TakenOver => self.taken_over(cx),
            Command::ReadInterrupted => self.read_interrupted(cx),
            Command::Restored => self.restored(),
            Command::SyncNow => Decision::new(Reply::Done, vec![Event::SyncRequested]),
            Command::RequestRead { everything } => self.request_read(*everything),
            Command::AcceptDeletions { resource } => self.accept_deletions(*resource)?,
            Command::Described { outcome } => self.described(cx, outcome),
            Command::Pause { which } => self.pause(*which, true),
            Command::Resume { which } => self.pause(*which, false),
            Command::Gate(gate) => self.gate_reported(cx, *gate),
        })
    }

    /// Keeps the calls of another process pending for a full call deadline by the local clock before they are looked up
    /// or sent again. The event is also written without known calls, because its commit fences the other process.
    fn taken_over(&self, cx: DecisionContext) -> Decision {
        let until = cx.now.plus(self.settings.write.call_deadline + self.settings.place_wait);
        Decision::new(Reply::Done, vec![Event::CallsOutlast { until }])
    }

    /// Applies an event. Infallible.
    pub fn evolve(&mut self, at: Timestamp, event: &Event) {
        self.state.evolve(at, event, self.settings.quota);
        if let Event::PullStarted { asked_at: Some(_), .. } = event {
            self.prefetch = None;
        }
        if let Some(request) = &mut self.prefetch {
            request.apply(event);
        }
        if let Event::ClockSetBack { .. } = event {
            self.last_intent = self.last_intent.map(|last| last.min(at));
        }
    }

    /// Returns the location after events, with only the state that its read and write status depends on. The calendar,
    /// which is most of the state, is left out.
    pub fn status_after(&self, at: Timestamp, events: &[Event]) -> Location {
        let State { pulls, queue, breaker, gate, paused, quota, .. } = &self.state;
        let (pulls, queue, breaker) = (pulls.clone(), queue.clone(), breaker.clone());
        let state = State { pulls, queue, breaker, gate: *gate, paused: *paused, quota: *quota, ..State::default() };
        let mut after =
            Location { settings: self.settings.clone(), state, prefetch: None, last_intent: self.last_intent };
        events.iter().for_each(|event| after.evolve(at, event));
        after
    }

    /// Returns `true` if the EHR's appointments have been read once, or are never pulled. Before the first read, any
    /// hour may be taken in the EHR.
    fn has_read_appointments(&self) -> bool {
        let pulled = |plan: &PullPlan| plan.resource == Resource::Appointments;
        !self.settings.capabilities.pulls.iter().any(pulled) || self.state.pulls.known.contains(&Resource::Appointments)
    }

    /// Returns `true` if the schedule has been read completely once, so that slots can be offered. That requires a
    /// whole cycle, or a whole pass over each resource that slots depend on.
    pub fn has_read_schedule(&self) -> bool {
        let (capabilities, pulls) = (&self.settings.capabilities, &self.state.pulls);
        let slots_rest_on = [Resource::Operatories, Resource::WorkingHours, Resource::Appointments];
        let mut plans = capabilities.pulls.iter().filter(|plan| slots_rest_on.contains(&plan.resource)).peekable();
        let passed = plans.peek().is_some() && plans.all(|plan| pulls.known.contains(&plan.resource));
        !capabilities.integrated || pulls.last_success.is_some() || passed
    }

    /// Returns the active working hours in operatories that are in use. If the EHR lists its operatories, an unlisted
    /// one counts as removed. If bookings must name an operatory, hours without one are left out.
    pub fn hours(&self) -> impl Iterator<Item = &WorkingHour> + Clone {
        let known = self.has_read_appointments();
        let otherwise = !self.settings.capabilities.pulls.iter().any(|plan| plan.resource == Resource::Operatories);
        let in_use = move |hour: &&WorkingHour| match hour.operatory {
            Some(id) => hour.active && self.state.operatories.get(&id).copied().unwrap_or(otherwise),
            None => hour.active && !self.settings.map_by_operatory,
        };
        self.state.hours.values().filter(move |_| known).filter(in_use)
    }
}
