//! A message to an endpoint, from the commit that enqueues it to the end of its retries.
//!
//! Until the end of its first attempt, a delivery is an entry in the queue of its endpoint. Everything else is in its
//! event (`StoredEvent`). Each attempt writes the state to the log of the endpoint.

use std::{borrow::Cow, sync::Arc};

use location::{
    ids::{InstitutionId, LocationId},
    time::{Millis, Timestamp},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::{Batch, Key, Store, StoreError, Version};
use uuid::Uuid;

use super::{
    catalogue::ResourceType,
    delivery_id::{number_in_event, sequence},
    egress::SendError,
    event::{StoredEvent, data_in},
    keys, limits,
    model::{EndpointId, SubscriptionId},
    schedule,
    sign::{self, EncodedBody},
};

/// The subject of a test message: its endpoint.
pub const TEST_RESOURCE: &str = "webhook_endpoint";
pub const TEST_EVENT: &str = "webhook_endpoint.test";

/// The JSON form contains all fields. It is that of the results of `Idempotency-Key`s, and of deliveries stored by
/// earlier versions.
#[derive(Clone, Serialize, Deserialize)]
pub struct Delivery {
    /// The `delivery-id` header, the same in every attempt.
    pub id: Uuid,
    pub endpoint_id: EndpointId,
    /// `None` for test messages.
    pub subscription_id: Option<SubscriptionId>,
    /// `None` for test messages, which contain no data of an institution.
    pub institution_id: Option<InstitutionId>,
    /// The institution's subdomain; also `None` in records of earlier versions.
    #[serde(default)]
    pub subdomain: Option<String>,
    /// `None` if the event is not limited to a location.
    #[serde(default)]
    pub location_id: Option<LocationId>,
    /// `None` for test messages.
    pub resource_type: Option<ResourceType>,
    pub event_name: String,
    pub event_time: Timestamp,
    /// The record that the message is about. Messages to an endpoint about the same record are never in flight
    /// concurrently.
    #[serde(default)]
    pub record: String,
    /// The id of the request that caused the event. For logs only: receivers must not learn of other clients' requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The data may show a state after a later change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_newer: bool,
    #[serde(default)]
    pub attempts: u32,
    #[serde(default)]
    pub attempted_at: Option<Timestamp>,
    /// The last errors, up to `limits::MAX_ERRORS_TOLD`.
    pub delivery_errors: Vec<DeliveryError>,
    /// The start of the retry schedule.
    pub first_attempt_at: Option<Timestamp>,
    pub state: State,
    #[serde(skip)]
    place: Place,
    /// The version of the value that holds the state, if it was read alone.
    #[serde(skip)]
    version: Option<Version>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// In the event: the delivery is queued for its first attempt.
    #[default]
    Queue,
    Log,
    /// In a value with all fields, as earlier versions stored it. The entry in the log is empty.
    EarlierDelivery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Pending {
        next_attempt_at: Timestamp,
    },
    Delivered {
        at: Timestamp,
        status: u16,
    },
    /// The last retry failed, the receiver reported that it is gone, or the event data is unreadable.
    Failed {
        at: Timestamp,
    },
    /// The endpoint or subscription was no longer active, or its owner has no permission for the event any more.
    Stopped {
        at: Timestamp,
    },
}

impl State {
    /// Reads the state in an entry of the log, or in a delivery of an earlier version.
    pub(crate) fn from_stored(stored: &[u8]) -> Option<State> {
        #[derive(Deserialize)]
        struct Stored {
            state: State,
        }
        serde_json::from_slice::<Stored>(stored).ok().map(|stored| stored.state)
    }

    /// Returns the end of the delivery, or `None` if it is pending.
    pub(crate) fn ended_at(self) -> Option<Timestamp> {
        match self {
            State::Pending { .. } => None,
            State::Delivered { at, .. } | State::Failed { at } | State::Stopped { at } => Some(at),
        }
    }
}

/// An entry of the log: the part of a delivery that attempts change.
#[derive(Serialize, Deserialize)]
struct LogEntry<'d> {
    /// `None` if the first attempt delivered the message. The state then has the time of the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempted_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "<[DeliveryError]>::is_empty")]
    delivery_errors: Cow<'d, [DeliveryError]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_attempt_at: Option<Timestamp>,
    state: State,
}

