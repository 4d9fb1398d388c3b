//! Tests of registration, the outbox and the dispatcher, with the in-memory store and receivers on loopback.
#![allow(clippy::unwrap_used)]

mod counting;
mod dispatching;
mod earlier_deliveries;
mod enqueueing;
mod managing;
mod new_deliveries;
mod nodes;
mod registering;
mod senders;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use location::{
    ids::{InstitutionId, LocationId},
    time::{Millis, Timestamp},
};
use parking_lot::Mutex;
use runtime::metrics::Metrics;
use serde_json::{Map, json};
use setup::WebhookRules;
use store::{Batch, Direction, KeyRange, MemoryStore, Store, counters::Ids, keys::Space};
use testing::{ManualClock, until};
use uuid::Uuid;

use super::{
    attempt::{Sender, WebhookClock},
    catalogue::{Event, EventName, ResourceType, WriteOutcome},
    delivery::{Delivery, State},
    dispatcher::Dispatcher,
    doorbell::Doorbell,
    egress::{Egress, Reach},
    event::StoredEvent,
    keys, limits,
    model::{EndpointId, Owner, Subscription},
    outbox::{CommittedEvent, Enqueued, Outbox},
    placement::Placement,
    registry::{EndpointRegistry, NewSubscription, RegistryError},
    sign::SecretKey,
    subscriptions::Audience,
};

const T0: Timestamp = Timestamp(1_795_255_200_000);
const SMILE: InstitutionId = InstitutionId(7);
const OTHER: InstitutionId = InstitutionId(8);
const EVENTS: u8 = 0x59;

/// Permits everything except the listed resource types of institutions.
#[derive(Default)]
struct TestAudience(Mutex<Vec<(InstitutionId, ResourceType)>>);

impl Audience for TestAudience {
    fn may_receive(&self, _: &Owner, institution: InstitutionId, kind: ResourceType) -> bool {
        !self.0.lock().contains(&(institution, kind))
    }

    fn sees_amounts(&self, _: &Owner, _: InstitutionId) -> bool {
        true
    }
}

/// One process. Its store survives the process.
struct World {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    registry: Arc<EndpointRegistry>,
    audience: Arc<TestAudience>,
    doorbell: Arc<Doorbell>,
    outbox: Outbox,
    dispatcher: Option<Dispatcher>,
    metrics: Arc<Metrics>,
    /// The id of the next changed appointment.
    next: AtomicU64,
}

impl World {
    fn new() -> World {
        World::on(Arc::new(MemoryStore::new()), ManualClock::at(T0))
    }

    fn on(store: Arc<MemoryStore>, clock: ManualClock) -> World {
        World::with_rules(store, clock, WebhookRules::default())
    }

    fn with_rules(store: Arc<MemoryStore>, clock: ManualClock, rules: WebhookRules) -> World {
        World::among(store, clock, rules, None)
    }

    /// Creates one of several processes on a store.
    fn among(
        store: Arc<MemoryStore>,
        clock: ManualClock,
        rules: WebhookRules,
        placement: Option<Arc<dyn Placement>>,
    ) -> World {
        let egress = Arc::new(Egress::new(Reach::PublicAndLoopback).unwrap());
        let (ids, audience) = (Arc::new(Ids::new(store.clone())), Arc::new(TestAudience::default()));
        let registry = EndpointRegistry::load(store.clone(), ids, egress, rules, audience.clone(), placement).unwrap();
        let doorbell = Arc::new(Doorbell::default());
        let outbox = Outbox::new(registry.subscriptions().clone(), doorbell.clone());
        let (metrics, next) = (Arc::default(), AtomicU64::new(42));
        World { store, clock, registry, audience, doorbell, outbox, dispatcher: None, metrics, next }
    }

    fn sending(self) -> World {
        let store = self.store.clone();
        self.sending_from(store)
    }

    /// Reads deliveries from the given store, and records their outcomes there.
    fn sending_from(mut self, store: Arc<dyn Store>) -> World {
        let now = self.clock.clone();
        let clock: WebhookClock = Arc::new(move || now.now());
        let egress = Arc::new(Egress::new(Reach::PublicAndLoopback).unwrap());
        let sender = Sender {
            store,
            registry: self.registry.clone(),
            egress,
            metrics: self.metrics.clone(),
            clock,
            random: Arc::new(|| 0),
        };
        self.dispatcher = Some(Dispatcher::start(sender, self.doorbell.clone()).unwrap());
        self
    }

    /// Kills the process and starts a new one on the store it leaves behind.
    async fn killed_and_restarted(self, after: Millis) -> World {
        let left = Arc::new(self.store.fork());
        self.dispatcher.unwrap().stop(Duration::ZERO).await;
        self.clock.advance(after);
        World::on(left, self.clock).sending()
    }

    async fn endpoint(&self, url: &str) -> EndpointId {
        let secret = SecretKey::from_entropy([9; 32]);
        self.registry.create_endpoint(&owner(), url, true, secret, None, self.clock.now()).await.unwrap().record.id
    }

    async fn subscribe(&self, endpoint: EndpointId, institution: InstitutionId, event: Event) -> Subscription {
        self.try_subscribe(endpoint, institution, event).await.unwrap()
    }

    async fn try_subscribe(
        &self,
        endpoint: EndpointId,
        institution_id: InstitutionId,
        event: Event,
    ) -> Result<Subscription, RegistryError> {
        let (resource_type, event) = (event.resource_type().name(), event.name());
        let api_version = "v3.0.0";
        let new = NewSubscription {
            payload: None,
            institution_id,
            location_id: None,
            resource_type,
            event,
            active: true,
            api_version,
        };
        self.registry.create_subscription(&owner(), endpoint, new, None, self.clock.now()).await.map(|made| made.record)
    }

