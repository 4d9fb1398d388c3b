//! The actor of a location: owns its processor, and waits for the store, the EHR and the clock.

mod calls;
mod fresh;
mod job;
pub mod prefetch;
mod span;
#[cfg(test)]
mod tests;
mod waiters;

pub use job::{Job, Reply, RequestJob};
use prefetch::{PageTask, Prefetch};
use span::InSpan;
use waiters::Waiters;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use actix::{
    Actor, ActorContext, ActorFuture, ActorFutureExt, AsyncContext, AtomicResponse, Context, Handler, Message,
    SpawnHandle, WrapFuture, fut::LocalBoxActorFuture,
};
use location::{
    Command, DAY, Event, LocationId, Millis, SECOND, SlotQuery, Timestamp,
    command::Closed,
    explain::{ExplainQuery, Explanation},
    gate::Gate,
    pull::Freshness,
    slots::{self, Party, next_available},
};
use records::{
    Description, Ehr, Fault, SyncState,
    sync_state::{DAMAGED, QueueChange},
};
use runtime::{
    ErrorSource, Metrics, RecentError,
    clock::{self, Watch},
};
use store::{CommitError, journal};
use tokio::sync::oneshot;
use tracing::{Instrument, Span};

use crate::{
    Deps, EngineError, FreeGroups, FreeSlots, LoadError, Processor, Reject,
    clock_set_back::ClockSetBack,
    disk_share::{self, DiskShare},
    ehr_site::EhrSite,
    error::not_stored,
    location_health,
    reply::SlotRules,
    restored::AfterRestore,
    turn::PendingCommit,
    write_requests::{self, WriteRequest},
};

/// Number of times a turn is prepared again because documents changed concurrently or ids ran out.
const TRIES: u32 = 20;
/// Pause before a damaged location is loaded again. Only a restore repairs it, and each attempt reads the whole journal
/// on a thread shared with healthy locations.
const DAMAGED_FOR: Duration = Duration::from_secs(300);
const UNREADABLE_FOR: Duration = Duration::from_secs(1);
/// Pause before a location with another data source is loaded again. Only a reload of the configuration helps, and it
/// replaces the actor.
const OTHER_SOURCE_FOR: Duration = Duration::from_secs(24 * 3_600);
/// Retry time for callers whose request reached the location while it was moving away.
const ELSEWHERE_SECONDS: u32 = 1;
/// Pause after a failed commit.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Maximum slots of a search on the actor's thread. Larger searches run as long work.
const SLOTS_AT_ONCE: usize = 500;
/// Range of the search for `next_available_date`.
const HORIZON_DAYS: u16 = 180;

type Turn = LocalBoxActorFuture<LocationActor, Result<(), EngineError>>;

/// Callback that receives the write queue of a location after each turn.
pub type QueueWatcher = Arc<dyn Fn(QueueChange) + Send + Sync>;

#[derive(Message)]
#[rtype(result = "()")]
pub enum LocationMessage {
    Do {
        job: Box<dyn Job>,
        begun: Arc<AtomicBool>,
    },
    FreeSlots {
        query: Box<SlotQuery>,
        rules: SlotRules,
        reply: Reply<FreeSlots>,
    },
    Explain {
        query: Box<ExplainQuery>,
        reply: Reply<Explanation>,
    },
    FreeGroups {
        query: Box<SlotQuery>,
        party: Party,
        /// The channel of the caller, for the booking rules.
        channel: Option<String>,
        reply: Reply<FreeGroups>,
    },
    SyncState {
        reply: Reply<SyncState>,
    },
    Writes {
        reply: Reply<Vec<WriteRequest>>,
    },
    /// Replies once the EHR's changes before `since` are known, or if no read of the appointments can start by `until`.
    Refresh {
        since: Timestamp,
        until: Timestamp,
        reply: Reply<Freshness>,
    },
    /// The EHR reported a change: of appointments or, with `everything`, of any record.
    Hint {
        everything: bool,
    },
    /// Notes a search, hold or booking of an intent.
    Intent,
    /// Loads the location, because it is due or was in memory when the process ended.
    Activate,
    /// Applies another setup. Calls in flight end on the connection they began with.
    SetUp(LocationRuntime),
    /// Unloads the location, because the process ends or the location moves to another node.
    Leave {
        done: oneshot::Sender<()>,
    },
}

/// A message of an actor to itself.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) enum SelfMessage {
    Do(Box<dyn Job>),
    /// A page that was requested after that many loads.
    Page {
        job: Box<dyn Job>,
        loads: u64,
    },
    Snapshot,
    Described(Result<Description, Fault>),
    Idle,
}

