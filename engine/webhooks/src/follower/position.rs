//! The position of an institution's webhooks in the log of changes.

use location::ids::InstitutionId;
use serde::{Deserialize, Serialize};
use store::{Batch, Store, StoreError, Version};
use uuid::Uuid;

use crate::keys;

/// The durable cursor of a follower. Its version is the fencing token: of two followers, only one commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The number of the last change of the last commit whose messages are all enqueued.
    pub after: u64,
    /// The number of steps of the next commit whose messages are enqueued.
    pub steps: usize,
    /// The number of the last change of that commit. The next commit may be another one, if a new setup removes its
    /// location.
    #[serde(default)]
    pub steps_of: u64,
    /// The last delivery id of the institution. Ids continue above it, even if another node with another clock follows.
    pub last_delivery: Option<Uuid>,
}

impl Position {
    /// Reads the position, and the version that a batch must replace.
    pub(super) fn read(
        store: &dyn Store,
        institution: InstitutionId,
    ) -> Result<(Position, Option<Version>), StoreError> {
        let key = keys::position(institution);
        let Some(found) = store.read(&key)? else { return Ok((Position::default(), None)) };
        let position = serde_json::from_slice(&found.value);
        let position = position.map_err(|_| StoreError::damaged(&key, "a position that cannot be decoded"))?;
        Ok((position, Some(found.version)))
    }

    /// Returns the position from which changes are read if no subscription gets changes up to `starts_after`.
    pub(super) fn at_least(self, starts_after: u64) -> Position {
        if starts_after <= self.after { self } else { Position { after: starts_after, steps: 0, ..self } }
    }

    /// Replaces the position of the given version.
    pub(super) fn put(self, institution: InstitutionId, version: Option<Version>, batch: &mut Batch) {
        let value = serde_json::to_vec(&self).expect("plain data makes JSON");
        batch.expect_unchanged(keys::position(institution), version).put(keys::position(institution), value);
    }
}
