//! Tests of the stored counts: a start reads few values however many deliveries wait, and the counts survive a restart.

use testing::{Answer, HookedStore, Receiver};

use super::*;

/// Returns the count of the endpoint after a start on a copy of the store.
fn after_restart(world: &World, endpoint: EndpointId) -> u64 {
    World::on(Arc::new(world.store.fork()), world.clock.clone()).waiting(endpoint)
}

fn counts(store: &MemoryStore) -> usize {
    store.scan_keys(Space::DeliveryCount.range(), Direction::Forward, 1_000).unwrap().len()
}

#[tokio::test]
async fn reads_at_start_do_not_grow_with_waiting_messages() {
    let mut read = Vec::new();
    for waiting in [10, 2_000] {
        let world = World::new();
        let endpoint = world.subscribed("https://a.example.com/").await;
        for _ in 0..waiting {
            world.inserted(SMILE).await;
        }
        let store = Arc::new(HookedStore::over(Arc::new(world.store.fork())));
        let (ids, egress) = (Arc::new(Ids::new(store.clone())), Arc::new(Egress::new(Reach::Public).unwrap()));
        let rules = WebhookRules::default();
        let loaded =
            EndpointRegistry::load(store.clone(), ids, egress, rules, Arc::new(TestAudience::default()), None).unwrap();
        assert_eq!(loaded.subscriptions().backlogs.for_endpoint(endpoint).waiting(), waiting);
        read.push(store.found.get());
    }
    assert_eq!(read[0], read[1], "whatever waits");
    assert!(read[0] < 10, "{read:?}");
}

#[tokio::test]
async fn concurrent_changes_do_not_overwrite_each_other() {
    let world = World::new();
    let endpoint = world.subscribed("https://a.example.com/").await;
    // Three concurrent turns. The second is dropped; the others are committed in reverse order.
    let turn = || {
        let mut batch = Batch::new();
        let enqueued = world.enqueue(&mut batch, SMILE, complete());
        (batch, enqueued)
    };
    let (first, second, third) = (turn(), turn(), turn());
    drop(second);
    for (batch, enqueued) in [third, first] {
        world.store.commit(batch).await.unwrap();
        world.outbox.committed(enqueued);
    }
    assert_eq!((world.waiting(endpoint), after_restart(&world, endpoint)), (2, 2));
    assert_eq!(counts(&world.store), 2, "one for each that was on its way");
    for _ in 0..20 {
        world.inserted(SMILE).await;
    }
    assert_eq!((world.waiting(endpoint), after_restart(&world, endpoint)), (22, 22));
    assert_eq!(counts(&world.store), 2, "turns after each other share one");
    for delivery in world.deliveries() {
        world.stopped(&delivery).await;
    }
    assert_eq!((world.waiting(endpoint), after_restart(&world, endpoint)), (0, 0));
}

#[tokio::test]
async fn endpoints_with_neighbouring_ids_share_a_count() {
    let world = World::new();
    let endpoints =
        [world.subscribed("https://a.example.com/").await, world.subscribed("https://b.example.com/").await];
    world.inserted(SMILE).await;
    assert_eq!(counts(&world.store), 1);
    world.stopped(&world.deliveries().remove(0)).await;
    world.inserted(SMILE).await;
    let waiting = endpoints.map(|endpoint| (world.waiting(endpoint), after_restart(&world, endpoint)));
    assert_eq!(waiting, [(1, 1), (2, 2)]);
}

/// Deliveries that succeed, fail and are retried: the counts after a restart are the same.
#[tokio::test]
async fn counts_match_deliveries_through_failure_and_success() {
    let receiver = Receiver::start(|n| Answer::Status(if n < 3 { 500 } else { 200 })).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    for _ in 0..5 {
        world.inserted(SMILE).await;
    }
    world.wait_until("all tried", |all| all.iter().all(|it| it.attempts == 1)).await;
    let waiting = world.deliveries().iter().filter(|it| it.is_pending()).count() as u64;
    assert!(waiting > 0);
    until("they are counted", async || (world.waiting(endpoint) == waiting).then_some(())).await;
    assert_eq!(after_restart(&world, endpoint), waiting);
    world.set_clock(world.clock.now().plus(crate::schedule::RETRIES[0]));
    world.wait_until_delivered(5).await;
    until("none waits", async || (world.waiting(endpoint) == 0).then_some(())).await;
    assert_eq!(after_restart(&world, endpoint), 0);
}

/// A damaged store may have lost deliveries or counts. After a start, nothing is counted for an endpoint without
/// deliveries.
#[tokio::test]
async fn counts_without_deliveries_are_removed_at_start() {
    let before = World::new();
    let endpoint = before.subscribed("https://a.example.com/").await;
    before.inserted(SMILE).await;
    let lost = before.deliveries().remove(0);
    let mut batch = Batch::new();
    batch.delete(keys::queued(endpoint, lost.id));
    before.store.commit(batch).await.unwrap();
    let world = World::on(before.store.clone(), before.clock.clone());
    assert_eq!(world.waiting(endpoint), 1);
    let world = world.sending();
    until("it is not counted", async || (world.waiting(endpoint) == 0).then_some(())).await;
    assert_eq!(after_restart(&world, endpoint), 0);
}
