//! A practice without an EHR: its records are created through the API, and it takes bookings.

use serde_json::{Value, json};

use crate::support::*;

fn at(path: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}subdomain=acme&location_id={BARE}")
}

async fn create(world: &ApiWorld, path: &str, body: Value) -> Value {
    world.post(&at(path), body).key(BARE_KEY).answers(201).await["data"].clone()
}

#[actix_web::test]
async fn a_practice_is_set_up_through_the_api_and_books() {
    let world = world().await;
    let provider = json!({"provider": {"first_name": "Ada", "last_name": "Weber", "npi": "1234567893"}});
    let provider = create(&world, "/providers", provider).await;
    assert_eq!((&provider["name"], &provider["npi"]), (&json!("Ada Weber"), &json!("1234567893")));
    assert_eq!((&provider["foreign_id"], &provider["foreign_id_type"]), (&Value::Null, &json!("nex")));
    let kind = json!({"location_id": BARE, "appointment_type": {"name": "Check-up", "minutes": 30, "parent_type": "Location",
        "parent_id": BARE}});
    let kind = create(&world, "/appointment_types", kind).await;
    let room = json!({"operatory": {"name": "Room 1", "appointment_type_ids": [kind["id"]]}});
    let room = create(&world, "/operatories", room).await;
    assert_eq!(
        (&room["active"], &room["bookable_online"], &room["location_id"]),
        (&json!(true), &json!(true), &json!(BARE))
    );
    assert_eq!(each(&room["appointment_types"], "id"), [kind["id"].clone()]);
    let hour = json!({"working_hour": {"provider_id": provider["id"], "operatory_id": room["id"], "begin_time": "09:00",
        "end_time": "12:00", "days": ["Monday"], "appointment_type_ids": [kind["id"]]}});
    create(&world, "/working_hours", hour).await;

    for (path, one) in [("/providers", &provider), ("/operatories", &room)] {
        assert_eq!(each(&world.get(&at(path)).key(BARE_KEY).ok().await["data"], "id"), [one["id"].clone()]);
        let path = format!("{path}/{}", one["id"]);
        assert_eq!(world.get(&at(&path)).key(BARE_KEY).ok().await["data"]["id"], one["id"]);
    }
    let search = json!({"start_date": world.monday().to_string(), "provider_ids": [provider["id"]],
        "appointment_type_id": kind["id"], "limit": 1});
    let search =
        async || world.post(&at("/intent/booking/search"), search.clone()).key(BARE_KEY).ok().await["slots"].clone();
    let slots = search().await;
    let body = json!({
        "slot_token": slots[0]["slot_token"], "idempotency_key": "own",
        "patient": {"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-01-02", "phone_number": "555-010-4444"},
    });
    let booked = world.post(&at("/intent/booking/book"), body).key(BARE_KEY).ok().await["booking"].clone();
    assert_eq!((&booked["provider"], &booked["ehr_writeback"]), (&json!("Ada Weber"), &json!("pending")));
    let appointment = at(&format!("/appointments/{}", booked["appointment_id"]));
    assert_eq!(world.get(&appointment).key(BARE_KEY).ok().await["data"]["operatory_id"], room["id"]);

    // Closed or disabled records are not offered, until they are opened again.
    let path = at(&format!("/operatories/{}", room["id"]));
    for (change, offered) in [
        (json!({"bookable_online": false}), 0),
        (json!({"bookable_online": true, "display_name": "Window"}), 1),
        (json!({"active": false}), 0),
        (json!({"active": true, "display_name": null}), 1),
    ] {
        let changed = world.patch(&path, json!({"operatory": change})).key(BARE_KEY).ok().await["data"].clone();
        for (name, value) in change.as_object().unwrap() {
            assert_eq!(changed[name], *value, "{changed}");
        }
        assert_eq!(search().await.as_array().unwrap().len(), offered, "{change}");
    }
}

