//! Events as they are stored: once, with recipients and data, for all deliveries.

use std::sync::{Arc, OnceLock};

use location::{
    ids::{InstitutionId, LocationId},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::{Batch, Store, StoreError};
use uuid::Uuid;

use super::{
    catalogue::ResourceType,
    delivery_id::nth_of,
    keys,
    model::{EndpointId, SubscriptionId},
    sign::EncodedBody,
};

/// The first byte of a stored event. Earlier versions stored the data alone, a JSON object.
const FORMAT: u8 = 1;

/// An event of an institution or, for a test message, of an endpoint. It never changes.
#[derive(Serialize, Deserialize)]
pub struct StoredEvent {
    /// `None` for test messages, which contain no data of an institution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) institution_id: Option<InstitutionId>,
    /// The institution's subdomain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subdomain: Option<String>,
    /// `None` if the event is not limited to a location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) location_id: Option<LocationId>,
    /// `None` for test messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource_type: Option<ResourceType>,
    pub(crate) event_name: String,
    pub(crate) event_time: Timestamp,
    /// The record that the event is about, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) record: String,
    /// The id of the request that caused the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<String>,
    /// The data may show a state after a later change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_newer: bool,
    /// The time of the first attempts.
    pub(crate) due_at: Timestamp,
    /// The recipients, in the order of their deliveries. Test messages have no subscription.
    pub(crate) recipients: Vec<(EndpointId, Option<SubscriptionId>)>,
    /// A compact JSON object.
    pub(crate) data: Box<RawValue>,
    /// The body of the messages without errors, once one was built.
    #[serde(skip)]
    pub(crate) body: OnceLock<Arc<EncodedBody>>,
}

impl StoredEvent {
    /// Returns the endpoint and the id of each delivery, of which `first` is the first.
    pub fn deliveries(&self, first: Uuid) -> impl DoubleEndedIterator<Item = (EndpointId, Uuid)> {
        let numbered = self.recipients.iter().enumerate();
        numbered.map(move |(number, (endpoint, _))| (*endpoint, nth_of(first, number)))
    }

    /// Adds the event and its deliveries to a batch. Returns the size of the event.
    pub(crate) fn put(&self, first: Uuid, batch: &mut Batch) -> usize {
        let mut value = vec![FORMAT];
        serde_json::to_writer(&mut value, self).expect("strings and JSON serialize");
        let bytes = value.len();
        batch.put(keys::event(first), value);
        for (endpoint, delivery) in self.deliveries(first) {
            batch.put(keys::queued(endpoint, delivery), self.record.clone().into_bytes());
        }
        bytes
    }

    /// Reads the event of a delivery.
    pub(crate) fn read(store: &dyn Store, delivery: Uuid) -> Result<StoredEvent, StoreError> {
        let key = keys::event(delivery);
        let event = store.get(&key)?.and_then(|stored| StoredEvent::from_bytes(&stored));
        event.ok_or_else(|| StoreError::damaged(&key, "the event of a webhook delivery cannot be decoded"))
    }

    /// Returns `None` for a value of an earlier version too.
    pub fn from_bytes(stored: &[u8]) -> Option<StoredEvent> {
        serde_json::from_slice(stored.strip_prefix(&[FORMAT])?).ok()
    }
}

/// Returns the data in a stored event of any version.
pub(crate) fn data_in(stored: &[u8]) -> Option<Box<RawValue>> {
    match StoredEvent::from_bytes(stored) {
        Some(event) => Some(event.data),
        None => serde_json::from_slice(stored).ok(),
    }
}
