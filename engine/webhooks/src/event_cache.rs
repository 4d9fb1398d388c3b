//! Events in memory: those that this process enqueued, until their first attempts, and those of attempts in flight. A
//! new message is sent without reading and decoding its event, and another event is read once for its deliveries.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use store::{Store, StoreError};
use uuid::Uuid;

use super::{delivery_id::first_of, event::StoredEvent, limits};

#[derive(Default)]
pub(crate) struct EventCache(Mutex<Events>);

/// Events by the id of their first delivery.
#[derive(Default)]
struct Events {
    /// New events, the oldest first.
    new: BTreeMap<Uuid, CachedEvent>,
    /// Size of the new events.
    bytes: usize,
    /// Other events. An event is freed once no attempt uses it.
    in_use: HashMap<Uuid, Weak<StoredEvent>>,
}

struct CachedEvent {
    event: Arc<StoredEvent>,
    bytes: usize,
    /// Attempts until the event is released.
    attempts: usize,
}

impl EventCache {
    /// Adds a new event of the given size, for a number of first attempts. Releases the oldest events if the new ones
    /// take too much memory.
    pub(crate) fn add(&self, first: Uuid, event: Arc<StoredEvent>, bytes: usize, attempts: usize) {
        if attempts == 0 {
            return;
        }
        let mut events = self.0.lock();
        events.bytes += bytes;
        events.new.insert(first, CachedEvent { event, bytes, attempts });
        while events.bytes > limits::NEW_EVENT_BYTES
            && let Some(oldest) = events.new.keys().next().copied()
        {
            events.release(oldest);
        }
    }

    /// Returns the event of a delivery. The caller keeps it until the attempt ends, so that other attempts find it.
    pub(crate) fn read(&self, store: &dyn Store, delivery: Uuid) -> Result<Arc<StoredEvent>, StoreError> {
        let first = first_of(delivery);
        if let Some(event) = self.0.lock().for_attempt(first) {
            return Ok(event);
        }
        let event = Arc::new(StoredEvent::read(store, first)?);
        self.0.lock().keep_weak(first, &event);
        Ok(event)
    }
}

impl Events {
    /// Returns the event for an attempt, if it is in memory.
    fn for_attempt(&mut self, first: Uuid) -> Option<Arc<StoredEvent>> {
        let Some(new) = self.new.get_mut(&first) else { return self.in_use.get(&first).and_then(Weak::upgrade) };
        new.attempts -= 1;
        let (event, attempts) = (new.event.clone(), new.attempts);
        if attempts == 0 {
            self.release(first);
        }
        Some(event)
    }

    fn release(&mut self, first: Uuid) {
        if let Some(new) = self.new.remove(&first) {
            self.bytes -= new.bytes;
            self.keep_weak(first, &new.event);
        }
    }

    fn keep_weak(&mut self, first: Uuid, event: &Arc<StoredEvent>) {
        if self.in_use.len() >= 2 * limits::CONCURRENCY {
            self.in_use.retain(|_, event| event.strong_count() > 0);
        }
        self.in_use.insert(first, Arc::downgrade(event));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::OnceLock;

    use location::time::Timestamp;
    use serde_json::value::to_raw_value;
    use store::{Batch, MemoryStore};

    use super::*;
    use crate::{delivery_id::nth_of, model::EndpointId};

    /// Stores an event of about a megabyte to two endpoints, and adds it to the cache.
    fn add(cache: &EventCache, store: &MemoryStore, number: u128) -> Uuid {
        let first = Uuid::from_u128(number << 64);
        let event = StoredEvent {
            institution_id: None,
            subdomain: None,
            location_id: None,
            resource_type: None,
            event_name: "event".to_owned(),
            event_time: Timestamp(0),
            record: String::new(),
            origin: None,
            is_newer: false,
            due_at: Timestamp(0),
            recipients: vec![(EndpointId(1), None), (EndpointId(2), None)],
            data: to_raw_value(&"x".repeat(1 << 20)).unwrap(),
            body: OnceLock::new(),
        };
        let mut batch = Batch::new();
        let bytes = event.put(first, &mut batch);
        store.commit_now(batch).unwrap();
        cache.add(first, Arc::new(event), bytes, 2);
        first
    }

    #[test]
    fn a_new_event_is_in_memory_for_its_first_attempts() {
        let (cache, store) = (EventCache::default(), MemoryStore::new());
        let first = add(&cache, &store, 1);
        let before = store.reads();
        let one = cache.read(&store, first).unwrap();
        let other = cache.read(&store, nth_of(first, 1)).unwrap();
        assert!(Arc::ptr_eq(&one, &other));
        let events = cache.0.lock();
        assert_eq!((events.new.len(), events.bytes), (0, 0), "it is freed after its last attempt");
        drop(events);
        assert!(Arc::ptr_eq(&one, &cache.read(&store, first).unwrap()), "another attempt meanwhile");
        assert_eq!(store.reads(), before);
        drop((one, other));
        cache.read(&store, first).unwrap();
        assert_eq!(store.reads(), before + 1, "a retry");
    }

    #[test]
    fn new_events_take_bounded_memory_and_the_oldest_are_read() {
        let (cache, store) = (EventCache::default(), MemoryStore::new());
        let most = limits::NEW_EVENT_BYTES >> 20;
        let firsts: Vec<Uuid> = (1..=most as u128 + 4).map(|number| add(&cache, &store, number)).collect();
        assert!(cache.0.lock().bytes <= limits::NEW_EVENT_BYTES);
        for (number, first) in firsts.iter().enumerate() {
            let before = store.reads();
            cache.read(&store, *first).unwrap();
            // An event is a little larger than its data.
            assert_eq!(store.reads() > before, number < 5, "event {number}");
        }
    }
}
