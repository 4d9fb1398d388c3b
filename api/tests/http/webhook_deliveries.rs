//! Endpoints of a world that may send to this machine, and the messages they receive.

use std::sync::Arc;

use actix_web::web;
use endpoints::resources::record_views::RecordViews;
use engine::{
    Engine, Parts, clock,
    store::{Batch, Direction, KeyRange, MemoryStore, Store},
    webhooks::{
        catalogue::Event,
        schedule::{RETRIES, max_jitter},
    },
};
use framework::{
    access::{
        api::Api,
        keys::{ApiKey, KeyRing, hash},
    },
    values::secret::Secret,
};
use location::{
    ids::{InstitutionId, LocationId},
    time::{DAY, HOUR, Millis, Timestamp},
};
use serde_json::{Value, json};
use testing::{Answer, Receiver, deliveries};

use crate::support::*;

/// Key prefix of endpoints in the store.
const ENDPOINTS: u8 = 0x50;

/// Starts a receiver that answers with the status in the path: `/200`.
async fn receiver() -> Receiver {
    let status = |path: &str| path[1..].split('?').next()?.parse().ok();
    Receiver::scripted(move |_, message| Answer::Status(status(&message.path).expect("a status"))).await
}

fn url(receiver: &Receiver, status: u16) -> String {
    format!("http://{}/{status}", receiver.address)
}

async fn world_over(store: Arc<MemoryStore>) -> ApiWorld {
    let mut setup = setup();
    setup.engine.webhook_development = true;
    let ring = KeyRing::from(keys());
    let parts = Parts { audience: Arc::new(ring.clone()), ..Parts::new(store.clone(), RecordViews::shared()) };
    let engine = Arc::new(Engine::start(setup, parts).await.unwrap());
    let api = Api::new(engine.clone(), ring, &Secret::from_bytes([7; 32]), free_rates());
    ApiWorld { api: web::Data::new(api), engine, books: Arc::default(), store }
}

async fn sending_world() -> ApiWorld {
    world_over(Arc::new(MemoryStore::new())).await
}

/// Registers an endpoint and returns its path.
async fn endpoint(world: &ApiWorld, url: &str) -> String {
    let made = world.post("/webhook_endpoints", json!({ "target_url": url })).answers(201).await;
    format!("/webhook_endpoints/{}", made["data"]["id"])
}

async fn test(world: &ApiWorld, endpoint: &str) -> String {
    let made = world.post(&format!("{endpoint}/test"), json!({})).answers(201).await;
    made["data"]["id"].as_str().unwrap().to_owned()
}

async fn has_status(world: &ApiWorld, delivery: &str, status: &str) -> Value {
    world.until(delivery, |answer| answer["data"]["status"] == status).await["data"].clone()
}

/// A full disk is not a slow EHR (504): the refusal names the cause and that reads continue.
#[actix_web::test]
async fn a_write_to_a_full_store_names_the_cause() {
    let store = Arc::new(MemoryStore::new());
    let world = world_over(store.clone()).await;
    let before = endpoint(&world, "https://8.8.8.8/one").await;
    store.set_full(true);
    let kind =
        json!({"appointment_type": {"name": "Checkup", "minutes": 30, "parent_type": "Location", "parent_id": BARE}});
    let bare = format!("/appointment_types?subdomain=acme&location_id={BARE}");
    for (path, body) in [("/webhook_endpoints", json!({"target_url": "https://8.8.8.8/two"})), (&bare, kind.clone())] {
        let reply = world.post(path, body).reply().await;
        let message = "The server's storage is full or has failed; writes are refused. Please try again later.";
        assert_eq!((reply.status.as_u16(), &reply.json()["error"]), (503, &json!([message])), "{path}");
        assert_eq!(reply.header("Retry-After"), Some("30"), "{path}");
    }
    world.get(&before).ok().await;
    store.set_full(false);
    world.post(&bare, kind).answers(201).await;
}

#[actix_web::test]
async fn the_delivery_log_shows_each_delivery_at_once() {
    let (world, receiver) = (sending_world().await, receiver().await);
    let path = endpoint(&world, &url(&receiver, 200)).await;
    let list = format!("{path}/deliveries?subdomain=acme");
    assert_eq!(world.get(&list).ok().await["data"], json!([]));
    let id = test(&world, &path).await;
    assert_eq!(each(&world.get(&list).ok().await["data"], "id"), [json!(id)]);
    world.until(&list, |answer| answer["data"][0]["status"] == "delivered").await;
}

