//! State for several processes, the nodes of a cluster, that share the store. A single process has none.
//!
//! Every node holds all endpoints and subscriptions in memory. A number in the store counts their changes. Each change
//! has that number as a precondition, and nodes load each other's changes. A batch with messages has only a row of its
//! institution as a precondition, so that institutions do not block each other. The row holds the number of the last
//! change of the institution's recipients.

use std::sync::Arc;

use location::ids::InstitutionId;
use store::{Key, Store, StoreError, Version};

use super::{keys, placement::Placement};

/// The connection of this process to the others.
pub(super) struct SharedEndpoints {
    pub store: Arc<dyn Store>,
    pub placement: Arc<dyn Placement>,
}

impl SharedEndpoints {
    /// Returns the number of changes of endpoints and subscriptions, and the version of that value.
    pub(super) fn changes(&self) -> Result<(u64, Option<Version>), StoreError> {
        self.number(&keys::changes())
    }

    /// Returns the number of the last change of the institution's recipients.
    pub(super) fn changes_of(&self, institution: InstitutionId) -> Result<(u64, Option<Version>), StoreError> {
        self.number(&keys::changes_of(institution))
    }

    fn number(&self, key: &Key) -> Result<(u64, Option<Version>), StoreError> {
        let Some(found) = self.store.read(key)? else { return Ok((0, None)) };
        let bytes = found.value.as_slice().try_into();
        let number = bytes.map_err(|_| StoreError::damaged(key, "the count of changes is not a number"))?;
        Ok((u64::from_be_bytes(number), Some(found.version)))
    }
}
