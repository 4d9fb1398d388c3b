//! The rules of one location's gate: the holder of the lease, the requests in flight, and the answers to accept.
//! Without clock and IO: the time is an argument, and effects are returned.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use adapter_host::{GateError, GateRequest, plain};
use location::gate::{Gate, Shut};
use records::GateState;

use super::{
    ToWorkstation,
    limits::{REASON_BYTES, WAITING},
    protocol::{Failure, FailureKind, Login, Request, RequestAnswer, RequestRef},
};

/// A connection of a workstation. Later ones have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Writes remembered as waiting for approval: as many as the extension keeps.
const UNAPPROVED: usize = 1_000;

/// The number of a request. Counted per location, never reused.
pub(crate) type Number = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionState {
    pub login: Login,
    pub paused: bool,
    /// Writes that wait for the staff's approval.
    pub awaiting: u32,
}

impl SessionState {
    fn eligible(&self) -> bool {
        self.login == Login::In && !self.paused
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub location: u32,
    /// Concurrent requests.
    pub in_flight: usize,
    /// Grace period before a gate without a workstation closes.
    pub patience: Duration,
}

/// An effect to carry out, in the order returned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Send(ConnectionId, ToWorkstation),
    /// Durably allocate the next fencing token of the location, then call `leased`.
    RequestLease(ConnectionId),
    /// A request ends, once.
    Complete(Number, Result<RequestAnswer, GateError>),
    /// An answer was rejected.
    Rejected(ConnectionId, Rejection),
    /// The gate opened or closed, as reported to the location, or it is open under a new lease.
    Gate(Gate),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rejection {
    #[error("the connection does not hold the lease")]
    NotTheHolder,
    #[error("it is under another lease")]
    OtherLease,
    #[error("it is for another location")]
    OtherLocation,
    #[error("no such request is in flight")]
    NotInFlight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaseState {
    Free,
    /// Its fencing token is being allocated.
    Requested(ConnectionId),
    Held(ConnectionId, u64),
}

#[derive(Debug)]
struct PendingRequest {
    until: Instant,
    /// The write to which the request belongs.
    write: Option<String>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Waiting(GateRequest),
    /// Sent to the holder of the lease.
    InFlight,
    /// A write whose workstation disappeared: its browser may still perform the write until the deadline.
    Abandoned,
}

impl PendingRequest {
    fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }

    fn is_in_flight(&self) -> bool {
        matches!(self.stage, Stage::InFlight)
    }
}

#[derive(Debug)]
pub(crate) struct Lease {
    rules: Rules,
    /// In the order of arrival; `None` before the first report of a session state.
    sessions: BTreeMap<ConnectionId, Option<SessionState>>,
    lease: LeaseState,
    /// The highest known fencing token.
    fence: u64,
    requests: BTreeMap<Number, PendingRequest>,
    /// Writes that wait for the staff, as reported by the holder.
    unapproved: BTreeSet<String>,
    next: Number,
    /// The time since which no workstation has reported a session state.
    vacant: Option<Instant>,
    pub(crate) state: GateState,
    pub(crate) since: Instant,
    pub(crate) reported: Option<Gate>,
}

impl Lease {
    pub(crate) fn new(now: Instant, rules: Rules) -> Lease {
        Lease {
            rules,
            sessions: BTreeMap::new(),
            lease: LeaseState::Free,
            fence: 0,
            requests: BTreeMap::new(),
            unapproved: BTreeSet::new(),
            next: 1,
            vacant: Some(now),
            state: GateState::Closed,
            since: now,
            reported: None,
        }
    }

    /// Sets the rules, which apply from the next request and the next tick on.
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    pub(crate) fn connected(&mut self, now: Instant, id: ConnectionId) -> Vec<Effect> {
        self.sessions.insert(id, None);
        self.settle(now, Vec::new())
    }

    pub(crate) fn gone(&mut self, now: Instant, id: ConnectionId) -> Vec<Effect> {
        self.sessions.remove(&id);
        self.settle(now, Vec::new())
    }

