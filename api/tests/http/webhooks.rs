use framework::access::keys::{ApiKey, hash};
use location::{
    ids::{InstitutionId, LocationId},
    time::HOUR,
};
use serde_json::{Value, json};

use crate::support::*;

async fn endpoint(world: &ApiWorld) -> Value {
    world.post("/webhook_endpoints", json!({"target_url": "https://hooks.example.com/in"})).answers(201).await["data"]
        .clone()
}

#[actix_web::test]
async fn an_endpoint_shows_its_secret_once() {
    let world = world().await;
    let made = endpoint(&world).await;
    assert!(made["secret_key"].as_str().unwrap().len() > 30);
    assert_eq!((&made["target_url"], &made["active"]), (&json!("https://hooks.example.com/in"), &json!(true)));
    let list = world.get("/webhook_endpoints").ok().await;
    assert_eq!((&list["count"], &list["data"][0]["secret_key"]), (&json!(1), &Value::Null));
    assert_eq!(world.get("/webhook_endpoints?active=false").ok().await["count"], json!(0));
    assert_eq!(
        world.get("/webhook_endpoints").key(RIVAL_KEY).ok().await["count"],
        json!(0),
        "other owners do not see it"
    );
}

#[actix_web::test]
async fn only_https_urls_of_public_hosts_are_accepted() {
    let world = world().await;
    let post = async |url: Value| world.post("/webhook_endpoints", json!({ "target_url": url })).fails(400).await;
    assert_eq!(post(json!("http://hooks.example.com")).await, ["target_url must be a valid HTTPS URL."]);
    assert_eq!(post(json!("not a url")).await, ["target_url is not a valid URL."]);
    for private in
        ["https://127.0.0.1/", "https://localhost/", "https://10.0.0.1/", "https://[::1]/", "https://169.254.169.254/"]
    {
        assert_eq!(post(json!(private)).await, ["target_url must lead to a host on the public internet."], "{private}");
    }
    assert_eq!(post(json!(7)).await, ["target_url must be a string."]);
    assert_eq!(post(json!("")).await, ["target_url must not be empty."]);
    assert_eq!(
        post(json!("https://x.example/".to_owned() + &"x".repeat(3_000))).await,
        ["target_url must not be longer than 2048 characters."]
    );
    assert_eq!(world.post("/webhook_endpoints", json!({})).fails(400).await, ["target_url is missing."]);
}

#[actix_web::test]
async fn subscriptions_belong_to_an_endpoint_and_an_institution() {
    let world = world().await;
    let id = endpoint(&world).await["id"].clone();
    let path = format!("/webhook_endpoints/{id}/webhook_subscriptions?subdomain=acme");
    let wanted = json!({"resource_type": "appointment", "event": "appointment_insertion"});
    let made = world.post(&path, wanted.clone()).answers(201).await["data"].clone();
    assert_eq!((&made["resource_type"], &made["event"]), (&json!("Appointment"), &json!("appointment_insertion")));
    assert_eq!(
        (&made["webhook_endpoint_id"], &made["institution_id"], &made["active"]),
        (&id, &json!(1), &json!(true))
    );
    let twice = world.post(&path, wanted.clone()).fails(409).await;
    assert_eq!(twice, ["The endpoint is already subscribed to appointment_insertion of this institution."]);
    let list = world.get(&format!("{path}&resource_type=Appointment&event=appointment_insertion")).ok().await;
    assert_eq!((&list["count"], &list["data"][0]), (&json!(1), &made));
    assert_eq!(world.get(&format!("{path}&resource_type=Patient")).ok().await["count"], json!(0));

    // The scope belongs into the query, not the body.
    let bare = format!("/webhook_endpoints/{id}/webhook_subscriptions");
    let in_body = json!({"resource_type": "Appointment", "event": "appointment_updated", "subdomain": "acme"});
    assert_eq!(world.post(&bare, in_body).fails(403).await, ["You don't have access to perform this action."]);
    let rivals = path.replace("acme", "rival");
    assert_eq!(
        world.post(&rivals, wanted.clone()).key(RIVAL_KEY).fails(404).await,
        [format!("Webhook endpoint with id {id} not found")]
    );
    assert_eq!(
        world.get("/webhook_endpoints/77/webhook_subscriptions").fails(404).await,
        ["Webhook endpoint with id 77 not found"]
    );
}

