//! Ownership of webhook endpoints, and the rights that decide which messages a key receives.

use engine::webhooks::model::{Endpoint, Owner, Subscription};

use crate::prelude::*;

pub fn owner(call: &ApiCall) -> Owner {
    Owner(call.key.organisation.clone())
}

/// Returns an endpoint of the caller; others are not found.
pub(super) fn own_endpoint(call: &ApiCall, id: EndpointId) -> Result<Arc<Endpoint>, ApiError> {
    call.api.engine.webhooks().endpoint(&owner(call), id).map_err(|error| named(error.into(), id))
}

pub fn not_found(id: EndpointId) -> ApiError {
    ApiError::not_found(format!("Webhook endpoint with id {id}"))
}

pub fn named(error: ApiError, id: EndpointId) -> ApiError {
    error.if_not_found(|| not_found(id))
}

/// Returns whether the caller could create the subscription. Only such callers may change or delete it, or change the
/// URL of its messages.
pub(super) fn may_subscribe(call: &ApiCall, subscription: &Subscription) -> bool {
    let own = call.tenants().iter().any(|tenant| tenant.institution.id == subscription.institution_id);
    own && may_receive(&call.key, subscription.event.resource_type())
}
