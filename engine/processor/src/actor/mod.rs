//! One actor per location: it owns the processor of its location, and waits for the store, the EHR and the clock.

mod calls;
mod job;

pub use job::{Asked, Job, Reply};

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use actix::{
    Actor, ActorContext, ActorFutureExt, AsyncContext, AtomicResponse, Context, Handler, Message, SpawnHandle,
    WrapFuture, fut::LocalBoxActorFuture,
};
use location::{
    command::Command,
    event::Event,
    ids::LocationId,
    slots::{SlotQuery, free_slots, next_available},
    time::{DAY, Millis, SECOND, Timestamp},
};
use records::{
    ehr::{Description, Ehr, Fault},
    sync_state::{QueueNews, SyncState},
};
use runtime::{
    clock::{self, Watch},
    metrics::Metrics,
};
use store::{CommitError, journal};
use tokio::sync::oneshot;

use crate::{
    disk_share::{self, DiskShare},
    error::{EngineError, Reject, not_stored},
    processor::{Deps, Processor},
    reply::FreeSlots,
    standing,
    turn::PendingCommit,
    write_requests::{self, WriteRequest},
};

/// Times a turn is prepared again because documents changed under it, or ids ran out.
const TRIES: u32 = 20;
/// How long a location that could not be loaded is not tried again: damage stays until somebody restores it, and each try reads the whole
/// journal on a thread that healthy locations share.
const DAMAGED_FOR: Duration = Duration::from_secs(300);
const UNREADABLE_FOR: Duration = Duration::from_secs(1);
/// How far `next_available_date` looks.
const HORIZON_DAYS: u16 = 180;

/// A turn under way.
type Turn = LocalBoxActorFuture<LocationActor, Result<(), EngineError>>;

/// Shown a location's queue of writes after each turn.
pub type QueueWatcher = Arc<dyn Fn(QueueNews) + Send + Sync>;

/// What is sent to a location's actor.
#[derive(Message)]
#[rtype(result = "()")]
pub enum Ask {
    Do {
        job: Box<dyn Job>,
        begun: Arc<AtomicBool>,
    },
    FreeSlots {
        query: Box<SlotQuery>,
        reply: Reply<FreeSlots>,
    },
    SyncState {
        reply: Reply<SyncState>,
    },
    Writes {
        reply: Reply<Vec<WriteRequest>>,
    },
    /// It is due, or was in memory when the process ended: be in memory.
    Attend,
    /// The process ends: leave memory in order.
    Leave {
        done: oneshot::Sender<()>,
    },
}

/// What an actor tells itself.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) enum Own {
    Do(Box<dyn Job>),
    Snapshot,
    Described(Result<Description, Fault>),
    Idle,
}

pub struct LocationActor {
    id: LocationId,
    deps: Arc<Deps>,
    ehr: Option<Arc<dyn Ehr>>,
    /// Who is shown its queue of writes: its workstations, where the EHR is reached through such.
    watcher: Option<QueueWatcher>,
    metrics: Arc<Metrics>,
    idle: Duration,
    share: Arc<DiskShare>,
    /// None while its records cannot be read: then every request is refused, and nothing is written.
    processor: Option<Processor>,
    /// Until when it is not tried to read them again.
    unreadable_until: Option<Instant>,
    timer: Option<(Timestamp, SpawnHandle)>,
    /// Times in a row the EHR did not say what it can do.
    undescribed: u32,
    /// When it is asked next what it can do.
    describe: Option<SpawnHandle>,
    watch: Watch,
    /// By how much the clock was set back, until the location knows.
    set_back: Millis,
    last_used: Instant,
}

impl LocationActor {
    pub fn new(
        id: LocationId,
        deps: Arc<Deps>,
        ehr: Option<Arc<dyn Ehr>>,
        watcher: Option<QueueWatcher>,
        metrics: Arc<Metrics>,
        idle: Duration,
        share: Arc<DiskShare>,
    ) -> LocationActor {
        LocationActor {
            id,
            deps,
            ehr,
            watcher,
            metrics,
            idle,
            share,
            processor: None,
            unreadable_until: None,
            timer: None,
            undescribed: 0,
            describe: None,
            watch: Watch::since(clock::now()),
            set_back: 0,
            last_used: Instant::now(),
        }
    }

