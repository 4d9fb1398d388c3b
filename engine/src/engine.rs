//! The engine as the API layer sees it: one method per thing a handler may ask. All rules live behind it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use location::{
    command::{Closed, Command, Hold, Placement},
    decision::{Refusal, Reply},
    ids::{AppointmentId, AppointmentTypeId, InstitutionId, LocationId, OperatoryId, ProviderId},
    pull::{Progress, Resource},
    slots::{Slot, SlotQuery},
    time::{Span, Timestamp},
    zone::{Date, Zone},
};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use crate::{
    actor::{
        Ask,
        pool::Pool,
        request::{Answer, Request},
        turn::Env,
    },
    adapter_host::{HttpTransport, Registry as Adapters, Standing, Transport},
    clock,
    connections::Connections,
    directory::Directory,
    ehr::Ehr,
    known,
    metrics::{Metrics, Numbers},
    records,
    saving::{SaveRequest, Saved, Unmet},
    secrets::Secrets,
    setup::Setup,
    stamps::Stamps,
    store::{CommitError, Store, StoreError, counters::Ids},
    upkeep,
    webhooks::{
        attempt::Sender,
        dispatcher::Dispatcher,
        egress::{Egress, Reach, SetupError},
        log::Log,
        outbox::{Doorbell, Outbox},
        registry::{LoadError as WebhookLoadError, Registry as Webhooks},
        shapes::Shapes,
        subscriptions::{Audience, Everyone},
    },
    workstations::{GateStatus, Gateway, news},
    zones,
};

/// How long locations may take to leave memory, and deliveries to end, when the engine stops.
const GRACE: Duration = Duration::from_secs(10);

/// Why the engine could not answer; what the rules refuse is a `Refusal` instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error("no such location")]
    UnknownLocation,
    #[error("the location has too much to do")]
    Busy { retry_after: u32 },
    #[error("the store takes no writes at present")]
    StoreFull,
    #[error("the location's schedule was not read to its end yet")]
    NotRead,
    /// It may be there after a restart, or not.
    #[error("whether it was stored is not known until the store is opened again")]
    OutcomeUnknown,
    /// However often it is asked for.
    #[error("it changes more than the store takes at once")]
    TooLarge,
    #[error("the location's records are damaged; an operator has to restore them")]
    Damaged,
    #[error("the adapter of the location is being prepared")]
    AdapterPreparing,
    #[error("the adapter of the location cannot be used; an operator has to mend it")]
    AdapterRefused,
    #[error("this lies too far back to go on from; start again")]
    Expired,
    #[error("the request met a fault inside the engine")]
    Internal,
}

/// A refusal by rule, or a failure of the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    Rule(Refusal),
    Unmet(Unmet),
    Engine(EngineError),
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Refused {
        Refused::Engine(error)
    }
}

/// A slot that may be booked, as sealed into a slot token. The HTTP layer seals and unseals; the engine decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub institution: InstitutionId,
    pub location: LocationId,
    pub provider: ProviderId,
    pub operatory: Option<OperatoryId>,
    pub span: Span,
    pub appointment_type: Option<AppointmentTypeId>,
    pub expires: Timestamp,
    /// Offered under a version that joins synced hours with schedulable blocks.
    pub join_blocks: bool,
    /// Identifies the token: what a hold on it is known by.
    pub hold: u64,
}

impl Offer {
    fn placement(&self) -> Placement {
        Placement { operatory: self.operatory, provider: Some(self.provider), span: self.span }
    }
}

/// A booking from a slot token (specification 4.8).
#[derive(Clone)]
pub struct BookRequest {
    pub offer: Offer,
    pub idempotency_key: String,
    pub patient: PatientDetails,
    pub note: Option<String>,
    /// Name of the API key, for the record.
    pub created_by: String,
}

#[derive(Clone, Default, serde::Serialize)]
pub struct PatientDetails {
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    pub date_of_birth: Option<Date>,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub gender: Option<String>,
    pub address: Option<records::PatientAddress>,
}

pub struct Booked {
    pub appointment: records::Appointment,
    pub replay: bool,
    /// What the client should know though it worked.
    pub warnings: Vec<String>,
}

/// Free slots of a location with what is needed to show them.
pub struct FreeSlots {
    pub slots: Vec<Slot>,
    /// First later date with a slot, within the horizon; looked for only when there are no slots.
    pub next_available_date: Option<Date>,
    /// False: no active working hours match at all.
    pub any_hours: bool,
    /// When the practice's system was read last, where that is long ago.
    pub old_read: Option<Timestamp>,
}

