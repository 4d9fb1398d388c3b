//! How many deliveries wait, kept in the store in the batch of each change, so that a start need not count them.
//!
//! Changes are committed side by side by locations, owners and the dispatcher; none of them waits for another, and none may overwrite
//! what another wrote. So each has a stripe of counts to itself while it is on its way, and what waits for an endpoint is the sum over
//! all stripes. There are as many stripes as changes were ever on their way at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use store::{Batch, Direction, Store};

use super::{keys, load_error::LoadError, model::EndpointId};

/// Values read at once at the start.
const PAGE: usize = 1_000;

#[derive(Default)]
pub(super) struct Counts(Mutex<Stripes>);

#[derive(Default)]
struct Stripes {
    /// What each stripe added less what it took away, as it is durable.
    of: Vec<BTreeMap<EndpointId, i64>>,
    free: BTreeSet<usize>,
}

impl Counts {
    /// With the sum for each endpoint.
    pub(super) fn load(store: &dyn Store) -> Result<(Counts, BTreeMap<EndpointId, i64>), LoadError> {
        let (mut stripes, mut sums) = (Stripes::default(), BTreeMap::new());
        let mut range = keys::counts();
        loop {
            let page = store.scan(range.clone(), Direction::Forward, PAGE)?;
            let Some((last, _)) = page.last() else { break };
            range = range.after(last);
            for (key, value) in &page {
                let Some(stripe) = keys::parse_count(key) else { continue };
                let counts: BTreeMap<EndpointId, i64> = serde_json::from_slice(value)?;
                for (endpoint, count) in &counts {
                    *sums.entry(*endpoint).or_default() += count;
                }
                while stripes.of.len() <= stripe {
                    stripes.free.insert(stripes.of.len());
                    stripes.of.push(BTreeMap::new());
                }
                stripes.of[stripe].extend(counts);
            }
        }
        Ok((Counts(Mutex::new(stripes)), sums))
    }

    fn lock(&self) -> MutexGuard<'_, Stripes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A change of counts on its way: in a batch that may still come to nothing, in which case it is dropped.
pub(super) struct CountChange {
    counts: Arc<Counts>,
    stripe: usize,
    by: BTreeMap<EndpointId, i64>,
    /// Endpoints whose counts the batch does not have yet.
    unsaid: BTreeSet<EndpointId>,
}

impl CountChange {
    pub(super) fn begin(counts: &Arc<Counts>) -> CountChange {
        let mut stripes = counts.lock();
        let stripe = stripes.free.pop_first().unwrap_or_else(|| {
            stripes.of.push(BTreeMap::new());
            stripes.of.len() - 1
        });
        drop(stripes);
        CountChange { counts: counts.clone(), stripe, by: BTreeMap::new(), unsaid: BTreeSet::new() }
    }

    pub(super) fn add(&mut self, endpoint: EndpointId, deliveries: i64) {
        *self.by.entry(endpoint).or_default() += deliveries;
        if deliveries != 0 {
            self.unsaid.insert(endpoint);
        }
    }

    /// Writes what was added since the last time into the batch. Endpoints with ids next to each other share a value.
    pub(super) fn put(&mut self, batch: &mut Batch) {
        let stripes = self.counts.lock();
        let durable = &stripes.of[self.stripe];
        while let Some(endpoint) = self.unsaid.first() {
            let together = keys::counted_together(*endpoint);
            let mut counts: BTreeMap<EndpointId, i64> =
                durable.range(together.clone()).map(|(endpoint, count)| (*endpoint, *count)).collect();
            for (endpoint, by) in self.by.range(together.clone()) {
                *counts.entry(*endpoint).or_default() += by;
            }
            counts.retain(|_, count| *count != 0);
            let key = keys::count(self.stripe, *together.start());
            match counts.is_empty() {
                true => batch.delete(key),
                false => batch.put(key, serde_json::to_vec(&counts).expect("numbers make JSON")),
            };
            self.unsaid.retain(|endpoint| !together.contains(endpoint));
        }
    }

    pub(super) fn by(&self) -> &BTreeMap<EndpointId, i64> {
        &self.by
    }

    /// The batch is durable.
    pub(super) fn committed(&self) {
        debug_assert!(self.unsaid.is_empty(), "what was counted is in the batch");
        let mut stripes = self.counts.lock();
        let durable = &mut stripes.of[self.stripe];
        for (endpoint, by) in &self.by {
            let count = durable.entry(*endpoint).or_default();
            *count += by;
            if *count == 0 {
                durable.remove(endpoint);
            }
        }
    }
}

/// The stripe is free for the next change.
impl Drop for CountChange {
    fn drop(&mut self) {
        self.counts.lock().free.insert(self.stripe);
    }
}

impl std::fmt::Debug for CountChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.by.fmt(f)
    }
}
