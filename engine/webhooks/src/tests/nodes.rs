//! Tests of two processes on one store.

use std::{sync::atomic::AtomicUsize, time::Instant};

use store::{CommitError, StoreError};
use testing::{Answer, Receiver};

use super::*;
use crate::schedule::AttemptOutcome;

const NOWHERE: usize = usize::MAX;

/// Assigns all endpoints to the node with the number in `place`.
struct NodePlacement {
    node: usize,
    place: Arc<AtomicUsize>,
}

impl Placement for NodePlacement {
    fn is_here(&self, _: EndpointId) -> bool {
        self.place.load(Ordering::SeqCst) == self.node
    }

    fn name(&self) -> String {
        format!("node {}", self.node)
    }

    fn is_gone(&self, _: &str) -> Result<bool, StoreError> {
        Ok(true)
    }
}

async fn node(node: usize, store: &Arc<MemoryStore>, clock: ManualClock, place: &Arc<AtomicUsize>) -> World {
    let placement = Arc::new(NodePlacement { node, place: place.clone() });
    let world = World::among(store.clone(), clock, WebhookRules::default(), Some(placement));
    world.registry.arrive().await.unwrap();
    world
}

/// Creates two nodes. All endpoints are assigned to the first.
async fn nodes() -> (World, World, Arc<AtomicUsize>) {
    let (store, clock, place) = (Arc::new(MemoryStore::new()), ManualClock::at(T0), Arc::new(AtomicUsize::new(0)));
    (node(0, &store, clock.clone(), &place).await, node(1, &store, clock, &place).await, place)
}

impl World {
    /// Commits a change of an appointment of `SMILE`, as a location does: retries on conflict.
    async fn happens(&self, id: u64) {
        while let Err(error) = self.commit_turn(self.turn(id)).await {
            assert!(matches!(error, CommitError::Conflict { .. }), "{error}");
        }
    }

    fn turn(&self, id: u64) -> (Batch, Enqueued) {
        let mut batch = Batch::new();
        let enqueued = self.enqueue_for(id, &mut batch, SMILE, complete());
        (batch, enqueued)
    }

    async fn commit_turn(&self, (batch, enqueued): (Batch, Enqueued)) -> Result<(), CommitError> {
        self.store.commit(batch).await.map(|()| self.outbox.committed(enqueued))
    }

    fn moves(&self) -> crate::moves::Moves {
        self.dispatcher.as_ref().unwrap().moves()
    }
}

fn is_conflict(committed: &Result<(), CommitError>) -> bool {
    matches!(committed, Err(CommitError::Conflict { .. }))
}

#[tokio::test]
async fn nodes_that_share_the_store_log_all_before_images() {
    let (first, second, _) = nodes().await;
    assert!([first, second].iter().all(|node| node.registry.subscriptions().without_images(SMILE).is_none()));
}

#[tokio::test]
async fn a_subscription_on_one_node_applies_to_the_next_commit_on_another() {
    let (here, there, _) = nodes().await;
    let endpoint = here.endpoint("https://a.example.com/").await;
    there.happens(1).await;
    let unheard = there.turn(2);
    here.subscribe(endpoint, SMILE, Event::AppointmentInsertion).await;
    assert!(is_conflict(&there.commit_turn(unheard).await), "it was decided before");
    there.happens(2).await;
    assert_eq!(there.deliveries().len(), 1);
    let heard = there.turn(3);
    here.registry.update_endpoint(&owner(), endpoint, None, Some(false), T0).await.unwrap();
    assert!(is_conflict(&there.commit_turn(heard).await));
    there.happens(3).await;
    assert_eq!(there.deliveries().len(), 1, "it is not active any more");
}

/// The recipients of other institutions are not affected.
#[tokio::test]
async fn a_change_for_one_institution_conflicts_with_no_commit_of_another() {
    let (here, there, _) = nodes().await;
    let endpoint = here.subscribed("https://a.example.com/").await;
    there.happens(1).await;
    let turn = there.turn(2);
    here.subscribe(endpoint, OTHER, Event::AppointmentInsertion).await;
    here.registry.update_endpoint(&owner(), endpoint, Some("https://b.example.com/"), None, T0).await.unwrap();
    there.commit_turn(turn).await.unwrap();
}

