//! Tests of the owner's operations on an endpoint: secret rotation, test messages, delivery log, redelivery and replay.

use location::time::{DAY, HOUR, SECOND};
use query::idempotency::IdempotencyKey;
use testing::{Answer, Received, Receiver};

use super::*;
use crate::{
    delivery::TEST_EVENT,
    delivery_id::creation_time,
    delivery_log::{DeliveryLog, Replay, Replayed},
    limits, sign,
};

fn log(world: &World) -> DeliveryLog {
    DeliveryLog { store: world.store.clone(), registry: world.registry.clone(), outbox: world.outbox.clone() }
}

/// Returns the log, newest first.
fn logged(world: &World, endpoint: EndpointId) -> Vec<Delivery> {
    log(world).page(endpoint, None, Direction::Backward, 1_000).unwrap()
}

async fn rotate(world: &World, endpoint: EndpointId, entropy: u8, overlap: Millis) -> Result<SecretKey, RegistryError> {
    let secret = SecretKey::from_entropy([entropy; 32]);
    let now = world.clock.now();
    world.registry.rotate_secret(&owner(), endpoint, secret.clone(), overlap, None, now).await.map(|_| secret)
}

fn signed_by(message: &Received, header: &str, secret: &SecretKey) -> bool {
    let Some(signature) = message.headers.get(header) else { return false };
    sign::verify(secret.reveal(), &message.headers["timestamp"], &message.body, signature)
}

fn standard_of(message: &Received, secrets: &[&SecretKey]) -> String {
    let (id, at) = (&message.headers["webhook-id"], &message.headers["webhook-timestamp"]);
    let signers: Vec<sign::Signer> = secrets.iter().map(|secret| sign::Signer::new(secret)).collect();
    sign::standard(&signers, id, at, &message.body).unwrap()
}

#[tokio::test]
async fn both_secrets_sign_during_a_rotation() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    let earlier = SecretKey::from_entropy([9; 32]);
    world.inserted(SMILE).await;
    let before = receiver.wait_for(1).await.remove(0);
    assert!(signed_by(&before, "signature", &earlier) && !before.headers.contains_key("signature-next"));
    assert_eq!(before.headers["webhook-signature"], standard_of(&before, &[&earlier]));
    assert_eq!(before.headers["webhook-id"], before.headers["delivery-id"]);
    assert_eq!(before.headers["webhook-timestamp"], (T0.0 / SECOND).to_string());

    let new = rotate(&world, endpoint, 10, DAY).await.unwrap();
    assert!(matches!(rotate(&world, endpoint, 11, DAY).await, Err(RegistryError::Rotating)));
    world.set_clock(T0.plus(DAY - 1));
    world.inserted(SMILE).await;
    let during = receiver.wait_for(2).await.remove(1);
    assert!(signed_by(&during, "signature", &earlier) && signed_by(&during, "signature-next", &new));
    assert_eq!(during.headers["webhook-signature"], standard_of(&during, &[&earlier, &new]));

    let world = world.killed_and_restarted(1).await;
    world.inserted(SMILE).await;
    let after = receiver.wait_for(3).await.remove(2);
    assert!(signed_by(&after, "signature", &new) && !after.headers.contains_key("signature-next"));
    assert_eq!(after.headers["webhook-signature"], standard_of(&after, &[&new]));

    // The next rotation starts from the current secret. Without an overlap only the new secret signs.
    let third = rotate(&world, endpoint, 12, HOUR).await.unwrap();
    let (first, next) = {
        let known = world.registry.endpoint(&owner(), endpoint).unwrap();
        let (first, next) = known.secrets(world.clock.now());
        (first.clone(), next.cloned())
    };
    assert_eq!((first, next), (new, Some(third)));
    let last = rotate(&world, endpoint, 13, 0).await.unwrap();
    let known = world.registry.endpoint(&owner(), endpoint).unwrap();
    assert_eq!(known.secrets(world.clock.now()), (&last, None));
    assert!(!format!("{known:?}").contains("whsec_"));
}

