//! Which locations are in memory: brings them in on first use or when due, and anew after a panic.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr, Arbiter, ArbiterHandle, dev::ToEnvelope, prelude::SendError};
use location::{
    ids::{InstitutionId, LocationId},
    time::Timestamp,
};
use membership::Place;
use processor::{
    actor::{Ask, Asked, LocationActor, Means, QueueWatcher, Reply},
    disk_share::DiskShare,
    error::EngineError,
    processor::Deps,
    request::Request,
};
use runtime::{
    clock::{self, Watch},
    metrics::Metrics,
    origin,
    recent_errors::{Part, RecentError},
};
use setup::{
    LocationSetup, Setup,
    changes::{Changes, Touched},
};
use store::{StoreError, due, keys};
use tokio::sync::oneshot;

use crate::{
    cluster::Cluster,
    connections::Connections,
    here::{Here, Moved},
    resume::Resume,
};

/// How often the due index is looked at, and how soon again while there is more to wake.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Locations woken per look: many due at once come in over several looks instead of all together.
const WAKE_AT_ONCE: usize = 64;
/// What callers are told when a mailbox is full.
const RETRY_AFTER_SECONDS: u32 = 1;
/// How long it is waited for locations that are set up so that they have to leave memory.
const LEAVING: Duration = Duration::from_secs(10);
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
    /// None: all institutions are here.
    cluster: Option<Arc<Cluster>>,
    here: Here,
    /// There may be more to bring in than the due index says.
    gained: Arc<AtomicBool>,
    stopping: AtomicBool,
}

impl Directory {
    pub(crate) fn new(
        deps: Arc<Deps>,
        connections: Arc<Connections>,
        metrics: Arc<Metrics>,
        cluster: Option<Arc<Cluster>>,
    ) -> Arc<Directory> {
        let threads = deps.setup.now().engine.actor_threads.max(1);
        Arc::new(Directory {
            deps,
            connections,
            metrics,
            arbiters: Mutex::new((0..threads).map(|_| Arbiter::new()).collect()),
            next_arbiter: AtomicUsize::new(0),
            locations: Mutex::default(),
            shares: Mutex::default(),
            cluster,
            here: Here::default(),
            gained: Arc::default(),
            stopping: AtomicBool::new(false),
        })
    }

    /// The location's actor, started when it is not in memory or died.
    fn actor(&self, id: LocationId) -> Result<Addr<LocationActor>, EngineError> {
        let mut locations = self.locations.lock().unwrap_or_else(PoisonError::into_inner);
        // With the locations locked: what is let go of cannot come in again meanwhile, and no other setup comes into force.
        let setup = self.deps.setup.now();
        let location = setup.locations.get(&id).ok_or(EngineError::UnknownLocation)?;
        if let Some(address) = locations.get(&id).filter(|address| address.connected()) {
            return Ok(address.clone());
        }
        if !self.is_here(id) || self.stopping.load(Ordering::SeqCst) {
            return Err(EngineError::Busy { retry_after: RETRY_AFTER_SECONDS });
        }
        let means = self.means(&setup, location)?;
        let arbiter = self.arbiter().ok_or(EngineError::Busy { retry_after: RETRY_AFTER_SECONDS })?;
        let share = self.shares.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().clone();
        let actor = LocationActor::new(id, self.deps.clone(), means, self.metrics.clone(), share);
        let address = LocationActor::start_in_arbiter(&arbiter, move |_| actor);
        locations.insert(id, address.clone());
        Ok(address)
    }

