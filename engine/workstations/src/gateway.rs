//! All workstations of an engine: pairing, connections, and one heartbeat for all of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use location::LocationId;
use parking_lot::RwLock;
use tokio::{
    runtime::Handle,
    sync::mpsc::{self, UnboundedReceiver},
    time::MissedTickBehavior,
};
use uuid::Uuid;

use adapter_host::{AdapterRegistry, LoadState, Url, common_paths};
use records::{GateState, sync_state::GateStatus};
use runtime::{Doorbell, clock, metrics::MetricCounter};
use setup::{Current, DataSource, LocationSetup, Setup, WorkstationAccess};
use store::{Store, secrets::Secrets};

use super::{
    Act, ByeReason, CodeKind, EhrAccess, FromWorkstation, GatewayLocation, Messages, NewCode, Workstation,
    WorkstationError,
    acts::Acts,
    devices::Devices,
    gateway_location::{Shared, login},
    lease::{ConnectionId, Rules},
    limits::{HEARTBEAT, MESSAGES},
    protocol::{LocationName, VERSION, Welcome},
};

pub struct Gateway {
    setup: Arc<Current>,
    devices: Arc<Devices>,
    shared: Arc<Shared>,
    /// One per location whose EHR is reached through workstations.
    locations: RwLock<Arc<GatewayLocations>>,
    adapters: AdapterRegistry,
    connections: AtomicU64,
    stopping: AtomicBool,
}

type GatewayLocations = BTreeMap<LocationId, Arc<GatewayLocation>>;

pub struct Paired {
    /// Returned by pairing only.
    pub token: String,
    pub workstation: Uuid,
    pub location: LocationId,
    pub location_name: String,
    pub ehr: EhrAccess,
}

/// Figures for /metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub connected: u64,
    pub open: u64,
    pub refused: u64,
}

impl Gateway {
    /// Creates the gateway, and a doorbell with the locations whose gates changed. Must be called within a runtime.
    pub fn new(
        setup: Arc<Current>,
        store: Arc<dyn Store>,
        secrets: Secrets,
        adapters: &AdapterRegistry,
    ) -> (Arc<Gateway>, Arc<Doorbell<LocationId>>) {
        let news = Arc::new(Doorbell::default());
        let devices = Arc::new(Devices::new(store, secrets));
        let runtime = Handle::current();
        let (acts, refused) = (Acts::default(), MetricCounter::default());
        let shared = Arc::new(Shared { devices: devices.clone(), news: news.clone(), refused, runtime, acts });
        let (locations, adapters) = (RwLock::default(), adapters.clone());
        let (connections, stopping) = (AtomicU64::new(1), AtomicBool::new(false));
        let gateway = Gateway { setup, devices, shared, locations, adapters, connections, stopping };
        gateway.apply_setup();
        (Arc::new(gateway), news)
    }

    /// Applies a new setup. Ends the connections of locations without gate, and those with an outdated welcome.
    pub fn apply_setup(&self) {
        let (setup, known, now) = (self.setup.load_full(), self.locations(), Instant::now());
        let gated = setup.locations.values().filter(|location| gated_source(&setup, location).is_some());
        let locations: GatewayLocations = gated
            .map(|location| {
                let new = || GatewayLocation::new(location.id, rules(location), self.shared.clone(), now);
                let gated = known.get(&location.id).cloned().unwrap_or_else(new);
                gated.set_rules(rules(location));
                (location.id, gated)
            })
            .collect();
        let former = known.iter().filter(|(id, _)| !locations.contains_key(id));
        former.for_each(|(_, gated)| gated.end_all(ByeReason::Shutdown));
        *self.locations.write() = Arc::new(locations);
        self.end_outdated();
    }

    /// Ends the connections whose welcome would differ now: the setup or the paths of the adapter have changed. Their
    /// workstations reconnect. An adapter that is being loaded has no paths yet.
    pub(super) fn end_outdated(&self) {
        let setup = self.setup.load_full();
        for gated in self.locations().values().filter(|gated| !gated.connected().is_empty()) {
            let Some((location, ehr)) = self.lent(&setup, gated.location) else { continue };
            if !self.preparing(&setup, &location) {
                gated.end_outdated(&offer(&location, ehr));
            }
        }
    }

