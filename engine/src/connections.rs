//! Connects locations to their EHRs as configured: adapter, address, credentials, limits.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use adapter_host::{
    Adapter, AddressError, Authorized, Connection, Gate, GuestLimits, HttpTransport, LoadState, Transport,
    check_address,
};
use location::LocationId;
use parking_lot::{Mutex, RwLock};
use processor::{EngineError, machine_settings};
use records::Ehr;
use setup::{Current, DataSource, LocationSetup, Setup, secret::Secret};
use store::StoreError;
use workstations::{Gateway, GatewayLocation};

use crate::{
    adapter_versions::AdapterVersions,
    changes::{ChangeImpact, SetupChanges},
    cluster::Cluster,
    fence::Fence,
};

/// Base URL of an in-process data source.
pub(crate) const IN_PROCESS: &str = "sandbox:";
/// Address of in-process EHRs for the adapter host, which knows only HTTP addresses.
const IN_PROCESS_URL: &str = "http://sandbox.invalid";

/// The authorized transport of a data source, and the source as configured when the transport was created.
type Way = (Arc<DataSource>, Arc<Authorized>);

/// The sources of adapters and transports.
pub(crate) struct Connections {
    setup: Arc<Current>,
    pub(crate) adapters: AdapterVersions,
    network: Arc<HttpTransport>,
    in_process: RwLock<BTreeMap<u32, Arc<dyn Transport>>>,
    /// Transports of data sources with access tokens or sessions. The locations of a source share the credentials.
    authorized: Mutex<HashMap<u32, Way>>,
    /// EHRs provided by simulations and benchmarks.
    own: HashMap<LocationId, Arc<dyn Ehr>>,
    pub(crate) gateway: Arc<Gateway>,
    /// `None` if all institutions are on this node.
    cluster: Option<Arc<Cluster>>,
    made: Mutex<HashMap<LocationId, Arc<dyn Ehr>>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("location {location}: no adapter called {adapter} is loaded")]
    NoAdapter { location: LocationId, adapter: String },
    #[error("location {location}: data source {id} is not configured")]
    NoSource { location: LocationId, id: u32 },
    #[error("location {location}: in-process data source {id} has no simulated EHR")]
    NotServed { location: LocationId, id: u32 },
    #[error("location {location}: {source}")]
    Address { location: LocationId, source: AddressError },
    #[error("location {location}: {source}")]
    Store { location: LocationId, source: StoreError },
}

impl From<ConnectError> for EngineError {
    fn from(error: ConnectError) -> EngineError {
        tracing::error!(%error, "the location cannot be connected to its EHR");
        match error {
            ConnectError::Store { source, .. } => source.into(),
            _ => EngineError::Internal,
        }
    }
}

impl Connections {
    pub(crate) fn new(
        setup: Arc<Current>,
        adapters: AdapterVersions,
        network: Arc<HttpTransport>,
        in_process: BTreeMap<u32, Arc<dyn Transport>>,
        own: HashMap<LocationId, Arc<dyn Ehr>>,
        gateway: Arc<Gateway>,
        cluster: Option<Arc<Cluster>>,
    ) -> Connections {
        let (in_process, authorized, made) = (RwLock::new(in_process), Mutex::default(), Mutex::default());
        Connections { setup, adapters, network, in_process, authorized, own, gateway, cluster, made }
    }

    /// Returns the workstations of a location whose EHR is reached through workstations.
    pub(crate) fn gateway_location(&self, location: LocationId) -> Option<Arc<GatewayLocation>> {
        self.gateway.location_gateway(location)
    }

    pub(crate) fn adapter(&self, location: &LocationSetup) -> Option<(Arc<DataSource>, LoadState)> {
        let source = self.source(location)?;
        let own = self.own.contains_key(&location.id);
        let load_state =
            self.adapters.registry.load_state_at(&source.adapter, &location.id.to_string()).filter(|_| !own)?;
        Some((source, load_state))
    }

    fn source(&self, location: &LocationSetup) -> Option<Arc<DataSource>> {
        self.setup.load().sources.get(&location.source?).cloned()
    }

