//! The adapter versions by name, for connections and for rollouts to single locations.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::RwLock;
use records::Ehr;

use super::{Adapter, AddressError, Connection, LoadState, connection::connect, slot::AdapterSlot};

/// Adapters by the names that the operator gives them. Cheap to clone: all clones share their state.
#[derive(Clone, Default)]
pub struct AdapterRegistry(Arc<RwLock<Named>>);

#[derive(Default)]
struct Named {
    /// The versions named by the configuration.
    configured: BTreeMap<String, Arc<AdapterSlot>>,
    /// Versions that were rolled out, by name and SHA-256.
    versions: HashMap<(String, String), Arc<AdapterSlot>>,
    /// SHA-256 by name and location, for locations on a version other than the configured one.
    chosen: HashMap<(String, String), String>,
}

impl AdapterRegistry {
    pub fn new() -> AdapterRegistry {
        AdapterRegistry::default()
    }

    /// Makes `adapter` the current version under `name`, also for existing connections. Returns the previous version.
    pub fn swap(&self, name: &str, adapter: Arc<Adapter>) -> Option<Arc<Adapter>> {
        match self.set_state(name, LoadState::Ready(adapter)) {
            Some(LoadState::Ready(before)) => Some(before),
            Some(LoadState::Preparing | LoadState::Refused(_)) | None => None,
        }
    }

    /// Registers a name whose adapter is being prepared. Connections can be made, and wait for it.
    pub fn announce(&self, name: &str) {
        self.set_state(name, LoadState::Preparing);
    }

    /// Marks the adapter as unusable.
    pub fn refuse(&self, name: &str, reason: &str) {
        self.set_state(name, LoadState::Refused(reason.into()));
    }

    /// Removes a name from the configuration. Calls in flight end on its version.
    pub fn forget(&self, name: &str) {
        self.0.write().configured.remove(name);
    }

    fn set_state(&self, name: &str, load_state: LoadState) -> Option<LoadState> {
        let mut named = self.0.write();
        match named.configured.get(name) {
            Some(slot) => Some(slot.0.send_replace(load_state)),
            None => {
                named.configured.insert(name.to_string(), Arc::new(AdapterSlot::new(load_state)));
                None
            }
        }
    }

    /// Sets the state of a rolled-out version.
    pub fn set_version_state(&self, name: &str, sha256: &str, load_state: LoadState) {
        let mut named = self.0.write();
        let slot = named.versions.entry((name.to_owned(), sha256.to_owned()));
        slot.or_insert_with(|| Arc::new(AdapterSlot::new(LoadState::Preparing))).0.send_replace(load_state);
    }

    /// Returns the state of a rolled-out version; `None` if it is unknown here.
    pub fn version(&self, name: &str, sha256: &str) -> Option<LoadState> {
        self.0.read().versions.get(&(name.to_owned(), sha256.to_owned())).map(|slot| slot.load_state())
    }

    /// Sets the version for a location's next calls; `None` for the configured one. Calls wait for an unknown version.
    /// Calls in flight end on the version they began with.
    pub fn choose(&self, name: &str, location: &str, sha256: Option<&str>) {
        let mut named = self.0.write();
        let of = (name.to_owned(), location.to_owned());
        let Some(sha256) = sha256 else {
            named.chosen.remove(&of);
            return;
        };
        let slot = named.versions.entry((name.to_owned(), sha256.to_owned()));
        slot.or_insert_with(|| Arc::new(AdapterSlot::new(LoadState::Preparing)));
        named.chosen.insert(of, sha256.to_owned());
    }

    pub fn get(&self, name: &str) -> Option<Arc<Adapter>> {
        self.0.read().configured.get(name)?.current()
    }

    /// Returns the state of the configured version; `None` for an unknown name.
    pub fn load_state(&self, name: &str) -> Option<LoadState> {
        self.0.read().configured.get(name).map(|slot| slot.load_state())
    }

    pub fn get_at(&self, name: &str, location: &str) -> Option<Arc<Adapter>> {
        self.slot_at(name, location)?.current()
    }

    /// Returns the state of a location's version; `None` for an unknown name.
    pub fn load_state_at(&self, name: &str, location: &str) -> Option<LoadState> {
        self.slot_at(name, location).map(|slot| slot.load_state())
    }

    /// Connects a location to its EHR through the version that is current when a call starts. Returns `None` for an
    /// unknown name.
    pub fn connect(&self, name: &str, connection: Connection) -> Option<Result<Arc<dyn Ehr>, AddressError>> {
        self.0.read().configured.get(name)?;
        let (registry, name) = (self.clone(), name.to_owned());
        let find = move |location: &str| {
            registry.slot_at(&name, location).unwrap_or_else(|| {
                let reason = format!("no adapter called {name} is loaded");
                Arc::new(AdapterSlot::new(LoadState::Refused(reason.into())))
            })
        };
        Some(connect(Arc::new(find), connection))
    }

    pub fn names(&self) -> Vec<String> {
        self.0.read().configured.keys().cloned().collect()
    }

    fn slot_at(&self, name: &str, location: &str) -> Option<Arc<AdapterSlot>> {
        let (named, of) = (self.0.read(), (name.to_owned(), location.to_owned()));
        let Some(sha256) = named.chosen.get(&of) else { return named.configured.get(name).cloned() };
        named.versions.get(&(of.0, sha256.clone())).cloned()
    }
}
