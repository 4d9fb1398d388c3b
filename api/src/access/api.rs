//! What every request may use.

use std::{
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock, atomic::AtomicBool},
};

use actix_web::HttpRequest;
use audit::Trail;
use engine::{
    Engine, NotReconfigurable, Reconfigured,
    setup::{Environment, Setup},
    simulated::{OpenSimulated, SimulatedEhr, SimulatedEhrs},
};
use location::time::Millis;
use tokio::sync::Semaphore;

use super::{
    conditional::Tags,
    directory::{Directory, StatusChange, Statuses},
    keys::{ApiKey, KeyRing, Keys},
    page_cache::PageCache,
};
use crate::{
    http::{
        metrics::RequestMetrics, proxies, rate_limit::RateLimits, rejected_callers::RejectedCallers, rules::HttpRules,
    },
    nodes::{admission::from_node, forward::Peers},
    values::{cursor::Cursors, secret::Secret, slot_token::SlotTokens, token::Tokens},
};

pub struct Api {
    pub engine: Arc<Engine>,
    /// Simulated EHRs, which operators may make misbehave, by data source.
    simulated: RwLock<SimulatedEhrs>,
    pub directory: Directory,
    pub tokens: Tokens,
    pub cursors: Cursors,
    pub slot_tokens: SlotTokens,
    pub tags: Tags,
    pub rate_limits: RateLimits,
    pub rejected_callers: RejectedCallers,
    pub rules: HttpRules,
    pub metrics: RequestMetrics,
    pub page_cache: PageCache,
    /// One for each workstation that may be connected.
    pub seats: Arc<Semaphore>,
    /// The server is about to stop: answers close their connections.
    pub leaving: AtomicBool,
    /// The other nodes; none where this process is alone.
    pub(crate) peers: Option<Peers>,
    /// None: nobody asked for one, as in tests.
    pub(crate) audit: Option<Trail>,
    keys: KeyRing,
}

impl Api {
    pub fn new(engine: Arc<Engine>, keys: impl Into<KeyRing>, secret: &Secret, rules: HttpRules) -> Api {
        Api {
            directory: Directory::new(&engine.setup()),
            tokens: Tokens::new(secret),
            cursors: Cursors::new(secret),
            slot_tokens: SlotTokens::new(secret),
            tags: Tags::new(secret),
            rate_limits: RateLimits::new(&rules.rate_limits),
            rejected_callers: RejectedCallers::new(rules.refused_per_minute),
            metrics: RequestMetrics::default(),
            page_cache: PageCache::new(rules.list_cache_bytes),
            seats: Arc::new(Semaphore::new(rules.max_workstations)),
            leaving: AtomicBool::new(false),
            peers: None,
            audit: None,
            keys: keys.into(),
            simulated: RwLock::default(),
            engine,
            rules,
        }
    }

    pub(crate) fn with_simulated(self, simulated: SimulatedEhrs) -> Api {
        Api { simulated: RwLock::new(simulated), ..self }
    }

    pub(crate) fn simulated(&self, source: u32) -> Option<Arc<dyn SimulatedEhr>> {
        self.simulated.read().unwrap_or_else(PoisonError::into_inner).get(&source).cloned()
    }

    pub fn with_audit(self, trail: Trail) -> Api {
        Api { audit: Some(trail), ..self }
    }

    pub fn with_peers(self, peers: Option<Peers>) -> Api {
        Api { peers, ..self }
    }

    pub fn keys(&self) -> Arc<Keys> {
        self.keys.keys()
    }

    /// Takes effect on the next call, also for tokens already handed out, and on what is sent to webhooks from now on.
    pub fn replace_keys(&self, keys: Vec<ApiKey>) {
        self.keys.replace(keys);
        // What a key may see may have changed.
        self.page_cache.clear();
    }

    /// Closes locations, or opens again what was closed so, from the next call on. See `Directory::take_over`.
    pub fn apply_statuses(&self, wanted: &Statuses) -> Vec<StatusChange> {
        let taken = self.directory.take_over(&self.engine.setup(), wanted);
        self.page_cache.clear();
        taken
    }

    /// Serves another setup from the next call on, or refuses all of it. Calls under way end as they began.
    pub async fn reconfigure(
        &self,
        setup: Setup,
        simulated: &dyn OpenSimulated,
    ) -> Result<Reconfigured, NotReconfigurable> {
        let taken = self.engine.reconfigure(setup, simulated).await?;
        let opened = taken.simulated.iter().map(|(source, ehr)| (*source, ehr.clone()));
        self.simulated.write().unwrap_or_else(PoisonError::into_inner).extend(opened);
        self.directory.set_up(&self.engine.setup());
        self.page_cache.clear();
        Ok(taken)
    }

    /// How long a new bearer token of a key is valid, in milliseconds.
    pub(crate) fn token_lifetime(&self, environment: Environment) -> Millis {
        match environment {
            Environment::Production => self.rules.token_production,
            Environment::Sandbox => self.rules.token_sandbox,
        }
    }

    /// Whose call it is, behind the proxies that are trusted and the node it came to. None: it came over no network.
    pub(crate) fn client(&self, request: &HttpRequest) -> Option<IpAddr> {
        if let Some(handed_on) = from_node(request) {
            return handed_on.client;
        }
        let peer = request.peer_addr()?.ip();
        Some(proxies::client(&self.rules.trusted_proxies, peer, request.headers()))
    }
}