#[actix_web::test]
async fn a_subscription_has_the_payload_that_was_specified() {
    let world = world().await;
    let id = endpoint(&world).await["id"].clone();
    let path = format!("/webhook_endpoints/{id}/webhook_subscriptions");
    let (all, of) = (format!("{path}?subdomain=acme"), |it: &Value| format!("{path}/{}?subdomain=acme", it["id"]));
    let wanted = |event: &str, payload: Value| json!({"resource_type": "Patient", "event": event, "payload": payload});
    let made = world.post(&all, wanted("patient_updated", json!("ids"))).answers(201).await["data"].clone();
    assert_eq!(made["payload"], "ids");
    let twice = world.post(&all, wanted("patient_updated", json!("full"))).fails(409).await;
    assert_eq!(twice, ["The endpoint is already subscribed to patient_updated of this institution."]);
    let plain = json!({"resource_type": "Patient", "event": "patient_created"});
    let plain = world.post(&all, plain).answers(201).await["data"].clone();
    assert_eq!(plain.get("payload"), None);

    assert_eq!(world.get(&of(&made)).ok().await["data"]["payload"], "ids");
    let kept = world.patch(&of(&made), json!({"active": false})).ok().await["data"].clone();
    assert_eq!((&kept["payload"], &kept["active"]), (&json!("ids"), &json!(false)));
    for (payload, subscription) in [("full", &made), ("ids", &plain)] {
        let changed = world.patch(&of(subscription), json!({"payload": payload})).ok().await["data"].clone();
        assert_eq!((&changed["payload"], &changed["id"]), (&json!(payload), &subscription["id"]));
    }
    let list = world.get(&all).ok().await;
    assert_eq!((&list["data"][0]["payload"], &list["data"][1]["payload"]), (&json!("full"), &json!("ids")));
    let refused = world.patch(&of(&made), json!({"payload": "some"})).fails(400).await;
    assert_eq!(refused, ["payload must be one of full, ids."]);
}

#[actix_web::test]
async fn unknown_events_are_answered_with_the_known_ones() {
    let world = world().await;
    let id = endpoint(&world).await["id"].clone();
    let path = format!("/webhook_endpoints/{id}/webhook_subscriptions?subdomain=acme");
    let errors = world.post(&path, json!({"resource_type": "Tooth", "event": "x"})).fails(400).await;
    assert!(errors[0].contains("Appointment, Charge"), "{errors:?}");
    let errors =
        world.post(&path, json!({"resource_type": "Patient", "event": "appointment_created"})).fails(400).await;
    assert!(errors[0].contains("patient_created"), "{errors:?}");
    let errors = world.post(&path, json!({"event": 5, "active": "yes"})).fails(400).await;
    assert_eq!(errors, ["resource_type is missing.", "event must be a string.", "active must be true or false."]);
    let wrong_id = world.post("/webhook_endpoints/x/webhook_subscriptions?subdomain=acme", json!({})).fails(400).await;
    assert_eq!(wrong_id, ["id must be an integer."]);
}

async fn registered(world: &ApiWorld, url: &str) -> Value {
    world.post("/webhook_endpoints", json!({"target_url": url})).answers(201).await["data"]["id"].clone()
}

async fn subscription(world: &ApiWorld, endpoint: &Value, event: &str) -> Value {
    let path = format!("/webhook_endpoints/{endpoint}/webhook_subscriptions?subdomain=acme");
    let body = json!({"resource_type": "Appointment", "event": event});
    world.post(&path, body).answers(201).await["data"]["id"].clone()
}

