//! What goes wrong with a call when a test says so.

use std::time::Duration;

/// Which calls, counted from the moment this is said. 1 is the next one; the call that asks who is logged in is never counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
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
pub enum Trouble {
    /// It is not carried out, and the connection breaks.
    LoseRequest,
    /// It is carried out, and the connection breaks.
    LoseReply,
    /// It is carried out, and its answer comes so much later.
    Slow(Duration),
    /// It is not carried out, but sent to another address.
    Redirect(String),
    /// It is carried out, and its answer is longer than anybody wants by so many bytes.
    Huge(usize),
    /// Before it is carried out, all sessions end.
    SessionEnds,
    /// It is carried out, and all sessions end before it is answered: the answer is the login page.
    LoginPage,
    /// It is not carried out, and this is answered: status, media type, body.
    Answer(u16, &'static str, &'static str),
}

#[derive(Clone, Debug, Default)]
pub struct Spoiling {
    told: Vec<(On, Trouble)>,
    calls: usize,
    writes: usize,
    spoilt: usize,
}

impl Spoiling {
    pub fn tell(&mut self, on: On, trouble: Trouble) {
        let on = match on {
            On::Call(n) => On::Call(self.calls + n),
            On::Write(n) => On::Write(self.writes + n),
            each => each,
        };
        self.told.push((on, trouble));
    }

    pub fn calm(&mut self) {
        self.told.clear();
    }

    /// How many calls were spoilt so far.
    pub fn spoilt(&self) -> usize {
        self.spoilt
    }

    /// Counts a call, and says what happens to it.
    pub fn next(&mut self, changes: bool) -> Option<Trouble> {
        self.calls += 1;
        self.writes += usize::from(changes);
        let (calls, writes) = (self.calls, self.writes);
        let hit = self.told.iter().find(|(on, _)| match on {
            On::Each => true,
            On::EachWrite => changes,
            On::Call(n) => *n == calls,
            On::Write(n) => changes && *n == writes,
        });
        let trouble = hit.map(|(_, trouble)| trouble.clone());
        self.spoilt += usize::from(trouble.is_some());
        trouble
    }
}
