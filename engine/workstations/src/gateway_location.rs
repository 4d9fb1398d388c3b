//! The lease of one location with its connections. Carries out the effects of the lease in order, under one lock.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    net::IpAddr,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use adapter_host::{Gate, GateError, GateFuture, GateRequest, HttpResponse};
use location::{LocationId, Timestamp, gate::Gate as ReportedGate};
use parking_lot::Mutex;
use records::sync_state::{GateStatus, Holder, QueueChange};
use runtime::{Doorbell, clock, metrics::MetricCounter};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};
use uuid::Uuid;

use super::{
    Act, ByeReason, FromWorkstation, ToWorkstation,
    acts::{Acts, write_request},
    devices::Devices,
    lease::{ConnectionId, Effect, Lease, Number, Rules, SessionState},
    limits::{FRAMES, FRAMES_WITHIN, HEARTBEAT, LAST_WRITES, QUEUE_EVERY, SILENCE},
    protocol::{FailureKind, Login, Queue, RequestAnswer, Welcome},
};

pub type Messages = mpsc::Receiver<Box<ToWorkstation>>;
type GateOutcome = Result<HttpResponse, GateError>;

/// State shared by the locations of a gateway.
pub struct Shared {
    pub devices: Arc<Devices>,
    /// Wakes the task that reads the gates of the given locations.
    pub news: Arc<Doorbell<LocationId>>,
    /// Rejected answers.
    pub refused: MetricCounter,
    pub runtime: Handle,
    pub(crate) acts: Acts,
}

pub struct GatewayLocation {
    pub location: LocationId,
    shared: Arc<Shared>,
    inner: Mutex<Inner>,
    /// Held while the state of the gate is reported to the location, so that the last report is the current state.
    pub reporting: tokio::sync::Mutex<()>,
    me: Weak<GatewayLocation>,
}

struct Inner {
    lease: Lease,
    connections: BTreeMap<ConnectionId, WorkstationConnection>,
    asked: HashMap<Number, Asker>,
    queue: QueueChange,
    /// The queue changed since it was last shown; and the time at which it was shown.
    unshown: bool,
    shown: Option<Instant>,
}

/// The caller that waits for a request.
struct Asker {
    max_body: usize,
    /// The write request, if the request writes.
    write: Option<u64>,
    outcome: oneshot::Sender<GateOutcome>,
}

/// The engine's end of one connection.
struct WorkstationConnection {
    workstation: Uuid,
    name: String,
    client: Option<IpAddr>,
    out: mpsc::Sender<Box<ToWorkstation>>,
    welcome: Welcome,
    heard: Instant,
    /// Start of the period in which frames are counted.
    counted_since: Instant,
    frames: u32,
}

impl GatewayLocation {
    pub fn new(location: LocationId, rules: Rules, shared: Arc<Shared>, now: Instant) -> Arc<GatewayLocation> {
        let inner = Inner {
            lease: Lease::new(now, rules),
            connections: BTreeMap::new(),
            asked: HashMap::new(),
            queue: QueueChange::default(),
            unshown: false,
            shown: None,
        };
        Arc::new_cyclic(|me| GatewayLocation {
            location,
            shared,
            inner: Mutex::new(inner),
            reporting: tokio::sync::Mutex::default(),
            me: me.clone(),
        })
    }

    pub(super) fn set_rules(&self, rules: Rules) {
        self.inner.lock().lease.set_rules(rules);
    }

    /// Adds the connection of a workstation, replacing an older one of the same workstation.
    pub fn enter(
        &self,
        id: ConnectionId,
        (workstation, name, client): (Uuid, String, Option<IpAddr>),
        out: mpsc::Sender<Box<ToWorkstation>>,
        welcome: Welcome,
    ) {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        self.dismiss_workstation(&mut inner, workstation, ByeReason::Replaced);
        let (heard, counted_since) = (now, now);
        let connection = WorkstationConnection {
            workstation,
            name,
            client,
            out,
            welcome: welcome.clone(),
            heard,
            counted_since,
            frames: 0,
        };
        self.record_act(&connection, "connect", Vec::new(), "connected");
        inner.connections.insert(id, connection);
        inner.unshown = true;
        let mut effects = vec![Effect::Send(id, ToWorkstation::Welcome(welcome))];
        effects.extend(inner.lease.connected(now, id));
        self.carry_out(&mut inner, effects, now);
    }

