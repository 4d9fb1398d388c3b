//! What an operator does with versions of adapters, and what their calls cost.

use std::collections::BTreeMap;

use adapter_host::{CostsByCall, Host};
use location::ids::LocationId;
use records::sync_state::AdapterState;
use runtime::metrics::Family;

use crate::{
    Engine,
    adapter_versions::{self, AdapterVersion, RolledOut, Tried, VersionError},
    connections::ConnectError,
    engine::adapter_state,
};

impl Engine {
    /// Takes a version of an adapter, which nobody runs yet.
    pub async fn add_adapter_version(&self, name: &str, component: Vec<u8>) -> Result<AdapterVersion, VersionError> {
        self.connections().adapters().add(name, component).await
    }

    /// The newest first.
    pub fn adapter_versions(&self, name: &str) -> Result<Vec<AdapterVersion>, VersionError> {
        self.connections().adapters().of(name)
    }

    /// How an adapter of the configuration stands.
    pub fn configured_adapter(&self, name: &str) -> Option<AdapterState> {
        Some(adapter_state(name, self.connections().adapters().registry().standing(name)?))
    }

    /// The name of a location's adapter, and what was rolled out to it; none where it has no adapter.
    pub fn rolled_out(&self, location: LocationId) -> Result<Option<(String, RolledOut)>, VersionError> {
        let Some(setup) = self.location(location) else { return Ok(None) };
        let Some((source, _)) = self.connections().adapter(&setup) else { return Ok(None) };
        Ok(Some((source.adapter.clone(), self.connections().adapters().at(&setup)?)))
    }

    /// Tries a version of its adapter at a location, without one that of the configuration: nothing changes.
    pub async fn try_adapter(&self, location: LocationId, sha256: Option<&str>) -> Result<Vec<Tried>, VersionError> {
        let setup = self.location(location).ok_or(VersionError::NoneAtLocation)?;
        let adapter = self.connections().adapters().loaded(&setup, sha256).await?;
        let refused = |error: ConnectError| VersionError::Refused(error.to_string());
        let ehr = self.connections().through(&setup, &adapter).map_err(refused)?.ok_or(VersionError::NoneAtLocation)?;
        adapter_versions::try_dry(&*ehr).await
    }

    /// From its next call on the location runs the version. What the EHR can do through it is asked at once.
    pub async fn roll_out(&self, location: LocationId, sha256: Option<String>) -> Result<RolledOut, VersionError> {
        let setup = self.location(location).ok_or(VersionError::NoneAtLocation)?;
        let rolled_out = self.connections().adapters().roll_out(&setup, sha256).await?;
        self.ask_anew(location).await;
        Ok(rolled_out)
    }

    /// Takes the last roll-out back.
    pub async fn roll_back(&self, location: LocationId) -> Result<RolledOut, VersionError> {
        let setup = self.location(location).ok_or(VersionError::NoneAtLocation)?;
        let rolled_out = self.connections().adapters().roll_back(&setup).await?;
        self.ask_anew(location).await;
        Ok(rolled_out)
    }

    /// What the calls of each adapter have cost in this process, by the identifier in its manifest.
    pub fn adapter_costs(&self) -> BTreeMap<String, CostsByCall> {
        self.connections().adapters().host().map(Host::costs_by_adapter).unwrap_or_default()
    }

    /// How long calls of adapters take, and the engine's own steps.
    pub fn durations(&self) -> Vec<Family> {
        let of_calls = self.connections().adapters().host().map(Host::call_durations).unwrap_or_default();
        of_calls.into_iter().chain(self.counted().durations.collect()).collect()
    }

    /// What the calls for a location have cost in this process.
    pub fn adapter_costs_at(&self, location: LocationId) -> CostsByCall {
        let host = self.connections().adapters().host();
        host.map(|host| host.costs_at(&location.to_string())).unwrap_or_default()
    }

    async fn ask_anew(&self, location: LocationId) {
        if let Err(error) = self.sync_now(location).await {
            tracing::warn!(%location, %error, "the location runs another version of its adapter and could not be asked to read at once");
        }
    }
}
