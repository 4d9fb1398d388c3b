//! What is thrown away in time, in small steps between the commits of others: old changes of the feed, places that were left long ago,
//! claims of idempotency keys that have expired.

use std::{sync::Arc, time::Duration};

use location::time::Timestamp;

use crate::{
    clock, feed,
    index::places,
    once,
    store::{Batch, CommitError, Store, StoreError},
};

/// Entries of one step: about as much as a group of commits.
const STEP: usize = 500;
const PAUSE: Duration = Duration::from_millis(20);
const EVERY: Duration = Duration::from_secs(3_600);

pub async fn run(store: Arc<dyn Store>) {
    loop {
        tokio::time::sleep(EVERY).await;
        if let Err(error) = all(&*store, clock::now(), PAUSE).await {
            tracing::warn!(%error, "upkeep of the store stopped half way; it goes on in an hour");
        }
    }
}

/// Everything that is to go as of `now`.
pub(crate) async fn all(store: &dyn Store, now: Timestamp, pause: Duration) -> Result<(), CommitError> {
    steps(store, pause, |batch| places::forget(store, now, STEP, batch).map(|count| count == STEP)).await?;
    steps(store, pause, |batch| once::forget(store, now, STEP, batch).map(|count| count == STEP)).await?;
    let mut after = None;
    steps(store, pause, |batch| {
        let Some(pruned) = feed::prune(store, after, now, STEP, batch)? else { return Ok(false) };
        if pruned.whole {
            after = Some(pruned.stream);
        }
        Ok(true)
    })
    .await
}

/// One commit per step until `step` says that there are no more.
async fn steps(
    store: &dyn Store,
    pause: Duration,
    mut step: impl FnMut(&mut Batch) -> Result<bool, StoreError>,
) -> Result<(), CommitError> {
    loop {
        let mut batch = Batch::new();
        let more = step(&mut batch)?;
        if !batch.is_empty() {
            match store.commit(batch).await {
                // Somebody changed one of them meanwhile: the next step reads it again.
                Ok(()) | Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(pause).await;
        }
        if !more {
            return Ok(());
        }
    }
}
