//! Per endpoint: the number of waiting deliveries, and the events dropped because the queue was full. Both are also
//! stored, in the commit that changes them, so that a start reads few values however long the queues are.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use location::time::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use setup::WebhookRules;
use store::{Batch, CommitError, Direction, Store, keys::Space};

use super::{
    counts::{CountChange, Counts},
    keys,
    load_error::WebhookLoadError,
    model::EndpointId,
    placement::Placement,
};

/// Events for which an endpoint got no message because its queue was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    pub events: u64,
    pub since: Timestamp,
    pub until: Timestamp,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Negative for a moment if a delivery ends before the commit that enqueued the delivery is counted.
    waiting: i64,
    pub overflow: Option<Overflow>,
}

impl Overflow {
    pub fn single(at: Timestamp) -> Overflow {
        Overflow { events: 1, since: at, until: at }
    }

    #[must_use]
    pub fn and(self, later: Overflow) -> Overflow {
        Overflow { events: self.events + later.events, since: self.since, until: later.until }
    }
}

impl Backlog {
    pub fn waiting(&self) -> u64 {
        self.waiting.max(0).unsigned_abs()
    }
}

pub struct Backlogs {
    limit: AtomicUsize,
    of: Mutex<HashMap<EndpointId, Backlog>>,
    counts: Arc<Counts>,
    /// Dropped events since the start of the process.
    overflowed: AtomicU64,
}

/// No deliveries, with the default limit.
impl Default for Backlogs {
    fn default() -> Backlogs {
        let (of, counts, overflowed) = (Mutex::default(), Arc::default(), AtomicU64::new(0));
        Backlogs { limit: WebhookRules::default().queue.into(), of, counts, overflowed }
    }
}

impl Backlogs {
    /// Loads the counts from the store. If the store is `shared` with other nodes, only `refresh` loads the counts.
    pub(super) fn load(store: &dyn Store, limit: usize, shared: bool) -> Result<Backlogs, WebhookLoadError> {
        let (counts, waiting) = if shared { (Counts::unclaimed(), BTreeMap::new()) } else { Counts::load(store)? };
        let waiting = waiting.into_iter().filter(|(_, waiting)| *waiting != 0);
        let mut of: HashMap<EndpointId, Backlog> =
            waiting.map(|(endpoint, waiting)| (endpoint, Backlog { waiting, overflow: None })).collect();
        for (endpoint, overflow) in overflows(store)? {
            of.entry(endpoint).or_default().overflow = Some(overflow);
        }
        Ok(Backlogs { limit: limit.into(), of: Mutex::new(of), counts: Arc::new(counts), ..Backlogs::default() })
    }

    pub(super) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Claims a block of stripes for the counts of this node, if other nodes count too.
    pub(super) async fn claim(&self, store: &dyn Store, placement: &dyn Placement) -> Result<(), CommitError> {
        self.counts.claim(store, placement).await
    }

    /// Reloads the counts and overflows, including those of other nodes.
    pub(super) fn refresh(&self, store: &dyn Store) -> Result<(), WebhookLoadError> {
        let (sums, overflows) = (self.counts.sums(store)?, overflows(store)?);
        let mut of = self.of.lock();
        of.clear();
        // Summed with the backlogs locked: a change is in both the counts and the backlogs, or in neither.
        for (endpoint, waiting) in sums().into_iter().filter(|(_, waiting)| *waiting != 0) {
            of.insert(endpoint, Backlog { waiting, overflow: None });
        }
        for (endpoint, overflow) in overflows {
            of.entry(endpoint).or_default().overflow = Some(overflow);
        }
        Ok(())
    }

    /// Begins a change of the counts, to be added to a batch.
    pub(super) fn change(&self) -> CountChange {
        CountChange::begin(&self.counts)
    }

    /// Applies a change whose batch is durable.
    pub(super) fn changed(&self, change: &CountChange) {
        let mut of = self.of.lock();
        change.committed();
        for (endpoint, by) in change.by() {
            let backlog = of.entry(*endpoint).or_default();
            backlog.waiting += by;
            if *backlog == Backlog::default() {
                of.remove(endpoint);
            }
        }
    }

    /// Returns the endpoints whose count is not zero, with that count.
    pub(super) fn counted(&self) -> BTreeMap<EndpointId, i64> {
        let of = self.of.lock();
        of.iter().filter(|(_, it)| it.waiting != 0).map(|(endpoint, it)| (*endpoint, it.waiting)).collect()
    }

    /// Returns `true` if the queue of the endpoint has room for another delivery.
    pub(super) fn admits(&self, endpoint: EndpointId) -> bool {
        self.for_endpoint(endpoint).waiting() < self.limit.load(Ordering::Relaxed) as u64
    }

    /// Adds the overflow of an endpoint to a batch. `dropped` covers all events of that batch.
    pub(super) fn put_overflow(&self, endpoint: EndpointId, dropped: Overflow, batch: &mut Batch) {
        let overflow = self.for_endpoint(endpoint).overflow.map_or(dropped, |before| before.and(dropped));
        let value = serde_json::to_vec(&overflow).expect("plain data makes JSON");
        batch.put(keys::overflow(endpoint), value);
    }

    /// Records an overflow whose batch is durable.
    pub(super) fn overflowed_by(&self, endpoint: EndpointId, dropped: Overflow) {
        let mut of = self.of.lock();
        let backlog = of.entry(endpoint).or_default();
        backlog.overflow = Some(backlog.overflow.map_or(dropped, |before| before.and(dropped)));
        self.overflowed.fetch_add(dropped.events, Ordering::Relaxed);
    }

    /// Returns the number of deliveries for which the queue still has room.
    pub(super) fn capacity(&self, endpoint: EndpointId) -> usize {
        self.limit
            .load(Ordering::Relaxed)
            .saturating_sub(usize::try_from(self.for_endpoint(endpoint).waiting()).unwrap_or(usize::MAX))
    }

    /// Clears the overflow, after the owner has activated the endpoint again or the endpoint was deleted.
    pub(super) fn forget_overflow(&self, endpoint: EndpointId) {
        if let Some(backlog) = self.of.lock().get_mut(&endpoint) {
            backlog.overflow = None;
        }
    }

    pub fn for_endpoint(&self, endpoint: EndpointId) -> Backlog {
        self.of.lock().get(&endpoint).copied().unwrap_or_default()
    }

    /// Returns the number of waiting deliveries of all endpoints.
    pub fn waiting(&self) -> u64 {
        self.of.lock().values().map(Backlog::waiting).sum()
    }

    /// Returns the number of dropped events since the start of the process, counted once per endpoint.
    pub fn overflowed(&self) -> u64 {
        self.overflowed.load(Ordering::Relaxed)
    }
}

fn overflows(store: &dyn Store) -> Result<Vec<(EndpointId, Overflow)>, WebhookLoadError> {
    let mut overflows = Vec::new();
    for (key, value) in store.scan(Space::Overflow.range(), Direction::Forward, usize::MAX)? {
        if let Some(endpoint) = keys::parse_overflow(&key) {
            overflows.push((endpoint, serde_json::from_slice(&value)?));
        }
    }
    Ok(overflows)
}