    fn locations(&self) -> Arc<GatewayLocations> {
        self.locations.read().clone()
    }

    /// Creates a code with which an operator pairs workstations with a location. Returned only once.
    pub async fn new_code(&self, location: LocationId, kind: CodeKind) -> Result<NewCode, WorkstationError> {
        self.gateway_location(location)?;
        self.devices.new_code(location, kind, clock::now()).await
    }

    /// Exchanges a code for a token. `install` is the extension's own id of its installation. Repeated pairing yields
    /// the same workstation with another token.
    pub async fn pair(&self, peer: IpAddr, code: &str, name: &str, install: Uuid) -> Result<Paired, WorkstationError> {
        let is_gated = |location| self.location_gateway(location).is_some();
        let made = self.devices.pair(peer, code, name, install, clock::now(), is_gated).await?;
        if let Some(gated) = made.before.and_then(|before| self.location_gateway(before)) {
            gated.end(made.id, ByeReason::Replaced);
        }
        let lent = self.lent(&self.setup.load_full(), made.location);
        let (location, ehr) = lent.ok_or(WorkstationError::NotGated)?;
        self.record_act(made.location, made.id, Some(peer), "pair", "paired");
        Ok(Paired {
            token: made.token,
            workstation: made.id,
            location: made.location,
            location_name: location.name.clone(),
            ehr,
        })
    }

    /// Returns the receiver of all later acts of workstations.
    pub fn acts(&self) -> UnboundedReceiver<Act> {
        self.shared.acts.listen()
    }

    fn record_act(
        &self,
        location: LocationId,
        workstation: Uuid,
        client: Option<IpAddr>,
        what: &'static str,
        status: &'static str,
    ) {
        let (at, writes, status) = (clock::now(), Vec::new(), status.to_owned());
        self.shared.acts.record(Act { at, location, workstation, client, what, writes, status });
    }

    pub fn workstations(&self, location: LocationId) -> Result<Vec<Workstation>, WorkstationError> {
        let gated = self.gateway_location(location)?;
        let now = clock::now();
        let all = self.devices.at(location)?.into_iter().map(|(id, device)| {
            let here = gated.session_state(id);
            let session = here.and_then(|(session, _)| session);
            Workstation {
                id,
                location,
                name: device.name,
                paired_at: device.paired_at,
                last_seen: if here.is_some() { Some(now) } else { device.last_seen },
                version: device.version,
                connected: here.is_some(),
                logged_in: login(session),
                paused: session.is_some_and(|session| session.paused),
                awaiting: session.map_or(0, |session| session.awaiting),
                holds_lease: here.is_some_and(|(_, holds)| holds),
            }
        });
        Ok(all.collect())
    }

    /// Revokes the token of a workstation and ends its connection. Returns `false` if the location has no such
    /// workstation.
    pub async fn revoke(&self, location: LocationId, workstation: Uuid) -> Result<bool, WorkstationError> {
        let gated = self.gateway_location(location)?;
        let revoked = self.devices.revoke(location, workstation).await?;
        if revoked {
            gated.end(workstation, ByeReason::Revoked);
            self.record_act(location, workstation, None, "lose token", "revoked");
        }
        Ok(revoked)
    }

    /// Starts a connection with its first frame. The socket sends the messages of the channel, and closes when the
    /// channel ends.
    pub fn connect(self: &Arc<Self>, hello: &str, client: Option<IpAddr>) -> Result<(Session, Messages), ByeReason> {
        let FromWorkstation::Hello(hello) = FromWorkstation::parse(hello)? else { return Err(ByeReason::Protocol) };
        let (workstation, device) = self.known(&hello.token)?;
        // The location was removed from the configuration, maybe temporarily: the token stays valid.
        let setup = self.setup.load_full();
        let found = self.location_gateway(device.location).zip(self.lent(&setup, device.location));
        let (gated, (location, ehr)) = found.ok_or(ByeReason::Shutdown)?;
        // The permitted requests are not known yet: the workstation reconnects later.
        if self.preparing(&setup, &location) {
            return Err(ByeReason::Shutdown);
        }
        let id = ConnectionId(self.connections.fetch_add(1, Ordering::Relaxed));
        let (out, messages) = mpsc::channel(MESSAGES);
        gated.enter(id, (workstation, device.name, client), out, Welcome { workstation, ..offer(&location, ehr) });
        let session = Session { gateway: self.clone(), gated, id, workstation, version: hello.extension.clone() };
        session.note();
        // The token may have been revoked, the gateway stopped or the setup changed before the session was visible to
        // those calls.
        let known = self.known(&hello.token).map(|_| Arc::ptr_eq(&setup, &self.setup.load_full()));
        if let Some(reason) = known.map_or_else(Some, |same| (!same).then_some(ByeReason::Shutdown)) {
            session.end(reason);
            return Err(reason);
        }
        Ok((session, messages))
    }

