//! What will happen when. Things of the same moment happen in the order in which they were planned.

use std::collections::BTreeMap;

use location::{
    ids::{LocationId, WriteId},
    intent::WriteIntent,
    time::Timestamp,
};
use records::ehr::{Resource, Write};

use super::{ask::Ask, clients::Asked};

pub enum Happening {
    /// A client has an idea.
    Client,
    /// A client asks, or asks again.
    Ask(Asked),
    /// Somebody at the practice works in the EHR.
    Staff {
        source: u32,
    },
    /// Somebody there sees an appointment that just came.
    Notice {
        source: u32,
        id: String,
    },
    /// An EHR becomes reachable or not.
    Weather {
        source: u32,
    },
    /// A crash, a full disk, a location leaving memory.
    Trouble,
    /// An operator asks for something.
    Operator,
    DiskFreed,
    /// The process is started again.
    Restart,
    /// The directory looks who is due.
    Look,
    /// The location's one timer.
    Timer {
        location: LocationId,
        incarnation: u64,
        at: Timestamp,
    },
    /// The EHR says what it can do.
    Described {
        location: LocationId,
        incarnation: u64,
    },
    /// A call reaches the EHR.
    Land(Trip),
    /// The answer to a call reaches the location.
    Answer {
        location: LocationId,
        incarnation: u64,
        request: Ask,
    },
}

/// A call on its way to an EHR.
pub struct Trip {
    pub location: LocationId,
    /// An answer is heard only by the incarnation that asked.
    pub incarnation: u64,
    pub question: Question,
    /// When the true answer arrives; none: it is lost.
    pub answer_at: Option<Timestamp>,
}

pub enum Question {
    Push { write: WriteId, attempt: u32, work: WriteIntent, key: String, outgoing: Write },
    Find { write: WriteId, attempt: u32, key: String },
    Pull { resource: Resource, call: u64, cursor: Option<String>, limit: u32 },
}

/// Calls on their way, those of former incarnations included.
pub const TRIPS_PER_LOCATION: usize = 20;

#[derive(Default)]
pub struct Agenda {
    plans: BTreeMap<(Timestamp, u64), Happening>,
    next: u64,
}

impl Agenda {
    pub fn plan(&mut self, at: Timestamp, what: Happening) {
        self.plans.insert((at, self.next), what);
        self.next += 1;
    }

    pub fn next(&mut self) -> Option<(Timestamp, Happening)> {
        self.plans.pop_first().map(|((at, _), what)| (at, what))
    }

    /// The next thing that may as well happen a little earlier: a client's request, or a page, of another location than this.
    pub fn sooner(&mut self, than: Timestamp, other: LocationId) -> Option<Happening> {
        let early = |what: &Happening| match what {
            Happening::Ask(asked) => asked.location != other,
            Happening::Answer { location, request: Ask::Page(_), .. } => *location != other,
            _ => false,
        };
        let key = *self.plans.range(..(than, 0)).find(|(_, what)| early(what))?.0;
        self.plans.remove(&key)
    }

    /// Forgets what clients, staff and fate still had in mind: calls, answers and timers go on.
    pub fn calm(&mut self) {
        self.plans.retain(|_, what| match what {
            Happening::Client
            | Happening::Ask(_)
            | Happening::Staff { .. }
            | Happening::Notice { .. }
            | Happening::Weather { .. }
            | Happening::Operator
            | Happening::Trouble => false,
            Happening::DiskFreed
            | Happening::Restart
            | Happening::Look
            | Happening::Timer { .. }
            | Happening::Described { .. }
            | Happening::Land(_)
            | Happening::Answer { .. } => true,
        });
    }

    pub fn trips(&self) -> usize {
        self.plans.values().filter(|what| matches!(what, Happening::Land(_) | Happening::Answer { .. })).count()
    }

    pub fn len(&self) -> usize {
        self.plans.len()
    }
}
