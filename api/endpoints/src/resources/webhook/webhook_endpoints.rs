//! /webhook_endpoints (specification 6.1); rotation of secrets is our addition.

use engine::webhooks::{limits::MAX_SECRET_OVERLAP, model::Endpoint, sign::SecretKey};
use framework::values::{limits::MAX_URL, secret::random};
use location::HOUR;

use super::webhook_ownership::{may_subscribe, named, own_endpoint, owner};
use crate::prelude::*;

const LONGEST_OVERLAP: i64 = MAX_SECRET_OVERLAP / HOUR;

/// A URL that receives webhook messages.
#[view(named = "endpoint")]
pub struct WebhookEndpointView<'a> {
    id: i32,
    /// The URL that receives messages.
    target_url: &'a str,
    /// Secret that signs messages. Shown only once, when it is created: on registration and on rotation.
    secret_key: Option<&'a str>,
    /// Time until which the secret before the last rotation also signs messages; null if it no longer does.
    earlier_secret_until: Option<At>,
    /// `true` if messages are sent to the endpoint. It becomes false after 48 hours without a single 2xx status, and
    /// immediately after a 410.
    active: bool,
    /// Time since which no message has received a 2xx status; null if the endpoint is not failing. After 48 hours the
    /// endpoint is deactivated.
    failing_since: Option<At>,
    /// Number of messages that wait for their first attempt or a retry.
    waiting_deliveries: u64,
    /// Number of events for which no message was created because too many messages were waiting. Setting `active` to
    /// true resets the count.
    dropped_events: u64,
    /// Time of the first dropped event, in UTC; null if none was dropped.
    dropped_since: Option<At>,
    /// Time of the last dropped event, in UTC; null if none was dropped.
    dropped_until: Option<At>,
    /// Time at which the endpoint was registered, in UTC.
    created_at: At,
    /// Time at which the endpoint was last changed, in UTC.
    updated_at: At,
}

impl<'a> WebhookEndpointView<'a> {
    fn new(call: &ApiCall, endpoint: &'a Endpoint) -> WebhookEndpointView<'a> {
        let backlog = call.api.engine.webhooks().subscriptions().backlogs.for_endpoint(endpoint.id);
        let overflow = backlog.overflow;
        WebhookEndpointView {
            id: endpoint.id.0,
            target_url: &endpoint.target_url,
            secret_key: None,
            earlier_secret_until: endpoint.rotating_until(call.api.engine.now()).map(At),
            active: endpoint.active,
            failing_since: endpoint.failing_since.map(At),
            waiting_deliveries: backlog.waiting(),
            dropped_events: overflow.map_or(0, |it| it.events),
            dropped_since: overflow.map(|it| At(it.since)),
            dropped_until: overflow.map(|it| At(it.until)),
            created_at: At(endpoint.created_at),
            updated_at: At(endpoint.updated_at),
        }
    }

    fn with_secret(call: &ApiCall, endpoint: &'a Endpoint) -> WebhookEndpointView<'a> {
        let made = endpoint.next_secret.as_ref().map_or(&endpoint.secret_key, |next| &next.secret_key);
        WebhookEndpointView { secret_key: Some(made.reveal()), ..WebhookEndpointView::new(call, endpoint) }
    }
}

/// Reads a URL. The engine checks the other conditions.
fn https_url() -> Kind<String> {
    let schema = || json!({"type": "string", "format": "uri", "maxLength": MAX_URL, "pattern": "^https://"});
    let plain = text(MAX_URL);
    Kind::for_text(schema, "https://hooks.example.com/practice", move |given| plain.text(given))
        .about("The URL that receives messages: HTTPS, on the public internet.")
}

#[input]
pub struct NewWebhookEndpoint {
    #[body(filled(https_url()))]
    target_url: String,
    #[body(active(), default = true)]
    active: bool,
}

pub async fn create(
    call: ApiCall,
    Anywhere(NewWebhookEndpoint { target_url, active }): Anywhere<NewWebhookEndpoint>,
) -> Answer<Created<WebhookEndpointView<'static>>> {
    let engine = &call.api.engine;
    let secret_key = SecretKey::from_entropy(random());
    let (once, now) = (call.idempotency_key(), engine.now());
    let registry = engine.webhooks();
    let made = registry.create_endpoint(&owner(&call), &target_url, active, secret_key, once.as_ref(), now).await?;
    Ok(call.created(made.replay, WebhookEndpointView::with_secret(&call, &made.record)))
}

pub async fn show(call: ApiCall, id: EndpointId) -> Answer<One<WebhookEndpointView<'static>>> {
    Ok(call.show(WebhookEndpointView::new(&call, &*own_endpoint(&call, id)?)))
}

