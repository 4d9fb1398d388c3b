//! How much waits for each endpoint, and what its queue had no room for. Both are also in the store, in the commit of the change, so that
//! a start reads few values however much waits.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use location::time::Timestamp;
use serde::{Deserialize, Serialize};
use setup::WebhookRules;
use store::{Batch, CommitError, Direction, Store};

use super::{
    counts::{CountChange, Counts},
    keys,
    load_error::LoadError,
    model::EndpointId,
    placement::Placement,
};

/// Events of which an endpoint got no message because too many waited already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    pub events: u64,
    pub since: Timestamp,
    pub until: Timestamp,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Below zero for a moment when a delivery ends before its commit was counted.
    waiting: i64,
    pub overflow: Option<Overflow>,
}

impl Overflow {
    /// One event more.
    pub fn of_one(at: Timestamp) -> Overflow {
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
    /// In this process's life.
    overflowed: AtomicU64,
}

/// Of nobody yet.
impl Default for Backlogs {
    fn default() -> Backlogs {
        let (of, counts, overflowed) = (Mutex::default(), Arc::default(), AtomicU64::new(0));
        Backlogs { limit: WebhookRules::default().queue.into(), of, counts, overflowed }
    }
}

impl Backlogs {
    /// `shared`: other nodes count too, and `refresh` says what.
    pub(super) fn load(store: &dyn Store, limit: usize, shared: bool) -> Result<Backlogs, LoadError> {
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

    /// Claims what this node counts in, where other nodes count too.
    pub(super) async fn claim(&self, store: &dyn Store, placement: &dyn Placement) -> Result<(), CommitError> {
        self.counts.claim(store, placement).await
    }

    /// Takes in what others have counted and left out.
    pub(super) fn refresh(&self, store: &dyn Store) -> Result<(), LoadError> {
        let (sums, overflows) = (self.counts.sums(store)?, overflows(store)?);
        let mut of = self.lock();
        of.clear();
        // With the backlogs locked: no change is in one of them alone.
        for (endpoint, waiting) in sums().into_iter().filter(|(_, waiting)| *waiting != 0) {
            of.insert(endpoint, Backlog { waiting, overflow: None });
        }
        for (endpoint, overflow) in overflows {
            of.entry(endpoint).or_default().overflow = Some(overflow);
        }
        Ok(())
    }

    /// A change of what waits, to go into a batch.
    pub(super) fn change(&self) -> CountChange {
        CountChange::begin(&self.counts)
    }

    /// The batch is durable.
    pub(super) fn changed(&self, change: &CountChange) {
        let mut of = self.lock();
        change.committed();
        for (endpoint, by) in change.by() {
            let backlog = of.entry(*endpoint).or_default();
            backlog.waiting += by;
            if *backlog == Backlog::default() {
                of.remove(endpoint);
            }
        }
    }

    /// Endpoints for which something waits, or less than nothing does, by their counts.
    pub(super) fn counted(&self) -> BTreeMap<EndpointId, i64> {
        let of = self.lock();
        of.iter().filter(|(_, it)| it.waiting != 0).map(|(endpoint, it)| (*endpoint, it.waiting)).collect()
    }

    /// Whether one more may wait.
    pub(super) fn admits(&self, endpoint: EndpointId) -> bool {
        self.of(endpoint).waiting() < self.limit.load(Ordering::Relaxed) as u64
    }

    /// Says in a batch what an endpoint is not told of the events it commits. `dropped` is all of that batch.
    pub(super) fn put_overflow(&self, endpoint: EndpointId, dropped: Overflow, batch: &mut Batch) {
        let overflow = self.of(endpoint).overflow.map_or(dropped, |before| before.and(dropped));
        let value = serde_json::to_vec(&overflow).expect("plain data makes JSON");
        batch.put(keys::overflow(endpoint), value);
    }

    /// The batch that said so is durable.
    pub(super) fn overflowed_by(&self, endpoint: EndpointId, dropped: Overflow) {
        let mut of = self.lock();
        let backlog = of.entry(endpoint).or_default();
        backlog.overflow = Some(backlog.overflow.map_or(dropped, |before| before.and(dropped)));
        self.overflowed.fetch_add(dropped.events, Ordering::Relaxed);
    }

    /// How many more may wait.
    pub(super) fn room(&self, endpoint: EndpointId) -> usize {
        self.limit
            .load(Ordering::Relaxed)
            .saturating_sub(usize::try_from(self.of(endpoint).waiting()).unwrap_or(usize::MAX))
    }

    /// Its owner has seen it, or the endpoint is gone.
    pub(super) fn forget_overflow(&self, endpoint: EndpointId) {
        if let Some(backlog) = self.lock().get_mut(&endpoint) {
            backlog.overflow = None;
        }
    }

    pub fn of(&self, endpoint: EndpointId) -> Backlog {
        self.lock().get(&endpoint).copied().unwrap_or_default()
    }

    /// What waits for all endpoints together.
    pub fn waiting(&self) -> u64 {
        self.lock().values().map(Backlog::waiting).sum()
    }

    /// Events without room since the start of the process, counted once for each endpoint.
    pub fn overflowed(&self) -> u64 {
        self.overflowed.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<EndpointId, Backlog>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn overflows(store: &dyn Store) -> Result<Vec<(EndpointId, Overflow)>, LoadError> {
    let mut overflows = Vec::new();
    for (key, value) in store.scan(keys::overflows(), Direction::Forward, usize::MAX)? {
        if let Some(endpoint) = keys::parse_overflow(&key) {
            overflows.push((endpoint, serde_json::from_slice(&value)?));
        }
    }
    Ok(overflows)
}
