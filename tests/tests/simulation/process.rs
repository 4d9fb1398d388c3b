//! The process: the actors' work in the engine, with a crash possible at every step. Waiting, the clock and the EHR
//! are simulated; decisions, commits and replay are the engine's code.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use location::{
    command::{Command, DecisionContext},
    decision::Refusal,
    event::Event,
    ids::LocationId,
    time::{MINUTE, SECOND, Timestamp},
};
use processor::{
    call_changes,
    commands::Booked,
    error::Reject,
    id_pool::Pool,
    processor::{Deps, Processor},
};
use runtime::origin::Origin;
use setup::{Current, Setup};
use store::{CommitError, Store, StoreError, counters::Ids, journal, keys, secrets::Secrets};
use webhooks::follower::Follower;

use super::{
    agenda::SimEvent,
    audit::AuditWork,
    disk::{DiskFault, SimDisk},
    followers, invariants,
    prefetch::Pages,
    sim::Sim,
    sim_request::SimRequest,
};

const TRIES: u32 = 20;

/// A location in memory.
pub struct LocationHost {
    pub processor: Processor,
    /// Number of the load. Answers and timers of other incarnations are ignored.
    pub incarnation: u64,
    pub timer: Option<Timestamp>,
    pub pages: Pages,
    /// Another process committed for this location, so that memory is behind the disk.
    pub behind: bool,
}

pub struct Process {
    pub deps: Arc<Deps>,
    pub follower: Arc<Follower>,
    /// The batch of the audit trail's follower.
    pub audit: Option<AuditWork>,
    pub hosts: BTreeMap<LocationId, LocationHost>,
    pub up: bool,
}

/// Result for a caller.
pub enum TurnOutcome {
    Reply(Option<Booked>),
    Refused(Refusal),
    Busy,
    /// The process or the location crashed or was not running.
    Nothing,
}

/// Step of a turn at which the process crashes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Death {
    BeforeCommit,
    BeforeEvolve,
    BeforeActing,
}

impl Process {
    pub fn start(setup: Arc<Setup>, store: Arc<SimDisk>) -> Process {
        let follower = followers::start(setup.clone(), store.clone());
        at_once(call_changes::begin(&*store)).expect("the store takes positions");
        Process { deps: environment(setup, store), follower, audit: None, hosts: BTreeMap::new(), up: true }
    }
}

pub fn environment(setup: Arc<Setup>, store: Arc<SimDisk>) -> Arc<Deps> {
    let ids = Arc::new(Ids::new(store.clone()));
    let stamps = processor::change_counter::ChangeCounter::new(&setup);
    Arc::new(Deps {
        is_local: None,
        image_permits: None,
        change_counter: stamps,
        change_doorbell: Arc::default(),
        call_queue: Arc::default(),
        setup: Arc::new(Current::new(setup)),
        store,
        ids,
        pool: Pool::default(),
        secrets: Secrets::from_seed([7; 32]),
        index: Arc::default(),
        long_work: Default::default(),
    })
}

/// Polls a future that never waits, because the simulated store is synchronous.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the store is not synchronous"),
    }
}

impl Sim {
    fn cx(&mut self) -> DecisionContext {
        DecisionContext { now: self.now, random: self.random.draw() }
    }

    /// Reloads a location from the store. Calls in flight continue.
    fn reload(&mut self, id: LocationId) {
        match Processor::load(self.process.deps.clone(), id) {
            Ok(processor) => {
                if let Some(host) = self.process.hosts.get_mut(&id) {
                    host.processor = processor;
                    host.behind = false;
                    host.pages.abort();
                }
                self.process.deps.call_queue.ring([id]);
            }
            Err(error) => panic!("location {id} could not be loaded again: {error}"),
        }
    }

    pub fn set_timer(&mut self, id: LocationId) {
        let Some(host) = self.process.hosts.get_mut(&id) else { return };
        let wake = host.processor.machine.wake_at();
        if host.timer == wake {
            return;
        }
        host.timer = wake;
        if let Some(at) = wake {
            let timer = SimEvent::Timer { location: id, incarnation: host.incarnation, at };
            self.agenda.plan(at.max(self.now), timer);
        }
    }

    pub fn timer(&mut self, id: LocationId, incarnation: u64, at: Timestamp) {
        let Some(host) = self.process.hosts.get_mut(&id) else { return };
        if host.incarnation == incarnation && host.timer == Some(at) {
            host.timer = None;
            self.run_internal(id, &SimRequest::Command(Command::Wake));
        }
    }

    /// Runs a request of the location itself.
    pub fn run_internal(&mut self, id: LocationId, request: &SimRequest) {
        self.run_by(id, None, request);
    }

