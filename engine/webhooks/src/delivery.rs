//! A message to an endpoint, from the commit that enqueues it to the end of its retries.

use location::{
    ids::{InstitutionId, LocationId},
    time::{Millis, Timestamp},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::{Batch, Key, Store, StoreError};
use uuid::Uuid;

use super::{
    catalogue::ResourceType,
    delivery_id::sequence,
    egress::SendError,
    keys, limits,
    model::{EndpointId, SubscriptionId},
    schedule, sign,
};

/// The subject of a test message: its endpoint.
pub const TEST_RESOURCE: &str = "webhook_endpoint";
pub const TEST_EVENT: &str = "webhook_endpoint.test";

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
    /// Attempts so far.
    #[serde(default)]
    pub attempts: u32,
    #[serde(default)]
    pub attempted_at: Option<Timestamp>,
    /// The last errors, up to `limits::MAX_ERRORS_TOLD`.
    pub delivery_errors: Vec<DeliveryError>,
    /// The start of the retry schedule.
    pub first_attempt_at: Option<Timestamp>,
    pub state: State,
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
    /// Reads the event data, a compact JSON object that is stored once for all deliveries of an event. Returns
    /// `Damaged` if the data is unreadable.
    pub fn data(&self, store: &dyn Store) -> Result<Box<RawValue>, StoreError> {
        let key = keys::data(self.id);
        let data = store.get(&key)?.and_then(|stored| serde_json::from_slice(&stored).ok());
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

    /// Returns the error of the last attempt.
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
                let too_many = self.delivery_errors.len().saturating_sub(limits::MAX_ERRORS_TOLD);
                self.delivery_errors.drain(..too_many);
                let next = schedule::retry(first, due, attempted, random);
                match next.filter(|_| fault != SendError::GONE) {
                    Some(next_attempt_at) => State::Pending { next_attempt_at },
                    None => State::Failed { at: attempted },
                }
            }
        };
    }

    pub fn stop(&mut self, at: Timestamp) {
        self.state = State::Stopped { at };
    }

    pub fn give_up(&mut self, at: Timestamp) {
        self.state = State::Failed { at };
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

    /// Returns the index entry of the delivery: due while pending, then finished.
    fn index(&self) -> (Key, Vec<u8>) {
        match self.state {
            State::Pending { next_attempt_at } => {
                (keys::due(self.endpoint_id, next_attempt_at, self.id), self.record.clone().into_bytes())
            }
            State::Delivered { at, .. } | State::Failed { at } | State::Stopped { at } => {
                (keys::finished(at, self.id), keys::endpoint_bytes(self.endpoint_id))
            }
        }
    }

    pub(super) fn index_key(&self) -> Key {
        self.index().0
    }

    /// Adds a new delivery to the batch. The caller adds the event data.
    pub fn insert(&self, batch: &mut Batch) {
        batch.put(keys::logged(self.endpoint_id, self.id), Vec::new());
        self.put(batch);
    }

    /// Replaces `before`; the commit conflicts if the delivery was changed concurrently. The index key of `before`
    /// encodes its state, so its presence is a sufficient precondition.
    pub fn replace(&self, before: &Delivery, batch: &mut Batch) {
        let found = before.index_key();
        batch.expect_present(found.clone()).delete(found);
        self.put(batch);
    }

    fn put(&self, batch: &mut Batch) {
        let (key, value) = self.index();
        batch.put(keys::delivery(self.id), self.to_bytes()).put(key, value);
    }

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data makes JSON")
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Delivery, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_is_delayed_by_a_random_jitter() {
        let due = |random| {
            let mut delivery = Delivery {
                id: Uuid::from_u128(7),
                endpoint_id: EndpointId(1),
                subscription_id: None,
                institution_id: None,
                subdomain: None,
                location_id: None,
                resource_type: None,
                event_name: TEST_EVENT.to_owned(),
                event_time: Timestamp(0),
                record: String::new(),
                origin: None,
                is_newer: false,
                attempts: 0,
                attempted_at: None,
                delivery_errors: Vec::new(),
                first_attempt_at: None,
                state: State::Pending { next_attempt_at: Timestamp(0) },
            };
            delivery.record(Timestamp(0), Err(SendError::Timeout), random);
            delivery.state
        };
        for (random, at) in [(0, 30_000), (1_234, 31_234), (3_000, 33_000), (3_001, 30_000)] {
            assert_eq!(due(random), State::Pending { next_attempt_at: Timestamp(at) });
        }
    }
}
