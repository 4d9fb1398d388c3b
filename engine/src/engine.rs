//! The engine as seen by the API: a method per operation of a handler. All rules are behind it.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use adapter_host::{AdapterRegistry as Adapters, Host, HttpTransport, LoadState, Transport};
use location::{AppointmentId, Command, InstitutionId, LocationId, Timestamp, Zone};
use membership::Place;
use processor::{
    Deps, EngineError, LocationMessage, Pool, Request, Saved,
    change_counter::ChangeCounter,
    commands::{BookSlot, Booked, CancelAppointment},
    history,
    long_work::LongWork,
    processor::{ImagePermits, IsLocal},
    request::Idempotent,
};
use query::{
    idempotency::IdempotencyKey,
    index::{self, Index},
    lists::Lists,
    retention,
};
use records::{AdapterState, AdapterStatus, Ehr, SyncState, sync_state::DAMAGED};
use runtime::{Metrics, clock, metrics::Numbers, zones};
use serde::{Serialize, de::DeserializeOwned};
use tokio::task::JoinHandle;

use crate::{
    AuditFollower, OwnersOfSetup, adapter_versions::AdapterVersions, backups::Backups, cluster::Cluster,
    config_history, connections::Connections, directory::Directory, gate_reports, handover,
    provider_names::ProviderNameCache, rotation::Rotation,
};
use setup::{Current, LocationSetup, LocationStatus, Setup};
use store::{CommitError, Store, StoreError, counters::Ids, secrets::Secrets};
use webhooks::{
    attempt::Sender,
    delivery_log::DeliveryLog,
    dispatcher::Dispatcher,
    doorbell::Doorbell,
    egress::{Egress, Reach, SetupError},
    follower::Follower,
    load_error::WebhookLoadError,
    outbox::Outbox,
    placement,
    registry::EndpointRegistry as Webhooks,
    subscriptions::{Audience, Everyone},
    views::Views,
};
use workstations::Gateway;

/// Time limit for unloading locations and ending deliveries when the engine stops.
const GRACE: Duration = Duration::from_secs(10);

/// Placement of tasks that concern all nodes. No institution has this id.
pub const CLUSTER_WIDE: InstitutionId = InstitutionId(0);

pub(crate) fn adapter_state(name: &str, load_state: LoadState) -> AdapterState {
    let state = |status| AdapterState { name: name.to_owned(), status, version: None, sha256: None, reason: None };
    match load_state {
        LoadState::Preparing => state(AdapterStatus::Preparing),
        LoadState::Ready(adapter) => AdapterState {
            version: Some(adapter.manifest().version.clone()),
            sha256: Some(adapter.sha256().to_owned()),
            ..state(AdapterStatus::Ready)
        },
        LoadState::Refused(reason) => {
            AdapterState { reason: Some(reason.to_string()), ..state(AdapterStatus::Refused) }
        }
    }
}

/// Returns a check that is `true` if this process runs the tasks that one node runs for all.
fn upkeep(cluster: &Option<Arc<Cluster>>) -> impl Fn() -> bool + Send + Sync + 'static {
    let cluster = cluster.clone();
    move || cluster.as_ref().is_none_or(|cluster| cluster.place(CLUSTER_WIDE) == Place::Mine)
}

/// The parts of an engine in addition to its setup.
pub struct Parts {
    pub store: Arc<dyn Store>,
    /// Loaded adapters by their names in the setup.
    pub adapters: Adapters,
    /// In-process EHRs by data source.
    pub in_process: BTreeMap<u32, Arc<dyn Transport>>,
    /// EHRs without adapter, by location, for simulations and benchmarks.
    pub own: HashMap<LocationId, Arc<dyn Ehr>>,
    /// Renders records in messages to subscribers.
    pub views: Arc<dyn Views>,
    /// Decides which subscribers may receive which messages.
    pub audience: Arc<dyn Audience>,
    /// Loads versions of adapters while the engine runs. `None` without adapters.
    pub host: Option<Host>,
    /// The file of the store's keys. `None` without keys, or if they never change.
    pub key_file: Option<PathBuf>,
    /// The owners of keys, for a store in a database. `None` for other stores.
    pub owners: Option<Arc<OwnersOfSetup>>,
}