#[actix_web::test]
async fn a_test_message_is_sent_and_shown_in_the_log() {
    let (world, receiver) = (sending_world().await, receiver().await);
    let path = endpoint(&world, &url(&receiver, 200)).await;
    let id = test(&world, &path).await;
    let one = has_status(&world, &format!("{path}/deliveries/{id}"), "delivered").await;
    let values = ["resource_type", "event_name", "attempts", "response_code", "failure_reason", "next_attempt_at"];
    let values = values.map(|field| one[field].clone());
    let expected =
        [json!("webhook_endpoint"), json!("webhook_endpoint.test"), json!(1), json!(200), Value::Null, Value::Null];
    assert_eq!(values, expected);
    let got = receiver.received().remove(0);
    assert_eq!((&got.headers["delivery-id"], &got.headers["webhook-id"]), (&id, &id));
    assert_eq!(one["message"], got.json(), "what its owner is shown is what was sent");

    let listed = world.get(&format!("{path}/deliveries")).ok().await;
    let row = &listed["data"][0];
    assert_eq!((&row["id"], &row["message"]), (&json!(id), &Value::Null), "a list shows no bodies");
    let older = world.get(&format!("{path}/deliveries?per_page=1&page=1")).version("v2.2.2").ok().await;
    assert_eq!((&older["count"], each(&older["data"], "id")), (&json!(1), vec![json!(id)]), "v2.2.2 pages by number");
    assert_eq!(older.get("page_info"), None);
    let second = world.get(&format!("{path}/deliveries?per_page=1&page=2")).version("v2.2.2").ok().await;
    assert_eq!((&second["count"], &second["data"]), (&json!(1), &json!([])));
    for (query, count) in [
        ("status=delivered", 1),
        ("status=pending", 0),
        ("event_name=webhook_endpoint.test", 1),
        ("event_name=appointment_insertion.complete", 0),
        ("webhook_subscription_id=1", 0),
    ] {
        let found = world.get(&format!("{path}/deliveries?{query}")).ok().await;
        assert_eq!(found["data"].as_array().unwrap().len(), count, "{query}");
    }
    let wrong = world.get(&format!("{path}/deliveries?status=eaten")).fails(400).await;
    assert!(wrong[0].contains("pending"), "{wrong:?}");
}

#[actix_web::test]
async fn the_log_is_paged_from_the_newest_message_on() {
    let (world, receiver) = (sending_world().await, receiver().await);
    let path = endpoint(&world, &url(&receiver, 200)).await;
    let mut ids = Vec::new();
    for _ in 0..7 {
        ids.insert(0, json!(test(&world, &path).await));
    }
    let list = format!("{path}/deliveries?per_page=3");
    let first = world.get(&list).ok().await;
    assert_eq!(each(&first["data"], "id"), ids[..3]);
    // New messages are newer than the walk.
    test(&world, &path).await;
    let cursor = first["page_info"]["end_cursor"].as_str().unwrap();
    let second = world.get(&format!("{list}&end_cursor={cursor}")).ok().await;
    assert_eq!(each(&second["data"], "id"), ids[3..6]);
    let cursor = second["page_info"]["end_cursor"].as_str().unwrap();
    let third = world.get(&format!("{list}&end_cursor={cursor}")).ok().await;
    assert_eq!((each(&third["data"], "id"), &third["page_info"]["has_next_page"]), (ids[6..].to_vec(), &json!(false)));
    let cursor = second["page_info"]["start_cursor"].as_str().unwrap();
    let back = world.get(&format!("{list}&start_cursor={cursor}")).ok().await;
    assert_eq!(each(&back["data"], "id"), ids[..3]);
}