    fn load(&mut self) {
        let started = Instant::now();
        self.processor = None;
        self.unreadable_until = None;
        match Processor::load(self.deps.clone(), self.id) {
            Ok(processor) => {
                let (records, took) = (processor.machine.state.appointments.len(), started.elapsed());
                tracing::debug!(location = %self.id, appointments = records, ?took, "location in memory");
                self.metrics.locations.note(self.id, standing::of(&processor.machine, clock::now()));
                if let Some(show) = &self.watcher {
                    show(processor.queue_news(Vec::new()));
                }
                // The last thing that happened lies in the future: since then the clock was set back.
                (self.watch, self.set_back) = (Watch::since(processor.machine.state.latest), 0);
                self.processor = Some(processor);
            }
            Err(error) if error.is_damage() => {
                tracing::error!(location = %self.id, %error, "the location is read-only until an operator restores it");
                self.unreadable_until = Some(Instant::now() + DAMAGED_FOR);
            }
            Err(error) => {
                tracing::error!(location = %self.id, %error, "the location could not be loaded");
                self.unreadable_until = Some(Instant::now() + UNREADABLE_FOR);
            }
        }
    }

    /// One turn; before it another one where the clock was set back, which no decision may overlook.
    fn turn(&mut self, mut job: Box<dyn Job>) -> Turn {
        if self.processor.is_none() && self.unreadable_until.is_none_or(|until| until <= Instant::now()) {
            // It could not be loaded before, or not after a failed commit: perhaps it can now.
            self.load();
        }
        let by = self.set_back();
        if by == 0 {
            return self.attempt(job, TRIES);
        }
        tracing::warn!(location = %self.id, seconds = by / SECOND, "the clock was set back; due times are moved back by the same amount");
        let caught_up = self.attempt(Asked::own(Command::ClockSetBack { by }), TRIES);
        Box::pin(caught_up.then(move |done, act, _| match done {
            Ok(()) => {
                act.set_back = 0;
                act.attempt(job, TRIES)
            }
            Err(error) => {
                job.finish(Err(error.clone()));
                Box::pin(async { Err(error) }.into_actor(act))
            }
        }))
    }

    /// By how much the clock was set back, as far as the location does not know.
    fn set_back(&mut self) -> Millis {
        self.set_back = self.set_back.saturating_add(self.watch.set_back(clock::now()));
        if self.processor.is_some() { self.set_back } else { 0 }
    }

