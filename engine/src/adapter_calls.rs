//! Adapter versions for operators, and the costs of adapter calls.

use std::collections::BTreeMap;

use adapter_host::{CostsByCall, Host};
use location::LocationId;
use records::AdapterState;
use runtime::metrics::Family;

use crate::{
    AdapterVersion, Engine, RolledOut, Tried, VersionError, adapter_versions, connections::ConnectError,
    engine::adapter_state,
};

impl Engine {
    /// Adds a version of an adapter that no location runs yet.
    pub async fn add_adapter_version(&self, name: &str, component: Vec<u8>) -> Result<AdapterVersion, VersionError> {
        self.connections.adapters.add(name, component).await
    }

    /// Returns the versions of an adapter, newest first.
    pub fn adapter_versions(&self, name: &str) -> Result<Vec<AdapterVersion>, VersionError> {
        self.connections.adapters.list_versions(name)
    }

    pub fn configured_adapter(&self, name: &str) -> Option<AdapterState> {
        Some(adapter_state(name, self.connections.adapters.registry.load_state(name)?))
    }

    /// Returns the name of a location's adapter and its roll-out, or `None` for a location without adapter.
    pub fn rolled_out(&self, location: LocationId) -> Result<Option<(String, RolledOut)>, VersionError> {
        let Some(setup) = self.location(location) else { return Ok(None) };
        let Some((source, _)) = self.connections.adapter(&setup) else { return Ok(None) };
        Ok(Some((source.adapter.clone(), self.connections.adapters.at(&setup)?)))
    }

    /// Tries a version of the adapter at a location, or the configured one, without changing anything.
    pub async fn try_adapter(&self, location: LocationId, sha256: Option<&str>) -> Result<Vec<Tried>, VersionError> {
        let setup = self.location(location).ok_or(VersionError::NoneAtLocation)?;
        let adapter = self.connections.adapters.loaded(&setup, sha256).await?;
        let refused = |error: ConnectError| VersionError::Refused(error.to_string());
        let ehr = self.connections.through(&setup, &adapter).map_err(refused)?.ok_or(VersionError::NoneAtLocation)?;
        adapter_versions::try_dry(&*ehr).await
    }

    /// Rolls out a version to a location, effective from its next call. The EHR's capabilities are requested at once.
    pub async fn roll_out(&self, location: LocationId, sha256: Option<String>) -> Result<RolledOut, VersionError> {
        let setup = self.location(location).ok_or(VersionError::NoneAtLocation)?;
        let rolled_out = self.connections.adapters.roll_out(&setup, sha256).await?;
        self.start_cycle(location).await;
        Ok(rolled_out)
    }

    /// Reverts the last roll-out.
    pub async fn roll_back(&self, location: LocationId) -> Result<RolledOut, VersionError> {
        let setup = self.location(location).ok_or(VersionError::NoneAtLocation)?;
        let rolled_out = self.connections.adapters.roll_back(&setup).await?;
        self.start_cycle(location).await;
        Ok(rolled_out)
    }

    /// Returns the costs of each adapter's calls in this process, by the identifier in its manifest.
    pub fn adapter_costs(&self) -> BTreeMap<String, CostsByCall> {
        self.connections.adapters.host.as_ref().map(Host::costs_by_adapter).unwrap_or_default()
    }

    /// Returns the durations of adapter calls and of the engine's own steps.
    pub fn durations(&self) -> Vec<Family> {
        let of_calls = self.connections.adapters.host.as_ref().map(Host::call_durations).unwrap_or_default();
        of_calls.into_iter().chain(self.metrics.durations.collect()).collect()
    }

    /// Returns the costs of a location's calls in this process.
    pub fn adapter_costs_at(&self, location: LocationId) -> CostsByCall {
        let host = self.connections.adapters.host.as_ref();
        host.map(|host| host.costs_at(&location.to_string())).unwrap_or_default()
    }

    async fn start_cycle(&self, location: LocationId) {
        if let Err(error) = self.sync_now(location).await {
            tracing::warn!(%location, %error, "the location runs another version of its adapter and could not be asked to read at once");
        }
    }
}
