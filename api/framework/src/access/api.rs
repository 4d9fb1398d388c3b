//! Shared state of all requests.

use std::{
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use actix_web::HttpRequest;
use arc_swap::ArcSwap;
use audit::Trail;
use engine::{
    Engine, NotReconfigurable, Reconfigured,
    setup::{Environment, Setup},
    simulated::{OpenSimulated, SimulatedEhr, SimulatedEhrs},
    turns::FairSemaphore,
};
use location::{Millis, Timestamp};
use parking_lot::RwLock;
use tokio::sync::Semaphore;

use super::{
    conditional::Tags,
    directory::Directory,
    edge::Edge,
    keys::{ApiKey, KeyRing, Keys},
    operators::{OperatorToken, Operators},
    reloads::ReloadSender,
};
use crate::{
    http::{
        connections::Connections, context::from_node, keyed_semaphore::KeyedSemaphore, metrics::RequestMetrics,
        paging::Cursors, proxies, response_body::ResponseBytes, rules::HttpRules, tls::Certificates,
    },
    nodes::forward::Peers,
    values::{secret::Secret, sessions::Sessions, slot_token::SlotTokens, token::Tokens, visit_token::VisitTokens},
};

/// Connection limit of the operators' listener, for people, tools and probes.
const OPERATORS_CONNECTIONS: usize = 10_000;

pub struct Api {
    pub engine: Arc<Engine>,
    /// Simulated EHRs by data source. Operators can make them fail.
    simulated: RwLock<SimulatedEhrs>,
    pub tokens: Tokens,
    pub sessions: Sessions,
    pub cursors: Cursors,
    pub slot_tokens: SlotTokens,
    pub visit_tokens: VisitTokens,
    pub tags: Tags,
    pub metrics: RequestMetrics,
    /// Incremented when permissions or open locations change. A read that began under an earlier generation is
    /// repeated.
    rights_generation: AtomicU64,
    /// Open connections of the clients' listener.
    pub connections: Arc<Connections>,
    pub operators_connections: Arc<Connections>,
    pub response_bytes: Arc<ResponseBytes>,
    /// Exports in progress, by the hash of their API key.
    pub exports: KeyedSemaphore<[u8; 32]>,
    /// Semaphores of blocking reads: for clients, and for operators.
    readers: [FairSemaphore; 2],
    /// One permit per connected workstation.
    pub seats: Arc<Semaphore>,
    /// The server drains before it stops: it still serves, but reports not ready.
    pub draining: AtomicBool,
    /// The server is about to stop: responses close their connections.
    pub leaving: AtomicBool,
    pub started: Timestamp,
    /// Public id of the data directory, or of the secret that the nodes share.
    pub instance: String,
    /// Other nodes; `None` for a single process.
    pub peers: Option<Peers>,
    pub certificates: Certificates,
    /// `None` without an audit trail, as in tests.
    pub audit: Option<Trail>,
    /// Channel for reload requests; unset if no task reloads the configuration.
    pub reloads: OnceLock<ReloadSender>,
    directory: ArcSwap<Directory>,
    keys: KeyRing,
    edge: ArcSwap<Edge>,
    operators: ArcSwap<Operators>,
}

impl Api {
    pub fn new(engine: Arc<Engine>, keys: impl Into<KeyRing>, secret: &Secret, rules: HttpRules) -> Api {
        Api {
            tokens: Tokens::new(secret),
            sessions: Sessions::new(secret),
            cursors: Cursors::new(secret),
            slot_tokens: SlotTokens::new(secret),
            visit_tokens: VisitTokens::new(secret),
            tags: Tags::new(secret),
            metrics: RequestMetrics::default(),
            rights_generation: AtomicU64::new(0),
            connections: Connections::new(rules.max_connections),
            operators_connections: Connections::new(OPERATORS_CONNECTIONS),
            response_bytes: Arc::default(),
            exports: KeyedSemaphore::default(),
            readers: [(); 2].map(|()| FairSemaphore::for_readers(engine.reads_wait())),
            seats: Arc::new(Semaphore::new(rules.max_workstations)),
            draining: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            started: engine.now(),
            instance: secret.instance(),
            peers: None,
            certificates: Certificates::default(),
            audit: None,
            reloads: OnceLock::new(),
            directory: ArcSwap::from_pointee(Directory::from(engine.setup())),
            keys: keys.into(),
            edge: ArcSwap::from_pointee(Edge::new(rules)),
            operators: ArcSwap::default(),
            simulated: RwLock::default(),
            engine,
        }
    }

    pub fn with_simulated(self, simulated: SimulatedEhrs) -> Api {
        Api { simulated: RwLock::new(simulated), ..self }
    }

    pub fn simulated(&self, source: u32) -> Option<Arc<dyn SimulatedEhr>> {
        self.simulated.read().get(&source).cloned()
    }

    pub fn with_audit(self, trail: Trail) -> Api {
        Api { audit: Some(trail), ..self }
    }

    /// Returns the rules of the HTTP edge for one call.
    pub fn edge(&self) -> Arc<Edge> {
        self.edge.load_full()
    }

    /// Replaces the rules, with effect from the next call. Listener settings change only at a restart.
    pub fn replace_rules(&self, rules: HttpRules) {
        self.edge.store(Arc::new(self.edge().with(rules)));
    }

    pub fn keys(&self) -> Arc<Keys> {
        self.keys.keys()
    }

    pub fn operators(&self) -> Arc<Operators> {
        self.operators.load_full()
    }

    /// Replaces the operators, with effect from the next call.
    pub fn replace_operators(&self, tokens: Vec<OperatorToken>) {
        let operators = self.operators().replaced(tokens, |token| {
            self.engine.token_last_used(token).unwrap_or_else(|error| {
                tracing::warn!(%error, "the last use of an operator token could not be read");
                None
            })
        });
        self.operators.store(Arc::new(operators));
    }

    /// Replaces the keys, with effect from the next call and webhook message, also for tokens already issued.
    pub fn replace_keys(&self, keys: Vec<ApiKey>) {
        self.keys.replace(keys);
        self.rights_changed();
    }

    /// Returns the current generation of permissions. Must be read before the permissions of the caller.
    pub fn rights_generation(&self) -> u64 {
        self.rights_generation.load(Ordering::SeqCst)
    }

    /// Must be called after the permissions have changed.
    fn rights_changed(&self) {
        self.rights_generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns institutions and locations for one call.
    pub fn directory(&self) -> Arc<Directory> {
        self.directory.load_full()
    }

    /// Applies another setup from the next call on, or rejects all of it. Calls in flight keep their snapshot.
    pub async fn reconfigure(
        &self,
        setup: Setup,
        simulated: &dyn OpenSimulated,
    ) -> Result<Reconfigured, NotReconfigurable> {
        let taken = self.engine.reconfigure(setup, simulated).await?;
        let opened = taken.simulated.iter().map(|(source, ehr)| (*source, ehr.clone()));
        self.simulated.write().extend(opened);
        if !taken.changes.is_empty() {
            self.directory.store(Arc::new(Directory::from(self.engine.setup())));
            self.rights_changed();
        }
        Ok(taken)
    }

    /// Returns a semaphore for blocking reads. Operators have a separate one, so that they can investigate while
    /// clients' reads are stuck.
    pub fn readers(&self, for_operators: bool) -> FairSemaphore {
        self.readers[usize::from(for_operators)].clone()
    }

    /// Returns the lifetime of a new bearer token in milliseconds.
    pub fn token_lifetime(&self, environment: Environment) -> Millis {
        let edge = self.edge();
        match environment {
            Environment::Production => edge.rules.token_production,
            Environment::Sandbox => edge.rules.token_sandbox,
        }
    }

    /// Returns the client address, behind trusted proxies and the receiving node. Returns `None` without a network
    /// connection.
    pub fn client(&self, request: &HttpRequest) -> Option<IpAddr> {
        if let Some(handed_on) = from_node(request) {
            return handed_on.client;
        }
        let peer = request.peer_addr()?.ip();
        Some(proxies::client(&self.edge().rules.trusted_proxies, peer, request.headers()))
    }
}
