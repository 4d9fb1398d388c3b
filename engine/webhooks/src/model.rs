//! The registered endpoints, and the subscriptions that belong to them.

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
        /// A positive id.
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
    /// The id of no endpoint. The node to which it is assigned does the work common to all endpoints.
    pub const NONE: EndpointId = EndpointId(0);
}

/// The organisation or API key that registered an endpoint. The endpoint is visible to its owner only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(pub String);

/// A URL that receives messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub id: EndpointId,
    pub owner: Owner,
    pub target_url: String,
    pub secret_key: SecretKey,
    /// The secret that replaces `secret_key` at the end of a rotation.
    #[serde(default)]
    pub next_secret: Option<NextSecret>,
    pub active: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub failing_since: Option<Timestamp>,
    /// Last failure of the streak, updated at most once per `FAILURE_NOTED_EVERY`.
    #[serde(default)]
    pub last_failed: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextSecret {
    pub secret_key: SecretKey,
    /// End of the overlap, during which both secrets sign.
    pub alone_from: Timestamp,
}

impl Endpoint {
    /// Returns the secret that signs, and the second one that signs during the overlap of a rotation.
    pub fn secrets(&self, at: Timestamp) -> (&SecretKey, Option<&SecretKey>) {
        let next = self.next_secret.as_ref().map(|next| (next.alone_from, &next.secret_key));
        signing(at, &self.secret_key, next)
    }

    pub fn failing(&self) -> Option<Streak> {
        self.failing_since.map(|since| Streak { since, last: self.last_failed })
    }

    /// Returns the time until which the earlier secret of a rotation still signs.
    pub fn rotating_until(&self, at: Timestamp) -> Option<Timestamp> {
        self.next_secret.as_ref().map(|next| next.alone_from).filter(|until| at < *until)
    }
}

/// Returns the secret or key that signs, and the second one that signs during the overlap of a rotation. `next`
/// replaces `current` at the end of the overlap.
pub(crate) fn signing<T>(at: Timestamp, current: T, next: Option<(Timestamp, T)>) -> (T, Option<T>) {
    match next {
        None => (current, None),
        Some((alone_from, next)) if at < alone_from => (current, Some(next)),
        Some((_, next)) => (next, None),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// The whole records.
    #[default]
    Full,
    /// The ids of the records, which the receiver reads. The messages contain no patient data.
    Ids,
}

impl Payload {
    pub fn name(self) -> &'static str {
        match self {
            Payload::Full => "full",
            Payload::Ids => "ids",
        }
    }
}

/// The events of an institution that an endpoint receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    pub id: SubscriptionId,
    pub webhook_endpoint_id: EndpointId,
    pub institution_id: InstitutionId,
    /// Determines the resource type.
    pub event: Event,
    /// The only outcome of writes to send; `None` for everything sent under the event.
    #[serde(default)]
    pub outcome: Option<WriteOutcome>,
    /// The only location whose events are sent; `None` for all locations of the institution.
    #[serde(default)]
    pub location_id: Option<LocationId>,
    /// The content of the messages, if the owner has chosen it. Otherwise, they contain the whole records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    pub active: bool,
    /// The API version under which the subscription was created; its messages keep to that version.
    pub api_version: String,
    /// The number of the institution's last change when the subscription was created, or when it or its endpoint was
    /// last activated. Only later changes are sent. 0 in subscriptions of earlier versions.
    #[serde(default)]
    pub starts_after: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Subscription {
    pub fn topic(&self) -> Topic {
        Topic { event: self.event, outcome: self.outcome }
    }

    /// Returns `true` if the subscription covers exactly these. An endpoint has at most one such subscription.
    pub fn matches(&self, institution: InstitutionId, topic: Topic, location: Option<LocationId>) -> bool {
        self.institution_id == institution && self.topic() == topic && self.location_id == location
    }
}
