//! The messages of one batch, up to its limits.

use std::rc::Rc;

use location::{ids::LocationId, time::Timestamp};
use runtime::clock;
use serde_json::{Map, Value};
use setup::Institution;
use store::Batch;

use crate::{
    catalogue::EventName,
    outbox::{CommittedEvent, Enqueued, Outbox, keys_of},
    payload::Message,
    subscriptions::Recipients,
};

/// Maximum size of a batch. Other commits of the store wait for a group with it.
pub(super) const MOST_KEYS: usize = 20_000;
const MOST_BYTES: usize = 8 << 20;
/// Maximum size of a batch with a single step: the limits of the store, minus the keys of the follower. Messages beyond
/// the limits are counted for their endpoints like those beyond the capacity of a queue.
const MOST_KEYS_ALONE: usize = 85_000;
const MOST_BYTES_ALONE: usize = 48 << 20;
const _: () = assert!(MOST_KEYS < MOST_KEYS_ALONE && MOST_KEYS_ALONE < store::MAX_BATCH_KEYS);
const _: () = assert!(MOST_BYTES < MOST_BYTES_ALONE && MOST_BYTES_ALONE < store::MAX_BATCH_BYTES);

pub(super) struct Outgoing {
    pub name: EventName,
    pub recipients: Rc<Recipients>,
    pub data: Map<String, Value>,
    pub location: Option<LocationId>,
    bytes: usize,
}

impl Outgoing {
    pub(super) fn new(name: EventName, recipients: Rc<Recipients>, message: Message) -> Outgoing {
        let Message { data, location } = message;
        let bytes = serde_json::to_string(&data).map_or(0, |text| text.len());
        Outgoing { name, recipients, data, location, bytes }
    }

    fn keys(&self) -> usize {
        keys_of(self.recipients.subscriptions.len())
    }
}

#[derive(Clone, Copy)]
pub(super) struct Cause<'a> {
    pub time: Timestamp,
    pub origin: Option<&'a str>,
    pub is_newer: bool,
}

pub(super) struct MessageBatch<'a> {
    pub outbox: &'a Outbox,
    pub institution: &'a Institution,
    pub batch: Batch,
    pub enqueued: Enqueued,
    pub now: Timestamp,
    most_keys: usize,
    keys: usize,
    bytes: usize,
}

impl<'a> MessageBatch<'a> {
    pub(super) fn new(
        outbox: &'a Outbox,
        institution: &'a Institution,
        (batch, enqueued): (Batch, Enqueued),
        now: Timestamp,
        most_keys: usize,
    ) -> Self {
        MessageBatch { outbox, institution, batch, enqueued, now, most_keys, keys: 0, bytes: 0 }
    }

    /// Adds the messages of a step. Returns `false` if they must wait for the next batch.
    pub(super) fn add(&mut self, messages: Vec<Outgoing>, cause: Cause<'_>) -> bool {
        let keys: usize = messages.iter().map(Outgoing::keys).sum();
        let bytes: usize = messages.iter().map(|message| message.bytes).sum();
        if self.keys > 0 && (self.keys + keys > self.most_keys || self.bytes + bytes > MOST_BYTES) {
            return false;
        }
        let mut left_out = 0;
        for message in messages {
            left_out += self.add_one(&message, cause);
        }
        if left_out > 0 {
            let institution = self.institution.id;
            tracing::error!(%institution, deliveries = left_out, "webhook messages dropped: too many for one commit");
        }
        true
    }

    /// Returns the number of deliveries for which the batch has no room.
    fn add_one(&mut self, message: &Outgoing, cause: Cause<'_>) -> usize {
        let subscriptions = &message.recipients.subscriptions;
        let (keys, bytes) = (self.keys + message.keys(), self.bytes + message.bytes);
        if keys > MOST_KEYS_ALONE || bytes > MOST_BYTES_ALONE {
            self.outbox.leave_out(subscriptions, &mut self.batch, cause.time, &mut self.enqueued);
            return subscriptions.len();
        }
        (self.keys, self.bytes) = (keys, bytes);
        let event = CommittedEvent {
            institution: self.institution.id,
            subdomain: &self.institution.subdomain,
            location: message.location,
            name: message.name,
            time: cause.time,
            data: &message.data,
            origin: cause.origin,
            is_newer: cause.is_newer,
        };
        let new_id = || uuid::Builder::from_random_bytes(clock::random()).into_uuid();
        self.outbox.enqueue(subscriptions, &mut self.batch, &event, self.now, new_id, &mut self.enqueued);
        0
    }
}