impl Parts {
    pub fn new(store: Arc<dyn Store>, views: Arc<dyn Views>) -> Parts {
        let (adapters, in_process, own, audience) =
            (Adapters::new(), BTreeMap::new(), HashMap::new(), Arc::new(Everyone));
        let (host, key_file, owners) = (None, None, None);
        Parts { store, views, adapters, in_process, own, audience, host, key_file, owners }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error(transparent)]
    Webhooks(#[from] WebhookLoadError),
    #[error(transparent)]
    Egress(#[from] SetupError),
    #[error("the threads that send webhooks cannot be started: {0}")]
    Threads(std::io::Error),
    #[error("no HTTP client for EHRs: {0}")]
    Http(String),
}

pub struct Engine {
    pub(crate) deps: Arc<Deps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) connections: Arc<Connections>,
    webhooks: Arc<Webhooks>,
    webhook_log: DeliveryLog,
    pub(crate) follower: Arc<Follower>,
    /// Renders records for clients that read the feed of changes.
    pub(crate) views: Arc<dyn Views>,
    pub(crate) metrics: Arc<Metrics>,
    gateway: Arc<Gateway>,
    dispatcher: tokio::sync::Mutex<Option<Dispatcher>>,
    pub(crate) backups: Arc<Backups>,
    /// Held while another setup is applied.
    pub(crate) reconfiguring: tokio::sync::Mutex<()>,
    pub(crate) owners: Option<Arc<OwnersOfSetup>>,
    pub(crate) rotation: Arc<Rotation>,
    pub(crate) provider_names: ProviderNameCache,
    audit_follower: Arc<AuditFollower>,
    /// Tasks that run until the engine stops.
    tasks: Vec<JoinHandle<()>>,
}

/// Returns the permits to commit without before images. Returns `None` for a remote store, where a commit may become
/// visible after its outcome was reported as unknown.
fn image_permits(store: &dyn Store, webhooks: &Webhooks) -> Option<ImagePermits> {
    let subscriptions = (!store.is_remote()).then(|| webhooks.subscriptions().clone());
    subscriptions.map(|subscriptions| Arc::new(move |id| subscriptions.without_images(id)) as ImagePermits)
}

impl Engine {
    /// Starts the engine. Must be called within an actix system.
    pub async fn start(setup: Setup, parts: Parts) -> Result<Engine, StartError> {
        let (current, store) = (Arc::new(Current::from_pointee(setup)), parts.store);
        let setup = current.load_full();
        let ids = Arc::new(Ids::new(store.clone()));
        let secrets = Secrets::load(&store).await?;
        let owner = hex::encode(&secrets.derive("folder of backups")[..16]);
        config_history::note(&*store, &setup, clock::now()).await?;
        let reach = if setup.engine.webhook_development { Reach::PublicAndLoopback } else { Reach::Public };
        let egress = Arc::new(Egress::new(reach)?);
        let rules = setup.engine.webhooks;
        let cluster = setup.engine.node.clone().map(|rules| Cluster::new(store.clone(), rules, &setup));
        let nodes = cluster.clone().map(|cluster| cluster as Arc<dyn placement::Placement>);
        let (ids_too, egress_too) = (ids.clone(), egress.clone());
        let webhooks = Webhooks::load(store.clone(), ids_too, egress_too, rules, parts.audience, nodes)?;
        let doorbell = Arc::new(Doorbell::default());
        let outbox = Outbox::new(webhooks.subscriptions().clone(), doorbell.clone());
        let webhook_log = DeliveryLog { store: store.clone(), registry: webhooks.clone(), outbox: outbox.clone() };
        let network = Arc::new(HttpTransport::new().map_err(|error| StartError::Http(error.to_string()))?);
        let (gateway, gates) = Gateway::new(current.clone(), store.clone(), secrets.clone(), &parts.adapters);
        let (registry, host) = (parts.adapters, parts.host);
        let adapters = AdapterVersions { setup: current.clone(), store: store.clone(), registry, host };
        let connections = Arc::new(Connections::new(
            current.clone(),
            adapters,
            network,
            parts.in_process,
            parts.own,
            gateway.clone(),
            cluster.clone(),
        ));
        let change_counter = ChangeCounter::new(&setup);
        let (views, pool) = (parts.views, Pool::default());
        let (index, long_work) = (Arc::new(Index::default()), LongWork::on(&*store));
        let shared = (store.clone(), index.clone());
        let is_local = cluster.clone().map(|cluster| Arc::new(move |id| cluster.place(id) == Place::Mine) as IsLocal);
        let follower = Follower::new(current.clone(), store.clone(), outbox, views.clone(), is_local.clone());
        let (change_doorbell, call_queue) = (follower.doorbell(), Arc::default());
        let image_permits = image_permits(&*store, &webhooks);
        let deps = Arc::new(Deps {
            change_counter,
            change_doorbell,
            call_queue,
            setup: current.clone(),
            store,
            ids,
            pool,
            secrets,
            index,
            long_work,
            is_local,
            image_permits,
        });
        let (store, index) = shared;
        let audit_follower = AuditFollower::start(deps.clone()).await?;
        let backups = Backups::new(current.clone(), store.clone(), owner);
        let rotation = Rotation::new(store.clone(), parts.key_file, cluster.is_some(), backups.clone());
        rotation.resume()?;
        let own = follower.clone();
        let followed = Arc::new(move |location| own.followed_to(location));
        let metrics = Arc::new(Metrics::default());
        let directory = Directory::new(deps.clone(), connections.clone(), metrics.clone(), cluster.clone());
        let mut tasks = vec![
            tokio::spawn(directory.clone().watch()),
            tokio::spawn(index::run(index.clone(), store.clone())),
            tokio::spawn(retention::run(index, store.clone(), followed, upkeep(&cluster))),
            tokio::spawn(follower.clone().run(deps.change_doorbell.clone())),
            tokio::spawn(history::run(store.clone(), move || current.load().engine.history_days, upkeep(&cluster))),
            tokio::spawn(gateway.clone().beat()),
            tokio::spawn(backups.clone().run()),
            tokio::spawn(gate_reports::run(directory.clone(), gateway.clone(), gates)),
        ];
        let (registry, clock, random) = (webhooks.clone(), Arc::new(clock::now), Arc::new(clock::random_u64));
        let sender = Sender { store, registry, egress, metrics: metrics.clone(), clock, random };
        let dispatcher = Dispatcher::start(sender, doorbell).map_err(StartError::Threads)?;
        let run =
            |cluster| tokio::spawn(handover::run(cluster, directory.clone(), webhooks.clone(), dispatcher.moves()));
        tasks.extend(cluster.clone().map(run));
        let dispatcher = tokio::sync::Mutex::new(Some(dispatcher));
        Ok(Engine {
            deps,
            directory,
            cluster,
            connections,
            webhooks,
            webhook_log,
            follower,
            views,
            metrics,
            gateway,
            dispatcher,
            backups,
            reconfiguring: tokio::sync::Mutex::default(),
            owners: parts.owners,
            rotation,
            provider_names: ProviderNameCache::default(),
            audit_follower,
            tasks,
        })
    }

