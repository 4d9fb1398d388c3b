//! Faults of requests: the plan shared by proxy and transport.

use std::{sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};

#[derive(Clone, Debug)]
pub enum InjectedFault {
    /// The request does not reach the EHR; the connection is cut.
    LoseRequest,
    /// The EHR executes the request; the connection is cut before the response.
    LoseReply,
    /// The EHR executes the request; its response is truncated.
    Half,
    /// The EHR executes the request; its response is delayed.
    Slow(Duration),
    /// The request does not reach the EHR; the response is this status, headers and body.
    Answer(u16, Vec<(&'static str, &'static str)>, &'static str),
}

/// The requests with a fault, counted from `set`.
#[derive(Clone, Copy, Debug)]
pub enum When {
    Each,
    /// Counted from 1, the next request.
    Nth(usize),
}

#[derive(Default)]
struct InjectorState {
    seen: usize,
    /// Faults of all plans.
    injected: usize,
    plan: Option<(When, InjectedFault)>,
}

/// Determines for each request whether a fault is injected, and which.
#[derive(Clone, Default)]
pub struct FaultInjector(Arc<Mutex<InjectorState>>);

impl FaultInjector {
    pub fn set(&self, when: When, fault: InjectedFault) {
        self.begin(Some((when, fault)));
    }

    /// Stops injecting faults and restarts the count of requests.
    pub fn clear(&self) {
        self.begin(None);
    }

    /// Returns the number of requests since the last `set` or `clear`.
    pub fn requests(&self) -> usize {
        self.state().seen
    }

    /// Returns the total number of requests with a fault.
    pub fn injected(&self) -> usize {
        self.state().injected
    }

    /// Counts one more request and returns its fault.
    pub(crate) fn next(&self) -> Option<InjectedFault> {
        let mut state = self.state();
        state.seen += 1;
        let (when, fault) = state.plan.clone()?;
        let due = match when {
            When::Each => true,
            When::Nth(n) => n == state.seen,
        };
        state.injected += usize::from(due);
        due.then_some(fault)
    }

    fn begin(&self, plan: Option<(When, InjectedFault)>) {
        let mut state = self.state();
        (state.seen, state.plan) = (0, plan);
    }

    fn state(&self) -> MutexGuard<'_, InjectorState> {
        self.0.lock()
    }
}
