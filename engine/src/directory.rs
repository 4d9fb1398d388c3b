//! Which locations are in memory: brings them in on first use or when due, and anew after a panic.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr, Arbiter, ArbiterHandle, dev::ToEnvelope, prelude::SendError};
use location::{
    ids::LocationId,
    time::{Millis, Timestamp},
};
use processor::{
    actor::{Ask, Asked, LocationActor, QueueWatcher, Reply},
    disk_share::DiskShare,
    error::EngineError,
    processor::Deps,
    request::Request,
};
use runtime::{
    clock::{self, Watch},
    metrics::Metrics,
};
use store::{
    Direction, StoreError, due,
    keys::{self, Space},
};
use tokio::sync::oneshot;

use crate::connections::Connections;

/// How often the due index is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Locations woken per look: many due at once come in over several looks instead of all together.
const WAKE_AT_ONCE: usize = 64;
/// Keys of the index read at once.
const PAGE: usize = 10_000;
/// What callers are told when a mailbox is full.
const RETRY_AFTER_SECONDS: u32 = 1;
/// Times a request that was not begun is offered to a location that had to be brought in again.
const OFFERS: u32 = 3;

pub(crate) struct Directory {
    deps: Arc<Deps>,
    connections: Arc<Connections>,
    metrics: Arc<Metrics>,
    arbiters: Mutex<Vec<Arbiter>>,
    next_arbiter: AtomicUsize,
    locations: Mutex<HashMap<LocationId, Addr<LocationActor>>>,
    shares: Mutex<HashMap<LocationId, Arc<DiskShare>>>,
    stopping: AtomicBool,
}

impl Directory {
    pub(crate) fn new(deps: Arc<Deps>, connections: Arc<Connections>, metrics: Arc<Metrics>) -> Arc<Directory> {
        let threads = deps.setup.engine.actor_threads.max(1);
        Arc::new(Directory {
            deps,
            connections,
            metrics,
            arbiters: Mutex::new((0..threads).map(|_| Arbiter::new()).collect()),
            next_arbiter: AtomicUsize::new(0),
            locations: Mutex::default(),
            shares: Mutex::default(),
            stopping: AtomicBool::new(false),
        })
    }

    /// The location's actor, started when it is not in memory or died.
    fn actor(&self, id: LocationId) -> Result<Addr<LocationActor>, EngineError> {
        let mut locations = self.locations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = locations.get(&id).filter(|address| address.connected()) {
            return Ok(address.clone());
        }
        let setup = self.deps.setup.locations.get(&id).ok_or(EngineError::UnknownLocation)?;
        let ehr = self.connections.of(setup).map_err(|error| {
            tracing::error!(%error, "the location cannot be connected to its EHR");
            EngineError::Internal
        })?;
        let arbiter = self.arbiter().ok_or(EngineError::Busy { retry_after: RETRY_AFTER_SECONDS })?;
        let rules = &self.deps.setup.engine;
        let (mailbox, idle) = (rules.mailbox, Duration::from_secs(rules.idle_seconds.max(1)));
        let share = self.shares.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().clone();
        let gated = self.connections.gateway_location(id);
        let watcher = gated.map(|gated| Arc::new(move |news| gated.queue(news)) as QueueWatcher);
        let actor = LocationActor::new(id, self.deps.clone(), ehr, watcher, self.metrics.clone(), idle, share);
        let address = LocationActor::start_in_arbiter(&arbiter, move |ctx| {
            ctx.set_mailbox_capacity(mailbox);
            actor
        });
        locations.insert(id, address.clone());
        Ok(address)
    }

    /// A thread for one more actor, in turn; none when the engine has stopped.
    fn arbiter(&self) -> Option<ArbiterHandle> {
        let arbiters = self.arbiters.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = self.next_arbiter.fetch_add(1, Ordering::Relaxed);
        arbiters.get(turn % arbiters.len().max(1)).map(Arbiter::handle)
    }

