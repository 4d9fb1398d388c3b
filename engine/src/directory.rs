//! The locations in memory. Loads them on first use or when they are due, and again after a panic.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::{Actor, Addr, Arbiter, ArbiterHandle, dev::ToEnvelope, prelude::SendError};
use location::LocationId;
use membership::Place;
use parking_lot::Mutex;
use processor::{
    Deps, EngineError, LocationMessage, Request,
    actor::{LocationActor, LocationRuntime, QueueWatcher, Reply, RequestJob},
    disk_share::DiskShare,
    ehr_site::EhrSite,
};
use runtime::{
    ErrorSource, Metrics, RecentError,
    clock::{self, Watch},
    origin,
};
use setup::{LocationSetup, Setup};
use store::{StoreError, due, keys};
use tokio::sync::oneshot;

use crate::{
    changes::{ChangeImpact, SetupChanges},
    cluster::Cluster,
    connections::Connections,
    hint_pace::EhrHints,
    local_institutions::{LocalInstitutions, Rebalance},
    resume::Resume,
};

/// Interval between scans of the due index, and the shorter one while there is more to wake.
const SEARCH_INTERVAL: Duration = Duration::from_millis(500);
const SEARCH_PAUSE: Duration = Duration::from_millis(50);
/// Locations woken per scan. If many are due at once, several scans wake them.
const WAKE_AT_ONCE: usize = 64;
/// The error for callers that meet a full mailbox, or a location that moves or stops.
const BUSY: EngineError = EngineError::Busy { retry_after: 1 };
/// Time limit for unloading locations after a change of setup.
const LEAVING: Duration = Duration::from_secs(10);
/// Number of times that a request is offered to a location that must be loaded again.
const OFFERS: u32 = 3;

pub(crate) struct Directory {
    deps: Arc<Deps>,
    connections: Arc<Connections>,
    metrics: Arc<Metrics>,
    arbiters: Mutex<Vec<Arbiter>>,
    next_arbiter: AtomicUsize,
    locations: Mutex<HashMap<LocationId, Addr<LocationActor>>>,
    shares: Mutex<HashMap<LocationId, Arc<DiskShare>>>,
    /// `None` if all institutions are on this node.
    cluster: Option<Arc<Cluster>>,
    pub(crate) here: LocalInstitutions,
    /// More locations may have to be loaded than the due index contains.
    gained: Arc<AtomicBool>,
    stopping: AtomicBool,
    /// Reports of EHRs that wait to be passed on to locations.
    pub(crate) hints: EhrHints,
}

impl Directory {
    pub(crate) fn new(
        deps: Arc<Deps>,
        connections: Arc<Connections>,
        metrics: Arc<Metrics>,
        cluster: Option<Arc<Cluster>>,
    ) -> Arc<Directory> {
        let threads = deps.setup.load_full().engine.actor_threads.max(1);
        Arc::new(Directory {
            deps,
            connections,
            metrics,
            arbiters: Mutex::new((0..threads).map(|_| Arbiter::new()).collect()),
            next_arbiter: AtomicUsize::new(0),
            locations: Mutex::default(),
            shares: Mutex::default(),
            cluster,
            here: LocalInstitutions::default(),
            gained: Arc::default(),
            stopping: AtomicBool::new(false),
            hints: EhrHints::default(),
        })
    }

    /// Returns the actor of a location, started if it is not in memory or has ended.
    fn actor(&self, id: LocationId) -> Result<Addr<LocationActor>, EngineError> {
        let mut locations = self.locations.lock();
        // With `locations` locked, a released location cannot be loaded meanwhile, and no other setup comes into force.
        let setup = self.deps.setup.load();
        let location = setup.locations.get(&id).ok_or(EngineError::UnknownLocation)?;
        if let Some(address) = locations.get(&id).filter(|address| address.connected()) {
            return Ok(address.clone());
        }
        if !self.is_here(id) || self.stopping.load(Ordering::SeqCst) {
            return Err(BUSY);
        }
        let means = self.location_runtime(&setup, location)?;
        let arbiter = self.arbiter().ok_or(BUSY)?;
        let share = self.shares.lock().entry(id).or_default().clone();
        let actor = LocationActor::new(id, self.deps.clone(), means, self.metrics.clone(), share);
        let address = LocationActor::start_in_arbiter(&arbiter, move |_| actor);
        locations.insert(id, address.clone());
        Ok(address)
    }