    /// Runs a request of an operator.
    pub fn run_for_operator(&mut self, id: LocationId, request: &SimRequest) {
        let by = self.audit.call("operator", true);
        self.run_by(id, Some(&by), request);
    }

    /// Runs a request. After a failed commit, the timer is set again.
    fn run_by(&mut self, id: LocationId, by: Option<&Origin>, request: &SimRequest) {
        match self.turn(id, by, request) {
            TurnOutcome::Reply(_) | TurnOutcome::Refused(_) | TurnOutcome::Nothing => {}
            TurnOutcome::Busy => {
                if let Some(host) = self.process.hosts.get_mut(&id) {
                    let at = host.processor.machine.wake_at();
                    host.timer = at;
                    if let Some(at) = at {
                        let timer = SimEvent::Timer { location: id, incarnation: host.incarnation, at };
                        self.agenda.plan(at.max(self.now.plus(SECOND)), timer);
                    }
                }
            }
        }
    }

    /// Runs a turn: decide, commit, evolve, act.
    pub fn turn(&mut self, id: LocationId, by: Option<&Origin>, request: &SimRequest) -> TurnOutcome {
        for _ in 0..TRIES {
            let cx = self.cx();
            let Some(host) = self.process.hosts.get_mut(&id) else { return TurnOutcome::Nothing };
            let (mut turn, reply) = match host.processor.prepare(cx, by, request) {
                Ok(turn) => turn,
                Err(Reject::NeedIds(sequence)) => {
                    let deps = self.process.deps.clone();
                    match at_once(deps.pool.fill(&deps.ids, sequence)) {
                        Ok(()) => continue,
                        Err(_) => return TurnOutcome::Busy,
                    }
                }
                Err(Reject::Refused(refusal)) => {
                    self.set_timer(id);
                    return TurnOutcome::Refused(refusal);
                }
                Err(error) => panic!("a turn of location {id} could not be prepared: {error}"),
            };
            if turn.is_free() {
                let asks_for_prefetched = turn.asks_for_prefetched();
                let calls = host.processor.finish(turn);
                for call in calls {
                    self.call(id, call, asks_for_prefetched);
                }
                self.set_timer(id);
                return TurnOutcome::Reply(reply);
            }
            if !self.meanwhile(id) {
                return TurnOutcome::Nothing;
            }
            let death = self.death();
            if death == Some(Death::BeforeCommit) {
                self.die(id, "before a commit");
                return TurnOutcome::Nothing;
            }
            if !self.without_faults && self.store.health().accepts_writes() && self.random.chance(3) {
                self.store.fail_next_commit(DiskFault::LoseAnswer);
            }
            let events = turn.events().to_vec();
            match self.store.commit_now(std::mem::take(&mut turn.batch)) {
                Ok(()) => {}
                Err(CommitError::Conflict { key }) => {
                    self.log_line(|| format!("location {id}: conflict in {}", keys::space_name(&key)));
                    if journal::is_lock(&key) {
                        self.reload(id);
                    }
                    continue;
                }
                Err(CommitError::Full { .. }) => return TurnOutcome::Busy,
                Err(error) => {
                    self.log_line(|| format!("location {id}: {error}"));
                    if matches!(error, CommitError::Store(StoreError::Unknown { .. })) {
                        self.committed(id, by, &events);
                    }
                    self.reload(id);
                    return TurnOutcome::Busy;
                }
            }
            self.committed(id, by, &events);
            if death == Some(Death::BeforeEvolve) {
                self.die(id, "between a commit and what follows from it");
                return TurnOutcome::Nothing;
            }
            let Some(host) = self.process.hosts.get_mut(&id) else { return TurnOutcome::Nothing };
            let asks_for_prefetched = turn.asks_for_prefetched();
            let calls = host.processor.finish(turn);
            for call in calls {
                if death.is_none() || self.random.chance(500) {
                    self.call(id, call, asks_for_prefetched);
                }
            }
            if death == Some(Death::BeforeActing) {
                self.die(id, "while acting on a commit");
                return TurnOutcome::Nothing;
            }
            self.set_timer(id);
            self.keep_snapshot(id);
            invariants::after_turn(self, id, &events);
            return TurnOutcome::Reply(reply);
        }
        TurnOutcome::Busy
    }