/// How reading and writing stand.
#[derive(Clone, Debug)]
pub struct SyncState {
    pub read_ok: bool,
    pub read_at: Timestamp,
    pub read_reason: Option<String>,
    pub write_ok: bool,
    pub write_at: Timestamp,
    pub write_reason: Option<String>,
    pub last_sync: Option<Timestamp>,
    pub queued: u64,
    pub oldest_queued: Option<Timestamp>,
    /// None while a cycle runs, before the first one, and without an EHR.
    pub next_cycle: Option<Timestamp>,
    /// What the running cycle reads.
    pub reading: Option<Resource>,
    /// Of the running cycle, or the last one.
    pub progress: BTreeMap<Resource, Progress>,
    /// Resources whose deletions were stopped, until an operator accepts them.
    pub guarded: BTreeSet<Resource>,
    pub ehr_name: Option<String>,
    pub ehr_hosting: Option<String>,
    /// Where the EHR is reached through workstations.
    pub gate: Option<GateStatus>,
    /// Why the next page was not asked for yet, though nothing failed.
    pub read_waits: Option<String>,
    /// None without an EHR.
    pub adapter: Option<AdapterState>,
}

/// How an adapter of the configuration stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterState {
    /// Its name in the configuration.
    pub name: String,
    pub status: AdapterStatus,
    /// What the component says of itself, once it is ready.
    pub version: Option<String>,
    /// Of the component's file.
    pub sha256: Option<String>,
    /// Why it cannot be used.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterStatus {
    Preparing,
    Ready,
    Refused,
}

impl AdapterState {
    fn of(name: &str, standing: Standing) -> AdapterState {
        let state = |status| AdapterState { name: name.to_owned(), status, version: None, sha256: None, reason: None };
        match standing {
            Standing::Preparing => state(AdapterStatus::Preparing),
            Standing::Ready(adapter) => AdapterState {
                version: Some(adapter.manifest().version.clone()),
                sha256: Some(adapter.sha256().to_owned()),
                ..state(AdapterStatus::Ready)
            },
            Standing::Refused(reason) => {
                AdapterState { reason: Some(reason.to_string()), ..state(AdapterStatus::Refused) }
            }
        }
    }
}

/// A stretch of a list: records after (or before) an id, in rising id order.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub after: Option<u64>,
    pub before: Option<u64>,
    pub limit: usize,
}

/// What an engine is started from besides its setup.
pub struct Parts {
    pub store: Arc<dyn Store>,
    /// Loaded adapters by the names the setup gives them.
    pub adapters: Adapters,
    /// EHRs that live in this process, by data source.
    pub in_process: BTreeMap<u32, Arc<dyn Transport>>,
    /// EHRs that need no adapter, by location: for simulations and benchmarks.
    pub own: HashMap<LocationId, Arc<dyn Ehr>>,
    /// How records look in messages to subscribers.
    pub shapes: Arc<dyn Shapes>,
    /// Who may be sent what.
    pub audience: Arc<dyn Audience>,
}

impl Parts {
    pub fn new(store: Arc<dyn Store>, shapes: Arc<dyn Shapes>) -> Parts {
        let (adapters, in_process, own, audience) =
            (Adapters::new(), BTreeMap::new(), HashMap::new(), Arc::new(Everyone));
        Parts { store, shapes, adapters, in_process, own, audience }
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
    #[error("no HTTP client for EHRs: {0}")]
    Http(String),
}

pub struct Engine {
    env: Arc<Env>,
    directory: Arc<Directory>,
    connections: Arc<Connections>,
    webhooks: Arc<Webhooks>,
    webhook_log: Log,
    metrics: Arc<Metrics>,
    gateway: Arc<Gateway>,
    dispatcher: tokio::sync::Mutex<Option<Dispatcher>>,
    /// Run until the engine stops.
    tasks: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts serving. Must be called within an actix system.
    pub async fn start(setup: Setup, parts: Parts) -> Result<Engine, StartError> {
        let (setup, store) = (Arc::new(setup), parts.store);
        let ids = Arc::new(Ids::new(store.clone()));
        let secrets = Secrets::load(&store).await?;
        known::note(&*store, &setup, clock::now()).await?;
        let reach = if setup.engine.webhook_development { Reach::PublicAndLoopback } else { Reach::Public };
        let egress = Arc::new(Egress::new(reach)?);
        let rules = setup.engine.webhooks;
        let webhooks = Webhooks::load(store.clone(), ids.clone(), egress.clone(), rules, parts.audience)?;
        let doorbell = Arc::new(Doorbell::default());
        let outbox = Outbox::new(webhooks.subscriptions().clone(), doorbell.clone());
        let webhook_log = Log { store: store.clone(), registry: webhooks.clone(), outbox: outbox.clone() };
        let network = Arc::new(HttpTransport::new().map_err(|error| StartError::Http(error.to_string()))?);
        let (gateway, gates) = Gateway::new(setup.clone(), store.clone(), secrets.clone(), &parts.adapters);
        let (adapters, in_process) = (parts.adapters, parts.in_process);
        let connections =
            Arc::new(Connections::new(setup.clone(), adapters, network, in_process, parts.own, gateway.clone()));
        let stamps = Stamps::new(&setup);
        let (shapes, pool) = (parts.shapes, Pool::default());
        let env = Arc::new(Env { stamps, setup, store: store.clone(), ids, pool, outbox, shapes, secrets });
        let metrics = Arc::new(Metrics::default());
        let directory = Directory::new(env.clone(), connections.clone(), metrics.clone());
        directory.resume()?;
        let tasks = vec![
            tokio::spawn(directory.clone().watch()),
            tokio::spawn(upkeep::run(store.clone())),
            tokio::spawn(gateway.clone().beat()),
            tokio::spawn(news::tell(directory.clone(), gateway.clone(), gates)),
        ];
        let (registry, clock, random) = (webhooks.clone(), Arc::new(clock::now), Arc::new(clock::random_u64));
        let sender = Sender { store, registry, egress, metrics: metrics.clone(), clock, random };
        let dispatcher = tokio::sync::Mutex::new(Some(Dispatcher::start(sender, doorbell)));
        Ok(Engine { env, directory, connections, webhooks, webhook_log, metrics, gateway, dispatcher, tasks })
    }

