//! Looking ahead: what a decision makes ready to be sent starts in the commit of that decision, where nothing else is due before. A
//! booking that is made, sent and confirmed is three commits then: made and started, done and started, done.

use crate::{Location, command::Cx, decision::Call, event::Event, state::State};

/// With more unfinished writes the timer starts the next one: this looks at all of them.
const LOOKED_AT: usize = 64;

impl Location {
    /// What starts at once after `events`, and the calls to make when all of it is durable.
    pub fn ahead(&self, cx: Cx, events: &[Event]) -> (Vec<Event>, Vec<Call>) {
        let (mut started, mut calls) = (Vec::new(), Vec::new());
        let changes_queue =
            |it: &Event| matches!(it, Event::WriteQueued { .. } | Event::WriteRetried { .. } | Event::WriteDone { .. });
        // What staff took goes first, and a wake sees it.
        let pulls = |it: &Event| matches!(it, Event::PageApplied { .. } | Event::ConflictFound { .. });
        if self.state.queue.len() > LOOKED_AT
            || !events.iter().any(changes_queue)
            || events.iter().any(pulls)
            || self.ends_something(cx)
        {
            return (started, calls);
        }
        let mut after = Location { settings: self.settings.clone(), state: self.state.of_writes(events) };
        for event in events {
            after.evolve(cx.now, event);
        }
        let mut quota = after.state.quota.available(self.settings.quota, cx.now);
        after.start_writes(cx, &mut quota, &mut started, &mut calls);
        (started, calls)
    }
}

impl State {
    /// What of it says which writes may start: of a location's appointments those that have a write, or are given one.
    fn of_writes(&self, events: &[Event]) -> State {
        let given = events.iter().filter_map(|event| match event {
            Event::WriteQueued { work, .. } | Event::WriteRetried { work, .. } => work.appointment(),
            _ => None,
        });
        let ids = self.queue.iter().filter_map(|(_, write)| write.work.appointment()).chain(given);
        let appointments = ids.filter_map(|id| Some((id, self.appointments.get(&id)?.clone()))).collect();
        State {
            appointments,
            queue: self.queue.clone(),
            breaker: self.breaker.clone(),
            gate: self.gate,
            paused: self.paused,
            quota: self.quota,
            ..State::default()
        }
    }
}
