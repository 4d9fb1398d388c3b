//! A pool of reserved ids, so that preparing a decision never waits. If the pool is empty, the caller fetches a block
//! and prepares again.

use std::collections::{HashMap, VecDeque};

use location::Resource;
use parking_lot::Mutex;
use records::{
    ehr::singular,
    schema::{self, rules},
};
use store::counters::{Counter, IdError, Ids};

/// Ids fetched by the first request of a resource. The number doubles with each further request, because a turn that
/// runs out of ids is prepared again, and each request is a commit.
const BLOCK: u32 = 1_000;
/// Maximum number of ids fetched per request. The rest is lost when the process ends.
const MAX_BLOCK: u32 = 16_000;

/// Returns the counters of all record ids, with their last ids.
pub fn counter_names() -> Vec<(String, u64)> {
    schema::RESOURCES.iter().map(|resource| (singular(*resource), rules(*resource).last_id)).collect()
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
}
