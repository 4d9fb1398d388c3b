//! Passes new deliveries from the outbox to the dispatcher of the same process, in memory.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::Notify;
use uuid::Uuid;

use super::{
    endpoint_queues::Found, event::StoredEvent, event_cache::EventCache, keys::Due, limits, model::EndpointId,
};

/// Wakes the dispatcher for the endpoints with new deliveries, and passes it the deliveries that it need not read.
#[derive(Default)]
pub struct Doorbell {
    arrivals: Mutex<BTreeMap<EndpointId, Arrivals>>,
    notify: Notify,
    events: EventCache,
    /// Scans of pending deliveries that the dispatcher has finished.
    scans: AtomicU64,
}

pub(crate) enum Arrivals {
    /// All new deliveries, in the order of their commits. `scans` is the number of scans before the first commit.
    Known { new: Vec<Found>, scans: u64 },
    /// The deliveries must be read from the store.
    InStore,
}

/// An event whose commit is in flight.
pub(crate) struct NewEvent {
    pub first: Uuid,
    pub event: Arc<StoredEvent>,
    pub bytes: usize,
}

impl Doorbell {
    /// Wakes the dispatcher, which reads the deliveries of the endpoints from the store.
    pub fn ring(&self, endpoints: impl IntoIterator<Item = EndpointId>) {
        self.arrivals.lock().extend(endpoints.into_iter().map(|endpoint| (endpoint, Arrivals::InStore)));
        self.notify.notify_one();
    }

    /// Passes committed events to the dispatcher. `scans` is the number of scans before their commit. Leaves out the
    /// deliveries of endpoints of other nodes.
    pub(crate) fn pass(&self, events: Vec<NewEvent>, scans: u64, is_here: impl Fn(EndpointId) -> bool) {
        for NewEvent { first, event, bytes } in events {
            let here: Vec<Due> = event
                .deliveries(first)
                .filter(|(endpoint, _)| is_here(*endpoint))
                .map(|(endpoint, delivery)| Due::queued(endpoint, delivery))
                .collect();
            self.events.add(first, event.clone(), bytes, here.len());
            let mut arrivals = self.arrivals.lock();
            for due in here {
                let found = Found { due, record: event.record.clone().into_bytes() };
                let none = || Arrivals::Known { new: Vec::new(), scans };
                arrivals.entry(due.endpoint).or_insert_with(none).add(found, scans);
            }
        }
        self.notify.notify_one();
    }

    /// Returns the new deliveries since the last call.
    pub(crate) fn take(&self) -> BTreeMap<EndpointId, Arrivals> {
        std::mem::take(&mut *self.arrivals.lock())
    }

    pub(crate) async fn wait(&self) {
        self.notify.notified().await;
    }

    pub(crate) fn events(&self) -> &EventCache {
        &self.events
    }

    /// Returns the number of finished scans. A later one may find deliveries that are committed now.
    pub(crate) fn scans(&self) -> u64 {
        self.scans.load(Ordering::Acquire)
    }

    /// Must be called after each scan of an endpoint's pending deliveries. Returns the number of the scan, from 1.
    pub(crate) fn scanned(&self) -> u64 {
        self.scans.fetch_add(1, Ordering::AcqRel) + 1
    }
}

impl Arrivals {
    fn add(&mut self, found: Found, before: u64) {
        match self {
            Arrivals::Known { new, scans } if new.len() < limits::LOOK_AHEAD => {
                new.push(found);
                *scans = before.min(*scans);
            }
            _ => *self = Arrivals::InStore,
        }
    }
}
