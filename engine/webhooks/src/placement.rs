//! Which endpoints a process sends to, where several share the store.

use store::StoreError;

use super::model::EndpointId;

/// How often what is in memory is read anew because another node changes it at the same time.
pub(super) const RACES: usize = 20;

/// Which endpoints this process sends to. Each is sent to by one node at a time.
pub trait Placement: Send + Sync {
    fn is_here(&self, endpoint: EndpointId) -> bool;

    /// Of this node.
    fn name(&self) -> String;

    /// Whether no process of that name serves any more, as far as can be seen.
    fn is_gone(&self, name: &str) -> Result<bool, StoreError>;
}
