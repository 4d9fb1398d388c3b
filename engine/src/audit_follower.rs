//! The follower of changes by calls, for the audit trail. It takes the changes from a queue in memory, and stores the
//! positions of locations once the entries are durable.
//!
//! ```text
//!  commits ──► queue ──────────────► AuditBatch ──► entries in the trail ──► positions ──► store
//!  loads ────► queue ──► journals ──────┘
//! ```
//!
//! The journal of a location is read after it was loaded, so its next process continues at its position. Only the node
//! that hosts the institution of a location follows it. Positions only move forward: after the location has moved,
//! another node may have followed more. While further changes wait, positions are stored once a second; after a crash,
//! the entries since then are repeated. The steps of a batch are synchronous (`AuditBatch`); the simulation stops
//! between them.

use std::{
    collections::{BTreeMap, BTreeSet},
    io, mem,
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
    call_queue::QueuedCalls,
};
use store::{CommitError, Store, StoreError};
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};

/// Number of changes, or of locations, after which a batch reads no further journal. Also the number of positions per
/// commit.
const ENOUGH: usize = 1_000;
/// Pause between batches, so that changes share a batch.
const PAUSE: Duration = Duration::from_millis(10);
/// Interval between commits of positions while further changes wait.
const POSITIONS_EVERY: Duration = Duration::from_secs(1);
/// Pause after a failure of the store, and between checks of whether locations are on this node.
const RETRY: Duration = Duration::from_secs(1);

pub struct AuditFollower {
    /// Dependencies of the processor, including the queue of changes.
    deps: Arc<Deps>,
    /// Locations that were not on this node when they had new records. Those on another node are followed there.
    away: Mutex<BTreeSet<LocationId>>,
    /// Number of changes in the current batch; 1 while it is read.
    in_flight: AtomicUsize,
    unstored: Mutex<UnstoredPositions>,
}

/// Positions of durable entries that wait for their commit.
struct UnstoredPositions {
    positions: BTreeMap<LocationId, u64>,
    /// The time of the last commit.
    stored_at: Instant,
}

/// Changes to append to the trail. Pass the batch to `AuditFollower::confirm` once they are durable.
#[derive(Default)]
pub struct AuditBatch {
    /// The changes, in the order of each journal.
    pub changes: Vec<CallChange>,
    /// Locations that may have further records. They are queued again once the entries are durable.
    pub left: BTreeSet<LocationId>,
    /// The last record of each location that was followed. Pass it to `CallQueue::note_followed`.
    pub followed: BTreeMap<LocationId, u64>,
    /// Records of `followed` that are not stored as positions.
    positions: BTreeMap<LocationId, u64>,
    failed: bool,
}

