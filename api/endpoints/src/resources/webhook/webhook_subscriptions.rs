//! /webhook_endpoints/{id}/webhook_subscriptions (specification 6.1)

use engine::webhooks::{
    catalogue::{self, ResourceType},
    model::{Payload, Subscription},
    registry::{NewSubscription, SubscriptionChange},
};
use framework::{access::tenancy::InLocationsOfQuery, values::kinds::one_of};

use super::webhook_ownership::{may_subscribe, named, owner};
use crate::prelude::*;

/// A subscription of an endpoint to one kind of event of an institution.
#[view(value = Subscription, named = "subscription")]
pub struct WebhookSubscriptionView {
    id: i32,
    /// Id of the endpoint that the messages are sent to.
    webhook_endpoint_id: i32,
    /// Id of the institution whose events are sent.
    institution_id: u32,
    /// Id of the single location whose events are sent; null for the events of all locations of the institution.
    location_id: Option<u32>,
    /// The resource type of the event, such as `Appointment`.
    #[view(with = entry.event.resource_type().name())]
    resource_type: &'static str,
    /// Name of the event. With `.complete`, `.failed` or `.timed_out`, only that outcome of writes to the health record
    /// system.
    #[view(with = entry.topic().to_string())]
    event: String,
    /// Content of the messages: `full` for whole records, `ids` for the ids of the records only. Absent if it was never
    /// specified; the messages then contain whole records.
    #[schemars(extend("enum" = ["full", "ids"]))]
    #[view(with = entry.payload.map(Payload::name))]
    payload: Omittable<&'static str>,
    /// `true` if the subscription is active. Messages are sent while its endpoint is active too.
    active: bool,
    /// Time at which the subscription was created, in UTC.
    created_at: At,
    /// Time at which the subscription was last changed, in UTC.
    updated_at: At,
}

#[input]
pub struct NewWebhookSubscription {
    /// The resource type of the event.
    #[body(filled(text(MAX_NAME)))]
    resource_type: String,
    /// Name of the event.
    #[body(filled(text(MAX_NAME)))]
    event: String,
    #[body(payload(), not_null)]
    payload: Option<Payload>,
    #[body(active(), default = true)]
    active: bool,
}

fn payload() -> Kind<Payload> {
    one_of(&[("full", Payload::Full), ("ids", Payload::Ids)]).about(
        "Content of the messages: `full` for whole records (the default), `ids` for the ids of the records only, \
         without patient data. The receiver then reads the records.",
    )
}

