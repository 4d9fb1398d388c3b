//! A loaded adapter, and the names under which connections find the current version of one.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use records::ehr::Ehr;
use tokio::sync::watch;
use wasmtime::component::InstancePre;

use super::{
    AddressError, Connection, connection, host::Shared, imports::CallState, instance::Exports, manifest::Manifest,
};

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
        connection::connect(Arc::new(Slot::new(Standing::Ready(self.clone()))), connection)
    }
}

/// How an adapter stands that the operator named.
#[derive(Clone)]
pub enum Standing {
    /// It is being compiled.
    Preparing,
    Ready(Arc<Adapter>),
    /// It cannot be used, and why: its locations are closed until the operator mends it.
    Refused(Arc<str>),
}

/// The place of the current version. Calls in flight keep the version they started with alive.
pub(super) struct Slot(watch::Sender<Standing>);

/// Why there is no adapter for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoAdapter {
    Preparing,
    Refused(Arc<str>),
}

impl Slot {
    fn new(standing: Standing) -> Slot {
        Slot(watch::Sender::new(standing))
    }

    fn standing(&self) -> Standing {
        self.0.borrow().clone()
    }

    pub fn current(&self) -> Option<Arc<Adapter>> {
        match self.standing() {
            Standing::Ready(adapter) => Some(adapter),
            Standing::Preparing | Standing::Refused(_) => None,
        }
    }

    /// The current version, waited for at most so long while it is being prepared.
    pub async fn ready(&self, wait: Duration) -> Result<Arc<Adapter>, NoAdapter> {
        let mut standing = self.0.subscribe();
        let settled = standing.wait_for(|standing| !matches!(standing, Standing::Preparing));
        let settled = tokio::time::timeout(wait, settled).await;
        // The sender lives as long as the slot, so waiting ends with an answer or with the time.
        match settled.ok().and_then(Result::ok).as_deref() {
            Some(Standing::Ready(adapter)) => Ok(adapter.clone()),
            Some(Standing::Refused(reason)) => Err(NoAdapter::Refused(reason.clone())),
            Some(Standing::Preparing) | None => Err(NoAdapter::Preparing),
        }
    }
}

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
        self.slot(name).map(|slot| connection::connect(slot, connection))
    }

    pub fn names(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn slot(&self, name: &str) -> Option<Arc<Slot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}
