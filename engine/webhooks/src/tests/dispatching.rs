use location::time::{HOUR, MINUTE, SECOND};
use store::{CommitError, StoreError, memory::Fault};
use testing::{Answer, HookedStore, Received, Receiver};

use super::*;
use crate::{limits, schedule::RETRIES, sign};

const A_MOMENT: Duration = Duration::from_millis(60);

fn errors(all: &[Delivery]) -> usize {
    all.iter().map(|delivery| delivery.delivery_errors.len()).sum()
}

#[tokio::test]
async fn a_message_is_sent_signed_and_its_delivery_recorded() {
    let receiver = Receiver::start(|_| Answer::Status(202)).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    world.clock.set(T0.plus(999));
    world.inserted(SMILE).await;
    let message = receiver.wait_for(1).await.remove(0);
    let body = String::from_utf8(message.body.clone()).unwrap();
    let expected = concat!(
        r#"{"resource_type":"appointment","event_name":"appointment_insertion.complete","#,
        r#""event_time":"2026-11-21T10:00:00.999Z","subdomain":"smile","institution_id":7,"sequence":SEQUENCE,"#,
        r#""data":{"appointment":{"id":42,"note":"Zahnärztin 🦷"}},"delivery_errors":[]}"#
    );
    let sequence = message.json()["sequence"].as_u64().unwrap().to_string();
    assert_eq!(body, expected.replace("SEQUENCE", &sequence));
    let header = |name: &str| message.headers[name].as_str();
    assert_eq!((header("content-type"), header("timestamp")), ("application/json", "2026-11-21T10:00:00Z"));
    let secret = SecretKey::from_entropy([9; 32]);
    assert!(sign::verify(secret.reveal(), header("timestamp"), &message.body, header("signature")));

    world.wait_until_delivered(1).await;
    let delivery = world.deliveries().remove(0);
    assert_eq!(delivery.state, State::Delivered { at: T0.plus(999), status: 202 });
    assert_eq!(header("delivery-id"), delivery.id.to_string());
    assert_eq!(world.due(), 0);
}

#[tokio::test]
async fn an_outage_of_48_hours_makes_eleven_attempts_and_deactivates_the_endpoint() {
    let receiver = Receiver::start(|_| Answer::Status(500)).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    world.wait_until("the first failure", |all| errors(all) == 1).await;
    for (n, retry) in RETRIES.into_iter().enumerate() {
        let before = receiver.received().len();
        world.set_clock(T0.plus(retry - 1));
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(receiver.received().len(), before, "retry {} came early", n + 1);
        world.set_clock(T0.plus(retry));
        world.wait_until("the next failure", |all| errors(all) == n + 2).await;
    }
    let messages = receiver.received();
    assert_eq!(messages.len(), 11);
    for (n, message) in messages.iter().enumerate() {
        let reported = message.json()["delivery_errors"].as_array().unwrap().clone();
        assert_eq!(reported.len(), n);
        if let Some(last) = reported.last() {
            let at = sign::timestamp(T0.plus(if n == 1 { 0 } else { RETRIES[n - 2] }));
            let message = "the endpoint answered with status 500";
            assert_eq!(*last, json!({"code": "500", "timestamp": at, "message": message, "attempts": n}));
        }
        assert_eq!(message.headers["delivery-id"], messages[0].headers["delivery-id"]);
        let secret = SecretKey::from_entropy([9; 32]);
        let (timestamp, signature) = (&message.headers["timestamp"], &message.headers["signature"]);
        assert!(sign::verify(secret.reveal(), timestamp, &message.body, signature));
        assert!(n == 0 || *timestamp != messages[n - 1].headers["timestamp"], "signed again");
    }
    assert_eq!(world.deliveries()[0].state, State::Failed { at: T0.plus(48 * HOUR) });
    assert!(!world.registry.endpoint(&owner(), endpoint).unwrap().active);
    assert!(world.registry.subscriptions_of(&owner(), endpoint).unwrap().iter().all(|s| !s.active));

    let reloaded = World::on(Arc::new(world.store.fork()), world.clock.clone());
    assert!(!reloaded.registry.endpoint(&owner(), endpoint).unwrap().active);
    world.inserted(SMILE).await;
    assert_eq!(world.deliveries().len(), 1, "an inactive subscription gets nothing");
}