/// Resources of a location under the current setup.
pub struct LocationRuntime {
    /// Data source of `ehr`, and the location's id in it.
    pub site: EhrSite,
    pub ehr: Option<Arc<dyn Ehr>>,
    /// Receives the write queue. Set only if the EHR is reached through workstations.
    pub watcher: Option<QueueWatcher>,
    /// Time in memory without work before the location is unloaded.
    pub idle: Duration,
    /// Capacity of the mailbox. Further messages are refused.
    pub mailbox: usize,
}

pub struct LocationActor {
    id: LocationId,
    deps: Arc<Deps>,
    means: LocationRuntime,
    metrics: Arc<Metrics>,
    share: Arc<DiskShare>,
    /// `None` while the records cannot be read. Every request is then refused, and nothing is written.
    processor: Option<Processor>,
    /// Time of the next load attempt, and the error returned until then.
    unreadable: Option<(Instant, EngineError)>,
    /// The timer of the next wake, and when it fires.
    timer: Option<(Instant, SpawnHandle)>,
    /// The last turn had events.
    has_progressed: bool,
    /// Number of consecutive failures to get a description of the EHR.
    describe_failures: u32,
    /// Timer of the next request for a description.
    describe: Option<SpawnHandle>,
    watch: Watch,
    /// Amount by which the clock was set back, until a turn has recorded it.
    set_back: Millis,
    last_used: Instant,
    /// Number of loads so far. An answer to a page request of before the last load is dropped.
    loads: u64,
    prefetch: Prefetch<PageTask>,
    waiters: Waiters,
}

impl LocationActor {
    pub fn new(
        id: LocationId,
        deps: Arc<Deps>,
        means: LocationRuntime,
        metrics: Arc<Metrics>,
        share: Arc<DiskShare>,
    ) -> LocationActor {
        LocationActor {
            id,
            deps,
            means,
            metrics,
            share,
            processor: None,
            unreadable: None,
            timer: None,
            has_progressed: false,
            describe_failures: 0,
            describe: None,
            watch: Watch::since(clock::now()),
            set_back: 0,
            last_used: Instant::now(),
            loads: 0,
            prefetch: Prefetch::default(),
            waiters: Waiters::default(),
        }
    }

    fn load(&mut self) -> LocalBoxActorFuture<Self, ()> {
        let started = Instant::now();
        self.processor = None;
        self.unreadable = None;
        self.loads += 1;
        self.prefetch.abort();
        let (deps, id) = (self.deps.clone(), self.id);
        let loading = self.deps.long_work.clone();
        let loading = async move { loading.run(move || Processor::load(deps, id)).await };
        Box::pin(loading.into_actor(self).then(move |loaded, act, _| {
            act.loaded(loaded, started);
            act.take_over().then(|(), act, _| act.read_interrupted_page_again()).then(|(), act, _| act.after_restore())
        }))
    }

    /// Requests a page that was in flight again, because its answer was lost with the memory that waited for it.
    fn read_interrupted_page_again(&mut self) -> LocalBoxActorFuture<Self, ()> {
        let in_flight = self.processor.as_ref().is_some_and(|it| it.machine.state.pulls.calling.is_some());
        if !in_flight {
            return self.done();
        }
        Box::pin(self.turn_after_clock_check(RequestJob::internal(Command::ReadInterrupted)).map(|_, _, _| ()))
    }

    /// Handles a restore from a backup before any other work: pending writes may have been written since the backup.
    fn after_restore(&mut self) -> LocalBoxActorFuture<Self, ()> {
        if !self.processor.as_ref().is_some_and(|processor| processor.restored) {
            return self.done();
        }
        Box::pin(self.turn_after_clock_check(RequestJob::internal(AfterRestore)).map(|known, act, ctx| match known {
            Ok(()) => {
                tracing::info!(location = %act.id, "the store was restored from a backup: what waits to be written is looked up first");
                act.processor.iter_mut().for_each(|processor| processor.restored = false);
            }
            Err(error) => {
                act.processor = None;
                act.unreadable = Some((Instant::now() + UNREADABLE_FOR, error));
                send_to_self_later(ctx, SelfMessage::Do(RequestJob::internal(Command::Wake)), TRY_AGAIN);
            }
        }))
    }

    /// Writes a journal record after loading, because another process may have lost the location with a commit in
    /// flight. The late commit then conflicts. A refused request commits nothing, so it would not detect such a commit.
    ///
    /// The other process also reloads the location after the conflict. There, this method discards the location,
    /// because it has moved.
    fn take_over(&mut self) -> LocalBoxActorFuture<Self, ()> {
        let (Some(processor), Some(is_local)) = (&self.processor, &self.deps.is_local) else { return self.done() };
        if !is_local(processor.setup.institution) {
            self.processor = None;
            self.unreadable = Some((Instant::now(), EngineError::Moved));
            return self.done();
        }
        Box::pin(self.turn_after_clock_check(RequestJob::internal(Command::TakenOver)).map(|_, _, _| ()))
    }

