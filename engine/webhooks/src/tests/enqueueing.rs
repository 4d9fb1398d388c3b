use std::collections::BTreeMap;

use location::time::HOUR;
use store::StoreError;

use super::*;
use crate::{keys::Due, model::Payload, outbox, registry::SubscriptionChange};

const URL: &str = "https://hooks.example.com/in";

#[tokio::test]
async fn an_event_becomes_a_delivery_in_the_same_batch() {
    let world = World::new();
    let endpoint = world.subscribed(URL).await;
    let mut batch = Batch::new();
    batch.put(vec![0x10], b"the change".to_vec());
    let enqueued = world.enqueue(&mut batch, SMILE, complete());
    assert!(!enqueued.is_empty());
    assert!(world.deliveries().is_empty(), "nothing before the commit");
    world.store.commit(batch).await.unwrap();
    let deliveries = world.deliveries();
    assert_eq!(deliveries.len(), 1);
    assert_eq!((deliveries[0].endpoint_id, deliveries[0].institution_id), (endpoint, Some(SMILE)));
    assert_eq!(deliveries[0].event_name, "appointment_insertion.complete");
    assert_eq!(world.due(), 1);
    assert!(!format!("{:?}", deliveries[0]).contains("Zahn"));
}

/// The limits of a commit use this number.
#[tokio::test]
async fn an_event_adds_as_many_keys_as_are_counted_for_it() {
    for subscribed in [1, 2, 5] {
        let world = World::new();
        for n in 0..subscribed {
            world.subscribed(&format!("https://{n}.example.com/")).await;
        }
        let keys =
            || world.store.scan_keys(KeyRange::new(vec![0], vec![255]), Direction::Forward, 1_000).unwrap().len();
        let before = keys();
        world.inserted(SMILE).await;
        // The event, and their counts, which share one value.
        assert_eq!(keys() - before, subscribed + 2);
        assert!(subscribed + 2 <= outbox::keys_of(subscribed));
    }
}

#[tokio::test]
async fn an_event_without_subscribers_writes_nothing() {
    let world = World::new();
    world.subscribed(URL).await;
    let mut batch = Batch::new();
    for (institution, name) in [
        (OTHER, complete()),
        (SMILE, EventName::change(Event::AppointmentCreated).unwrap()),
        (SMILE, EventName::written(Event::PaymentInsertion, WriteOutcome::Complete).unwrap()),
    ] {
        assert!(world.enqueue(&mut batch, institution, name).is_empty());
    }
    assert!(batch.is_empty());
}

#[tokio::test]
async fn an_insertion_subscription_gets_all_three_outcomes() {
    let world = World::new();
    world.subscribed(URL).await;
    for outcome in [WriteOutcome::Complete, WriteOutcome::Failed, WriteOutcome::TimedOut] {
        let mut batch = Batch::new();
        let name = EventName::written(Event::AppointmentInsertion, outcome).unwrap();
        assert!(!world.enqueue(&mut batch, SMILE, name).is_empty());
    }
}

#[tokio::test]
async fn inactive_endpoints_and_subscriptions_get_nothing() {
    let world = World::new();
    let secret = SecretKey::from_entropy([1; 32]);
    let inactive = world.registry.create_endpoint(&owner(), URL, false, secret, None, T0).await.unwrap().record.id;
    world.subscribe(inactive, SMILE, Event::AppointmentInsertion).await;
    let active = world.endpoint(URL).await;
    let new = NewSubscription {
        payload: None,
        institution_id: SMILE,
        location_id: None,
        resource_type: "appointment",
        event: "appointment_insertion",
        active: false,
        api_version: "v3.0.0",
    };
    world.registry.create_subscription(&owner(), active, new, None, T0).await.unwrap();
    let mut batch = Batch::new();
    assert!(world.enqueue(&mut batch, SMILE, complete()).is_empty());
    assert!(batch.is_empty());
}