    /// Removes a connection whose socket is closed.
    pub fn leave(&self, id: ConnectionId) {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        self.remove_connection(&mut inner, id, "closed");
        let effects = inner.lease.gone(now, id);
        self.carry_out(&mut inner, effects, now);
    }

    /// Ends the connection of a workstation, if it has one.
    pub fn end(&self, workstation: Uuid, reason: ByeReason) {
        self.dismiss_workstation(&mut self.inner.lock(), workstation, reason);
    }

    fn dismiss_workstation(&self, inner: &mut Inner, workstation: Uuid, reason: ByeReason) {
        let found =
            inner.connections.iter().find(|(_, connection)| connection.workstation == workstation).map(|(id, _)| *id);
        if let Some(id) = found {
            self.dismiss(inner, id, reason);
        }
    }

    pub fn end_all(&self, reason: ByeReason) {
        self.end_where(reason, |_| true);
    }

    /// Ends the connections whose welcome differs from `offer` in more than the workstation.
    pub(super) fn end_outdated(&self, offer: &Welcome) {
        let current = |sent: &Welcome| Welcome { workstation: sent.workstation, ..offer.clone() };
        self.end_where(ByeReason::Shutdown, |sent| *sent != current(sent));
    }

    fn end_where(&self, reason: ByeReason, ends: impl Fn(&Welcome) -> bool) {
        let mut inner = self.inner.lock();
        let chosen = inner.connections.iter().filter(|(_, connection)| ends(&connection.welcome));
        let chosen: Vec<ConnectionId> = chosen.map(|(id, _)| *id).collect();
        chosen.into_iter().for_each(|id| self.dismiss(&mut inner, id, reason));
    }

    pub fn end_one(&self, id: ConnectionId, reason: ByeReason) {
        self.dismiss(&mut self.inner.lock(), id, reason);
    }

    fn dismiss(&self, inner: &mut Inner, id: ConnectionId, reason: ByeReason) {
        let Some(connection) = inner.connections.remove(&id) else { return };
        tracing::info!(location = %self.location, workstation = %connection.workstation, %reason, "workstation dismissed");
        self.record_act(&connection, "disconnect", Vec::new(), &reason.to_string());
        // The socket closes when the connection is dropped. If the queue is full, the reason is not sent.
        drop(connection.out.try_send(Box::new(ToWorkstation::Bye { reason })));
        let now = Instant::now();
        let effects = inner.lease.gone(now, id);
        self.carry_out(inner, effects, now);
    }

    pub fn received(&self, id: ConnectionId, frame: &str) -> Result<(), ByeReason> {
        self.count_frame(id)?;
        let message = FromWorkstation::parse(frame)?;
        let now = Instant::now();
        let mut inner = self.inner.lock();
        if !inner.connections.contains_key(&id) {
            // Dismissed meanwhile: its messages are ignored.
            return Ok(());
        }
        let effects = match message {
            FromWorkstation::Hello(_) => return Err(ByeReason::Protocol),
            FromWorkstation::Pong { .. } => return Ok(()),
            FromWorkstation::State(state) => {
                let session = SessionState { login: state.session, paused: state.paused, awaiting: state.awaiting };
                self.record_session(&inner, id, session);
                inner.lease.update_session(now, id, session)
            }
            FromWorkstation::Answer(answer) => {
                let (number, status) = (answer.claim.number, answer.status.to_string());
                let effects = inner.lease.answered(now, id, answer);
                self.record_write(&inner, id, number, &status, &effects);
                effects
            }
            FromWorkstation::Failure(failure) => {
                let effects = inner.lease.failed(now, id, &failure);
                let status = match failure.kind {
                    FailureKind::NoAnswer => Some("no answer"),
                    FailureKind::Refused => Some("refused"),
                    FailureKind::Declined => Some("declined"),
                    // Nothing was done, and the write is retried.
                    FailureKind::NotSent | FailureKind::LoggedOut | FailureKind::Approval => None,
                };
                let number = failure.claim.number;
                status.into_iter().for_each(|status| self.record_write(&inner, id, number, status, &effects));
                effects
            }
            FromWorkstation::Approved { writes } => {
                let decided = inner.lease.approved(id, &writes);
                if !decided.is_empty() {
                    let writes = decided.iter().filter_map(|key| write_request(key)).collect();
                    if let Some(connection) = inner.connections.get(&id) {
                        self.record_act(connection, "decide", writes, "decided");
                    }
                    self.report_gate();
                }
                return Ok(());
            }
        };
        self.carry_out(&mut inner, effects, now);
        Ok(())
    }

