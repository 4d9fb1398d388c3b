//! The machine of one location: settings and state, and which room decides which command.

use std::sync::Arc;

use crate::{
    command::{Command, Cx},
    decision::{Decision, Reply},
    event::Event,
    resource::Resource,
    schedule::hours::WorkingHour,
    settings::{PullPlan, Settings},
    state::State,
    time::Timestamp,
};

/// One location: what the operator set, and what happened so far.
#[derive(Clone, Debug)]
pub struct Location {
    /// What the operator set.
    pub settings: Arc<Settings>,
    /// What happened so far.
    pub state: State,
}

impl Location {
    /// A location to which nothing has happened yet.
    pub fn new(settings: Arc<Settings>) -> Location {
        Location { settings, state: State::default() }
    }

    /// A location from its snapshot, which has no calendar.
    pub fn load(settings: Arc<Settings>, state: State) -> Location {
        let calendar = state.rebuilt_calendar();
        Location { settings, state: State { calendar, ..state } }
    }

    /// What should happen. Changes nothing.
    pub fn decide(&self, cx: Cx, command: &Command) -> Decision {
        match command {
            Command::Book(book) => self.book(cx, book),
            Command::Hold(hold) => self.hold(cx, hold),
            Command::Release { hold } => self.release(*hold),
            Command::Move { appointment, to, join_blocks } => {
                self.move_appointment(cx, *appointment, *to, *join_blocks)
            }
            Command::Cancel { appointment, reason } => self.cancel(cx, *appointment, reason.as_deref()),
            Command::Change { appointment, to, join_blocks, what } => {
                self.change(cx, *appointment, *to, *join_blocks, *what)
            }
            Command::Save(save) => self.save(cx, *save),
            Command::SetHour { hour, here_only } => self.set_hour(cx, hour, *here_only),
            Command::SetOperatory { operatory, operation } => self.set_operatory(*operatory, *operation),
            Command::RemoveHour { hour } => self.remove_hour(cx, *hour),
            Command::Pushed { write, attempt, outcome } => self.pushed(cx, *write, *attempt, outcome),
            Command::Found { write, attempt, outcome } => self.found(cx, *write, *attempt, outcome),
            Command::Pulled { resource, call, outcome } => self.pulled(cx, *resource, *call, outcome),
            Command::Sweep(step) => self.sweep(cx, step),
            Command::RequestsSent { requests } => {
                Decision::of(Reply::Done, vec![Event::RequestsSent { requests: *requests }])
            }
            Command::TwinFound { twin, record } => self.twin_found(cx, *twin, record),
            Command::HourTwinFound { twin, ours, shown } => self.hour_twin_found(*twin, *ours, shown.as_ref()),
            Command::RetryWrite(retry) => self.retry_write(cx, retry),
            Command::DropWrite { write, failed } => self.drop_write(*write, *failed),
            Command::Wake => self.wake(cx),
            Command::ClockSetBack { by } => Decision::of(Reply::Done, vec![Event::ClockSetBack { by: *by }]),
            Command::TakenOver => self.taken_over(cx),
            Command::ReadInterrupted => self.read_interrupted(cx),
            Command::Restored => self.restored(),
            Command::SyncNow => Decision::of(Reply::Done, vec![Event::SyncRequested]),
            Command::AcceptDeletions { resource } => self.accept_deletions(*resource),
            Command::Described { outcome } => self.described(cx, outcome),
            Command::Pause { which } => self.pause(*which, true),
            Command::Resume { which } => self.pause(*which, false),
            Command::Gate(gate) => self.gate_stands(cx, *gate),
        }
    }

    /// A call that another process began is not over before it has had all its time by the clock here: that it is looked up, and perhaps
    /// sent again, waits for that. It is said where no call is known too: what is written here keeps the other process from writing.
    fn taken_over(&self, cx: Cx) -> Decision {
        let until = cx.now.plus(self.settings.write.call_deadline + self.settings.place_wait);
        Decision::of(Reply::Done, vec![Event::CallsOutlast { until }])
    }

    /// Applies what happened. Cannot fail.
    pub fn evolve(&mut self, at: Timestamp, event: &Event) {
        self.state.evolve(at, event, self.settings.quota);
    }

    /// Whether what the EHR has booked is known. Until its appointments were shown once, every hour may be taken there.
    fn knows_the_calendar(&self) -> bool {
        let pulled = |plan: &PullPlan| plan.resource == Resource::Appointments;
        !self.settings.capabilities.pulls.iter().any(pulled) || self.state.pulls.known.contains(&Resource::Appointments)
    }

    /// Whether the schedule was read once to its end: before, nobody can say when it is free. A whole cycle has done that, and, where
    /// something else cannot be read, a whole pass over each resource that slots rest on.
    pub fn schedule_is_read(&self) -> bool {
        let (capabilities, pulls) = (&self.settings.capabilities, &self.state.pulls);
        let slots_rest_on = [Resource::Operatories, Resource::WorkingHours, Resource::Appointments];
        let mut plans = capabilities.pulls.iter().filter(|plan| slots_rest_on.contains(&plan.resource)).peekable();
        let passed = plans.peek().is_some() && plans.all(|plan| pulls.known.contains(&plan.resource));
        !capabilities.integrated || pulls.last_success.is_some() || passed
    }

    /// Working hours that count: active, and in an operatory that is in use. Where the EHR tells its operatories, one it does not
    /// tell is gone; where bookings must name an operatory, hours without one offer nothing that could be booked.
    pub fn hours(&self) -> impl Iterator<Item = &WorkingHour> + Clone {
        let known = self.knows_the_calendar();
        let otherwise = !self.settings.capabilities.pulls.iter().any(|plan| plan.resource == Resource::Operatories);
        let in_use = move |hour: &&WorkingHour| match hour.operatory {
            Some(id) => hour.active && self.state.operatories.get(&id).copied().unwrap_or(otherwise),
            None => hour.active && !self.settings.map_by_operatory,
        };
        self.state.hours.values().filter(move |_| known).filter(in_use)
    }
}
