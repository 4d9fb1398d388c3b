//! The views of records in messages. The API defines them, as for its responses, and passes them to the engine.

use std::sync::Arc;

use location::{pull::Resource, time::Timestamp};
use records::{
    document::{Document, DocumentKind},
    sync_state::SyncSummary,
};
use serde_json::Value;
use setup::{LocationSetup, Setup};
use store::{Store, StoreError, keys};

/// Builds the objects in a message's `data`.
pub trait Views: Send + Sync {
    fn record(
        &self,
        context: &ViewContext<'_>,
        resource: Resource,
        stored: &[u8],
        related: &dyn RelatedRecords,
    ) -> Result<Value, ViewError>;

    fn sync_status(&self, context: &ViewContext<'_>, status: &SyncSummary) -> Result<Value, ViewError>;
}

/// The inputs of a view in addition to the record: the location, the time and the version of the API.
#[derive(Clone, Copy)]
pub struct ViewContext<'a> {
    pub setup: &'a Setup,
    pub location: &'a Arc<LocationSetup>,
    pub version: &'a str,
    /// `true` if the reader may see amounts. Otherwise, records that are not about money show none.
    pub amounts: bool,
    pub now: Timestamp,
}

impl<'a> ViewContext<'a> {
    /// Returns the name of a data source's adapter.
    pub fn adapter(&self, source: Option<u32>) -> Option<&'a str> {
        self.setup.sources.get(&source?).map(|source| source.adapter.as_str())
    }
}

/// The records that a record refers to, as they are when its view is made.
pub trait RelatedRecords {
    fn stored(&self, resource: Resource, scope: u32, id: u64) -> Result<Option<Vec<u8>>, StoreError>;
}

/// Reads directly from the store.
impl RelatedRecords for &dyn Store {
    fn stored(&self, resource: Resource, scope: u32, id: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.get(&keys::record(DocumentKind::Of(resource).byte(), scope, id))
    }
}

impl dyn RelatedRecords + '_ {
    pub fn get<T: Document>(&self, scope: u32, id: u64) -> Result<Option<T>, ViewError> {
        let DocumentKind::Of(resource) = T::KIND else { return Ok(None) };
        let stored = self.stored(resource, scope, id)?;
        stored.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(|_| ViewError::Damaged)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a stored record cannot be decoded")]
    Damaged,
}