#[actix_web::test]
async fn endpoints_are_changed_and_removed() {
    let world = world().await;
    let id = registered(&world, "https://8.8.8.8/one").await;
    let path = format!("/webhook_endpoints/{id}");
    let changed = world.patch(&path, json!({"target_url": "https://8.8.4.4/two", "active": false})).ok().await;
    let one = &changed["data"];
    assert_eq!((&one["target_url"], &one["active"]), (&json!("https://8.8.4.4/two"), &json!(false)));
    assert_eq!(one["secret_key"], Value::Null, "it is shown once");
    assert_eq!(world.get("/webhook_endpoints?active=true").ok().await["count"], 0);
    let refused = world.patch(&path, json!({"target_url": "https://127.0.0.1/x"})).fails(400).await;
    assert!(refused[0].starts_with("target_url "), "{refused:?}");
    world.patch(&path, json!({"active": true})).key(RIVAL_KEY).fails(404).await;
    world.delete(&path).key(RIVAL_KEY).fails(404).await;
    subscription(&world, &id, "appointment_insertion").await;
    world.delete(&path).reply().await;
    assert_eq!(
        world.get(&format!("{path}/webhook_subscriptions?subdomain=acme")).fails(404).await,
        [format!("Webhook endpoint with id {id} not found")]
    );
    world.delete(&path).fails(404).await;
}

#[actix_web::test]
async fn a_subscription_of_one_location_is_not_found_in_another() {
    let world = world().await;
    let endpoint = registered(&world, "https://8.8.8.8/1").await;
    let at = |id: &str, location: u32| {
        format!("/webhook_endpoints/{endpoint}/webhook_subscriptions{id}?subdomain=acme&location_id={location}")
    };
    let body = json!({"resource_type": "Appointment", "event": "appointment_insertion"});
    let made = world.post(&at("", MAIN), body).answers(201).await["data"]["id"].clone();
    let id = format!("/{made}");
    let refused = world.patch(&at(&id, SECOND), json!({"active": false})).fails(404).await;
    assert_eq!(refused, [format!("Webhook subscription with id {made} not found in location {SECOND}")]);
    world.patch(&at(&id, MAIN), json!({"active": false})).ok().await;
}

#[actix_web::test]
async fn subscriptions_are_changed_moved_and_removed() {
    let world = world().await;
    let (first, second) =
        (registered(&world, "https://8.8.8.8/1").await, registered(&world, "https://8.8.8.8/2").await);
    let id = subscription(&world, &first, "appointment_insertion").await;
    let at = |endpoint: &Value| format!("/webhook_endpoints/{endpoint}/webhook_subscriptions/{id}?subdomain=acme");
    let off = world.patch(&at(&first), json!({"active": false})).ok().await;
    assert_eq!((&off["data"]["active"], &off["data"]["webhook_endpoint_id"]), (&json!(false), &first));
    let moved = world.patch(&at(&first), json!({"new_endpoint_id": second, "active": true})).ok().await;
    assert_eq!((&moved["data"]["active"], &moved["data"]["webhook_endpoint_id"]), (&json!(true), &second));
    world.patch(&at(&first), json!({"active": true})).fails(404).await;
    // A moved subscription can be created again at the first endpoint, and then cannot move back.
    subscription(&world, &first, "appointment_insertion").await;
    world.patch(&at(&second), json!({"new_endpoint_id": first})).fails(409).await;
    world.patch(&at(&second), json!({"new_endpoint_id": 99})).fails(400).await;
    world.patch(&at(&second).replace("?subdomain=acme", ""), json!({"active": true})).fails(403).await;
    assert_eq!(world.delete(&at(&second)).reply().await.status.as_u16(), 204);
    world.delete(&at(&second)).fails(404).await;
}

#[actix_web::test]
async fn an_idempotency_key_registers_once() {
    let world = world().await;
    let register =
        |url: &str| world.post("/webhook_endpoints", json!({"target_url": url})).with("Idempotency-Key", "k-1");
    let first = register("https://8.8.8.8/one").reply().await;
    let again = register("https://8.8.8.8/one").reply().await;
    assert_eq!((first.status.as_u16(), again.status.as_u16()), (201, 201));
    assert_eq!(first.json()["data"], again.json()["data"]);
    assert_eq!((first.header("idempotent-replay"), again.header("idempotent-replay")), (None, Some("true")));
    register("https://8.8.8.8/two").fails(409).await;
    assert_eq!(world.get("/webhook_endpoints").ok().await["count"], 1);
}

