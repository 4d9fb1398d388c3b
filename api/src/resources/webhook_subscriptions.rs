//! /webhook_endpoints/{id}/webhook_subscriptions (specification 6.1)

use std::sync::Arc;

use engine::webhooks::{
    catalogue::{self, ResourceType},
    model::{EndpointId, Subscription, SubscriptionId},
    registry::NewSubscription,
};
use location::ids::{InstitutionId, LocationId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::webhook_ownership::{endpoint_id, hears, might_make, named, owner};
use crate::{
    access::{call::Call, tenancy::Tenant},
    http::errors::{ApiError, HttpResult},
    values::{
        kinds::{Kind, boolean, filled, id, text},
        limits::MAX_NAME,
        reasons::Reason,
        times::At,
    },
};

/// The wish of an endpoint for one kind of event of an institution.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WebhookSubscriptionView {
    /// Id of the subscription.
    #[schemars(with = "i32")]
    id: SubscriptionId,
    /// Id of the endpoint that the messages are sent to.
    #[schemars(with = "i32")]
    webhook_endpoint_id: EndpointId,
    /// Id of the institution whose events are sent.
    #[schemars(with = "u32")]
    institution_id: InstitutionId,
    /// The one location whose events are sent; null: those of all locations of the institution.
    #[schemars(with = "Option<u32>")]
    location_id: Option<LocationId>,
    /// The resource type of the event, such as `Appointment`.
    resource_type: &'static str,
    /// With `.complete`, `.failed` or `.timed_out`: only that outcome of writes to the health record system.
    event: String,
    /// Whether the subscription is active. Messages are sent while its endpoint is active too.
    active: bool,
    /// When the subscription was made, in UTC.
    created_at: At,
    /// When the subscription was last changed, in UTC.
    updated_at: At,
}

impl WebhookSubscriptionView {
    fn of(subscription: &Subscription) -> WebhookSubscriptionView {
        WebhookSubscriptionView {
            id: subscription.id,
            webhook_endpoint_id: subscription.webhook_endpoint_id,
            institution_id: subscription.institution_id,
            location_id: subscription.location_id,
            resource_type: subscription.event.resource_type().name(),
            event: subscription.topic().to_string(),
            active: subscription.active,
            created_at: At(subscription.created_at),
            updated_at: At(subscription.updated_at),
        }
    }
}

/// `subdomain` counts in the query only (specification 5.7); without it the caller has named no institution it may reach. With
/// `location_id` beside it the subscription hears of that location only.
pub(crate) async fn create(mut call: Call) -> HttpResult {
    let id = endpoint_id(&call)?;
    let (tenant, location, (resource_type, event, active)) = call.in_locations_of_query(|input| {
        let resource_type = input.body.required("resource_type", filled(text(MAX_NAME)));
        let event = input.body.required("event", filled(text(MAX_NAME)));
        let active = input.body.defaulted("active", boolean(), true);
        Some((resource_type?, event?, active))
    })?;
    if catalogue::parse(&resource_type, &event).is_ok_and(|topic| !hears(&call.key, topic.event.resource_type())) {
        return Err(ApiError::Forbidden.because(Reason::OutOfReach));
    }
    let new = NewSubscription {
        institution_id: tenant.institution.id,
        location_id: location.map(|location| location.setup.id),
        resource_type: &resource_type,
        event: &event,
        active,
        api_version: call.version.name(),
    };
    let engine = &call.api.engine;
    let (once, now) = (call.idempotency_key(), engine.now());
    let made = engine.webhooks().create_subscription(&owner(&call), id, new, once.as_ref(), now).await;
    let made = made.map_err(|error| named(error.into(), id))?;
    Ok(call.made(made.replay, WebhookSubscriptionView::of(&made.record)))
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let (endpoint, id) = (endpoint_id(&call)?, subscription_id(&call)?);
    let tenants = call.in_tenants(|_| Some(()))?.0;
    let here = of_tenants(&call, &tenants, endpoint, id)?;
    Ok(call.show(WebhookSubscriptionView::of(&here)))
}

