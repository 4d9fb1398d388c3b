//! Replaces the setup in force, completely or not at all. All steps that may fail come first. Then the new setup comes
//! into force at once for everything that it affects.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use adapter_host::{Adapter, Transport};
use processor::ehr_site::EhrSite;
use runtime::clock;
use setup::Setup;
use store::{CommitError, StoreError};

use crate::{
    Engine,
    changes::{ChangeImpact, SetupChanges, needs_restart},
    config_history,
    connections::IN_PROCESS,
    simulated::{OpenSimulated, SimulatedEhrs},
};

/// The applied changes.
pub struct Reconfigured {
    pub changes: SetupChanges,
    /// Simulated EHRs opened for the setup. Those no longer wanted stay open until the next start.
    pub simulated: SimulatedEhrs,
}

/// The reason why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum NotReconfigurable {
    /// Names of settings that require a restart.
    #[error("these take effect with a restart only: {}", .0.join(", "))]
    Restart(Vec<String>),
    /// Problems that prevent serving the setup.
    #[error("{}", .0.join("; "))]
    Unusable(Vec<String>),
    #[error(transparent)]
    Store(#[from] CommitError),
}

impl Engine {
    /// Serves `setup` from now on. Calls run one at a time, and do not disturb unaffected locations.
    pub async fn reconfigure(
        &self,
        setup: Setup,
        simulated: &dyn OpenSimulated,
    ) -> Result<Reconfigured, NotReconfigurable> {
        let _one_at_a_time = self.reconfiguring.lock().await;
        let before = self.setup();
        let fixed = needs_restart(&before, &setup);
        if !fixed.is_empty() {
            return Err(NotReconfigurable::Restart(fixed));
        }
        let mut changes = SetupChanges::between(&before, &setup);
        let connections = &self.connections;
        let adapters = connections.adapters.changed(&before.engine, &setup.engine).await;
        let adapters = adapters.map_err(NotReconfigurable::Unusable)?;
        take_in(&mut changes, &setup, &adapters);
        let mut problems = connections.check(&setup, &changes, |name| adapters.contains_key(name));
        problems.extend(self.source_conflicts(&setup, &changes).map_err(CommitError::from)?);
        if !problems.is_empty() {
            return Err(NotReconfigurable::Unusable(problems));
        }
        self.owners.iter().for_each(|owners| owners.learn(&setup));
        let opened = self.open_simulated(&setup, &changes, simulated).await?;
        config_history::note(&*self.deps.store, &setup, clock::now()).await?;

        // No step from here on can fail.
        let transports = opened.iter().map(|(id, ehr)| (*id, ehr.clone() as Arc<dyn Transport>));
        connections.add_in_process(transports);
        let put_in_force = || {
            connections.adapters.apply_setup(adapters, &changes.adapters.gone);
            self.deps.setup.store(Arc::new(setup));
            self.gateway().apply_setup();
            connections.apply_setup(&changes);
            self.webhooks().set_rules(self.setup().engine.webhooks);
            self.deps.change_counter.apply_setup(&self.setup());
            self.cluster.iter().for_each(|cluster| cluster.apply_setup(&self.setup()));
        };
        self.directory.apply_setup(&changes, put_in_force).await;
        Ok(Reconfigured { changes, simulated: opened })
    }

    /// Returns the locations whose records are of another EHR than the configured one, as messages.
    fn source_conflicts(&self, setup: &Setup, changes: &SetupChanges) -> Result<Vec<String>, StoreError> {
        let other = changes.touched.iter().filter(|(_, impact)| **impact == ChangeImpact::Source);
        let locations = changes.locations.added.iter().chain(other.map(|(id, _)| id));
        let mut problems = Vec::new();
        for location in locations.filter_map(|id| setup.locations.get(id)) {
            let site = EhrSite::stored(&*self.deps.store, location.id)?;
            let conflict = site.and_then(|site| site.conflict(location));
            problems.extend(conflict.map(|why| format!("location {}: {why}", location.id)));
        }
        Ok(problems)
    }

    /// Opens the in-process EHRs that are new or get other locations.
    async fn open_simulated(
        &self,
        setup: &Setup,
        changes: &SetupChanges,
        simulated: &dyn OpenSimulated,
    ) -> Result<SimulatedEhrs, NotReconfigurable> {
        let locations = changes.locations.added.iter().chain(&changes.locations.changed);
        let of_changed: BTreeSet<u32> = locations.filter_map(|id| setup.locations.get(id)?.source).collect();
        let wanted = setup.sources.iter().filter(|(id, source)| {
            source.base_url == IN_PROCESS && (!self.connections.has_in_process(**id) || of_changed.contains(id))
        });
        let sources: BTreeMap<_, _> = wanted.map(|(id, source)| (*id, source.clone())).collect();
        if sources.is_empty() {
            return Ok(SimulatedEhrs::new());
        }
        let wanted = Setup { sources, ..setup.clone() };
        let opened = simulated.open(&wanted, &self.deps.store).await;
        opened.map_err(|problem| NotReconfigurable::Unusable(vec![problem]))
    }
}

/// Adds loaded adapters to the changes, perhaps from an unchanged path. Their locations request the EHR's capabilities
/// again.
fn take_in(changes: &mut SetupChanges, setup: &Setup, loaded: &BTreeMap<String, Arc<Adapter>>) {
    let known = |changes: &SetupChanges, name: &String| {
        changes.adapters.added.contains(name) || changes.adapters.changed.contains(name)
    };
    for name in loaded.keys() {
        if !known(changes, name) {
            changes.adapters.changed.push(name.clone());
        }
    }
    changes.adapters.changed.sort();
    let runs = |source: Option<u32>| {
        source.and_then(|id| setup.sources.get(&id)).is_some_and(|source| loaded.contains_key(&source.adapter))
    };
    let concerned = setup.locations.values().filter(|location| runs(location.source));
    for location in concerned.filter(|location| changes.locations.added.binary_search(&location.id).is_err()) {
        let touched = changes.touched.entry(location.id).or_insert(ChangeImpact::Connection);
        if *touched == ChangeImpact::Settings {
            *touched = ChangeImpact::Connection;
        }
    }
}
