//! Operatories and types closed to online booking, and practices whose schedule is unknown.

use std::sync::atomic::Ordering;

use engine::records::ehr::{EhrAppointmentType, EhrOperatory, EhrRecord};
use location::ids::LocationId;
use serde_json::{Value, json};
use testing::until;

use crate::support::*;

const SEARCH: &str = "/intent/booking/search?subdomain=acme&location_id=1";
const BOOK: &str = "/intent/booking/book?subdomain=acme";
const HOLD: &str = "/intent/booking/hold?subdomain=acme";

fn booking(token: &Value, key: &str) -> Value {
    json!({"slot_token": token, "idempotency_key": key, "patient": {"first_name": "Mia", "last_name": "Meier",
        "date_of_birth": "1990-02-03", "phone_number": "5550109999"}})
}

/// Returns offers of Ben, who works in the second operatory.
async fn offers_of_ben(world: &ApiWorld) -> Vec<Value> {
    let body = json!({"start_date": world.monday().to_string(), "provider_ids": [BEN], "limit": 3, "appointment_type_id": CHECKUP});
    world.post(SEARCH, body).ok().await["slots"].as_array().unwrap().clone()
}

pub async fn set_chair_2(world: &ApiWorld, bookable_online: bool) {
    world.books.edit(EhrRecord::Operatory(EhrOperatory {
        id: "chair 2".into(),
        name: "Chair 2".into(),
        active: true,
        bookable_online,
        ..EhrOperatory::default()
    }));
    world.sync(MAIN).await;
}

pub async fn set_checkup(world: &ApiWorld, bookable_online: bool) {
    world.books.edit(EhrRecord::AppointmentType(EhrAppointmentType {
        id: "checkup".into(),
        name: "Checkup".into(),
        minutes: 30,
        bookable_online,
        ..EhrAppointmentType::default()
    }));
    world.sync(MAIN).await;
}

#[actix_web::test]
async fn an_operatory_closed_to_patients_is_bookable_by_staff_only() {
    let world = world().await;
    let offers = offers_of_ben(&world).await;
    let made = world.post(BOOK, booking(&offers[0]["slot_token"], "before")).ok().await;
    set_chair_2(&world, false).await;

    let monday = world.monday();
    let found = world.post(SEARCH, json!({"start_date": monday.to_string(), "limit": 100})).ok().await;
    assert!(each(&found["slots"], "operatory_id").iter().all(|room| *room == json!(CHAIR_1)), "{found}");
    let asked = json!({"start_date": monday.to_string(), "operatory_ids": [CHAIR_2]});
    let none = world.post(SEARCH, asked).ok().await;
    assert_eq!((&none["slots"], &none["next_available_date"]), (&json!([]), &Value::Null));
    let path = format!("/available_slots?subdomain=acme&start_date={monday}&days=5&lids[]=1");
    assert_eq!(each(&world.get(&path).ok().await["data"], "operatory_id"), [CHAIR_1]);

    // Tokens issued before the operatory was closed are refused, with alternatives.
    for refused in [
        world.post(BOOK, booking(&offers[1]["slot_token"], "after")).answers(409).await,
        world.post(HOLD, json!({"slot_token": offers[1]["slot_token"]})).answers(409).await,
    ] {
        assert_eq!(refused["reason"], json!("slot_taken"));
        let rooms = each(&refused["alternatives"], "operatory_id");
        assert!(!rooms.is_empty() && rooms.iter().all(|room| *room == json!(CHAIR_1)), "{rooms:?}");
    }
    let again = world.post(BOOK, booking(&offers[0]["slot_token"], "before")).ok().await;
    assert_eq!((&again["replay"], &again["booking"]), (&json!(true), &made["booking"]));

    let start = offers[2]["start_iso"].clone();
    let appt = json!({"appt": {"patient_id": PAT, "provider_id": BEN, "operatory_id": CHAIR_2, "start_time": start}});
    world.post("/appointments?subdomain=acme&location_id=1", appt).answers(201).await;
    set_chair_2(&world, true).await;
    assert!(!offers_of_ben(&world).await.is_empty(), "opened again");
}

