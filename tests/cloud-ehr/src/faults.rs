//! Faults that tests inject into calls.

use std::time::Duration;

/// The calls with a fault, counted from when it is set; 1 is the next one. Calls that check the session are not
/// counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSelector {
    /// Every call.
    Each,
    /// Every call that changes something.
    EachWrite,
    /// The n-th call.
    Call(usize),
    /// The n-th call that changes something.
    Write(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// Not performed, and the connection breaks.
    LoseRequest,
    /// Performed, and the connection breaks.
    LoseReply,
    /// Performed, and the answer is delayed.
    Slow(Duration),
    /// Not performed, but redirected to another address.
    Redirect(String),
    /// Performed, and the answer is extended by this number of bytes.
    Huge(usize),
    /// All sessions end before the call is performed.
    SessionEnds,
    /// Performed; then all sessions end, and the answer is the login page.
    LoginPage,
    /// Not performed; the answer is this status, media type and body.
    Answer(u16, &'static str, &'static str),
}

#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    faults: Vec<(CallSelector, InjectedFault)>,
    calls: usize,
    writes: usize,
    injected: usize,
}

impl FaultPlan {
    pub fn add(&mut self, on: CallSelector, fault: InjectedFault) {
        let on = match on {
            CallSelector::Call(n) => CallSelector::Call(self.calls + n),
            CallSelector::Write(n) => CallSelector::Write(self.writes + n),
            each => each,
        };
        self.faults.push((on, fault));
    }

    pub fn clear(&mut self) {
        self.faults.clear();
    }

    /// Returns the number of calls with a fault so far.
    pub fn injected(&self) -> usize {
        self.injected
    }

    /// Counts a call and returns its fault.
    pub fn next(&mut self, changes: bool) -> Option<InjectedFault> {
        self.calls += 1;
        self.writes += usize::from(changes);
        let (calls, writes) = (self.calls, self.writes);
        let hit = self.faults.iter().find(|(on, _)| match on {
            CallSelector::Each => true,
            CallSelector::EachWrite => changes,
            CallSelector::Call(n) => *n == calls,
            CallSelector::Write(n) => changes && *n == writes,
        });
        let fault = hit.map(|(_, fault)| fault.clone());
        self.injected += usize::from(fault.is_some());
        fault
    }
}