/// Random subscriptions and events over five tenants: the recipients are exactly the subscribed endpoints.
#[tokio::test]
async fn no_event_reaches_another_tenant() {
    let world = World::new();
    let mut random = 88_172_645_463_325_252_u64;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let events = [Event::AppointmentUpdated, Event::PatientCreated, Event::ClaimDeleted];
    let mut asked: BTreeMap<(u32, Event), Vec<EndpointId>> = BTreeMap::new();
    for _ in 0..40 {
        let endpoint = world.endpoint(URL).await;
        for _ in 0..next(6) {
            let (institution, event) = (next(5) as u32, events[next(3) as usize]);
            if world.try_subscribe(endpoint, InstitutionId(institution), event).await.is_ok() {
                asked.entry((institution, event)).or_default().push(endpoint);
            }
        }
    }
    assert!(asked.values().map(Vec::len).sum::<usize>() > 50);
    let mut sent: BTreeMap<(u32, Event), Vec<EndpointId>> = BTreeMap::new();
    for institution in 0..5 {
        for event in events {
            let mut batch = Batch::new();
            let _ = world.enqueue(&mut batch, InstitutionId(institution), EventName::change(event).unwrap());
            let written = batch.writes().iter().filter(|(key, _)| key[0] == EVENTS);
            for stored in written.map(|(_, value)| StoredEvent::from_bytes(value.as_ref().unwrap()).unwrap()) {
                assert_eq!(stored.institution_id, Some(InstitutionId(institution)));
                for (endpoint, subscription) in stored.recipients {
                    let subscription = world.registry.subscriptions().subscription(subscription.unwrap()).unwrap();
                    assert_eq!((Some(subscription.institution_id), subscription.event), (stored.institution_id, event));
                    sent.entry((institution, event)).or_default().push(endpoint);
                }
            }
        }
    }
    assert_eq!(sent, asked);
}

/// An endpoint with several matching subscriptions gets one message.
#[tokio::test]
async fn an_endpoint_with_overlapping_subscriptions_gets_one_message() {
    let world = World::new();
    let endpoints = [world.endpoint(URL).await, world.endpoint(URL).await, world.endpoint(URL).await];
    let [all, two, failed] = endpoints;
    for (endpoint, event, location) in [
        (all, "appointment_insertion", None),
        (all, "appointment_insertion.complete", Some(1)),
        (two, "appointment_insertion", Some(1)),
        (two, "appointment_insertion", Some(2)),
        (failed, "appointment_insertion.failed", None),
    ] {
        let new = NewSubscription {
            payload: None,
            institution_id: SMILE,
            location_id: location.map(LocationId),
            resource_type: "appointment",
            event,
            active: true,
            api_version: "v3.0.0",
        };
        let twice = world.registry.create_subscription(&owner(), endpoint, new, None, T0).await;
        assert!(twice.is_ok(), "{event} {location:?}");
    }
    let endpoints_of = |outcome| {
        let name = EventName::written(Event::AppointmentInsertion, outcome).unwrap();
        let groups = world.outbox.recipients(SMILE, name, u64::MAX);
        let mut endpoints = Vec::new();
        for group in groups {
            let at = group.locations.map(|at| at.into_iter().map(|it| it.0).collect::<Vec<_>>());
            endpoints.extend(group.subscriptions.iter().map(|it| (it.webhook_endpoint_id, at.clone())));
        }
        endpoints
    };
    assert_eq!(endpoints_of(WriteOutcome::Complete), [(all, None), (two, Some(vec![1, 2]))]);
    assert_eq!(endpoints_of(WriteOutcome::Failed), [(all, None), (failed, None), (two, Some(vec![1, 2]))]);
    assert_eq!(endpoints_of(WriteOutcome::TimedOut), [(all, None), (two, Some(vec![1, 2]))]);

    let same = NewSubscription {
        payload: None,
        institution_id: SMILE,
        location_id: Some(LocationId(2)),
        resource_type: "appointment",
        event: "appointment_insertion",
        active: true,
        api_version: "v3.0.0",
    };
    let twice = world.registry.create_subscription(&owner(), two, same, None, T0).await;
    assert!(matches!(twice, Err(RegistryError::Duplicate { of: "location", .. })));
}