    fn location_runtime(&self, setup: &Setup, location: &LocationSetup) -> Result<LocationRuntime, EngineError> {
        let gated = self.connections.gateway_location(location.id);
        Ok(LocationRuntime {
            site: EhrSite::from_setup(location),
            ehr: self.connections.ehr_for(location)?,
            watcher: gated.map(|gated| Arc::new(move |news| gated.queue(news)) as QueueWatcher),
            idle: Duration::from_secs(setup.engine.idle_seconds.max(1)),
            mailbox: setup.engine.mailbox,
        })
    }

    /// Returns a thread for one more actor, round-robin. Returns `None` once the engine has stopped.
    fn arbiter(&self) -> Option<ArbiterHandle> {
        let arbiters = self.arbiters.lock();
        let turn = self.next_arbiter.fetch_add(1, Ordering::Relaxed);
        arbiters.get(turn % arbiters.len().max(1)).map(Arbiter::handle)
    }

    /// Sends a message. A full mailbox is an error.
    fn offer(&self, id: LocationId, ask: LocationMessage) -> Result<(), EngineError>
    where
        actix::Context<LocationActor>: ToEnvelope<LocationActor, LocationMessage>,
    {
        match self.actor(id)?.try_send(ask) {
            Ok(()) => Ok(()),
            Err(SendError::Full(_)) => {
                self.metrics.refused_busy.add(1);
                Err(BUSY)
            }
            // The location has just left memory. The dropped reply makes the caller ask again.
            Err(SendError::Closed(_)) => Ok(()),
        }
    }

    /// Sends a message that needs no reply, if the mailbox has room for it.
    pub(crate) fn notify(&self, id: LocationId, message: LocationMessage) {
        if let Err(error) = self.offer(id, message) {
            tracing::debug!(location = %id, %error, "a message without a reply was dropped");
        }
    }

    pub(crate) fn setup(&self) -> Arc<Setup> {
        self.deps.setup.load_full()
    }

    /// Returns an error for clients if the adapter of a location is not ready. Internal work continues.
    pub(crate) fn open(&self, id: LocationId) -> Result<(), EngineError> {
        let setup = self.deps.setup.load();
        self.connections.open(setup.locations.get(&id).ok_or(EngineError::UnknownLocation)?)
    }

    /// Sends a request to a location. If an ending actor did not begin the request, it is offered again. If the actor
    /// began it without an answer, the request has failed, and only the store knows its outcome.
    pub(crate) async fn request<R: Request + Clone>(
        &self,
        id: LocationId,
        request: R,
    ) -> Result<R::Reply, EngineError> {
        self.open(id)?;
        for _ in 0..OFFERS {
            if self.stopping.load(Ordering::SeqCst) {
                return Err(BUSY);
            }
            let (reply, answer) = oneshot::channel();
            let begun = Arc::new(AtomicBool::new(false));
            let job = RequestJob::by(request.clone(), reply, origin::current());
            self.offer(id, LocationMessage::Do { job, begun: begun.clone() })?;
            match answer.await {
                Ok(answer) => return answer,
                // This process ends and no longer waits for the answer.
                Err(_) if begun.load(Ordering::SeqCst) && self.stopping.load(Ordering::SeqCst) => {
                    return Err(EngineError::OutcomeUnknown);
                }
                Err(_) if begun.load(Ordering::SeqCst) => {
                    self.record_error(id, "the actor ended unexpectedly during a request");
                    return Err(EngineError::Internal);
                }
                Err(_) => {}
            }
        }
        Err(BUSY)
    }

    fn record_error(&self, id: LocationId, reason: &str) {
        let error = RecentError::new(ErrorSource::Location, reason, origin::current(), clock::now());
        self.metrics.recent_errors.note(id, error);
    }

    /// Sends a query that a location answers from memory.
    pub(crate) async fn query<T>(
        &self,
        id: LocationId,
        make: impl Fn(Reply<T>) -> LocationMessage,
    ) -> Result<T, EngineError> {
        for _ in 0..OFFERS {
            let (reply, answer) = oneshot::channel();
            self.offer(id, make(reply))?;
            if let Ok(answer) = answer.await {
                // The memory is authoritative only while the location is on this node.
                return if self.is_here(id) { answer } else { Err(BUSY) };
            }
        }
        Err(EngineError::Internal)
    }

