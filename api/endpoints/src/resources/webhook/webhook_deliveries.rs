//! /webhook_endpoints/{id}/deliveries: the messages of an endpoint, and their redelivery (our addition).

use engine::{
    lists::Range,
    store::StoreError,
    webhooks::{
        delivery::{Delivery, State},
        delivery_id::creation_time,
        delivery_log::Replay,
        model::Owner,
        registry::CreatedOrReplayed,
    },
};
use framework::{access::arguments::DeliveryId, values::secret::random};

use super::webhook_ownership::{named, own_endpoint, owner};
use crate::prelude::*;

/// A message to a webhook endpoint.
#[view(value = Delivery)]
pub struct WebhookDeliveryView {
    /// Id of the message, sent as the header `delivery-id` and `webhook-id` of every attempt.
    id: Uuid,
    /// Id of the endpoint that the message is sent to.
    #[view(from = endpoint_id)]
    webhook_endpoint_id: i32,
    /// Id of the subscription that requested the message; null for a test message.
    #[view(from = subscription_id)]
    webhook_subscription_id: Option<i32>,
    /// Id of the institution that the message is about; null for a test message.
    institution_id: Option<u32>,
    /// Type of the record that the message is about, such as `appointment`; `webhook_endpoint` for a test message.
    #[view(with = entry.resource())]
    resource_type: &'static str,
    /// The event that the message reports, such as `appointment_insertion.complete`; `webhook_endpoint.test` for a test
    /// message.
    event_name: String,
    /// Time at which the event was committed, in UTC.
    event_time: At,
    /// Status of the message. `stopped`: its endpoint or subscription is no longer active, or no key of its owner has
    /// the grants for the subscription any more.
    #[view(with = Word(status(entry)))]
    status: Word<DeliveryStatus>,
    /// Number of attempts made so far.
    #[view(with = entry.attempts())]
    attempts: u32,
    /// Status of the endpoint's response to the last attempt; null if it did not respond.
    #[view(with = entry.last_status())]
    response_code: Option<u16>,
    /// Reason why the last attempt failed; null before the first attempt and once the message is delivered.
    #[view(with = entry.last_error().map(|error| error.message.clone()))]
    failure_reason: Option<String>,
    /// Time at which the last attempt began, in UTC; null before the first attempt.
    #[view(from = attempted_at)]
    last_attempt_at: Option<At>,
    /// Time at which the next attempt is due, in UTC; null unless the status is `pending`.
    #[view(with = ends(entry).0)]
    next_attempt_at: Option<At>,
    /// Time at which the message was delivered, failed or stopped, in UTC; null while the status is `pending`.
    #[view(with = ends(entry).1)]
    finished_at: Option<At>,
    /// Time at which the message was created, in UTC.
    #[view(with = At(creation_time(entry.id)))]
    created_at: At,
}

/// A message to a webhook endpoint, with its body.
#[derive(Serialize, JsonSchema)]
pub struct WebhookDeliveryDetail {
    #[serde(flatten)]
    delivery: WebhookDeliveryView,
    /// The body of the next attempt.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    message: Box<RawValue>,
}

