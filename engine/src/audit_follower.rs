//! The follower of changes by calls, for the audit trail. It reads the journals of locations with new records, and
//! stores the positions of locations once the entries are durable.
//!
//! ```text
//!  commits ──► doorbell ──► journals ──► AuditBatch ──► entries in the trail ──► positions ──► store
//! ```
//!
//! A location that is loaded rings too, so its next process continues at its position. Only the node that hosts the
//! institution of a location follows it. A position is stored if it is still the one that was read: after the location
//! has moved, another node may have followed more. The steps of a batch are synchronous (`AuditBatch`); the simulation
//! stops between them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use location::LocationId;
use parking_lot::Mutex;
use processor::{
    Deps,
    call_changes::{self, CallChange, CallChanges},
};
use store::{Batch, CommitError, Store, StoreError, Version, keys};
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

/// Number of changes, or of locations with new records, after which a batch takes no further location. A commit of the
/// store has a limited number of keys.
const ENOUGH: usize = 1_000;
/// Pause between batches, so that the positions of busy locations are not stored with each of their commits.
const PAUSE: Duration = Duration::from_millis(10);
/// Pause after a failure of the store, and between checks of whether locations are on this node.
const RETRY: Duration = Duration::from_secs(1);

pub struct AuditFollower {
    /// The doorbell of calls has the locations with new journal records.
    deps: Arc<Deps>,
    /// Locations that were not on this node when they had new records. Those on another node are followed there.
    away: Mutex<BTreeSet<LocationId>>,
    /// Number of changes in the current batch; 1 while it is read.
    in_flight: AtomicUsize,
}

/// Changes to append to the trail. Pass the batch to `AuditFollower::confirm` once they are durable.
#[derive(Default)]
pub struct AuditBatch {
    /// The changes, in the order of each journal.
    pub changes: Vec<CallChange>,
    /// Locations that may have further records. They ring again once the positions are stored.
    pub left: BTreeSet<LocationId>,
    /// The number of the last record that was read, and the version of the position before it.
    positions: BTreeMap<LocationId, (u64, Option<Version>)>,
    failed: bool,
}