    /// Loads locations that are due, then those found by `resume`. Returns `true` if there may be more.
    fn wake(&self, resume: &mut Resume) -> Result<bool, StoreError> {
        let (now, setup) = (clock::now(), self.deps.setup.load_full());
        // A location in memory has its own timer. One that was removed from the configuration stays asleep.
        let wanted = |id| self.is_here(id) && !self.is_in_memory(id);
        let due = due::due(&*self.deps.store, now.0, WAKE_AT_ONCE, |id| wanted(LocationId(id)))?;
        for (_, id) in &due {
            self.activate(LocationId(*id));
        }
        let room = WAKE_AT_ONCE - due.len();
        if room > 0 {
            let found = resume.step(&*self.deps.store, &setup, now, room)?.into_iter();
            for id in found.filter(|id| wanted(*id)) {
                self.activate(id);
            }
        }
        Ok(room == 0 || !resume.is_done())
    }

    /// Returns `true` if the institution of a location is on this node.
    pub(crate) fn is_here(&self, id: LocationId) -> bool {
        let setup = self.deps.setup.load();
        let Some(location) = setup.locations.get(&id) else { return false };
        self.cluster.as_ref().is_none_or(|cluster| cluster.place(location.institution) == Place::Mine)
    }

    /// Handles institutions that came to this node. Their locations may have unfinished work from another node.
    pub(crate) fn take_over(&self) {
        self.gained.store(true, Ordering::SeqCst);
        self.note_institutions();
        self.connections.gateway.report_all();
    }