    fn count_frame(&self, id: ConnectionId) -> Result<(), ByeReason> {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        let Some(connection) = inner.connections.get_mut(&id) else { return Ok(()) };
        connection.heard = now;
        if now.duration_since(connection.counted_since) >= FRAMES_WITHIN {
            (connection.counted_since, connection.frames) = (now, 0);
        }
        connection.frames += 1;
        if connection.frames > FRAMES { Err(ByeReason::Flood) } else { Ok(()) }
    }

    /// Runs once a second. Ends silent connections, sends the pings that are due, sends the popup's figures, and ends
    /// late requests.
    pub fn beat(&self, second: u64, now: Instant, wall: Timestamp) {
        let mut inner = self.inner.lock();
        let silent = |connection: &WorkstationConnection| now.saturating_duration_since(connection.heard) >= SILENCE;
        let gone: Vec<ConnectionId> =
            inner.connections.iter().filter(|(_, connection)| silent(connection)).map(|(id, _)| *id).collect();
        let mut effects = Vec::new();
        for id in gone {
            self.remove_connection(&mut inner, id, "silent");
            effects.extend(inner.lease.gone(now, id));
        }
        let turn = |id: u64| id % HEARTBEAT.as_secs() == second % HEARTBEAT.as_secs();
        let pinged = inner.connections.keys().filter(|id| turn(id.0));
        effects.extend(pinged.map(|id| Effect::Send(*id, ToWorkstation::Ping { n: second })));
        if inner.unshown && inner.shown.is_none_or(|at| now.saturating_duration_since(at) >= QUEUE_EVERY) {
            (inner.unshown, inner.shown) = (false, Some(now));
            let shown = ToWorkstation::Queue(inner.figures(wall));
            effects.extend(inner.connections.keys().map(|id| Effect::Send(*id, shown.clone())));
        }
        effects.extend(inner.lease.tick(now));
        self.carry_out(&mut inner, effects, now);
    }

    /// Updates the location's queue of writes after a turn.
    pub fn queue(&self, news: QueueChange) {
        let mut inner = self.inner.lock();
        let mut ended = std::mem::take(&mut inner.queue.ended);
        inner.unshown |= inner.queue.waiting != news.waiting || !news.ended.is_empty();
        ended.extend(news.ended);
        let from = ended.len().saturating_sub(LAST_WRITES);
        inner.queue = QueueChange { ended: ended.split_off(from), ..news };
    }

    /// Returns the state of the gate to report to the location. Returns `None` while it is uncertain.
    pub fn gate(&self) -> Option<ReportedGate> {
        self.inner.lock().lease.reported
    }