#[input]
pub struct SecretRotation {
    /// Number of hours for which the earlier secret keeps signing. Default: set by the operator.
    #[body(integer(0..=LONGEST_OVERLAP))]
    overlap_hours: Option<i64>,
}

pub async fn rotate_secret(
    call: ApiCall,
    id: EndpointId,
    Anywhere(SecretRotation { overlap_hours }): Anywhere<SecretRotation>,
) -> Answer<Created<WebhookEndpointView<'static>>> {
    check_may_manage(&call, id)?;
    let engine = &call.api.engine;
    let registry = engine.webhooks();
    let overlap = overlap_hours.map_or(registry.rules().secret_overlap, |hours| hours * HOUR);
    let (secret_key, once) = (SecretKey::from_entropy(random()), call.idempotency_key());
    let made = registry.rotate_secret(&owner(&call), id, secret_key, overlap, once.as_ref(), engine.now()).await;
    let made = made.map_err(|error| named(error.into(), id))?;
    Ok(call.created(made.replay, WebhookEndpointView::with_secret(&call, &made.record)))
}

#[input]
pub struct WebhookEndpointUpdate {
    #[body(filled(https_url()), not_null)]
    target_url: Option<String>,
    #[body(active(), not_null)]
    active: Option<bool>,
}

pub async fn update(
    call: ApiCall,
    id: EndpointId,
    Anywhere(WebhookEndpointUpdate { target_url, active }): Anywhere<WebhookEndpointUpdate>,
) -> Answer<One<WebhookEndpointView<'static>>> {
    check_may_manage(&call, id)?;
    let engine = &call.api.engine;
    let updated =
        engine.webhooks().update_endpoint(&owner(&call), id, target_url.as_deref(), active, engine.now()).await;
    let endpoint = updated.map_err(|error| named(error.into(), id))?;
    Ok(call.show(WebhookEndpointView::new(&call, &endpoint)))
}

pub async fn delete(call: ApiCall, id: EndpointId) -> Answer<Empty> {
    check_may_manage(&call, id)?;
    let deleted = call.api.engine.webhooks().delete_endpoint(&owner(&call), id).await;
    deleted.map_err(|error| named(error.into(), id))?;
    Ok(call.empty())
}

/// Checks that the key may receive all messages of the endpoint before it changes the URL, the secret or the
/// activation. Subscriptions that no key of the organisation may receive do not count; a change leaves them inactive.
fn check_may_manage(call: &ApiCall, id: EndpointId) -> Result<(), ApiError> {
    let endpoint = own_endpoint(call, id)?;
    let known = call.api.engine.webhooks().subscriptions();
    let all = known.subscriptions_of(id);
    let mut heard =
        all.iter().filter(|it| known.may_receive(&endpoint.owner, it.institution_id, it.event.resource_type()));
    if heard.all(|it| may_subscribe(call, it)) { Ok(()) } else { Err(Failure::OutOfReach.into()) }
}

#[input]
pub struct ListWebhookEndpoints {
    #[query(active())]
    active: Option<bool>,
}

pub async fn list(
    call: ApiCall,
    Anywhere(ListWebhookEndpoints { active }): Anywhere<ListWebhookEndpoints>,
) -> Answer<Listed<WebhookEndpointView<'static>>> {
    let endpoints = call.api.engine.webhooks().endpoints(&owner(&call));
    let wanted = endpoints.iter().filter(|endpoint| active.is_none_or(|active| endpoint.active == active));
    let rows: Vec<_> = wanted.map(|endpoint| WebhookEndpointView::new(&call, endpoint)).collect();
    Ok(call.list(&rows))
}
