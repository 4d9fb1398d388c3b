//! A cache of event data for deliveries in flight, so that the data is read once for all deliveries of an event.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use store::{Store, StoreError};
use uuid::Uuid;

use super::{delivery::Delivery, delivery_id::first_of, limits};

/// Holds weak references: data that no attempt uses is freed.
#[derive(Default)]
pub(crate) struct PayloadCache(Mutex<HashMap<Uuid, Weak<RawValue>>>);

impl PayloadCache {
    /// Reads the event data, which the caller keeps until the attempt ends, so that other attempts find it.
    pub(crate) fn read(&self, store: &dyn Store, delivery: &Delivery) -> Result<Arc<RawValue>, StoreError> {
        let event = first_of(delivery.id);
        if let Some(shown) = self.lock().get(&event).and_then(Weak::upgrade) {
            return Ok(shown);
        }
        let read: Arc<RawValue> = delivery.data(store)?.into();
        let mut shown = self.lock();
        if shown.len() >= 2 * limits::CONCURRENCY {
            shown.retain(|_, shown| shown.strong_count() > 0);
        }
        shown.insert(event, Arc::downgrade(&read));
        Ok(read)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Weak<RawValue>>> {
        self.0.lock()
    }
}
