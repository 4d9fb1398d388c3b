//! When operators' tokens were last used, over restarts: coarse, so that no call writes.

use location::time::Timestamp;
use store::{Batch, CommitError, StoreError, keys};

use crate::Engine;

impl Engine {
    /// As far as it was noted.
    pub fn token_last_used(&self, token: &[u8; 32]) -> Result<Option<Timestamp>, StoreError> {
        let found = self.deps().store.get(&keys::token_used(token))?;
        Ok(found.and_then(|bytes| bytes.try_into().ok()).map(|bytes| Timestamp(i64::from_be_bytes(bytes))))
    }

    /// What another node noted later stays.
    pub async fn note_token_uses(&self, uses: &[([u8; 32], Timestamp)]) -> Result<(), CommitError> {
        let mut batch = Batch::new();
        for (token, used) in uses {
            if self.token_last_used(token)?.is_none_or(|noted| noted < *used) {
                batch.put(keys::token_used(token), used.0.to_be_bytes().to_vec());
            }
        }
        if batch.is_empty() { Ok(()) } else { self.deps().store.commit(batch).await }
    }
}