    /// Offers a message; a full mailbox is an answer too.
    fn offer(&self, id: LocationId, ask: Ask) -> Result<(), EngineError>
    where
        actix::Context<LocationActor>: ToEnvelope<LocationActor, Ask>,
    {
        match self.actor(id)?.try_send(ask) {
            Ok(()) => Ok(()),
            Err(SendError::Full(_)) => {
                self.metrics.refused_busy.add(1);
                Err(EngineError::Busy { retry_after: RETRY_AFTER_SECONDS })
            }
            // It left memory just now: the dropped reply tells the caller to ask again.
            Err(SendError::Closed(_)) => Ok(()),
        }
    }

    /// Refuses what clients ask of a location whose adapter is not ready. What it has to do by itself goes on.
    pub(crate) fn open(&self, id: LocationId) -> Result<(), EngineError> {
        self.connections.open(self.deps.setup.locations.get(&id).ok_or(EngineError::UnknownLocation)?)
    }

    /// Asks a location to do something. A request that a leaving or dying actor did not begin is offered again; one that it began
    /// and did not answer failed, and its outcome is what the store says.
    pub(crate) async fn request<R: Request + Clone>(
        &self,
        id: LocationId,
        request: R,
    ) -> Result<R::Reply, EngineError> {
        self.open(id)?;
        for _ in 0..OFFERS {
            if self.stopping.load(Ordering::SeqCst) {
                return Err(EngineError::Busy { retry_after: RETRY_AFTER_SECONDS });
            }
            let (reply, answer) = oneshot::channel();
            let begun = Arc::new(AtomicBool::new(false));
            self.offer(id, Ask::Do { job: Asked::by(request.clone(), reply), begun: begun.clone() })?;
            match answer.await {
                Ok(answer) => return answer,
                Err(_) if begun.load(Ordering::SeqCst) => return Err(EngineError::Internal),
                Err(_) => {}
            }
        }
        Err(EngineError::Busy { retry_after: RETRY_AFTER_SECONDS })
    }

    /// Asks a location for something it reads from memory.
    pub(crate) async fn ask<T>(&self, id: LocationId, make: impl Fn(Reply<T>) -> Ask) -> Result<T, EngineError> {
        for _ in 0..OFFERS {
            let (reply, answer) = oneshot::channel();
            self.offer(id, make(reply))?;
            if let Ok(answer) = answer.await {
                return answer;
            }
        }
        Err(EngineError::Internal)
    }

    /// Wakes what was in memory when the process ended, and locations with an EHR that were never started.
    pub(crate) fn resume(&self) -> Result<(), StoreError> {
        let mut known = BTreeSet::new();
        for (space, parse) in
            [(Space::Active, keys::parse_active as fn(&[u8]) -> Option<u32>), (Space::Asleep, keys::parse_asleep)]
        {
            let mut range = space.range();
            loop {
                let page = self.deps.store.scan_keys(range.clone(), Direction::Forward, PAGE)?;
                let more = page.len() == PAGE;
                if let Some(last) = page.last() {
                    range = range.after(last);
                }
                for id in page.iter().filter_map(|key| parse(key)) {
                    known.insert(id);
                    if space == Space::Active {
                        self.attend(LocationId(id));
                    }
                }
                if !more {
                    break;
                }
            }
        }
        let fresh = self.deps.setup.locations.values().filter(|location| location.source.is_some());
        for location in fresh.filter(|location| !known.contains(&location.id.0)) {
            self.attend(location.id);
        }
        self.wake_overslept()
    }

    /// A location with an EHR never sleeps for longer than until its next read cycle: one that is to, fell asleep by a clock that was ahead.
    fn wake_overslept(&self) -> Result<(), StoreError> {
        let now = clock::now();
        for (at, id) in due::later(&*self.deps.store, now.0, i64::MAX)? {
            let setup = self.deps.setup.locations.get(&LocationId(id));
            let longest = setup.filter(|setup| setup.source.is_some()).map(|setup| setup.pull.longest_pause());
            if longest.is_some_and(|longest| Timestamp(at).since(now) > longest) {
                self.attend(LocationId(id));
            }
        }
        Ok(())
    }

    /// Wakes who would sleep too long since the clock was set back; they find out by how much.
    fn wake_set_back(&self, by: Millis) {
        let now = clock::now();
        match due::later(&*self.deps.store, now.0, now.plus(by).0) {
            Ok(late) => late.into_iter().for_each(|(_, id)| self.attend(LocationId(id))),
            Err(error) => tracing::error!(%error, "the due index could not be read"),
        }
    }