#[actix_web::test]
async fn a_failed_message_has_its_error_and_is_redelivered_with_the_same_id() {
    let (world, receiver) = (sending_world().await, receiver().await);
    let path = endpoint(&world, &url(&receiver, 503)).await;
    let id = test(&world, &path).await;
    let one = format!("{path}/deliveries/{id}");
    let failed = world.until(&one, |answer| answer["data"]["attempts"] == 1).await["data"].clone();
    assert_eq!((&failed["status"], &failed["response_code"]), (&json!("pending"), &json!(503)));
    assert_eq!(failed["failure_reason"], "the endpoint answered with status 503");
    assert!(failed["next_attempt_at"].is_string());
    assert_eq!(failed["message"]["delivery_errors"][0]["code"], "503");
    let shown = world.until(&path, |answer| !answer["data"]["failing_since"].is_null()).await;
    assert_eq!(shown["data"]["waiting_deliveries"], 1);

    world.patch(&path, json!({"target_url": url(&receiver, 200)})).ok().await;
    let again = world.post(&format!("{one}/redeliver"), json!({})).ok().await;
    assert_eq!(again["data"]["id"], id);
    let sent = has_status(&world, &one, "delivered").await;
    assert_eq!(sent["attempts"], 2);
    world.post(&format!("{one}/redeliver"), json!({})).ok().await;
    world.until(&one, |answer| answer["data"]["attempts"] == 3).await;
    assert!(receiver.received().iter().all(|got| got.headers["delivery-id"] == id));
    let mended = world.until(&path, |answer| answer["data"]["failing_since"].is_null()).await;
    assert_eq!(mended["data"]["waiting_deliveries"], 0);

    let none = "00000000-0000-7000-8000-000000000000";
    let missing = world.post(&format!("{path}/deliveries/{none}/redeliver"), json!({})).fails(404).await;
    assert_eq!(missing, [format!("Webhook delivery with id {none} not found")]);
    let other = endpoint(&world, &url(&receiver, 200)).await;
    world.get(&format!("{other}/deliveries/{id}")).fails(404).await;
    world.get(&one).key(RIVAL_KEY).fails(404).await;
    world.patch(&path, json!({"active": false})).ok().await;
    let off = world.post(&format!("{one}/redeliver"), json!({})).fails(400).await;
    assert_eq!(off, ["the webhook endpoint is not active."]);
    assert_eq!(world.post(&format!("{path}/test"), json!({})).fails(400).await, off);
}

#[actix_web::test]
async fn operators_see_all_endpoints_and_send_messages_again() {
    let (world, receiver) = (sending_world().await, receiver().await);
    world.api.replace_operators(operators());
    let fine = endpoint(&world, &url(&receiver, 200)).await;
    let path = endpoint(&world, &format!("{}?secret=s3", url(&receiver, 503))).await;
    let rivals = json!({"target_url": url(&receiver, 200), "active": false});
    world.post("/webhook_endpoints", rivals).key(RIVAL_KEY).answers(201).await;
    let id = test(&world, &path).await;
    let delivered = test(&world, &fine).await;
    has_status(&world, &format!("{fine}/deliveries/{delivered}"), "delivered").await;
    world.until(&path, |answer| !answer["data"]["failing_since"].is_null()).await;

    let listed = world.get("/webhooks").operator(VIEWER).ok().await["data"].clone();
    assert_eq!(each(&listed, "status"), ["inactive", "failing", "active"], "those in trouble first");
    let failing = &listed[1];
    assert_eq!(failing["target_url"], url(&receiver, 503), "the query is the receiver's secret");
    assert_eq!((&failing["waiting_deliveries"], &failing["subscriptions"]), (&json!(1), &json!(0)));
    assert_ne!(listed[0]["organisation"], failing["organisation"]);

    let messages = format!("/webhooks/{}/deliveries", failing["id"]);
    let sent = world.get(&messages).operator(VIEWER).ok().await["data"].clone();
    assert_eq!((each(&sent, "id"), &sent[0]["response_code"]), (vec![json!(id)], &json!(503)));
    let none = world.get(&format!("{messages}?status=delivered")).operator(VIEWER).ok().await;
    assert_eq!(none["data"], json!([]));
    assert_eq!(
        world.get("/webhooks/77/deliveries").operator(VIEWER).fails(404).await,
        ["Webhook endpoint with id 77 not found"]
    );

    let again = format!("{messages}/{id}/redeliver");
    world.post(&again, json!({})).operator(VIEWER).fails(403).await;
    world.patch(&path, json!({"target_url": url(&receiver, 200)})).ok().await;
    assert_eq!(world.post(&again, json!({})).operator(OPERATOR).ok().await["data"]["id"], id);
    has_status(&world, &format!("{path}/deliveries/{id}"), "delivered").await;
    // An endpoint does not show messages of another endpoint.
    let others = format!("{messages}/{delivered}/redeliver");
    let missing = world.post(&others, json!({})).operator(OPERATOR).fails(404).await;
    assert_eq!(missing, [format!("Webhook delivery with id {delivered} not found")]);
}