/// Separate content needs separate messages, like separate versions.
#[tokio::test]
async fn subscriptions_with_ids_and_whole_records_are_separate_recipients() {
    let world = World::new();
    let [both, ids] = [world.endpoint(URL).await, world.endpoint(URL).await];
    let mut made = Vec::new();
    for (endpoint, event, payload) in [
        (both, "appointment_insertion", None),
        (both, "appointment_insertion.complete", Some(Payload::Ids)),
        (ids, "appointment_insertion", Some(Payload::Ids)),
    ] {
        let new = NewSubscription {
            payload,
            institution_id: SMILE,
            location_id: None,
            resource_type: "appointment",
            event,
            active: true,
            api_version: "v3.0.0",
        };
        made.push(world.registry.create_subscription(&owner(), endpoint, new, None, T0).await.unwrap().record);
    }
    let recipients = |world: &World| {
        let mut recipients: Vec<(EndpointId, Payload)> = Vec::new();
        for group in world.outbox.recipients(SMILE, complete(), u64::MAX) {
            recipients.extend(group.subscriptions.iter().map(|it| (it.webhook_endpoint_id, group.payload)));
        }
        recipients.sort();
        recipients
    };
    assert_eq!(recipients(&world), [(both, Payload::Full), (both, Payload::Ids), (ids, Payload::Ids)]);

    let whole = SubscriptionChange { payload: Some(Payload::Full), ..SubscriptionChange::default() };
    let changed = world.registry.update_subscription(&owner(), (ids, made[2].id), whole, T0).await.unwrap();
    assert_eq!((changed.payload, changed.active), (Some(Payload::Full), true));
    let none = SubscriptionChange { active: Some(true), ..SubscriptionChange::default() };
    let kept = world.registry.update_subscription(&owner(), (ids, made[2].id), none, T0).await.unwrap();
    assert_eq!(kept.payload, Some(Payload::Full));
    assert_eq!(recipients(&world), [(both, Payload::Full), (both, Payload::Ids), (ids, Payload::Full)]);
    let reloaded = World::on(Arc::new(world.store.fork()), world.clock.clone());
    assert_eq!(recipients(&reloaded), recipients(&world));
}

/// A dropped batch has no effect: its overflow counts once the commit is durable.
#[tokio::test]
async fn dropped_events_count_once_their_batch_is_committed() {
    let rules = WebhookRules { queue: 1, ..WebhookRules::default() };
    let world = World::with_rules(Arc::new(MemoryStore::new()), ManualClock::at(T0), rules);
    let endpoint = world.subscribed(URL).await;
    world.inserted(SMILE).await;
    let overflow = || world.registry.subscriptions().backlogs.for_endpoint(endpoint).overflow.map(|it| it.events);
    let mut lost = Batch::new();
    let _never_committed = world.enqueue(&mut lost, SMILE, complete());
    assert_eq!(overflow(), None);
    world.inserted(SMILE).await;
    world.inserted(SMILE).await;
    assert_eq!(overflow(), Some(2));
    let reloaded = World::on(Arc::new(world.store.fork()), world.clock.clone());
    let kept = reloaded.registry.subscriptions().backlogs.for_endpoint(endpoint).overflow.map(|it| it.events);
    assert_eq!(kept, Some(2));
}

/// The first event is from before the clock was set back.
#[tokio::test]
async fn messages_are_queued_in_the_order_of_their_events_after_the_clock_was_set_back() {
    let place: Arc<dyn Placement> = Arc::new(SingleNode);
    for placement in [None, Some(place)] {
        let (store, clock, rules) = (Arc::new(MemoryStore::new()), ManualClock::at(T0), WebhookRules::default());
        let is_shared = placement.is_some();
        let world = World::among(store, clock, rules, placement);
        world.registry.arrive().await.unwrap();
        world.subscribed(URL).await;
        for time in [T0.plus(HOUR), T0.minus(1), T0] {
            let mut batch = Batch::new();
            let enqueued = world.enqueue_at(time, 7, &mut batch, SMILE, complete());
            world.store.commit(batch).await.unwrap();
            world.outbox.committed(enqueued);
        }
        let queued = world.store.scan_keys(Space::DeliveryQueued.range(), Direction::Forward, 10).unwrap();
        let queued: Vec<Uuid> = queued.iter().map(|key| Due::parse(key).unwrap().delivery).collect();
        let deliveries = world.deliveries();
        assert!(deliveries.iter().all(|it| it.is_due(T0)), "shared: {is_shared}");
        assert!(
            deliveries.iter().all(|it| matches!(it.state, State::Pending { next_attempt_at } if next_attempt_at <= T0))
        );
        assert_eq!(queued, deliveries.iter().map(|it| it.id).collect::<Vec<_>>(), "shared: {is_shared}");
        let times = deliveries.into_iter().map(|it| it.event_time).collect::<Vec<_>>();
        assert_eq!(times, [T0.plus(HOUR), T0.minus(1), T0], "shared: {is_shared}");
    }
}

/// Assigns all endpoints to the only node.
struct SingleNode;

impl Placement for SingleNode {
    fn is_here(&self, _: EndpointId) -> bool {
        true
    }

    fn name(&self) -> String {
        "here".to_owned()
    }

    fn is_gone(&self, _: &str) -> Result<bool, StoreError> {
        Ok(false)
    }
}
