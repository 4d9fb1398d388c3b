//! The outbox: adds the deliveries of events to the batch of a follower, so that deliveries and its position always
//! match.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use location::{
    ids::{InstitutionId, LocationId},
    time::Timestamp,
};
use serde_json::{Map, Value, value::to_raw_value};
use store::{Batch, StoreError};
use uuid::Uuid;

use super::{
    backlog::{Backlogs, Overflow},
    catalogue::{Event, EventName},
    counts::CountChange,
    delivery_id::{MAX_OF_ONE_EVENT, creation_time},
    doorbell::{Doorbell, NewEvent},
    event::StoredEvent,
    keys,
    model::{EndpointId, Subscription},
    subscriptions::{Recipients, Subscriptions},
};

/// A committed event that is sent to subscribers.
pub struct CommittedEvent<'a> {
    pub institution: InstitutionId,
    /// The institution's subdomain, as receivers know it.
    pub subdomain: &'a str,
    pub location: Option<LocationId>,
    pub name: EventName,
    pub time: Timestamp,
    /// The changed record under its resource's name.
    pub data: &'a Map<String, Value>,
    /// The id of the request that caused the event.
    pub origin: Option<&'a str>,
    /// The data may be newer than the event.
    pub is_newer: bool,
}

/// The webhook part of a batch. Must be passed to `Outbox::committed` once the batch is durable.
#[derive(Default)]
#[must_use = "the dispatcher learns of the deliveries only through `Outbox::committed`"]
pub struct Enqueued {
    /// The number of deliveries per endpoint.
    count: Option<CountChange>,
    dropped: BTreeMap<EndpointId, Overflow>,
    events: Vec<NewEvent>,
    /// The number of scans by the dispatcher before the first event.
    scans: Option<u64>,
}

impl Enqueued {
    pub(super) fn add(&mut self, backlogs: &Backlogs, endpoint: EndpointId, deliveries: usize) {
        self.count.get_or_insert_with(|| backlogs.change()).add(endpoint, deliveries as i64);
    }

    pub(super) fn put_counts(&mut self, batch: &mut Batch) {
        if let Some(count) = &mut self.count {
            count.put(batch);
        }
    }

    /// Returns the first delivery id of the last event.
    pub(crate) fn last(&self) -> Option<Uuid> {
        self.events.last().map(|event| event.first)
    }

    /// Returns `true` if the batch holds neither deliveries nor overflows.
    pub fn is_empty(&self) -> bool {
        self.count.is_none() && self.dropped.is_empty()
    }
}

/// The maximum number of keys that an event with the given number of deliveries adds to its batch. One per delivery,
/// the count of its endpoint, which endpoints may share, and the event.
pub const fn keys_of(deliveries: usize) -> usize {
    2 * deliveries + 1
}

#[derive(Clone)]
pub struct Outbox {
    subscriptions: Arc<Subscriptions>,
    doorbell: Arc<Doorbell>,
}

impl Outbox {
    pub fn new(subscriptions: Arc<Subscriptions>, doorbell: Arc<Doorbell>) -> Outbox {
        Outbox { subscriptions, doorbell }
    }

    /// Must be called before the events of an institution are collected. If nodes share the store, loads the changes of
    /// the institution's recipients, and the batch conflicts if they change again before its commit.
    pub fn begin(&self, institution: InstitutionId, batch: &mut Batch) -> Result<Enqueued, StoreError> {
        if let Some(shared) = &self.subscriptions.shared {
            let (changes, row) = shared.changes_of(institution)?;
            self.subscriptions.at_least(changes)?;
            batch.expect_unchanged(keys::changes_of(institution), row);
        }
        Ok(Enqueued::default())
    }

    pub fn has_subscribers_for(&self, institution: InstitutionId, event: Event) -> bool {
        !self.subscriptions.subscribed(institution, event).is_empty()
    }

    /// Returns the recipients of a message about the change with the given number.
    pub fn recipients(&self, institution: InstitutionId, name: EventName, change: u64) -> Vec<Recipients> {
        self.subscriptions.recipients(institution, name, change)
    }