impl AuditBatch {
    /// Reads journals after the positions of their locations, and adds the changes that were passed in memory.
    pub fn read(store: &dyn Store, queued: QueuedCalls) -> AuditBatch {
        let mut batch = AuditBatch::default();
        for (location, followed) in queued.unread {
            if batch.changes.len().max(batch.followed.len()) >= ENOUGH {
                batch.left.insert(location);
                continue;
            }
            match call_changes::read(store, location, followed) {
                Ok(CallChanges { changes, after, read_to, more }) => {
                    batch.changes.extend(changes);
                    batch.followed.insert(location, read_to);
                    batch.positions.extend((after < read_to).then_some((location, read_to)));
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
        // The last change of a location is its position.
        let pushed = || queued.changes.iter().map(|change| change.decision);
        batch.followed.extend(pushed());
        batch.positions.extend(pushed());
        batch.changes.extend(queued.changes);
        batch
    }

    /// Returns the positions of the next commit (`call_changes::advance_positions`). Commit them once the entries are
    /// durable, and pass the result to `note_commit`. Returns an empty list once all are stored.
    pub fn next_positions(&self) -> Vec<(LocationId, u64)> {
        self.positions.iter().take(ENOUGH).map(|(location, number)| (*location, *number)).collect()
    }

    /// Takes the result of the commit. After a conflict, the positions are compared again, because another node has
    /// moved one of them. Returns any other error.
    pub fn note_commit(&mut self, result: Result<(), CommitError>) -> Result<(), CommitError> {
        match result {
            Ok(()) => {
                let next = self.positions.keys().nth(ENOUGH).copied();
                self.positions = next.map(|next| self.positions.split_off(&next)).unwrap_or_default();
                Ok(())
            }
            Err(CommitError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl AuditFollower {
    /// Creates the follower, and prepares a store of an earlier version. No location may be in memory yet.
    pub(crate) async fn start(deps: Arc<Deps>) -> Result<Arc<AuditFollower>, CommitError> {
        call_changes::begin(&*deps.store).await?;
        let unstored = UnstoredPositions { positions: BTreeMap::new(), stored_at: Instant::now() };
        let (away, in_flight) = (Mutex::default(), AtomicUsize::new(0));
        Ok(Arc::new(AuditFollower { deps, away, in_flight, unstored: Mutex::new(unstored) }))
    }

    /// Returns `true` if the institution of a location is on this node. A location that was removed from the setup is
    /// followed by the process that committed its last changes.
    fn is_here(&self, location: LocationId) -> bool {
        let Some(is_local) = &self.deps.is_local else { return true };
        let setup = self.deps.setup.load_full();
        setup.locations.get(&location).is_none_or(|location| is_local(location.institution))
    }

    /// Returns the changes and the locations to read. Locations on other nodes are left out.
    fn queued(&self) -> QueuedCalls {
        let mut away = self.away.lock();
        let mut queued = self.deps.call_queue.take(mem::take(&mut *away));
        away.extend(queued.locations().into_iter().filter(|location| !self.is_here(*location)));
        queued.changes.retain(|change| !away.contains(&change.decision.0));
        queued.unread.retain(|location, _| !away.contains(location));
        queued
    }

    async fn wait(&self) {
        let arrived = self.deps.call_queue.wait();
        if self.away.lock().is_empty() {
            arrived.await;
        } else {
            // The locations may have come meanwhile.
            drop(timeout(RETRY, arrived).await);
        }
    }

    /// Returns the number of changes in the current batch and in the queue, plus the number of locations to read. It is
    /// 0 once every change at the locations of this node is in the trail and its position is stored.
    pub fn waiting(&self) -> usize {
        // Read before and after, because a change may move from the queue to the batch in between, and a location back.
        let (before, queued) = (self.in_flight.load(Ordering::SeqCst), self.deps.call_queue.waiting());
        before.max(self.in_flight.load(Ordering::SeqCst)) + queued
    }

    /// Starts the interval between commits of positions again, so that a slow test does not exceed it.
    #[cfg(test)]
    pub(crate) fn restart_interval(&self) {
        self.unstored.lock().stored_at = Instant::now();
    }

    /// Waits for changes.
    pub async fn next(&self) -> AuditBatch {
        loop {
            self.in_flight.store(1, Ordering::SeqCst);
            let queued = self.queued();
            if queued.is_empty() && self.unstored.lock().positions.is_empty() {
                self.in_flight.store(0, Ordering::SeqCst);
                self.wait().await;
                continue;
            }
            let (store, locations) = (self.deps.store.clone(), queued.locations());
            // Reads wait for a remote store.
            let read = spawn_blocking(move || AuditBatch::read(&*store, queued)).await;
            let batch = read.unwrap_or_else(|error| {
                tracing::error!(%error, "reading the changes for the audit trail panicked; trying again");
                AuditBatch { left: locations, failed: true, ..AuditBatch::default() }
            });
            self.deps.call_queue.note_followed(&batch.followed);
            if !batch.changes.is_empty() {
                self.in_flight.store(batch.changes.len(), Ordering::SeqCst);
                return batch;
            }
            self.confirm(batch).await;
        }
    }

    /// Takes a batch whose entries are durable. Stores the positions, at the latest once no further change waits.
    pub async fn confirm(&self, mut batch: AuditBatch) {
        let due = {
            let mut unstored = self.unstored.lock();
            unstored.positions.append(&mut batch.positions);
            let is_idle = batch.left.is_empty() && self.deps.call_queue.waiting() == 0;
            if is_idle || unstored.stored_at.elapsed() >= POSITIONS_EVERY {
                unstored.stored_at = Instant::now();
                batch.positions = mem::take(&mut unstored.positions);
            }
            batch.next_positions()
        };
        self.store_positions(&mut batch, due).await;
        if batch.failed {
            sleep(RETRY).await;
        }
        self.deps.call_queue.ring(batch.left);
        self.in_flight.store(0, Ordering::SeqCst);
        sleep(PAUSE).await;
    }

    /// Stores all positions of a batch, beginning with `next`.
    async fn store_positions(&self, batch: &mut AuditBatch, mut next: Vec<(LocationId, u64)>) {
        while !next.is_empty() {
            let store = self.deps.store.clone();
            // Reads wait for a remote store.
            let advanced = spawn_blocking(move || call_changes::advance_positions(&*store, &next)).await;
            let result = match advanced {
                Ok(Ok(positions)) if positions.is_empty() => Ok(()),
                Ok(Ok(positions)) => self.deps.store.commit(positions).await,
                Ok(Err(error)) => Err(error.into()),
                Err(panicked) => {
                    let what = "reading the positions of the audit trail".to_owned();
                    Err(StoreError::Io { what, source: Arc::new(io::Error::other(panicked)) }.into())
                }
            };
            if let Err(error) = batch.note_commit(result) {
                tracing::warn!(%error, "the positions of the audit trail could not be stored; trying again");
                sleep(RETRY).await;
            }
            next = batch.next_positions();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::Event;
    use runtime::Caller;
    use store::{Batch, MemoryStore, keys};

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

    fn read(store: &MemoryStore, unread: impl IntoIterator<Item = u32>) -> AuditBatch {
        let unread = unread.into_iter().map(|location| (LocationId(location), 0)).collect();
        AuditBatch::read(store, QueuedCalls { changes: Vec::new(), unread })
    }

    /// Stores the positions of a batch. `meanwhile` runs before each commit. Returns the number of commits.
    fn store_positions(store: &MemoryStore, batch: &mut AuditBatch, mut meanwhile: impl FnMut()) -> usize {
        let mut commits = 0;
        while !batch.next_positions().is_empty() {
            let positions = call_changes::advance_positions(store, &batch.next_positions()).unwrap();
            meanwhile();
            commits += usize::from(!positions.is_empty());
            batch.note_commit(store.commit_now(positions)).unwrap();
        }
        commits
    }

    #[test]
    fn batch_has_a_limited_number_of_locations() {
        let (store, mut batch) = (MemoryStore::new(), Batch::new());
        for location in 1..=1_500 {
            batch.put(keys::journal(location, 1), br#"{"at":1,"events":[]}"#.to_vec());
        }
        store.commit_now(batch).unwrap();
        let read = read(&store, 1..=1_500);
        assert_eq!((read.changes.len(), read.positions.len(), read.left.len()), (0, 1_000, 500));
        assert_eq!(read.left.first(), Some(&LocationId(1_001)));
    }

    #[test]
    fn commit_has_a_limited_number_of_positions() {
        let store = MemoryStore::new();
        let positions = (1..=2_500).map(|location| (LocationId(location), 3)).collect();
        let mut batch = AuditBatch { positions, ..AuditBatch::default() };
        assert_eq!(store_positions(&store, &mut batch, || {}), 3);
        for location in [1, 1_000, 1_001, 2_500].map(LocationId) {
            assert_eq!(call_changes::position(&store, location).unwrap(), Some(3));
        }
    }

    #[test]
    fn position_that_another_node_has_moved_is_compared_again() {
        for (other, commits) in [(1, 2), (2, 1)] {
            let store = MemoryStore::new();
            for number in 1..=2 {
                append(&store, 1, number, true);
            }
            let mut batch = read(&store, [1]);
            let mut moved = false;
            let meanwhile = || {
                if !std::mem::replace(&mut moved, true) {
                    let mut elsewhere = Batch::new();
                    call_changes::put_position(&mut elsewhere, LocationId(1), other);
                    store.commit_now(elsewhere).unwrap();
                }
            };
            assert_eq!(store_positions(&store, &mut batch, meanwhile), commits, "moved to {other}");
            assert_eq!(call_changes::position(&store, LocationId(1)).unwrap(), Some(2));
            assert_eq!(read(&store, [1]).changes, []);
        }
    }

    /// The first location was passed in memory, and the second is read from its journal.
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
        let all = read(&history(), [1, 2]).changes;
        assert_eq!(all.len(), 5);
        // The last round stops after the positions are stored.
        for entries in 0..=all.len() + 1 {
            let (store, mut trail) = (history(), Vec::new());
            let (changes, unread) = (read(&store, [1]).changes, BTreeMap::from([(LocationId(2), 0)]));
            let mut stopped = AuditBatch::read(&store, QueuedCalls { changes, unread });
            trail.extend(stopped.changes.iter().take(entries).cloned());
            let repeated = stopped.changes[..entries.min(all.len())].to_vec();
            if entries > all.len() {
                store_positions(&store, &mut stopped, || {});
            }
            let mut next = read(&store, [1, 2]);
            trail.extend(next.changes.iter().cloned());
            store_positions(&store, &mut next, || {});
            let expected = if entries > all.len() { repeated } else { [&repeated[..], &all[..]].concat() };
            assert_eq!(trail, expected, "stopped after {entries} entries");
            assert_eq!(read(&store, [1, 2]).changes, []);
        }
    }
}
