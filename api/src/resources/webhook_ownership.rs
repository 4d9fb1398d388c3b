//! Ownership of webhook endpoints, and the rights that decide which messages a key receives.

use std::sync::Arc;

use engine::{
    store::{CommitError, StoreError, counters::IdError},
    webhooks::{
        catalogue::ResourceType,
        model::{Endpoint, EndpointId, Owner, Subscription},
        registry::RegistryError,
        subscriptions::Audience,
    },
};
use location::ids::InstitutionId;

use super::resource_names;
use crate::{
    access::{
        arguments::{FromPath, Id},
        call::ApiCall,
        keys::{ApiKey, KeyRing},
    },
    http::errors::{ApiError, sentence},
};

pub(super) fn owner(call: &ApiCall) -> Owner {
    Owner(call.key.organisation.clone())
}

impl FromPath for EndpointId {
    fn from_path(call: &ApiCall) -> Result<EndpointId, ApiError> {
        Id::from_path(call).map(|Id(id): Id<u32>| EndpointId(id as i32))
    }
}

/// Returns an endpoint of the caller; others are not found.
pub(super) fn own_endpoint(call: &ApiCall, id: EndpointId) -> Result<Arc<Endpoint>, ApiError> {
    call.api.engine.webhooks().endpoint(&owner(call), id).map_err(|error| named(error.into(), id))
}

pub(super) fn not_found(id: EndpointId) -> ApiError {
    ApiError::not_found(format!("Webhook endpoint with id {id}"))
}

pub(super) fn named(error: ApiError, id: EndpointId) -> ApiError {
    if error.is_not_found() { not_found(id) } else { error }
}

/// Returns whether a key may receive messages of a resource. Messages concern all locations and show the same data as
/// endpoints, so a key never receives a record it cannot read.
pub(super) fn may_receive(key: &ApiKey, kind: ResourceType) -> bool {
    let mut records = resource_names::all().filter(|resource| ResourceType::from_resource(*resource) == Some(kind));
    key.locations.is_none() && records.all(|resource| resource_names::granted(resource, key.grants))
}

/// An organisation receives the messages that one of its keys could subscribe to now, whichever key created the
/// subscription. The content is that visible to this key.
impl Audience for KeyRing {
    fn may_receive(&self, owner: &Owner, institution: InstitutionId, kind: ResourceType) -> bool {
        self.keys().for_institution(&owner.0, institution).any(|key| may_receive(key, kind))
    }

    fn sees_amounts(&self, owner: &Owner, institution: InstitutionId) -> bool {
        let sees = |key: &Arc<ApiKey>| key.locations.is_none() && key.grants.financial;
        self.keys().for_institution(&owner.0, institution).any(sees)
    }
}

/// Returns whether the caller could create the subscription. Only such callers may change or delete it, or change the
/// URL of its messages.
pub(super) fn may_subscribe(call: &ApiCall, subscription: &Subscription) -> bool {
    let own = call.tenants().iter().any(|tenant| tenant.institution.id == subscription.institution_id);
    own && may_receive(&call.key, subscription.event.resource_type())
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> ApiError {
        match error {
            RegistryError::TargetUrl(_)
            | RegistryError::UnknownPair(_)
            | RegistryError::NoTarget(_)
            | RegistryError::NotActive(_)
            | RegistryError::TooMany { .. } => ApiError::bad(format!("{}.", error.to_string().trim_end_matches('.'))),
            RegistryError::NotFound => ApiError::not_found("Webhook endpoint"),
            RegistryError::Duplicate { .. } | RegistryError::Rotating | RegistryError::KeyReused => {
                ApiError::conflict(sentence(&error.to_string()))
            }
            RegistryError::Store(StoreError::Away { .. })
            | RegistryError::Ids(IdError::Commit(CommitError::Store(StoreError::Away { .. })))
            | RegistryError::Commit(CommitError::Store(StoreError::Away { .. })) => {
                ApiError::from(engine::EngineError::StoreAway)
            }
            RegistryError::Ids(_) | RegistryError::Commit(_) | RegistryError::Store(_) => {
                ApiError::from(engine::EngineError::StoreFull)
            }
        }
    }
}