#[tokio::test]
async fn a_test_message_is_a_delivery_like_any_other() {
    let receiver = Receiver::start(|n| Answer::Status(if n == 0 { 500 } else { 200 })).await;
    let world = World::new().sending();
    let endpoint = world.endpoint(&receiver.url()).await;
    let made = log(&world).test(&owner(), endpoint, Uuid::new_v4(), None, T0).await.unwrap().record;
    let message = receiver.wait_for(1).await.remove(0);
    let body = message.json();
    assert_eq!((&body["resource_type"], &body["event_name"]), (&json!("webhook_endpoint"), &json!(TEST_EVENT)));
    assert_eq!(body["data"]["webhook_endpoint"]["id"], endpoint.0);
    assert_eq!(message.headers["delivery-id"], made.id.to_string());
    world.wait_until("the failure", |all| all[0].attempts == 1).await;
    assert_eq!(logged(&world, endpoint)[0].last_status(), Some(500));
    world.set_clock(T0.plus(30 * SECOND));
    world.wait_until_delivered(1).await;
    let shown = logged(&world, endpoint).remove(0);
    assert_eq!((shown.id, shown.attempts, shown.last_status()), (made.id, 2, Some(200)));
    assert!(shown.last_error().is_none());

    let stranger = Owner("org-2".to_owned());
    let refused = log(&world).test(&stranger, endpoint, Uuid::new_v4(), None, T0).await;
    assert!(matches!(refused, Err(RegistryError::NotFound)));
    world.registry.update_endpoint(&owner(), endpoint, None, Some(false), T0).await.unwrap();
    let refused = log(&world).test(&owner(), endpoint, Uuid::new_v4(), None, T0).await;
    assert!(matches!(refused, Err(RegistryError::NotActive(_))));
}

#[tokio::test]
async fn concurrent_test_messages_with_one_idempotency_key_are_sent_once() {
    let world = World::new();
    let endpoint = world.endpoint("https://example.com/hook").await;
    let (once, other) =
        (IdempotencyKey { key: [1; 32], fingerprint: [1; 32] }, IdempotencyKey { key: [1; 32], fingerprint: [2; 32] });
    let (log, owner) = (log(&world), owner());
    let ask = |once| log.test(&owner, endpoint, Uuid::new_v4(), Some(once), T0);
    let asked = tokio::join!(ask(&once), ask(&once), ask(&once), ask(&other));
    let made = [asked.0, asked.1, asked.2].map(Result::unwrap);
    assert!(made.iter().all(|it| it.record.id == made[0].record.id));
    assert_eq!(made.iter().filter(|it| !it.replay).count(), 1);
    assert!(matches!(asked.3, Err(RegistryError::KeyReused)));
    assert_eq!(logged(&world, endpoint).len(), 1);
}

#[tokio::test]
async fn the_log_holds_every_delivery_of_its_endpoint_in_order() {
    let world = World::new();
    let (one, other) =
        (world.subscribed("https://a.example.com/").await, world.subscribed("https://b.example.com/").await);
    for n in 0..25 {
        // Several within one millisecond.
        world.clock.set(T0.plus(n / 10));
        world.inserted(SMILE).await;
    }
    let (mine, others) = (logged(&world, one), logged(&world, other));
    assert_eq!((mine.len(), others.len()), (25, 25));
    assert!(mine.iter().all(|it| it.endpoint_id == one) && mine.is_sorted_by(|a, b| a.id > b.id));
    assert_eq!((creation_time(mine[0].id), creation_time(mine[24].id)), (T0.plus(2), T0));
    let page = log(&world).page(one, Some(mine[10].id), Direction::Backward, 3).unwrap();
    assert_eq!(page.iter().map(|it| it.id).collect::<Vec<_>>(), [mine[11].id, mine[12].id, mine[13].id]);
    let back = log(&world).page(one, Some(mine[10].id), Direction::Forward, 2).unwrap();
    assert_eq!(back.iter().map(|it| it.id).collect::<Vec<_>>(), [mine[9].id, mine[8].id]);
    assert!(log(&world).find(one, others[0].id).unwrap().is_none());
    assert_eq!(log(&world).find(one, mine[3].id).unwrap().unwrap().id, mine[3].id);
}