    /// Creates an endpoint with a subscription to the insertions of `SMILE`.
    async fn subscribed(&self, url: &str) -> EndpointId {
        let endpoint = self.endpoint(url).await;
        self.subscribe(endpoint, SMILE, Event::AppointmentInsertion).await;
        endpoint
    }

    fn enqueue(&self, batch: &mut Batch, institution: InstitutionId, name: EventName) -> Enqueued {
        self.enqueue_for(self.next.fetch_add(1, Ordering::SeqCst), batch, institution, name)
    }

    fn enqueue_for(&self, id: u64, batch: &mut Batch, institution: InstitutionId, name: EventName) -> Enqueued {
        self.enqueue_at(self.clock.now(), id, batch, institution, name)
    }

    /// Enqueues an event of the given time, which may be in the future.
    fn enqueue_at(
        &self,
        time: Timestamp,
        id: u64,
        batch: &mut Batch,
        institution: InstitutionId,
        name: EventName,
    ) -> Enqueued {
        let data = json!({"appointment": {"id": id, "note": "Zahnärztin 🦷"}});
        let data: &Map<_, _> = data.as_object().unwrap();
        let (now, mut enqueued) = (self.clock.now(), self.outbox.begin(institution, batch).unwrap());
        let (subdomain, location, origin, is_newer) = ("smile", None, None, false);
        let event = CommittedEvent { institution, subdomain, location, name, time, data, origin, is_newer };
        for to in self.outbox.recipients(institution, name, u64::MAX) {
            self.outbox.enqueue(&to.subscriptions, batch, &event, now, Uuid::new_v4, &mut enqueued);
        }
        enqueued
    }

    /// Commits the insertion of an appointment of the institution.
    async fn inserted(&self, institution: InstitutionId) {
        let mut batch = Batch::new();
        let enqueued = self.enqueue(&mut batch, institution, complete());
        self.store.commit(batch).await.unwrap();
        self.outbox.committed(enqueued);
    }

    /// Commits a change of an appointment of `SMILE`.
    async fn changed(&self, id: u64) {
        let mut batch = Batch::new();
        let enqueued = self.enqueue_for(id, &mut batch, SMILE, complete());
        self.store.commit(batch).await.unwrap();
        self.outbox.committed(enqueued);
    }

    /// Ends a waiting delivery.
    async fn stopped(&self, before: &Delivery) {
        let mut after = before.clone();
        after.state = State::Stopped { at: T0 };
        let backlogs = &self.registry.subscriptions().backlogs;
        let (mut batch, mut count) = (Batch::new(), backlogs.change());
        after.replace(before, &mut batch);
        count.add(before.endpoint_id, -1);
        count.put(&mut batch);
        self.store.commit(batch).await.unwrap();
        backlogs.changed(&count);
    }

    /// Sets the clock and wakes the dispatcher.
    fn set_clock(&self, to: Timestamp) {
        self.clock.set(to);
        self.doorbell.ring([]);
    }

    /// Returns the deliveries of all events, in the order of their ids.
    fn deliveries(&self) -> Vec<Delivery> {
        let mut found = Vec::new();
        for (key, event) in self.store.scan(Space::DeliveryEvent.range(), Direction::Forward, 100_000).unwrap() {
            let Some(event) = StoredEvent::from_bytes(&event) else { continue };
            for (endpoint, id) in event.deliveries(keys::parse_event(&key).unwrap()) {
                found.extend(Delivery::read(&*self.store, endpoint, id).unwrap());
            }
        }
        found
    }

    async fn wait_until(&self, what: &str, holds: impl Fn(&[Delivery]) -> bool) -> Vec<Delivery> {
        let look = || Some(self.deliveries()).filter(|deliveries| holds(deliveries));
        until(what, async || look()).await
    }

    async fn wait_until_delivered(&self, number: usize) {
        let delivered = |d: &&Delivery| matches!(d.state, State::Delivered { .. });
        self.wait_until("all delivered", |all| all.iter().filter(delivered).count() == number).await;
    }

    /// Advances the clock beyond the retention of ended deliveries.
    fn forget(&self) {
        self.set_clock(self.clock.now().plus(WebhookRules::default().keep + 2 * limits::PRUNE_EVERY));
    }

    /// Returns the number of waiting messages of the endpoint, as counted by the process.
    fn waiting(&self, endpoint: EndpointId) -> u64 {
        self.registry.subscriptions().backlogs.for_endpoint(endpoint).waiting()
    }

    /// Returns the number of entries of pending deliveries.
    fn due(&self) -> usize {
        let entries = |range| self.store.scan_keys(range, Direction::Forward, 100_000).unwrap().len();
        entries(Space::DeliveryQueued.range()) + entries(Space::DeliveryDue.range())
    }

    /// Returns the number of values of deliveries, in all spaces.
    fn values_of_deliveries(&self) -> usize {
        let values = |space: u8| self.store.scan_keys(KeyRange::prefix(&[space]), Direction::Forward, 100).unwrap();
        [0x53, 0x54, 0x56, 0x57, EVENTS, 0x5F].map(|space| values(space).len()).into_iter().sum()
    }
}

fn owner() -> Owner {
    Owner("org-1".to_owned())
}

fn complete() -> EventName {
    EventName::written(Event::AppointmentInsertion, WriteOutcome::Complete).unwrap()
}
