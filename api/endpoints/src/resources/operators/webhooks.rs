//! GET /webhooks and below: webhook endpoints of all organisations and their deliveries, for operators (our addition).

use std::cmp::Reverse;

use engine::webhooks::{delivery_log::Replay, model::Endpoint, registry::CreatedOrReplayed};
use framework::access::arguments::DeliveryId;

use crate::{
    prelude::*,
    resources::webhook::{
        webhook_deliveries::{
            ListWebhookDeliveries, WebhookDeliveryView, WebhookReplayView, logged, redelivered, replayed, tested,
        },
        webhook_ownership::not_found,
    },
};

/// Age up to which messages are sent again that were not delivered.
const REDELIVERED: Millis = 7 * DAY;

/// A webhook endpoint and its status.
#[view(named = "endpoint")]
pub struct WebhookView<'a> {
    id: i32,
    /// The organisation whose API keys registered the endpoint.
    organisation: &'a str,
    /// The URL that receives messages, without its query, which is a secret of the receiver.
    target_url: &'a str,
    /// Delivery status of the endpoint.
    status: Word<Health>,
    /// Time since which no message has received a 2xx status, in UTC; null if the last message did.
    failing_since: Option<At>,
    /// Number of messages that wait for their first attempt or a retry.
    waiting_deliveries: u64,
    /// Number of events for which no message was created because too many messages were waiting.
    dropped_events: u64,
    /// Number of active subscriptions of the endpoint.
    subscriptions: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    Inactive,
    Failing,
    Active,
}

impl Health {
    pub fn from_endpoint(endpoint: &Endpoint) -> Health {
        match (endpoint.active, endpoint.failing_since) {
            (false, _) => Health::Inactive,
            (true, Some(_)) => Health::Failing,
            (true, None) => Health::Active,
        }
    }
}

/// Removes the query of a URL, which may contain the receiver's secrets.
pub fn without_secrets(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}

closed! {
    Health: "WebhookHealth"
        "The status of a webhook endpoint. `failing`: its last message was not delivered and is retried. `inactive`: \
         nothing is sent." {
        Inactive = "inactive", Failing = "failing", Active = "active",
    }
}

impl<'a> WebhookView<'a> {
    fn new(call: &ApiCall, endpoint: &'a Endpoint) -> WebhookView<'a> {
        let known = call.api.engine.webhooks().subscriptions();
        let backlog = known.backlogs.for_endpoint(endpoint.id);
        WebhookView {
            id: endpoint.id.0,
            organisation: &endpoint.owner.0,
            target_url: without_secrets(&endpoint.target_url),
            status: Word(Health::from_endpoint(endpoint)),
            failing_since: endpoint.failing_since.map(At),
            waiting_deliveries: backlog.waiting(),
            dropped_events: backlog.overflow.map_or(0, |it| it.events),
            subscriptions: known.subscriptions_of(endpoint.id).iter().filter(|it| it.active).count(),
        }
    }
}

/// Lists the endpoints, failing ones first.
pub async fn list(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<Listed<WebhookView<'static>>> {
    let endpoints = call.api.engine.webhooks().subscriptions().endpoints();
    let mut rows: Vec<_> = endpoints.iter().map(|it| WebhookView::new(&call, it)).collect();
    rows.sort_by_key(|it| (it.status.0, Reverse(it.waiting_deliveries), it.id));
    Ok(call.list(&rows))
}

pub async fn deliveries(
    call: ApiCall,
    id: EndpointId,
    Anywhere(input): Anywhere<ListWebhookDeliveries>,
) -> Answer<Paged<WebhookDeliveryView>> {
    endpoint(&call.api, id)?;
    input.answer(&call, id, |_| true)
}

pub async fn redeliver(
    call: ApiCall,
    (id, DeliveryId(delivery)): (EndpointId, DeliveryId),
) -> Answer<One<WebhookDeliveryView>> {
    Ok(call.show(redeliver_message(&call.action(), id, delivery).await?))
}

pub(super) async fn redeliver_message(
    action: &ActionContext<'_>,
    id: EndpointId,
    delivery: Uuid,
) -> Answer<WebhookDeliveryView> {
    let endpoint = endpoint(action.api, id)?;
    redelivered(action, &endpoint.owner, &logged(action.api, id, delivery, |_| true)?).await
}

pub async fn redeliver_failed(call: ApiCall, id: EndpointId) -> Answer<One<WebhookReplayView>> {
    Ok(call.show(redeliver_failed_messages(&call.action(), id).await?))
}

/// Sends the recent messages of an endpoint again that were not delivered.
pub(super) async fn redeliver_failed_messages(action: &ActionContext<'_>, id: EndpointId) -> Answer<WebhookReplayView> {
    let (endpoint, until) = (endpoint(action.api, id)?, action.api.engine.now());
    let replay = Replay { since: until.minus(REDELIVERED), until, undelivered: true };
    let view = replayed(action.api, &endpoint.owner, id, replay, |_| true).await?;
    action.shown.audit_action("send", "webhook message");
    Ok(view)
}

pub async fn test(call: ApiCall, id: EndpointId) -> Answer<Created<WebhookDeliveryView>> {
    let made = send_test_message(&call.action(), id, call.idempotency_key()).await?;
    Ok(call.created(made.replay, made.record))
}

pub(super) async fn send_test_message(
    action: &ActionContext<'_>,
    id: EndpointId,
    once: Option<IdempotencyKey>,
) -> Answer<CreatedOrReplayed<WebhookDeliveryView>> {
    let made = tested(action.api, &endpoint(action.api, id)?.owner, id, once).await?;
    action.shown.audit_action("send", "webhook message");
    Ok(made)
}

/// Finds an endpoint of any organisation.
pub fn endpoint(api: &Api, id: EndpointId) -> Result<Arc<Endpoint>, ApiError> {
    let found = api.engine.webhooks().subscriptions().endpoint(id);
    found.ok_or_else(|| not_found(id))
}
