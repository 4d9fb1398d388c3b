//! The names under which connections find the version of an adapter that their location runs.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use records::ehr::Ehr;

use super::{
    AddressError, Connection,
    adapter::Adapter,
    connection::connect,
    slot::{Slot, Standing},
};

/// Adapters by the names the operator gives them. Cheap to clone: all clones are one.
#[derive(Clone, Default)]
pub struct AdapterRegistry(Arc<RwLock<Named>>);

#[derive(Default)]
struct Named {
    /// What the configuration names.
    configured: BTreeMap<String, Arc<Slot>>,
    /// Versions that were rolled out, by name and SHA-256.
    versions: HashMap<(String, String), Arc<Slot>>,
    /// Locations that do not run what the configuration names: by name and location the SHA-256.
    chosen: HashMap<(String, String), String>,
}

impl AdapterRegistry {
    pub fn new() -> AdapterRegistry {
        AdapterRegistry::default()
    }

    /// Makes `adapter` the current version under `name`, for connections that exist already, too. Returns the version before.
    pub fn swap(&self, name: &str, adapter: Arc<Adapter>) -> Option<Arc<Adapter>> {
        match self.stand(name, Standing::Ready(adapter)) {
            Some(Standing::Ready(before)) => Some(before),
            Some(Standing::Preparing | Standing::Refused(_)) | None => None,
        }
    }

    /// One that is to come: connections can be made, and wait for it.
    pub fn announce(&self, name: &str) {
        self.stand(name, Standing::Preparing);
    }

    /// One that cannot be used.
    pub fn refuse(&self, name: &str, reason: &str) {
        self.stand(name, Standing::Refused(reason.into()));
    }

    /// The operator names it no longer. Calls under way end on it.
    pub fn forget(&self, name: &str) {
        self.write().configured.remove(name);
    }

    fn stand(&self, name: &str, standing: Standing) -> Option<Standing> {
        let mut named = self.write();
        match named.configured.get(name) {
            Some(slot) => Some(slot.0.send_replace(standing)),
            None => {
                named.configured.insert(name.to_string(), Arc::new(Slot::new(standing)));
                None
            }
        }
    }

    /// How a version stands that is beside the one of the configuration.
    pub fn stand_version(&self, name: &str, sha256: &str, standing: Standing) {
        let mut named = self.write();
        let slot = named.versions.entry((name.to_owned(), sha256.to_owned()));
        slot.or_insert_with(|| Arc::new(Slot::new(Standing::Preparing))).0.send_replace(standing);
    }

    /// None: it is not known here.
    pub fn version(&self, name: &str, sha256: &str) -> Option<Standing> {
        self.read().versions.get(&(name.to_owned(), sha256.to_owned())).map(|slot| slot.standing())
    }

    /// The version a location runs from its next call on; without one what the configuration names. One that is not known here is waited
    /// for. Calls under way end on the version they began with.
    pub fn choose(&self, name: &str, location: &str, sha256: Option<&str>) {
        let mut named = self.write();
        let of = (name.to_owned(), location.to_owned());
        let Some(sha256) = sha256 else {
            named.chosen.remove(&of);
            return;
        };
        let slot = named.versions.entry((name.to_owned(), sha256.to_owned()));
        slot.or_insert_with(|| Arc::new(Slot::new(Standing::Preparing)));
        named.chosen.insert(of, sha256.to_owned());
    }

    pub fn get(&self, name: &str) -> Option<Arc<Adapter>> {
        self.read().configured.get(name)?.current()
    }

    /// None when there is no such name.
    pub fn standing(&self, name: &str) -> Option<Standing> {
        self.read().configured.get(name).map(|slot| slot.standing())
    }

    pub fn get_at(&self, name: &str, location: &str) -> Option<Arc<Adapter>> {
        self.slot_at(name, location)?.current()
    }

    /// Of what a location runs. None when there is no such name.
    pub fn standing_at(&self, name: &str, location: &str) -> Option<Standing> {
        self.slot_at(name, location).map(|slot| slot.standing())
    }

    /// A location's EHR through whatever version it runs when a call starts. None when there is no such name.
    pub fn connect(&self, name: &str, connection: Connection) -> Option<Result<Arc<dyn Ehr>, AddressError>> {
        self.read().configured.get(name)?;
        let (registry, name) = (self.clone(), name.to_owned());
        let find = move |location: &str| {
            registry.slot_at(&name, location).unwrap_or_else(|| {
                let reason = format!("no adapter called {name} is loaded");
                Arc::new(Slot::new(Standing::Refused(reason.into())))
            })
        };
        Some(connect(Arc::new(find), connection))
    }

    pub fn names(&self) -> Vec<String> {
        self.read().configured.keys().cloned().collect()
    }

    fn slot_at(&self, name: &str, location: &str) -> Option<Arc<Slot>> {
        let (named, of) = (self.read(), (name.to_owned(), location.to_owned()));
        let Some(sha256) = named.chosen.get(&of) else { return named.configured.get(name).cloned() };
        named.versions.get(&(of.0, sha256.clone())).cloned()
    }

    fn read(&self) -> RwLockReadGuard<'_, Named> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Named> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