    /// Decide, commit, evolve, act; again from the start when the documents changed meanwhile.
    fn attempt(&mut self, mut job: Box<dyn Job>, tries: u32) -> Turn {
        let prepared = match &self.processor {
            Some(processor) => job.prepare(processor, clock::cx()),
            None => return self.refuse(job, EngineError::Damaged),
        };
        match prepared {
            Ok(commit) if commit.is_free() => {
                Box::pin(async move { commit }.into_actor(self).map(move |commit, act, ctx| {
                    act.finish(commit, ctx);
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
                        act.refuse(job, EngineError::StoreFull)
                    }
                }))
            }
            Err(reject) => self.refuse(job, reject.into()),
        }
    }

    fn refuse(&self, mut job: Box<dyn Job>, error: EngineError) -> Turn {
        job.finish(Err(error.clone()));
        Box::pin(async { Err(error) }.into_actor(self))
    }

    fn commit(&mut self, mut job: Box<dyn Job>, mut turn: PendingCommit, tries: u32) -> Turn {
        let pulled = job.reads().then(|| turn.batch.written_bytes());
        let committed = self.deps.store.commit(std::mem::take(&mut turn.batch));
        let pulling = self.begin_pull(&turn);
        let step = committed.into_actor(self).then(move |result, act, ctx| -> Turn {
            match result {
                Ok(()) => {
                    act.metrics.commits.add(1);
                    if let Some(bytes) = pulled {
                        act.share.take(&act.deps.setup.engine, bytes, clock::now());
                    }
                    act.finish(turn, ctx);
                    if let Some(pulling) = pulling {
                        act.hear(pulling, ctx);
                    }
                    // After the turn: what it has just asked for is not heard while another commit of the same turn is under way.
                    if act.processor.as_ref().is_some_and(Processor::snapshot_due) {
                        tell(ctx, Own::Snapshot);
                    }
                    job.finish(Ok(()));
                    Box::pin(async { Ok(()) }.into_actor(act))
                }
                Err(CommitError::Conflict { key }) if tries > 0 => {
                    // Of another process that hosts this location memory knows nothing. A document that another location changed is read
                    // with the turn.
                    if journal::is_lock(&key) {
                        act.load();
                    }
                    act.attempt(job, tries - 1)
                }
                Err(CommitError::Full { free, floor }) => {
                    tracing::warn!(location = %act.id, free, floor, "write refused: the disk is nearly full");
                    act.refuse(job, EngineError::StoreFull)
                }
                Err(error) => {
                    tracing::error!(location = %act.id, %error, "a commit failed");
                    act.load();
                    act.refuse(job, not_stored(&error))
                }
            }
        });
        Box::pin(step)
    }

    fn finish(&mut self, turn: PendingCommit, ctx: &mut Context<Self>) {
        let Some(processor) = &mut self.processor else { return };
        let failed = turn.events().iter().filter(|event| matches!(event, Event::WriteFailed { .. })).count();
        self.metrics.writes_failed.add(failed as u64);
        let ended = self.watcher.as_ref().map(|_| processor.ended_writes(turn.events(), clock::now()));
        let unread = processor.machine.state.pulls.last_success.is_none();
        let calls = processor.finish(turn);
        if unread && processor.machine.state.pulls.last_success.is_some() {
            let records: u64 = processor.machine.state.pulls.progress.values().map(|progress| progress.records).sum();
            tracing::info!(location = %self.id, records, "the EHR was read to its end for the first time");
        }
        if let Some((show, ended)) = self.watcher.as_ref().zip(ended) {
            show(processor.queue_news(ended));
        }
        self.metrics.locations.note(self.id, standing::of(&processor.machine, clock::now()));
        for call in calls {
            self.call(call, ctx);
        }
        self.set_timer(ctx);
    }

    fn take_snapshot(&mut self) -> LocalBoxActorFuture<Self, ()> {
        let Some(processor) = &mut self.processor else { return Box::pin(async {}.into_actor(self)) };
        let batch = match processor.snapshot() {
            Ok(batch) => batch,
            Err(error) => {
                tracing::error!(location = %self.id, %error, "a snapshot could not be encoded");
                processor.snapshot_missed();
                return Box::pin(async {}.into_actor(self));
            }
        };
        let taken =
            self.deps.store.commit(batch).into_actor(self).map(|result, act, _| match (result, &mut act.processor) {
                (Ok(()), Some(processor)) => processor.snapshot_taken(),
                (Err(error), processor) => {
                    tracing::warn!(location = %act.id, %error, "a snapshot could not be written");
                    processor.iter_mut().for_each(Processor::snapshot_missed);
                }
                (Ok(()), None) => {}
            });
        Box::pin(taken)
    }

    /// One timer, for the next wake time.
    fn set_timer(&mut self, ctx: &mut Context<Self>) {
        let wake = self.processor.as_ref().and_then(Processor::wake_at);
        if self.timer.as_ref().map(|(at, _)| *at) == wake {
            return;
        }
        if let Some((_, old)) = self.timer.take() {
            ctx.cancel_future(old);
        }
        let Some(at) = wake else { return };
        // A long sleep is cut: clocks of machines are set now and then.
        let sleep = at.since(clock::now()).clamp(0, DAY);
        let handle = ctx.run_later(Duration::from_millis(sleep.unsigned_abs()), |act, ctx| {
            act.timer = None;
            tell(ctx, Own::Do(Asked::own(Command::Wake)));
        });
        self.timer = Some((at, handle));
    }

    fn free_slots(&self, query: &SlotQuery) -> Result<FreeSlots, EngineError> {
        let processor = self.processor.as_ref().ok_or(EngineError::Damaged)?;
        let (machine, zone) = (&processor.machine, &processor.settings().zone);
        if !machine.schedule_is_read() {
            return Err(EngineError::NotRead);
        }
        let closed = processor.closed_operatories().map_err(|error| {
            tracing::error!(location = %self.id, %error, "operatories could not be read");
            EngineError::Internal
        })?;
        let shut = |operatory| closed.contains(&operatory);
        let hours = machine.hours().filter(|hour| !hour.operatory.is_some_and(shut));
        let calendar = &machine.state.calendar;
        let slots = free_slots(hours.clone(), calendar, zone, query);
        let next_available_date = match slots.is_empty() {
            true => next_available(hours.clone(), calendar, zone, query, HORIZON_DAYS),
            false => None,
        };
        let any_hours = hours.clone().any(|hour| query.asks_for(hour));
        let old_read = processor.source().and_then(|_| SyncState::late_since(machine, clock::now()));
        Ok(FreeSlots { any_hours, slots, next_available_date, old_read })
    }

    fn sync_state(&self) -> Result<SyncState, EngineError> {
        let processor = self.processor.as_ref().ok_or(EngineError::Damaged)?;
        let mut state = SyncState::of(&processor.machine, processor.description.as_ref(), clock::now());
        if state.reading.is_some() && self.share.wait(&self.deps.setup.engine, clock::now()) > 0 {
            state.read_reason.get_or_insert_with(|| disk_share::SLOWED.to_owned());
        }
        Ok(state)
    }

    fn leave(&mut self) -> LocalBoxActorFuture<Self, ()> {
        let batch = match self.processor.as_ref().map(Processor::leave) {
            Some(Ok(batch)) if !batch.is_empty() => batch,
            Some(Err(error)) => {
                tracing::error!(location = %self.id, %error, "the location was unloaded without a final commit");
                return Box::pin(async {}.into_actor(self));
            }
            Some(Ok(_)) | None => return Box::pin(async {}.into_actor(self)),
        };
        let left = self.deps.store.commit(batch).into_actor(self).map(|result, act, _| {
            if let Err(error) = result {
                // It still stands in the store as being in memory: the next start wakes it.
                tracing::warn!(location = %act.id, %error, "the location was unloaded without a final commit");
            }
        });
        Box::pin(left)
    }

    /// Nothing to do for a while: out of memory.
    fn idle(&mut self, ctx: &mut Context<Self>) -> LocalBoxActorFuture<Self, ()> {
        let wake = self.processor.as_ref().and_then(Processor::wake_at);
        let soon = clock::now().plus(i64::try_from(self.idle.as_millis()).unwrap_or(i64::MAX));
        let busy = self.last_used.elapsed() < self.idle || wake.is_some_and(|at| at <= soon);
        if busy {
            tell_later(ctx, Own::Idle, self.idle);
            return Box::pin(async {}.into_actor(self));
        }
        Box::pin(self.leave().map(|(), act, ctx| {
            act.processor = None;
            ctx.stop();
        }))
    }
}

