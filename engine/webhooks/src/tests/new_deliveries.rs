//! Tests of deliveries that the process of the dispatcher enqueues: they reach the dispatcher in memory.

use std::collections::{BTreeMap, BTreeSet};

use store::{CommitError, StoreError, keys::Space, memory::Fault};
use testing::{Answer, Counter, HookedStore, Receiver};

use super::*;

/// The calls of a dispatcher to its store.
#[derive(Default)]
struct Traffic {
    /// Scans of the endpoints with deliveries that wait for a retry. The first one is at the start.
    looks: Counter,
    /// Reads of events and states, and scans of the deliveries of one endpoint.
    reads: Counter,
    commits: Counter,
    /// Values written and deleted in each space.
    written: Mutex<BTreeMap<Space, (usize, usize)>>,
}

impl Traffic {
    fn under(world: &World) -> (Arc<HookedStore>, Arc<Traffic>) {
        let traffic = Arc::new(Traffic::default());
        let (reads, commits) = (traffic.clone(), traffic.clone());
        let store = HookedStore::over(world.store.clone()).before_read(move |key| {
            let is_of_deliveries = match Space::from_key(key).unwrap() {
                Space::DeliveryEvent | Space::DeliveryLog | Space::Delivery => true,
                Space::DeliveryQueued | Space::DeliveryDue => key.len() > 1,
                _ => false,
            };
            reads.reads.add(usize::from(is_of_deliveries));
            reads.looks.add(usize::from(key == [Space::DeliveryDue as u8]));
            Ok(())
        });
        let store = store.on_commit(move |store, batch| {
            commits.commits.add(1);
            let mut written = commits.written.lock();
            for (key, value) in batch.writes() {
                let (put, deleted) = written.entry(Space::from_key(key).unwrap()).or_default();
                *(if value.is_some() { put } else { deleted }) += 1;
            }
            store.commit(batch)
        });
        (Arc::new(store), traffic)
    }
}

#[tokio::test]
async fn a_delivered_message_costs_one_value_one_deletion_and_no_read() {
    const ENDPOINTS: usize = 60;
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new();
    let (store, traffic) = Traffic::under(&world);
    let world = world.sending_from(store);
    until("the dispatcher watches", async || (traffic.looks.get() > 0).then_some(())).await;
    for _ in 0..ENDPOINTS {
        world.subscribed(&receiver.url()).await;
    }
    for events in 1..=3 {
        world.inserted(SMILE).await;
        world.wait_until_delivered(events * ENDPOINTS).await;
    }
    assert_eq!(traffic.reads.get(), 0);
    let (deliveries, commits) = (3 * ENDPOINTS, traffic.commits.get());
    let written = traffic.written.lock().clone();
    // The ids of the endpoints are below 64, so that their counts share a value. The last count is deleted.
    let (counts, no_counts) = written[&Space::DeliveryCount];
    assert_eq!(counts + no_counts, commits);
    let expected = [
        (Space::DeliveryFinished, (commits, 0)),
        (Space::DeliveryLog, (deliveries, 0)),
        (Space::DeliveryCount, (counts, no_counts)),
        (Space::DeliveryQueued, (0, deliveries)),
    ];
    assert_eq!(written, BTreeMap::from(expected));
}

#[tokio::test]
async fn messages_beyond_those_in_memory_are_sent_once_and_in_order() {
    const MESSAGES: usize = 3 * limits::LOOK_AHEAD;
    let receiver = Receiver::start(|_| Answer::Slow(Duration::from_millis(1))).await;
    let world = World::new();
    let (store, traffic) = Traffic::under(&world);
    let world = world.sending_from(store);
    until("the dispatcher watches", async || (traffic.looks.get() > 0).then_some(())).await;
    world.subscribed(&receiver.url()).await;
    for _ in 0..MESSAGES {
        world.changed(7).await;
    }
    world.wait_until_delivered(MESSAGES).await;
    let sent: Vec<u64> = receiver.received().iter().map(|it| it.json()["sequence"].as_u64().unwrap()).collect();
    assert!(sent.is_sorted(), "{sent:?}");
    assert_eq!((sent.len(), sent.iter().collect::<BTreeSet<_>>().len()), (MESSAGES, MESSAGES));
}

/// A scan finds the delivery between its commit and the end of the call that enqueued it.
#[tokio::test]
async fn a_message_that_a_scan_found_first_is_sent_once() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    let mut batch = Batch::new();
    let enqueued = world.enqueue(&mut batch, SMILE, complete());
    world.store.commit(batch).await.unwrap();
    world.doorbell.ring([endpoint]);
    world.wait_until_delivered(1).await;
    world.outbox.committed(enqueued);
    world.inserted(SMILE).await;
    world.wait_until_delivered(2).await;
    until("none waits", async || (world.waiting(endpoint) == 0).then_some(())).await;
    assert_eq!((receiver.received().len(), world.due()), (2, 0));
}

/// The process ends between the commit and the end of the call that enqueued the message.
#[tokio::test]
async fn a_message_that_never_reached_the_dispatcher_is_sent_after_a_restart() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    let mut batch = Batch::new();
    let enqueued = world.enqueue(&mut batch, SMILE, complete());
    world.store.commit(batch).await.unwrap();
    drop(enqueued);
    let world = world.killed_and_restarted(0).await;
    world.wait_until_delivered(1).await;
    assert_eq!((receiver.received().len(), world.due()), (1, 0));
}

/// The response to a commit is lost, as when a connection to a database breaks.
#[tokio::test]
async fn a_message_whose_commit_has_an_unknown_outcome_is_sent_before_the_next() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new();
    let store = HookedStore::over(world.store.clone()).remote();
    let world = world.sending_from(Arc::new(store));
    world.subscribed(&receiver.url()).await;
    world.changed(7).await;
    world.wait_until_delivered(1).await;
    let mut batch = Batch::new();
    let enqueued = world.enqueue_for(7, &mut batch, SMILE, complete());
    world.store.fail_next_commit(Fault::LoseAnswer);
    let lost = world.store.commit(batch).await;
    assert!(matches!(lost, Err(CommitError::Store(StoreError::Unknown { .. }))), "{lost:?}");
    drop(enqueued);
    world.changed(7).await;
    world.wait_until_delivered(3).await;
    let sent: Vec<u64> = receiver.received().iter().map(|it| it.json()["sequence"].as_u64().unwrap()).collect();
    assert!(sent.len() == 3 && sent.is_sorted(), "{sent:?}");
}