    pub(crate) fn update_session(&mut self, now: Instant, id: ConnectionId, state: SessionState) -> Vec<Effect> {
        if let Some(session) = self.sessions.get_mut(&id) {
            *session = Some(state);
        }
        self.settle(now, Vec::new())
    }

    /// Handles the allocated fencing token. `None` if the allocation failed; it is retried later.
    pub(crate) fn leased(&mut self, now: Instant, id: ConnectionId, number: Option<u64>) -> Vec<Effect> {
        let mut effects = Vec::new();
        match number {
            // An earlier token may arrive after its successor.
            Some(number) if self.lease == LeaseState::Requested(id) && number > self.fence => {
                self.fence = number;
                self.lease = LeaseState::Held(id, number);
                self.unapproved.clear();
                effects.push(Effect::Send(id, ToWorkstation::Lease { lease: Some(number) }));
                // Also if the gate stayed open meanwhile: writes that wait for approval must be shown to the new
                // holder's staff.
                effects.push(Effect::Gate(Gate::Open));
            }
            Some(_) => {}
            None if self.lease == LeaseState::Requested(id) => {
                self.lease = LeaseState::Free;
                // Not in `settle`, which would request a lease again at once, in a loop.
                return effects;
            }
            None => {}
        }
        self.settle(now, effects)
    }

    /// Adds a request with the deadline `until`. It may end at once.
    pub(crate) fn request(&mut self, now: Instant, until: Instant, request: GateRequest) -> (Number, Vec<Effect>) {
        let number = self.next;
        self.next += 1;
        let waiting = self.requests.values().filter(|asked| asked.waits()).count();
        if waiting >= WAITING {
            let full = GateError::NotSent("too many requests wait for the workstation".to_owned());
            return (number, vec![Effect::Complete(number, Err(full))]);
        }
        let write = request.write.as_ref().map(|tag| tag.id.clone());
        self.requests.insert(number, PendingRequest { until, write, stage: Stage::Waiting(request) });
        (number, self.settle(now, Vec::new()))
    }

    /// Ends a request for which no caller waits any more.
    pub(crate) fn gave_up(&mut self, now: Instant, number: Number) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.end_late(number, &mut effects);
        self.settle(now, effects)
    }

    pub(crate) fn answered(&mut self, now: Instant, id: ConnectionId, answer: RequestAnswer) -> Vec<Effect> {
        self.ended(now, id, answer.claim, Ok(answer))
    }

    pub(crate) fn failed(&mut self, now: Instant, id: ConnectionId, failure: &Failure) -> Vec<Effect> {
        let reason = plain(&failure.reason, REASON_BYTES);
        let error = match failure.kind {
            FailureKind::NotSent => GateError::NotSent(reason),
            FailureKind::LoggedOut => {
                GateError::NotSent("nobody is logged in to the EHR at the workstation".to_owned())
            }
            FailureKind::NoAnswer => GateError::NoAnswer(reason),
            FailureKind::Refused => GateError::Refused(reason),
            FailureKind::Approval => GateError::Approval("the write waits for the staff's approval".to_owned()),
            FailureKind::Declined => GateError::Declined(reason),
        };
        let write = self.requests.get(&failure.claim.number).and_then(|asked| asked.write.clone());
        if failure.kind == FailureKind::Approval
            && self.check_claim(id, failure.claim).is_ok()
            && self.unapproved.len() < UNAPPROVED
        {
            self.unapproved.extend(write);
        }
        self.ended(now, id, failure.claim, Err(error))
    }

    /// Handles decisions of the staff. Returns only the writes that waited for approval under this lease, and ignores
    /// the rest.
    pub(crate) fn approved(&mut self, id: ConnectionId, writes: &[String]) -> Vec<String> {
        if self.holder().is_none_or(|(holder, _)| holder != id) {
            return Vec::new();
        }
        writes.iter().filter(|write| self.unapproved.remove(*write)).cloned().collect()
    }

