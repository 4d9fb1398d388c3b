//! The subscriptions on which a batch is based, as a precondition of its commit.

use std::sync::Arc;

use location::ids::InstitutionId;
use store::{Batch, StoreError};

use super::{keys, subscriptions::Subscriptions};

/// The precondition that the recipients of an institution have not changed. Unless the batch becomes durable, the
/// subscriptions are loaded again for the next batch.
pub(super) struct SubscriptionFence {
    by: Arc<Subscriptions>,
    institution: InstitutionId,
    /// The batch is durable, so the remembered version is still valid.
    stands: bool,
}

impl SubscriptionFence {
    /// Adds the precondition to the batch. Creates the row of an institution that has none.
    pub(super) fn put(
        by: &Arc<Subscriptions>,
        institution: InstitutionId,
        batch: &mut Batch,
    ) -> Result<Option<SubscriptionFence>, StoreError> {
        let Some(shared) = &by.shared else { return Ok(None) };
        let (key, mut row) = (keys::changes_of(institution), shared.row(institution));
        if row.is_none() {
            let (number, found) = shared.changes_of(institution)?;
            by.at_least(number)?;
            row = found;
        }
        batch.expect_unchanged(key.clone(), row);
        if let Some(row) = row {
            shared.keep(institution, row);
        } else {
            batch.put(key, 0_u64.to_be_bytes().to_vec());
        }
        Ok(Some(SubscriptionFence { by: by.clone(), institution, stands: false }))
    }

    /// Marks the batch as durable.
    pub(super) fn committed(mut self) {
        self.stands = true;
    }
}

impl Drop for SubscriptionFence {
    fn drop(&mut self) {
        if let Some(shared) = self.by.shared.as_ref().filter(|_| !self.stands) {
            shared.forget([self.institution]);
        }
    }
}

impl std::fmt::Debug for SubscriptionFence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decided({})", self.institution)
    }
}