#[actix_web::test]
async fn a_type_closed_to_patients_is_bookable_by_staff_only() {
    let world = world().await;
    let offers = offers_of_ben(&world).await;
    set_checkup(&world, false).await;
    let search = json!({"start_date": world.monday().to_string(), "appointment_type_id": CHECKUP});
    let none = world.post(SEARCH, search).ok().await;
    assert_eq!((&none["ok"], &none["slots"], &none["next_available_date"]), (&json!(true), &json!([]), &Value::Null));
    assert_eq!(none["message"], json!("Only Place 1 can book Checkup; please call the practice."));
    let path =
        format!("/available_slots?subdomain=acme&start_date={}&days=5&lids[]=1&appointment_type_id=2", world.monday());
    let none = world.get(&path).ok().await;
    assert_eq!(
        (&none["data"][0]["slots"], &none["data"][0]["next_available_date"], &none["description"]),
        (
            &json!([]),
            &Value::Null,
            &json!("Only the practice can book appointments of this type: bookable_online is false.")
        )
    );
    for refused in [
        world.post(BOOK, booking(&offers[1]["slot_token"], "k")).answers(422).await,
        world.post(HOLD, json!({"slot_token": offers[1]["slot_token"]})).answers(422).await,
    ] {
        assert_eq!((&refused["ok"], &refused["reason"]), (&json!(false), &json!("not_bookable_online")));
    }
    let appt = json!({"appt": {"patient_id": PAT, "provider_id": BEN, "operatory_id": CHAIR_2, "appointment_type_id": CHECKUP,
        "start_time": offers[2]["start_iso"]}});
    world.post("/appointments?subdomain=acme&location_id=1", appt).answers(201).await;
}

#[actix_web::test]
async fn an_unread_schedule_is_never_reported_as_full() {
    let world = world_unread().await;
    let slots = "/available_slots?subdomain=acme&start_date=2026-12-01&days=1&lids[]=1";
    let slots = slots.replace("2026-12-01", &world.monday().to_string());
    let search = world.post(SEARCH, json!({})).reply().await;
    assert_eq!((search.status.as_u16(), search.header("Retry-After")), (503, Some("30")));
    let reply = search.json();
    assert_eq!((&reply["ok"], &reply["reason"]), (&json!(false), &json!("schedule_not_read")));
    let message =
        "The schedule of Place 1 has not been read yet, so its free slots are not known. Please try again in a minute.";
    assert_eq!((&reply["message"], &reply["error"]), (&json!(message), &json!([message])));
    let refused = world.get(&slots).reply().await;
    assert_eq!((refused.status.as_u16(), refused.header("Retry-After")), (503, Some("30")));
    assert!(refused.text.contains("has not been read yet"), "{}", refused.text);
    // A location without an EHR has no schedule to wait for.
    let bare = "/intent/booking/search?subdomain=acme&location_id=7";
    assert_eq!(world.post(bare, json!({})).ok().await["message"], json!("There is no such slot at Place 7."));

    world.books.unreadable.store(false, Ordering::SeqCst);
    world.sync(MAIN).await;
    let found = world.post(SEARCH, json!({})).ok().await;
    assert!(found["message"].as_str().unwrap().starts_with("The first free slot at Place 1 is "), "{found}");
    world.get(&slots).ok().await;
}

#[actix_web::test]
async fn the_time_of_an_old_read_is_named() {
    let world = world_read_every(1_000).await;
    let search = async || world.post(SEARCH, json!({})).ok().await;
    assert_eq!(search().await.get("description"), None);
    world.books.unreadable.store(true, Ordering::SeqCst);
    let last = async || world.engine.sync_state(LocationId(MAIN)).await.unwrap().last_sync;
    let before = last().await;
    let names_the_read = |shown: &Value| {
        let description = shown["description"].as_str().unwrap_or_default();
        description.starts_with("The system of Place 1 was last read on ")
    };
    until("the old read is named", async || names_the_read(&search().await)).await;
    assert!(last().await >= before);
    let slots = format!("/available_slots?subdomain=acme&start_date={}&days=1&lids[]=1", world.monday());
    assert!(names_the_read(&world.get(&slots).ok().await));
}
