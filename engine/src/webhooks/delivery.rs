//! One message to one endpoint, from the commit of its event to the end of its retries.

use location::{ids::InstitutionId, time::Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{
    catalogue::ResourceType,
    egress::Fault,
    keys,
    model::{EndpointId, SubscriptionId},
    schedule, sign,
};
use crate::store::{Batch, Key};

#[derive(Clone, Serialize, Deserialize)]
pub struct Delivery {
    /// The `delivery-id` header, the same in every attempt.
    pub id: Uuid,
    pub endpoint_id: EndpointId,
    pub subscription_id: SubscriptionId,
    pub institution_id: InstitutionId,
    pub resource_type: ResourceType,
    pub event_name: String,
    pub event_time: Timestamp,
    /// A JSON object, compact.
    pub data: Box<RawValue>,
    pub delivery_errors: Vec<DeliveryError>,
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
    /// The last retry failed.
    Failed {
        at: Timestamp,
    },
    /// Its endpoint or subscription was not active any more.
    Stopped {
        at: Timestamp,
    },
}

/// A failed attempt, as the messages after it show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryError {
    pub code: String,
    pub timestamp: String,
    pub message: String,
    /// The attempt's number, from 1.
    pub attempts: u32,
}

/// The data may be a patient's.
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
struct Message<'a> {
    resource_type: &'a str,
    event_name: &'a str,
    event_time: String,
    data: &'a RawValue,
    delivery_errors: &'a [DeliveryError],
}

impl Delivery {
    /// The number of the attempt that is made next.
    pub fn attempt(&self) -> u32 {
        self.delivery_errors.len() as u32 + 1
    }

    pub fn body(&self) -> Vec<u8> {
        let message = Message {
            resource_type: self.resource_type.key(),
            event_name: &self.event_name,
            event_time: sign::timestamp(self.event_time),
            data: &self.data,
            delivery_errors: &self.delivery_errors,
        };
        serde_json::to_vec(&message).expect("strings and JSON make JSON")
    }

    /// What follows from an attempt begun at `attempted`.
    pub fn record(&mut self, attempted: Timestamp, outcome: Result<u16, Fault>) {
        let first = *self.first_attempt_at.get_or_insert(attempted);
        self.state = match outcome {
            Ok(status) => State::Delivered { at: attempted, status },
            Err(fault) => {
                self.delivery_errors.push(DeliveryError {
                    code: fault.code(),
                    timestamp: sign::timestamp(attempted),
                    message: fault.to_string(),
                    attempts: self.attempt(),
                });
                match schedule::next_attempt(first, attempted) {
                    Some(next_attempt_at) => State::Pending { next_attempt_at },
                    None => State::Failed { at: attempted },
                }
            }
        };
    }

    pub fn stop(&mut self, at: Timestamp) {
        self.state = State::Stopped { at };
    }

    /// Under which it is found while pending, or once finished.
    fn index_key(&self) -> Key {
        match self.state {
            State::Pending { next_attempt_at } => keys::due(self.endpoint_id, next_attempt_at, self.id),
            State::Delivered { at, .. } | State::Failed { at } | State::Stopped { at } => keys::finished(at, self.id),
        }
    }

    pub fn insert(&self, batch: &mut Batch) {
        batch.put(keys::delivery(self.id), self.to_bytes()).put(self.index_key(), Vec::new());
    }

    /// Replaces `before`, of which `stored` is what the store holds; does nothing if somebody else was faster.
    pub fn replace(&self, before: &Delivery, stored: Vec<u8>, batch: &mut Batch) {
        batch.expect_value(keys::delivery(self.id), stored).delete(before.index_key());
        self.insert(batch);
    }

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data makes JSON")
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Delivery, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}