/// Creates a subscription. `subdomain` is read from the query only (specification 5.7); without it the institution is
/// unknown. `location_id` in the query limits the subscription to that location.
pub async fn create(
    call: ApiCall,
    id: EndpointId,
    InLocationsOfQuery(tenant, location, request): InLocationsOfQuery<NewWebhookSubscription>,
) -> Answer<Created<WebhookSubscriptionView>> {
    let NewWebhookSubscription { resource_type, event, payload, active } = request;
    if catalogue::parse(&resource_type, &event).is_ok_and(|topic| !may_receive(&call.key, topic.event.resource_type()))
    {
        return Err(Failure::OutOfReach.into());
    }
    let new = NewSubscription {
        payload,
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
    Ok(call.created(made.replay, WebhookSubscriptionView::from_value(&made.record)))
}

pub async fn show(
    call: ApiCall,
    (endpoint, id): (EndpointId, SubscriptionId),
    tenants: Vec<Tenant>,
) -> Answer<One<WebhookSubscriptionView>> {
    let here = find_in_tenants(&call, &tenants, endpoint, id)?;
    Ok(call.show(WebhookSubscriptionView::from_value(&here)))
}

#[input]
pub struct WebhookSubscriptionUpdate {
    /// Id of the endpoint to which the subscription is moved.
    #[body(id(), name = "new_endpoint_id", not_null)]
    new_endpoint: Option<u32>,
    #[body(active(), not_null)]
    active: Option<bool>,
    #[body(payload(), not_null)]
    payload: Option<Payload>,
}

pub async fn update(
    call: ApiCall,
    (endpoint, subscription): (EndpointId, SubscriptionId),
    InLocationsOfQuery(tenant, location, request): InLocationsOfQuery<WebhookSubscriptionUpdate>,
) -> Answer<One<WebhookSubscriptionView>> {
    let WebhookSubscriptionUpdate { new_endpoint, active, payload } = request;
    let engine = &call.api.engine;
    let found = own_subscription(&call, &[tenant], endpoint, subscription)?;
    if let Some(other) = location.filter(|named| found.location_id.is_some_and(|own| own != named.setup.id)) {
        let record = format!("Webhook subscription with id {subscription}");
        return Err(ApiError::not_at_location(record, other.setup.id));
    }
    let new_endpoint = new_endpoint.map(|id| EndpointId(id as i32));
    let change = SubscriptionChange { new_endpoint, active, payload };
    let updated = engine.webhooks();
    let updated = updated.update_subscription(&owner(&call), (endpoint, subscription), change, engine.now()).await;
    let updated = updated.map_err(|error| unknown(error.into(), subscription))?;
    Ok(call.show(WebhookSubscriptionView::from_value(&updated)))
}

pub async fn delete(
    call: ApiCall,
    (endpoint, subscription): (EndpointId, SubscriptionId),
    tenants: Vec<Tenant>,
) -> Answer<Empty> {
    own_subscription(&call, &tenants, endpoint, subscription)?;
    let deleted = call.api.engine.webhooks().delete_subscription(&owner(&call), endpoint, subscription).await;
    deleted.map_err(|error| unknown(error.into(), subscription))?;
    Ok(call.empty())
}

/// Finds a subscription. One of another institution is not found.
fn find_in_tenants(
    call: &ApiCall,
    tenants: &[Tenant],
    endpoint: EndpointId,
    id: SubscriptionId,
) -> Result<Arc<Subscription>, ApiError> {
    let found = call.api.engine.webhooks().subscription(&owner(call), endpoint, id).ok();
    let here = found.filter(|it| tenants.iter().any(|tenant| it.institution_id == tenant.institution.id));
    here.ok_or_else(|| not_found(id))
}

/// Finds a subscription that the caller may change.
fn own_subscription(
    call: &ApiCall,
    tenants: &[Tenant],
    endpoint: EndpointId,
    id: SubscriptionId,
) -> Result<Arc<Subscription>, ApiError> {
    let found = find_in_tenants(call, tenants, endpoint, id)?;
    if may_subscribe(call, &found) { Ok(found) } else { Err(Failure::OutOfReach.into()) }
}

fn not_found(id: SubscriptionId) -> ApiError {
    ApiError::not_found(format!("Webhook subscription with id {id}"))
}

fn unknown(error: ApiError, id: SubscriptionId) -> ApiError {
    error.if_not_found(|| not_found(id))
}

#[input]
pub struct ListWebhookSubscriptions {
    /// The resource type of the event.
    #[query(resource_type())]
    resource_type: Option<ResourceType>,
    /// Name of the event.
    #[query(text(MAX_NAME))]
    event: Option<String>,
}

pub async fn list(
    call: ApiCall,
    id: EndpointId,
    InTenants(tenants, ListWebhookSubscriptions { resource_type, event }): InTenants<ListWebhookSubscriptions>,
) -> Answer<Listed<WebhookSubscriptionView>> {
    let all =
        call.api.engine.webhooks().subscriptions_of(&owner(&call), id).map_err(|error| named(error.into(), id))?;
    let wanted = all.iter().filter(|it| {
        tenants.iter().any(|tenant| it.institution_id == tenant.institution.id)
            && resource_type.is_none_or(|resource| it.event.resource_type() == resource)
            && event.as_ref().is_none_or(|event| it.topic().to_string().eq_ignore_ascii_case(event))
    });
    let rows: Vec<_> = wanted.map(|it| WebhookSubscriptionView::from_value(it)).collect();
    Ok(call.list(&rows))
}

fn resource_type() -> Kind<ResourceType> {
    let names = || ResourceType::ALL.iter().map(|it| it.name()).collect::<Vec<_>>();
    Kind::for_text(
        move || json!({"type": "string", "examples": names()}),
        "Appointment",
        |name| catalogue::parse_resource_type(name).map_err(|error| format!("is invalid: {error}")),
    )
}