/// A failed attempt, as later messages list it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryError {
    pub code: String,
    pub timestamp: String,
    pub message: String,
    /// The attempt's number, from 1.
    pub attempts: u32,
}

/// Omits the data, which may be a patient's.
impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Delivery({}, {}, endpoint {}, {:?}, redacted)",
            self.id, self.event_name, self.endpoint_id, self.state
        )
    }
}

#[derive(Serialize)]
struct DeliveryBody<'a> {
    resource_type: &'a str,
    event_name: &'a str,
    event_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subdomain: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    institution_id: Option<InstitutionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location_id: Option<LocationId>,
    sequence: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_newer: bool,
    data: &'a RawValue,
    delivery_errors: &'a [DeliveryError],
}

impl Delivery {
    pub fn read(store: &dyn Store, endpoint: EndpointId, id: Uuid) -> Result<Option<Delivery>, StoreError> {
        // The first attempt moves a delivery from the queue to the log, perhaps between the two reads.
        for _ in 0..2 {
            let logged = store.read(&keys::logged(endpoint, id))?;
            if logged.is_none() && store.get(&keys::queued(endpoint, id))?.is_none() {
                continue;
            }
            let entry = logged.as_ref().map(|found| found.value.as_slice());
            let key = Delivery::details_key(id, entry);
            let Some(details) = store.read(&key)? else { return Ok(None) };
            let mut delivery = Delivery::from_stored(id, entry, &details.value)?;
            delivery.version = match delivery.place {
                Place::Queue => None,
                Place::Log => logged.map(|found| found.version),
                Place::EarlierDelivery => Some(details.version),
            };
            return Ok(Some(delivery));
        }
        Ok(None)
    }

    /// Returns the key of the value that completes an entry of the log, or describes a queued delivery.
    pub(crate) fn details_key(id: Uuid, entry: Option<&[u8]>) -> Key {
        match entry {
            Some([]) => keys::earlier_delivery(id),
            _ => keys::event(id),
        }
    }

    /// Decodes a delivery: its entry in the log, if it is not queued, and the value under `details_key`.
    pub(crate) fn from_stored(id: Uuid, entry: Option<&[u8]>, details: &[u8]) -> Result<Delivery, StoreError> {
        let delivery = match entry {
            Some([]) => Delivery::from_bytes(details).ok(),
            _ => StoredEvent::from_bytes(details).and_then(|event| Delivery::from_event(&event, id, entry)),
        };
        let key = Delivery::details_key(id, entry);
        delivery.ok_or_else(|| StoreError::damaged(&key, "a delivery cannot be decoded"))
    }

    /// Returns a delivery of the event: as it was enqueued, or as its entry in the log shows it. Returns `None` if the
    /// event has no such delivery, or if the entry cannot be decoded.
    pub(crate) fn from_event(event: &StoredEvent, id: Uuid, entry: Option<&[u8]>) -> Option<Delivery> {
        let (endpoint_id, subscription_id) = *event.recipients.get(number_in_event(id))?;
        let mut delivery = Delivery {
            id,
            endpoint_id,
            subscription_id,
            institution_id: event.institution_id,
            subdomain: event.subdomain.clone(),
            location_id: event.location_id,
            resource_type: event.resource_type,
            event_name: event.event_name.clone(),
            event_time: event.event_time,
            record: event.record.clone(),
            origin: event.origin.clone(),
            is_newer: event.is_newer,
            attempts: 0,
            attempted_at: None,
            delivery_errors: Vec::new(),
            first_attempt_at: None,
            state: State::Pending { next_attempt_at: event.due_at },
            place: Place::Queue,
            version: None,
        };
        if let Some(entry) = entry {
            let entry: LogEntry<'_> = serde_json::from_slice(entry).ok()?;
            let (attempted_at, first_attempt_at) = (entry.attempted_at, entry.first_attempt_at);
            (delivery.attempts, delivery.attempted_at, delivery.first_attempt_at) = match (entry.attempts, entry.state)
            {
                (None, State::Delivered { at, .. }) => (1, Some(at), Some(at)),
                (attempts, _) => (attempts.unwrap_or_default(), attempted_at, first_attempt_at),
            };
            delivery.delivery_errors = entry.delivery_errors.into_owned();
            (delivery.state, delivery.place) = (entry.state, Place::Log);
        }
        Some(delivery)
    }