    pub(crate) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Adds a delivery for each subscription whose endpoint has room in its queue. Reads no disk. If the clock was set
    /// back, the event may be later than `now`. `new_id` creates random ids.
    pub fn enqueue(
        &self,
        subscribed: &[Arc<Subscription>],
        batch: &mut Batch,
        event: &CommittedEvent<'_>,
        now: Timestamp,
        mut new_id: impl FnMut() -> Uuid,
        enqueued: &mut Enqueued,
    ) {
        let (admitted, full): (Vec<_>, Vec<_>) =
            subscribed.iter().partition(|it| self.subscriptions.backlogs.admits(it.webhook_endpoint_id));
        self.leave_out(full, batch, event.time, enqueued);
        let record = record(event);
        let data = to_raw_value(event.data).expect("a JSON object serializes");
        for admitted in admitted.chunks(MAX_OF_ONE_EVENT) {
            let first = self.subscriptions.delivery_ids.next(event.time.min(now), new_id());
            let stored = StoredEvent {
                institution_id: Some(event.institution),
                subdomain: Some(event.subdomain.to_owned()),
                location_id: event.location,
                resource_type: Some(event.name.resource_type()),
                event_name: event.name.to_string(),
                event_time: event.time,
                record: record.clone(),
                origin: event.origin.map(str::to_owned),
                is_newer: event.is_newer,
                due_at: creation_time(first).min(now),
                recipients: admitted.iter().map(|it| (it.webhook_endpoint_id, Some(it.id))).collect(),
                data: data.clone(),
                body: OnceLock::new(),
            };
            self.add(first, stored, batch, enqueued);
        }
    }

    /// Adds an event with its deliveries and their counts to the batch.
    pub(super) fn add(&self, first: Uuid, event: StoredEvent, batch: &mut Batch, enqueued: &mut Enqueued) {
        enqueued.scans.get_or_insert_with(|| self.doorbell.scans());
        let bytes = event.put(first, batch);
        for (endpoint, _) in event.deliveries(first) {
            enqueued.add(&self.subscriptions.backlogs, endpoint, 1);
        }
        enqueued.put_counts(batch);
        enqueued.events.push(NewEvent { first, event: Arc::new(event), bytes });
    }

    /// Records that endpoints get no message for an event, so that their owners can detect it and read the feed of
    /// changes.
    pub fn leave_out<'s>(
        &self,
        subscribed: impl IntoIterator<Item = &'s Arc<Subscription>>,
        batch: &mut Batch,
        at: Timestamp,
        enqueued: &mut Enqueued,
    ) {
        for subscription in subscribed {
            let (endpoint, one) = (subscription.webhook_endpoint_id, Overflow::single(at));
            let dropped = enqueued.dropped.get(&endpoint).map_or(one, |before| before.and(one));
            enqueued.dropped.insert(endpoint, dropped);
            self.subscriptions.backlogs.put_overflow(endpoint, dropped, batch);
        }
    }

    /// Handles the durable batch: applies the counts, and passes the deliveries to the dispatcher.
    pub fn committed(&self, enqueued: Enqueued) {
        for (endpoint, dropped) in enqueued.dropped {
            self.subscriptions.backlogs.overflowed_by(endpoint, dropped);
        }
        let Some(count) = enqueued.count else { return };
        self.subscriptions.backlogs.changed(&count);
        match enqueued.scans {
            Some(scans) => {
                self.doorbell.pass(enqueued.events, scans, |endpoint| self.subscriptions.is_here(endpoint));
            }
            // Deliveries that wait again.
            None => self.doorbell.ring(count.by().keys().copied()),
        }
    }
}

/// Returns the ordering key of messages about one record: `patient 7`. The record is under its name, possibly in a
/// list. A medical history is identified by its patient, a sync status by its location.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn the_ordering_key_identifies_the_record() {
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
            let (institution, time) = (InstitutionId(1), Timestamp(0));
            let (subdomain, location, origin, is_newer) = ("smile", None, None, false);
            let event = CommittedEvent { institution, subdomain, location, name, time, data, origin, is_newer };
            assert_eq!(record(&event), expected);
        }
    }
}