    /// Unloads locations and ends deliveries. Unfinished work continues after the next start.
    pub async fn stop(&self) {
        self.stop_within(GRACE).await;
    }

    /// Like `stop`, with the time limit `grace`. Work not done by then is aborted and continues after the next start.
    pub async fn stop_within(&self, grace: Duration) {
        self.hand_over(grace).await;
        self.tasks.iter().for_each(JoinHandle::abort);
        self.rotation.stop();
        self.gateway.stop();
        let dispatcher = self.dispatcher.lock().await.take();
        let deliveries = async {
            if let Some(dispatcher) = dispatcher {
                dispatcher.stop(grace).await;
            }
        };
        tokio::join!(self.directory.stop(grace), deliveries);
    }

    pub fn audit_follower(&self) -> &Arc<AuditFollower> {
        &self.audit_follower
    }

    /// Returns `true` if each read waits for another machine, which may be unavailable.
    pub fn reads_wait(&self) -> bool {
        self.deps.store.is_remote()
    }

    /// Returns since when an institution is on this node, or `None` if one process serves all.
    pub fn here_since(&self, institution: InstitutionId) -> Option<Timestamp> {
        self.directory.here.since(institution)
    }

    /// Returns the setup in force. `reconfigure` replaces it.
    pub fn setup(&self) -> Arc<Setup> {
        self.deps.setup.load_full()
    }

    pub(crate) fn location(&self, id: LocationId) -> Option<Arc<LocationSetup>> {
        self.deps.setup.load().locations.get(&id).cloned()
    }

    pub fn now(&self) -> Timestamp {
        clock::now()
    }

    /// Returns the lists of stored records. They never wait for a location.
    pub fn lists(&self) -> Lists<'_> {
        Lists { store: &*self.deps.store, index: &self.deps.index }
    }

    pub fn zone(&self, location: LocationId) -> Option<Arc<Zone>> {
        self.location(location).map(|location| zones::zone(location.zone))
    }

    /// Returns a key of the engine for a purpose, such as sealing slot tokens. The key is the same after a restart.
    pub fn secret(&self, purpose: &str) -> [u8; 32] {
        self.deps.secrets.derive(purpose)
    }

    /// Returns the adapters whose locations are closed, by name.
    pub fn adapters_not_ready(&self) -> Vec<AdapterState> {
        let adapters = &self.connections.adapters.registry;
        let states =
            adapters.names().into_iter().filter_map(|name| Some(adapter_state(&name, adapters.load_state(&name)?)));
        states.filter(|state| state.status != AdapterStatus::Ready).collect()
    }