#[tokio::test]
async fn every_kind_of_failure_is_listed_and_retried() {
    let answers = |n| match n {
        0 => Answer::Status(500),
        1 => Answer::Status(404),
        2 => Answer::Status(409),
        3 => Answer::Status(429),
        4 => Answer::Redirect("http://169.254.169.254/latest/meta-data".to_owned()),
        5 => Answer::Reset,
        6 => Answer::Endless(503),
        _ => Answer::Endless(200),
    };
    let receiver = Receiver::start(answers).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    for (n, retry) in RETRIES[..7].iter().enumerate() {
        world.wait_until("the next failure", |all| errors(all) == n + 1).await;
        world.set_clock(T0.plus(*retry));
    }
    world.wait_until_delivered(1).await;
    let reported = world.deliveries().remove(0).delivery_errors;
    let codes: Vec<&str> = reported.iter().map(|error| error.code.as_str()).collect();
    assert_eq!(codes, ["500", "404", "409", "429", "302", "no_answer", "503"]);
    assert_eq!(reported.iter().map(|error| error.attempts).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
}

#[tokio::test]
async fn a_success_a_minute_before_deactivation_keeps_the_endpoint_active() {
    // The eleventh message belongs to another event.
    let receiver = Receiver::start(|n| Answer::Status(if n == 10 { 200 } else { 503 })).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    world.wait_until("the first failure", |all| errors(all) == 1).await;
    for (n, retry) in RETRIES[..9].iter().enumerate() {
        world.set_clock(T0.plus(*retry));
        world.wait_until("the next failure", |all| errors(all) == n + 2).await;
    }
    world.set_clock(T0.plus(48 * HOUR - MINUTE));
    world.inserted(SMILE).await;
    world.wait_until_delivered(1).await;
    assert_eq!(world.registry.endpoint(&owner(), endpoint).unwrap().failing_since, None);
    world.set_clock(T0.plus(48 * HOUR));
    world.wait_until("the last failure", |all| errors(all) == 11).await;
    let known = world.registry.endpoint(&owner(), endpoint).unwrap();
    assert!(known.active);
    assert_eq!(known.failing_since, Some(T0.plus(48 * HOUR)));
    assert_eq!(receiver.received().len(), 12);
}

#[tokio::test]
async fn attempt_numbers_survive_a_restart_and_missed_retries_are_made_once() {
    let receiver = Receiver::start(|n| Answer::Status(if n < 3 { 500 } else { 200 })).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    world.wait_until("the first failure", |all| errors(all) == 1).await;
    world.set_clock(T0.plus(RETRIES[0]));
    world.wait_until("the second failure", |all| errors(all) == 2).await;

    let world = world.killed_and_restarted(3 * HOUR).await;
    world.set_clock(T0.plus(3 * HOUR + MINUTE));
    let failed = world.wait_until("the third failure", |all| errors(all) == 3).await;
    assert_eq!(failed[0].state, State::Pending { next_attempt_at: T0.plus(5 * HOUR) });
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!(receiver.received().len(), 3);
    world.set_clock(T0.plus(5 * HOUR));
    world.wait_until_delivered(1).await;
    let last = receiver.received().remove(3);
    let numbers: Vec<_> =
        last.json()["delivery_errors"].as_array().unwrap().iter().map(|e| e["attempts"].clone()).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(last.headers["delivery-id"], receiver.received()[0].headers["delivery-id"]);
}

#[tokio::test]
async fn a_message_in_flight_at_a_crash_is_resent_with_the_same_id() {
    let receiver = Receiver::start(|n| if n == 0 { Answer::Hang } else { Answer::Status(200) }).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    receiver.wait_for(1).await;
    let world = world.killed_and_restarted(MINUTE).await;
    world.set_clock(world.clock.now().plus(limits::CATCH_UP_SPREAD));
    world.wait_until_delivered(1).await;
    let messages = receiver.received();
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0].headers["delivery-id"], messages[1].headers["delivery-id"]);
}

