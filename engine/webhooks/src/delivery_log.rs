//! The delivery log of an endpoint, with test messages, redelivery and replay.

use std::sync::Arc;

use location::time::Timestamp;
use query::idempotency::IdempotencyKey;
use runtime::origin;
use serde_json::json;
use store::{Batch, CommitError, Direction, Store, StoreError};
use uuid::Uuid;

use super::{
    delivery::{Delivery, State, TEST_EVENT, TEST_RESOURCE},
    delivery_id::{first_id_at, made_at},
    keys, limits,
    model::{Endpoint, EndpointId, Owner},
    outbox::{Enqueued, Outbox},
    registry::{EndpointRegistry, Made, RegistryError},
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

/// The result of a replay.
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
        let mut range = keys::log_between(endpoint, Uuid::nil(), Uuid::max());
        match (from, direction) {
            (None, _) => {}
            (Some(from), Direction::Forward) => range = range.after(&keys::logged(endpoint, from)),
            (Some(from), Direction::Backward) => range.end = keys::logged(endpoint, from),
        }
        let keys = self.store.scan_keys(range, direction, limit)?;
        let ids = keys.iter().filter_map(|key| keys::parse_logged(key));
        ids.filter_map(|(_, id)| self.read(id).transpose()).collect()
    }

    /// Reads a delivery of the endpoint.
    pub fn find(&self, endpoint: EndpointId, id: Uuid) -> Result<Option<Delivery>, StoreError> {
        Ok(self.read(id)?.filter(|delivery| delivery.endpoint_id == endpoint))
    }

    /// Builds the body of a delivery's next attempt.
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
    ) -> Result<Made<Delivery>, RegistryError> {
        // The second of two requests with the same Idempotency-Key gets the result of the first.
        let _turn = self.registry.turn().await;
        for _ in 0..RACES {
            let claim = match self.registry.claim_or_replay(once, now)? {
                Ok(claim) => claim,
                Err(earlier) => return Ok(earlier),
            };
            let endpoint = self.active(owner, id)?;
            let data = json!({ TEST_RESOURCE: {"id": endpoint.id, "target_url": endpoint.target_url} });
            let delivery = Delivery {
                id: self.registry.subscriptions().delivery_ids.next(now, random),
                endpoint_id: endpoint.id,
                subscription_id: None,
                institution_id: None,
                subdomain: None,
                location_id: None,
                resource_type: None,
                event_name: TEST_EVENT.to_owned(),
                event_time: now,
                record: String::new(),
                origin: origin::current().map(|origin| origin.to_string()),
                is_newer: false,
                attempts: 0,
                attempted_at: None,
                delivery_errors: Vec::new(),
                first_attempt_at: None,
                state: State::Pending { next_attempt_at: now },
            };
            let mut batch = Batch::new();
            delivery.insert(&mut batch);
            batch.put(keys::data(delivery.id), data.to_string().into_bytes());
            claim.put(&delivery, now, &mut batch)?;
            match self.commit(batch, endpoint.id, 1).await {
                Ok(()) => return Ok(Made { record: delivery, replay: false }),
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
            if matches!(before.state, State::Pending { next_attempt_at } if next_attempt_at <= now) {
                return Ok(before);
            }
            let mut after = before.clone();
            after.again(now);
            let mut batch = Batch::new();
            after.replace(&before, &mut batch);
            match self.commit(batch, endpoint.id, usize::from(!before.is_pending())).await {
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
        let mut range = keys::log_between(endpoint.id, first_id_at(asked.since), Uuid::max());
        range.end = keys::logged(endpoint.id, first_id_at(asked.until));
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
                let next = ids.first().map(|id| made_at(*id));
                return Ok(Replayed { deliveries, next });
            }
            let (sent, no_room) = self.send_again(endpoint.id, &ids, &wanted, now).await?;
            deliveries += sent;
            if let Some(id) = no_room {
                return Ok(Replayed { deliveries, next: Some(made_at(id)) });
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
            let room = self.registry.subscriptions().backlogs.room(endpoint);
            let (mut batch, mut count, mut no_room) = (Batch::new(), 0, None);
            for id in ids {
                let Some(before) = self.read(*id)?.filter(wanted) else { continue };
                if count == room {
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
            match self.commit(batch, endpoint, count).await {
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

    /// Commits together with the count of deliveries that wait again. Runs in a separate task, because a cancelled
    /// caller must not leave memory behind the store.
    async fn commit(&self, mut batch: Batch, endpoint: EndpointId, deliveries: usize) -> Result<(), CommitError> {
        let mut enqueued = Enqueued::default();
        enqueued.add(&self.registry.subscriptions().backlogs, endpoint, deliveries);
        enqueued.put_counts(&mut batch);
        let (committing, outbox) = (self.store.commit(batch), self.outbox.clone());
        let commit = tokio::spawn(async move { committing.await.map(|()| outbox.committed(enqueued)) });
        commit.await.unwrap_or_else(|error| Err(StoreError::Unknown { why: error.to_string() }.into()))
    }

    fn read(&self, id: Uuid) -> Result<Option<Delivery>, StoreError> {
        let key = keys::delivery(id);
        let stored = self.store.get(&key)?.map(|stored| Delivery::from_bytes(&stored)).transpose();
        stored.map_err(|_| StoreError::damaged(&key, "a delivery cannot be decoded"))
    }
}