    /// Lets locations leave memory in order and ends deliveries. What is not done by then is done after the next start.
    pub async fn stop(&self) {
        self.stop_within(GRACE).await;
    }

    /// The same; what is not done after `grace` is left as it is.
    pub async fn stop_within(&self, grace: Duration) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.gateway.stop();
        let dispatcher = self.dispatcher.lock().await.take();
        let deliveries = async {
            if let Some(dispatcher) = dispatcher {
                dispatcher.stop(grace).await;
            }
        };
        tokio::join!(self.directory.stop(grace), deliveries);
    }

    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub fn setup(&self) -> &Setup {
        &self.env.setup
    }

    pub fn now(&self) -> Timestamp {
        clock::now()
    }

    pub fn zone(&self, location: LocationId) -> Option<Arc<Zone>> {
        self.env.setup.locations.get(&location).map(|location| zones::zone(location.zone))
    }

    /// A key of the engine's own for a purpose, such as sealing slot tokens. The same after a restart.
    pub fn secret(&self, purpose: &str) -> [u8; 32] {
        self.env.secrets.derive(purpose)
    }

    /// Adapters whose locations are closed, in the order of their names.
    pub fn adapters_not_ready(&self) -> Vec<AdapterState> {
        let adapters = self.connections.adapters();
        let states =
            adapters.names().into_iter().filter_map(|name| Some(AdapterState::of(&name, adapters.standing(&name)?)));
        states.filter(|state| state.status != AdapterStatus::Ready).collect()
    }

    /// Ready for traffic; `Err` names what is not. An adapter that is not is the matter of its own locations.
    pub fn ready(&self) -> Result<(), String> {
        let health = self.env.store.health();
        if !health.accepts_writes() {
            return Err(health.refusing.unwrap_or_else(|| "the disk is nearly full".to_owned()));
        }
        Ok(())
    }

    /// What an operator has to see to although the engine serves.
    pub fn alarm(&self) -> Option<String> {
        let damage = self.env.store.health().damage?;
        Some(format!("the store is damaged, restore it or salvage what is sound: {damage}"))
    }

    pub fn metrics(&self) -> Numbers {
        let subscriptions = self.webhooks.subscriptions();
        let workstations = self.gateway.count();
        Numbers {
            store_damaged: u64::from(self.alarm().is_some()),
            workstations_connected: workstations.connected,
            gates_open: workstations.open,
            workstation_answers_refused: workstations.refused,
            webhooks_waiting: subscriptions.backlogs.waiting(),
            webhooks_overflowed: subscriptions.backlogs.overflowed(),
            webhook_endpoints_failing: subscriptions.failing() as u64,
            store_free_bytes: self.env.store.health().free.unwrap_or(0),
            ..self.metrics.numbers(clock::now())
        }
    }

    pub fn webhooks(&self) -> &Arc<Webhooks> {
        &self.webhooks
    }

