//! Keys that receive webhook messages.

use std::sync::Arc;

use engine::webhooks::{catalogue::ResourceType, model::Owner, subscriptions::Audience};
use location::InstitutionId;

use super::{
    keys::{ApiKey, KeyRing},
    resource_names,
};

/// Returns whether a key may receive messages of a resource. Messages concern all locations and show the same data as
/// endpoints, so a key never receives a record it cannot read.
pub fn may_receive(key: &ApiKey, kind: ResourceType) -> bool {
    let is_granted = |resource| resource_names::granted(resource, key.grants);
    key.locations.is_none() && kind.resource().is_none_or(is_granted)
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