    pub fn status(&self, now: Instant, wall: Timestamp) -> GateStatus {
        let inner = self.inner.lock();
        let age = now.saturating_duration_since(inner.lease.since).as_millis();
        let holder = inner.lease.holder().and_then(|(id, _)| Some((id, inner.connections.get(&id)?)));
        GateStatus {
            state: inner.lease.state,
            since: wall.minus(i64::try_from(age).unwrap_or(i64::MAX)),
            connected: u32::try_from(inner.connections.len()).unwrap_or(u32::MAX),
            awaiting: holder.and_then(|(id, _)| inner.lease.session_state(id)).map_or(0, |session| session.awaiting),
            holder: holder
                .map(|(_, connection)| Holder { workstation: connection.workstation, name: connection.name.clone() }),
        }
    }

    pub fn connected(&self) -> Vec<Uuid> {
        self.inner.lock().connections.values().map(|connection| connection.workstation).collect()
    }

    /// Returns the session state of a connected workstation, and `true` if it holds the lease.
    pub fn session_state(&self, workstation: Uuid) -> Option<(Option<SessionState>, bool)> {
        let inner = self.inner.lock();
        let (id, _) = inner.connections.iter().find(|(_, connection)| connection.workstation == workstation)?;
        Some((inner.lease.session_state(*id), inner.lease.holder().is_some_and(|(holder, _)| holder == *id)))
    }

    fn record_act(&self, by: &WorkstationConnection, what: &'static str, writes: Vec<u64>, status: &str) {
        let WorkstationConnection { workstation, client, .. } = *by;
        let (location, at, status) = (self.location, clock::now(), status.to_owned());
        self.shared.acts.record(Act { at, location, workstation, client, what, writes, status });
    }

    fn remove_connection(&self, inner: &mut Inner, id: ConnectionId, why: &str) {
        let gone = inner.connections.remove(&id);
        gone.iter().for_each(|connection| self.record_act(connection, "disconnect", Vec::new(), why));
    }

    /// Records that the staff signed in to the EHR or out of it, paused or resumed.
    fn record_session(&self, inner: &Inner, id: ConnectionId, now: SessionState) {
        let Some(connection) = inner.connections.get(&id) else { return };
        let before = inner.lease.session_state(id);
        if before.map_or(Login::Out, |before| before.login) != now.login {
            let (what, status) = match now.login {
                Login::In => ("sign in", "signed in"),
                Login::Out => ("sign out", "signed out"),
            };
            self.record_act(connection, what, Vec::new(), status);
        }
        if before.is_some_and(|before| before.paused) != now.paused {
            let (what, status) = if now.paused { ("pause", "paused") } else { ("resume", "resumed") };
            self.record_act(connection, what, Vec::new(), status);
        }
    }

    /// Records the outcome of a write, if the answer was accepted.
    fn record_write(&self, inner: &Inner, id: ConnectionId, number: Number, status: &str, effects: &[Effect]) {
        let write = inner.asked.get(&number).and_then(|asker| asker.write);
        let believed = effects.iter().any(|effect| matches!(effect, Effect::Complete(ended, _) if *ended == number));
        if let (Some(write), Some(connection), true) = (write, inner.connections.get(&id), believed) {
            self.record_act(connection, "write", vec![write], status);
        }
    }

    pub fn report_gate(&self) {
        self.shared.news.ring([self.location]);
    }