    fn attend(&self, id: LocationId) {
        // A location that was taken out of the configuration stays asleep.
        if self.deps.setup.locations.contains_key(&id)
            && let Err(error) = self.offer(id, Ask::Attend)
        {
            tracing::warn!(location = %id, %error, "a due location could not be started; retrying");
        }
    }

    /// Brings in again whose actor ended though the store has them in memory: it panicked, or its last commit failed. Their work would
    /// wait for a request, or for a start.
    fn revive(&self) {
        let locations = || self.locations.lock().unwrap_or_else(PoisonError::into_inner);
        let ended: Vec<LocationId> =
            locations().iter().filter(|(_, address)| !address.connected()).map(|(id, _)| *id).collect();
        for id in ended {
            match self.deps.store.get(&keys::active(id.0)) {
                Ok(Some(_)) => {
                    tracing::warn!(location = %id, "the actor of a location ended unexpectedly; starting it again");
                    self.attend(id);
                }
                Ok(None) => {
                    let mut locations = locations();
                    if locations.get(&id).is_some_and(|address| !address.connected()) {
                        locations.remove(&id);
                    }
                }
                Err(error) => tracing::error!(location = %id, %error, "the store could not be read"),
            }
        }
    }

    /// Brings in what is due, until the directory stops.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut watch = Watch::since(clock::now());
        while !self.stopping.load(Ordering::SeqCst) {
            match watch.set_back(clock::now()) {
                0 => {}
                by => self.wake_set_back(by),
            }
            match due::due(&*self.deps.store, clock::now().0, WAKE_AT_ONCE) {
                Ok(due) => due.into_iter().for_each(|(_, id)| self.attend(LocationId(id))),
                Err(error) => tracing::error!(%error, "the due index could not be read"),
            }
            self.revive();
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Lets every location leave memory in order.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.stopping.store(true, Ordering::SeqCst);
        let locations: Vec<_> =
            self.locations.lock().unwrap_or_else(PoisonError::into_inner).drain().map(|(_, address)| address).collect();
        let mut leaving = Vec::new();
        for address in locations {
            let (done, left) = oneshot::channel();
            // `send` waits for a place in the mailbox: what callers asked before is done before.
            leaving.push(async move {
                if address.send(Ask::Leave { done }).await.is_ok() {
                    drop(left.await);
                }
            });
        }
        let all = async {
            for one in leaving {
                one.await;
            }
        };
        if tokio::time::timeout(grace, all).await.is_err() {
            tracing::warn!("some locations did not unload in time; they continue at the next start");
        }
        let arbiters = std::mem::take(&mut *self.arbiters.lock().unwrap_or_else(PoisonError::into_inner));
        let joined = tokio::task::spawn_blocking(|| {
            for arbiter in arbiters {
                arbiter.stop();
                drop(arbiter.join());
            }
        });
        drop(joined.await);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::time::{HOUR, MINUTE};
    use setup::EngineRules;
    use store::{Batch, MemoryStore, Store};

    use super::*;
    use crate::tests::{PLACE, Practice, started, until};

    /// It sleeps no longer than a location may; so a start leaves it alone.
    #[actix::test]
    async fn who_sleeps_longer_as_the_clock_was_set_back_is_woken() {
        let (store, ehr) = (Arc::new(MemoryStore::new()), Arc::new(Practice::default()));
        let (wake, mut batch) = (clock::now().plus(8 * MINUTE), Batch::new());
        due::set_wake(&mut batch, PLACE.0, None, Some(wake.0));
        batch.put(keys::asleep(PLACE.0), wake.0.to_be_bytes().to_vec());
        store.commit(batch).await.unwrap();
        let engine = started(store, &ehr, EngineRules::default()).await;
        let awake = || ehr.described.load(Ordering::SeqCst) > 0;
        tokio::time::sleep(2 * LOOK_EVERY).await;
        engine.directory().wake_set_back(MINUTE);
        assert!(!awake(), "it would sleep as long by a clock that is a minute ahead");
        engine.directory().wake_set_back(HOUR);
        until("its waking", async || awake()).await;
        engine.stop().await;
    }
}