pub(crate) async fn update(mut call: Call) -> HttpResult {
    let (endpoint, subscription) = (endpoint_id(&call)?, subscription_id(&call)?);
    let (tenant, (new_endpoint, active)) = call.in_tenant_of_query(|input| {
        let new_endpoint = input.body.not_null("new_endpoint_id", id());
        Some((new_endpoint, input.body.not_null("active", boolean())))
    })?;
    let engine = &call.api.engine;
    own_subscription(&call, &[tenant], endpoint, subscription)?;
    let to = new_endpoint.map(|id| EndpointId(id as i32));
    let updated = engine.webhooks();
    let updated = updated.update_subscription(&owner(&call), (endpoint, subscription), to, active, engine.now()).await;
    let updated = updated.map_err(|error| unknown(error.into(), subscription))?;
    Ok(call.show(WebhookSubscriptionView::of(&updated)))
}

pub(crate) async fn delete(mut call: Call) -> HttpResult {
    let (endpoint, subscription) = (endpoint_id(&call)?, subscription_id(&call)?);
    let tenants = call.in_tenants(|_| Some(()))?.0;
    own_subscription(&call, &tenants, endpoint, subscription)?;
    let deleted = call.api.engine.webhooks().delete_subscription(&owner(&call), endpoint, subscription).await;
    deleted.map_err(|error| unknown(error.into(), subscription))?;
    Ok(call.empty())
}

fn subscription_id(call: &Call) -> Result<SubscriptionId, ApiError> {
    call.path("subscription_id", id()).map(|id| SubscriptionId(id as i32))
}

/// A subscription is scoped by its institution: another one's is not found.
fn of_tenants(
    call: &Call,
    tenants: &[Tenant],
    endpoint: EndpointId,
    id: SubscriptionId,
) -> Result<Arc<Subscription>, ApiError> {
    let found = call.api.engine.webhooks().subscription(&owner(call), endpoint, id).ok();
    let here = found.filter(|it| tenants.iter().any(|tenant| it.institution_id == tenant.institution.id));
    here.ok_or_else(|| unknown(ApiError::NotFound(String::new()), id))
}

/// One that the caller may change.
fn own_subscription(call: &Call, tenants: &[Tenant], endpoint: EndpointId, id: SubscriptionId) -> Result<(), ApiError> {
    let found = of_tenants(call, tenants, endpoint, id)?;
    if might_make(call, &found) { Ok(()) } else { Err(ApiError::Forbidden.because(Reason::OutOfReach)) }
}

fn unknown(error: ApiError, id: SubscriptionId) -> ApiError {
    match error {
        ApiError::NotFound(_) => ApiError::NotFound(format!("Webhook subscription with id {id}")),
        other => other,
    }
}

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let id = endpoint_id(&call)?;
    let (tenants, (resource_type, event)) = call.in_tenants(|input| {
        let resource_type = input.query.optional("resource_type", resource_type());
        Some((resource_type, input.query.optional("event", text(MAX_NAME))))
    })?;
    let all =
        call.api.engine.webhooks().subscriptions_of(&owner(&call), id).map_err(|error| named(error.into(), id))?;
    let wanted = all.iter().filter(|it| {
        tenants.iter().any(|tenant| it.institution_id == tenant.institution.id)
            && resource_type.is_none_or(|resource| it.event.resource_type() == resource)
            && event.as_ref().is_none_or(|event| it.topic().to_string().eq_ignore_ascii_case(event))
    });
    let rows: Vec<_> = wanted.map(|it| WebhookSubscriptionView::of(it)).collect();
    Ok(call.list(&rows))
}

fn resource_type() -> Kind<ResourceType> {
    let names = || ResourceType::ALL.iter().map(|it| it.name()).collect::<Vec<_>>();
    Kind::of_text(
        move || json!({"type": "string", "examples": names()}),
        "Appointment",
        |name| catalogue::parse_resource_type(name).map_err(|error| format!("is invalid: {error}")),
    )
}