#[actix_web::test]
async fn operators_test_endpoints_and_redeliver_what_failed() {
    let (world, receiver) = (sending_world().await, receiver().await);
    world.api.replace_operators(operators());
    let path = endpoint(&world, &url(&receiver, 200)).await;
    let id = path.rsplit('/').next().unwrap();
    let (test, again) = (format!("/webhooks/{id}/test"), format!("/webhooks/{id}/redeliver_failed"));
    for refused in [&test, &again] {
        world.post(refused, json!({})).operator(VIEWER).fails(403).await;
    }
    let sent = world.post(&test, json!({})).operator(OPERATOR).answers(201).await["data"].clone();
    assert_eq!(sent["event_name"], "webhook_endpoint.test");
    has_status(&world, &format!("{path}/deliveries/{}", sent["id"].as_str().unwrap()), "delivered").await;
    let none = world.post(&again, json!({})).operator(OPERATOR).ok().await;
    assert_eq!(none["data"], json!({"deliveries": 0, "next_since": null}), "the only message is delivered");
    for missing in ["/webhooks/77/test", "/webhooks/77/redeliver_failed"] {
        let error = world.post(missing, json!({})).operator(OPERATOR).fails(404).await;
        assert_eq!(error, ["Webhook endpoint with id 77 not found"]);
    }
}

#[actix_web::test]
async fn messages_of_a_time_span_are_replayed() {
    let (world, receiver) = (sending_world().await, receiver().await);
    let path = endpoint(&world, &url(&receiver, 200)).await;
    let before = world.engine.now();
    for _ in 0..3 {
        let id = test(&world, &path).await;
        has_status(&world, &format!("{path}/deliveries/{id}"), "delivered").await;
    }
    let time = |at: Timestamp| chrono::DateTime::from_timestamp_millis(at.0).unwrap().to_rfc3339();
    let replay = |body: Value| world.post(&format!("{path}/replay"), body);
    let since = time(before.minus(HOUR));
    assert_eq!(replay(json!({"since": since, "until": time(before)})).ok().await["data"]["deliveries"], 0);
    assert_eq!(replay(json!({"since": since, "undelivered": true})).ok().await["data"]["deliveries"], 0);
    let all = replay(json!({"since": since, "until": time(before.plus(HOUR))})).ok().await;
    assert_eq!((&all["data"]["deliveries"], &all["data"]["next_since"]), (&json!(3), &Value::Null));
    world.until(&path, |answer| answer["data"]["waiting_deliveries"] == 0).await;
    assert_eq!(receiver.received().len(), 6);
    assert_eq!(replay(json!({})).fails(400).await, ["since is missing."]);
    let turned = replay(json!({"since": time(before), "until": since})).fails(400).await;
    assert_eq!(turned, ["since must be before until."]);
    replay(json!({"since": since})).key(RIVAL_KEY).fails(404).await;
}

#[actix_web::test]
async fn a_secret_is_rotated_and_shown_once() {
    let (world, receiver) = (sending_world().await, receiver().await);
    let path = endpoint(&world, &url(&receiver, 200)).await;
    let rotate = |body: Value| world.post(&format!("{path}/rotate_secret"), body);
    let rotated = rotate(json!({"overlap_hours": 1})).with("Idempotency-Key", "r-1").answers(201).await["data"].clone();
    let secret = rotated["secret_key"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && rotated["earlier_secret_until"].is_string());
    let again = rotate(json!({"overlap_hours": 1})).with("Idempotency-Key", "r-1").answers(201).await;
    assert_eq!(again["data"]["secret_key"], secret, "a request that is sent again rotates once");
    let shown = world.get(&path).ok().await["data"].clone();
    assert_eq!(
        (&shown["secret_key"], &shown["earlier_secret_until"]),
        (&Value::Null, &rotated["earlier_secret_until"])
    );
    let early = rotate(json!({})).fails(409).await;
    assert!(early[0].contains("overlap_hours 0"), "{early:?}");
    test(&world, &path).await;
    let at_once = rotate(json!({"overlap_hours": 0})).answers(201).await["data"].clone();
    assert_eq!(at_once["earlier_secret_until"], Value::Null);
    assert_ne!(at_once["secret_key"], secret);
    let wrong = rotate(json!({"overlap_hours": 169})).fails(400).await;
    assert_eq!(wrong, ["overlap_hours must be between 0 and 168."]);
    rotate(json!({})).key(RIVAL_KEY).fails(404).await;
    let usual = rotate(json!({})).answers(201).await["data"].clone();
    assert!(usual["earlier_secret_until"].is_string(), "as the operator has set");
}

