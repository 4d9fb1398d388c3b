//! The follower of changes by calls, for the audit trail. It reads the journals of locations with new records, and
//! stores the positions of locations once the entries are durable.
//!
//! ```text
//!  commits ──► doorbell ──► journals ──► AuditBatch ──► entries in the trail ──► positions ──► store
//! ```
//!
//! A location that is loaded rings too, so its next process continues at its position.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use location::ids::LocationId;
use processor::call_changes::{self, CallChange, CallChanges};
use runtime::doorbell::Doorbell;
use store::{Batch, CommitError, Store, StoreError};
use tokio::{task::spawn_blocking, time::sleep};

/// Number of changes, or of locations with new records, after which a batch takes no further location. A commit of the
/// store has a limited number of keys.
const ENOUGH: usize = 1_000;
/// Pause after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);

pub struct AuditFollower {
    store: Arc<dyn Store>,
    /// The locations with new journal records.
    doorbell: Arc<Doorbell<LocationId>>,
    /// Number of changes in the current batch; 1 while it is read.
    in_flight: AtomicUsize,
}

/// Changes to append to the trail. Pass the batch to `AuditFollower::confirm` once they are durable.
#[derive(Default)]
pub struct AuditBatch {
    /// The changes, in the order of each journal.
    pub changes: Vec<CallChange>,
    positions: BTreeMap<LocationId, u64>,
    /// Locations that may have further records.
    left: BTreeSet<LocationId>,
    failed: bool,
}

impl AuditBatch {
    fn read(store: &dyn Store, locations: BTreeSet<LocationId>) -> AuditBatch {
        let mut batch = AuditBatch::default();
        for location in locations {
            if batch.changes.len().max(batch.positions.len()) >= ENOUGH {
                batch.left.insert(location);
                continue;
            }
            match call_changes::read(store, location) {
                Ok(CallChanges { changes, read_to, more }) => {
                    batch.changes.extend(changes);
                    batch.positions.extend(read_to.map(|number| (location, number)));
                    batch.left.extend(more.then_some(location));
                }
                Err(error @ StoreError::Damaged { .. }) => {
                    tracing::error!(%location, %error, "the audit trail lacks changes of a damaged location until it is restored");
                }
                Err(error) => {
                    tracing::warn!(%location, %error, "the changes for the audit trail could not be read; trying again");
                    batch.left.insert(location);
                    batch.failed = true;
                }
            }
        }
        batch
    }
}

impl AuditFollower {
    /// Creates the follower, and prepares a store of an earlier version. No location may be in memory yet.
    pub(crate) async fn start(
        store: Arc<dyn Store>,
        doorbell: Arc<Doorbell<LocationId>>,
    ) -> Result<Arc<AuditFollower>, CommitError> {
        call_changes::begin(&*store).await?;
        Ok(Arc::new(AuditFollower { store, doorbell, in_flight: AtomicUsize::new(0) }))
    }

    /// Returns the number of changes in the current batch, plus the number of locations to read. It is 0 once every
    /// change is in the trail.
    pub fn waiting(&self) -> usize {
        // Read before and after, because a location may move from the doorbell to the batch or back in between.
        let (before, rung) = (self.in_flight.load(Ordering::SeqCst), self.doorbell.waiting());
        before.max(self.in_flight.load(Ordering::SeqCst)) + rung
    }

    /// Waits for changes.
    pub async fn next(&self) -> AuditBatch {
        loop {
            self.in_flight.store(1, Ordering::SeqCst);
            let locations = self.doorbell.answer();
            if locations.is_empty() {
                self.in_flight.store(0, Ordering::SeqCst);
                self.doorbell.wait().await;
                continue;
            }
            let (store, asked) = (self.store.clone(), locations.clone());
            // Reads wait for a remote store.
            let read = spawn_blocking(move || AuditBatch::read(&*store, asked)).await;
            let batch = read.unwrap_or_else(|error| {
                tracing::error!(%error, "reading the changes for the audit trail panicked; trying again");
                AuditBatch { left: locations, failed: true, ..AuditBatch::default() }
            });
            if !batch.changes.is_empty() {
                self.in_flight.store(batch.changes.len(), Ordering::SeqCst);
                return batch;
            }
            self.confirm(batch).await;
        }
    }

    /// Stores the positions after a batch whose entries are durable.
    pub async fn confirm(&self, AuditBatch { positions, left, failed, .. }: AuditBatch) {
        let mut batch = Batch::new();
        for (location, number) in positions {
            call_changes::put_position(&mut batch, location, number);
        }
        // Without the positions, the next batch would have the same changes again.
        while !batch.is_empty()
            && let Err(error) = self.store.commit(batch.clone()).await
        {
            tracing::warn!(%error, "the positions of the audit trail could not be stored; trying again");
            sleep(RETRY).await;
        }
        if failed {
            sleep(RETRY).await;
        }
        self.doorbell.ring(left);
        self.in_flight.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use store::{MemoryStore, keys};

    use super::*;

    #[test]
    fn batch_has_a_limited_number_of_locations() {
        let (store, mut batch) = (MemoryStore::new(), Batch::new());
        let locations: BTreeSet<LocationId> = (1..=1_500).map(LocationId).collect();
        for location in &locations {
            batch.put(keys::journal(location.0, 1), br#"{"at":1,"events":[]}"#.to_vec());
        }
        store.commit_now(batch).unwrap();
        let read = AuditBatch::read(&store, locations);
        assert_eq!((read.changes.len(), read.positions.len(), read.left.len()), (0, 1_000, 500));
        assert_eq!(read.left.first(), Some(&LocationId(1_001)));
    }
}
