//! Registration of endpoints and subscriptions. The only writer of both: one change at a time, in the store first, then
//! in memory. If another node commits first, its change is loaded and the decision is repeated.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use location::{
    ids::{InstitutionId, LocationId},
    time::{Millis, Timestamp},
};
use parking_lot::RwLock;
use query::{
    feed,
    idempotency::{self, IdempotencyKey, InBatch, Lookup},
};
use serde::{Serialize, de::DeserializeOwned};
use setup::WebhookRules;
use store::{
    Batch, CommitError, Direction, Store, StoreError,
    counters::{Counter, IdError, Ids},
    keys::Space,
};
use tokio::sync::{Mutex, OwnedMutexGuard};
use uuid::Uuid;

use super::{
    backlog::Backlogs,
    catalogue::{self, UnknownPair},
    delivery_id::DeliveryIds,
    egress::{Egress, RefusedUrl},
    keys, limits,
    load_error::WebhookLoadError,
    model::{Endpoint, EndpointId, NextSecret, Owner, Payload, Subscription, SubscriptionId},
    placement::{Placement, RACES},
    schedule::{self, AttemptOutcome, HealthChange},
    shared::SharedEndpoints,
    sign::SecretKey,
    subscriptions::{Audience, Changed, Subscriptions},
};

pub const COUNTERS: [Counter<'static>; 2] = [ENDPOINT_IDS, SUBSCRIPTION_IDS];

const ENDPOINT_IDS: Counter<'static> = Counter::int32("webhook endpoint");
const SUBSCRIPTION_IDS: Counter<'static> = Counter::int32("webhook subscription");

#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("target_url {0}")]
    TargetUrl(#[from] RefusedUrl),
    #[error(transparent)]
    UnknownPair(#[from] UnknownPair),
    #[error("no such webhook endpoint or subscription")]
    NotFound,
    #[error("the endpoint is already subscribed to {event} of this {of}")]
    Duplicate { event: String, of: &'static str },
    #[error("webhook endpoint {0} does not exist")]
    NoTarget(EndpointId),
    #[error("{0}")]
    NotActive(&'static str),
    #[error(
        "the secret_key was rotated and the earlier one still signs; wait for its end or rotate with overlap_hours 0"
    )]
    Rotating,
    #[error("the Idempotency-Key was used for a request with other data")]
    KeyReused,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{what} are limited to {limit}")]
    TooMany { what: &'static str, limit: usize },
    #[error(transparent)]
    Ids(#[from] IdError),
    #[error(transparent)]
    Commit(CommitError),
}

/// Maps conflicts on the claim of an Idempotency-Key. The only other precondition of a change is the change counter,
/// and `change` retries those conflicts.
impl From<CommitError> for RegistryError {
    fn from(error: CommitError) -> RegistryError {
        match error {
            CommitError::Conflict { .. } => RegistryError::KeyReused,
            other => RegistryError::Commit(other),
        }
    }
}

/// A record created now, or by an earlier request with the same Idempotency-Key.
#[derive(Debug)]
pub struct CreatedOrReplayed<T> {
    pub record: T,
    pub replay: bool,
}

/// The claim of an Idempotency-Key, committed together with the created record.
pub(super) struct IdempotencyClaim<'o>(Option<(&'o dyn Store, &'o IdempotencyKey)>);

impl IdempotencyClaim<'_> {
    pub(super) fn put(self, made: &impl Serialize, now: Timestamp, batch: &mut Batch) -> Result<(), StoreError> {
        let Some((store, key)) = self.0 else { return Ok(()) };
        let answer = serde_json::to_value(made).expect("plain data makes JSON");
        idempotency::remember(&mut InBatch { store, batch }, key, answer, now)
    }
}

pub struct NewSubscription<'a> {
    /// The caller checks that the owner may read this institution's data.
    pub institution_id: InstitutionId,
    /// The only location whose events are sent; `None` for all locations of the institution.
    pub location_id: Option<LocationId>,
    /// The content of the messages; `None` for the default.
    pub payload: Option<Payload>,
    pub resource_type: &'a str,
    pub event: &'a str,
    pub active: bool,
    pub api_version: &'a str,
}

/// A change of a subscription. Absent fields stay unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubscriptionChange {
    pub new_endpoint: Option<EndpointId>,
    pub active: Option<bool>,
    pub payload: Option<Payload>,
}

pub struct EndpointRegistry {
    store: Arc<dyn Store>,
    egress: Arc<Egress>,
    ids: Arc<Ids>,
    subscriptions: Arc<Subscriptions>,
    rules: RwLock<WebhookRules>,
    turn: Arc<Mutex<()>>,
}

impl EndpointRegistry {
    /// Reads all endpoints and subscriptions into memory. `placement` is `None` for a store used by this process only.
    pub fn load(
        store: Arc<dyn Store>,
        ids: Arc<Ids>,
        egress: Arc<Egress>,
        rules: WebhookRules,
        audience: Arc<dyn Audience>,
        placement: Option<Arc<dyn Placement>>,
    ) -> Result<Arc<EndpointRegistry>, WebhookLoadError> {
        let delivery_ids = DeliveryIds::after(last_event(&*store)?);
        let backlogs = Backlogs::load(&*store, rules.queue, placement.is_some())?;
        let shared = placement.map(|placement| SharedEndpoints { store: store.clone(), placement });
        let subscriptions = Arc::new(Subscriptions::new(backlogs, delivery_ids, audience, shared));
        subscriptions.load(&*store)?;
        let rules = RwLock::new(rules);
        Ok(Arc::new(EndpointRegistry { store, egress, ids, subscriptions, rules, turn: Arc::default() }))
    }

    /// Prepares this node for endpoints or institutions that other nodes have released: delivery ids continue above
    /// theirs, and this node claims its own count stripes.
    pub async fn arrive(&self) -> Result<(), CommitError> {
        if let Some(last) = last_event(&*self.store)? {
            self.subscriptions.delivery_ids.advance_past(last);
        }
        self.refresh().await
    }

    /// Loads the changes and counts of other nodes.
    pub(super) async fn refresh(&self) -> Result<(), CommitError> {
        let Some(shared) = &self.subscriptions.shared else { return Ok(()) };
        self.subscriptions.refresh()?;
        let backlogs = &self.subscriptions.backlogs;
        backlogs.claim(&*self.store, &*shared.placement).await?;
        backlogs.refresh(&*self.store).map_err(|error| match error {
            WebhookLoadError::Store(error) => error.into(),
            WebhookLoadError::Record(_) => {
                StoreError::damaged(&Space::DeliveryCount.range().start, "the counts cannot be decoded").into()
            }
        })
    }

    pub fn rules(&self) -> WebhookRules {
        *self.rules.read()
    }

    /// Sets the rules, which apply from the next event, secret and pruning on.
    pub fn set_rules(&self, rules: WebhookRules) {
        *self.rules.write() = rules;
        self.subscriptions.backlogs.set_limit(rules.queue);
    }

    pub fn subscriptions(&self) -> &Arc<Subscriptions> {
        &self.subscriptions
    }

    /// The result contains the secret key, which the owner is shown only now.
    pub async fn create_endpoint(
        self: &Arc<Self>,
        owner: &Owner,
        target_url: &str,
        active: bool,
        secret_key: SecretKey,
        once: Option<&IdempotencyKey>,
        now: Timestamp,
    ) -> Result<CreatedOrReplayed<Endpoint>, RegistryError> {
        self.egress.check_url(target_url)?;
        let id = EndpointId(self.next_id(ENDPOINT_IDS).await?);
        let decide = |batch: &mut Batch| {
            let claim = match self.claim_or_replay(once, now)? {
                Ok(claim) => claim,
                Err(earlier) => return Ok((None, earlier)),
            };
            within("webhook endpoints of one owner", self.endpoints(owner).len(), limits::MAX_ENDPOINTS_PER_OWNER)?;
            let endpoint = Endpoint {
                id,
                owner: owner.clone(),
                target_url: target_url.to_owned(),
                secret_key: secret_key.clone(),
                next_secret: None,
                active,
                created_at: now,
                updated_at: now,
                failing_since: None,
                last_failed: None,
            };
            batch.expect_absent(keys::endpoint(endpoint.id));
            claim.put(&endpoint, now, batch)?;
            let changed = Changed { endpoint: Some(endpoint.clone()), ..Changed::default() };
            Ok((Some(changed), CreatedOrReplayed { record: endpoint, replay: false }))
        };
        self.change(decide).await
    }

    /// During the overlap both secrets sign, afterwards only the new one. The result contains the new secret.
    pub async fn rotate_secret(
        self: &Arc<Self>,
        owner: &Owner,
        id: EndpointId,
        secret_key: SecretKey,
        overlap: Millis,
        once: Option<&IdempotencyKey>,
        now: Timestamp,
    ) -> Result<CreatedOrReplayed<Endpoint>, RegistryError> {
        let decide = |batch: &mut Batch| {
            let claim = match self.claim_or_replay(once, now)? {
                Ok(claim) => claim,
                Err(earlier) => return Ok((None, earlier)),
            };
            let before = self.endpoint(owner, id)?;
            if overlap > 0 && before.rotating_until(now).is_some() {
                return Err(RegistryError::Rotating);
            }
            let mut endpoint = (*before).clone();
            endpoint.updated_at = now;
            if overlap > 0 {
                endpoint.secret_key = before.secrets(now).0.clone();
                endpoint.next_secret =
                    Some(NextSecret { secret_key: secret_key.clone(), alone_from: now.plus(overlap) });
            } else {
                (endpoint.secret_key, endpoint.next_secret) = (secret_key.clone(), None);
            }
            claim.put(&endpoint, now, batch)?;
            Ok((Some(self.changed_by_owner(&endpoint, now)), CreatedOrReplayed { record: endpoint, replay: false }))
        };
        self.change(decide).await
    }

    /// Changes only the given fields. Activation clears the failure streak, and the active subscriptions are sent later
    /// changes only. Subscriptions that the owner may no longer receive are deactivated.
    pub async fn update_endpoint(
        self: &Arc<Self>,
        owner: &Owner,
        id: EndpointId,
        target_url: Option<&str>,
        active: Option<bool>,
        now: Timestamp,
    ) -> Result<Endpoint, RegistryError> {
        if let Some(url) = target_url {
            self.egress.check_url(url)?;
        }
        let decide = |batch: &mut Batch| {
            let mut endpoint = (*self.endpoint(owner, id)?).clone();
            if let Some(url) = target_url {
                url.clone_into(&mut endpoint.target_url);
            }
            let is_activated = active == Some(true) && !endpoint.active;
            endpoint.active = active.unwrap_or(endpoint.active);
            endpoint.updated_at = now;
            if is_activated {
                (endpoint.failing_since, endpoint.last_failed) = (None, None);
            }
            let mut changed = self.changed_by_owner(&endpoint, now);
            if is_activated {
                let ended: BTreeSet<SubscriptionId> = changed.subscriptions.iter().map(|it| it.id).collect();
                let subscriptions = self.subscriptions.subscriptions_of(id).into_iter();
                let kept = subscriptions.filter(|it| it.active && !ended.contains(&it.id));
                changed.subscriptions.extend(self.restarted(kept)?);
            }
            if active == Some(true) {
                batch.delete(keys::overflow(id));
                changed.overflow_forgotten = Some(id);
            }
            Ok((Some(changed), endpoint))
        };
        self.change(decide).await
    }

    /// Returns the change of an endpoint by its owner, and deactivates its subscriptions without permission. An owner
    /// who regains the permission must activate them again.
    fn changed_by_owner(&self, endpoint: &Endpoint, now: Timestamp) -> Changed {
        let (known, owner) = (&self.subscriptions, &endpoint.owner);
        let unheard = |it: &Subscription| !known.may_receive(owner, it.institution_id, it.event.resource_type());
        let ended = known.subscriptions_of(endpoint.id).into_iter().filter(|it| it.active && unheard(it));
        let subscriptions = ended.map(|it| Subscription { active: false, updated_at: now, ..(*it).clone() }).collect();
        Changed { endpoint: Some(endpoint.clone()), subscriptions, ..Changed::default() }
    }

    /// Returns the subscriptions, starting at the end of the log. A follower that restarts may read earlier changes
    /// again.
    fn restarted(
        &self,
        subscriptions: impl Iterator<Item = Arc<Subscription>>,
    ) -> Result<Vec<Subscription>, StoreError> {
        let (mut ends, mut restarted) = (HashMap::<InstitutionId, u64>::new(), Vec::new());
        for subscription in subscriptions {
            let institution = subscription.institution_id;
            let starts_after = match ends.get(&institution) {
                Some(end) => *end,
                None => feed::end(&*self.store, institution.0)?,
            };
            ends.insert(institution, starts_after);
            restarted.push(Subscription { starts_after, ..(*subscription).clone() });
        }
        Ok(restarted)
    }

    /// Deletes the endpoint and its subscriptions. Waiting deliveries are not sent any more.
    pub async fn delete_endpoint(self: &Arc<Self>, owner: &Owner, id: EndpointId) -> Result<(), RegistryError> {
        let decide = |batch: &mut Batch| {
            self.endpoint(owner, id)?;
            batch.delete(keys::endpoint(id)).delete(keys::overflow(id));
            let gone_subscriptions = self.subscriptions.subscriptions_of(id);
            gone_subscriptions.iter().for_each(|subscription| forget(subscription, batch));
            let (gone_endpoint, overflow_forgotten) = (Some(id), Some(id));
            Ok((Some(Changed { gone_endpoint, gone_subscriptions, overflow_forgotten, ..Changed::default() }), ()))
        };
        self.change(decide).await
    }

    /// Changes only the given fields. A subscription may move to another endpoint of the same owner. After a time in
    /// which it or its endpoint was inactive, it is sent later changes only.
    pub async fn update_subscription(
        self: &Arc<Self>,
        owner: &Owner,
        (endpoint_id, id): (EndpointId, SubscriptionId),
        change: SubscriptionChange,
        now: Timestamp,
    ) -> Result<Subscription, RegistryError> {
        let SubscriptionChange { new_endpoint, active, payload } = change;
        let decide = |batch: &mut Batch| {
            let before = self.subscription(owner, endpoint_id, id)?;
            let mut after = (*before).clone();
            after.active = active.unwrap_or(before.active);
            after.payload = payload.or(before.payload);
            after.updated_at = now;
            if after.active && !(before.active && self.endpoint(owner, endpoint_id)?.active) {
                after.starts_after = feed::end(&*self.store, before.institution_id.0)?;
            }
            let mut gone_subscriptions = Vec::new();
            if let Some(target) = new_endpoint.filter(|target| *target != endpoint_id) {
                self.endpoint(owner, target).map_err(|_| RegistryError::NoTarget(target))?;
                let there = self.subscriptions.subscriptions_of(target);
                not_twice(&there, &before)?;
                within("subscriptions of one webhook endpoint", there.len(), limits::MAX_SUBSCRIPTIONS_PER_ENDPOINT)?;
                after.webhook_endpoint_id = target;
                forget(&before, batch);
                batch.expect_present(keys::endpoint(target));
                batch.put(keys::subscribed(&after), Vec::new());
                gone_subscriptions.push(before);
            }
            let changed = Changed { subscriptions: vec![after.clone()], gone_subscriptions, ..Changed::default() };
            Ok((Some(changed), after))
        };
        self.change(decide).await
    }

    pub async fn delete_subscription(
        self: &Arc<Self>,
        owner: &Owner,
        endpoint_id: EndpointId,
        id: SubscriptionId,
    ) -> Result<(), RegistryError> {
        let decide = |batch: &mut Batch| {
            let gone = self.subscription(owner, endpoint_id, id)?;
            forget(&gone, batch);
            Ok((Some(Changed { gone_subscriptions: vec![gone], ..Changed::default() }), ()))
        };
        self.change(decide).await
    }

    /// Decides and commits. Repeats both if another node commits first. Commits nothing if there is no change.
    async fn change<T>(
        self: &Arc<Self>,
        decide: impl Fn(&mut Batch) -> Result<(Option<Changed>, T), RegistryError>,
    ) -> Result<T, RegistryError> {
        self.change_with_images(false, decide).await
    }

    /// Like `change`. If images are required, the log has the before images of all changes after the end that `decide`
    /// reads, as long as the institution has subscriptions.
    async fn change_with_images<T>(
        self: &Arc<Self>,
        is_required: bool,
        decide: impl Fn(&mut Batch) -> Result<(Option<Changed>, T), RegistryError>,
    ) -> Result<T, RegistryError> {
        for _ in 0..RACES {
            let turn = self.turn().await;
            let images = if is_required { Some(self.subscriptions.require_images().await) } else { None };
            let (mut batch, changes) = self.subscriptions.change()?;
            let (changed, answer) = decide(&mut batch)?;
            let Some(changed) = changed else { return Ok(answer) };
            match self.commit((turn, images), batch, changed, changes).await {
                Ok(()) => return Ok(answer),
                Err(CommitError::Conflict { key }) if key == keys::changes() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Returns the lock of a change, held from the reads to the commit.
    pub(super) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }

    /// Returns a claim of the Idempotency-Key, or the result of the earlier request in the inner `Err`.
    pub(super) fn claim_or_replay<'o, T: DeserializeOwned>(
        &'o self,
        key: Option<&'o IdempotencyKey>,
        now: Timestamp,
    ) -> Result<Result<IdempotencyClaim<'o>, CreatedOrReplayed<T>>, RegistryError> {
        let Some(key) = key else { return Ok(Ok(IdempotencyClaim(None))) };
        let store = &*self.store;
        match idempotency::lookup(&mut InBatch { store, batch: &mut Batch::new() }, key, now)? {
            Lookup::Fresh => Ok(Ok(IdempotencyClaim(Some((store, key))))),
            Lookup::Conflict => Err(RegistryError::KeyReused),
            Lookup::Replay(answer) => {
                let record = serde_json::from_value(answer).map_err(|_| RegistryError::KeyReused)?;
                Ok(Err(CreatedOrReplayed { record, replay: true }))
            }
        }
    }

    pub async fn create_subscription(
        self: &Arc<Self>,
        owner: &Owner,
        endpoint_id: EndpointId,
        new: NewSubscription<'_>,
        once: Option<&IdempotencyKey>,
        now: Timestamp,
    ) -> Result<CreatedOrReplayed<Subscription>, RegistryError> {
        let topic = catalogue::parse(new.resource_type, new.event)?;
        let id = SubscriptionId(self.next_id(SUBSCRIPTION_IDS).await?);
        let decide = |batch: &mut Batch| {
            let claim = match self.claim_or_replay(once, now)? {
                Ok(claim) => claim,
                Err(earlier) => return Ok((None, earlier)),
            };
            self.endpoint(owner, endpoint_id)?;
            let existing = self.subscriptions.subscriptions_of(endpoint_id);
            let subscription = Subscription {
                id,
                webhook_endpoint_id: endpoint_id,
                institution_id: new.institution_id,
                event: topic.event,
                outcome: topic.outcome,
                location_id: new.location_id,
                payload: new.payload,
                active: new.active,
                api_version: new.api_version.to_owned(),
                starts_after: feed::end(&*self.store, new.institution_id.0)?,
                created_at: now,
                updated_at: now,
            };
            not_twice(&existing, &subscription)?;
            within("subscriptions of one webhook endpoint", existing.len(), limits::MAX_SUBSCRIPTIONS_PER_ENDPOINT)?;
            let pair = keys::subscribed(&subscription);
            batch.expect_present(keys::endpoint(endpoint_id)).expect_absent(pair.clone()).put(pair, Vec::new());
            claim.put(&subscription, now, batch)?;
            let changed = Changed { subscriptions: vec![subscription.clone()], ..Changed::default() };
            Ok((Some(changed), CreatedOrReplayed { record: subscription, replay: false }))
        };
        self.change_with_images(true, decide).await
    }

    pub fn endpoints(&self, owner: &Owner) -> Vec<Arc<Endpoint>> {
        self.subscriptions.endpoints().into_iter().filter(|endpoint| endpoint.owner == *owner).collect()
    }

    /// Returns `NotFound` for endpoints of other owners too.
    pub fn endpoint(&self, owner: &Owner, id: EndpointId) -> Result<Arc<Endpoint>, RegistryError> {
        self.subscriptions.endpoint(id).filter(|endpoint| endpoint.owner == *owner).ok_or(RegistryError::NotFound)
    }

    pub fn subscriptions_of(&self, owner: &Owner, id: EndpointId) -> Result<Vec<Arc<Subscription>>, RegistryError> {
        self.endpoint(owner, id)?;
        Ok(self.subscriptions.subscriptions_of(id))
    }

    pub fn subscription(
        &self,
        owner: &Owner,
        endpoint_id: EndpointId,
        id: SubscriptionId,
    ) -> Result<Arc<Subscription>, RegistryError> {
        self.endpoint(owner, endpoint_id)?;
        let found = self.subscriptions.subscription(id).filter(|s| s.webhook_endpoint_id == endpoint_id);
        found.ok_or(RegistryError::NotFound)
    }

    pub(super) fn health_changes(&self, id: EndpointId, answer: AttemptOutcome, attempted: Timestamp) -> bool {
        let health = |endpoint: Arc<Endpoint>| schedule::health(endpoint.failing(), answer, attempted);
        self.subscriptions.endpoint(id).is_some_and(|endpoint| health(endpoint) != HealthChange::Unchanged)
    }

    /// Commits the outcome of an attempt together with its effect on the endpoint's health.
    pub(super) async fn commit_attempt(
        self: &Arc<Self>,
        id: EndpointId,
        answer: AttemptOutcome,
        attempted: Timestamp,
        outcome: Batch,
    ) -> Result<(), CommitError> {
        let health = |endpoint: &Endpoint| schedule::health(endpoint.failing(), answer, attempted);
        for _ in 0..RACES {
            let turn = self.turn().await;
            let (mut batch, changes) = self.subscriptions.change()?;
            batch.add(outcome.clone());
            let changed = self.subscriptions.endpoint(id).map(|endpoint| (health(&endpoint), (*endpoint).clone()));
            let changed = changed.map(|(health, endpoint)| self.changed_by(health, endpoint, attempted));
            match self.commit(turn, batch, changed.unwrap_or_default(), changes).await {
                Err(CommitError::Conflict { key }) if key == keys::changes() => {}
                committed => return committed,
            }
        }
        Err(StoreError::Busy.into())
    }

    fn changed_by(&self, health: HealthChange, mut endpoint: Endpoint, at: Timestamp) -> Changed {
        let mut subscriptions = Vec::new();
        match health {
            HealthChange::Unchanged => return Changed::default(),
            HealthChange::FailingSince(since) => {
                (endpoint.failing_since, endpoint.last_failed) = (Some(since), Some(since))
            }
            HealthChange::StillFailing => endpoint.last_failed = Some(at),
            HealthChange::Recovered => (endpoint.failing_since, endpoint.last_failed) = (None, None),
            HealthChange::Deactivated(why) => {
                tracing::warn!(endpoint = %endpoint.id, why, "webhook endpoint deactivated");
                (endpoint.active, endpoint.updated_at) = (false, at);
                let active = self.subscriptions.subscriptions_of(endpoint.id).into_iter().filter(|s| s.active);
                subscriptions =
                    active.map(|s| Subscription { active: false, updated_at: at, ..(*s).clone() }).collect();
            }
        }
        Changed { endpoint: Some(endpoint), subscriptions, ..Changed::default() }
    }

    /// Runs in a separate task, because a cancelled caller must not leave memory behind the store. Holds the locks
    /// until memory has the change.
    async fn commit(
        self: &Arc<Self>,
        locks: impl Send + 'static,
        mut batch: Batch,
        changed: Changed,
        changes: u64,
    ) -> Result<(), CommitError> {
        if let Some(endpoint) = &changed.endpoint {
            batch.put(keys::endpoint(endpoint.id), to_bytes(endpoint));
        }
        for subscription in &changed.subscriptions {
            batch.put(keys::subscription(subscription.webhook_endpoint_id, subscription.id), to_bytes(subscription));
        }
        let affected_institutions = match &self.subscriptions.shared {
            Some(_) => self.subscriptions.affected_institutions(&changed),
            None => BTreeSet::new(),
        };
        for institution in affected_institutions {
            batch.put(keys::changes_of(institution), changes.to_be_bytes().to_vec());
        }
        let this = self.clone();
        let commit = tokio::spawn(async move {
            let committed = this.store.commit(batch).await;
            if committed.is_ok() {
                this.subscriptions.apply(changed, changes);
            }
            drop(locks);
            committed
        });
        commit.await.unwrap_or_else(|error| Err(StoreError::Unknown { why: error.to_string() }.into()))
    }

    /// Returns the next id of an `int32` counter.
    async fn next_id(&self, counter: Counter<'static>) -> Result<i32, RegistryError> {
        let id = self.ids.next_one(counter).await?;
        Ok(i32::try_from(id).expect("an int32 counter ends at i32::MAX"))
    }
}

/// Returns the first delivery id of the last event in the store.
fn last_event(store: &dyn Store) -> Result<Option<Uuid>, StoreError> {
    let last = store.scan_keys(Space::DeliveryEvent.range(), Direction::Backward, 1)?;
    Ok(last.first().and_then(|key| keys::parse_event(key)))
}

/// Deletes a subscription from the store.
fn forget(subscription: &Subscription, batch: &mut Batch) {
    let endpoint = subscription.webhook_endpoint_id;
    batch.delete(keys::subscription(endpoint, subscription.id));
    batch.delete(keys::subscribed(subscription));
}

fn not_twice(there: &[Arc<Subscription>], new: &Subscription) -> Result<(), RegistryError> {
    let (institution, topic, location) = (new.institution_id, new.topic(), new.location_id);
    if !there.iter().any(|it| it.matches(institution, topic, location)) {
        return Ok(());
    }
    let of = if location.is_some() { "location" } else { "institution" };
    Err(RegistryError::Duplicate { event: topic.to_string(), of })
}

fn within(what: &'static str, present: usize, limit: usize) -> Result<(), RegistryError> {
    if present < limit { Ok(()) } else { Err(RegistryError::TooMany { what, limit }) }
}

fn to_bytes(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).expect("plain data makes JSON")
}