    /// Runs a turn of another location between a decision and its commit. Returns `false` if the process died in it.
    fn meanwhile(&mut self, id: LocationId) -> bool {
        if self.nested || !self.random.chance(100) {
            return true;
        }
        let Some(what) = self.agenda.sooner(self.now.plus(MINUTE), id) else { return true };
        let incarnation = self.process.hosts.get(&id).map(|host| host.incarnation);
        self.nested = true;
        self.happen(what);
        self.nested = false;
        self.process.hosts.get(&id).map(|host| host.incarnation) == incarnation
    }

    /// Runs the turn in another process that believes it hosts the location. The process ends before it makes a call.
    pub fn turn_elsewhere(&mut self, id: LocationId, by: &Origin, request: &SimRequest) -> TurnOutcome {
        let deps = self.rival.clone();
        for _ in 0..TRIES {
            let cx = self.cx();
            let mut processor = match Processor::load(deps.clone(), id) {
                Ok(processor) => processor,
                Err(error) => panic!("location {id} could not be loaded by another process: {error}"),
            };
            let (mut turn, reply) = match processor.prepare(cx, Some(by), request) {
                Ok(turn) => turn,
                Err(Reject::NeedIds(sequence)) => match at_once(deps.pool.fill(&deps.ids, sequence)) {
                    Ok(()) => continue,
                    Err(_) => return TurnOutcome::Busy,
                },
                Err(Reject::Refused(refusal)) => return TurnOutcome::Refused(refusal),
                Err(error) => panic!("a turn of location {id} could not be prepared: {error}"),
            };
            if turn.is_free() {
                return TurnOutcome::Reply(reply);
            }
            let events = turn.events().to_vec();
            match self.rivals.commit_now(std::mem::take(&mut turn.batch)) {
                Ok(()) => {}
                Err(CommitError::Conflict { .. }) => continue,
                Err(_) => return TurnOutcome::Busy,
            }
            self.log_line(|| format!("another process commits for location {id}"));
            self.committed(id, Some(by), &events);
            self.audit.note_elsewhere(id);
            if let Some(host) = self.process.hosts.get_mut(&id) {
                host.behind = true;
            }
            // Its calls are never made. They pass their deadline with an unknown outcome.
            drop(processor.finish(turn));
            return TurnOutcome::Reply(reply);
        }
        TurnOutcome::Busy
    }

    fn committed(&mut self, id: LocationId, by: Option<&Origin>, events: &[Event]) {
        let here = self.plan.setup.locations.get(&id).expect("the location is in the setup");
        self.audit.expect(here, self.now, by, events);
        for event in events {
            self.log_line(|| format!("location {id}: {event:?}"));
            self.ledger.note(id, event);
            invariants::committed(self, id, event);
        }
        invariants::groups::committed(id, events);
        invariants::rules_hold::committed(self, id, events);
    }

    fn death(&mut self) -> Option<Death> {
        let often = if self.plan.hectic { 40 } else { 8 };
        if self.without_faults || !self.random.chance(often) {
            return None;
        }
        Some([Death::BeforeCommit, Death::BeforeEvolve, Death::BeforeActing][self.random.below(3)])
    }

    fn die(&mut self, id: LocationId, when: &str) {
        if self.random.chance(500) { self.kill_process(when) } else { self.kill_location(id, when) }
    }

    fn keep_snapshot(&mut self, id: LocationId) {
        if self.random.chance(20) {
            self.snapshot(id);
        }
    }

    fn snapshot(&mut self, id: LocationId) {
        let Some(host) = self.process.hosts.get_mut(&id).filter(|host| host.processor.is_recorded()) else { return };
        let batch = host.processor.snapshot().expect("a state can be written");
        if self.store.commit_now(batch).is_ok() {
            host.processor.snapshot_taken();
        }
    }

    /// The EHR described its capabilities, or failed to.
    pub fn described(&mut self, id: LocationId, incarnation: u64) {
        let setup = self.plan.setup.clone();
        let Some(source) = setup.locations.get(&id).and_then(|location| location.source) else { return };
        let Some(host) = self.process.hosts.get_mut(&id).filter(|host| host.incarnation == incarnation) else { return };
        if !self.without_faults && self.random.chance(100) {
            let at = self.now.plus(15 * SECOND);
            return self.agenda.plan(at, SimEvent::Described { location: id, incarnation });
        }
        let description = self.plan.descriptions.get(&source).expect("each source is described").clone();
        if host.processor.description.as_ref() == Some(&description) {
            return;
        }
        let batch = host.processor.describing(&description).expect("a description can be written");
        // If the description is not stored, the EHR is asked again after the next load.
        let stored = self.store.commit_now(batch).is_ok();
        if stored {
            host.processor.described(description);
        }
        self.log_line(|| format!("location {id} knows its EHR (stored: {stored})"));
        self.set_timer(id);
    }
}
