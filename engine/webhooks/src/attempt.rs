//! One attempt: read the delivery, send it signed, record durably what became of it.

use std::sync::Arc;

use location::time::Timestamp;
use runtime::metrics::Metrics;
use store::{Batch, CommitError, Store, StoreError};
use uuid::Uuid;

use super::{
    delivery::{Delivery, State},
    egress::{Egress, SendError},
    keys, limits,
    model::{Endpoint, EndpointId},
    registry::EndpointRegistry,
    schedule::AttemptOutcome,
    sign,
};

/// The time of day. Read in one place of the engine; tests set their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Chooses the jitter of retries; tests choose it themselves.
pub type Random = Arc<dyn Fn() -> u64 + Send + Sync>;

/// What attempts work with.
#[derive(Clone)]
pub struct Sender {
    pub store: Arc<dyn Store>,
    pub registry: Arc<EndpointRegistry>,
    pub egress: Arc<Egress>,
    pub metrics: Arc<Metrics>,
    pub clock: Clock,
    pub random: Random,
}

/// A delivery as the due index names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub endpoint: EndpointId,
    pub at: Timestamp,
    pub delivery: Uuid,
}

/// What an attempt leaves of its delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterAttempt {
    Ended,
    /// It is to be looked at again.
    Pending,
}

/// What is wrong with a delivery that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetAsideReason {
    Missing,
    Damaged,
    NotReadable,
    NotDue,
}

impl Sender {
    /// Makes the attempt. An error means that the store did not let it begin.
    pub async fn attempt(&self, due: Due) -> Result<AfterAttempt, StoreError> {
        let stored = match self.store.get(&keys::delivery(due.delivery)) {
            Ok(Some(stored)) => stored,
            Ok(None) => return self.set_aside(due, SetAsideReason::Missing).await,
            Err(StoreError::Damaged { .. }) => return self.set_aside(due, SetAsideReason::Damaged).await,
            Err(error) => return Err(error),
        };
        let Ok(before) = Delivery::from_bytes(&stored) else {
            return self.set_aside(due, SetAsideReason::NotReadable).await;
        };
        if before.state != (State::Pending { next_attempt_at: due.at }) {
            return self.set_aside(due, SetAsideReason::NotDue).await;
        }
        let attempted = (self.clock)();
        let known = self.registry.subscriptions();
        let mut after = before.clone();
        let answer = match self.active_endpoint(&before) {
            Some(endpoint) => match before.body(&*self.store) {
                Ok(body) => {
                    let outcome = self.send(&endpoint, body, before.id, attempted).await;
                    Some(self.note(&mut after, attempted, outcome))
                }
                Err(error @ StoreError::Damaged { .. }) => {
                    tracing::error!(delivery = %due.delivery, %error, "a webhook message cannot be sent");
                    after.give_up(attempted);
                    None
                }
                Err(error) => return Err(error),
            },
            None => {
                after.stop(attempted);
                None
            }
        };
        report(&after);
        let mut batch = Batch::new();
        after.replace(&before, &mut batch);
        if !self.commit(due.endpoint, answer, attempted, batch).await || after.is_pending() {
            return Ok(AfterAttempt::Pending);
        }
        known.backlogs.ended(due.endpoint);
        Ok(AfterAttempt::Ended)
    }

    fn note(&self, delivery: &mut Delivery, attempted: Timestamp, outcome: Result<u16, SendError>) -> AttemptOutcome {
        let (answer, counted) = match outcome {
            Ok(_) => (AttemptOutcome::Delivered, &self.metrics.webhooks_delivered),
            Err(SendError::GONE) => (AttemptOutcome::Gone, &self.metrics.webhooks_failed),
            Err(_) => (AttemptOutcome::Failed, &self.metrics.webhooks_failed),
        };
        delivery.record(attempted, outcome, (self.random)());
        counted.add(1);
        answer
    }

