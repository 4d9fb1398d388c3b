//! A single delivery attempt: reads the delivery, sends the signed message, and records the outcome.

use std::sync::Arc;

use location::time::Timestamp;
use runtime::metrics::Metrics;
use store::{Store, StoreError};
use tracing::{Instrument, Span, field::Empty, trace_span};
use uuid::Uuid;

use super::{
    delivery::{Delivery, State},
    egress::{Egress, SendError},
    keys::{self, Due},
    model::Endpoint,
    outcomes::{DeliveryChange, Outcomes, SetAsideReason},
    payload_cache::PayloadCache,
    registry::EndpointRegistry,
    schedule::AttemptOutcome,
    target::{Target, Targets},
};

/// The source of the current time; tests set their own.
pub type WebhookClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The source of randomness for the jitter of retries; tests set their own.
pub type Random = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The dependencies of a delivery attempt.
#[derive(Clone)]
pub struct Sender {
    pub store: Arc<dyn Store>,
    pub registry: Arc<EndpointRegistry>,
    pub egress: Arc<Egress>,
    pub metrics: Arc<Metrics>,
    pub clock: WebhookClock,
    pub random: Random,
}

/// The state of a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterAttempt {
    Ended,
    /// The delivery needs another look at the store.
    Pending,
    /// The endpoint is assigned to another node now. Nothing was sent.
    Elsewhere,
}

impl Sender {
    /// Runs the attempt. Returns an error if the store could not be read before the message was sent.
    pub(crate) async fn attempt(
        &self,
        due: Due,
        outcomes: &Outcomes,
        shown: &PayloadCache,
        targets: &Targets,
    ) -> Result<AfterAttempt, StoreError> {
        let before = match self.read(due)? {
            Ok(before) => before,
            Err(why) => return Ok(self.set_aside(due, why, outcomes).await),
        };
        let attempted = (self.clock)();
        let mut after = before.clone();
        let answer = match self.active_endpoint(&before) {
            Some(endpoint) => match shown.read(&*self.store, &before) {
                // The endpoint may have moved to another node while this process was suspended.
                Ok(_) if !self.registry.subscriptions().is_here(due.endpoint) => return Ok(AfterAttempt::Elsewhere),
                Ok(data) => {
                    let target = targets.prepared(&endpoint, &self.egress);
                    let sending = self.send(&target, before.body(&data), before.id, attempted);
                    let span = sending_span(&before);
                    let timer = self.metrics.durations.webhook_sends.start_timer();
                    let outcome = sending.instrument(span.clone()).await;
                    timer.observe_duration();
                    span.record("outcome", outcome.map_or_else(SendError::code, |status| status.to_string()));
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
        let ended = !after.is_pending();
        let change = DeliveryChange::replaced(before, after);
        let health = answer.filter(|answer| self.registry.health_changes(due.endpoint, *answer, attempted));
        let recorded = match health {
            Some(answer) => outcomes.record_with_health(change, answer, attempted).await,
            None => outcomes.record(change).await,
        };
        Ok(if recorded && ended { AfterAttempt::Ended } else { AfterAttempt::Pending })
    }

    /// Reads the delivery. Returns the reason in the inner `Err` if the delivery cannot be attempted.
    fn read(&self, due: Due) -> Result<Result<Delivery, SetAsideReason>, StoreError> {
        let stored = match self.store.get(&keys::delivery(due.delivery)) {
            Ok(Some(stored)) => stored,
            Ok(None) => return Ok(Err(SetAsideReason::Missing)),
            Err(StoreError::Damaged { .. }) => return Ok(Err(SetAsideReason::Damaged)),
            Err(error) => return Err(error),
        };
        let Ok(delivery) = Delivery::from_bytes(&stored) else { return Ok(Err(SetAsideReason::NotReadable)) };
        let is_due = delivery.state == (State::Pending { next_attempt_at: due.at });
        Ok(if is_due { Ok(delivery) } else { Err(SetAsideReason::NotDue) })
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

    async fn send(&self, target: &Target, body: Vec<u8>, id: Uuid, at: Timestamp) -> Result<u16, SendError> {
        let url = target.url.as_ref().map_err(|_| SendError::RefusedAddress)?;
        let headers = target.headers(id, at, &body);
        self.egress.post(url, &headers, body).await
    }

    fn active_endpoint(&self, delivery: &Delivery) -> Option<Arc<Endpoint>> {
        let known = self.registry.subscriptions();
        if let Some(id) = delivery.subscription_id {
            known.subscription(id).filter(|subscription| subscription.active)?;
        }
        let endpoint = known.endpoint(delivery.endpoint_id).filter(|endpoint| endpoint.active)?;
        let about = delivery.institution_id.zip(delivery.resource_type);
        about
            .is_none_or(|(institution, kind)| known.may_receive(&endpoint.owner, institution, kind))
            .then_some(endpoint)
    }

    async fn set_aside(&self, due: Due, why: SetAsideReason, outcomes: &Outcomes) -> AfterAttempt {
        tracing::error!(delivery = %due.delivery, endpoint = %due.endpoint, ?why, "webhook delivery cannot be processed");
        outcomes.record(DeliveryChange::set_aside(due, why, (self.clock)())).await;
        AfterAttempt::Pending
    }
}

/// Returns a span that is used for traces only.
fn sending_span(delivery: &Delivery) -> Span {
    let (id, endpoint, event) = (delivery.id, delivery.endpoint_id, delivery.event_name.as_str());
    let request = delivery.origin.as_deref();
    trace_span!("webhook", otel.kind = "client", %id, %endpoint, event, request, outcome = Empty)
}

fn report(delivery: &Delivery) {
    let (id, endpoint, event) = (delivery.id, delivery.endpoint_id, delivery.event_name.as_str());
    let request = delivery.origin.as_deref();
    let code = delivery.delivery_errors.last().map_or("", |error| error.code.as_str());
    match delivery.state {
        State::Delivered { status, .. } => tracing::debug!(%id, %endpoint, event, request, status, "webhook delivered"),
        State::Pending { .. } => tracing::info!(%id, %endpoint, event, request, code, "webhook attempt failed"),
        State::Failed { .. } => tracing::warn!(%id, %endpoint, event, request, code, "webhook delivery failed"),
        State::Stopped { .. } => {
            tracing::info!(%id, %endpoint, event, request, "webhook delivery stopped: no longer active or allowed")
        }
    }
}
