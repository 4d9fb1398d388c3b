//! How records look in messages. That is the API's matter, as it is for its own answers: it hands its shapes to the engine.

use std::sync::Arc;

use location::{pull::Resource, time::Timestamp};
use records::{
    document::{Document, Kind},
    sync_state::SyncState,
};
use serde_json::Value;
use setup::{LocationSetup, Setup};
use store::{Store, StoreError, keys};

/// Makes the objects in a message's `data`.
pub trait Shapes: Send + Sync {
    /// A record the store has, as it looks on the wire.
    fn record(
        &self,
        scene: &Scene<'_>,
        resource: Resource,
        stored: &[u8],
        related: &dyn Related,
    ) -> Result<Value, Unshaped>;

    fn sync_status(&self, scene: &Scene<'_>, state: &SyncState) -> Result<Value, Unshaped>;
}

/// Where and when a record is shown, and in which version of the API.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub setup: &'a Setup,
    pub location: &'a Arc<LocationSetup>,
    pub version: &'a str,
    /// Whether those who see it may see amounts; without, records that are not about money show none.
    pub amounts: bool,
    pub now: Timestamp,
}

impl<'a> Scene<'a> {
    /// The system a data source's records come from.
    pub fn adapter(&self, source: Option<u32>) -> Option<&'a str> {
        self.setup.sources.get(&source?).map(|source| source.adapter.as_str())
    }
}

/// The records one refers to, as they are when it is shown.
pub trait Related {
    fn stored(&self, resource: Resource, scope: u32, id: u64) -> Result<Option<Vec<u8>>, StoreError>;
}

/// Straight from the store.
impl Related for &dyn Store {
    fn stored(&self, resource: Resource, scope: u32, id: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.get(&keys::record(Kind::Of(resource).byte(), scope, id))
    }
}

impl dyn Related + '_ {
    pub fn get<T: Document>(&self, scope: u32, id: u64) -> Result<Option<T>, Unshaped> {
        let Kind::Of(resource) = T::KIND else { return Ok(None) };
        let stored = self.stored(resource, scope, id)?;
        stored.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(|_| Unshaped::Damaged)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Unshaped {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a record that cannot be read or shown")]
    Damaged,
}