#[tokio::test]
async fn nodes_that_change_the_registry_at_once_lose_no_change() {
    let (here, there, _) = nodes().await;
    for n in 0..5 {
        let (a, b) = (format!("https://a{n}.example.com/"), format!("https://b{n}.example.com/"));
        let (a, b) = tokio::join!(here.endpoint(&a), there.endpoint(&b));
        assert_ne!(a, b);
        // Each node changes an endpoint that it has not loaded yet.
        here.subscribe(b, SMILE, Event::AppointmentInsertion).await;
        assert!(matches!(
            there.try_subscribe(b, SMILE, Event::AppointmentInsertion).await,
            Err(RegistryError::Duplicate { .. })
        ));
        there.registry.delete_endpoint(&owner(), a).await.unwrap();
    }
    for node in [&here, &there] {
        node.registry.subscriptions().refresh().unwrap();
        let endpoints = node.registry.endpoints(&owner());
        assert_eq!(endpoints.len(), 5);
        assert!(endpoints.iter().all(|it| it.target_url.starts_with("https://b")));
        let subscribed = |it: &EndpointId| node.registry.subscriptions_of(&owner(), *it).unwrap().len();
        assert_eq!(endpoints.iter().map(|it| subscribed(&it.id)).sum::<usize>(), 5);
    }
}

#[tokio::test]
async fn a_health_change_keeps_the_owners_change_on_another_node() {
    let (here, there, _) = nodes().await;
    let endpoint = here.subscribed("https://a.example.com/").await;
    there.registry.subscriptions().refresh().unwrap();
    there.registry.update_endpoint(&owner(), endpoint, Some("https://b.example.com/"), None, T0).await.unwrap();
    let failed = AttemptOutcome::Failed;
    here.registry.commit_attempt(endpoint, failed, T0, Batch::new()).await.unwrap();
    there.registry.subscriptions().refresh().unwrap();
    for node in [&here, &there] {
        let known = node.registry.endpoint(&owner(), endpoint).unwrap();
        assert_eq!((known.target_url.as_str(), known.failing_since), ("https://b.example.com/", Some(T0)));
    }
}

#[tokio::test]
async fn messages_that_another_node_committed_are_found() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let (here, there, _) = nodes().await;
    here.subscribed(&receiver.url()).await;
    let here = here.sending();
    there.happens(1).await;
    receiver.wait_for(1).await;
    here.wait_until_delivered(1).await;
}

/// Messages of both nodes wait while the endpoint moves. Each arrives once, and those about one record arrive in order.
#[tokio::test]
async fn an_endpoint_moves_and_each_message_arrives_once_and_in_order() {
    const MESSAGES: u64 = 40;
    let receiver = Receiver::start(|_| Answer::Slow(Duration::from_millis(20))).await;
    let (here, there, place) = nodes().await;
    here.subscribed(&receiver.url()).await;
    let (here, there) = (here.sending(), there.sending());
    // Only one node creates messages about a record.
    for n in 0..MESSAGES {
        if n % 2 == 0 { here.happens(n % 4).await } else { there.happens(n % 4).await }
    }
    receiver.wait_for(5).await;
    place.store(NOWHERE, Ordering::SeqCst);
    here.moves().release_moved().await;
    let before = receiver.received().len();
    let waiting = here.due();
    assert_eq!(before + waiting, MESSAGES as usize, "no attempt is in flight");
    assert!(waiting > 0, "it moved with messages waiting");
    place.store(1, Ordering::SeqCst);
    there.moves().notify_assigned();
    here.wait_until_delivered(MESSAGES as usize).await;
    let received = receiver.received();
    assert_eq!(received.len(), MESSAGES as usize, "each once");
    for record in 0..4 {
        let of_record = received.iter().map(testing::Received::json);
        let of_record = of_record.filter(|message| message["data"]["appointment"]["id"] == record);
        let sequence: Vec<u64> = of_record.map(|message| message["sequence"].as_u64().unwrap()).collect();
        assert!(sequence.is_sorted(), "{sequence:?}");
        assert_eq!(sequence.len(), MESSAGES as usize / 4);
    }
}

#[tokio::test]
async fn a_slow_receiver_does_not_delay_a_move() {
    let asked = AtomicUsize::new(0);
    let receiver = Receiver::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::Slow(limits::TOTAL_TIMEOUT),
        _ => Answer::Status(200),
    })
    .await;
    let (here, there, place) = nodes().await;
    here.subscribed(&receiver.url()).await;
    let (here, there) = (here.sending(), there.sending());
    here.happens(1).await;
    receiver.wait_for(1).await;
    place.store(NOWHERE, Ordering::SeqCst);
    let begun = Instant::now();
    here.moves().release_moved().await;
    assert!(begun.elapsed() < limits::TOTAL_TIMEOUT / 2, "{:?}", begun.elapsed());
    place.store(1, Ordering::SeqCst);
    there.moves().notify_assigned();
    there.wait_until_delivered(1).await;
    let ids: Vec<String> = receiver.received().iter().map(|it| it.headers["delivery-id"].clone()).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1], "it comes again, under its id");
}

