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
    event::StoredEvent,
    event_cache::EventCache,
    keys::{self, Due},
    model::Endpoint,
    outcomes::{DeliveryChange, Outcomes, SetAsideReason},
    registry::EndpointRegistry,
    schedule::AttemptOutcome,
    sign::EncodedBody,
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

/// A delivery and its event, or the reason why the delivery cannot be attempted. The event of a delivery of an earlier
/// version is `None`.
type Found = Result<(Delivery, Option<Arc<StoredEvent>>), SetAsideReason>;

impl Sender {
    /// Runs the attempt. Returns an error if the store could not be read before the message was sent.
    pub(crate) async fn attempt(
        &self,
        due: Due,
        outcomes: &Outcomes,
        events: &EventCache,
        targets: &Targets,
    ) -> Result<AfterAttempt, StoreError> {
        let (mut delivery, event) = match self.read(due, events)? {
            Ok(found) => found,
            Err(why) => return Ok(self.set_aside(due, why, outcomes).await),
        };
        let attempted = (self.clock)();
        let answer = match self.active_endpoint(&delivery) {
            Some(endpoint) => match self.body(&delivery, event.as_deref()) {
                // The endpoint may have moved to another node while this process was suspended.
                Ok(_) if !self.registry.subscriptions().is_here(due.endpoint) => return Ok(AfterAttempt::Elsewhere),
                Ok(body) => {
                    let target = targets.prepared(&endpoint, &self.egress);
                    let sending = self.send(&target, &body, delivery.id, attempted);
                    let span = sending_span(&delivery);
                    let timer = self.metrics.durations.webhook_sends.start_timer();
                    let outcome = sending.instrument(span.clone()).await;
                    timer.observe_duration();
                    span.record("outcome", outcome.map_or_else(SendError::code, |status| status.to_string()));
                    Some(self.note(&mut delivery, attempted, outcome))
                }
                Err(error @ StoreError::Damaged { .. }) => {
                    tracing::error!(delivery = %due.delivery, %error, "a webhook message cannot be sent");
                    delivery.state = State::Failed { at: attempted };
                    None
                }
                Err(error) => return Err(error),
            },
            None => {
                delivery.state = State::Stopped { at: attempted };
                None
            }
        };
        report(&delivery);
        let ended = !delivery.is_pending();
        let change = DeliveryChange::attempted(due, delivery);
        let health = answer.filter(|answer| self.registry.health_changes(due.endpoint, *answer, attempted));
        let recorded = match health {
            Some(answer) => outcomes.record_with_health(change, answer, attempted).await,
            None => outcomes.record(change).await,
        };
        Ok(if recorded && ended { AfterAttempt::Ended } else { AfterAttempt::Pending })
    }

    fn read(&self, due: Due, events: &EventCache) -> Result<Found, StoreError> {
        let found = match self.read_stored(due, events) {
            Err(StoreError::Damaged { .. }) => Err(SetAsideReason::Damaged),
            found => found?,
        };
        let waits = State::Pending { next_attempt_at: due.at };
        let is_due = |delivery: &Delivery| due.is_queued || delivery.state == waits;
        Ok(found.and_then(|found| if is_due(&found.0) { Ok(found) } else { Err(SetAsideReason::NotDue) }))
    }

    fn read_stored(&self, due: Due, events: &EventCache) -> Result<Found, StoreError> {
        let entry = match due.is_queued {
            true => None,
            false => match self.store.get(&keys::logged(due.endpoint, due.delivery))? {
                None => return Ok(Err(SetAsideReason::Missing)),
                entry => entry,
            },
        };
        if entry.as_ref().is_some_and(Vec::is_empty) {
            let Some(stored) = self.store.get(&keys::earlier_delivery(due.delivery))? else {
                return Ok(Err(SetAsideReason::Missing));
            };
            let delivery = Delivery::from_bytes(&stored);
            return Ok(delivery.map(|delivery| (delivery, None)).map_err(|_| SetAsideReason::NotReadable));
        }
        let event = events.read(&*self.store, due.delivery)?;
        let delivery = Delivery::from_event(&event, due.delivery, entry.as_deref());
        Ok(delivery.map(|delivery| (delivery, Some(event))).ok_or(SetAsideReason::NotReadable))
    }

    /// Builds the body of the attempt. `event` is `None` for a delivery of an earlier version.
    fn body(&self, delivery: &Delivery, event: Option<&StoredEvent>) -> Result<Arc<EncodedBody>, StoreError> {
        match event {
            Some(event) => Ok(delivery.encoded_body(event)),
            None => Ok(Arc::new(EncodedBody::new(delivery.body(&delivery.data(&*self.store)?)))),
        }
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

    async fn send(&self, target: &Target, body: &EncodedBody, id: Uuid, at: Timestamp) -> Result<u16, SendError> {
        let url = target.url.as_ref().map_err(|_| SendError::RefusedAddress)?;
        self.egress.post(url, target.headers(id, at, body), body.bytes.clone()).await
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