/// Adds a key of the first organisation and returns the header of its calls.
fn second_key(world: &ApiWorld, change: fn(&mut ApiKey)) -> String {
    let mut all = keys();
    let mut second = all[0].clone();
    (second.name, second.hash) = ("key-second".to_owned(), hash("key-second"));
    change(&mut second);
    let token = world.api.tokens.mint(second.id(), world.engine.now(), HOUR);
    all.push(second);
    world.api.replace_keys(all);
    format!("Bearer {token}")
}

/// Keys of one organisation share its endpoints. A key cannot redirect messages that it may not receive.
#[actix_web::test]
async fn a_weaker_key_of_the_owner_cannot_redirect_messages() {
    let weaker: [fn(&mut ApiKey); 3] = [
        |key| key.grants.financial = false,
        |key| key.institutions = vec![InstitutionId(2)],
        |key| key.locations = Some(vec![LocationId(MAIN)]),
    ];
    for (n, change) in weaker.into_iter().enumerate() {
        let world = world().await;
        let token = second_key(&world, change);
        let id = registered(&world, "https://8.8.8.8/one").await;
        let path = format!("/webhook_endpoints/{id}");
        let body = json!({"resource_type": "Payment", "event": "payment_created", "active": false});
        let subscribe = format!("{path}/webhook_subscriptions?subdomain=acme");
        let subscription = world.post(&subscribe, body).answers(201).await["data"]["id"].clone();
        let one = format!("{path}/webhook_subscriptions/{subscription}");

        world.get(&path).with("Authorization", &token).ok().await;
        let redirect = json!({"target_url": "https://8.8.4.4/mine"});
        world.patch(&path, redirect.clone()).with("Authorization", &token).fails(403).await;
        world.patch(&path, json!({"active": false})).with("Authorization", &token).fails(403).await;
        let rotate = format!("{path}/rotate_secret");
        world.post(&rotate, json!({"overlap_hours": 0})).with("Authorization", &token).fails(403).await;
        world.delete(&path).with("Authorization", &token).fails(403).await;
        // Subscriptions of another institution are not visible.
        let (changed, ended) = if n == 1 { (403, 404) } else { (403, 403) };
        let inside = format!("{one}?subdomain=acme");
        world.patch(&inside, json!({"active": true})).with("Authorization", &token).fails(changed).await;
        world.patch(&inside, json!({"new_endpoint_id": 2})).with("Authorization", &token).fails(changed).await;
        world.delete(&one).with("Authorization", &token).fails(ended).await;
        assert_eq!(world.get(&one).ok().await["data"]["active"], false, "as it was made");
        assert_eq!(world.get(&path).ok().await["data"]["target_url"], "https://8.8.8.8/one");

        // Subscriptions that the key may receive, or that no key may receive, do not block the change.
        world.delete(&one).answers_nothing(204).await;
        world.patch(&path, redirect).with("Authorization", &token).ok().await;
        world.delete(&path).with("Authorization", &token).answers_nothing(204).await;
    }
}

/// An institution that no key of the organisation covers blocks nothing. Its subscriptions stay inactive until an
/// entitled key activates them.
#[actix_web::test]
async fn subscriptions_beyond_all_keys_block_nothing() {
    let world = world().await;
    let id = registered(&world, "https://8.8.8.8/one").await;
    let path = format!("/webhook_endpoints/{id}");
    let subscription = subscription(&world, &id, "appointment_insertion").await;
    let one = format!("{path}/webhook_subscriptions/{subscription}");
    let mut left = keys();
    left[0].institutions = vec![InstitutionId(2)];
    world.api.replace_keys(left);
    world.patch(&path, json!({"target_url": "https://8.8.4.4/two"})).ok().await;
    world.delete(&one).fails(404).await;
    world.api.replace_keys(keys());
    assert_eq!(world.get(&one).ok().await["data"]["active"], false);
    world.patch(&format!("{one}?subdomain=acme"), json!({"active": true})).ok().await;
}
