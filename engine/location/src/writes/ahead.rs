//! Starts writes in the commit of the decision that makes them ready, if nothing else is due before. Booking, sending
//! and confirming an appointment then takes three commits: booked and started, done and started, done.

use crate::{Call, Decision, DecisionContext, Event, Location, State};

/// Largest queue for which this is done, because every write is examined. In a larger queue the timer starts writes.
const LOOKED_AT: usize = 64;

impl Location {
    /// Returns the writes that start right after `events`, and the calls to make once all of it is durable.
    pub fn ahead(&self, cx: DecisionContext, events: &[Event]) -> (Vec<Event>, Vec<Call>) {
        let mut started = Decision::nothing();
        let changes_queue =
            |it: &Event| matches!(it, Event::WriteQueued { .. } | Event::WriteRetried { .. } | Event::WriteDone { .. });
        // Conflicts with staff are resolved first, on the next wake.
        let pulls = |it: &Event| matches!(it, Event::PageApplied { .. } | Event::ConflictFound { .. });
        if self.state.queue.len() > LOOKED_AT
            || !events.iter().any(changes_queue)
            || (self.is_busy(cx) && events.iter().all(frees_no_call))
            || events.iter().any(pulls)
            || self.has_due_items(cx)
        {
            return (started.events, started.calls);
        }
        let state = self.state.subset_for_writes(events);
        let (settings, prefetch) = (self.settings.clone(), self.prefetch.clone());
        let mut after = Location { settings, state, prefetch, last_intent: self.last_intent };
        for event in events {
            after.evolve(cx.now, event);
        }
        let mut quota = after.available_requests(cx.now);
        after.start_writes(cx, &mut quota, &mut started);
        (started.events, started.calls)
    }

    /// Returns `true` if as many calls are in flight as the circuit breaker allows.
    fn is_busy(&self, cx: DecisionContext) -> bool {
        self.state.queue.in_flight() >= self.state.breaker.concurrency(&self.settings.write, cx.now)
    }
}

/// Returns `true` for the events of a booking and of a saved record. They end no call, and leave the circuit breaker as
/// it is.
fn frees_no_call(event: &Event) -> bool {
    matches!(
        event,
        Event::Booked { .. }
            | Event::HoldEnded { .. }
            | Event::WriteQueued { .. }
            | Event::RecordSaved { .. }
            | Event::AppointmentChanged { .. }
    )
}

impl State {
    /// Returns the part of the state that decides which writes may start. It contains only appointments with a queued
    /// or new write.
    fn subset_for_writes(&self, events: &[Event]) -> State {
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
