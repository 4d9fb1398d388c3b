//! Several patients at once: groups of free slots, and their booking as a whole.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::*;

const SEARCH: &str = "/intent/booking/search?subdomain=acme&location_id=1";
const BOOK: &str = "/intent/booking/book?subdomain=acme";

fn child(first_name: &str) -> Value {
    json!({"first_name": first_name, "last_name": "Meier", "date_of_birth": "2019-02-03", "phone_number": "+1 555 010 9999"})
}

/// Returns the first group of checkups on a Monday.
async fn group(world: &ApiWorld, size: usize, arrangement: &str) -> Vec<Value> {
    let monday = world.monday().to_string();
    let body = json!({"start_date": monday, "appointment_type_id": CHECKUP, "party_size": size, "arrangement": arrangement, "limit": 1});
    let found = world.post(SEARCH, body).ok().await;
    assert_eq!((&found["slots"], found["groups"].as_array().unwrap().len()), (&json!([]), 1), "{found}");
    let slots = found["groups"][0]["slots"].as_array().unwrap().clone();
    assert_eq!(slots.len(), size);
    slots
}

fn request(slots: &[Value], patients: &[Value], key: &str) -> Value {
    let bookings = slots.iter().zip(patients);
    let bookings = bookings.map(|(slot, patient)| json!({"slot_token": slot["slot_token"], "patient": patient}));
    json!({"idempotency_key": key, "bookings": bookings.collect::<Vec<_>>()})
}

#[actix_web::test]
async fn search_offers_consecutive_slots_for_a_family() {
    let world = world().await;
    let monday = world.monday().to_string();
    let body = json!({"start_date": monday, "appointment_type_id": CHECKUP, "party_size": 3, "limit": 4});
    let found = world.post(SEARCH, body).ok().await;
    assert!(found["message"].as_str().unwrap().starts_with("The first free time for 3 patients at Place 1 is Mon, "));
    let groups = found["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 4);
    let mut starts = BTreeSet::new();
    for group in groups {
        let slots = group["slots"].as_array().unwrap();
        assert_eq!(slots.len(), 3);
        let times: Vec<_> = slots
            .iter()
            .map(|slot| chrono::DateTime::parse_from_rfc3339(slot["start_iso"].as_str().unwrap()).unwrap())
            .collect();
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == chrono::TimeDelta::minutes(30)), "{group}");
        assert_eq!(slots[0]["duration_minutes"], json!(30));
        assert!(slots.iter().all(|slot| slot["provider_id"] == slots[0]["provider_id"]), "{group}");
        assert!(starts.insert(times[0]), "one group for each start");
    }
}

#[actix_web::test]
async fn search_offers_parallel_slots_in_different_operatories() {
    let world = world().await;
    let slots = group(&world, 2, "parallel").await;
    assert_eq!(slots[0]["start_iso"], slots[1]["start_iso"]);
    assert_ne!(slots[0]["operatory_id"], slots[1]["operatory_id"]);
    assert_ne!(slots[0]["provider_id"], slots[1]["provider_id"]);
    let monday = world.monday().to_string();
    let many = json!({"start_date": monday, "party_size": 8, "arrangement": "parallel"});
    let found = world.post(SEARCH, many).ok().await;
    assert_eq!((&found["groups"], &found["next_available_date"]), (&json!([]), &Value::Null), "there are two chairs");
    assert_eq!(found["message"], json!("There is no such time for 8 patients at Place 1."));
}

