//! What happens to requests on their way: the plan that proxy and transport share.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The EHR never sees it; the connection is cut.
    LoseRequest,
    /// The EHR carries it out; the connection is cut instead of answered.
    LoseReply,
    /// The EHR carries it out; its answer breaks off in the middle.
    Half,
    /// The EHR carries it out; its answer comes so much later.
    Slow(Duration),
    /// The EHR never sees it; this is answered: status, headers, body.
    Answer(u16, Vec<(&'static str, &'static str)>, &'static str),
}

/// Which requests are spoilt, counted from the moment this is said.
#[derive(Clone, Copy, Debug)]
pub enum When {
    Each,
    /// 1 is the next one.
    Nth(usize),
}

#[derive(Default)]
struct State {
    seen: usize,
    /// Over all plans.
    spoilt: usize,
    plan: Option<(When, Trouble)>,
}

/// Says for each request whether it is spoilt, and how.
#[derive(Clone, Default)]
pub struct Spoiler(Arc<Mutex<State>>);

impl Spoiler {
    pub fn set(&self, when: When, trouble: Trouble) {
        self.begin(Some((when, trouble)));
    }

    /// Nothing is spoilt any more, and requests are counted from here.
    pub fn calm(&self) {
        self.begin(None);
    }

    /// Requests since the last `set` or `calm`.
    pub fn requests(&self) -> usize {
        self.state().seen
    }

    /// Requests that were spoilt since the beginning.
    pub fn spoilt(&self) -> usize {
        self.state().spoilt
    }

    /// One more request: what happens to it.
    pub(crate) fn next(&self) -> Option<Trouble> {
        let mut state = self.state();
        state.seen += 1;
        let (when, trouble) = state.plan.clone()?;
        let due = match when {
            When::Each => true,
            When::Nth(n) => n == state.seen,
        };
        state.spoilt += usize::from(due);
        due.then_some(trouble)
    }

    fn begin(&self, plan: Option<(When, Trouble)>) {
        let mut state = self.state();
        (state.seen, state.plan) = (0, plan);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