    /// Returns the parts of another setup that cannot be connected, as messages. Called before the setup is in force.
    pub(crate) fn check(&self, setup: &Setup, changes: &SetupChanges, is_loaded: impl Fn(&str) -> bool) -> Vec<String> {
        let mut problems = Vec::new();
        let locations = changes.locations.added.iter().chain(changes.touched.keys());
        for location in locations.filter_map(|id| setup.locations.get(id)) {
            if !setup.institutions.contains_key(&location.institution) {
                problems.push(format!("location {}: there is no institution {}", location.id, location.institution));
            }
            if let Some(id) = location.source.filter(|id| !setup.sources.contains_key(id)) {
                problems.push(ConnectError::NoSource { location: location.id, id }.to_string());
            }
        }
        for source in setup.sources.values() {
            let new = [&changes.sources.added, &changes.sources.changed]
                .iter()
                .any(|ids| ids.binary_search(&source.id).is_ok());
            let missing =
                || !is_loaded(&source.adapter) && self.adapters.registry.load_state(&source.adapter).is_none();
            if changes.adapters.gone.contains(&source.adapter) || (new && missing()) {
                problems.push(format!("source {}: no adapter called {} is configured", source.id, source.adapter));
            }
            if new && source.base_url != IN_PROCESS {
                let checked =
                    check_address(&source.base_url, source.headers().to_vec(), source.allowed_paths().to_vec());
                problems.extend(checked.err().map(|error| format!("source {}: {error}", source.id)));
            }
        }
        problems
    }

    /// Returns `true` if the in-process EHR of a data source is open.
    pub(crate) fn has_in_process(&self, source: u32) -> bool {
        self.in_process.read().contains_key(&source)
    }

    pub(crate) fn add_in_process(&self, opened: impl IntoIterator<Item = (u32, Arc<dyn Transport>)>) {
        self.in_process.write().extend(opened);
    }

    /// Drops the connections that another setup has changed. They are created again on their next use.
    pub(crate) fn apply_setup(&self, changes: &SetupChanges) {
        let kept = |location: &LocationId| {
            let reconnects = changes.touched.get(location).is_some_and(|touched| *touched != ChangeImpact::Settings);
            !reconnects && changes.locations.gone.binary_search(location).is_err()
        };
        self.made.lock().retain(|location, _| kept(location));
        let sources = &changes.sources;
        let kept =
            |source: &u32| [&sources.changed, &sources.gone].iter().all(|ids| ids.binary_search(source).is_err());
        let mut authorized = self.authorized.lock();
        authorized.retain(|source, _| kept(source));
    }

    /// Returns an error if the adapter of a location is not ready.
    pub(crate) fn open(&self, location: &LocationSetup) -> Result<(), EngineError> {
        match self.adapter(location) {
            Some((_, LoadState::Preparing)) => Err(EngineError::AdapterPreparing),
            Some((_, LoadState::Refused(_))) => Err(EngineError::AdapterRefused),
            Some((_, LoadState::Ready(_))) | None => Ok(()),
        }
    }

    /// Returns the EHR of a location, created on first use, or `None` for a location without EHR.
    pub(crate) fn ehr_for(&self, location: &LocationSetup) -> Result<Option<Arc<dyn Ehr>>, ConnectError> {
        if let Some(own) = self.own.get(&location.id) {
            return Ok(Some(self.fenced(location, own.clone())));
        }
        let Some(source) = location.source else { return Ok(None) };
        // Another node may have rolled out another version since the location was last here.
        self.adapters.arrive(location).map_err(|source| ConnectError::Store { location: location.id, source })?;
        if let Some(made) = self.made.lock().get(&location.id) {
            return Ok(Some(made.clone()));
        }
        let source = self.source(location).ok_or(ConnectError::NoSource { location: location.id, id: source })?;
        let ehr = self.fenced(location, self.connect(location, &source)?);
        self.made.lock().insert(location.id, ehr.clone());
        Ok(Some(ehr))
    }

    fn fence(&self, location: &LocationSetup) -> Option<Fence> {
        self.cluster.clone().map(|cluster| Fence { cluster, institution: location.institution })
    }

    fn fenced(&self, location: &LocationSetup, ehr: Arc<dyn Ehr>) -> Arc<dyn Ehr> {
        match self.fence(location) {
            Some(fence) => fence.around(ehr),
            None => ehr,
        }
    }

