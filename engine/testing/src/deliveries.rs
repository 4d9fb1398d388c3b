//! The deliveries of webhooks in a store.

use store::{Direction, Store, keys::Space};
use uuid::Uuid;
use webhooks::{delivery::Delivery, event::StoredEvent};

/// Returns the deliveries of all events, in the order of their ids.
pub fn deliveries(store: &dyn Store) -> Vec<Delivery> {
    let mut deliveries = Vec::new();
    for (key, event) in store.scan(Space::DeliveryEvent.range(), Direction::Forward, usize::MAX).unwrap() {
        let (first, event) = (Uuid::from_slice(&key[1..]).unwrap(), StoredEvent::from_bytes(&event).unwrap());
        for (endpoint, delivery) in event.deliveries(first) {
            deliveries.extend(Delivery::read(store, endpoint, delivery).unwrap());
        }
    }
    deliveries
}
