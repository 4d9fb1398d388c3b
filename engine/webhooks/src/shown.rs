//! What the messages under way show: read once for all of them that tell of one event.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use serde_json::value::RawValue;
use store::{Store, StoreError};
use uuid::Uuid;

use super::{delivery::Delivery, delivery_id::first_of, limits};

/// Holds nothing itself: what no attempt needs any more is gone.
#[derive(Default)]
pub(crate) struct Shown(Mutex<HashMap<Uuid, Weak<RawValue>>>);

impl Shown {
    /// To be kept until the attempt ends, so that others find it.
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
