//! What holds where several processes, the nodes of a cluster, share the store. One that is alone has none of it.
//!
//! Endpoints and subscriptions are in the memory of every node. A number in the store counts their changes: each change insists on the
//! number it was decided by, and the next look takes in what others changed. What a turn tells subscribers insists on a row of its
//! institution alone, which holds the number of the last change that says who hears of it: institutions do not wait for each other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use location::ids::InstitutionId;
use store::{Key, Store, StoreError, Version};

use super::{keys, placement::Placement};

/// This process among those that share the store.
pub(super) struct Shared {
    pub store: Arc<dyn Store>,
    pub placement: Arc<dyn Placement>,
    /// The rows of institutions, as far as they fit what is in memory.
    rows: Mutex<HashMap<InstitutionId, Version>>,
}

impl Shared {
    pub(super) fn new(store: Arc<dyn Store>, placement: Arc<dyn Placement>) -> Shared {
        Shared { store, placement, rows: Mutex::default() }
    }

    /// How many changes of endpoints and subscriptions there were, and what says so.
    pub(super) fn changes(&self) -> Result<(u64, Option<Version>), StoreError> {
        self.number(&keys::changes())
    }

    /// The number of the last of them that says who hears of the institution.
    pub(super) fn changes_of(&self, institution: InstitutionId) -> Result<(u64, Option<Version>), StoreError> {
        self.number(&keys::changes_of(institution))
    }

    fn number(&self, key: &Key) -> Result<(u64, Option<Version>), StoreError> {
        let Some(found) = self.store.read(key)? else { return Ok((0, None)) };
        let bytes = found.value.as_slice().try_into();
        let number = bytes.map_err(|_| StoreError::damaged(key, "a count of changes that is no number"))?;
        Ok((u64::from_be_bytes(number), Some(found.version)))
    }

    pub(super) fn row(&self, institution: InstitutionId) -> Option<Version> {
        self.rows().get(&institution).copied()
    }

    /// It fits what is in memory.
    pub(super) fn keep(&self, institution: InstitutionId, row: Version) {
        self.rows().insert(institution, row);
    }

    /// What was known of these rows does not count any more.
    pub(super) fn forget(&self, institutions: impl IntoIterator<Item = InstitutionId>) {
        let mut rows = self.rows();
        for institution in institutions {
            rows.remove(&institution);
        }
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<InstitutionId, Version>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
