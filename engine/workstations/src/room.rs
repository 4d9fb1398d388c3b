//! One location's desk with the connections that stand at it: what the desk decides is carried out here, in its order, under one lock.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use adapter_host::{Gate, GateError, GateFuture, GateRequest, HttpResponse};
use location::{gate::Gate as GateTold, ids::LocationId, time::Timestamp};
use records::sync_state::{GateStatus, Holder, QueueNews};
use runtime::{doorbell::Doorbell, metrics::Counter};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};
use uuid::Uuid;

use super::{
    desk::{ConnectionId, Desk, Effect, Number, Rules, Stand},
    devices::Devices,
    limits::{FRAMES, FRAMES_WITHIN, HEARTBEAT, LAST_WRITES, QUEUE_EVERY, SILENCE},
    protocol::{Answer, ByeReason, FromWorkstation, Login, Queue, ToWorkstation},
};

pub type Messages = mpsc::Receiver<Box<ToWorkstation>>;
type Outcome = Result<HttpResponse, GateError>;

/// What the rooms of a gateway share.
pub struct House {
    pub devices: Arc<Devices>,
    /// Locations whose gate is to be looked at.
    pub news: Arc<Doorbell<LocationId>>,
    /// Answers that were not believed.
    pub refused: Counter,
    pub runtime: Handle,
}

pub struct Room {
    pub location: LocationId,
    house: Arc<House>,
    inner: Mutex<Inner>,
    /// Held by whoever tells the location how its gate stands: what is told last is what stands.
    pub telling: tokio::sync::Mutex<()>,
    me: Weak<Room>,
}

struct Inner {
    desk: Desk,
    lines: BTreeMap<ConnectionId, Line>,
    asked: HashMap<Number, Asker>,
    queue: QueueNews,
    /// The queue changed since it was shown, and when that was.
    unshown: bool,
    shown: Option<Instant>,
}

/// Who waits for a request.
struct Asker {
    max_body: usize,
    outcome: oneshot::Sender<Outcome>,
}

/// The engine's end of one connection.
struct Line {
    workstation: Uuid,
    name: String,
    out: mpsc::Sender<Box<ToWorkstation>>,
    heard: Instant,
    /// Of the stretch of time whose frames are counted.
    counted_since: Instant,
    frames: u32,
}