    fn carry_out(&self, inner: &mut Inner, effects: Vec<Effect>, now: Instant) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Send(id, message) => {
                    let is_sent = inner
                        .connections
                        .get(&id)
                        .is_some_and(|connection| connection.out.try_send(Box::new(message)).is_ok());
                    if !is_sent {
                        // Closed, or the workstation does not read its messages.
                        self.remove_connection(inner, id, "unread");
                        effects.extend(inner.lease.gone(now, id));
                    }
                }
                Effect::RequestLease(id) => self.allocate_lease(id),
                Effect::Complete(number, how) => {
                    if let Some(asker) = inner.asked.remove(&number) {
                        // A cancelled caller misses the answer only.
                        drop(asker.outcome.send(how.and_then(|answer| response(answer, asker.max_body))));
                    }
                }
                Effect::Rejected(id, refusal) => {
                    self.shared.refused.add(1);
                    if let Some(connection) = inner.connections.get(&id) {
                        let (location, workstation) = (self.location, connection.workstation);
                        tracing::warn!(%location, %workstation, %refusal, "a workstation's answer was rejected");
                        self.record_act(connection, "answer", Vec::new(), &format!("rejected: {refusal}"));
                    }
                }
                Effect::Gate(gate) => {
                    tracing::info!(location = %self.location, ?gate, "workstation gate");
                    self.report_gate();
                }
            }
        }
    }

    fn allocate_lease(&self, id: ConnectionId) {
        let Some(gated) = self.me.upgrade() else { return };
        self.shared.runtime.spawn(async move {
            let number = match gated.shared.devices.next_lease(gated.location).await {
                Ok(number) => Some(number),
                Err(error) => {
                    tracing::error!(location = %gated.location, %error, "no lease could be given to a workstation; retrying");
                    None
                }
            };
            let now = Instant::now();
            let mut inner = gated.inner.lock();
            let effects = inner.lease.leased(now, id, number);
            if inner.lease.holder().is_some_and(|(holder, held)| holder == id && Some(held) == number)
                && let Some(connection) = inner.connections.get(&id)
            {
                gated.record_act(connection, "take lease", Vec::new(), "leased");
            }
            gated.carry_out(&mut inner, effects, now);
        });
    }

    async fn sent(&self, request: GateRequest, deadline: Duration) -> GateOutcome {
        let now = Instant::now();
        let until = now + deadline;
        let (outcome, mut answer) = oneshot::channel();
        let write = request.write.as_ref().and_then(|tag| write_request(&tag.id));
        let asker = Asker { max_body: request.max_response_body, write, outcome };
        let number = {
            let mut inner = self.inner.lock();
            let (number, effects) = inner.lease.request(now, until, request);
            inner.asked.insert(number, asker);
            self.carry_out(&mut inner, effects, now);
            number
        };
        // Also on cancellation of the call that waits for the answer.
        let given_up = GivenUp { gated: self, number };
        if let Ok(Ok(outcome)) = tokio::time::timeout_at(until.into(), &mut answer).await {
            return outcome;
        }
        drop(given_up);
        answer.try_recv().unwrap_or_else(|_| Err(GateError::NoAnswer("the gateway lost the request".to_owned())))
    }

    /// Ends a request for which no caller waits any more.
    fn give_up(&self, number: Number) {
        let now = Instant::now();
        let mut inner = self.inner.lock();
        let effects = inner.lease.gave_up(now, number);
        self.carry_out(&mut inner, effects, now);
    }
}

impl Inner {
    fn figures(&self, wall: Timestamp) -> Queue {
        let age = self.queue.oldest.map_or(0, |at| wall.since(at).max(0).div_euclid(1_000));
        Queue { waiting: self.queue.waiting, oldest_seconds: age.unsigned_abs(), last: self.queue.ended.clone() }
    }
}

impl Gate for GatewayLocation {
    fn is_open(&self) -> bool {
        self.inner.lock().lease.is_open(Instant::now())
    }

    fn send(&self, request: GateRequest, deadline: Duration) -> GateFuture<'_> {
        Box::pin(self.sent(request, deadline))
    }
}

struct GivenUp<'r> {
    gated: &'r GatewayLocation,
    number: Number,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.gated.give_up(self.number);
    }
}

/// Converts an answer for adapters.
fn response(answer: RequestAnswer, max_body: usize) -> GateOutcome {
    if answer.body.len() > max_body {
        return Err(GateError::NoAnswer(format!("its body is longer than {max_body} bytes")));
    }
    if !(100..=599).contains(&answer.status) {
        return Err(GateError::NoAnswer("the answer has an invalid HTTP status".to_owned()));
    }
    let headers = answer.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    Ok(HttpResponse { status: answer.status, headers, body: answer.body })
}

/// Returns the login state for lists of workstations.
pub(crate) fn login(session: Option<SessionState>) -> Option<bool> {
    session.map(|session| session.login == Login::In)
}
