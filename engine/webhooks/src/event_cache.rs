//! A cache of events for deliveries in flight, so that an event is read once for all of its deliveries.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::{Mutex, MutexGuard};
use store::{Store, StoreError};
use uuid::Uuid;

use super::{delivery_id::first_of, event::StoredEvent, limits};

/// Holds weak references: an event that no attempt uses is freed.
#[derive(Default)]
pub(crate) struct EventCache(Mutex<HashMap<Uuid, Weak<StoredEvent>>>);

impl EventCache {
    /// Reads the event of a delivery. The caller keeps it until the attempt ends, so that other attempts find it.
    pub(crate) fn read(&self, store: &dyn Store, delivery: Uuid) -> Result<Arc<StoredEvent>, StoreError> {
        let first = first_of(delivery);
        if let Some(event) = self.lock().get(&first).and_then(Weak::upgrade) {
            return Ok(event);
        }
        let event = Arc::new(StoredEvent::read(store, first)?.0);
        let mut events = self.lock();
        if events.len() >= 2 * limits::CONCURRENCY {
            events.retain(|_, event| event.strong_count() > 0);
        }
        events.insert(first, Arc::downgrade(&event));
        Ok(event)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Weak<StoredEvent>>> {
        self.0.lock()
    }
}