impl Room {
    pub fn new(location: LocationId, rules: Rules, house: Arc<House>, now: Instant) -> Arc<Room> {
        let inner = Inner {
            desk: Desk::new(now, rules),
            lines: BTreeMap::new(),
            asked: HashMap::new(),
            queue: QueueNews::default(),
            unshown: false,
            shown: None,
        };
        Arc::new_cyclic(|me| Room {
            location,
            house,
            inner: Mutex::new(inner),
            telling: tokio::sync::Mutex::default(),
            me: me.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A workstation comes in. The same one again takes the place of its older connection.
    pub fn enter(
        &self,
        id: ConnectionId,
        workstation: Uuid,
        name: String,
        out: mpsc::Sender<Box<ToWorkstation>>,
        welcome: ToWorkstation,
    ) {
        let now = Instant::now();
        let mut inner = self.lock();
        self.dismiss_workstation(&mut inner, workstation, ByeReason::Replaced);
        inner.lines.insert(id, Line { workstation, name, out, heard: now, counted_since: now, frames: 0 });
        inner.unshown = true;
        let mut effects = vec![Effect::Say(id, welcome)];
        effects.extend(inner.desk.connected(now, id));
        self.carry_out(&mut inner, effects, now);
    }

    /// The socket is closed.
    pub fn leave(&self, id: ConnectionId) {
        let now = Instant::now();
        let mut inner = self.lock();
        inner.lines.remove(&id);
        let effects = inner.desk.gone(now, id);
        self.carry_out(&mut inner, effects, now);
    }

    /// Ends the connection of a workstation, if it has one.
    pub fn end(&self, workstation: Uuid, reason: ByeReason) {
        self.dismiss_workstation(&mut self.lock(), workstation, reason);
    }

    fn dismiss_workstation(&self, inner: &mut Inner, workstation: Uuid, reason: ByeReason) {
        let found = inner.lines.iter().find(|(_, line)| line.workstation == workstation).map(|(id, _)| *id);
        if let Some(id) = found {
            self.dismiss(inner, id, reason);
        }
    }

    pub fn end_all(&self, reason: ByeReason) {
        let mut inner = self.lock();
        let all: Vec<ConnectionId> = inner.lines.keys().copied().collect();
        all.into_iter().for_each(|id| self.dismiss(&mut inner, id, reason));
    }

    pub fn end_one(&self, id: ConnectionId, reason: ByeReason) {
        self.dismiss(&mut self.lock(), id, reason);
    }

    fn dismiss(&self, inner: &mut Inner, id: ConnectionId, reason: ByeReason) {
        let Some(line) = inner.lines.remove(&id) else { return };
        tracing::info!(location = %self.location, workstation = %line.workstation, %reason, "workstation dismissed");
        // The socket closes when the line is gone; a line too full for the reason closes without it.
        drop(line.out.try_send(Box::new(ToWorkstation::Bye { reason })));
        let now = Instant::now();
        let effects = inner.desk.gone(now, id);
        self.carry_out(inner, effects, now);
    }

    /// One text frame.
    pub fn received(&self, id: ConnectionId, frame: &str) -> Result<(), ByeReason> {
        self.count_frame(id)?;
        let message = FromWorkstation::parse(frame)?;
        let now = Instant::now();
        let mut inner = self.lock();
        if !inner.lines.contains_key(&id) {
            // Dismissed meanwhile: what it says is not heard any more.
            return Ok(());
        }
        let effects = match message {
            FromWorkstation::Hello(_) => return Err(ByeReason::Protocol),
            FromWorkstation::Pong { .. } => return Ok(()),
            FromWorkstation::State(state) => {
                let stand = Stand { login: state.session, paused: state.paused, awaiting: state.awaiting };
                inner.desk.said(now, id, stand)
            }
            FromWorkstation::Answer(answer) => inner.desk.answered(now, id, answer),
            FromWorkstation::Failure(failure) => inner.desk.failed(now, id, &failure),
            FromWorkstation::Approved { writes } => {
                if inner.desk.approved(id, &writes) {
                    self.tell_location();
                }
                return Ok(());
            }
        };
        self.carry_out(&mut inner, effects, now);
        Ok(())
    }

    fn count_frame(&self, id: ConnectionId) -> Result<(), ByeReason> {
        let now = Instant::now();
        let mut inner = self.lock();
        let Some(line) = inner.lines.get_mut(&id) else { return Ok(()) };
        line.heard = now;
        if now.duration_since(line.counted_since) >= FRAMES_WITHIN {
            (line.counted_since, line.frames) = (now, 0);
        }
        line.frames += 1;
        if line.frames > FRAMES { Err(ByeReason::Flood) } else { Ok(()) }
    }

    /// Once a second: silent connections end, others are pinged in their turn, the popup's figures go out, what is late ends.
    pub fn beat(&self, second: u64, now: Instant, wall: Timestamp) {
        let mut inner = self.lock();
        let silent = |line: &Line| now.saturating_duration_since(line.heard) >= SILENCE;
        let gone: Vec<ConnectionId> = inner.lines.iter().filter(|(_, line)| silent(line)).map(|(id, _)| *id).collect();
        let mut effects = Vec::new();
        for id in gone {
            inner.lines.remove(&id);
            effects.extend(inner.desk.gone(now, id));
        }
        let turn = |id: u64| id % HEARTBEAT.as_secs() == second % HEARTBEAT.as_secs();
        let pinged = inner.lines.keys().filter(|id| turn(id.0));
        effects.extend(pinged.map(|id| Effect::Say(*id, ToWorkstation::Ping { n: second })));
        if inner.unshown && inner.shown.is_none_or(|at| now.saturating_duration_since(at) >= QUEUE_EVERY) {
            (inner.unshown, inner.shown) = (false, Some(now));
            let shown = ToWorkstation::Queue(inner.figures(wall));
            effects.extend(inner.lines.keys().map(|id| Effect::Say(*id, shown.clone())));
        }
        effects.extend(inner.desk.tick(now));
        self.carry_out(&mut inner, effects, now);
    }

    /// The location's queue of writes, after a turn.
    pub fn queue(&self, news: QueueNews) {
        let mut inner = self.lock();
        let mut ended = std::mem::take(&mut inner.queue.ended);
        inner.unshown |= inner.queue.waiting != news.waiting || !news.ended.is_empty();
        ended.extend(news.ended);
        let from = ended.len().saturating_sub(LAST_WRITES);
        inner.queue = QueueNews { ended: ended.split_off(from), ..news };
    }

    /// How the location is to see its gate; none while that is not certain.
    pub fn gate(&self) -> Option<GateTold> {
        self.lock().desk.told()
    }

    pub fn status(&self, now: Instant, wall: Timestamp) -> GateStatus {
        let inner = self.lock();
        let age = now.saturating_duration_since(inner.desk.since()).as_millis();
        let holder = inner.desk.holder().and_then(|(id, _)| Some((id, inner.lines.get(&id)?)));
        GateStatus {
            state: inner.desk.state(),
            since: wall.minus(i64::try_from(age).unwrap_or(i64::MAX)),
            connected: u32::try_from(inner.lines.len()).unwrap_or(u32::MAX),
            awaiting: holder.and_then(|(id, _)| inner.desk.stand(id)).map_or(0, |stand| stand.awaiting),
            holder: holder.map(|(_, line)| Holder { workstation: line.workstation, name: line.name.clone() }),
        }
    }

    /// How a workstation stands here, if it is connected, and whether it holds the lease.
    pub fn stand(&self, workstation: Uuid) -> Option<(Option<Stand>, bool)> {
        let inner = self.lock();
        let (id, _) = inner.lines.iter().find(|(_, line)| line.workstation == workstation)?;
        Some((inner.desk.stand(*id), inner.desk.holder().is_some_and(|(holder, _)| holder == *id)))
    }

    pub fn tell_location(&self) {
        self.house.news.ring([self.location]);
    }

    fn carry_out(&self, inner: &mut Inner, effects: Vec<Effect>, now: Instant) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Say(id, message) => {
                    let said = inner.lines.get(&id).is_some_and(|line| line.out.try_send(Box::new(message)).is_ok());
                    if !said {
                        // Closed, or it does not read what it is sent: gone.
                        inner.lines.remove(&id);
                        effects.extend(inner.desk.gone(now, id));
                    }
                }
                Effect::AskLease(id) => self.ask_lease(id),
                Effect::End(number, how) => {
                    if let Some(asker) = inner.asked.remove(&number) {
                        // An asker that went away misses the answer only.
                        drop(asker.outcome.send(how.and_then(|answer| response(answer, asker.max_body))));
                    }
                }
                Effect::Refused(id, refusal) => {
                    self.house.refused.add(1);
                    let workstation = inner.lines.get(&id).map(|line| line.workstation);
                    tracing::warn!(
                        target: "audit", location = %self.location, ?workstation, %refusal,
                        "a workstation's answer was not believed"
                    );
                }
                Effect::Gate(gate) => {
                    tracing::info!(location = %self.location, ?gate, "workstation gate");
                    self.tell_location();
                }
            }
        }
    }

