//! The names under which connections find the current version of an adapter.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
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
pub struct AdapterRegistry(Arc<RwLock<BTreeMap<String, Arc<Slot>>>>);

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

    fn stand(&self, name: &str, standing: Standing) -> Option<Standing> {
        let mut slots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match slots.get(name) {
            Some(slot) => Some(slot.0.send_replace(standing)),
            None => {
                slots.insert(name.to_string(), Arc::new(Slot::new(standing)));
                None
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<Arc<Adapter>> {
        self.slot(name)?.current()
    }

    /// None when there is no such name.
    pub fn standing(&self, name: &str) -> Option<Standing> {
        self.slot(name).map(|slot| slot.standing())
    }

    /// A location's EHR through whatever version is current when a call starts. None when there is no such name.
    pub fn connect(&self, name: &str, connection: Connection) -> Option<Result<Arc<dyn Ehr>, AddressError>> {
        self.slot(name).map(|slot| connect(slot, connection))
    }

    pub fn names(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn slot(&self, name: &str) -> Option<Arc<Slot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}