#[tokio::test]
async fn ended_deliveries_are_sent_again_with_the_same_id() {
    let receiver = Receiver::start(|n| Answer::Status(if n == 1 { 500 } else { 200 })).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    world.wait_until_delivered(1).await;
    let first = world.deliveries().remove(0);
    world.set_clock(T0.plus(HOUR));
    let again = log(&world).redeliver(&owner(), endpoint, first.id, world.clock.now()).await.unwrap();
    assert_eq!((again.id, again.state), (first.id, State::Pending { next_attempt_at: T0.plus(HOUR) }));
    world.wait_until("the failure", |all| all[0].attempts == 2).await;
    // The schedule restarts, the numbering of attempts continues, and a waiting delivery is sent at once.
    assert_eq!(world.deliveries()[0].state, State::Pending { next_attempt_at: T0.plus(HOUR + 30 * SECOND) });
    assert_eq!(world.deliveries()[0].delivery_errors[0].attempts, 2);
    world.set_clock(T0.plus(HOUR + 10 * SECOND));
    log(&world).redeliver(&owner(), endpoint, first.id, world.clock.now()).await.unwrap();
    world.wait_until_delivered(1).await;
    let messages = receiver.wait_for(3).await;
    assert!(messages.iter().all(|message| message.headers["delivery-id"] == first.id.to_string()));
    assert_eq!(messages[2].json()["delivery_errors"][0]["attempts"], 2);
    until("nothing waits", async || (world.waiting(endpoint) == 0 && world.due() == 0).then_some(())).await;

    let other = world.endpoint(&receiver.url()).await;
    let refused = log(&world).redeliver(&owner(), other, first.id, world.clock.now()).await;
    assert!(matches!(refused, Err(RegistryError::NotFound)));
    let subscription = world.registry.subscriptions_of(&owner(), endpoint).unwrap()[0].id;
    world.registry.delete_subscription(&owner(), endpoint, subscription).await.unwrap();
    let refused = log(&world).redeliver(&owner(), endpoint, first.id, world.clock.now()).await;
    assert!(matches!(refused, Err(RegistryError::NotActive(_))));
}

#[tokio::test]
async fn a_replay_sends_the_ended_deliveries_of_a_period() {
    let receiver = Receiver::start(|n| if n == 3 { Answer::Status(500) } else { Answer::Status(200) }).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    for n in 0..6 {
        world.set_clock(T0.plus(n * SECOND));
        world.inserted(SMILE).await;
        world
            .wait_until("one more was tried", |all| {
                all.iter().all(|it| it.attempts == 1) && all.len() == n as usize + 1
            })
            .await;
    }
    let mut ids: Vec<Uuid> = logged(&world, endpoint).iter().map(|it| it.id).collect();
    ids.reverse();
    let replay = async |since, until, undelivered| {
        let asked = Replay { since: T0.plus(since), until: T0.plus(until), undelivered };
        log(&world).replay(&owner(), endpoint, asked, |_| true, world.clock.now()).await.unwrap()
    };
    // The fourth waits for its next attempt and is not replayed.
    assert_eq!(replay(SECOND, 5 * SECOND, false).await, Replayed { deliveries: 3, next: None });
    let messages = receiver.wait_for(9).await;
    let sent: Vec<String> = messages[6..].iter().map(|it| it.headers["delivery-id"].clone()).collect();
    let mut expected = [ids[1], ids[2], ids[4]].map(|id| id.to_string());
    let mut sorted = sent.clone();
    sorted.sort();
    expected.sort();
    assert_eq!(sorted, expected);
    world.wait_until_delivered(5).await;
    assert_eq!(replay(0, HOUR, true).await.deliveries, 0);
    let asked = Replay { since: T0, until: T0.plus(HOUR), undelivered: false };
    let none = log(&world).replay(&owner(), endpoint, asked, |_| false, world.clock.now()).await.unwrap();
    assert_eq!(none.deliveries, 0, "an endpoint gets only what its owner may see");
}

