//! Changes of the workstation gate.

use crate::{
    Decision, DecisionContext, Event, Location, Reply,
    gate::Gate,
    writes::queue::{Write, WriteState},
};

impl Location {
    /// Applies a reported state of the gate. An open gate retries waiting writes.
    pub(crate) fn gate_reported(&self, cx: DecisionContext, gate: Gate) -> Decision {
        let state = &self.state;
        let news = state.gate.is_none_or(|known| known.gate != gate);
        let late = |write: &Write| matches!(write.state, WriteState::Waiting { not_before } if cx.now < not_before);
        let waits = || {
            !state.breaker.is_clear()
                || state.pulls.retry_at.is_some_and(|at| cx.now < at)
                || state.queue.iter().any(|(_, write)| write.withdrawable() && late(write))
        };
        let turned = news || (gate == Gate::Open && waits());
        Decision::new(Reply::Done, turned.then_some(Event::GateTurned { gate }).into_iter().collect())
    }
}
