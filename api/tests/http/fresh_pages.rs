//! Pages of lists show every change at once, to callers with the rights of that moment.

use serde_json::{Value, json};

use crate::support::*;

const LIST: &str =
    "/appointments?subdomain=acme&location_id=1&start=2020-01-01T00:00:00Z&end=2040-01-01T00:00:00Z&per_page=1000";

async fn book(world: &ApiWorld, key: &str) -> Value {
    let token = &world.offers(1, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": key, "patient": patient});
    world.post("/intent/booking/book?subdomain=acme", body).ok().await["booking"]["appointment_id"].clone()
}

#[actix_web::test]
async fn a_page_shows_every_change_at_once() {
    let world = world().await;
    let mut known = each(&world.get(LIST).ok().await["data"], "id").len();
    for attempt in 0..3 {
        assert_eq!(each(&world.get(LIST).ok().await["data"], "id").len(), known);
        let id = book(&world, &format!("key-{attempt}")).await;
        let page = world.get(LIST).ok().await;
        assert!(each(&page["data"], "id").contains(&id), "the booking is in the list as soon as it is accepted");
        known += 1;
    }
}

#[actix_web::test]
async fn an_unchanged_page_is_the_same_bytes() {
    let world = world().await;
    let first = world.get(LIST).reply().await;
    let second = world.get(LIST).reply().await;
    assert_eq!((first.status, &first.text), (second.status, &second.text));
    assert_eq!(first.header("content-type"), second.header("content-type"));
}

#[actix_web::test]
async fn a_page_shows_only_what_its_caller_reaches() {
    let world = world().await;
    world.get(LIST).ok().await;
    world.get(LIST).key(RIVAL_KEY).fails(403).await;
    let other = LIST.replace("subdomain=acme&location_id=1", "subdomain=acme&location_id=2");
    world.get(&other).ok().await;
    world.get(&other).key(MAIN_KEY).fails(404).await;
    world.get(LIST).without("Svc-Api-Version").fails(404).await;
}

#[actix_web::test]
async fn pages_respect_changed_rights_of_a_key() {
    let world = world().await;
    world.get(LIST).ok().await;
    let narrowed = keys().into_iter().map(|mut key| {
        key.locations = Some(vec![location::ids::LocationId(SECOND)]);
        key
    });
    world.api.replace_keys(narrowed.collect());
    world.get(LIST).fails(404).await;
}
