//! Takes new deliveries, watches the due index, schedules the endpoints on the sending threads, and prunes finished
//! deliveries after their retention.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    sync::Arc,
    thread::available_parallelism,
    time::Duration,
};

use location::time::{Millis, SECOND, Timestamp};
use runtime::clock::Watch;
use store::{CommitError, Direction, StoreError};
use tokio::{
    runtime::{Builder, Runtime},
    sync::{mpsc, oneshot, watch},
    task::{self, AbortHandle, JoinError, JoinHandle, JoinSet},
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use super::{
    attempt::{AfterAttempt, Sender},
    doorbell::{Arrivals, Doorbell},
    endpoint_queues::{EndpointQueues, EndpointState, Found, catch_up_offset},
    keys::{self, Due},
    limits,
    model::EndpointId,
    moves::{Move, Moves},
    outcomes::Outcomes,
    target::Targets,
    upkeep::RefreshResult,
};

/// A running dispatcher. Stops on `stop` or on drop.
pub struct Dispatcher {
    stop: watch::Sender<bool>,
    run: JoinHandle<()>,
    moves: Moves,
    _threads: Threads,
}

impl Dispatcher {
    pub fn start(sender: Sender, doorbell: Arc<Doorbell>) -> io::Result<Dispatcher> {
        let threads = available_parallelism().map_or(1, usize::from).min(limits::MOST_THREADS);
        let runtime =
            Builder::new_multi_thread().worker_threads(threads).thread_name("webhooks").enable_all().build()?;
        let (stop, stopped) = watch::channel(false);
        let (moves, moved) = mpsc::unbounded_channel();
        let run = runtime.spawn(async { DispatchLoop::new(sender, doorbell).run(stopped, moved).await });
        Ok(Dispatcher { stop, run, moves: Moves(moves), _threads: Threads(Some(runtime)) })
    }

    pub fn moves(&self) -> Moves {
        self.moves.clone()
    }

    /// Begins no further attempt and waits up to `grace` for those in flight. Unfinished deliveries are sent again
    /// after the next start.
    pub async fn stop(mut self, grace: Duration) {
        self.stop.send_replace(true);
        if timeout(grace, &mut self.run).await.is_err() {
            self.run.abort();
            // The task is dropped on its own thread.
            drop(self.run.await);
        }
    }
}

/// The sending threads, separate from those of locations and clients. Dropping them never blocks, because the caller
/// may be an actor.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

enum TaskOutcome {
    Attempt(Result<AfterAttempt, StoreError>),
    Pruned {
        more: bool,
    },
    Refreshed(RefreshResult),
    /// The grace period of messages to endpoints of other nodes is over.
    ReleaseGraceOver,
    /// The endpoints with a delivery that is due earlier now.
    SetBack(Result<BTreeSet<EndpointId>, StoreError>),
}

struct DispatchLoop {
    sender: Arc<Sender>,
    outcomes: Outcomes,
    targets: Arc<Targets>,
    doorbell: Arc<Doorbell>,
    queues: EndpointQueues,
    tasks: JoinSet<TaskOutcome>,
    attempts: HashMap<task::Id, (Due, AbortHandle)>,
    /// Deliveries that were due before this time are caught up on.
    started: Timestamp,
    prune_at: Option<Timestamp>,
    watch: Watch,
    /// A look at the store is in progress.
    refreshing: bool,
    /// New endpoints in the next result were assigned to this node by a move.
    came: bool,
    /// Callers that wait for the end of messages to endpoints of other nodes.
    pending_releases: Vec<oneshot::Sender<()>>,
}

impl DispatchLoop {
    fn new(sender: Sender, doorbell: Arc<Doorbell>) -> DispatchLoop {
        let (started, sender) = ((sender.clock)(), Arc::new(sender));
        DispatchLoop {
            outcomes: Outcomes::start(sender.store.clone(), sender.registry.clone()),
            sender,
            targets: Arc::default(),
            doorbell,
            queues: EndpointQueues::default(),
            tasks: JoinSet::new(),
            attempts: HashMap::new(),
            started,
            prune_at: Some(started),
            watch: Watch::since(started),
            refreshing: false,
            came: false,
            pending_releases: Vec::new(),
        }
    }

    async fn run(mut self, mut stopped: watch::Receiver<bool>, mut moved: mpsc::UnboundedReceiver<Move>) {
        while let Err(error) = self.find_queues().await {
            tracing::warn!(%error, "reading due webhooks failed; retrying");
            tokio::select! {
                _ = stopped.changed() => return,
                () = sleep(limits::STORE_RETRY) => {}
            }
        }
        self.move_retries_back(0);
        // Only scans find deliveries of other nodes, and those of a commit whose outcome a remote store did not report.
        let is_shared = self.sender.registry.subscriptions().shared.is_some();
        let (mut looks, scans_only) = (interval(limits::REFRESH_INTERVAL), is_shared || self.sender.store.is_remote());
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = (self.sender.clock)();
            match self.watch.set_back(now) {
                0 => {}
                by => self.clock_set_back(now, by),
            }
            self.prune(now);
            while let Some(endpoint) = self.queues.next(now) {
                self.turn(endpoint, now);
            }
            let pause = self.pause(now);
            tokio::select! {
                _ = stopped.changed() => break,
                Some(done) = self.tasks.join_next_with_id() => {
                    self.joined(done);
                    // Group commits make several attempts end together.
                    while let Some(done) = self.tasks.try_join_next_with_id() {
                        self.joined(done);
                    }
                }
                () = self.doorbell.wait() => {
                    for (endpoint, arrivals) in self.doorbell.take() {
                        match arrivals {
                            Arrivals::Known { new, scans } if !scans_only => self.queues.arrived(endpoint, new, scans),
                            _ => self.queues.ready(endpoint),
                        }
                    }
                }
                Some(moved) = moved.recv() => self.moved(moved),
                _ = looks.tick(), if scans_only => self.start_refresh(),
                () = sleep(pause) => {}
            }
        }
        while self.tasks.join_next().await.is_some() {}
    }

    /// Queues every endpoint with waiting deliveries, at the time at which the first is due.
    async fn find_queues(&mut self) -> Result<(), CommitError> {
        let known = self.sender.registry.subscriptions();
        if known.shared.is_some() {
            // No endpoint is assigned here before this node is a member, and the counts of other nodes are theirs.
            return Ok(());
        }
        let mut counted = known.backlogs.counted();
        for (endpoint, at) in self.sender.first_due()? {
            counted.remove(&endpoint);
            if at < self.started {
                self.queues.delay_catch_up(endpoint, self.started.plus(catch_up_offset(endpoint)));
            } else {
                self.queues.ready_at(endpoint, at);
            }
        }
        self.sender.forget_counts(counted).await
    }

    fn moved(&mut self, moved: Move) {
        match moved {
            Move::Came => {
                self.came = true;
                self.start_refresh();
            }
            Move::Gone(ended) => {
                for endpoint in self.queues.known() {
                    if !self.is_here(endpoint) {
                        self.queues.release(endpoint);
                    }
                }
                self.pending_releases.push(ended);
                self.confirm_release();
                self.tasks.spawn(async {
                    sleep(limits::RELEASE_GRACE).await;
                    TaskOutcome::ReleaseGraceOver
                });
            }
        }
    }

    /// Replies to callers of `Moves::release_moved` once no attempt to an endpoint of another node is in flight. Must
    /// be called whenever an attempt ends.
    fn confirm_release(&mut self) {
        if self.pending_releases.is_empty() || self.attempts.values().any(|(due, _)| !self.is_here(due.endpoint)) {
            return;
        }
        // The receiver is gone if the caller timed out.
        for ended in self.pending_releases.drain(..) {
            let _ = ended.send(());
        }
    }

    fn is_here(&self, endpoint: EndpointId) -> bool {
        self.sender.registry.subscriptions().is_here(endpoint)
    }

    /// Looks for changes by other nodes, and for deliveries that were not passed in memory. Other nodes enqueue such
    /// deliveries for endpoints of this node, and commits with an unknown outcome leave them in the store.
    fn start_refresh(&mut self) {
        if !std::mem::replace(&mut self.refreshing, true) {
            let sender = self.sender.clone();
            self.tasks.spawn(async move { TaskOutcome::Refreshed(sender.refresh().await) });
        }
    }

    fn refreshed(&mut self, look: RefreshResult, now: Timestamp) {
        self.refreshing = false;
        let found = match look {
            Ok(found) => found,
            Err(error) => return tracing::warn!(%error, "reading webhook changes of other nodes failed; retrying"),
        };
        let came = std::mem::take(&mut self.came);
        for (endpoint, at) in found {
            if !self.is_here(endpoint) {
                continue;
            }
            if came && !self.queues.knows(endpoint) {
                self.queues.came(endpoint, at, now);
            } else {
                self.queues.ready_at(endpoint, at);
            }
        }
    }

    /// Begins attempts for the endpoint, or finds out when the next one is due.
    fn turn(&mut self, endpoint: EndpointId, now: Timestamp) {
        if !self.is_here(endpoint) {
            return self.queues.release(endpoint);
        }
        let kind = match self.sender.registry.subscriptions().endpoint(endpoint) {
            Some(known) if known.failing_since.is_some() => EndpointState::Failing,
            _ => EndpointState::Healthy,
        };
        if !self.queues.takes_more(endpoint, kind) {
            return;
        }
        if !self.queues.has_shared_capacity(kind) {
            return self.queues.ready_at(endpoint, now.plus(SECOND));
        }
        if let Err(error) = self.begin(endpoint, kind, now) {
            self.wait_for_store(endpoint, &error, now);
        }
    }

    /// Begins due attempts up to the limits, and schedules a further turn of the endpoint if it needs one.
    fn begin(&mut self, endpoint: EndpointId, kind: EndpointState, now: Timestamp) -> Result<(), StoreError> {
        if kind == EndpointState::Failing {
            // A failing endpoint takes one message at a time, for as long as it takes: no found deliveries are held
            // meanwhile.
            self.queues.forget_found(endpoint);
        }
        if self.begin_found(endpoint, kind, now) && !self.queues.found_all(endpoint) {
            self.find(endpoint, kind, now)?;
            // If all found deliveries wait for messages in flight, the end of one of those makes the endpoint ready
            // again.
            self.begin_found(endpoint, kind, now);
        }
        Ok(())
    }

    /// Reads the due deliveries of the endpoint from the store.
    fn find(&mut self, endpoint: EndpointId, kind: EndpointState, now: Timestamp) -> Result<(), StoreError> {
        let ahead = match kind {
            EndpointState::Healthy => limits::LOOK_AHEAD,
            EndpointState::Failing => limits::FAILING_ENDPOINT_CONCURRENCY,
        };
        let asked = self.queues.in_flight_count(endpoint) + ahead;
        let (mut all, mut found) = (true, Vec::new());
        for range in [keys::queued_of(endpoint), keys::due_of(endpoint)] {
            let stored = self.sender.store.scan(range, Direction::Forward, asked)?;
            let mut is_whole = stored.len() < asked;
            for (key, record) in stored {
                let Some(due) = Due::parse(&key) else { continue };
                if self.queues.is_in_flight(endpoint, due.delivery) {
                    continue;
                }
                if !due.is_queued && due.at > now {
                    self.queues.ready_at(endpoint, due.at);
                    is_whole = true;
                    break;
                }
                found.push(Found { due, record });
            }
            all &= is_whole;
        }
        found.sort_by_key(|found| found.due);
        self.queues.found(endpoint, found.into(), all, self.doorbell.scanned());
        Ok(())
    }

    /// Begins the found deliveries. Returns `true` if the endpoint has room for more.
    fn begin_found(&mut self, endpoint: EndpointId, kind: EndpointState, now: Timestamp) -> bool {
        while self.queues.capacity(endpoint, kind) > 0 {
            let Some(Found { due, record }) = self.queues.take_found(endpoint) else { return true };
            let late = due.at < self.queues.came_at(endpoint).unwrap_or(self.started);
            if let Some(wait) = self.queues.catch_up_wait(endpoint, now).filter(|_| late) {
                self.queues.forget_found(endpoint);
                self.queues.ready_at(endpoint, wait);
                return false;
            }
            self.attempt(due, record, kind);
            if late {
                self.queues.forget_found(endpoint);
                self.queues.delay_catch_up(endpoint, now.plus(limits::CATCH_UP_GAP));
                return false;
            }
        }
        self.queues.ready_unless_full(endpoint, kind);
        false
    }

    fn attempt(&mut self, due: Due, record: Vec<u8>, kind: EndpointState) {
        self.queues.begun(due.endpoint, due.delivery, record, kind);
        let (sender, outcomes) = (self.sender.clone(), self.outcomes.clone());
        let (doorbell, targets) = (self.doorbell.clone(), self.targets.clone());
        let attempt =
            async move { TaskOutcome::Attempt(sender.attempt(due, &outcomes, doorbell.events(), &targets).await) };
        let task = self.tasks.spawn(attempt);
        self.attempts.insert(task.id(), (due, task));
    }

    fn joined(&mut self, done: Result<(task::Id, TaskOutcome), JoinError>) {
        match done {
            Ok((task, done)) => self.done(task, done),
            Err(error) => self.panicked(&error),
        }
    }

    fn done(&mut self, task: task::Id, done: TaskOutcome) {
        let now = (self.sender.clock)();
        match done {
            TaskOutcome::Attempt(result) => {
                let Some(due) = self.ended(task) else { return };
                match result {
                    Ok(AfterAttempt::Ended) => self.queues.ready_unless_drained(due.endpoint),
                    Ok(AfterAttempt::Pending) => self.queues.ready(due.endpoint),
                    Ok(AfterAttempt::Elsewhere) => self.queues.release(due.endpoint),
                    Err(error) => self.wait_for_store(due.endpoint, &error, now),
                }
                self.confirm_release();
            }
            TaskOutcome::Refreshed(look) => self.refreshed(look, now),
            TaskOutcome::ReleaseGraceOver => {
                let others = self.attempts.values().filter(|(due, _)| !self.is_here(due.endpoint));
                others.for_each(|(_, attempt)| attempt.abort());
            }
            TaskOutcome::SetBack(Ok(endpoints)) => {
                endpoints.into_iter().for_each(|endpoint| self.queues.ready(endpoint))
            }
            TaskOutcome::SetBack(Err(error)) => {
                tracing::warn!(%error, "the clock was set back; webhook retries may be late");
            }
            TaskOutcome::Pruned { more } => {
                self.prune_at = Some(if more { now } else { now.plus(limits::PRUNE_EVERY) })
            }
        }
    }

    /// Handles an aborted or panicked task. After a panic the endpoint pauses; the other endpoints are not affected.
    fn panicked(&mut self, error: &JoinError) {
        let now = (self.sender.clock)();
        match self.ended(error.id()) {
            // The node to which the endpoint moved sends the message again, under the same id.
            Some(due) if error.is_cancelled() => {
                self.queues.release(due.endpoint);
                self.confirm_release();
            }
            Some(due) => {
                tracing::error!(delivery = %due.delivery, %error, "a webhook attempt panicked");
                self.queues.forget_found(due.endpoint);
                self.queues.ready_at(due.endpoint, now.plus(limits::MAX_SLEEP));
                self.confirm_release();
            }
            None => (self.prune_at, self.refreshing) = (Some(now.plus(limits::PRUNE_EVERY)), false),
        }
    }

    fn ended(&mut self, task: task::Id) -> Option<Due> {
        let (due, _) = self.attempts.remove(&task)?;
        self.queues.ended(due.endpoint, due.delivery);
        Some(due)
    }

    fn wait_for_store(&mut self, endpoint: EndpointId, error: &StoreError, now: Timestamp) {
        tracing::warn!(%endpoint, %error, "reading due webhooks of an endpoint failed; retrying");
        // The delivery that did not begin is due before the ones found after it.
        self.queues.forget_found(endpoint);
        self.queues.ready_at(endpoint, now.plus(limits::STORE_RETRY.as_millis() as Millis));
    }

    fn clock_set_back(&mut self, now: Timestamp, by: Millis) {
        tracing::warn!(
            seconds = by / SECOND,
            "the clock was set back; webhook retries are moved back by the same amount"
        );
        self.started = self.started.min(now);
        self.prune_at = self.prune_at.map(|at| at.minus(by));
        self.queues.set_back(by);
        self.move_retries_back(by);
    }

    fn move_retries_back(&mut self, by: Millis) {
        let sender = self.sender.clone();
        self.tasks.spawn(async move { TaskOutcome::SetBack(sender.move_retries_back(by).await) });
    }

    fn prune(&mut self, now: Timestamp) {
        if self.prune_at.is_some_and(|at| at <= now) {
            if !self.is_here(EndpointId::NONE) {
                // If two nodes consider the pruning theirs, the commit of one of them conflicts.
                self.prune_at = Some(now.plus(limits::PRUNE_EVERY));
                return;
            }
            self.prune_at = None;
            let sender = self.sender.clone();
            self.tasks.spawn(async move {
                let pruned = sender.prune(now.minus(sender.registry.rules().keep)).await;
                let more = pruned.unwrap_or_else(|error| {
                    tracing::warn!(%error, "pruning old webhook deliveries failed; retrying");
                    false
                });
                TaskOutcome::Pruned { more }
            });
        }
    }

    fn pause(&self, now: Timestamp) -> Duration {
        let next = self.queues.next_timer().into_iter().chain(self.prune_at).min();
        let pause = next.map_or(limits::MAX_SLEEP, |at| at.since(now).clamp(0, limits::MAX_SLEEP));
        Duration::from_millis(pause.unsigned_abs())
    }
}