    /// Decodes a delivery of an earlier version.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Delivery, serde_json::Error> {
        let delivery: Delivery = serde_json::from_slice(bytes)?;
        Ok(Delivery { place: Place::EarlierDelivery, ..delivery })
    }

    /// Reads the event data, a compact JSON object that is stored once for all deliveries of an event. Returns
    /// `Damaged` if the data is unreadable.
    pub fn data(&self, store: &dyn Store) -> Result<Box<RawValue>, StoreError> {
        let key = keys::event(self.id);
        let data = store.get(&key)?.and_then(|stored| data_in(&stored));
        data.ok_or_else(|| StoreError::damaged(&key, "the data of a webhook delivery cannot be decoded"))
    }

    /// Builds the body of the next attempt.
    pub fn body(&self, data: &RawValue) -> Vec<u8> {
        let message = DeliveryBody {
            resource_type: self.resource(),
            event_name: &self.event_name,
            event_time: sign::event_time(self.event_time),
            subdomain: self.subdomain.as_deref(),
            institution_id: self.institution_id,
            location_id: self.location_id,
            sequence: sequence(self.id),
            is_newer: self.is_newer,
            data,
            delivery_errors: &self.delivery_errors,
        };
        serde_json::to_vec(&message).expect("strings and JSON serialize")
    }

    /// Returns the body of the next attempt of a delivery of the event. Deliveries without errors share it, because the
    /// headers contain everything else that distinguishes their messages.
    pub(crate) fn encoded_body(&self, event: &StoredEvent) -> Arc<EncodedBody> {
        let build = || Arc::new(EncodedBody::new(self.body(&event.data)));
        match self.delivery_errors.is_empty() {
            true => event.body.get_or_init(build).clone(),
            false => build(),
        }
    }

    /// Returns the resource type in messages.
    pub fn resource(&self) -> &'static str {
        self.resource_type.map_or(TEST_RESOURCE, ResourceType::key)
    }

    /// Returns the number of attempts so far. Records of earlier versions count them by their errors only.
    pub fn attempts(&self) -> u32 {
        self.attempts.max(self.delivery_errors.len() as u32)
    }

    /// Returns the status of the last response, if the last attempt had one.
    pub fn last_status(&self) -> Option<u16> {
        match self.state {
            State::Delivered { status, .. } => Some(status),
            _ => self.last_error()?.code.parse().ok(),
        }
    }

    pub fn last_error(&self) -> Option<&DeliveryError> {
        self.delivery_errors.last().filter(|_| !matches!(self.state, State::Delivered { .. }))
    }

    /// Records the outcome of an attempt begun at `attempted`. `random` determines the jitter of the next retry.
    pub fn record(&mut self, attempted: Timestamp, outcome: Result<u16, SendError>, random: u64) {
        let first = *self.first_attempt_at.get_or_insert(attempted);
        let due = if let State::Pending { next_attempt_at } = self.state { next_attempt_at } else { attempted };
        self.attempts = self.attempts() + 1;
        self.attempted_at = Some(attempted);
        self.state = match outcome {
            Ok(status) => State::Delivered { at: attempted, status },
            Err(fault) => {
                self.delivery_errors.push(DeliveryError {
                    code: fault.code(),
                    timestamp: sign::timestamp(attempted),
                    message: fault.to_string(),
                    attempts: self.attempts,
                });
                let too_many = self.delivery_errors.len().saturating_sub(limits::MAX_REPORTED_ERRORS);
                self.delivery_errors.drain(..too_many);
                let next = schedule::retry(first, due, attempted, random);
                match next.filter(|_| fault != SendError::GONE) {
                    Some(next_attempt_at) => State::Pending { next_attempt_at },
                    None => State::Failed { at: attempted },
                }
            }
        };
    }

    /// Handles a clock that was set back: moves all times back, so that pauses keep their length.
    pub fn set_back(&mut self, by: Millis) {
        if let State::Pending { next_attempt_at } = &mut self.state {
            *next_attempt_at = next_attempt_at.minus(by);
        }
        for past in [&mut self.first_attempt_at, &mut self.attempted_at].into_iter().flatten() {
            *past = past.minus(by);
        }
    }

    pub fn is_pending(&self) -> bool {
        matches!(self.state, State::Pending { .. })
    }

    /// Restarts the schedule. The id stays the same, so that a receiver can detect the repetition, and so does the
    /// numbering of attempts.
    pub fn again(&mut self, at: Timestamp) {
        self.first_attempt_at = None;
        self.state = State::Pending { next_attempt_at: at };
    }

    /// Returns `true` if the delivery may be attempted at that time.
    pub(crate) fn is_due(&self, at: Timestamp) -> bool {
        match self.state {
            State::Pending { next_attempt_at } => self.place == Place::Queue || next_attempt_at <= at,
            _ => false,
        }
    }

    /// Replaces `before`, which `read` returned. The commit conflicts if the delivery was changed concurrently. The
    /// entry of a pending delivery in the queue or in the due index encodes its state, so its presence is a sufficient
    /// precondition.
    pub fn replace(&self, before: &Delivery, batch: &mut Batch) {
        match before.state {
            State::Pending { next_attempt_at } => {
                let key = match before.place {
                    Place::Queue => keys::queued(before.endpoint_id, before.id),
                    Place::Log | Place::EarlierDelivery => keys::due(before.endpoint_id, next_attempt_at, before.id),
                };
                batch.expect_present(key.clone()).delete(key);
            }
            _ => drop(batch.expect_unchanged(before.state_key(), before.version)),
        }
        self.put(batch);
    }

    /// Adds the state to the batch, and the entry of the next attempt.
    pub(crate) fn put(&self, batch: &mut Batch) {
        let state = match self.place {
            Place::EarlierDelivery => serde_json::to_vec(self),
            Place::Queue | Place::Log => {
                let at = if let State::Delivered { at, .. } = self.state { Some(at) } else { None };
                let times = [self.attempted_at, self.first_attempt_at];
                let is_first =
                    self.attempts == 1 && self.delivery_errors.is_empty() && at.is_some() && times == [at; 2];
                let [attempted_at, first_attempt_at] = if is_first { [None; 2] } else { times };
                serde_json::to_vec(&LogEntry {
                    attempts: (!is_first).then_some(self.attempts),
                    attempted_at,
                    delivery_errors: Cow::Borrowed(&self.delivery_errors),
                    first_attempt_at,
                    state: self.state,
                })
            }
        };
        batch.put(self.state_key(), state.expect("plain data makes JSON"));
        if let State::Pending { next_attempt_at } = self.state {
            let key = keys::due(self.endpoint_id, next_attempt_at, self.id);
            batch.put(key, self.record.clone().into_bytes());
        }
    }

    /// Returns the key of the value that holds the state once the delivery was attempted.
    fn state_key(&self) -> Key {
        match self.place {
            Place::EarlierDelivery => keys::earlier_delivery(self.id),
            Place::Queue | Place::Log => keys::logged(self.endpoint_id, self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::OnceLock;

    use super::*;
    use crate::delivery_id::nth_of;

    fn event() -> StoredEvent {
        StoredEvent {
            institution_id: None,
            subdomain: None,
            location_id: None,
            resource_type: None,
            event_name: TEST_EVENT.to_owned(),
            event_time: Timestamp(0),
            record: String::new(),
            origin: None,
            is_newer: false,
            due_at: Timestamp(0),
            recipients: vec![(EndpointId(1), None), (EndpointId(2), None)],
            data: RawValue::NULL.to_owned(),
            body: OnceLock::new(),
        }
    }

    #[test]
    fn deliveries_of_an_event_share_one_body_unless_they_list_errors() {
        let event = event();
        let delivery = |number| Delivery::from_event(&event, nth_of(Uuid::nil(), number), None).unwrap();
        let (mut one, other) = (delivery(0), delivery(1));
        let shared = one.encoded_body(&event);
        assert!(Arc::ptr_eq(&shared, &other.encoded_body(&event)));
        assert_eq!(shared.bytes, other.body(&event.data));
        one.record(Timestamp(0), Err(SendError::Timeout), 0);
        let retried = one.encoded_body(&event);
        assert_ne!(retried.bytes, shared.bytes);
        assert_eq!(retried.bytes, one.body(&event.data));
        assert!(Arc::ptr_eq(&shared, &other.encoded_body(&event)), "a retry of one does not change it");
    }

    /// Returns the entry of the log that the delivery is stored as.
    fn stored(delivery: &Delivery) -> Vec<u8> {
        let mut batch = Batch::new();
        delivery.put(&mut batch);
        batch.writes()[0].1.clone().unwrap()
    }

    /// Everything that the log shows and retries depend on.
    fn logged_state(delivery: &Delivery) -> serde_json::Value {
        serde_json::to_value(delivery).unwrap()
    }

    #[test]
    fn a_message_that_is_delivered_at_once_is_logged_as_its_state_only() {
        let event = event();
        let mut delivery = Delivery::from_event(&event, Uuid::nil(), None).unwrap();
        delivery.record(Timestamp(1_795_255_200_000), Ok(204), 0);
        let entry = stored(&delivery);
        let expected = r#"{"state":{"delivered":{"at":1795255200000,"status":204}}}"#;
        assert_eq!(std::str::from_utf8(&entry).unwrap(), expected);
        let found = Delivery::from_event(&event, Uuid::nil(), Some(&entry)).unwrap();
        assert_eq!(logged_state(&found), logged_state(&delivery));
        assert_eq!((found.attempts, found.attempted_at), (1, Some(Timestamp(1_795_255_200_000))));
        // An entry of an earlier version.
        let earlier = concat!(
            r#"{"attempts":1,"attempted_at":1795255200000,"first_attempt_at":1795255200000,"#,
            r#""state":{"delivered":{"at":1795255200000,"status":204}}}"#
        );
        let found = Delivery::from_event(&event, Uuid::nil(), Some(earlier.as_bytes())).unwrap();
        assert_eq!(logged_state(&found), logged_state(&delivery));
    }

    #[test]
    fn other_outcomes_are_logged_with_all_fields() {
        let event = event();
        let mut delivery = Delivery::from_event(&event, Uuid::nil(), None).unwrap();
        let mut check = |change: &dyn Fn(&mut Delivery)| {
            change(&mut delivery);
            let found = Delivery::from_event(&event, Uuid::nil(), Some(&stored(&delivery))).unwrap();
            assert_eq!(logged_state(&found), logged_state(&delivery));
            assert!(String::from_utf8(stored(&delivery)).unwrap().contains("\"attempts\":"));
        };
        check(&|it| it.state = State::Stopped { at: Timestamp(5) });
        check(&|it| it.record(Timestamp(10), Err(SendError::Timeout), 0));
        check(&|it| it.record(Timestamp(20), Ok(200), 0));
        check(&|it| it.again(Timestamp(30)));
        check(&|it| it.record(Timestamp(40), Ok(200), 0));
    }

    #[test]
    fn a_retry_is_delayed_by_a_random_jitter() {
        let due = |random| {
            let mut delivery = Delivery::from_event(&event(), Uuid::nil(), None).unwrap();
            delivery.record(Timestamp(0), Err(SendError::Timeout), random);
            delivery.state
        };
        for (random, at) in [(0, 30_000), (1_234, 31_234), (3_000, 33_000), (3_001, 30_000)] {
            assert_eq!(due(random), State::Pending { next_attempt_at: Timestamp(at) });
        }
    }
}
