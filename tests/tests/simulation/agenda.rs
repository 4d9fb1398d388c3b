//! Schedule of future events. Events of the same instant keep the order in which they were planned.

use std::collections::BTreeMap;

use location::{
    command::Outcome,
    ids::{LocationId, WriteId},
    intent::WriteIntent,
    time::Timestamp,
};
use records::ehr::{Page, Resource, Write};

use super::{clients::ClientRequest, sim_request::SimRequest};

pub enum SimEvent {
    /// A client starts an action.
    Client,
    /// A client sends or repeats a request.
    Request(ClientRequest),
    /// Staff change something in the EHR.
    Staff {
        source: u32,
    },
    /// Staff notice a new appointment.
    Notice {
        source: u32,
        id: String,
    },
    /// An EHR becomes reachable or unreachable.
    Reachability {
        source: u32,
    },
    /// A crash, a full disk, or a location leaving memory.
    Fault,
    /// An operator sends a request.
    Operator,
    DiskFreed,
    /// The process restarts.
    Restart,
    /// The directory loads locations that are due.
    Look,
    /// The location's timer.
    Timer {
        location: LocationId,
        incarnation: u64,
        at: Timestamp,
    },
    /// The EHR describes its capabilities.
    Described {
        location: LocationId,
        incarnation: u64,
    },
    /// A call reaches the EHR.
    Land(CallInFlight),
    /// The answer to a call reaches the location.
    Answer {
        location: LocationId,
        incarnation: u64,
        request: SimRequest,
    },
    /// The answer to a page request arrives.
    PageArrived {
        location: LocationId,
        incarnation: u64,
        number: u64,
        outcome: Outcome<Box<Page>>,
    },
}

/// A call in flight to an EHR.
pub struct CallInFlight {
    pub location: LocationId,
    /// Other incarnations ignore the answer.
    pub incarnation: u64,
    pub question: Question,
    /// Arrival of the EHR's answer; `None` if it is lost.
    pub answer_at: Option<Timestamp>,
}

pub enum Question {
    Push {
        write: WriteId,
        attempt: u32,
        work: WriteIntent,
        key: String,
        outgoing: Write,
    },
    Find {
        write: WriteId,
        attempt: u32,
        key: String,
    },
    /// `number` identifies the request.
    Pull {
        number: u64,
        resource: Resource,
        cursor: Option<String>,
        limit: u32,
    },
}

/// Maximum number of calls in flight, including those of former incarnations.
pub const TRIPS_PER_LOCATION: usize = 20;

#[derive(Default)]
pub struct Agenda {
    plans: BTreeMap<(Timestamp, u64), SimEvent>,
    next: u64,
}

impl Agenda {
    pub fn plan(&mut self, at: Timestamp, what: SimEvent) {
        self.plans.insert((at, self.next), what);
        self.next += 1;
    }

    pub fn next(&mut self) -> Option<(Timestamp, SimEvent)> {
        self.plans.pop_first().map(|((at, _), what)| (at, what))
    }

    /// Takes a later event that may happen early: a client's request or a page, of a location other than `other`.
    pub fn sooner(&mut self, than: Timestamp, other: LocationId) -> Option<SimEvent> {
        let early = |what: &SimEvent| match what {
            SimEvent::Request(asked) => asked.location != other,
            SimEvent::Answer { location, request: SimRequest::Page(_), .. }
            | SimEvent::PageArrived { location, .. } => *location != other,
            _ => false,
        };
        let key = *self.plans.range(..(than, 0)).find(|(_, what)| early(what))?.0;
        self.plans.remove(&key)
    }

    /// Removes planned actions of clients, staff and faults. Calls, answers and timers remain.
    pub fn remove_faults(&mut self) {
        self.plans.retain(|_, what| match what {
            SimEvent::Client
            | SimEvent::Request(_)
            | SimEvent::Staff { .. }
            | SimEvent::Notice { .. }
            | SimEvent::Reachability { .. }
            | SimEvent::Operator
            | SimEvent::Fault => false,
            SimEvent::DiskFreed
            | SimEvent::Restart
            | SimEvent::Look
            | SimEvent::Timer { .. }
            | SimEvent::Described { .. }
            | SimEvent::Land(_)
            | SimEvent::Answer { .. }
            | SimEvent::PageArrived { .. } => true,
        });
    }

    pub fn trips(&self) -> usize {
        let is_trip = |what: &&SimEvent| {
            matches!(what, SimEvent::Land(_) | SimEvent::Answer { .. } | SimEvent::PageArrived { .. })
        };
        self.plans.values().filter(is_trip).count()
    }

    pub fn len(&self) -> usize {
        self.plans.len()
    }
}