    fn loaded(&mut self, loaded: Result<Processor, LoadError>, started: Instant) {
        match loaded {
            // Another setup came into force while loading, so writes would go to the wrong EHR. The actor is about to
            // receive `Leave`.
            Ok(processor) if processor.ehr_site() != self.means.site => {
                self.unreadable = Some((Instant::now(), EngineError::Busy { retry_after: ELSEWHERE_SECONDS }));
            }
            Ok(processor) => {
                let (records, took) = (processor.machine.state.appointments.len(), started.elapsed());
                tracing::debug!(location = %self.id, appointments = records, ?took, "location in memory");
                let health =
                    location_health::summarize(&processor.machine, processor.description.as_ref(), clock::now());
                self.metrics.locations.note(self.id, health);
                if let Some(show) = &self.means.watcher {
                    show(processor.queue_change(Vec::new()));
                }
                // A commit of unknown outcome may have become durable without `finish`.
                self.deps.change_counter.providers_changed(processor.institution.id);
                self.deps.change_doorbell.ring([self.id]);
                self.deps.call_queue.ring([self.id]);
                // If the last event has a time in the future, the clock was set back since then.
                (self.watch, self.set_back) = (Watch::since(processor.machine.state.latest), 0);
                self.processor = Some(processor);
            }
            Err(error) if error.is_damage() => {
                tracing::error!(location = %self.id, %error, "the location is read-only until an operator restores it");
                self.record_error(format!("it is damaged, and read-only until an operator restores it: {error}"), None);
                self.metrics.locations.note_unloadable(self.id, DAMAGED, clock::now());
                self.unreadable = Some((Instant::now() + DAMAGED_FOR, EngineError::Damaged));
                // The audit trail follows the readable records, and names the others.
                self.deps.call_queue.ring([self.id]);
            }
            Err(LoadError::OtherSource(why)) => {
                tracing::error!(location = %self.id, why, "the location is not served");
                self.record_error(format!("the location is not served: {why}"), None);
                self.metrics.locations.note_unloadable(self.id, &why, clock::now());
                self.unreadable = Some((Instant::now() + OTHER_SOURCE_FOR, EngineError::OtherSource(why)));
                // The audit trail follows the journal without the location.
                self.deps.call_queue.ring([self.id]);
            }
            Err(error) => {
                tracing::error!(location = %self.id, %error, "the location could not be loaded");
                self.record_error(format!("the location could not be loaded: {error}"), None);
                self.unreadable = Some((Instant::now() + UNREADABLE_FOR, error.into()));
            }
        }
    }