#[tokio::test]
async fn a_replay_is_limited_and_returns_the_start_of_the_next() {
    let world = World::new();
    let endpoint = world.subscribed("https://a.example.com/").await;
    let mut batch = Batch::new();
    for n in 0..limits::MAX_REPLAY + 500 {
        world.clock.set(T0.plus(n as Millis));
        let _ = world.enqueue(&mut batch, SMILE, complete());
    }
    world.store.commit(batch).await.unwrap();
    for before in world.deliveries() {
        let mut after = before.clone();
        after.state = State::Stopped { at: T0 };
        let mut batch = Batch::new();
        after.replace(&before, &mut batch);
        world.store.commit(batch).await.unwrap();
    }
    let asked = Replay { since: T0, until: T0.plus(DAY), undelivered: true };
    let now = T0.plus(HOUR);
    let first = log(&world).replay(&owner(), endpoint, asked, |_| true, now).await.unwrap();
    assert_eq!(first, Replayed { deliveries: limits::MAX_REPLAY, next: Some(T0.plus(limits::MAX_REPLAY as Millis)) });
    let rest = Replay { since: first.next.unwrap(), ..asked };
    let second = log(&world).replay(&owner(), endpoint, rest, |_| true, now).await.unwrap();
    assert_eq!(second, Replayed { deliveries: 500, next: None });
    assert_eq!(world.due(), limits::MAX_REPLAY + 500);
}

#[tokio::test]
async fn a_replay_keeps_the_queue_within_its_limit() {
    let rules = WebhookRules { queue: 250, ..WebhookRules::default() };
    let world = World::with_rules(Arc::new(MemoryStore::new()), ManualClock::at(T0), rules);
    let endpoint = world.subscribed("https://a.example.com/").await;
    for n in 0..300 {
        world.clock.set(T0.plus(n));
        world.inserted(SMILE).await;
        world.stopped(&world.deliveries().into_iter().find(Delivery::is_pending).unwrap()).await;
    }
    let asked = Replay { since: T0, until: T0.plus(DAY), undelivered: false };
    let replay = async |since: Timestamp| {
        let asked = Replay { since, ..asked };
        log(&world).replay(&owner(), endpoint, asked, |_| true, T0.plus(HOUR)).await.unwrap()
    };
    let first = replay(T0).await;
    assert_eq!(first, Replayed { deliveries: 250, next: Some(T0.plus(250)) });
    assert_eq!((world.waiting(endpoint), world.due()), (250, 250));
    assert_eq!(replay(T0.plus(250)).await, Replayed { deliveries: 0, next: Some(T0.plus(250)) });
    for waiting in world.deliveries().iter().filter(|it| it.is_pending()) {
        world.stopped(waiting).await;
    }
    assert_eq!(replay(T0.plus(250)).await, Replayed { deliveries: 50, next: None });
}