    fn means(&self, setup: &Setup, location: &LocationSetup) -> Result<Means, EngineError> {
        let gated = self.connections.gateway_location(location.id);
        Ok(Means {
            source: location.source,
            ehr: self.connections.of(location)?,
            watcher: gated.map(|gated| Arc::new(move |news| gated.queue(news)) as QueueWatcher),
            idle: Duration::from_secs(setup.engine.idle_seconds.max(1)),
            mailbox: setup.engine.mailbox,
        })
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
        let setup = self.deps.setup.now();
        self.connections.open(setup.locations.get(&id).ok_or(EngineError::UnknownLocation)?)
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
            let job = Asked::by(request.clone(), reply, origin::current());
            self.offer(id, Ask::Do { job, begun: begun.clone() })?;
            match answer.await {
                Ok(answer) => return answer,
                // This process ends, and did not wait for it any longer.
                Err(_) if begun.load(Ordering::SeqCst) && self.stopping.load(Ordering::SeqCst) => {
                    return Err(EngineError::OutcomeUnknown);
                }
                Err(_) if begun.load(Ordering::SeqCst) => {
                    self.went_wrong(id, "it ended unexpectedly while it did what was asked of it");
                    return Err(EngineError::Internal);
                }
                Err(_) => {}
            }
        }
        Err(EngineError::Busy { retry_after: RETRY_AFTER_SECONDS })
    }

    fn went_wrong(&self, id: LocationId, reason: &str) {
        let error = RecentError::new(Part::Location, reason, origin::current(), clock::now());
        self.metrics.recent_errors.note(id, error);
    }

    /// Asks a location for something it reads from memory.
    pub(crate) async fn ask<T>(&self, id: LocationId, make: impl Fn(Reply<T>) -> Ask) -> Result<T, EngineError> {
        for _ in 0..OFFERS {
            let (reply, answer) = oneshot::channel();
            self.offer(id, make(reply))?;
            if let Ok(answer) = answer.await {
                // Its memory is the truth as long as it lives here.
                return if self.is_here(id) {
                    answer
                } else {
                    Err(EngineError::Busy { retry_after: RETRY_AFTER_SECONDS })
                };
            }
        }
        Err(EngineError::Internal)
    }

    /// Brings in who is due, and then who has to be after a start or since the clock was set back. Answers whether there may be more.
    fn wake(&self, resume: &mut Resume) -> Result<bool, StoreError> {
        let (now, setup) = (clock::now(), self.deps.setup.now());
        // One in memory has a timer of its own, and one that was taken out of the configuration stays asleep.
        let wanted = |id| self.is_here(id) && !self.is_in_memory(id);
        let due = due::due(&*self.deps.store, now.0, WAKE_AT_ONCE, |id| wanted(LocationId(id)))?;
        for (_, id) in &due {
            self.attend(LocationId(*id));
        }
        let room = WAKE_AT_ONCE - due.len();
        if room > 0 {
            let found = resume.step(&*self.deps.store, &setup, now, room)?.into_iter();
            for id in found.filter(|id| wanted(*id)) {
                self.attend(id);
            }
        }
        Ok(room == 0 || !resume.is_done())
    }

    /// Its institution lives on this node.
    pub(crate) fn is_here(&self, id: LocationId) -> bool {
        let setup = self.deps.setup.now();
        let Some(location) = setup.locations.get(&id) else { return false };
        self.cluster.as_ref().is_none_or(|cluster| cluster.place(location.institution) == Place::Mine)
    }

    /// Institutions have come here: their locations may have work that was under way elsewhere.
    pub(crate) fn gained(&self) {
        self.gained.store(true, Ordering::SeqCst);
        self.note_institutions();
        self.connections.gateway().tell_all();
    }

    /// Another setup takes the place of this one, once `put_in_force` has been called. Whose settings or connections are other than before
    /// goes on under them from its next message on; whose EHR is another one, or who is gone, leaves memory. Nobody else hears of it.
    pub(crate) async fn set_up(&self, changes: &Changes, put_in_force: impl FnOnce()) {
        // Who leaves stays among the locations until it has left, so that it is not in memory twice, even where it is to come again soon.
        let (mut leaving, touched): (BTreeMap<_, _>, Vec<_>) = {
            let locations = self.locations.lock().unwrap_or_else(PoisonError::into_inner);
            put_in_force();
            let gone = changes.locations.gone.iter().filter_map(|id| Some((*id, locations.get(id)?.clone())));
            let touched = changes.touched.iter();
            let touched = touched.filter_map(|(id, how)| Some((*id, *how, locations.get(id)?.clone())));
            (gone.collect(), touched.collect())
        };
        let setup = self.deps.setup.now();
        for (id, how, address) in touched {
            let Some(location) = setup.locations.get(&id) else { continue };
            let means = (how != Touched::Source).then(|| self.means(&setup, location));
            match means {
                // Behind what it was asked before, whether its mailbox is full or not.
                Some(Ok(means)) => address.do_send(Ask::SetUp(means)),
                Some(Err(_)) | None => drop(leaving.insert(id, address)),
            }
        }
        let left = async {
            leave(leaving.values()).await;
            while leaving.values().any(Addr::connected) {
                tokio::time::sleep(LEAVING / 1_000).await;
            }
        };
        if tokio::time::timeout(LEAVING, left).await.is_err() {
            tracing::warn!(
                "some locations did not leave memory in time after they were set up anew; they leave when they can"
            );
            // What an old one is told now is lost with it: whoever is to come again is looked for once it has left.
            let late: Vec<_> = leaving.values().filter(|address| address.connected()).cloned().collect();
            let gained = self.gained.clone();
            tokio::spawn(async move {
                while late.iter().any(Addr::connected) {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                gained.store(true, Ordering::SeqCst);
            });
        }
        for id in leaving.into_keys() {
            if setup.locations.contains_key(&id) {
                self.attend(id);
            } else {
                self.forget(id);
            }
        }
        self.metrics.retain(|id| setup.locations.contains_key(&id));
        self.note_institutions();
        self.gained.store(true, Ordering::SeqCst);
    }

    /// Lets the locations leave whose institutions live elsewhere, with all that was kept in memory of them.
    pub(crate) async fn let_go(&self) {
        let gone: Vec<_> = {
            let mut locations = self.locations.lock().unwrap_or_else(PoisonError::into_inner);
            locations.extract_if(|id, _| !self.is_here(*id)).map(|(_, address)| address).collect()
        };
        leave(gone.iter()).await;
        self.metrics.retain(|id| self.is_here(id));
        self.connections.gateway().let_go(|id| self.is_here(id));
        self.note_institutions();
        // What others change from now on is not counted here.
        self.deps.change_counter.all_changed();
    }

    fn note_institutions(&self) {
        let Some(cluster) = &self.cluster else { return };
        let setup = self.deps.setup.now();
        let here = setup.institutions.keys().copied().filter(|id| cluster.place(*id) == Place::Mine);
        let Moved { here, came, left } = self.here.note(here, clock::now());
        self.metrics.institutions_here.set(here);
        self.metrics.institutions_came.add(came);
        self.metrics.institutions_left.add(left);
    }

    /// Since when an institution lives on this node; none where one process serves all.
    pub(crate) fn here_since(&self, institution: InstitutionId) -> Option<Timestamp> {
        self.here.since(institution)
    }

    fn is_in_memory(&self, id: LocationId) -> bool {
        let locations = self.locations.lock().unwrap_or_else(PoisonError::into_inner);
        locations.get(&id).is_some_and(|address| address.connected())
    }

    /// Whether it was told to be in memory.
    fn attend(&self, id: LocationId) -> bool {
        let offered = self.offer(id, Ask::Attend);
        if let Err(error) = &offered {
            tracing::warn!(location = %id, %error, "a due location could not be started; retrying");
        }
        offered.is_ok()
    }

    /// Brings in again whose actor ended though the store has them in memory: it panicked, or its last commit failed. Their work would
    /// wait for a request, or for a start.
    fn revive(&self) {
        let locations = self.locations.lock().unwrap_or_else(PoisonError::into_inner);
        let ended: Vec<LocationId> =
            locations.iter().filter(|(_, address)| !address.connected()).map(|(id, _)| *id).collect();
        drop(locations);
        let setup = self.deps.setup.now();
        for id in ended {
            // It has left, and is not to come again.
            if !setup.locations.contains_key(&id) {
                self.forget(id);
                continue;
            }
            // Its place may be unsettled only for a while, as when the database is away: nothing but this look brings it in again then.
            // What lives elsewhere is let go of.
            if !self.is_here(id) {
                continue;
            }
            match self.deps.store.get(&keys::active(id.0)) {
                Ok(Some(_)) => {
                    // One that cannot be started now is looked at again soon, and is no error of its own each time.
                    if self.attend(id) {
                        tracing::warn!(location = %id, "the actor of a location ended unexpectedly; it was started again");
                        self.went_wrong(id, "it ended unexpectedly, and was started again");
                    }
                }
                Ok(None) => self.forget(id),
                Err(error) => tracing::error!(location = %id, %error, "the store could not be read"),
            }
        }
    }

    fn forget(&self, id: LocationId) {
        let mut locations = self.locations.lock().unwrap_or_else(PoisonError::into_inner);
        if locations.get(&id).is_some_and(|address| !address.connected()) {
            locations.remove(&id);
        }
    }

    /// Brings in what is to be in memory, a few at a time, until the directory stops.
    pub(crate) async fn watch(self: Arc<Self>) {
        let (mut watch, mut resume) = (Watch::since(clock::now()), Resume::after_start());
        while !self.stopping.load(Ordering::SeqCst) {
            match watch.set_back(clock::now()) {
                0 => {}
                // They find out by how much.
                by => resume.after_set_back(by),
            }
            if self.gained.swap(false, Ordering::SeqCst) {
                resume.again();
            }
            let more = self.wake(&mut resume).unwrap_or_else(|error| {
                tracing::error!(%error, "the times at which locations are due could not be read");
                false
            });
            self.revive();
            tokio::time::sleep(if more { LOOK_AGAIN } else { LOOK_EVERY }).await;
        }
    }

    /// Lets every location leave memory in order.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.stopping.store(true, Ordering::SeqCst);
        let locations: Vec<_> =
            self.locations.lock().unwrap_or_else(PoisonError::into_inner).drain().map(|(_, address)| address).collect();
        if tokio::time::timeout(grace, leave(locations.iter())).await.is_err() {
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

/// Asks actors to leave memory, and waits until they have. What callers asked before is done before; the message gets there though the
/// mailbox is full, and though nobody waits any more.
async fn leave(locations: impl IntoIterator<Item = &Addr<LocationActor>>) {
    let ask = |address: &Addr<LocationActor>| {
        let (done, left) = oneshot::channel();
        address.do_send(Ask::Leave { done });
        left
    };
    let all: Vec<_> = locations.into_iter().map(ask).collect();
    for left in all {
        // One that ended without a word has left too.
        drop(left.await);
    }
}