    /// Runs a long read of the location on a blocking thread. The processor is absent meanwhile, so only turns and
    /// startup may call this method: they hold back all other messages.
    fn run_blocking<T: Send + 'static>(
        &self,
        processor: Processor,
        look: impl FnOnce(&Processor) -> T + Send + 'static,
    ) -> impl ActorFuture<Self, Output = T> + 'static {
        let long_work = self.deps.long_work.clone();
        let looked = async move {
            let look = move || {
                let seen = look(&processor);
                (processor, seen)
            };
            long_work.run(look).await
        };
        looked.into_actor(self).map(|(processor, seen), act, _| {
            act.processor = Some(processor);
            seen
        })
    }

    /// Runs a turn in a span, so that its log lines name the request.
    fn turn_in_log(&mut self, job: Box<dyn Job>) -> Turn {
        let (span, origin) = (span::turn(self.id, job.origin()), job.origin().is_some());
        let turn = span.in_scope(|| self.turn(job)).map(move |done, _, _| {
            if origin {
                tracing::debug!(refused = done.as_ref().err().map(tracing::field::display), "the turn has ended");
            }
            done
        });
        Box::pin(InSpan::new(turn, span))
    }

    fn turn(&mut self, job: Box<dyn Job>) -> Turn {
        self.loaded_first(|act| act.turn_after_clock_check(job))
    }

    /// Loads the location first if it is not in memory and another attempt is due.
    fn loaded_first<T: 'static>(
        &mut self,
        then: impl FnOnce(&mut Self) -> LocalBoxActorFuture<Self, T> + 'static,
    ) -> LocalBoxActorFuture<Self, T> {
        if self.processor.is_none() && self.unreadable.as_ref().is_none_or(|(until, _)| *until <= Instant::now()) {
            return Box::pin(self.load().then(|(), act, _| then(act)));
        }
        then(self)
    }

    /// Runs a turn, preceded by another one if the clock was set back.
    fn turn_after_clock_check(&mut self, job: Box<dyn Job>) -> Turn {
        let by = self.set_back();
        if by > 0 {
            tracing::warn!(location = %self.id, seconds = by / SECOND, "the clock was set back; due times are moved back by the same amount");
            let known = self.attempt(RequestJob::internal(ClockSetBack { by }), TRIES);
            return Box::pin(known.then(move |known, act, _| match known {
                Ok(()) => {
                    act.set_back = 0;
                    act.turn_after_clock_check(job)
                }
                Err(error) => act.refuse(job, error),
            }));
        }
        self.attempt(job, TRIES)
    }

    /// Returns the amount by which the clock was set back since a turn last recorded it.
    fn set_back(&mut self) -> Millis {
        self.set_back = self.set_back.saturating_add(self.watch.set_back(clock::now()));
        if self.processor.is_some() { self.set_back } else { 0 }
    }

    /// Decides, commits, evolves and acts. Starts over if documents changed meanwhile.
    fn attempt(&mut self, mut job: Box<dyn Job>, tries: u32) -> Turn {
        if !job.is_long() && !self.deps.long_work.takes_turns {
            return match self.in_memory() {
                Ok(processor) => {
                    let prepared = job.prepare(processor, clock::cx());
                    self.prepared(job, prepared, tries)
                }
                Err(why) => self.refuse(job, why),
            };
        }
        let Some(processor) = self.processor.take() else { return self.refuse(job, self.why_unreadable()) };
        let span = Span::current();
        let preparing = self.run_blocking(processor, move |processor| {
            let prepared = span.in_scope(|| job.prepare(processor, clock::cx()));
            (job, prepared)
        });
        Box::pin(preparing.then(move |(job, prepared), act, _| act.prepared(job, prepared, tries)))
    }

    fn prepared(&mut self, mut job: Box<dyn Job>, prepared: Result<PendingCommit, Reject>, tries: u32) -> Turn {
        match prepared {
            Ok(commit) if commit.is_free() => {
                let pulling = self.begin_pull(&commit);
                Box::pin(async move { commit }.into_actor(self).map(move |commit, act, ctx| {
                    act.finish(commit, ctx);
                    if let Some(pulling) = pulling {
                        act.await_page(pulling, ctx);
                    }
                    job.finish(Ok(()));
                    Ok(())
                }))
            }
            Ok(commit) => self.commit(job, commit, tries),
            Err(Reject::NeedIds(sequence)) if tries > 0 => {
                let deps = self.deps.clone();
                let fill = async move { deps.pool.fill(&deps.ids, sequence).await };
                Box::pin(fill.into_actor(self).then(move |filled, act, _| match filled {
                    Ok(()) => act.attempt(job, tries - 1),
                    Err(error) => {
                        tracing::error!(location = %act.id, %error, "new ids could not be reserved");
                        act.refuse(job, error.into())
                    }
                }))
            }
            Err(reject) => self.refuse(job, reject.into()),
        }
    }

    fn in_memory(&self) -> Result<&Processor, EngineError> {
        self.processor.as_ref().ok_or_else(|| self.why_unreadable())
    }

    fn why_unreadable(&self) -> EngineError {
        self.unreadable.as_ref().map_or(EngineError::Damaged, |(_, why)| why.clone())
    }

    fn refuse(&self, mut job: Box<dyn Job>, error: EngineError) -> Turn {
        job.finish(Err(error.clone()));
        Box::pin(async { Err(error) }.into_actor(self))
    }

    fn commit(&mut self, mut job: Box<dyn Job>, mut turn: PendingCommit, tries: u32) -> Turn {
        let pulled = job.reads().then(|| turn.batch.written_bytes());
        let began = Instant::now();
        let committed = self.deps.store.commit(std::mem::take(&mut turn.batch)).instrument(span::commit());
        let mut pulling = self.begin_pull(&turn);
        let step = committed.into_actor(self).then(move |result, act, ctx| -> Turn {
            if result.is_err() {
                act.keep_prefetched(pulling.take());
            }
            match result {
                Ok(()) => {
                    act.metrics.commits.add(1);
                    act.metrics.durations.commit_waits.observe(began.elapsed().as_secs_f64());
                    if let Some(bytes) = pulled {
                        act.share.take(&act.deps.setup.load_full().engine, bytes, clock::now());
                    }
                    act.finish(turn, ctx);
                    if let Some(pulling) = pulling {
                        act.await_page(pulling, ctx);
                    }
                    // Sent as a message, so that a second commit in this turn does not hold up the answers to its
                    // calls.
                    if act.processor.as_ref().is_some_and(Processor::snapshot_due) {
                        send_to_self(ctx, SelfMessage::Snapshot);
                    }
                    job.finish(Ok(()));
                    Box::pin(async { Ok(()) }.into_actor(act))
                }
                Err(CommitError::Conflict { key }) if tries > 0 => {
                    // A conflict on the journal means that another process hosts the location, so memory is outdated.
                    // Documents changed by another location are read again by the turn.
                    if journal::is_lock(&key) {
                        return Box::pin(act.load().then(move |(), act, _| match job.ends_with_memory() {
                            true => Box::pin(async { Ok(()) }.into_actor(act)),
                            false => act.attempt(job, tries - 1),
                        }));
                    }
                    act.attempt(job, tries - 1)
                }
                Err(CommitError::Full { free, floor }) => {
                    tracing::warn!(location = %act.id, free, floor, "write refused: the disk is nearly full");
                    act.record_error("a change was refused: the disk is nearly full", job.origin());
                    act.refuse(job, EngineError::StoreFull)
                }
                Err(error) => {
                    tracing::error!(location = %act.id, %error, "a commit failed");
                    act.record_error(format!("a commit failed: {error}"), job.origin());
                    act.commit_failed(not_stored(&error), ctx);
                    act.refuse(job, not_stored(&error))
                }
            }
        });
        Box::pin(step)
    }

    /// Records an error for the status of the location. Failures of the EHR are taken from the events of a turn.
    fn record_error(&self, reason: impl Into<String>, request: Option<&str>) {
        let error = RecentError::new(ErrorSource::Location, reason, request.map(Into::into), clock::now());
        self.metrics.recent_errors.note(self.id, error);
    }

    /// Drops the state, because the outcome of the commit is unknown. The next message or a delayed wake reloads it.
    fn commit_failed(&mut self, why: EngineError, ctx: &mut Context<Self>) {
        self.processor = None;
        self.unreadable = Some((Instant::now(), why));
        send_to_self_later(ctx, SelfMessage::Do(RequestJob::internal(Command::Wake)), TRY_AGAIN);
    }

    fn finish(&mut self, turn: PendingCommit, ctx: &mut Context<Self>) {
        let Some(processor) = &mut self.processor else { return };
        let failed = turn.events().iter().filter(|event| matches!(event, Event::WriteFailed { .. })).count();
        self.metrics.writes_failed.add(failed as u64);
        for error in location_health::errors(&processor.machine, turn.events(), clock::now()) {
            self.metrics.recent_errors.note(self.id, error);
        }
        let ended = self.means.watcher.as_ref().map(|_| processor.ended_writes(turn.events(), clock::now()));
        let unread = processor.machine.state.pulls.last_success.is_none();
        self.has_progressed = !turn.events().is_empty();
        let calls = processor.finish(turn);
        if unread && processor.machine.state.pulls.last_success.is_some() {
            let records: u64 = processor.machine.state.pulls.progress.values().map(|progress| progress.records).sum();
            tracing::info!(location = %self.id, records, "the EHR was read to its end for the first time");
        }
        if let Some((show, ended)) = self.means.watcher.as_ref().zip(ended) {
            show(processor.queue_change(ended));
        }
        let health = location_health::summarize(&processor.machine, processor.description.as_ref(), clock::now());
        self.metrics.locations.note(self.id, health);
        for call in calls {
            self.call(call, ctx);
        }
        self.set_timer(ctx);
        self.answer_waiters();
    }

    fn internal_turn_done(&mut self, done: Result<(), EngineError>, ctx: &mut Context<Self>) {
        match done {
            // Internal commands refused by the machine need no further action.
            Ok(()) | Err(EngineError::Refused(_) | EngineError::Precondition(_)) => {}
            Err(error) => {
                // Uncommitted work is due again: the outcome of a call at its deadline, the rest by this timer.
                tracing::warn!(location = %self.id, %error, "an internal command was not committed");
                self.record_error(format!("an internal command was not committed: {error}"), None);
                ctx.run_later(TRY_AGAIN, |act, ctx| {
                    act.timer = None;
                    act.set_timer(ctx);
                });
            }
        }
    }

    fn take_snapshot(&mut self) -> LocalBoxActorFuture<Self, ()> {
        let Some(processor) = self.processor.take() else { return self.done() };
        let taken = self.run_blocking(processor, Processor::snapshot).then(|batch, act, _| match batch {
            Ok(batch) => act
                .deps
                .store
                .commit(batch)
                .into_actor(act)
                .map(|written, act, _| act.snapshot_written(written))
                .boxed_local(),
            Err(error) => {
                tracing::error!(location = %act.id, %error, "a snapshot could not be encoded");
                act.processor.iter_mut().for_each(Processor::snapshot_missed);
                act.done()
            }
        });
        Box::pin(taken)
    }

    fn snapshot_written(&mut self, written: Result<(), CommitError>) {
        let Some(processor) = &mut self.processor else { return };
        match written {
            Ok(()) => processor.snapshot_taken(),
            Err(error) => {
                tracing::warn!(location = %self.id, %error, "a snapshot could not be written");
                processor.snapshot_missed();
            }
        }
    }

    fn done(&self) -> LocalBoxActorFuture<Self, ()> {
        Box::pin(async {}.into_actor(self))
    }

    /// Sets the only timer to the next wake time. A timer that fires earlier stays, because the wake time changes with
    /// most turns. Its wake finds nothing due, and sets the next one.
    ///
    /// Even a timer of length zero fires at the next tick, a millisecond later. Work that is due after a turn with
    /// events starts without it. After a turn without events, the tick limits the rate of wakes that change nothing.
    fn set_timer(&mut self, ctx: &mut Context<Self>) {
        let sleep = self.processor.as_ref().and_then(Processor::wake_at).map(|at| sleep_until(at, clock::now()));
        let now = Instant::now();
        let is_kept = |(fires_at, sleep): (Instant, Duration)| fires_in_time(fires_at, now + sleep);
        if self.timer.as_ref().map(|(fires_at, _)| *fires_at).zip(sleep).is_some_and(is_kept) {
            return;
        }
        if let Some((_, old)) = self.timer.take() {
            ctx.cancel_future(old);
        }
        let Some(sleep) = sleep else { return };
        let starts_now = sleep.is_zero() && self.has_progressed;
        let wait = async move {
            if !starts_now {
                tokio::time::sleep(sleep).await;
            }
        };
        let handle = ctx.spawn(wait.into_actor(self).map(|(), act, ctx| {
            act.timer = None;
            send_to_self(ctx, SelfMessage::Do(RequestJob::internal(Command::Wake)));
        }));
        self.timer = Some((now + sleep, handle));
    }

    /// Answers a query from memory. A long one runs as long work.
    fn answer<T: Send + 'static>(
        &mut self,
        is_long: bool,
        reply: Reply<T>,
        look: impl FnOnce(&Processor) -> Result<T, EngineError> + Send + 'static,
    ) -> LocalBoxActorFuture<Self, ()> {
        if is_long && let Some(processor) = self.processor.take() {
            let found = self.run_blocking(processor, look);
            return Box::pin(found.map(move |found, _, _| drop(reply.send(found))));
        }
        drop(reply.send(self.in_memory().and_then(look)));
        self.done()
    }

    /// Returns `true` if the location is not served because of its data source.
    fn has_other_source(&self) -> bool {
        matches!(self.unreadable, Some((_, EngineError::OtherSource(_))))
    }

    fn sync_state(&self) -> Result<SyncState, EngineError> {
        let processor = self.in_memory()?;
        let mut state = SyncState::from_location(&processor.machine, processor.description.as_ref(), clock::now());
        if state.reading.is_some() && self.share.wait(&self.deps.setup.load_full().engine, clock::now()) > 0 {
            state.read_reason.get_or_insert_with(|| disk_share::SLOWED.to_owned());
        }
        Ok(state)
    }

    fn apply_setup(&mut self, means: LocationRuntime, ctx: &mut Context<Self>) {
        let same = match (&self.means.ehr, &means.ehr) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (None, None) => true,
            _ => false,
        };
        ctx.set_mailbox_capacity(means.mailbox);
        self.means = means;
        if let Some(processor) = &mut self.processor {
            processor.apply_setup();
            if let Some(show) = &self.means.watcher {
                show(processor.queue_change(Vec::new()));
            }
        }
        if !same {
            self.prefetch.abort();
            self.describe(ctx);
        }
        self.open_former_gate(ctx);
        self.set_timer(ctx);
    }

    /// Opens a gate that was shut while the EHR was reached through workstations, because no workstation will open it.
    fn open_former_gate(&self, ctx: &mut Context<Self>) {
        let shut = self.processor.as_ref().is_some_and(|processor| processor.machine.state.shut().is_some());
        if shut && self.means.watcher.is_none() {
            send_to_self(ctx, SelfMessage::Do(RequestJob::internal(Command::Gate(Gate::Open))));
        }
    }

    fn leave(&mut self) -> LocalBoxActorFuture<Self, ()> {
        let Some(processor) = self.processor.take() else { return self.done() };
        let left = self.run_blocking(processor, Processor::leave).then(|batch, act, _| match batch {
            Ok(batch) if batch.is_empty() => act.done(),
            Ok(batch) => act.deps.store.commit(batch).into_actor(act).map(|left, act, _| act.left(left)).boxed_local(),
            Err(error) => {
                tracing::error!(location = %act.id, %error, "the location was unloaded without a final commit");
                act.done()
            }
        });
        Box::pin(left)
    }

    fn left(&self, left: Result<(), CommitError>) {
        if let Err(error) = left {
            // The location is still marked as active in the store: the next start loads it.
            tracing::warn!(location = %self.id, %error, "the location was unloaded without a final commit");
        }
    }

    /// Unloads the location if nothing is due soon, and the audit trail has its changes.
    fn idle(&mut self, ctx: &mut Context<Self>) -> LocalBoxActorFuture<Self, ()> {
        let wake = self.processor.as_ref().and_then(Processor::wake_at);
        let soon = clock::now().plus(i64::try_from(self.means.idle.as_millis()).unwrap_or(i64::MAX));
        // A location that is not served stays, so that its status does.
        let is_needed = self.has_other_source() || wake.is_some_and(|at| at <= soon);
        if self.last_used.elapsed() < self.means.idle || is_needed {
            send_to_self_later(ctx, SelfMessage::Idle, self.means.idle);
            return self.done();
        }
        let Some(processor) = self.processor.take() else {
            ctx.stop();
            return self.done();
        };
        Box::pin(self.run_blocking(processor, Processor::is_followed).then(|followed, act, ctx| {
            if !followed {
                send_to_self_later(ctx, SelfMessage::Idle, act.means.idle);
                return act.done();
            }
            act.leave()
                .map(|(), act, ctx| {
                    act.processor = None;
                    ctx.stop();
                })
                .boxed_local()
        }))
    }
}