    fn known(&self, token: &str) -> Result<(Uuid, super::devices::Device), ByeReason> {
        if self.stopping.load(Ordering::SeqCst) {
            return Err(ByeReason::Shutdown);
        }
        let found = self.devices.find_by_token(token).map_err(|error| {
            tracing::error!(%error, "a workstation's token could not be looked up");
            ByeReason::Shutdown
        })?;
        found.ok_or(ByeReason::Token)
    }

    /// Returns the status of a location's gate. Returns `None` if its EHR needs no workstation.
    pub fn status(&self, location: LocationId) -> Option<GateStatus> {
        Some(self.location_gateway(location)?.status(Instant::now(), clock::now()))
    }

    pub fn count(&self) -> Count {
        let (now, wall) = (Instant::now(), clock::now());
        let mut count = Count { refused: self.shared.refused.get(), ..Count::default() };
        for status in self.locations().values().map(|gated| gated.status(now, wall)) {
            count.connected += u64::from(status.connected);
            count.open += u64::from(matches!(status.state, GateState::Connected | GateState::WaitingForApproval));
        }
        count
    }

    /// Runs the timer of all connections until it is dropped.
    pub async fn beat(self: Arc<Self>) {
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let shared = self.setup.load_full().engine.node.is_some();
        for second in 0.. {
            seconds.tick().await;
            if shared && second % HEARTBEAT.as_secs() == 0 {
                let this = self.clone();
                drop(self.shared.runtime.spawn_blocking(move || this.end_reassigned()));
            }
            if second % HEARTBEAT.as_secs() == 0 {
                self.end_outdated();
            }
            let (now, wall) = (Instant::now(), clock::now());
            self.locations().values().for_each(|gated| gated.beat(second, now, wall));
        }
    }

    /// Ends the connections of workstations that were paired with another location meanwhile, possibly by another
    /// process.
    pub(super) fn end_reassigned(&self) {
        for gated in self.locations().values() {
            let connected = gated.connected();
            if connected.is_empty() {
                continue;
            }
            match self.devices.at(gated.location) {
                Ok(paired) => {
                    let paired: BTreeSet<Uuid> = paired.into_iter().map(|(id, _)| id).collect();
                    let gone = connected.into_iter().filter(|id| !paired.contains(id));
                    gone.for_each(|id| gated.end(id, ByeReason::Replaced));
                }
                Err(error) => {
                    tracing::warn!(location = %gated.location, %error, "paired workstations could not be read")
                }
            }
        }
    }

    /// Ends the connections of locations that are assigned to other nodes now. Their workstations reconnect and are
    /// redirected.
    pub fn release_moved(&self, is_here: impl Fn(LocationId) -> bool) {
        let locations = self.locations();
        let gone = locations.values().filter(|gated| !is_here(gated.location));
        gone.for_each(|gated| gated.end_all(ByeReason::Shutdown));
    }

    /// Reports the state of its gate to every location. Some may not know it, because another process had the gate
    /// before.
    pub fn report_all(&self) {
        self.locations().values().for_each(|gated| gated.report_gate());
    }

    /// Returns the location of a workstation, identified by its first frame.
    pub fn location_of(&self, hello: &str) -> Result<LocationId, ByeReason> {
        let FromWorkstation::Hello(hello) = FromWorkstation::parse(hello)? else { return Err(ByeReason::Protocol) };
        Ok(self.known(&hello.token)?.1.location)
    }

