//! A pool of reserved ids, so that preparing a decision never waits. If the pool is empty, the caller fetches a block
//! and prepares again.

use std::collections::{HashMap, VecDeque};

use location::pull::Resource;
use parking_lot::Mutex;
use records::{
    ehr::singular,
    schema::{self, rules},
};
use store::counters::{Counter, IdError, Ids};

/// Ids fetched per request.
const BLOCK: u32 = 1_000;

/// Returns the counters of all record ids, with their last ids.
pub fn counter_names() -> Vec<(String, u64)> {
    schema::RESOURCES.iter().map(|resource| (singular(*resource), rules(*resource).last_id)).collect()
}

#[derive(Default)]
pub struct Pool(Mutex<HashMap<Resource, VecDeque<u64>>>);

impl Pool {
    pub fn take(&self, resource: Resource) -> Option<u64> {
        self.0.lock().entry(resource).or_default().pop_front()
    }

    /// Returns an unused id to the pool.
    pub fn give_back(&self, resource: Resource, id: u64) {
        self.0.lock().entry(resource).or_default().push_front(id);
    }

    pub async fn fill(&self, ids: &Ids, resource: Resource) -> Result<(), IdError> {
        let name = singular(resource);
        let counter = Counter::up_to(rules(resource).last_id, &name);
        let fresh = ids.next(counter, BLOCK).await?;
        self.0.lock().entry(resource).or_default().extend(fresh);
        Ok(())
    }
}
