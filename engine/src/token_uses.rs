//! Coarse times of the last uses of operators' tokens, kept across restarts. No call writes them itself.

use location::Timestamp;
use store::{Batch, CommitError, Store, StoreError, keys};

use crate::Engine;

impl Engine {
    /// Returns the last use that was stored.
    pub fn token_last_used(&self, token: &[u8; 32]) -> Result<Option<Timestamp>, StoreError> {
        last_used(&*self.deps.store, token)
    }

    /// Stores the uses of tokens. Later times stored by other nodes are kept.
    pub async fn note_token_uses(&self, uses: &[([u8; 32], Timestamp)]) -> Result<(), CommitError> {
        let (store, uses) = (self.deps.store.clone(), uses.to_vec());
        // On a blocking thread: a database may answer slowly, and the caller may give up meanwhile.
        let read = tokio::task::spawn_blocking(move || newer(&*store, &uses)).await;
        let batch = read.unwrap_or_else(|ended| Err(StoreError::Refusing { why: ended.to_string() }))?;
        if batch.is_empty() { Ok(()) } else { self.deps.store.commit(batch).await }
    }
}

fn last_used(store: &dyn Store, token: &[u8; 32]) -> Result<Option<Timestamp>, StoreError> {
    let found = store.get(&keys::token_used(token))?;
    Ok(found.and_then(|bytes| bytes.try_into().ok()).map(|bytes| Timestamp(i64::from_be_bytes(bytes))))
}

/// Returns a batch with the uses that are later than stored ones.
fn newer(store: &dyn Store, uses: &[([u8; 32], Timestamp)]) -> Result<Batch, StoreError> {
    let mut batch = Batch::new();
    for (token, used) in uses {
        if last_used(store, token)?.is_none_or(|noted| noted < *used) {
            batch.put(keys::token_used(token), used.0.to_be_bytes().to_vec());
        }
    }
    Ok(batch)
}
