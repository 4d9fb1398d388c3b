//! By which subscriptions a batch was decided, where other nodes may change them meanwhile.

use std::sync::Arc;

use location::ids::InstitutionId;
use store::{Batch, StoreError};

use super::{keys, subscriptions::Subscriptions};

/// The subscriptions a batch was decided by. Unless the batch becomes durable, they are looked at anew.
pub(super) struct Decided {
    by: Arc<Subscriptions>,
    institution: InstitutionId,
    /// Its row stands as it was.
    stands: bool,
}

impl Decided {
    /// Puts into the batch that who hears of the institution has not changed. Of an institution without a row the batch makes one.
    pub(super) fn put(
        by: &Arc<Subscriptions>,
        institution: InstitutionId,
        batch: &mut Batch,
    ) -> Result<Option<Decided>, StoreError> {
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
        Ok(Some(Decided { by: by.clone(), institution, stands: false }))
    }

    /// The batch is durable.
    pub(super) fn committed(mut self) {
        self.stands = true;
    }
}

impl Drop for Decided {
    fn drop(&mut self) {
        if let Some(shared) = self.by.shared.as_ref().filter(|_| !self.stands) {
            shared.forget([self.institution]);
        }
    }
}

impl std::fmt::Debug for Decided {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decided({})", self.institution)
    }
}
