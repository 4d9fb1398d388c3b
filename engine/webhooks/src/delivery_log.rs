//! The delivery log of an endpoint, with test messages, redelivery and replay.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use location::time::Timestamp;
use query::idempotency::IdempotencyKey;
use runtime::origin;
use serde_json::{json, value::to_raw_value};
use store::{Batch, CommitError, Direction, Key, KeyRange, Store, StoreError};
use uuid::Uuid;

use super::{
    delivery::{Delivery, State, TEST_EVENT, TEST_RESOURCE},
    delivery_id::{creation_time, first_id_at},
    event::StoredEvent,
    keys::{self, Due},
    limits,
    model::{Endpoint, EndpointId, Owner},
    outbox::{Enqueued, Outbox},
    registry::{CreatedOrReplayed, EndpointRegistry, RegistryError},
};

/// The number of tries to change a delivery whose attempts are recorded concurrently.
const RACES: usize = 20;

pub struct DeliveryLog {
    pub store: Arc<dyn Store>,
    pub registry: Arc<EndpointRegistry>,
    pub outbox: Outbox,
}

/// The selection of deliveries to send again.
#[derive(Clone, Copy, Debug)]
pub struct Replay {
    pub since: Timestamp,
    pub until: Timestamp,
    /// Excludes delivered messages.
    pub undelivered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    pub deliveries: usize,
    /// The start of the next replay, if there are more deliveries than one replay takes or than the queue has room for.
    pub next: Option<Timestamp>,
}

impl DeliveryLog {
    /// Reads deliveries of an endpoint next to a position in its log, the nearest first.
    pub fn page(
        &self,
        endpoint: EndpointId,
        from: Option<Uuid>,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let next_to = |mut range: KeyRange, key: fn(EndpointId, Uuid) -> Key| {
            match (from, direction) {
                (None, _) => {}
                (Some(from), Direction::Forward) => range = range.after(&key(endpoint, from)),
                (Some(from), Direction::Backward) => range.end = key(endpoint, from),
            }
            range
        };
        // In this order, because the first attempt moves a delivery from the queue to the log.
        let queued = self.store.scan_keys(next_to(keys::queued_of(endpoint), keys::queued), direction, limit)?;
        let logged = self.store.scan(next_to(keys::log_of(endpoint), keys::logged), direction, limit)?;
        let mut entries: BTreeMap<Uuid, Option<Vec<u8>>> =
            queued.iter().filter_map(|key| Some((Due::parse(key)?.delivery, None))).collect();
        entries.extend(logged.into_iter().filter_map(|(key, entry)| Some((keys::parse_logged(&key)?.1, Some(entry)))));
        let mut entries: Vec<_> = entries.into_iter().collect();
        if direction == Direction::Backward {
            entries.reverse();
        }
        entries.truncate(limit);
        let keys: Vec<Key> = entries.iter().map(|(id, entry)| Delivery::details_key(*id, entry.as_deref())).collect();
        let details = self.store.get_many(&keys)?;
        // A delivery that was pruned meanwhile has no details.
        let found = entries.iter().zip(&details).filter_map(|(entry, details)| Some((entry, details.as_ref()?)));
        found.map(|((id, entry), details)| Delivery::from_stored(*id, entry.as_deref(), details)).collect()
    }

    pub fn find(&self, endpoint: EndpointId, id: Uuid) -> Result<Option<Delivery>, StoreError> {
        Delivery::read(&*self.store, endpoint, id)
    }

    pub fn body(&self, delivery: &Delivery) -> Result<Vec<u8>, StoreError> {
        Ok(delivery.body(&delivery.data(&*self.store)?))
    }

