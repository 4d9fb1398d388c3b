//! Tests of concurrent senders and group commits. There are few commits, messages without a durable outcome are sent
//! again, and messages about a record stay in order.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::AtomicBool,
};

use store::StoreError;
use testing::{Answer, Counter, HookedStore, Received, Receiver};
use tokio::sync::watch;

use super::*;

/// The controls of a slow disk.
#[derive(Default)]
struct SlowDisk {
    /// Commits block while this is `false`.
    takes: watch::Sender<bool>,
    /// Reads of events.
    events: Counter,
    /// Fails the next read of an event.
    unreadable: AtomicBool,
}

impl SlowDisk {
    fn under(world: &World) -> (Arc<HookedStore>, Arc<SlowDisk>) {
        let disk = Arc::new(SlowDisk::default());
        let controls = disk.clone();
        let store = HookedStore::over(world.store.clone()).commits_behind(&disk.takes).before_read(move |key| {
            controls.events.add(usize::from(key[0] == EVENTS));
            let fails = key[0] == EVENTS && controls.unreadable.swap(false, Ordering::SeqCst);
            if fails { Err(StoreError::Busy) } else { Ok(()) }
        });
        (Arc::new(store), disk)
    }
}

fn ids(messages: &[Received]) -> BTreeSet<String> {
    messages.iter().map(|it| it.headers["delivery-id"].clone()).collect()
}

async fn answered(world: &World, messages: u64) {
    until("all answered", async || (world.metrics.webhooks_delivered.get() == messages).then_some(())).await;
}

#[tokio::test]
async fn outcomes_of_many_deliveries_share_a_commit() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new();
    let (store, disk) = SlowDisk::under(&world);
    let world = world.sending_from(store);
    for _ in 0..100 {
        world.subscribed(&receiver.url()).await;
    }
    world.inserted(SMILE).await;
    answered(&world, 100).await;
    let before = world.store.commits();
    disk.takes.send_replace(true);
    world.wait_until_delivered(100).await;
    // One commit for the first responses, one for all that arrived during it, and some for those still on their way.
    let commits = world.store.commits() - before;
    assert!(commits <= 2 + limits::MOST_THREADS as u64, "{commits} commits for 100 deliveries");
    assert_eq!((receiver.received().len(), ids(&receiver.received()).len(), world.due()), (100, 100, 0));
}

#[tokio::test]
async fn an_event_of_an_earlier_process_is_read_once_for_all_messages_in_flight() {
    let receiver = Receiver::start(|_| Answer::Hang).await;
    let before = World::new();
    for _ in 0..100 {
        before.subscribed(&receiver.url()).await;
    }
    before.inserted(SMILE).await;
    let (store, disk) = SlowDisk::under(&before);
    let _world = World::on(before.store.clone(), before.clock.clone()).sending_from(store);
    receiver.wait_for(100).await;
    let read = disk.events.get();
    assert!(
        (1..=limits::MOST_THREADS).contains(&read),
        "{read} reads: at most once by each thread that came at the same time"
    );
}

#[tokio::test]
async fn messages_without_recorded_outcome_are_resent_with_their_id_after_a_crash() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new();
    let store = SlowDisk::under(&world).0;
    let world = world.sending_from(store);
    world.subscribed(&receiver.url()).await;
    for _ in 0..5 {
        world.inserted(SMILE).await;
    }
    answered(&world, 5).await;
    assert_eq!(world.due(), 5, "nothing is durable yet");
    let world = world.killed_and_restarted(0).await;
    world.wait_until_delivered(5).await;
    let sent = receiver.received();
    assert_eq!((sent.len(), ids(&sent[..5]) == ids(&sent[5..])), (10, true));
}

#[tokio::test]
async fn a_conflicting_outcome_does_not_delay_the_others() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new();
    let (store, disk) = SlowDisk::under(&world);
    let world = world.sending_from(store);
    world.subscribed(&receiver.url()).await;
    for _ in 0..6 {
        world.inserted(SMILE).await;
    }
    answered(&world, 6).await;
    let taken = world.deliveries().remove(3).id;
    let mut batch = Batch::new();
    batch.delete(keys::queued(EndpointId(1), taken));
    world.store.commit(batch).await.unwrap();
    disk.takes.send_replace(true);
    world.wait_until_delivered(5).await;
    let all = world.deliveries();
    assert!(all.len() == 5 && all.iter().all(|it| it.id != taken), "its outcome is not recorded");
    assert_eq!(world.due(), 0);
}

/// A message whose read failed is retried before the ones found due after it.
#[tokio::test]
async fn a_message_that_could_not_be_read_keeps_its_place_in_the_order() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let before = World::new();
    before.subscribed(&receiver.url()).await;
    for _ in 0..5 {
        before.changed(7).await;
    }
    let (store, disk) = SlowDisk::under(&before);
    disk.takes.send_replace(true);
    disk.unreadable.store(true, Ordering::SeqCst);
    let world = World::on(before.store.clone(), before.clock.clone()).sending_from(store);
    until("it was tried", async || (!disk.unreadable.load(Ordering::SeqCst)).then_some(())).await;
    until("they are all sent", async || {
        // The pause may begin at any time of this clock.
        world.set_clock(world.clock.now().plus(limits::STORE_RETRY.as_millis() as Millis));
        (receiver.received().len() == 5).then_some(())
    })
    .await;
    let sent: Vec<u64> = receiver.received().iter().map(|it| it.json()["sequence"].as_u64().unwrap()).collect();
    assert!(sent.is_sorted(), "{sent:?}");
}

/// Ten records with twenty messages each, all due to four endpoints.
#[tokio::test]
async fn several_senders_keep_the_order_of_each_record() {
    let mut receivers = Vec::new();
    let before = World::new();
    for _ in 0..4 {
        let receiver = Receiver::start(|n| Answer::Slow(Duration::from_millis(n as u64 % 4))).await;
        before.subscribed(&receiver.url()).await;
        receivers.push(receiver);
    }
    for _ in 0..20 {
        for record in 0..10 {
            before.changed(record).await;
        }
    }
    let world = before.sending();
    world.wait_until_delivered(4 * 200).await;
    for receiver in receivers {
        let mut of: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for message in receiver.received().iter().map(Received::json) {
            let record = message["data"]["appointment"]["id"].as_u64().unwrap();
            of.entry(record).or_default().push(message["sequence"].as_u64().unwrap());
        }
        assert!(of.len() == 10 && of.values().all(|sent| sent.len() == 20 && sent.is_sorted()), "{of:?}");
        assert!(receiver.most_at_once() > 1, "records do not wait for each other");
    }
}