    /// Workstations whose browser sessions are lent to the engine.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    pub fn webhook_log(&self) -> &Log {
        &self.webhook_log
    }

    pub fn adapters(&self) -> &Adapters {
        self.connections.adapters()
    }

    pub async fn free_slots(&self, location: LocationId, query: SlotQuery) -> Result<FreeSlots, EngineError> {
        self.directory.open(location)?;
        let query = Box::new(query);
        self.directory.ask(location, |reply| Ask::FreeSlots { query: query.clone(), reply }).await
    }

    /// `holder`: a digest of the client's key.
    pub async fn hold(&self, offer: Offer, holder: u64) -> Result<Timestamp, Refused> {
        let hold = Hold {
            hold: offer.hold,
            placement: offer.placement(),
            appointment_type: offer.appointment_type,
            expires: offer.expires,
            join_blocks: offer.join_blocks,
            // The location says what is closed.
            closed: Closed::default(),
            holder: Some(holder),
        };
        match self.directory.request(offer.location, || Request::Hold(hold.clone())).await?.reply {
            Reply::Held { until } => Ok(until),
            other => Err(unexpected(other)),
        }
    }

    pub async fn release(&self, offer: Offer) -> Result<(), Refused> {
        self.command(offer.location, Command::Release { hold: offer.hold }).await.map(drop)
    }

    pub async fn book(&self, request: BookRequest) -> Result<Booked, Refused> {
        let location = request.offer.location;
        let request = Box::new(request);
        let answer = self.directory.request(location, || Request::Book(request.clone())).await?;
        match (answer.reply, answer.appointment) {
            (Reply::Booked { replay, .. }, Some(appointment)) => {
                Ok(Booked { appointment, replay, warnings: answer.warnings })
            }
            (other, _) => Err(unexpected(other)),
        }
    }

    /// True when it was cancelled before.
    pub async fn cancel(
        &self,
        location: LocationId,
        appointment: AppointmentId,
        reason: Option<String>,
    ) -> Result<bool, Refused> {
        match self.command(location, Command::Cancel { appointment, reason }).await?.reply {
            Reply::Cancelled { already } => Ok(already),
            other => Err(unexpected(other)),
        }
    }

    /// Moves an appointment to another time, operatory or provider of its location.
    pub async fn reschedule(
        &self,
        location: LocationId,
        appointment: AppointmentId,
        to: Placement,
        join_blocks: bool,
    ) -> Result<(), Refused> {
        match self.command(location, Command::Move { appointment, to, join_blocks }).await?.reply {
            Reply::Moved => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    /// Saves one thing at a location; `T` is the document of what is saved.
    pub async fn save<T: DeserializeOwned>(&self, request: SaveRequest) -> Result<Saved<T>, Refused> {
        let (location, request) = (request.location, Box::new(request));
        let answer = self.directory.request(location, || Request::Save(request.clone())).await?;
        if let Some(why) = answer.unmet {
            return Err(Refused::Unmet(why));
        }
        let Some(saved) = answer.saved else { return Err(unexpected(answer.reply)) };
        let record = serde_json::from_value(saved).map_err(|error| {
            tracing::error!(%error, "a saved record is not what was asked for");
            EngineError::Internal
        })?;
        let Answer { replay, existing, warnings, .. } = answer;
        Ok(Saved { record, replay, existing, warnings })
    }

    pub async fn sync_state(&self, location: LocationId) -> Result<SyncState, EngineError> {
        let state = self.directory.ask(location, |reply| Ask::SyncState { reply }).await?;
        let adapter = self.env.setup.locations.get(&location).and_then(|setup| self.connections.adapter(setup));
        let adapter = adapter.map(|(name, standing)| AdapterState::of(name, standing));
        Ok(state.at_gate(self.gateway.status(location)).through(adapter))
    }

    /// Starts a read cycle and tries waiting writes at once.
    pub async fn sync_now(&self, location: LocationId) -> Result<(), Refused> {
        self.command(location, Command::SyncNow).await.map(drop)
    }

    /// An operator accepts the deletions the guard stopped.
    pub async fn accept_deletions(&self, location: LocationId, resource: Resource) -> Result<(), Refused> {
        self.command(location, Command::AcceptDeletions { resource }).await.map(drop)
    }

    async fn command(&self, location: LocationId, command: Command) -> Result<Answer, Refused> {
        let answer = self.directory.request(location, || Request::Command(command.clone())).await?;
        match answer.reply {
            Reply::Refused(refusal) => Err(Refused::Rule(refusal)),
            _ => Ok(answer),
        }
    }
}

/// A refusal, or a reply that does not belong to what was asked.
pub(crate) fn unexpected(reply: Reply) -> Refused {
    match reply {
        Reply::Refused(refusal) => Refused::Rule(refusal),
        other => {
            tracing::error!(?other, "a location answered something else than it was asked");
            Refused::Engine(EngineError::Internal)
        }
    }
}
