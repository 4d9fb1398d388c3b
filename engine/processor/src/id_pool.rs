//! A pool of reserved ids, so that preparing a decision never waits. If the pool is empty, the caller fetches a block
//! and prepares again.

use std::collections::{HashMap, VecDeque};

use location::Resource;
use parking_lot::Mutex;
use records::{
    document::DocumentKind,
    ehr::singular,
    schema::{self, rules},
};
use store::{
    Batch, CommitError, Direction, KeyRange, Store, StoreError,
    counters::{Counter, IdError, Ids},
    keys::{self, Space},
};

/// Ids fetched by the first request of a resource. The number doubles with each further request, because a turn that
/// runs out of ids is prepared again, and each request is a commit.
const BLOCK: u32 = 1_000;
/// Maximum number of ids fetched per request. The rest is lost when the process ends.
const MAX_BLOCK: u32 = 16_000;

/// Returns the counters of all record ids, with their last ids.
pub fn counter_names() -> Vec<(String, u64)> {
    schema::RESOURCES.iter().map(|resource| (singular(*resource), rules(*resource).last_id)).collect()
}

/// Sets lost counters to the highest ids of their records. The store must have no other writer.
pub async fn repair_counters(store: &dyn Store) -> Result<(), CommitError> {
    let mut batch = Batch::new();
    for resource in schema::RESOURCES {
        let key = keys::counter(&singular(*resource));
        if store.get(&key)?.is_some() {
            continue;
        }
        let highest = highest_id(store, DocumentKind::Of(*resource).byte())?;
        if highest > 0 {
            batch.put(key, highest.to_be_bytes().to_vec());
        }
    }
    store.commit(batch).await
}

/// Returns the highest id of the records of a kind in all scopes, or 0 without records.
fn highest_id(store: &dyn Store, kind: u8) -> Result<u64, StoreError> {
    let (mut rest, mut highest) = (KeyRange::prefix(&[Space::Record as u8, kind]), 0);
    while let Some(first) = store.scan_keys(rest.clone(), Direction::Forward, 1)?.pop() {
        let Some((_, scope, _)) = keys::parse_record(&first) else { break };
        let of_scope = keys::records(kind, scope);
        let last = store.scan_keys(of_scope.clone(), Direction::Backward, 1)?.pop();
        highest = highest.max(last.and_then(|key| keys::parse_record(&key)).map_or(0, |(_, _, id)| id));
        rest.start = of_scope.end;
    }
    Ok(highest)
}

#[derive(Default)]
pub struct Pool(Mutex<HashMap<Resource, Reserve>>);

/// Reserved ids of a resource, and the number of ids fetched last.
#[derive(Default)]
struct Reserve {
    ids: VecDeque<u64>,
    fetched: u32,
}

impl Pool {
    pub fn take(&self, resource: Resource) -> Option<u64> {
        self.0.lock().entry(resource).or_default().ids.pop_front()
    }

    /// Returns an unused id to the pool.
    pub fn give_back(&self, resource: Resource, id: u64) {
        self.0.lock().entry(resource).or_default().ids.push_front(id);
    }

    pub async fn fill(&self, ids: &Ids, resource: Resource) -> Result<(), IdError> {
        let name = singular(resource);
        let counter = Counter::up_to(rules(resource).last_id, &name);
        let fetched = self.0.lock().entry(resource).or_default().fetched;
        let count = fetched.saturating_mul(2).clamp(BLOCK, MAX_BLOCK);
        let fresh = ids.next(counter, count).await?;
        let mut reserves = self.0.lock();
        let reserve = reserves.entry(resource).or_default();
        reserve.fetched = count;
        reserve.ids.extend(fresh);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn a_first_pull_fetches_ids_seldom_and_in_order() {
        let store = Arc::new(MemoryStore::new());
        let (ids, pool) = (Ids::new(store.clone()), Pool::default());
        let mut fetched = 0;
        for id in 1..=40_000 {
            let taken = match pool.take(Resource::Appointments) {
                Some(taken) => taken,
                None => {
                    fetched += 1;
                    pool.fill(&ids, Resource::Appointments).await.unwrap();
                    pool.take(Resource::Appointments).unwrap()
                }
            };
            assert_eq!(taken, id);
        }
        assert_eq!((fetched, store.commits()), (6, 6));
    }

    #[tokio::test]
    async fn lost_counters_continue_at_the_highest_id_of_their_records() {
        let store = MemoryStore::new();
        let record = |resource, scope, id| keys::record(DocumentKind::Of(resource).byte(), scope, id);
        let mut batch = Batch::new();
        for (scope, id) in [(1, 9), (1, 300), (7, 20), (u32::MAX, 5)] {
            batch.put(record(Resource::Appointments, scope, id), Vec::new());
        }
        batch.put(record(Resource::Patients, 1, 3), Vec::new());
        batch.put(keys::counter("patient"), 70_u64.to_be_bytes().to_vec());
        store.commit_now(batch).unwrap();
        repair_counters(&store).await.unwrap();
        let counter = |name| store.get(&keys::counter(name)).unwrap();
        assert_eq!(counter("appointment"), Some(300_u64.to_be_bytes().to_vec()));
        assert_eq!(counter("patient"), Some(70_u64.to_be_bytes().to_vec()));
        assert_eq!(counter("provider"), None);
    }
}