    fn ended(
        &mut self,
        now: Instant,
        id: ConnectionId,
        claim: RequestRef,
        how: Result<RequestAnswer, GateError>,
    ) -> Vec<Effect> {
        if let Err(refusal) = self.check_claim(id, claim) {
            return vec![Effect::Rejected(id, refusal)];
        }
        self.requests.remove(&claim.number);
        self.settle(now, vec![Effect::Complete(claim.number, how)])
    }

    fn check_claim(&self, id: ConnectionId, claim: RequestRef) -> Result<(), Rejection> {
        let LeaseState::Held(holder, lease) = self.lease else { return Err(Rejection::NotTheHolder) };
        if holder != id {
            return Err(Rejection::NotTheHolder);
        }
        if claim.lease != lease {
            return Err(Rejection::OtherLease);
        }
        if claim.location != self.rules.location {
            return Err(Rejection::OtherLocation);
        }
        let is_in_flight = self.requests.get(&claim.number).is_some_and(PendingRequest::is_in_flight);
        if is_in_flight { Ok(()) } else { Err(Rejection::NotInFlight) }
    }

    pub(crate) fn tick(&mut self, now: Instant) -> Vec<Effect> {
        self.settle(now, Vec::new())
    }

    /// Returns `true` if a request may succeed.
    pub(crate) fn is_open(&self, now: Instant) -> bool {
        self.gate(now).is_none_or(|gate| gate == Gate::Open)
    }

    pub(crate) fn holder(&self) -> Option<(ConnectionId, u64)> {
        if let LeaseState::Held(id, number) = self.lease { Some((id, number)) } else { None }
    }

    pub(crate) fn session_state(&self, id: ConnectionId) -> Option<SessionState> {
        self.sessions.get(&id).copied().flatten()
    }

    /// Runs after every event: grants the lease, sends waiting requests, and ends requests without a chance.
    fn settle(&mut self, now: Instant, mut effects: Vec<Effect>) -> Vec<Effect> {
        self.end_the_lease(&mut effects);
        self.request_lease(&mut effects);
        self.note_state(now, &mut effects);
        let late: Vec<Number> =
            self.requests.iter().filter(|(_, asked)| asked.until <= now).map(|(number, _)| *number).collect();
        late.into_iter().for_each(|number| self.end_late(number, &mut effects));
        self.hand_out(now, &mut effects);
        self.end_unservable(now, &mut effects);
        effects
    }

    /// Ends the lease if the holder disconnected, logged out or paused. Its requests in flight may have reached the
    /// EHR.
    fn end_the_lease(&mut self, effects: &mut Vec<Effect>) {
        let (LeaseState::Held(id, _) | LeaseState::Requested(id)) = self.lease else { return };
        if self.eligible(id) {
            return;
        }
        if let LeaseState::Held(..) = self.lease
            && self.sessions.contains_key(&id)
        {
            effects.push(Effect::Send(id, ToWorkstation::Lease { lease: None }));
        }
        self.lease = LeaseState::Free;
        // A connected workstation stops its requests when its lease ends. The requests of a disconnected one are
        // uncertain.
        let is_connected = self.sessions.contains_key(&id);
        self.requests.retain(|number, asked| {
            if !asked.is_in_flight() {
                return true;
            }
            if asked.write.is_some() && !is_connected {
                asked.stage = Stage::Abandoned;
                return true;
            }
            let lost = GateError::NoAnswer("the workstation went before it answered".to_owned());
            effects.push(Effect::Complete(*number, Err(lost)));
            false
        });
    }

    fn eligible(&self, id: ConnectionId) -> bool {
        self.session_state(id).is_some_and(|session| session.eligible())
    }

