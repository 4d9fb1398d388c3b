//! Where events become deliveries: inside the batch that commits the change, so that none is lost and none is invented.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use location::{ids::InstitutionId, time::Timestamp};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use uuid::Uuid;

use super::{
    catalogue::{Event, EventName},
    delivery::{Delivery, MAX_OF_ONE_EVENT, State, nth_of},
    keys,
    model::{EndpointId, Subscription},
    subscriptions::Subscriptions,
};
use crate::store::Batch;

/// Something that is being committed and that subscribers are told about.
pub struct CommittedEvent<'a> {
    pub institution: InstitutionId,
    pub name: EventName,
    pub time: Timestamp,
    /// The changed record under its resource's name.
    pub data: &'a Map<String, Value>,
}

/// The endpoints that got something new, and how much. To be handed to `Outbox::committed` once the batch is durable.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "the dispatcher learns of the deliveries only through `Outbox::committed`"]
pub struct Enqueued(BTreeMap<EndpointId, usize>);

impl Enqueued {
    /// For batches that carry several events.
    pub fn and(mut self, other: Enqueued) -> Enqueued {
        for (endpoint, deliveries) in other.0 {
            self.add(endpoint, deliveries);
        }
        self
    }

    pub(super) fn add(&mut self, endpoint: EndpointId, deliveries: usize) {
        *self.0.entry(endpoint).or_default() += deliveries;
    }
}

/// Keys that an event with so many deliveries adds to its batch: three for each, and what the event shows.
pub const fn keys_of(deliveries: usize) -> usize {
    3 * deliveries + 1
}

/// What an actor holds of webhooks.
#[derive(Clone)]
pub struct Outbox {
    subscriptions: Arc<Subscriptions>,
    doorbell: Arc<Doorbell>,
}

impl Outbox {
    pub fn new(subscriptions: Arc<Subscriptions>, doorbell: Arc<Doorbell>) -> Outbox {
        Outbox { subscriptions, doorbell }
    }

    /// Whether anybody might be told anything of an institution.
    pub fn has_subscribers(&self, institution: InstitutionId) -> bool {
        self.subscriptions.any(institution)
    }

    /// Who would be told.
    pub fn subscribed(&self, institution: InstitutionId, event: Event) -> Vec<Arc<Subscription>> {
        self.subscriptions.subscribed(institution, event)
    }

    /// Adds a delivery for every active subscription to the event. Reads no disk. `new_id` makes random ids.
    pub fn enqueue(&self, batch: &mut Batch, event: &CommittedEvent<'_>, new_id: impl FnMut() -> Uuid) -> Enqueued {
        self.enqueue_to(&self.subscribed(event.institution, event.name.event()), batch, event, new_id)
    }

    /// The same for some of those who are subscribed.
    pub fn enqueue_to(
        &self,
        subscribed: &[Arc<Subscription>],
        batch: &mut Batch,
        event: &CommittedEvent<'_>,
        mut new_id: impl FnMut() -> Uuid,
    ) -> Enqueued {
        let mut enqueued = Enqueued::default();
        if subscribed.is_empty() {
            return enqueued;
        }
        let admitted: Vec<_> = subscribed
            .iter()
            .filter(|it| self.subscriptions.backlogs.admits(it.webhook_endpoint_id, event.time, batch))
            .collect();
        let record = record(event);
        let data = serde_json::to_vec(event.data).expect("a JSON object makes JSON");
        for admitted in admitted.chunks(MAX_OF_ONE_EVENT) {
            let first = self.subscriptions.delivery_ids.next(event.time, new_id());
            batch.put(keys::data(first), data.clone());
            for (number, subscription) in admitted.iter().enumerate() {
                let endpoint = subscription.webhook_endpoint_id;
                let delivery = Delivery {
                    id: nth_of(first, number),
                    endpoint_id: endpoint,
                    subscription_id: Some(subscription.id),
                    institution_id: Some(event.institution),
                    resource_type: Some(event.name.resource_type()),
                    event_name: event.name.to_string(),
                    event_time: event.time,
                    record: record.clone(),
                    attempts: 0,
                    attempted_at: None,
                    delivery_errors: Vec::new(),
                    first_attempt_at: None,
                    state: State::Pending { next_attempt_at: event.time },
                };
                delivery.insert(batch);
                enqueued.add(endpoint, 1);
            }
        }
        enqueued
    }

    /// The batch is durable: sending may begin.
    pub fn committed(&self, enqueued: Enqueued) {
        for (endpoint, deliveries) in &enqueued.0 {
            self.subscriptions.backlogs.added(*endpoint, *deliveries);
        }
        if !enqueued.0.is_empty() {
            self.doorbell.ring(enqueued.0.into_keys());
        }
    }
}

/// What keeps messages about one record in their order: `patient 7`. The record stands under its name, some in a list; a history goes by
/// its patient, and how reading and writing stand by the location.
fn record(event: &CommittedEvent<'_>) -> String {
    let id_of = |value: &Value| match value.get("id").or_else(|| value.get("patient_id")) {
        Some(Value::String(id)) => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    };
    let here = |value: &Value| {
        let list = value.get("locations").unwrap_or(value);
        id_of(value).or_else(|| id_of(list.as_array()?.first()?))
    };
    let others = ["previous_attributes", "failure_reason"];
    let found =
        event.data.iter().filter(|(name, _)| !others.contains(&name.as_str())).find_map(|(_, value)| here(value));
    found.map_or_else(String::new, |id| format!("{} {id}", event.name.resource_type().key()))
}

/// Tells the dispatcher which endpoints to look at.
#[derive(Default)]
pub struct Doorbell {
    rung: Mutex<BTreeSet<EndpointId>>,
    notify: Notify,
}

impl Doorbell {
    pub fn ring(&self, endpoints: impl IntoIterator<Item = EndpointId>) {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner).extend(endpoints);
        self.notify.notify_one();
    }

    /// Everybody who rang since the last call.
    pub fn answer(&self) -> BTreeSet<EndpointId> {
        std::mem::take(&mut *self.rung.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub async fn wait(&self) {
        self.notify.notified().await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_about_one_record_are_known_by_it() {
        for (event, data, expected) in [
            (Event::ChargeUpdated, json!({"charge": {"id": 3, "patient_id": 7}}), "charge 3"),
            (Event::PatientUpdated, json!({"patients": [{"id": 7}], "previous_attributes": [{"id": 1}]}), "patient 7"),
            (
                Event::MedicalHistoryPatientItemsUpdated,
                json!({"medical_history": {"patient_id": 7, "patient_items": [{"id": 3}]}}),
                "medical_history 7",
            ),
            (Event::SyncStatusReadChange, json!({"sync_status": {"locations": [{"id": 2}]}}), "sync_status 2"),
        ] {
            let (name, data) = (EventName::change(event).unwrap(), data.as_object().unwrap());
            let told = CommittedEvent { institution: InstitutionId(1), name, time: Timestamp(0), data };
            assert_eq!(record(&told), expected);
        }
    }
}