#[tokio::test]
async fn a_graceful_stop_waits_for_the_answer() {
    let receiver = Receiver::start(|_| Answer::Slow(Duration::from_millis(200))).await;
    let mut world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    receiver.wait_for(1).await;
    world.dispatcher.take().unwrap().stop(Duration::from_secs(5)).await;
    assert!(matches!(world.deliveries()[0].state, State::Delivered { .. }));
    world.inserted(SMILE).await;
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!((receiver.received().len(), world.due()), (1, 1));
}

#[tokio::test]
async fn a_slow_endpoint_delays_no_other() {
    let hanging = Receiver::start(|_| Answer::Hang).await;
    let quick = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new().sending();
    world.subscribed(&hanging.url()).await;
    world.subscribed(&quick.url()).await;
    let begun = std::time::Instant::now();
    for _ in 0..200 {
        world.inserted(SMILE).await;
    }
    world.wait_until_delivered(200).await;
    assert!(begun.elapsed() < limits::TOTAL_TIMEOUT, "{:?}", begun.elapsed());
    assert_eq!(hanging.most_at_once(), limits::ENDPOINT_CONCURRENCY);
    assert!(quick.most_at_once() <= limits::ENDPOINT_CONCURRENCY);
}

/// A later event of a record is not sent before the first attempt of an earlier one, even if both happened in the same
/// millisecond. A failed message does not delay the next. Other records do not wait.
#[tokio::test]
async fn messages_about_one_record_are_sent_in_order() {
    let receiver = Receiver::start(|n| match n {
        3 => Answer::Status(500),
        _ => Answer::Slow(Duration::from_millis(3)),
    })
    .await;
    let before = World::new();
    before.subscribed(&receiver.url()).await;
    for _ in 0..30 {
        before.changed(1_000).await;
        before.inserted(SMILE).await;
    }
    let world = before.sending();
    world.doorbell.ring([EndpointId(1)]);
    world.wait_until("all tried", |all| all.iter().all(|it| it.attempts == 1)).await;
    let of_one = |messages: &[Received]| -> Vec<String> {
        let about = |it: &&Received| it.json()["data"]["appointment"]["id"] == 1_000;
        messages.iter().filter(about).map(|it| it.headers["delivery-id"].clone()).collect()
    };
    let sent = of_one(&receiver.received());
    assert_eq!(sent.len(), 30);
    assert!(sent.is_sorted(), "ids rise with time");
    assert!(receiver.most_at_once() > 1, "other records do not wait");
}

/// A dead endpoint uses memory for attempts in flight only, and no capacity that others need.
#[tokio::test]
async fn a_dead_endpoint_with_a_long_queue_delays_no_other() {
    let hanging = Receiver::start(|_| Answer::Hang).await;
    let quick = Receiver::start(|_| Answer::Status(200)).await;
    let rules = WebhookRules { queue: 500, ..WebhookRules::default() };
    let world = World::with_rules(Arc::new(MemoryStore::new()), ManualClock::at(T0), rules).sending();
    let dead = world.subscribed(&hanging.url()).await;
    let alive = world.subscribed(&quick.url()).await;
    for n in 1..=3_000_u64 {
        world.inserted(SMILE).await;
        if n.is_multiple_of(100) {
            until("the living one keeps up", async || (world.waiting(alive) < 100).then_some(())).await;
        }
    }
    until("the living one got all", async || (world.waiting(alive) == 0).then_some(())).await;
    assert_eq!(quick.received().len(), 3_000);
    assert_eq!(world.waiting(dead), 500);
    let overflow = world.registry.subscriptions().backlogs.for_endpoint(dead).overflow.unwrap();
    assert_eq!(overflow.events, 2_500);
    assert_eq!(world.deliveries().len(), 3_500, "what has no room is not on the disk");
    assert_eq!(hanging.received().len(), limits::ENDPOINT_CONCURRENCY);
}