    fn request_lease(&mut self, effects: &mut Vec<Effect>) {
        if self.lease != LeaseState::Free {
            return;
        }
        if let Some(next) = self.sessions.keys().copied().find(|id| self.eligible(*id)) {
            self.lease = LeaseState::Requested(next);
            effects.push(Effect::RequestLease(next));
        }
    }

    fn note_state(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let nobody = self.sessions.values().all(Option::is_none);
        self.vacant = if nobody { self.vacant.or(Some(now)) } else { None };
        let state = self.seen();
        if state != self.state {
            (self.state, self.since) = (state, now);
        }
        let gate = self.gate(now);
        if gate.is_some() && gate != self.reported {
            self.reported = gate;
            effects.extend(gate.map(Effect::Gate));
        }
    }

    fn seen(&self) -> GateState {
        let known = || self.sessions.values().flatten();
        if let LeaseState::Held(id, _) | LeaseState::Requested(id) = self.lease {
            return match self.session_state(id).is_some_and(|session| session.awaiting > 0) {
                true => GateState::WaitingForApproval,
                false => GateState::Connected,
            };
        }
        if known().any(|session| session.login == Login::In && session.paused) {
            GateState::Paused
        } else if known().next().is_some() {
            GateState::LoggedOut
        } else {
            GateState::Closed
        }
    }

    /// Returns the gate's state to report. Returns `None` while a workstation may still return.
    fn gate(&self, now: Instant) -> Option<Gate> {
        match self.state {
            GateState::Connected | GateState::WaitingForApproval => Some(Gate::Open),
            GateState::Paused => Some(Gate::Shut(Shut::Paused)),
            GateState::LoggedOut => Some(Gate::Shut(Shut::LoggedOut)),
            GateState::Closed => {
                let waited =
                    self.vacant.is_some_and(|since| now.saturating_duration_since(since) >= self.rules.patience);
                waited.then_some(Gate::Shut(Shut::NoWorkstation))
            }
        }
    }

    fn end_late(&mut self, number: Number, effects: &mut Vec<Effect>) {
        let Some(asked) = self.requests.remove(&number) else { return };
        let error = match asked.stage {
            Stage::Waiting(_) => GateError::NotSent("the workstation was busy until the deadline".to_owned()),
            Stage::InFlight => GateError::NoAnswer("no answer from the workstation in time".to_owned()),
            Stage::Abandoned => GateError::NoAnswer("the workstation went before it answered".to_owned()),
        };
        effects.push(Effect::Complete(number, Err(error)));
    }

    /// Sends the next waiting requests, in order, up to the limit of concurrent ones.
    fn hand_out(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let LeaseState::Held(id, lease) = self.lease else { return };
        let in_flight = self.requests.values().filter(|asked| asked.is_in_flight()).count();
        let free = self.rules.in_flight.max(1).saturating_sub(in_flight);
        let location = self.rules.location;
        for (number, asked) in self.requests.iter_mut().filter(|(_, asked)| asked.waits()).take(free) {
            let Stage::Waiting(request) = std::mem::replace(&mut asked.stage, Stage::InFlight) else { continue };
            let left = asked.until.saturating_duration_since(now).as_millis();
            let request = Request {
                claim: RequestRef { lease, number: *number, location },
                method: request.method,
                path: request.path,
                headers: request.headers,
                body: request.body,
                deadline_ms: u64::try_from(left).unwrap_or(u64::MAX),
                max_body: request.max_response_body,
                write: request.write,
            };
            effects.push(Effect::Send(id, ToWorkstation::Request(request)));
        }
    }

    fn end_unservable(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self.is_open(now) {
            return;
        }
        let why = match self.state {
            GateState::Paused => "the gate is paused at the workstation",
            GateState::LoggedOut => "nobody is logged in to the EHR at the workstation",
            _ => "no workstation is connected",
        };
        self.requests.retain(|number, asked| {
            if asked.waits() {
                effects.push(Effect::Complete(*number, Err(GateError::NotSent(why.to_owned()))));
            }
            !asked.waits()
        });
    }
}

#[cfg(test)]
mod tests;