    fn ask_lease(&self, id: ConnectionId) {
        let Some(room) = self.me.upgrade() else { return };
        self.house.runtime.spawn(async move {
            let number = match room.house.devices.next_lease(room.location).await {
                Ok(number) => Some(number),
                Err(error) => {
                    tracing::error!(location = %room.location, %error, "no lease for a workstation; it is tried again");
                    None
                }
            };
            let now = Instant::now();
            let mut inner = room.lock();
            let effects = inner.desk.leased(now, id, number);
            room.carry_out(&mut inner, effects, now);
        });
    }

    async fn sent(&self, request: GateRequest, deadline: Duration) -> Outcome {
        let now = Instant::now();
        let until = now + deadline;
        let (outcome, mut answer) = oneshot::channel();
        let asker = Asker { max_body: request.max_response_body, outcome };
        let number = {
            let mut inner = self.lock();
            let (number, effects) = inner.desk.request(now, until, request);
            inner.asked.insert(number, asker);
            self.carry_out(&mut inner, effects, now);
            number
        };
        // Also when the call that asked is given up while it waits.
        let given_up = GivenUp { room: self, number };
        if let Ok(Ok(outcome)) = tokio::time::timeout_at(until.into(), &mut answer).await {
            return outcome;
        }
        drop(given_up);
        answer.try_recv().unwrap_or_else(|_| Err(GateError::NoAnswer("the gateway lost the request".to_owned())))
    }

    /// Nobody waits for a request any more.
    fn give_up(&self, number: Number) {
        let now = Instant::now();
        let mut inner = self.lock();
        let effects = inner.desk.gave_up(now, number);
        self.carry_out(&mut inner, effects, now);
    }
}

impl Inner {
    fn figures(&self, wall: Timestamp) -> Queue {
        let age = self.queue.oldest.map_or(0, |at| wall.since(at).max(0).div_euclid(1_000));
        Queue { waiting: self.queue.waiting, oldest_seconds: age.unsigned_abs(), last: self.queue.ended.clone() }
    }
}

impl Gate for Room {
    fn is_open(&self) -> bool {
        self.lock().desk.is_open(Instant::now())
    }

    fn send(&self, request: GateRequest, deadline: Duration) -> GateFuture<'_> {
        Box::pin(self.sent(request, deadline))
    }
}

struct GivenUp<'r> {
    room: &'r Room,
    number: Number,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.room.give_up(self.number);
    }
}

/// An answer as adapters see it.
fn response(answer: Answer, max_body: usize) -> Outcome {
    if answer.body.len() > max_body {
        return Err(GateError::NoAnswer(format!("its body is longer than {max_body} bytes")));
    }
    if !(100..=599).contains(&answer.status) {
        return Err(GateError::NoAnswer("an answer with a status that HTTP does not have".to_owned()));
    }
    let headers = answer.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    Ok(HttpResponse { status: answer.status, headers, body: answer.body })
}

/// What a list shows of a workstation's stand.
pub fn login(stand: Option<Stand>) -> Option<bool> {
    stand.map(|stand| stand.login == Login::In)
}