    /// Sends a test message. It is delivered like any other.
    pub async fn test(
        &self,
        owner: &Owner,
        id: EndpointId,
        random: Uuid,
        once: Option<&IdempotencyKey>,
        now: Timestamp,
    ) -> Result<CreatedOrReplayed<Delivery>, RegistryError> {
        // The second of two requests with the same Idempotency-Key gets the result of the first.
        let _turn = self.registry.turn().await;
        for _ in 0..RACES {
            let claim = match self.registry.claim_or_replay(once, now)? {
                Ok(claim) => claim,
                Err(earlier) => return Ok(earlier),
            };
            let endpoint = self.active(owner, id)?;
            let data = json!({ TEST_RESOURCE: {"id": endpoint.id, "target_url": endpoint.target_url} });
            let event = StoredEvent {
                institution_id: None,
                subdomain: None,
                location_id: None,
                resource_type: None,
                event_name: TEST_EVENT.to_owned(),
                event_time: now,
                record: String::new(),
                origin: origin::current().map(|origin| origin.to_string()),
                is_newer: false,
                due_at: now,
                recipients: vec![(endpoint.id, None)],
                data: to_raw_value(&data).expect("a JSON object serializes"),
                body: OnceLock::new(),
            };
            let first = self.registry.subscriptions().delivery_ids.next(now, random);
            let delivery = Delivery::from_event(&event, first, None).expect("the event has a recipient");
            let (mut batch, mut enqueued) = (Batch::new(), Enqueued::default());
            self.outbox.add(first, event, &mut batch, &mut enqueued);
            claim.put(&delivery, now, &mut batch)?;
            match self.commit(batch, enqueued).await {
                Ok(()) => return Ok(CreatedOrReplayed { record: delivery, replay: false }),
                // Another node took the key.
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Sends a delivery again, or now if it waits for its next attempt.
    pub async fn redeliver(
        &self,
        owner: &Owner,
        id: EndpointId,
        delivery: Uuid,
        now: Timestamp,
    ) -> Result<Delivery, RegistryError> {
        let endpoint = self.active(owner, id)?;
        for _ in 0..RACES {
            let before = self.find(endpoint.id, delivery)?.ok_or(RegistryError::NotFound)?;
            if !self.subscription_is_active(&before) {
                return Err(RegistryError::NotActive("the subscription of this delivery is not active"));
            }
            if before.is_due(now) {
                return Ok(before);
            }
            let mut after = before.clone();
            after.again(now);
            let mut batch = Batch::new();
            after.replace(&before, &mut batch);
            match self.commit_again(batch, endpoint.id, usize::from(!before.is_pending())).await {
                Ok(()) => return Ok(after),
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Sends ended deliveries of a period again, in their original order. Skips pending deliveries and those of
    /// inactive subscriptions. `may_see` checks the caller's permission for a delivery.
    pub async fn replay(
        &self,
        owner: &Owner,
        id: EndpointId,
        asked: Replay,
        may_see: impl Fn(&Delivery) -> bool,
        now: Timestamp,
    ) -> Result<Replayed, RegistryError> {
        let endpoint = self.active(owner, id)?;
        let [start, end] = [asked.since, asked.until].map(|at| keys::logged(endpoint.id, first_id_at(at)));
        let mut range = KeyRange::new(start, end);
        let wanted = |delivery: &Delivery| {
            let ended = !delivery.is_pending();
            let delivered = matches!(delivery.state, State::Delivered { .. });
            ended && !(asked.undelivered && delivered) && self.subscription_is_active(delivery) && may_see(delivery)
        };
        let mut deliveries = 0;
        loop {
            let page = self.store.scan_keys(range.clone(), Direction::Forward, limits::REPLAY_STEP)?;
            let Some(last) = page.last() else { return Ok(Replayed { deliveries, next: None }) };
            let ids: Vec<Uuid> = page.iter().filter_map(|key| keys::parse_logged(key)).map(|(_, id)| id).collect();
            if deliveries + ids.len() > limits::MAX_REPLAY {
                let next = ids.first().map(|id| creation_time(*id));
                return Ok(Replayed { deliveries, next });
            }
            let (sent, no_room) = self.send_again(endpoint.id, &ids, &wanted, now).await?;
            deliveries += sent;
            if let Some(id) = no_room {
                return Ok(Replayed { deliveries, next: Some(creation_time(id)) });
            }
            range = range.after(last);
        }
    }

    /// Commits all of them together. Returns their number, and the first delivery for which the queue had no room.
    /// After a conflict all are read again, because one of them changed.
    async fn send_again(
        &self,
        endpoint: EndpointId,
        ids: &[Uuid],
        wanted: &impl Fn(&Delivery) -> bool,
        now: Timestamp,
    ) -> Result<(usize, Option<Uuid>), RegistryError> {
        for _ in 0..RACES {
            let capacity = self.registry.subscriptions().backlogs.capacity(endpoint);
            let (mut batch, mut count, mut no_room) = (Batch::new(), 0, None);
            for id in ids {
                let Some(before) = self.find(endpoint, *id)?.filter(wanted) else { continue };
                if count == capacity {
                    no_room = Some(*id);
                    break;
                }
                let mut after = before.clone();
                after.again(now);
                after.replace(&before, &mut batch);
                count += 1;
            }
            if count == 0 {
                return Ok((0, no_room));
            }
            match self.commit_again(batch, endpoint, count).await {
                Ok(()) => return Ok((count, no_room)),
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Busy.into())
    }

    fn active(&self, owner: &Owner, id: EndpointId) -> Result<Arc<Endpoint>, RegistryError> {
        let endpoint = self.registry.endpoint(owner, id)?;
        if endpoint.active { Ok(endpoint) } else { Err(RegistryError::NotActive("the webhook endpoint is not active")) }
    }

    fn subscription_is_active(&self, delivery: &Delivery) -> bool {
        let known = self.registry.subscriptions();
        delivery.subscription_id.is_none_or(|id| known.subscription(id).is_some_and(|it| it.active))
    }

    /// Commits together with the count of deliveries that wait again.
    async fn commit_again(&self, mut batch: Batch, endpoint: EndpointId, deliveries: usize) -> Result<(), CommitError> {
        let mut enqueued = Enqueued::default();
        enqueued.add(&self.registry.subscriptions().backlogs, endpoint, deliveries);
        enqueued.put_counts(&mut batch);
        self.commit(batch, enqueued).await
    }

    /// Runs in a separate task, because a cancelled caller must not leave memory behind the store.
    async fn commit(&self, batch: Batch, enqueued: Enqueued) -> Result<(), CommitError> {
        let (committing, outbox) = (self.store.commit(batch), self.outbox.clone());
        let commit = tokio::spawn(async move { committing.await.map(|()| outbox.committed(enqueued)) });
        commit.await.unwrap_or_else(|error| Err(StoreError::Unknown { why: error.to_string() }.into()))
    }
}
