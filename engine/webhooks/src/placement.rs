//! Assignment of endpoints to the processes that share a store.

use store::StoreError;

use super::model::EndpointId;

/// The number of attempts at a change that may conflict with changes of other nodes.
pub(super) const RACES: usize = 20;

/// The endpoints that this process sends to. Each endpoint is assigned to one node at a time.
pub trait Placement: Send + Sync {
    fn is_here(&self, endpoint: EndpointId) -> bool;

    /// Returns the name of this node.
    fn name(&self) -> String;

    /// Returns `true` if no live process of that name is known.
    fn is_gone(&self, name: &str) -> Result<bool, StoreError>;
}