/// An endpoint that fails once more after two days is deactivated. Its reactivation leaves the subscriptions inactive.
#[actix_web::test]
async fn two_days_of_failure_deactivate_an_endpoint_and_its_subscriptions() {
    let (store, receiver) = (Arc::new(MemoryStore::new()), receiver().await);
    let world = world_over(store.clone()).await;
    let path = endpoint(&world, &url(&receiver, 500)).await;
    let subscriptions = format!("{path}/webhook_subscriptions?subdomain=acme");
    let wanted = json!({"resource_type": "Appointment", "event": "appointment_insertion"});
    let subscription = world.post(&subscriptions, wanted).answers(201).await["data"]["id"].clone();
    world.engine.stop().await;
    let since = clock::now().minus(2 * DAY);
    for (key, value) in store.scan(KeyRange::prefix(&[ENDPOINTS]), Direction::Forward, 9).unwrap() {
        let mut endpoint: Value = serde_json::from_slice(&value).unwrap();
        endpoint["failing_since"] = json!(since);
        let mut batch = Batch::new();
        batch.put(key, serde_json::to_vec(&endpoint).unwrap());
        store.commit(batch).await.unwrap();
    }

    let world = world_over(Arc::new(store.fork())).await;
    test(&world, &path).await;
    let off = world.until(&path, |answer| answer["data"]["active"] == false).await;
    assert!(off["data"]["failing_since"].is_string());
    let one = format!("{path}/webhook_subscriptions/{subscription}?subdomain=acme");
    assert_eq!(world.get(&one).ok().await["data"]["active"], false);
    let on = world.patch(&path, json!({"active": true})).ok().await;
    assert_eq!((&on["data"]["active"], &on["data"]["failing_since"]), (&json!(true), &Value::Null));
    assert_eq!(world.get(&one).ok().await["data"]["active"], false);
    world.patch(&one, json!({"active": true})).ok().await;
    assert_eq!(world.get(&one).ok().await["data"]["active"], true);
}

/// Simulates the passing of time by moving all times of messages in the store back.
async fn time_passes(store: &MemoryStore, by: Millis) {
    let mut batch = Batch::new();
    for before in deliveries(store) {
        let mut after = before.clone();
        after.set_back(by);
        after.replace(&before, &mut batch);
    }
    for (key, value) in store.scan(KeyRange::prefix(&[ENDPOINTS]), Direction::Forward, 9).unwrap() {
        let mut endpoint: Value = serde_json::from_slice(&value).unwrap();
        for time in ["failing_since", "last_failed"] {
            endpoint[time] = json!(endpoint[time].as_i64().unwrap() - by);
        }
        batch.put(key, serde_json::to_vec(&endpoint).unwrap());
    }
    store.commit(batch).await.unwrap();
}