#[tokio::test]
async fn a_success_ends_the_failure_streak() {
    let receiver =
        Receiver::start(|n| if n == 0 { Answer::Reset } else { Answer::Slow(Duration::from_millis(10)) }).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    world.wait_until("the first failure", |all| errors(all) == 1).await;
    assert_eq!(world.registry.endpoint(&owner(), endpoint).unwrap().failing_since, Some(T0));
    assert_eq!(world.deliveries()[0].delivery_errors[0].code, "no_answer");
    for _ in 0..5 {
        world.inserted(SMILE).await;
    }
    world.wait_until_delivered(5).await;
    assert_eq!(world.registry.endpoint(&owner(), endpoint).unwrap().failing_since, None);
}

#[tokio::test]
async fn a_backlog_of_downtime_is_spread_out() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let before = World::new();
    before.subscribed(&receiver.url()).await;
    for _ in 0..5 {
        before.inserted(SMILE).await;
    }
    before.clock.advance(HOUR);
    let world = World::on(before.store.clone(), before.clock.clone()).sending();
    tokio::time::sleep(A_MOMENT).await;
    let started = world.clock.now();
    world.set_clock(started.plus(limits::CATCH_UP_SPREAD));
    for n in 1..=5 {
        receiver.wait_for(n).await;
        tokio::time::sleep(A_MOMENT).await;
        assert_eq!(receiver.received().len(), n, "one at a time");
        world.set_clock(world.clock.now().plus(limits::CATCH_UP_GAP));
    }
    world.wait_until_delivered(5).await;
}

#[tokio::test]
async fn delivered_messages_are_not_resent_while_the_store_is_full() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    let mut batch = Batch::new();
    let enqueued = world.enqueue(&mut batch, SMILE, complete());
    world.store.commit(batch).await.unwrap();
    world.store.fail_next_commit(Fault::Refuse(CommitError::Full { free: 0, floor: 1 }));
    world.store.fail_next_commit(Fault::Refuse(CommitError::Store(StoreError::Busy)));
    world.outbox.committed(enqueued);
    receiver.wait_for(1).await;
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!(world.due(), 1);
    world.wait_until_delivered(1).await;
    assert_eq!((receiver.received().len(), world.due()), (1, 0));
}

#[tokio::test]
async fn pending_messages_to_a_deactivated_endpoint_are_not_sent() {
    let receiver = Receiver::start(|_| Answer::Status(500)).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    world.wait_until("the first failure", |all| errors(all) == 1).await;
    world.set_clock(T0.plus(HOUR));
    world.wait_until("the second failure", |all| errors(all) == 2).await;
    world.set_clock(T0.plus(24 * HOUR));
    world.wait_until("the third failure", |all| errors(all) == 3).await;
    // Two messages are due then. The failure of the first deactivates the endpoint.
    world.set_clock(T0.plus(47 * HOUR));
    world.inserted(SMILE).await;
    world.wait_until("one more failure", |all| errors(all) == 4).await;
    let sent = receiver.received().len();
    world.set_clock(T0.plus(48 * HOUR));
    let stopped = |all: &[Delivery]| all.iter().filter(|d| matches!(d.state, State::Stopped { .. })).count();
    world.wait_until("one stopped", |all| stopped(all) == 1).await;
    world.set_clock(T0.plus(96 * HOUR));
    world.wait_until("both stopped", |all| stopped(all) == 2).await;
    assert_eq!((receiver.received().len(), world.due()), (sent + 1, 0));
}

#[tokio::test]
async fn deliveries_of_an_unreadable_event_do_not_block_the_others() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    for damage in [Some(b"nonsense".to_vec()), None] {
        let before = World::new();
        let endpoint = before.subscribed(&receiver.url()).await;
        before.inserted(SMILE).await;
        let broken = keys::event(before.deliveries()[0].id);
        let mut batch = Batch::new();
        match &damage {
            Some(value) => batch.put(broken.clone(), value.clone()),
            None => batch.delete(broken.clone()),
        };
        before.store.commit(batch).await.unwrap();
        before.clock.advance(SECOND);
        let world = World::on(before.store.clone(), before.clock.clone()).sending();
        world.set_clock(world.clock.now().plus(limits::CATCH_UP_SPREAD));
        let sent = receiver.received().len();
        world.inserted(SMILE).await;
        receiver.wait_for(sent + 1).await;
        let drained = || (world.due() == 0 && world.waiting(endpoint) == 0).then_some(());
        until("an empty queue", async || drained()).await;
        assert_eq!(receiver.received().len(), sent + 1);
        assert_eq!(world.store.get(&broken).unwrap(), damage, "kept for inspection");
        assert_eq!(
            world.registry.endpoint(&owner(), endpoint).unwrap().failing_since,
            None,
            "not the endpoint's fault"
        );

        // Kept as long as other ended deliveries.
        world.forget();
        until("nothing left", async || (world.values_of_deliveries() == 0).then_some(())).await;
    }
}