/// Returns the time until a wake time. Long sleeps are cut to a day, because clocks of machines are adjusted
/// occasionally.
fn sleep_until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::from_millis(at.since(now).clamp(0, DAY).unsigned_abs())
}

/// Returns `true` if a timer fires by `due`. Wake times are not compared, because a timer does not follow a clock that
/// is set forward. They are in milliseconds, so the same one may seem to be due earlier by less than one.
fn fires_in_time(fires_at: Instant, due: Instant) -> bool {
    fires_at <= due + Duration::from_millis(1)
}

fn free_slots(processor: &Processor, query: &SlotQuery, rules: &SlotRules) -> Result<FreeSlots, EngineError> {
    let (machine, zone) = (&processor.machine, &processor.settings().zone);
    if !machine.has_read_schedule() {
        return Err(EngineError::NotRead);
    }
    let closed = processor.closed_operatories().map_err(|error| {
        tracing::error!(location = %processor.setup.id, %error, "operatories could not be read");
        EngineError::Internal
    })?;
    let shut = |operatory| closed.contains(&operatory);
    let hours = machine.hours().filter(|hour| !hour.operatory.is_some_and(shut));
    let calendar = &machine.state.calendar;
    let (slots, next_available_date) = match rules {
        SlotRules::Booking { channel } if !machine.settings.rules.is_neutral() => {
            let (now, channel) = (clock::now(), channel.as_deref());
            let closed = Closed { operatories: closed.clone(), appointment_type: false };
            let slots = machine.offered_slots(now, query, &closed, channel);
            let next = || machine.next_offered(now, query, &closed, channel, HORIZON_DAYS);
            let next = slots.is_empty().then(next).flatten();
            (slots, next)
        }
        SlotRules::None | SlotRules::Booking { .. } => {
            let slots = slots::free_slots(hours.clone(), calendar, zone, query);
            let next = || next_available(hours.clone(), calendar, zone, query, HORIZON_DAYS);
            let next = slots.is_empty().then(next).flatten();
            (slots, next)
        }
    };
    let any_hours = hours.clone().any(|hour| query.matches(hour));
    let old_read = processor.source().and_then(|_| SyncState::late_since(machine, clock::now()));
    Ok(FreeSlots { any_hours, slots, next_available_date, old_read })
}