/// The node knows of a due message, and does not send it.
#[tokio::test]
async fn a_node_that_has_lost_an_endpoint_sends_nothing_to_it() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let (here, there, place) = nodes().await;
    here.subscribed(&receiver.url()).await;
    there.happens(1).await;
    place.store(1, Ordering::SeqCst);
    let (here, there) = (here.sending(), there.sending());
    here.doorbell.ring([EndpointId(1)]);
    there.wait_until_delivered(1).await;
    here.moves().release_moved().await;
    assert_eq!(receiver.received().len(), 1);
}

/// Returns the waiting messages of the endpoint as counted by both nodes after a refresh, and by a single process after
/// a start.
async fn counted(endpoint: EndpointId, worlds: [&World; 2]) -> [u64; 3] {
    let alone = World::on(Arc::new(worlds[0].store.fork()), worlds[0].clock.clone());
    let mut counted = [0, 0, alone.waiting(endpoint)];
    for (world, counted) in worlds.iter().zip(&mut counted) {
        world.registry.refresh().await.unwrap();
        *counted = world.waiting(endpoint);
    }
    counted
}

#[tokio::test]
async fn counts_include_all_nodes() {
    let (here, there, place) = nodes().await;
    let endpoint = here.subscribed("https://a.example.com/").await;
    for n in 0..5 {
        here.happens(n).await;
        there.happens(n).await;
    }
    assert_eq!(counted(endpoint, [&here, &there]).await, [10; 3]);
    // Deliveries enqueued on one node end on the other.
    for delivery in here.deliveries().iter().take(4) {
        there.stopped(delivery).await;
    }
    assert_eq!(counted(endpoint, [&here, &there]).await, [6; 3]);
    // A node dies, and its successor continues with its stripes.
    let left = there.turn(9);
    let after = node(1, &there.store, there.clock.clone(), &place).await;
    assert!(is_conflict(&there.commit_turn(left).await), "it was not dead after all, and has lost its stripes");
    after.happens(9).await;
    assert_eq!(counted(endpoint, [&here, &after]).await, [7; 3]);
    there.registry.refresh().await.unwrap();
    there.happens(10).await;
    after.registry.refresh().await.unwrap();
    assert_eq!(counted(endpoint, [&here, &there]).await, [8; 3]);
}

#[tokio::test]
async fn stripes_of_nodes_that_are_gone_are_taken_over() {
    let (store, clock, place) = (Arc::new(MemoryStore::new()), ManualClock::at(T0), Arc::default());
    let first = node(0, &store, clock.clone(), &place).await;
    let endpoint = first.subscribed("https://a.example.com/").await;
    first.happens(0).await;
    for n in 1..40 {
        node(n, &store, clock.clone(), &place).await.happens(n as u64).await;
    }
    let last = node(99, &store, clock, &place).await;
    assert_eq!(last.waiting(endpoint), 40);
    let blocks = store.scan_keys(store::keys::Space::DeliveryStripes.range(), Direction::Forward, 100).unwrap();
    assert_eq!(blocks.len(), 16);
}

/// The clock of the node that had the record before is a minute ahead.
#[tokio::test]
async fn events_of_a_moved_record_are_sent_after_its_waiting_messages() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let (store, place) = (Arc::new(MemoryStore::new()), Arc::new(AtomicUsize::new(1)));
    let (now, ahead) = (ManualClock::at(T0), ManualClock::at(T0.plus(location::time::MINUTE)));
    let before = node(0, &store, ahead, &place).await;
    before.subscribed(&receiver.url()).await;
    before.happens(1).await;
    let after = node(1, &store, now, &place).await;
    after.happens(1).await;
    let after = after.sending();
    after.set_clock(T0.plus(location::time::MINUTE + 1));
    let received = receiver.wait_for(2).await;
    let times: Vec<_> =
        received.iter().map(|it| it.json()).map(|it| it["event_time"].as_str().unwrap().to_owned()).collect();
    assert!(times[0] > times[1], "the clock of the first was ahead: {times:?}");
    let sequence: Vec<u64> = received.iter().map(|it| it.json()["sequence"].as_u64().unwrap()).collect();
    assert!(sequence.is_sorted());
}
