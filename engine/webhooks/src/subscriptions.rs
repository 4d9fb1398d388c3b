//! Endpoints and subscriptions in memory, so that events without subscribers cost nothing. Loaded at the start and
//! changed by the registry after each of its commits.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use location::ids::{InstitutionId, LocationId};
use parking_lot::RwLock;
use runtime::doorbell::Doorbell;
use serde::de::DeserializeOwned;
use store::{Batch, Direction, KeyRange, Store, StoreError, keys::Space};
use tokio::sync::{self, OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use super::{
    backlog::Backlogs,
    catalogue::{Event, EventName, ResourceType},
    delivery_id::DeliveryIds,
    keys,
    load_error::WebhookLoadError,
    model::{Endpoint, EndpointId, Owner, Payload, Subscription, SubscriptionId},
    placement::RACES,
    shared::SharedEndpoints,
};

const PAGE: usize = 1_000;

/// Current permissions of owners, which may have been revoked since the subscription. They are asked when a message is
/// enqueued. So an owner that regains a permission may be sent messages about the last changes before, at most those
/// after the stored position. The owner may read these changes in the feed as well.
pub trait Audience: Send + Sync {
    fn may_receive(&self, owner: &Owner, institution: InstitutionId, kind: ResourceType) -> bool;

    /// Returns `true` if amounts are shown in records that are not about money.
    fn sees_amounts(&self, owner: &Owner, institution: InstitutionId) -> bool;
}

/// Permission for everyone, for engines without users.
pub struct Everyone;

impl Audience for Everyone {
    fn may_receive(&self, _: &Owner, _: InstitutionId, _: ResourceType) -> bool {
        true
    }

    fn sees_amounts(&self, _: &Owner, _: InstitutionId) -> bool {
        true
    }
}

pub struct Subscriptions {
    index: RwLock<Index>,
    audience: Arc<dyn Audience>,
    pub backlogs: Backlogs,
    pub(super) delivery_ids: DeliveryIds,
    /// The institutions with changed subscriptions. Commits before the change may have woken no follower.
    pub(super) changed: Doorbell<InstitutionId>,
    /// `None` if no other process uses the store.
    pub(super) shared: Option<SharedEndpoints>,
    /// Held for reading by commits without before images, and for writing while a subscription is created.
    images: Arc<sync::RwLock<()>>,
}

#[derive(Default)]
struct Index {
    endpoints: BTreeMap<EndpointId, Arc<Endpoint>>,
    subscriptions: BTreeMap<SubscriptionId, Arc<Subscription>>,
    by_institution: HashMap<InstitutionId, Vec<SubscriptionId>>,
    /// The number of changes that the index contains, if nodes share the store.
    changes: u64,
}

/// `None` for all locations of the institution.
pub type Locations = Option<BTreeSet<LocationId>>;

/// Endpoints that are sent the same messages: same version, same visibility of amounts, same payload, same locations.
pub struct Recipients {
    pub version: String,
    pub amounts: bool,
    pub payload: Payload,
    pub locations: Locations,
    /// One per endpoint, even if several of its subscriptions match: an endpoint is sent each message once. It is sent
    /// separate messages for subscriptions of different versions or payloads.
    pub subscriptions: Vec<Arc<Subscription>>,
}

/// The effect of a commit.
#[derive(Default)]
pub(super) struct Changed {
    pub endpoint: Option<Endpoint>,
    pub subscriptions: Vec<Subscription>,
    pub gone_endpoint: Option<EndpointId>,
    pub gone_subscriptions: Vec<Arc<Subscription>>,
    /// The endpoint whose overflow is cleared, because it was activated or deleted.
    pub overflow_forgotten: Option<EndpointId>,
}

impl Subscriptions {
    /// Creates an empty index; `load` fills it.
    pub(super) fn new(
        backlogs: Backlogs,
        delivery_ids: DeliveryIds,
        audience: Arc<dyn Audience>,
        shared: Option<SharedEndpoints>,
    ) -> Subscriptions {
        Subscriptions {
            index: RwLock::default(),
            audience,
            backlogs,
            delivery_ids,
            changed: Doorbell::default(),
            shared,
            images: Arc::default(),
        }
    }

    /// Reads all endpoints and subscriptions. The result is consistent even if other nodes change them during the read.
    pub(super) fn load(&self, store: &dyn Store) -> Result<(), WebhookLoadError> {
        for _ in 0..RACES {
            let changes = || self.shared.as_ref().map_or(Ok((0, None)), SharedEndpoints::changes);
            let before = changes()?;
            let index = Index { changes: before.0, ..Index::read(store)? };
            if changes()? == before {
                let mut known = self.index.write();
                if index.changes >= known.changes {
                    *known = index;
                }
                return Ok(());
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Loads changes of other nodes unless the index contains at least the given number of changes.
    pub(super) fn at_least(&self, changes: u64) -> Result<(), StoreError> {
        match &self.shared {
            Some(shared) if self.index.read().changes < changes => {
                self.load(&*shared.store).map_err(|error| match error {
                    WebhookLoadError::Store(error) => error,
                    WebhookLoadError::Record(_) => {
                        StoreError::damaged(&keys::changes(), "an endpoint or subscription cannot be decoded")
                    }
                })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn refresh(&self) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else { return Ok(()) };
        self.at_least(shared.changes()?.0)
    }

    /// Begins the batch of a change that is based on the current index. The commit conflicts if another node changes
    /// the index first.
    pub(super) fn change(&self) -> Result<(Batch, u64), StoreError> {
        let mut batch = Batch::new();
        let Some(shared) = &self.shared else { return Ok((batch, 0)) };
        for _ in 0..RACES {
            let (changes, version) = shared.changes()?;
            self.at_least(changes)?;
            if self.index.read().changes == changes {
                let next = changes + 1;
                batch.expect_unchanged(keys::changes(), version).put(keys::changes(), next.to_be_bytes().to_vec());
                return Ok((batch, next));
            }
        }
        Err(StoreError::Busy)
    }

    pub(super) fn is_here(&self, endpoint: EndpointId) -> bool {
        self.shared.as_ref().is_none_or(|shared| shared.placement.is_here(endpoint))
    }

    /// Returns the institutions whose recipients may differ after the change.
    pub(super) fn affected_institutions(&self, changed: &Changed) -> BTreeSet<InstitutionId> {
        let of = |endpoint| self.subscriptions_of(endpoint).into_iter().map(|it| it.institution_id);
        let switched = changed.endpoint.as_ref().filter(|after| {
            let before = self.endpoint(after.id);
            before.is_some_and(|before| before.active != after.active)
        });
        let endpoints = switched.map(|endpoint| endpoint.id).into_iter().chain(changed.gone_endpoint);
        let subscriptions = changed.subscriptions.iter().map(|it| it.institution_id);
        let gone = changed.gone_subscriptions.iter().map(|it| it.institution_id);
        endpoints.flat_map(of).chain(subscriptions).chain(gone).collect()
    }

    /// Returns the active subscriptions of active endpoints whose owners have permission, oldest first.
    pub fn subscribed(&self, institution: InstitutionId, event: Event) -> Vec<Arc<Subscription>> {
        let index = self.index.read();
        let of_institution = index.by_institution.get(&institution).map_or(&[][..], Vec::as_slice);
        let wanted =
            of_institution.iter().filter_map(|id| index.subscriptions.get(id)).filter(|s| s.active && s.event == event);
        let heard = |endpoint: &Arc<Endpoint>| {
            endpoint.active && self.may_receive(&endpoint.owner, institution, event.resource_type())
        };
        wanted.filter(|s| index.endpoints.get(&s.webhook_endpoint_id).is_some_and(heard)).cloned().collect()
    }

    /// Returns the recipients of a message about the change with the given number, grouped by content.
    pub fn recipients(&self, institution: InstitutionId, name: EventName, change: u64) -> Vec<Recipients> {
        type RecipientKey = (EndpointId, String, Payload);
        let mut endpoints: BTreeMap<RecipientKey, (Arc<Subscription>, Locations)> = BTreeMap::new();
        let subscribed = self.subscribed(institution, name.event());
        for subscription in subscribed.into_iter().filter(|it| it.topic().takes(name) && it.starts_after < change) {
            let location = subscription.location_id;
            let payload = subscription.payload.unwrap_or_default();
            let of = (subscription.webhook_endpoint_id, subscription.api_version.clone(), payload);
            let (_, locations) = endpoints.entry(of).or_insert_with(|| (subscription, Some(BTreeSet::new())));
            match (location, locations.as_mut()) {
                (Some(location), Some(locations)) => drop(locations.insert(location)),
                (None, _) => *locations = None,
                (Some(_), None) => {}
            }
        }
        let mut recipients: Vec<Recipients> = Vec::new();
        for ((endpoint, version, payload), (subscription, locations)) in endpoints {
            let owner = self.endpoint(endpoint).map(|it| it.owner.clone());
            let amounts = owner.is_some_and(|owner| self.audience.sees_amounts(&owner, institution));
            let same = |it: &&mut Recipients| {
                (&it.version, it.amounts, it.payload, &it.locations) == (&version, amounts, payload, &locations)
            };
            match recipients.iter_mut().find(same) {
                Some(same) => same.subscriptions.push(subscription),
                None => {
                    let subscriptions = vec![subscription];
                    recipients.push(Recipients { version, amounts, payload, locations, subscriptions });
                }
            }
        }
        recipients
    }

    pub fn may_receive(&self, owner: &Owner, institution: InstitutionId, kind: ResourceType) -> bool {
        self.audience.may_receive(owner, institution, kind)
    }

    /// Returns the lowest and the highest number after which subscriptions of the institution, active or not, are sent
    /// changes. Returns `None` without subscriptions.
    pub fn starts(&self, institution: InstitutionId) -> Option<(u64, u64)> {
        let index = self.index.read();
        let of_institution =
            index.by_institution.get(&institution)?.iter().filter_map(|id| index.subscriptions.get(id));
        let starts = of_institution.map(|it| it.starts_after);
        starts.fold(None, |starts, at| match starts {
            Some((lowest, highest)) => Some((at.min(lowest), at.max(highest))),
            None => Some((at, at)),
        })
    }

    /// Returns a permit to commit changes of the institution without before images, or `None` if it has subscriptions.
    /// The permit must be held until the commit has ended. Nodes that share the store get none: a subscription cannot
    /// wait for the commits of other nodes.
    pub fn without_images(&self, institution: InstitutionId) -> Option<OwnedRwLockReadGuard<()>> {
        if self.shared.is_some() {
            return None;
        }
        // In this order, so that a subscription that is not in the index yet waits for the permit.
        let permit = self.images.clone().try_read_owned().ok()?;
        self.starts(institution).is_none().then_some(permit)
    }

    /// Waits until no commit without before images is in flight. None begins while the result is held.
    pub(super) async fn require_images(&self) -> OwnedRwLockWriteGuard<()> {
        self.images.clone().write_owned().await
    }

    pub fn endpoint(&self, id: EndpointId) -> Option<Arc<Endpoint>> {
        self.index.read().endpoints.get(&id).cloned()
    }

    pub fn endpoints(&self) -> Vec<Arc<Endpoint>> {
        self.index.read().endpoints.values().cloned().collect()
    }

    /// Returns the number of active endpoints with a failure streak.
    pub fn failing(&self) -> usize {
        self.index.read().endpoints.values().filter(|it| it.active && it.failing_since.is_some()).count()
    }

    pub fn subscription(&self, id: SubscriptionId) -> Option<Arc<Subscription>> {
        self.index.read().subscriptions.get(&id).cloned()
    }

    pub fn subscriptions_of(&self, endpoint: EndpointId) -> Vec<Arc<Subscription>> {
        self.index.read().subscriptions.values().filter(|s| s.webhook_endpoint_id == endpoint).cloned().collect()
    }

    /// Applies a durable change. `changes` is the change number of the commit, if nodes share the store.
    pub(super) fn apply(&self, changed: Changed, changes: u64) {
        let institutions: Vec<_> = changed.subscriptions.iter().map(|it| it.institution_id).collect();
        let mut index = self.index.write();
        if let Some(endpoint) = changed.overflow_forgotten {
            self.backlogs.forget_overflow(endpoint);
        }
        // Otherwise the index was reloaded since the commit and contains this change.
        if self.shared.is_none() || index.changes < changes {
            index.changes = changes;
            index.apply(changed);
        }
        drop(index);
        self.changed.ring(institutions);
    }
}

impl Index {
    fn read(store: &dyn Store) -> Result<Index, WebhookLoadError> {
        let mut index = Index::default();
        each(store, Space::Endpoint.range(), |endpoint| {
            index.apply(Changed { endpoint: Some(endpoint), ..Changed::default() });
        })?;
        each(store, Space::Subscription.range(), |subscription| {
            index.apply(Changed { subscriptions: vec![subscription], ..Changed::default() });
        })?;
        Ok(index)
    }

    fn apply(&mut self, changed: Changed) {
        let index = self;
        if let Some(id) = changed.gone_endpoint {
            index.endpoints.remove(&id);
        }
        for gone in changed.gone_subscriptions {
            index.subscriptions.remove(&gone.id);
            if let Some(ids) = index.by_institution.get_mut(&gone.institution_id) {
                ids.retain(|id| *id != gone.id);
            }
        }
        if let Some(endpoint) = changed.endpoint {
            index.endpoints.insert(endpoint.id, Arc::new(endpoint));
        }
        for subscription in changed.subscriptions {
            let (id, institution) = (subscription.id, subscription.institution_id);
            if index.subscriptions.insert(id, Arc::new(subscription)).is_none() {
                index.by_institution.entry(institution).or_default().push(id);
            }
        }
    }
}

fn each<T: DeserializeOwned>(
    store: &dyn Store,
    mut range: KeyRange,
    mut take: impl FnMut(T),
) -> Result<(), WebhookLoadError> {
    loop {
        let page = store.scan(range.clone(), Direction::Forward, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        range = range.after(last);
        for (_, value) in &page {
            take(serde_json::from_slice(value)?);
        }
    }
}