/// Searches for groups under the booking rules, which bind all searches for groups.
fn free_groups(
    processor: &Processor,
    query: &SlotQuery,
    party: Party,
    channel: Option<String>,
) -> Result<FreeGroups, EngineError> {
    let one = SlotQuery { limit: 1, ..query.clone() };
    let rules = SlotRules::Booking { channel: channel.clone() };
    let FreeSlots { slots, next_available_date, old_read, .. } = free_slots(processor, &one, &rules)?;
    if slots.is_empty() {
        return Ok(FreeGroups { groups: Vec::new(), next_possible_date: next_available_date, old_read });
    }
    let closed = Closed { operatories: processor.closed_operatories()?.clone(), appointment_type: false };
    let groups = processor.machine.offered_groups(clock::now(), query, party, &closed, channel.as_deref());
    let after = query.from.add_days(i32::from(query.days));
    let next_possible_date = groups.is_empty().then_some(after);
    Ok(FreeGroups { groups, next_possible_date, old_read })
}

fn explain(processor: &Processor, query: &ExplainQuery) -> Result<Explanation, EngineError> {
    let closed = processor.closed_to_patients(query.appointment_type()).map_err(|error| {
        tracing::error!(location = %processor.setup.id, %error, "types and operatories could not be read");
        EngineError::Internal
    })?;
    Ok(processor.machine.explain(clock::now(), query, &closed))
}