/// The event is damaged between the first attempt, which fails, and the second one.
#[tokio::test]
async fn a_retry_of_an_unreadable_event_is_set_aside_and_pruned() {
    let receiver = Receiver::start(|_| Answer::Status(500)).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    let failed = world.wait_until("the first failure", |all| errors(all) == 1).await;
    let mut batch = Batch::new();
    batch.put(keys::event(failed[0].id), b"nonsense".to_vec());
    world.store.commit(batch).await.unwrap();
    world.set_clock(T0.plus(RETRIES[0]));
    until("an empty queue", async || (world.due() == 0 && world.waiting(endpoint) == 0).then_some(())).await;
    assert_eq!(receiver.received().len(), 1);
    world.forget();
    until("nothing left", async || (world.values_of_deliveries() == 0).then_some(())).await;
}

#[tokio::test]
async fn a_damaged_delivery_does_not_stop_pruning() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new();
    let store = Arc::new(HookedStore::over(world.store.clone()));
    let world = world.sending_from(store.clone());
    let endpoint = world.subscribed(&receiver.url()).await;
    for _ in 0..3 {
        world.inserted(SMILE).await;
    }
    world.wait_until_delivered(3).await;
    let ids: Vec<Uuid> = world.deliveries().iter().map(|it| it.id).collect();
    store.damage(keys::logged(endpoint, ids[0]));
    store.damage(keys::event(ids[1]));
    world.forget();
    until("nothing left", async || (world.values_of_deliveries() == 0).then_some(())).await;
}

/// After the permission for an event is revoked, no deliveries are created, and waiting ones are not sent.
#[tokio::test]
async fn messages_without_permission_are_not_sent() {
    let receiver = Receiver::start(|n| Answer::Status(if n < 2 { 500 } else { 200 })).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    world.subscribe(endpoint, OTHER, Event::AppointmentInsertion).await;
    world.inserted(SMILE).await;
    world.inserted(OTHER).await;
    world.wait_until("both failed", |all| errors(all) == 2).await;
    world.audience.0.lock().push((SMILE, ResourceType::Appointment));
    world.inserted(SMILE).await;
    assert_eq!(world.deliveries().len(), 2, "no new one");
    world.set_clock(T0.plus(RETRIES[0]));
    world.wait_until_delivered(1).await;
    let ended = world.wait_until("the other stopped", |all| all.iter().all(|it| !it.is_pending())).await;
    let of = |institution| ended.iter().find(|it| it.institution_id == Some(institution)).unwrap().state;
    assert_eq!(of(SMILE), State::Stopped { at: T0.plus(RETRIES[0]) });
    assert!(matches!(of(OTHER), State::Delivered { .. }));
    assert_eq!((receiver.received().len(), world.waiting(endpoint)), (3, 0));

    // A change of the endpoint deactivates subscriptions without permission.
    let url = receiver.url();
    world.registry.update_endpoint(&owner(), endpoint, Some(&url), None, T0.plus(HOUR)).await.unwrap();
    let active = |institution| {
        let all = world.registry.subscriptions_of(&owner(), endpoint).unwrap();
        all.iter().find(|it| it.institution_id == institution).unwrap().active
    };
    assert_eq!((active(SMILE), active(OTHER)), (false, true));
    world.audience.0.lock().clear();
    world.inserted(SMILE).await;
    assert_eq!(world.deliveries().len(), 2, "until it is activated again");
}