/// The result of a replay.
#[derive(Serialize, JsonSchema)]
pub struct WebhookReplayView {
    /// Number of messages that are sent again.
    pub deliveries: usize,
    /// The `since` of the next replay if not all messages could be queued; otherwise null.
    pub next_since: Option<At>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStatus {
    Pending,
    Delivered,
    Failed,
    Stopped,
}

closed! {
    DeliveryStatus: "DeliveryStatus" "The delivery status of a message." {
        Pending = "pending", Delivered = "delivered", Failed = "failed", Stopped = "stopped",
    }
}

fn status(delivery: &Delivery) -> DeliveryStatus {
    match delivery.state {
        State::Pending { .. } => DeliveryStatus::Pending,
        State::Delivered { .. } => DeliveryStatus::Delivered,
        State::Failed { .. } => DeliveryStatus::Failed,
        State::Stopped { .. } => DeliveryStatus::Stopped,
    }
}

/// Returns the times of the next attempt and of the end.
fn ends(delivery: &Delivery) -> (Option<At>, Option<At>) {
    match delivery.state {
        State::Pending { next_attempt_at } => (Some(At(next_attempt_at)), None),
        State::Delivered { at, .. } | State::Failed { at } | State::Stopped { at } => (None, Some(At(at))),
    }
}

/// Returns the filter of deliveries for the caller. The endpoint has messages of all its subscriptions; a key sees
/// those that it could subscribe to itself.
fn may_see(call: &ApiCall) -> impl Fn(&Delivery) -> bool + use<> {
    let own: Vec<InstitutionId> = call.tenants().iter().map(|tenant| tenant.institution.id).collect();
    let key = call.key.clone();
    move |delivery| {
        delivery.institution_id.is_none_or(|institution| own.contains(&institution))
            && delivery.resource_type.is_none_or(|kind| may_receive(&key, kind))
    }
}

#[input]
pub struct ListWebhookDeliveries {
    filter: DeliveryFilter,
    paging: Paging,
}

/// Filters of a list.
#[input]
struct DeliveryFilter {
    /// Only records with this status.
    #[query(word())]
    status: Option<DeliveryStatus>,
    /// Only messages of this event.
    #[query(text(MAX_NAME), name = "event_name")]
    event: Option<String>,
    /// Only messages of this subscription.
    #[query(id().map(|id| SubscriptionId(id as i32)), name = "webhook_subscription_id")]
    subscription: Option<SubscriptionId>,
}

impl DeliveryFilter {
    fn takes(&self, it: &Delivery) -> bool {
        self.status.is_none_or(|wanted| status(it) == wanted)
            && self.event.as_ref().is_none_or(|event| it.event_name.eq_ignore_ascii_case(event))
            && self.subscription.is_none_or(|subscription| it.subscription_id == Some(subscription))
    }
}

impl ListWebhookDeliveries {
    /// Lists the deliveries, newest first.
    pub fn answer(
        self,
        call: &ApiCall,
        endpoint: EndpointId,
        may_see: impl Fn(&Delivery) -> bool,
    ) -> Answer<Paged<WebhookDeliveryView>> {
        let page = self.paging.collect(
            true,
            |Range { from, direction, limit }| {
                let from = from.map(|from| Uuid::from_u64_pair(from.at.0.cast_unsigned(), from.id));
                call.api.engine.webhook_log().page(endpoint, from, direction, limit).map_err(EngineError::from)
            },
            |it| may_see(it) && self.filter.takes(it),
            |it| {
                let (high, low) = it.id.as_u64_pair();
                Position { at: Timestamp(high.cast_signed()), id: low }
            },
        )?;
        Ok(call.page(&page.views(WebhookDeliveryView::from_value)))
    }
}

pub async fn list(
    call: ApiCall,
    endpoint: EndpointId,
    Anywhere(asked): Anywhere<ListWebhookDeliveries>,
) -> Answer<Paged<WebhookDeliveryView>> {
    own_endpoint(&call, endpoint)?;
    asked.answer(&call, endpoint, may_see(&call))
}

pub async fn show(
    call: ApiCall,
    (endpoint, DeliveryId(id)): (EndpointId, DeliveryId),
) -> Answer<One<WebhookDeliveryDetail>> {
    let delivery = find(&call, endpoint, id)?;
    call.audit("read", "webhook message", record_of(&delivery));
    let body = call.api.engine.webhook_log().body(&delivery).map_err(unreadable)?;
    let body = String::from_utf8(body).map_err(|_| ApiError::internal())?;
    let message = RawValue::from_string(body).map_err(|_| ApiError::internal())?;
    Ok(call.show(WebhookDeliveryDetail { delivery: WebhookDeliveryView::from_value(&delivery), message }))
}

pub async fn redeliver(
    call: ApiCall,
    (endpoint, DeliveryId(id)): (EndpointId, DeliveryId),
) -> Answer<One<WebhookDeliveryView>> {
    let delivery = find(&call, endpoint, id)?;
    Ok(call.show(redelivered(&call.action(), &owner(&call), &delivery).await?))
}

pub async fn redelivered(
    action: &ActionContext<'_>,
    owner: &Owner,
    delivery: &Delivery,
) -> Answer<WebhookDeliveryView> {
    action.shown.audit("send", "webhook message", record_of(delivery));
    let engine = &action.api.engine;
    let again = engine.webhook_log().redeliver(owner, delivery.endpoint_id, delivery.id, engine.now()).await;
    let again = again.map_err(|error| ApiError::from(error).if_not_found(|| not_found(delivery.id)))?;
    Ok(WebhookDeliveryView::from_value(&again))
}

/// Returns the id of the record in a message, for the audit trail.
pub fn record_of(delivery: &Delivery) -> u64 {
    delivery.record.rsplit(' ').next().and_then(|id| id.parse().ok()).unwrap_or(0)
}

#[input(check = ReplayWebhooks::check)]
pub struct ReplayWebhooks {
    /// Only entries from this time on.
    #[body(instant(&input.clock), required)]
    since: Option<Timestamp>,
    /// Only entries up to this time.
    #[body(instant(&input.clock), or = input.now)]
    until: Timestamp,
    /// `true` to replay only messages that were not delivered.
    #[body(boolean(), default = false)]
    undelivered: bool,
}

impl ReplayWebhooks {
    fn check(&self, input: &mut Input) {
        if self.since.is_some_and(|since| since >= self.until) {
            input.body.problem("since must be before until.");
        }
    }
}

pub async fn replay(
    call: ApiCall,
    endpoint: EndpointId,
    Anywhere(ReplayWebhooks { since, until, undelivered }): Anywhere<ReplayWebhooks>,
) -> Answer<One<WebhookReplayView>> {
    let asked = Replay { since: since.unwrap_or(until), until, undelivered };
    Ok(call.show(replayed(&call.api, &owner(&call), endpoint, asked, may_see(&call)).await?))
}

pub async fn replayed(
    api: &Api,
    owner: &Owner,
    endpoint: EndpointId,
    asked: Replay,
    may_see: impl Fn(&Delivery) -> bool,
) -> Answer<WebhookReplayView> {
    let replayed = api.engine.webhook_log().replay(owner, endpoint, asked, may_see, api.engine.now()).await;
    let replayed = replayed.map_err(|error| named(error.into(), endpoint))?;
    Ok(WebhookReplayView { deliveries: replayed.deliveries, next_since: replayed.next.map(At) })
}

pub async fn test(call: ApiCall, endpoint: EndpointId) -> Answer<Created<WebhookDeliveryView>> {
    let made = tested(&call.api, &owner(&call), endpoint, call.idempotency_key()).await?;
    Ok(call.created(made.replay, made.record))
}

/// Sends a test message.
pub async fn tested(
    api: &Api,
    owner: &Owner,
    endpoint: EndpointId,
    once: Option<IdempotencyKey>,
) -> Answer<CreatedOrReplayed<WebhookDeliveryView>> {
    let random = uuid::Builder::from_random_bytes(random()).into_uuid();
    let made = api.engine.webhook_log().test(owner, endpoint, random, once.as_ref(), api.engine.now()).await;
    let CreatedOrReplayed { record, replay } = made.map_err(|error| named(error.into(), endpoint))?;
    Ok(CreatedOrReplayed { record: WebhookDeliveryView::from_value(&record), replay })
}

/// Finds a delivery of the caller's endpoint that the caller may see.
fn find(call: &ApiCall, endpoint: EndpointId, id: Uuid) -> Result<Delivery, ApiError> {
    own_endpoint(call, endpoint)?;
    logged(&call.api, endpoint, id, may_see(call))
}

pub fn logged(
    api: &Api,
    endpoint: EndpointId,
    id: Uuid,
    may_see: impl Fn(&Delivery) -> bool,
) -> Result<Delivery, ApiError> {
    let found = api.engine.webhook_log().find(endpoint, id).map_err(unreadable)?;
    found.filter(may_see).ok_or_else(|| not_found(id))
}

fn unreadable(error: StoreError) -> ApiError {
    EngineError::from(error).into()
}

fn not_found(id: Uuid) -> ApiError {
    ApiError::not_found(format!("Webhook delivery with id {id}"))
}