/// The queue of a dead endpoint is limited, further events are reported as overflow, and other endpoints are not
/// affected.
#[tokio::test]
async fn a_full_queue_drops_events_and_reports_the_overflow() {
    let rules = WebhookRules { queue: 50, ..WebhookRules::default() };
    let world = World::with_rules(Arc::new(MemoryStore::new()), ManualClock::at(T0), rules);
    let (dead, alive) =
        (world.subscribed("https://a.example.com/").await, world.subscribed("https://b.example.com/").await);
    for _ in 0..40 {
        world.inserted(SMILE).await;
    }
    for delivery in logged(&world, alive) {
        world.stopped(&delivery).await;
    }
    for n in 0..60 {
        world.clock.set(T0.plus(HOUR + n));
        world.inserted(SMILE).await;
    }
    assert_eq!((world.waiting(dead), logged(&world, dead).len()), (50, 50));
    let overflow = world.registry.subscriptions().backlogs.for_endpoint(dead).overflow.unwrap();
    assert_eq!((overflow.events, overflow.since, overflow.until), (50, T0.plus(HOUR + 10), T0.plus(HOUR + 59)));
    assert_eq!(
        (world.waiting(alive), world.registry.subscriptions().backlogs.for_endpoint(alive).overflow.unwrap().events),
        (50, 10)
    );
    assert_eq!(world.registry.subscriptions().backlogs.overflowed(), 60);

    let again = World::with_rules(Arc::new(world.store.fork()), world.clock.clone(), rules);
    assert_eq!((again.waiting(dead), again.waiting(alive)), (50, 50));
    assert_eq!(again.registry.subscriptions().backlogs.for_endpoint(dead).overflow, Some(overflow));
    again.registry.update_endpoint(&owner(), dead, None, Some(true), T0).await.unwrap();
    assert_eq!(again.registry.subscriptions().backlogs.for_endpoint(dead).overflow, None);
    let later = World::with_rules(Arc::new(again.store.fork()), world.clock.clone(), rules);
    assert_eq!(later.registry.subscriptions().backlogs.for_endpoint(dead).overflow, None);
}

#[tokio::test]
async fn pruning_deliveries_removes_their_log_entries() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    world.wait_until_delivered(1).await;
    world.set_clock(T0.plus(WebhookRules::default().keep + 2 * limits::PRUNE_EVERY));
    world.wait_until("nothing left", |all| all.is_empty()).await;
    assert!(logged(&world, endpoint).is_empty());
    assert!(world.store.scan_keys(KeyRange::prefix(&[0x57]), Direction::Forward, 1).unwrap().is_empty());
}

#[tokio::test]
async fn event_data_is_stored_once_and_pruned_with_its_last_delivery() {
    let (quick, slow) = (
        Receiver::start(|_| Answer::Status(200)).await,
        Receiver::start(|n| Answer::Status(if n == 0 { 500 } else { 200 })).await,
    );
    let world = World::new().sending();
    let data = || world.store.scan_keys(KeyRange::prefix(&[0x59]), Direction::Forward, 10).unwrap().len();
    world.subscribed(&quick.url()).await;
    let late = world.subscribed(&slow.url()).await;
    world.inserted(SMILE).await;
    world.wait_until_delivered(1).await;
    slow.wait_for(1).await;
    assert_eq!(data(), 1);

    world.set_clock(T0.plus(2 * DAY));
    world.wait_until_delivered(2).await;
    let message_data = |at: usize, receiver: &Receiver| {
        let body: serde_json::Value = serde_json::from_slice(&receiver.received()[at].body).unwrap();
        body["data"].clone()
    };
    assert_eq!(message_data(1, &slow), message_data(0, &quick));
    world.set_clock(T0.plus(WebhookRules::default().keep + 2 * limits::PRUNE_EVERY));
    world.wait_until("one left", |all| all.len() == 1).await;
    let left = logged(&world, late).remove(0);
    let body: serde_json::Value = serde_json::from_slice(&log(&world).body(&left).unwrap()).unwrap();
    assert_eq!((data(), &body["data"]), (1, &message_data(0, &quick)));
    world.set_clock(T0.plus(2 * DAY + WebhookRules::default().keep + 2 * limits::PRUNE_EVERY));
    world.wait_until("nothing left", |all| all.is_empty()).await;
    assert_eq!(data(), 0);
}