/// Everything that may begin a turn comes through the mailbox. A message the context notifies itself of is not held back by the turn a
/// message from the mailbox has just begun: it would be decided on the same state, and the loser's reload would show the winner's record
/// before the winner has applied it.
pub(crate) fn tell(ctx: &mut Context<LocationActor>, own: Own) {
    ctx.address().do_send(own);
}

pub(crate) fn tell_later(ctx: &mut Context<LocationActor>, own: Own, after: Duration) {
    ctx.run_later(after, |_, ctx| tell(ctx, own));
}

impl Actor for LocationActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.metrics.locations_active.add(1);
        self.load();
        self.describe(ctx);
        self.set_timer(ctx);
        if self.set_back() > 0 {
            // Its timer is set by a clock that is gone.
            tell(ctx, Own::Do(Asked::own(Command::Wake)));
        }
        tell_later(ctx, Own::Idle, self.idle);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.metrics.locations_active.subtract(1);
    }
}

impl Handler<Ask> for LocationActor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, ask: Ask, ctx: &mut Self::Context) -> Self::Result {
        self.last_used = Instant::now();
        self.metrics.commands.add(1);
        AtomicResponse::new(match ask {
            Ask::Do { job, begun } => {
                begun.store(true, Ordering::SeqCst);
                if job.describes() {
                    self.describe(ctx);
                }
                Box::pin(self.turn(job).map(|_, _, _| ()))
            }
            Ask::FreeSlots { query, reply } => {
                let answer = self.free_slots(&query);
                Box::pin(async move { drop(reply.send(answer)) }.into_actor(self))
            }
            Ask::SyncState { reply } => {
                let answer = self.sync_state();
                Box::pin(async move { drop(reply.send(answer)) }.into_actor(self))
            }
            Ask::Writes { reply } => {
                let answer = self.processor.as_ref().map(write_requests::unfinished).ok_or(EngineError::Damaged);
                Box::pin(async move { drop(reply.send(answer)) }.into_actor(self))
            }
            Ask::Attend => Box::pin(async {}.into_actor(self)),
            Ask::Leave { done } => Box::pin(self.leave().map(move |(), act, ctx| {
                act.processor = None;
                let _ = done.send(());
                ctx.stop();
            })),
        })
    }
}

impl Handler<Own> for LocationActor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, own: Own, ctx: &mut Self::Context) -> Self::Result {
        AtomicResponse::new(match own {
            Own::Do(job) => Box::pin(self.turn(job).map(|done, act, ctx| match done {
                // What the machine refuses of its own is over.
                Ok(()) | Err(EngineError::Refused(_) | EngineError::Unmet(_)) => {}
                Err(error) => {
                    // What was not committed is due again: a call's outcome through its deadline, the timer through this.
                    tracing::warn!(location = %act.id, %error, "an internal command was not committed");
                    ctx.run_later(Duration::from_secs(1), |act, ctx| {
                        act.timer = None;
                        act.set_timer(ctx);
                    });
                }
            })),
            // Several may have asked for it.
            Own::Snapshot if self.processor.as_ref().is_some_and(Processor::snapshot_due) => self.take_snapshot(),
            Own::Snapshot => Box::pin(async {}.into_actor(self)),
            Own::Described(described) => self.described(described, ctx),
            Own::Idle => self.idle(ctx),
        })
    }
}