    async fn send(&self, endpoint: &Endpoint, body: Vec<u8>, id: Uuid, at: Timestamp) -> Result<u16, SendError> {
        let timestamp = sign::timestamp(at);
        let (secret, next) = endpoint.secrets(at);
        let (id, seconds) = (id.to_string(), sign::seconds(at));
        let mut headers = vec![("signature", sign::sign(secret.reveal(), &timestamp, &body))];
        headers.extend(next.map(|next| ("signature-next", sign::sign(next.reveal(), &timestamp, &body))));
        let standard = sign::standard([secret].into_iter().chain(next), &id, &seconds, &body);
        headers.extend(standard.map(|signature| ("webhook-signature", signature)));
        headers.extend([("timestamp", timestamp), ("webhook-timestamp", seconds)]);
        headers.extend([("delivery-id", id.clone()), ("webhook-id", id)]);
        self.egress.post(&endpoint.target_url, &headers, body).await
    }

    fn active_endpoint(&self, delivery: &Delivery) -> Option<Arc<Endpoint>> {
        let known = self.registry.subscriptions();
        if let Some(id) = delivery.subscription_id {
            known.subscription(id).filter(|subscription| subscription.active)?;
        }
        let endpoint = known.endpoint(delivery.endpoint_id).filter(|endpoint| endpoint.active)?;
        let about = delivery.institution_id.zip(delivery.resource_type);
        about.is_none_or(|(institution, kind)| known.hears(&endpoint.owner, institution, kind)).then_some(endpoint)
    }

    /// Until the store takes it: a message that was delivered must not be sent again because the disk is full. False: somebody else
    /// was faster.
    async fn commit(
        &self,
        endpoint: EndpointId,
        answer: Option<AttemptOutcome>,
        attempted: Timestamp,
        batch: Batch,
    ) -> bool {
        loop {
            let committed = match answer {
                Some(answer) => self.registry.commit_attempt(endpoint, answer, attempted, batch.clone()).await,
                None => self.store.commit(batch.clone()).await,
            };
            match committed {
                Ok(()) => return true,
                Err(CommitError::Conflict { .. }) => {
                    tracing::debug!(%endpoint, "somebody else recorded this delivery");
                    return false;
                }
                Err(error) => {
                    tracing::warn!(%endpoint, %error, "the outcome of a webhook delivery waits for the store");
                    tokio::time::sleep(limits::STORE_RETRY).await;
                }
            }
        }
    }

    /// Takes what cannot be sent out of the due index, so that it does not stand before the others for ever. What nobody can read has
    /// ended, and is kept as long as others that have; a record that can be read is found under what it says itself.
    async fn set_aside(&self, due: Due, why: SetAsideReason) -> Result<AfterAttempt, StoreError> {
        tracing::error!(delivery = %due.delivery, endpoint = %due.endpoint, ?why, "webhook delivery cannot be processed");
        let mut batch = Batch::new();
        let key = keys::due(due.endpoint, due.at, due.delivery);
        batch.expect_present(key.clone()).delete(key);
        if why != SetAsideReason::NotDue {
            batch.put(keys::finished((self.clock)(), due.delivery), keys::endpoint_bytes(due.endpoint));
        }
        if self.commit(due.endpoint, None, due.at, batch).await {
            self.registry.subscriptions().backlogs.ended(due.endpoint);
        }
        Ok(AfterAttempt::Pending)
    }
}

fn report(delivery: &Delivery) {
    let (id, endpoint, event) = (delivery.id, delivery.endpoint_id, delivery.event_name.as_str());
    let code = delivery.delivery_errors.last().map_or("", |error| error.code.as_str());
    match delivery.state {
        State::Delivered { status, .. } => tracing::debug!(%id, %endpoint, event, status, "webhook delivered"),
        State::Pending { .. } => tracing::info!(%id, %endpoint, event, code, "webhook attempt failed"),
        State::Failed { .. } => tracing::warn!(%id, %endpoint, event, code, "webhook delivery failed"),
        State::Stopped { .. } => {
            tracing::info!(%id, %endpoint, event, "webhook delivery stopped: no longer active or allowed")
        }
    }
}