#[actix_web::test]
async fn deleted_records_are_not_offered() {
    let world = world().await;
    let provider = create(&world, "/providers", json!({"provider": {"first_name": "Ada", "last_name": "Weber"}})).await;
    let room = create(&world, "/operatories", json!({"operatory": {"name": "Room 1"}})).await;
    let hour = json!({"working_hour": {"provider_id": provider["id"], "operatory_id": room["id"], "begin_time": "09:00",
        "end_time": "12:00", "days": ["Monday"]}});
    let hour = create(&world, "/working_hours", hour).await;
    let one = at(&format!("/providers/{}", provider["id"]));
    let refused = world.delete(&one).key(BARE_KEY).fails(409).await;
    assert_eq!(refused, [format!("The provider has working hours at location {BARE}: remove them first.")]);

    let leaves = json!({"provider": {"inactive": true}});
    assert_eq!(world.patch(&one, leaves).key(BARE_KEY).fails(409).await, refused);

    let gone = world.delete(&at(&format!("/operatories/{}", room["id"]))).key(BARE_KEY).ok().await["data"].clone();
    assert_eq!(gone["active"], json!(false));
    let search = json!({"start_date": world.monday().to_string(), "limit": 1});
    let found = world.post(&at("/intent/booking/search"), search).key(BARE_KEY).ok().await;
    assert_eq!(found["slots"], json!([]), "hours in a room that is gone");
    world.delete(&at(&format!("/operatories/{}", room["id"]))).key(BARE_KEY).fails(404).await;

    let ended = world.delete(&at(&format!("/working_hours/{}", hour["id"]))).key(BARE_KEY).reply().await;
    assert_eq!(ended.status, 204);
    assert_eq!(world.delete(&one).key(BARE_KEY).ok().await["data"]["inactive"], json!(true));
    let hour = json!({"working_hour": {"provider_id": provider["id"], "begin_time": "09:00", "end_time": "12:00", "days": ["Monday"]}});
    world.post(&at("/working_hours"), hour).key(BARE_KEY).fails(400).await;
    let back = world.patch(&one, json!({"provider": {"inactive": false, "email": "ada@example.com"}}));
    let back = back.key(BARE_KEY).ok().await["data"].clone();
    assert_eq!((&back["inactive"], &back["email"]), (&json!(false), &json!("ada@example.com")));
}

#[actix_web::test]
async fn a_deleted_type_blocks_nothing() {
    let world = world().await;
    let kind = json!({"location_id": BARE, "appointment_type": {"name": "Check-up", "parent_type": "Location", "parent_id": BARE}});
    let kind = create(&world, "/appointment_types", kind).await;
    let room = json!({"operatory": {"name": "Room 1", "appointment_type_ids": [kind["id"]]}});
    let room = create(&world, "/operatories", room).await;
    world.delete(&at(&format!("/appointment_types/{}", kind["id"]))).key(BARE_KEY).ok().await;
    let path = at(&format!("/operatories/{}", room["id"]));
    world.patch(&path, json!({"operatory": {"bookable_online": false}})).key(BARE_KEY).ok().await;
    world.delete(&path).key(BARE_KEY).ok().await;
}

#[actix_web::test]
async fn records_of_an_ehr_cannot_be_changed_and_own_ones_are_isolated() {
    let world = world().await;
    let refused = "This location has a health record system.";
    for (path, body) in [
        ("/providers", json!({"provider": {"first_name": "Ada", "last_name": "Weber"}})),
        ("/operatories", json!({"operatory": {"name": "Room 1"}})),
    ] {
        let at_main = format!("{path}?subdomain=acme&location_id={MAIN}");
        assert_eq!(world.post(&at_main, body.clone()).fails(422).await, [refused]);
        // A record of the EHR cannot be changed through the location without one.
        let id = if path == "/providers" { u64::from(ANNA) } else { CHAIR_1 };
        let status = if path == "/providers" { 400 } else { 404 };
        let name = path.trim_matches('/').trim_end_matches("ies").trim_end_matches('s');
        let name = if name == "operator" { "operatory" } else { name };
        world.patch(&at(&format!("{path}/{id}")), json!({name: {}})).fails(status).await;
        // A record made here is invisible to a key for the location with the EHR, and to another tenant.
        let made = create(&world, path, body).await;
        let one = format!("{path}/{}", made["id"]);
        world.get(&format!("{one}?subdomain=acme")).key(MAIN_KEY).fails(404).await;
        world.get(&format!("{one}?subdomain=rival")).key(RIVAL_KEY).fails(404).await;
        world.patch(&at(&one), json!({name: {}})).key(RIVAL_KEY).fails(403).await;
    }
    let wrong = json!({"operatory": {"name": " ", "active": "maybe", "appointment_type_ids": [0]}});
    let problems = world.post(&at("/operatories"), wrong).fails(400).await;
    assert_eq!(problems.len(), 3, "{problems:?}");
    let unknown = json!({"operatory": {"name": "Room 1", "appointment_type_ids": [CLEANING]}});
    assert_eq!(
        world.post(&at("/operatories"), unknown).fails(404).await,
        [format!("Appointment Type with id {CLEANING} not found")],
        "a type of the EHR"
    );
}
