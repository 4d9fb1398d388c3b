//! A loaded adapter, and the names under which connections find the current version of one.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use wasmtime::component::InstancePre;

use super::{
    AddressError, Connection, connection, host::Shared, imports::CallState, instance::Exports, manifest::Manifest,
};
use crate::ehr::Ehr;

/// One version of an adapter, compiled and linked. Several versions can be loaded side by side.
pub struct Adapter {
    pub(super) host: Arc<Shared>,
    pub(super) pre: InstancePre<CallState>,
    pub(super) exports: Exports,
    pub(super) manifest: Manifest,
    pub(super) sha256: String,
    pub(super) from_cache: bool,
}

impl Adapter {
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Of the component's file.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Whether the compiled component was in the cache.
    pub fn from_cache(&self) -> bool {
        self.from_cache
    }

    /// A location's EHR through exactly this version.
    pub fn connect(self: &Arc<Self>, connection: Connection) -> Result<Arc<dyn Ehr>, AddressError> {
        connection::connect(Arc::new(Slot::new(self.clone())), connection)
    }
}

/// The place of the current version. Calls in flight keep the version they started with alive.
pub(super) struct Slot(RwLock<Arc<Adapter>>);

impl Slot {
    fn new(adapter: Arc<Adapter>) -> Slot {
        Slot(RwLock::new(adapter))
    }

    pub fn current(&self) -> Arc<Adapter> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn swap(&self, adapter: Arc<Adapter>) -> Arc<Adapter> {
        std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), adapter)
    }
}

/// Adapters by the names the operator gives them.
#[derive(Default)]
pub struct Registry(RwLock<BTreeMap<String, Arc<Slot>>>);

impl Registry {
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Makes `adapter` the current version under `name`, for connections that exist already, too. Returns the version before.
    pub fn swap(&self, name: &str, adapter: Arc<Adapter>) -> Option<Arc<Adapter>> {
        let mut slots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match slots.get(name) {
            Some(slot) => Some(slot.swap(adapter)),
            None => {
                slots.insert(name.to_string(), Arc::new(Slot::new(adapter)));
                None
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<Arc<Adapter>> {
        self.slot(name).map(|slot| slot.current())
    }

    /// A location's EHR through whatever version is current when a call starts. None when there is no such name.
    pub fn connect(&self, name: &str, connection: Connection) -> Option<Result<Arc<dyn Ehr>, AddressError>> {
        self.slot(name).map(|slot| connection::connect(slot, connection))
    }

    pub fn names(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn slot(&self, name: &str) -> Option<Arc<Slot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}