/// One failure, two days of downtime, one failure: the endpoint stays active, and the message is retried.
#[tokio::test]
async fn downtime_of_the_service_does_not_count_as_endpoint_failure() {
    let receiver = Receiver::start(|n| Answer::Status(if n < 2 { 503 } else { 200 })).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    world.wait_until("the first failure", |all| errors(all) == 1).await;
    let world = world.killed_and_restarted(49 * HOUR).await;
    let back = T0.plus(49 * HOUR + MINUTE);
    world.set_clock(back);
    let failed = world.wait_until("the second failure", |all| errors(all) == 2).await;
    assert_eq!(failed[0].state, State::Pending { next_attempt_at: back.plus(24 * HOUR) });
    let known = world.registry.endpoint(&owner(), endpoint).unwrap();
    assert_eq!((known.active, known.failing_since), (true, Some(back)));
    world.set_clock(back.plus(24 * HOUR));
    world.wait_until_delivered(1).await;
}

#[tokio::test]
async fn finished_deliveries_are_pruned_after_their_retention() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    for _ in 0..limits::SWEEP + 5 {
        world.inserted(SMILE).await;
    }
    world.wait_until_delivered(limits::SWEEP + 5).await;
    world.set_clock(T0.plus(WebhookRules::default().keep));
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!(world.deliveries().len(), limits::SWEEP + 5);
    world.set_clock(T0.plus(WebhookRules::default().keep + 2 * MINUTE));
    world.wait_until("nothing left", |all| all.is_empty()).await;
    assert!(world.store.scan_keys(KeyRange::prefix(&[0x56]), Direction::Forward, 1).unwrap().is_empty());
}

#[tokio::test]
async fn a_410_response_ends_all_deliveries_to_the_endpoint() {
    let receiver = Receiver::start(|_| Answer::Status(410)).await;
    let world = World::new().sending();
    let endpoint = world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    let all = world.wait_until("its end", |all| all.iter().all(|it| !it.is_pending())).await;
    assert_eq!(all[0].state, State::Failed { at: T0 });
    assert!(!world.registry.endpoint(&owner(), endpoint).unwrap().active);
    assert!(world.registry.subscriptions_of(&owner(), endpoint).unwrap().iter().all(|it| !it.active));
    world.inserted(SMILE).await;
    world.set_clock(T0.plus(48 * HOUR));
    tokio::time::sleep(A_MOMENT).await;
    assert_eq!(receiver.received().len(), 1);
}

/// The status is known, so the rest of the response must not delay other messages.
#[tokio::test]
async fn an_unfinished_response_does_not_delay_the_next_message() {
    let receiver = Receiver::start(|_| Answer::Unfinished(200)).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    let begun = std::time::Instant::now();
    world.changed(7).await;
    world.changed(7).await;
    world.wait_until_delivered(2).await;
    assert!(begun.elapsed() < limits::TOTAL_TIMEOUT, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_clock_that_is_set_back_delays_no_retry() {
    let receiver = Receiver::start(|n| Answer::Status(if n < 2 { 500 } else { 200 })).await;
    let world = World::new().sending();
    world.subscribed(&receiver.url()).await;
    world.inserted(SMILE).await;
    world.wait_until("the first failure", |all| errors(all) == 1).await;
    world.set_clock(T0.plus(10 * SECOND));
    tokio::time::sleep(A_MOMENT).await;
    // Within one process: due 20 s from now.
    let yesterday = T0.minus(24 * HOUR);
    world.set_clock(yesterday);
    let due_again = |all: &[Delivery], from: Timestamp| {
        let State::Pending { next_attempt_at } = all[0].state else { return false };
        next_attempt_at > from.plus(10 * SECOND) && next_attempt_at <= from.plus(30 * SECOND)
    };
    world.wait_until("it is due as before", |all| due_again(all, yesterday)).await;
    world.set_clock(yesterday.plus(30 * SECOND));
    world.wait_until("the second failure", |all| errors(all) == 2).await;
    // After a restart: the amount of time that the delivery has waited is unknown.
    let world = world.killed_and_restarted(-HOUR).await;
    let now = world.clock.now();
    let due_anew = |all: &[Delivery]| {
        let State::Pending { next_attempt_at } = all[0].state else { return false };
        next_attempt_at <= now.plus(MINUTE)
    };
    world.wait_until("it is due after its own pause", due_anew).await;
    world.set_clock(now.plus(MINUTE));
    world.wait_until_delivered(1).await;
}