    /// Ends every connection, and accepts no further ones.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.locations().values().for_each(|gated| gated.end_all(ByeReason::Shutdown));
    }

    pub fn location_gateway(&self, location: LocationId) -> Option<Arc<GatewayLocation>> {
        self.locations().get(&location).cloned()
    }

    fn gateway_location(&self, location: LocationId) -> Result<Arc<GatewayLocation>, WorkstationError> {
        self.location_gateway(location).ok_or(WorkstationError::NotGated)
    }

    fn preparing(&self, setup: &Setup, location: &LocationSetup) -> bool {
        let source = gated_source(setup, location).map(|(source, _)| source);
        let load_state = |source: &DataSource| self.adapters.load_state_at(&source.adapter, &location.id.to_string());
        matches!(source.and_then(load_state), Some(LoadState::Preparing))
    }

    fn lent(&self, setup: &Setup, location: LocationId) -> Option<(Arc<LocationSetup>, EhrAccess)> {
        let location = setup.locations.get(&location)?;
        let (source, workstation) = gated_source(setup, location)?;
        Some((location.clone(), access(location, source, workstation, &self.adapters)))
    }
}

/// The engine's end of a workstation's connection; dropped when the socket closes.
pub struct Session {
    gateway: Arc<Gateway>,
    gated: Arc<GatewayLocation>,
    id: ConnectionId,
    workstation: Uuid,
    version: String,
}

impl Session {
    pub fn workstation(&self) -> Uuid {
        self.workstation
    }

    pub fn location(&self) -> LocationId {
        self.gated.location
    }

    /// Handles a text frame. After an error no further frames are accepted; the last message contains the reason.
    pub fn received(&self, frame: &str) -> Result<(), ByeReason> {
        let heard = self.gated.received(self.id, frame);
        if let Err(reason) = heard {
            self.end(reason);
        }
        heard
    }

    /// Ends the connection. For frames that are not text or too large.
    pub fn end(&self, reason: ByeReason) {
        self.gated.end_one(self.id, reason);
    }

    /// Stores the time at which the workstation was last seen.
    fn note(&self) {
        let (devices, workstation, version) = (self.gateway.devices.clone(), self.workstation, self.version.clone());
        self.gateway.shared.runtime.spawn(async move {
            if let Err(error) = devices.seen(workstation, &version, clock::now()).await {
                tracing::warn!(%workstation, %error, "the last-seen time of a workstation was not stored");
            }
        });
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.gated.leave(self.id);
        self.note();
    }
}

/// Returns the data source of a location that is reached through workstations.
fn gated_source<'a>(setup: &'a Setup, location: &LocationSetup) -> Option<(&'a DataSource, &'a WorkstationAccess)> {
    let source = setup.sources.get(&location.source?)?;
    Some((source, source.workstation()?))
}

fn rules(location: &LocationSetup) -> Rules {
    Rules {
        location: location.id.0,
        in_flight: location.settings.workstation.in_flight as usize,
        patience: Duration::from_secs(location.settings.workstation.patience_seconds.into()),
    }
}

/// Returns the welcome of a location's workstations, without the id of the workstation.
fn offer(location: &LocationSetup, ehr: EhrAccess) -> Welcome {
    Welcome {
        protocol: VERSION,
        workstation: Uuid::nil(),
        location: LocationName { id: location.id.0, name: location.name.clone() },
        ehr,
        approval: location.settings.workstation.approval,
        heartbeat_seconds: HEARTBEAT.as_secs(),
    }
}

/// Returns the requests that the extension may make of the EHR. The paths are those of the adapter's manifest, narrowed
/// by those of the data source if it lists any.
fn access(
    location: &LocationSetup,
    source: &DataSource,
    workstation: &WorkstationAccess,
    adapters: &AdapterRegistry,
) -> EhrAccess {
    let url = Url::parse(&source.base_url).ok();
    let adapter = adapters.get_at(&source.adapter, &location.id.to_string());
    let paths = match (adapter, source.allowed_paths()) {
        // Without its adapter, a location makes no requests.
        (None, allowed) => allowed.to_vec(),
        (Some(adapter), []) => adapter.manifest().paths.clone(),
        (Some(adapter), allowed) => common_paths(allowed, &adapter.manifest().paths),
    };
    EhrAccess {
        origin: url.as_ref().map(|url| url.origin().ascii_serialization()).unwrap_or_default(),
        base_path: url.map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default(),
        paths,
        probe: workstation.probe.clone(),
    }
}