    fn network(&self, location: &LocationSetup, source: &Arc<DataSource>) -> Arc<dyn Transport> {
        let apart: Arc<dyn Transport> = Arc::new(self.network.apart());
        let own = match self.fence(location) {
            Some(fence) => fence.before(apart),
            None => apart,
        };
        let Some(login) = source.login() else { return own };
        let mut authorized = self.authorized.lock();
        let authorize = || (source.clone(), Arc::new(Authorized::new(own.clone(), login.clone())));
        let (of, way) = authorized.entry(source.id).or_insert_with(authorize);
        // A trial of an adapter may have created the transport under the previous setup.
        if of != source {
            (*of, *way) = authorize();
        }
        Arc::new(way.over(own.clone()))
    }

    fn connect(&self, location: &LocationSetup, source: &Arc<DataSource>) -> Result<Arc<dyn Ehr>, ConnectError> {
        let id = location.id;
        let connected = self.adapters.registry.connect(&source.adapter, self.connection(location, source)?);
        let connected = connected
            .ok_or_else(|| ConnectError::NoAdapter { location: id, adapter: source.adapter.clone() })?
            .map_err(|source| ConnectError::Address { location: id, source })?;
        tracing::info!(location = %id, source = source.id, adapter = %source.adapter, "adapter loaded for the location");
        Ok(connected)
    }

    /// Returns the EHR of a location through this adapter, whichever one the location runs. Returns `None` without a
    /// data source.
    pub(crate) fn through(
        &self,
        location: &LocationSetup,
        adapter: &Arc<Adapter>,
    ) -> Result<Option<Arc<dyn Ehr>>, ConnectError> {
        let source = self.source(location).filter(|_| !self.own.contains_key(&location.id));
        let Some(source) = source else { return Ok(None) };
        let connected = adapter.connect(self.connection(location, &source)?);
        let connected = connected.map_err(|source| ConnectError::Address { location: location.id, source })?;
        Ok(Some(self.fenced(location, connected)))
    }

    fn connection(&self, location: &LocationSetup, source: &Arc<DataSource>) -> Result<Connection, ConnectError> {
        let id = location.id;
        let (transport, base_url): (Arc<dyn Transport>, &str) = if source.base_url == IN_PROCESS {
            let served = self.in_process.read().get(&source.id).cloned();
            (served.ok_or(ConnectError::NotServed { location: id, id: source.id })?, IN_PROCESS_URL)
        } else {
            (self.network(location, source), &source.base_url)
        };
        let name = id.to_string();
        let foreign_id = location.foreign_id.as_deref().unwrap_or_default();
        let mut connection = Connection::new(&name, foreign_id, base_url, location.zone, transport);
        connection.headers = source.headers().to_vec();
        if !source.allowed_paths().is_empty() {
            connection.allowed_paths = source.allowed_paths().to_vec();
        }
        connection.source = source.id.to_string();
        // In-process requests and those through workstations share their limits with no other data source.
        let alone = source.workstation().is_some() || source.base_url == IN_PROCESS;
        connection.host = alone.then(|| format!("data source {}", source.id));
        let adapter_config = location.extras().adapter_config.iter();
        connection.settings = adapter_config.map(|(name, value)| (name.clone(), Secret::new(value.clone()))).collect();
        let setup = self.setup.load_full();
        let guests = &setup.engine.guests;
        let longest = location.settings.write.call_deadline.max(location.settings.pull.call_deadline);
        connection.limits = GuestLimits {
            memory: source.guest_memory_mib as usize * 1_024 * 1_024,
            call: Duration::from_millis(longest.unsigned_abs()),
            wait: Duration::from_millis(machine_settings::place_wait(&setup, location).unsigned_abs()),
            processor: guests.processor,
            pull_processor: guests.pull_processor,
            requests: source.guest_requests_per_call,
            ..GuestLimits::default()
        };
        connection.gate = self.gateway_location(id).map(|gated| gated as Arc<dyn Gate>);
        Ok(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression test: the error was answered with 500, which clients do not retry.
    #[test]
    fn unreachable_database_while_connecting_is_reported_as_retryable() {
        let error =
            ConnectError::Store { location: LocationId(1), source: StoreError::Away { why: "it restarts".into() } };
        assert_eq!(EngineError::from(error), EngineError::StoreAway);
    }
}
