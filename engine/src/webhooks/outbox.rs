//! Where events become deliveries: inside the batch that commits the change, so that none is lost and none is invented.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use location::{ids::InstitutionId, time::Timestamp};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use uuid::Uuid;

use super::{
    catalogue::{Event, EventName},
    delivery::{Delivery, State},
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

/// The endpoints that got something new. To be handed to `Outbox::committed` once the batch is durable.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "the dispatcher learns of the deliveries only through `Outbox::committed`"]
pub struct Enqueued(BTreeSet<EndpointId>);

impl Enqueued {
    /// For batches that carry several events.
    pub fn and(mut self, other: Enqueued) -> Enqueued {
        self.0.extend(other.0);
        self
    }
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
        let data = serde_json::value::to_raw_value(event.data).expect("a JSON object makes JSON");
        for subscription in subscribed {
            let delivery = Delivery {
                id: new_id(),
                endpoint_id: subscription.webhook_endpoint_id,
                subscription_id: subscription.id,
                institution_id: event.institution,
                resource_type: event.name.resource_type(),
                event_name: event.name.to_string(),
                event_time: event.time,
                data: data.clone(),
                delivery_errors: Vec::new(),
                first_attempt_at: None,
                state: State::Pending { next_attempt_at: event.time },
            };
            delivery.insert(batch);
            enqueued.0.insert(delivery.endpoint_id);
        }
        enqueued
    }

    /// The batch is durable: sending may begin.
    pub fn committed(&self, enqueued: Enqueued) {
        if !enqueued.0.is_empty() {
            self.doorbell.ring(enqueued.0);
        }
    }
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