    /// Returns `Ok` if ready for traffic, or the reason. An adapter that is not ready affects only its own locations.
    pub fn ready(&self) -> Result<(), String> {
        let health = self.deps.store.health();
        if let Some(damage) = &health.damage {
            return Err(format!(
                "the store is damaged and refuses writes, restore a backup or salvage a copy made now: {damage}"
            ));
        }
        if !health.accepts_writes() {
            return Err(health.refusing.unwrap_or_else(|| "the disk is nearly full".to_owned()));
        }
        let nodes = self.nodes();
        if let Some(nodes) = nodes.as_ref().filter(|nodes| nodes.is_kept_out) {
            let name = &nodes.name;
            return Err(format!("another process is the node {name}: each needs its own name, in `node.name`"));
        }
        if nodes.is_some_and(|nodes| !nodes.is_serving) {
            return Err(
                "this node has no place among the others: it joins, leaves, or cannot reach the database".to_owned()
            );
        }
        Ok(())
    }

    pub fn metrics(&self) -> Numbers {
        let subscriptions = self.webhooks.subscriptions();
        let workstations = self.gateway.count();
        let health = self.deps.store.health();
        let (now, lag, setup) = (clock::now(), self.webhook_lag(), self.setup());
        let is_active = |id: LocationId| setup.locations.get(&id).is_some_and(|it| it.status == LocationStatus::Active);
        Numbers {
            store_damaged: u64::from(health.damage.is_some()),
            workstations_connected: workstations.connected,
            gates_open: workstations.open,
            workstation_answers_refused: workstations.refused,
            webhooks_waiting: subscriptions.backlogs.waiting(),
            webhooks_overflowed: subscriptions.backlogs.overflowed(),
            webhook_endpoints_failing: subscriptions.failing() as u64,
            webhook_changes_waiting: lag.map_or(0, |lag| lag.changes),
            webhook_oldest_change_seconds: lag.map_or(0, |lag| lag.seconds(now)),
            store_free_bytes: health.free.unwrap_or(0),
            store_commit_micros: health.last_commit.as_micros().try_into().unwrap_or(u64::MAX),
            store_batches_waiting: health.waiting as u64,
            ..self.metrics.numbers(now, is_active)
        }
    }

    pub fn webhooks(&self) -> &Arc<Webhooks> {
        &self.webhooks
    }

    /// Returns the gateway to workstations that lend their browser sessions to the engine.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    pub fn webhook_log(&self) -> &DeliveryLog {
        &self.webhook_log
    }

    pub fn adapters(&self) -> &Adapters {
        &self.connections.adapters.registry
    }

    pub async fn send<R: Request + Clone>(&self, location: LocationId, request: R) -> Result<R::Reply, EngineError> {
        self.directory.request(location, request).await
    }

    /// Sends a request once per idempotency key. A repetition returns the first reply.
    pub async fn save<T, R>(
        &self,
        location: LocationId,
        key: Option<IdempotencyKey>,
        request: R,
    ) -> Result<Saved<T>, EngineError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        R: Request<Reply = Saved<T>> + Clone,
    {
        self.send(location, Idempotent { key, request }).await
    }

    pub async fn book(&self, request: BookSlot) -> Result<Booked, EngineError> {
        self.send(request.offer.location, request).await
    }

    /// Cancels an appointment. Returns `true` if it was cancelled before.
    pub async fn cancel(
        &self,
        location: LocationId,
        appointment: AppointmentId,
        reason: Option<String>,
    ) -> Result<bool, EngineError> {
        self.send(location, CancelAppointment { appointment, reason, by_rules: false, channel: None }).await
    }

    /// Returns the read and write status of a location. One that cannot be loaded until an operator acts is red, with
    /// its last known numbers.
    pub async fn sync_state(&self, location: LocationId) -> Result<SyncState, EngineError> {
        let unloadable = |reason: &str| {
            let known = self.metrics.locations.health(location).unwrap_or_default();
            SyncState {
                last_sync: known.last_read,
                schedule_as_of: known.schedule_as_of,
                queued: known.queued,
                oldest_queued: known.oldest_write,
                ..SyncState::unloadable(known.unloadable_since.unwrap_or_else(clock::now), reason)
            }
        };
        let state = match self.directory.query(location, |reply| LocationMessage::SyncState { reply }).await {
            Err(EngineError::Damaged) => unloadable(DAMAGED),
            Err(EngineError::OtherSource(why)) => unloadable(&why),
            state => state?,
        };
        let adapter = self.location(location).and_then(|setup| self.connections.adapter(&setup));
        let adapter = adapter.map(|(source, load_state)| adapter_state(&source.adapter, load_state));
        Ok(state.at_gate(self.gateway.status(location)).through(adapter))
    }

    /// Starts a read cycle, and tries pending writes at once.
    pub async fn sync_now(&self, location: LocationId) -> Result<(), EngineError> {
        self.send(location, Command::SyncNow).await
    }
}
