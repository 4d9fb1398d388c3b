//! What is registered: endpoints, and the subscriptions that depend on them.

use location::{
    ids::{InstitutionId, LocationId},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{
    catalogue::{Event, Topic, WriteOutcome},
    schedule::Streak,
    sign::SecretKey,
};

macro_rules! ids {
    ($($name:ident),*) => {$(
        /// Positive.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i32);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids!(EndpointId, SubscriptionId);

impl EndpointId {
    /// No endpoint's. Its node does what is done once for all endpoints.
    pub const NOBODY: EndpointId = EndpointId(0);
}

/// Whose endpoint it is: the organisation or key that registered it. Nobody else can see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(pub String);

/// Where messages are sent to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub id: EndpointId,
    pub owner: Owner,
    pub target_url: String,
    pub secret_key: SecretKey,
    /// Of a rotation: takes over from `secret_key` when its time has come.
    #[serde(default)]
    pub next_secret: Option<NextSecret>,
    pub active: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Since when it has done nothing but fail.
    pub failing_since: Option<Timestamp>,
    /// When it last failed since then, as noted now and then.
    #[serde(default)]
    pub last_failed: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextSecret {
    pub secret_key: SecretKey,
    /// Until then both sign.
    pub alone_from: Timestamp,
}

impl Endpoint {
    /// The secret that signs, and during the overlap of a rotation the one that signs beside it.
    pub fn secrets(&self, at: Timestamp) -> (&SecretKey, Option<&SecretKey>) {
        match &self.next_secret {
            None => (&self.secret_key, None),
            Some(next) if at < next.alone_from => (&self.secret_key, Some(&next.secret_key)),
            Some(next) => (&next.secret_key, None),
        }
    }

    pub fn failing(&self) -> Option<Streak> {
        self.failing_since.map(|since| Streak { since, last: self.last_failed })
    }

    /// Until when a rotation's earlier secret still signs.
    pub fn rotating_until(&self, at: Timestamp) -> Option<Timestamp> {
        self.next_secret.as_ref().map(|next| next.alone_from).filter(|until| at < *until)
    }
}

/// Which events of an institution an endpoint gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    pub id: SubscriptionId,
    pub webhook_endpoint_id: EndpointId,
    pub institution_id: InstitutionId,
    /// Tells the resource type too.
    pub event: Event,
    /// The one outcome of its writes that is wanted; none: everything that is sent under the event.
    #[serde(default)]
    pub outcome: Option<WriteOutcome>,
    /// The one location it hears of; none: all of the institution.
    #[serde(default)]
    pub location_id: Option<LocationId>,
    pub active: bool,
    /// The version under which it was made; its messages keep to it.
    pub api_version: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Subscription {
    pub fn topic(&self) -> Topic {
        Topic { event: self.event, outcome: self.outcome }
    }

    /// Whether it asks for the same: an endpoint has no two of those.
    pub fn asks_for(&self, institution: InstitutionId, topic: Topic, location: Option<LocationId>) -> bool {
        self.institution_id == institution && self.topic() == topic && self.location_id == location
    }
}