impl AuditBatch {
    /// Reads the changes of locations after their positions.
    pub fn read(store: &dyn Store, locations: BTreeSet<LocationId>) -> AuditBatch {
        let mut batch = AuditBatch::default();
        for location in locations {
            if batch.changes.len().max(batch.positions.len()) >= ENOUGH {
                batch.left.insert(location);
                continue;
            }
            match call_changes::read(store, location) {
                Ok(CallChanges { changes, read_to, more, position }) => {
                    batch.changes.extend(changes);
                    batch.positions.extend(read_to.map(|number| (location, (number, position))));
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

    /// Returns the commit that stores the positions, or `None` once they are stored. Commit it once the entries are
    /// durable, and pass the result to `note_commit`.
    pub fn positions(&self) -> Option<Batch> {
        let mut batch = Batch::new();
        for (location, (number, seen)) in &self.positions {
            call_changes::move_position(&mut batch, *location, *number, *seen);
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// Takes the result of the commit. A location whose position is no longer the one that was read is read again.
    /// Returns any other error.
    pub fn note_commit(&mut self, result: Result<(), CommitError>) -> Result<(), CommitError> {
        let Err(error) = result else {
            self.positions.clear();
            return Ok(());
        };
        if let CommitError::Conflict { key } = &error
            && let Some(location) = keys::parse_audit_position(key).map(LocationId)
            && self.positions.remove(&location).is_some()
        {
            self.left.insert(location);
            return Ok(());
        }
        Err(error)
    }
}

impl AuditFollower {
    /// Creates the follower, and prepares a store of an earlier version. No location may be in memory yet.
    pub(crate) async fn start(deps: Arc<Deps>) -> Result<Arc<AuditFollower>, CommitError> {
        call_changes::begin(&*deps.store).await?;
        Ok(Arc::new(AuditFollower { deps, away: Mutex::default(), in_flight: AtomicUsize::new(0) }))
    }

    /// Returns `true` if the institution of a location is on this node. A location that was removed from the setup is
    /// followed by the process that committed its last changes.
    fn is_here(&self, location: LocationId) -> bool {
        let Some(is_local) = &self.deps.is_local else { return true };
        let setup = self.deps.setup.now();
        setup.locations.get(&location).is_none_or(|location| is_local(location.institution))
    }

    /// Returns the locations to read.
    fn rung(&self) -> BTreeSet<LocationId> {
        let mut away = self.away.lock();
        let rung = self.deps.call_doorbell.answer().into_iter().chain(std::mem::take(&mut *away));
        let (here, elsewhere) = rung.partition(|location| self.is_here(*location));
        *away = elsewhere;
        here
    }

    async fn wait(&self) {
        let rung = self.deps.call_doorbell.wait();
        if self.away.lock().is_empty() {
            rung.await;
        } else {
            // The locations may have come meanwhile.
            drop(timeout(RETRY, rung).await);
        }
    }

    /// Returns the number of changes in the current batch, plus the number of locations to read. It is 0 once every
    /// change at the locations of this node is in the trail.
    pub fn waiting(&self) -> usize {
        // Read before and after, because a location may move from the doorbell to the batch or back in between.
        let (before, rung) = (self.in_flight.load(Ordering::SeqCst), self.deps.call_doorbell.waiting());
        before.max(self.in_flight.load(Ordering::SeqCst)) + rung
    }

    /// Waits for changes.
    pub async fn next(&self) -> AuditBatch {
        loop {
            self.in_flight.store(1, Ordering::SeqCst);
            let locations = self.rung();
            if locations.is_empty() {
                self.in_flight.store(0, Ordering::SeqCst);
                self.wait().await;
                continue;
            }
            let (store, asked) = (self.deps.store.clone(), locations.clone());
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
    pub async fn confirm(&self, mut batch: AuditBatch) {
        // Without the positions, the next batch would have the same changes again.
        while let Some(positions) = batch.positions() {
            let result = self.deps.store.commit(positions).await;
            if let Err(error) = batch.note_commit(result) {
                tracing::warn!(%error, "the positions of the audit trail could not be stored; trying again");
                sleep(RETRY).await;
            }
        }
        if batch.failed {
            sleep(RETRY).await;
        }
        self.deps.call_doorbell.ring(batch.left);
        self.in_flight.store(0, Ordering::SeqCst);
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::Event;
    use runtime::Caller;
    use store::MemoryStore;

    use super::*;

    /// Writes a journal record, with a caller if the change was made by a call.
    fn append(store: &MemoryStore, location: u32, number: u64, is_call: bool) {
        let caller = Caller {
            request_id: format!("{location}-{number}"),
            name: "a key".into(),
            operator: false,
            client: None,
            route: "POST /locations/{id}/sync".into(),
            tool: None,
        };
        let by = is_call.then_some(caller);
        let record = serde_json::json!({"at": number, "events": [Event::SyncRequested], "by": by});
        let mut batch = Batch::new();
        batch.put(keys::journal(location, number), record.to_string().into_bytes());
        store.commit_now(batch).unwrap();
    }

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

    #[test]
    fn location_whose_position_has_changed_is_read_again() {
        let store = MemoryStore::new();
        (1..=2).for_each(|location| append(&store, location, 1, true));
        let read = |ids: &[u32]| AuditBatch::read(&store, ids.iter().copied().map(LocationId).collect());
        let (mut late, other) = (read(&[1, 2]), read(&[1]));
        store.commit_now(other.positions().unwrap()).unwrap();
        while let Some(positions) = late.positions() {
            late.note_commit(store.commit_now(positions)).unwrap();
        }
        assert_eq!(late.left, BTreeSet::from([LocationId(1)]));
        assert_eq!(read(&[1, 2]).changes, []);
    }

    #[test]
    fn follower_that_stops_at_any_entry_repeats_entries_and_loses_none() {
        let history = || {
            let store = MemoryStore::new();
            for (location, number, is_call) in
                [(1, 1, true), (2, 1, true), (1, 2, false), (1, 3, true), (2, 2, true), (1, 4, true)]
            {
                append(&store, location, number, is_call);
            }
            store
        };
        let read = |store: &MemoryStore| AuditBatch::read(store, BTreeSet::from([1, 2].map(LocationId)));
        let all = read(&history()).changes;
        assert_eq!(all.len(), 5);
        // The last round stops after the positions are stored.
        for entries in 0..=all.len() + 1 {
            let (store, mut trail) = (history(), Vec::new());
            let stopped = read(&store);
            trail.extend(stopped.changes.iter().take(entries).cloned());
            if entries > all.len() {
                store.commit_now(stopped.positions().unwrap()).unwrap();
            }
            let repeated = if entries > all.len() { 0 } else { entries };
            let next = read(&store);
            trail.extend(next.changes.iter().cloned());
            next.positions().into_iter().for_each(|positions| store.commit_now(positions).unwrap());
            assert_eq!(trail, [&all[..repeated], &all[..]].concat(), "stopped after {entries} entries");
            assert_eq!(read(&store).changes, []);
        }
    }
}