    /// Applies another setup, once `put_in_force` has been called. Locations with changed settings or connections use
    /// them from their next message on. Removed locations, and those with another EHR, are unloaded. Other locations
    /// are not notified.
    pub(crate) async fn apply_setup(&self, changes: &SetupChanges, put_in_force: impl FnOnce()) {
        // A location stays listed until it is unloaded, so that it is not in memory twice, even if it is loaded again
        // soon.
        let (mut leaving, touched): (BTreeMap<_, _>, Vec<_>) = {
            let locations = self.locations.lock();
            put_in_force();
            let gone = changes.locations.gone.iter().filter_map(|id| Some((*id, locations.get(id)?.clone())));
            let touched = changes.touched.iter();
            let touched = touched.filter_map(|(id, how)| Some((*id, *how, locations.get(id)?.clone())));
            (gone.collect(), touched.collect())
        };
        let setup = self.deps.setup.load_full();
        for (id, how, address) in touched {
            let Some(location) = setup.locations.get(&id) else { continue };
            let means = (how != ChangeImpact::Source).then(|| self.location_runtime(&setup, location));
            match means {
                // Queued behind earlier messages, even if the mailbox is full.
                Some(Ok(means)) => address.do_send(LocationMessage::SetUp(means)),
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
            tracing::warn!("some locations were not unloaded in time after a change of setup; they are unloaded later");
            // A message to an old actor would be lost, so locations to be loaded are searched once it has ended.
            let late: Vec<_> = leaving.values().filter(|address| address.connected()).cloned().collect();
            let gained = self.gained.clone();
            tokio::spawn(async move {
                while late.iter().any(Addr::connected) {
                    tokio::time::sleep(SEARCH_INTERVAL).await;
                }
                gained.store(true, Ordering::SeqCst);
            });
        }
        for id in leaving.into_keys() {
            if setup.locations.contains_key(&id) {
                self.activate(id);
            } else {
                self.forget(id);
            }
        }
        self.metrics.retain(|id| setup.locations.contains_key(&id));
        self.note_institutions();
        self.gained.store(true, Ordering::SeqCst);
    }

    /// Unloads the locations whose institutions are on other nodes, and drops their data.
    pub(crate) async fn release_moved(&self) {
        let gone: Vec<_> = {
            let mut locations = self.locations.lock();
            locations.extract_if(|id, _| !self.is_here(*id)).map(|(_, address)| address).collect()
        };
        leave(gone.iter()).await;
        self.metrics.retain(|id| self.is_here(id));
        self.connections.gateway.release_moved(|id| self.is_here(id));
        self.note_institutions();
        // Changes by other nodes are not counted here.
        self.deps.change_counter.all_changed();
    }

    fn note_institutions(&self) {
        let Some(cluster) = &self.cluster else { return };
        let setup = self.deps.setup.load_full();
        let here = setup.institutions.keys().copied().filter(|id| cluster.place(*id) == Place::Mine);
        let Rebalance { here, came, left } = self.here.note(here, clock::now());
        self.metrics.institutions_here.set(here);
        self.metrics.institutions_came.add(came);
        self.metrics.institutions_left.add(left);
    }

    fn is_in_memory(&self, id: LocationId) -> bool {
        let locations = self.locations.lock();
        locations.get(&id).is_some_and(|address| address.connected())
    }

    /// Sends the activation message. Returns `true` if the mailbox accepted it.
    fn activate(&self, id: LocationId) -> bool {
        let offered = self.offer(id, LocationMessage::Activate);
        if let Err(error) = &offered {
            tracing::warn!(location = %id, %error, "a due location could not be started; retrying");
        }
        offered.is_ok()
    }

    /// Restarts actors that ended although the store has their locations marked as active, after a panic or a failed
    /// commit. Their work would otherwise wait for a request or a start.
    fn restart_ended(&self) {
        let locations = self.locations.lock();
        let ended: Vec<LocationId> =
            locations.iter().filter(|(_, address)| !address.connected()).map(|(id, _)| *id).collect();
        drop(locations);
        let setup = self.deps.setup.load_full();
        for id in ended {
            // A removed location that was unloaded.
            if !setup.locations.contains_key(&id) {
                self.forget(id);
                continue;
            }
            // The placement may be unsettled for a while, for example without the database, and only this scan loads
            // the location then. `release_moved` unloads those on other nodes.
            if !self.is_here(id) {
                continue;
            }
            match self.deps.store.get(&keys::active(id.0)) {
                Ok(Some(_)) => {
                    // A location that cannot be started now is tried again soon, without another error each time.
                    if self.activate(id) {
                        tracing::warn!(location = %id, "the actor of a location ended unexpectedly; it was started again");
                        self.record_error(id, "the actor ended unexpectedly and was restarted");
                    }
                }
                Ok(None) => self.forget(id),
                Err(error) => tracing::error!(location = %id, %error, "the store could not be read"),
            }
        }
    }

    fn forget(&self, id: LocationId) {
        let mut locations = self.locations.lock();
        if locations.get(&id).is_some_and(|address| !address.connected()) {
            locations.remove(&id);
        }
    }

    /// Loads locations in small numbers, until the directory stops.
    pub(crate) async fn watch(self: Arc<Self>) {
        let (mut watch, mut resume) = (Watch::since(clock::now()), Resume::after_start());
        while !self.stopping.load(Ordering::SeqCst) {
            match watch.set_back(clock::now()) {
                0 => {}
                // The locations determine the amount themselves.
                by => resume.after_set_back(by),
            }
            if self.gained.swap(false, Ordering::SeqCst) {
                resume.again();
            }
            let more = self.wake(&mut resume).unwrap_or_else(|error| {
                tracing::error!(%error, "the times at which locations are due could not be read");
                false
            });
            self.restart_ended();
            tokio::time::sleep(if more { SEARCH_PAUSE } else { SEARCH_INTERVAL }).await;
        }
    }

    /// Unloads all locations.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.stopping.store(true, Ordering::SeqCst);
        let locations: Vec<_> = self.locations.lock().drain().map(|(_, address)| address).collect();
        if tokio::time::timeout(grace, leave(locations.iter())).await.is_err() {
            tracing::warn!("some locations did not unload in time; they continue at the next start");
        }
        let arbiters = std::mem::take(&mut *self.arbiters.lock());
        let joined = tokio::task::spawn_blocking(|| {
            for arbiter in arbiters {
                arbiter.stop();
                drop(arbiter.join());
            }
        });
        drop(joined.await);
    }
}

/// Asks actors to unload, and waits for them. Earlier messages are handled first. The message is delivered even if the
/// mailbox is full, or if the caller has stopped waiting.
async fn leave(locations: impl IntoIterator<Item = &Addr<LocationActor>>) {
    let ask = |address: &Addr<LocationActor>| {
        let (done, left) = oneshot::channel();
        address.do_send(LocationMessage::Leave { done });
        left
    };
    let all: Vec<_> = locations.into_iter().map(ask).collect();
    for left in all {
        // An actor that ended without an answer has left, too.
        drop(left.await);
    }
}