/// Sends a message to the actor through its mailbox. A message from the context itself would not be held back by a turn
/// in progress. Both turns would decide on the same state, and the loser's reload would show the winner's record before
/// the winner has applied it.
pub(crate) fn send_to_self(ctx: &mut Context<LocationActor>, own: SelfMessage) {
    ctx.address().do_send(own);
}

pub(crate) fn send_to_self_later(ctx: &mut Context<LocationActor>, own: SelfMessage, after: Duration) {
    ctx.run_later(after, |_, ctx| send_to_self(ctx, own));
}

impl Actor for LocationActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.metrics.locations_active.add(1);
        ctx.set_mailbox_capacity(self.means.mailbox);
        let loaded = self.load().map(|(), act, ctx| {
            act.describe(ctx);
            act.set_timer(ctx);
            act.open_former_gate(ctx);
            if act.set_back() > 0 {
                // The timer refers to the clock before it was set back.
                send_to_self(ctx, SelfMessage::Do(RequestJob::internal(Command::Wake)));
            }
            send_to_self_later(ctx, SelfMessage::Idle, act.means.idle);
        });
        ctx.wait(loaded);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.metrics.locations_active.subtract(1);
    }
}

impl Handler<LocationMessage> for LocationActor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, ask: LocationMessage, ctx: &mut Self::Context) -> Self::Result {
        self.last_used = Instant::now();
        self.metrics.commands.add(1);
        AtomicResponse::new(match ask {
            LocationMessage::Do { job, begun } => {
                begun.store(true, Ordering::SeqCst);
                if job.describes() {
                    self.describe(ctx);
                }
                let began = Instant::now();
                let turn = self.turn_in_log(job);
                Box::pin(turn.map(move |_, act, _| act.metrics.durations.turns.observe(began.elapsed().as_secs_f64())))
            }
            LocationMessage::FreeSlots { query, rules, reply } => self.loaded_first(move |act| {
                act.answer(query.limit > SLOTS_AT_ONCE, reply, move |processor| free_slots(processor, &query, &rules))
            }),
            // A search may have thousands of candidates.
            LocationMessage::Explain { query, reply } => self.loaded_first(move |act| {
                act.answer(query.is_search(), reply, move |processor| explain(processor, &query))
            }),
            LocationMessage::FreeGroups { query, party, channel, reply } => self.loaded_first(move |act| {
                let is_long = query.limit > SLOTS_AT_ONCE;
                act.answer(is_long, reply, move |processor| free_groups(processor, &query, party, channel))
            }),
            LocationMessage::SyncState { reply } => self.loaded_first(|act| {
                drop(reply.send(act.sync_state()));
                act.done()
            }),
            LocationMessage::Writes { reply } => {
                self.loaded_first(|act| act.answer(false, reply, |processor| Ok(write_requests::unfinished(processor))))
            }
            LocationMessage::Refresh { since, until, reply } => {
                self.loaded_first(move |act| act.refresh(since, until, reply))
            }
            LocationMessage::Hint { everything } => self.loaded_first(move |act| act.hinted(everything)),
            LocationMessage::Intent => {
                self.loaded_first(|act| act.done().map(|(), act, ctx| act.note_intent(ctx)).boxed_local())
            }
            LocationMessage::Activate => self.done(),
            LocationMessage::SetUp(means) => {
                self.apply_setup(means, ctx);
                self.done()
            }
            LocationMessage::Leave { done } => Box::pin(self.leave().map(move |(), act, ctx| {
                act.processor = None;
                let _ = done.send(());
                ctx.stop();
            })),
        })
    }
}

impl Handler<SelfMessage> for LocationActor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, own: SelfMessage, ctx: &mut Self::Context) -> Self::Result {
        AtomicResponse::new(match own {
            // A load forgets deferred requests, so another request may have the number of the page.
            SelfMessage::Page { loads, .. } if loads != self.loads || self.processor.is_none() => self.done(),
            SelfMessage::Do(job) | SelfMessage::Page { job, .. } => {
                let of_page = job.reads();
                let turn = self.turn_in_log(job).map(|done, act, ctx| act.internal_turn_done(done, ctx));
                Box::pin(turn.then(move |(), act, _| if of_page { act.drop_prefetched() } else { act.done() }))
            }
            // Several messages may have requested a snapshot.
            SelfMessage::Snapshot if self.processor.as_ref().is_some_and(Processor::snapshot_due) => {
                self.take_snapshot()
            }
            SelfMessage::Snapshot => self.done(),
            SelfMessage::Described(described) => self.described(described, ctx),
            SelfMessage::Idle => self.idle(ctx),
        })
    }
}