/// The ten retries at the times of the specification, and the deactivation of the endpoint after the last.
#[actix_web::test]
async fn ten_retries_in_48_hours_and_then_no_more() {
    const SOON: Millis = 200;
    let (mut store, receiver) = (Arc::new(MemoryStore::new()), receiver().await);
    let mut world = world_over(store.clone()).await;
    let path = endpoint(&world, &url(&receiver, 500)).await;
    let one = format!("{path}/deliveries/{}", test(&world, &path).await);
    let time = |shown: &Value, name: &str| {
        chrono::DateTime::parse_from_rfc3339(shown[name].as_str().unwrap()).unwrap().timestamp_millis()
    };
    // Time since the first attempt, as the message records it.
    let mut passed = 0;
    let mut first = 0;
    for (retry, elapsed) in RETRIES.into_iter().enumerate() {
        let failed = world.until(&one, |answer| answer["data"]["attempts"] == retry + 1).await["data"].clone();
        assert_eq!(failed["status"], "pending", "before retry {}", retry + 1);
        if retry == 0 {
            first = time(&failed, "last_attempt_at");
        }
        let planned = time(&failed, "next_attempt_at") + passed - first;
        let range = elapsed..=elapsed + max_jitter(retry);
        assert!(range.contains(&planned), "retry {} after {planned} ms, not {range:?}", retry + 1);
        world.engine.stop().await;
        let skipped = time(&failed, "next_attempt_at") - clock::now().0 - SOON;
        passed += skipped;
        time_passes(&store, skipped).await;
        store = Arc::new(store.fork());
        world = world_over(store.clone()).await;
    }
    let given_up = has_status(&world, &one, "failed").await;
    assert_eq!((&given_up["attempts"], &given_up["next_attempt_at"]), (&json!(11), &Value::Null));
    assert_eq!(receiver.received().len(), 11);
    world.until(&path, |answer| answer["data"]["active"] == false).await;
    assert_eq!(
        world.post(&format!("{path}/test"), json!({})).fails(400).await,
        ["the webhook endpoint is not active."]
    );
}

#[actix_web::test]
async fn one_endpoint_and_one_subscription_are_shown_to_their_owner() {
    let world = sending_world().await;
    let path = endpoint(&world, "https://hooks.example.com/in").await;
    let shown = world.get(&path).ok().await["data"].clone();
    assert_eq!((&shown["secret_key"], &shown["dropped_events"]), (&Value::Null, &json!(0)));
    world.get(&path).key(RIVAL_KEY).fails(404).await;
    let wanted = json!({"resource_type": "Patient", "event": "patient_created"});
    let made = world.post(&format!("{path}/webhook_subscriptions?subdomain=acme"), wanted).answers(201).await;
    let one = format!("{path}/webhook_subscriptions/{}", made["data"]["id"]);
    assert_eq!(world.get(&one).ok().await["data"], made["data"]);
    assert_eq!(world.get(&format!("{one}?subdomain=acme")).ok().await["data"], made["data"]);
    world.get(&one).key(RIVAL_KEY).fails(404).await;
    world.get(&format!("{path}/webhook_subscriptions/99")).fails(404).await;
}

/// Changed rights of a key apply to new messages and to pending ones.
#[actix_web::test]
async fn messages_beyond_the_rights_of_a_key_are_not_sent() {
    let world = sending_world().await;
    let known = world.engine.webhooks().subscriptions().clone();
    let path = endpoint(&world, "https://hooks.example.com/in").await;
    for (kind, event) in [("Appointment", "appointment_insertion"), ("Payment", "payment_created")] {
        let subscribe = format!("{path}/webhook_subscriptions?subdomain=acme");
        world.post(&subscribe, json!({"resource_type": kind, "event": event})).answers(201).await;
    }
    let counts = || {
        [Event::AppointmentInsertion, Event::PaymentCreated]
            .map(|event| known.subscribed(InstitutionId(1), event).len())
    };
    let changed = |change: fn(&mut ApiKey)| {
        let mut all = keys();
        all.iter_mut().filter(|key| key.name == ACME_KEY).for_each(change);
        world.api.replace_keys(all);
    };
    assert_eq!(counts(), [1, 1]);
    changed(|key| key.grants.financial = false);
    assert_eq!(counts(), [1, 0]);
    changed(|key| key.institutions = vec![InstitutionId(2)]);
    assert_eq!(counts(), [0, 0], "another key of the institution belongs to another organisation");
    changed(|key| key.locations = Some(vec![LocationId(MAIN)]));
    assert_eq!(counts(), [0, 0], "messages concern all locations");
    world.api.replace_keys(keys().into_iter().filter(|key| key.name != ACME_KEY).collect());
    assert_eq!(counts(), [0, 0]);
    let renewed = keys().into_iter().map(|key| match key.name.as_str() {
        ACME_KEY => ApiKey { hash: hash("another"), ..key },
        _ => key,
    });
    world.api.replace_keys(renewed.collect());
    assert_eq!(counts(), [1, 1], "whichever key of the organisation");
}