#[actix_web::test]
async fn search_for_a_family_respects_times_and_finds_the_next_date() {
    let world = world().await;
    let monday = world.monday();
    let search = async |body: Value| world.post(SEARCH, body).ok().await;
    let sunday = json!({"start_date": monday.add_days(-1).to_string(), "days": 1, "party_size": 2});
    let found = search(sunday).await;
    assert_eq!((&found["groups"], &found["slots"]), (&json!([]), &json!([])));
    assert_eq!(found["next_available_date"], json!(monday.to_string()));
    let late = json!({"start_date": monday.to_string(), "days": 7, "earliest": "13:00", "latest": "14:00", "party_size": 3,
        "appointment_type_id": CHECKUP, "days_of_week": ["tuesday"], "limit": 100});
    let found = search(late).await;
    let groups = found["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 1, "three visits from 13:00 on, the last one at 14:00: {found}");
    assert!(groups[0]["slots"][0]["start_local"].as_str().unwrap().starts_with("Tue, "));
    assert!(groups[0]["slots"][0]["start_local"].as_str().unwrap().contains(" 1:00 PM"));
    let single = search(json!({"limit": 1})).await;
    assert_eq!(single.get("groups"), None, "a search without party_size is unchanged");
}

#[actix_web::test]
async fn search_for_a_family_names_wrong_values() {
    let world = world().await;
    let search = |body: Value| world.post(SEARCH, body).fails(400);
    let without = "arrangement needs party_size, the number of patients who come together.";
    assert_eq!(search(json!({"arrangement": "parallel"})).await, [without]);
    for size in [json!(0), json!(1), json!(9)] {
        assert_eq!(search(json!({"party_size": size})).await, ["party_size must be between 2 and 8."]);
    }
    let unknown = search(json!({"party_size": 2, "arrangement": "stacked"})).await;
    assert_eq!(unknown, ["arrangement must be consecutive or parallel."]);
}

#[actix_web::test]
async fn a_family_is_booked_as_a_whole_and_replayed() {
    let world = world().await;
    let slots = group(&world, 3, "consecutive").await;
    let body = request(&slots, &[child("Mia"), child("Max"), child("Mia")], "family");
    let made = world.post(BOOK, body.clone()).ok().await;
    assert_eq!((&made["ok"], &made["replay"], made.get("booking")), (&json!(true), &json!(false), None));
    let bookings = made["bookings"].as_array().unwrap();
    assert_eq!(
        each(&made["bookings"], "start_iso"),
        slots.iter().map(|slot| slot["start_iso"].clone()).collect::<Vec<_>>()
    );
    let references: BTreeSet<String> = each(&made["bookings"], "booking_ref").iter().map(Value::to_string).collect();
    assert_eq!(references.len(), 3, "each booking has its own reference");
    assert!(bookings.iter().all(|booking| booking["ehr_writeback"] == json!("pending")));
    let patients = each(&made["bookings"], "patient_id");
    assert_eq!(patients[0], patients[2], "a new patient with two visits is created once");
    assert_ne!(patients[0], patients[1]);
    let message = made["message"].as_str().unwrap();
    assert_eq!(message.matches(" is booked and is being sent to the practice's system.").count(), 3, "{message}");

    let again = world.post(BOOK, body).ok().await;
    assert_eq!((&again["replay"], &again["bookings"]), (&json!(true), &made["bookings"]));
    let status =
        format!("/intent/booking/status?subdomain=acme&booking_ref={}", bookings[1]["booking_ref"].as_str().unwrap());
    assert_eq!(world.get(&status).ok().await["booking"], bookings[1]);
    for other in [
        request(&slots, &[child("Mia"), child("Tom"), child("Mia")], "family"),
        request(&slots[..2], &[child("Mia"), child("Max")], "family"),
        json!({"idempotency_key": "family", "slot_token": slots[0]["slot_token"], "patient": child("Mia")}),
    ] {
        let conflict = world.post(BOOK, other).answers(409).await;
        assert_eq!((&conflict["reason"], conflict.get("index")), (&json!("idempotency_conflict"), None), "{conflict}");
    }
}

#[actix_web::test]
async fn a_taken_slot_refuses_the_whole_group_and_names_the_booking() {
    let world = world().await;
    let slots = group(&world, 3, "consecutive").await;
    let taken = json!({"idempotency_key": "single", "slot_token": slots[1]["slot_token"], "patient": child("Tom")});
    world.post(BOOK, taken).ok().await;
    let patients = [child("Mia"), child("Max"), child("Leo")];
    let refused = world.post(BOOK, request(&slots, &patients, "family")).answers(409).await;
    assert_eq!(
        (&refused["ok"], &refused["reason"], &refused["index"]),
        (&json!(false), &json!("slot_taken"), &json!(1))
    );
    let alternatives = refused["alternatives"].as_array().unwrap();
    assert!(!alternatives.is_empty());
    for slot in [&slots[0], &slots[2]] {
        let place = |offer: &Value| [offer["start_iso"].clone(), offer["operatory_id"].clone()];
        assert!(alternatives.iter().all(|offer| place(offer) != place(slot)), "{refused}");
    }
    // Nothing was booked, and the key is free: with the alternative, the same request succeeds.
    let corrected = [slots[0].clone(), alternatives[0].clone(), slots[2].clone()];
    let made = world.post(BOOK, request(&corrected, &patients, "family")).ok().await;
    assert_eq!((&made["replay"], made["bookings"].as_array().unwrap().len()), (&json!(false), 3));
}

#[actix_web::test]
async fn a_group_takes_the_holds_of_its_tokens() {
    let world = world().await;
    let slots = group(&world, 2, "parallel").await;
    for slot in &slots {
        world.post("/intent/booking/hold?subdomain=acme", json!({"slot_token": slot["slot_token"]})).ok().await;
    }
    let theirs = group(&world, 2, "parallel").await;
    assert_ne!(theirs[0]["start_iso"], slots[0]["start_iso"]);
    world.post(BOOK, request(&slots, &[child("Mia"), child("Max")], "family")).ok().await;
}

#[actix_web::test]
async fn refusals_of_a_group_name_the_booking() {
    let world = world().await;
    let slots = group(&world, 2, "parallel").await;
    let refused = async |slots: &[Value], patients: &[Value], status: u16| {
        let refused = world.post(BOOK, request(slots, patients, "family")).answers(status).await;
        assert_eq!((&refused["ok"], &refused["index"]), (&json!(false), &json!(1)), "{refused}");
        refused
    };
    let twice = refused(&slots, &[child("Mia"), child("Mia")], 422).await;
    assert_eq!(twice["reason"], json!("patient_twice"));
    let nameless = json!({"first_name": "Max", "last_name": "Meier"});
    let lacking = refused(&slots, &[child("Mia"), nameless], 422).await;
    assert_eq!(lacking["reason"], json!("patient_fields_required"));
    assert_eq!(lacking["missing_fields"], json!(["date_of_birth", "phone_number"]));
    let unknown = [slots[0].clone(), json!({"slot_token": "slt_zz"})];
    assert_eq!(refused(&unknown, &[child("Mia"), child("Max")], 404).await["reason"], json!("slot_not_found"));
    let same = [slots[0].clone(), slots[0].clone()];
    assert_eq!(refused(&same, &[child("Mia"), child("Max")], 409).await["reason"], json!("slot_taken"));

    let second = world.offers(SECOND, 1).await.remove(0);
    let apart = [slots[0].clone(), second];
    let elsewhere = world.post(BOOK, request(&apart, &[child("Mia"), child("Max")], "family")).fails(400).await;
    let message = "bookings[1].slot_token is for another location than bookings[0].slot_token: send one request for each location.";
    assert_eq!(elsewhere, [message]);
    world.post(BOOK, request(&slots, &[child("Mia"), child("Max")], "family")).ok().await;
}

#[actix_web::test]
async fn book_names_wrong_values_of_a_group() {
    let world = world().await;
    let book = |body: Value| world.post(BOOK, body).fails(400);
    let one = json!({"slot_token": "x", "patient": child("Mia")});
    for count in [0, 1, 9] {
        let body = json!({"idempotency_key": "k", "bookings": vec![one.clone(); count]});
        assert_eq!(book(body).await, ["bookings must have between 2 and 8 entries."]);
    }
    let both = json!({"idempotency_key": "k", "slot_token": "x", "patient": child("Mia"), "note": "n", "bookings": [one, one]});
    let expected = [
        "slot_token must be absent if bookings is given.",
        "patient must be absent if bookings is given.",
        "note must be absent if bookings is given: each of bookings has its own.",
    ];
    assert_eq!(book(both).await, expected);
    let wrong = json!({"bookings": [{"patient": {"date_of_birth": "9999-12-31"}}, {"slot_token": 5, "patient": child("Mia")}, 7]});
    let expected = [
        "idempotency_key is missing.",
        "bookings[0].slot_token is missing.",
        "bookings[0].patient.date_of_birth must be between the years 1880 and 2199.",
        "bookings[1].slot_token must be a string.",
        "bookings[2] must be an object.",
    ];
    assert_eq!(book(wrong).await, expected);
    assert_eq!(book(json!({"idempotency_key": "k", "bookings": "x"})).await, ["bookings must be an array."]);
}
