//! Matching of a booking to the chart of a patient.

use serde_json::{Value, json};

use crate::support::*;

const BOOK: &str = "/intent/booking/book?subdomain=acme";

/// A member of a family that shares a phone number and an email address.
fn one_of(first_name: &str, last_name: &str, born: &str) -> Value {
    json!({"first_name": first_name, "last_name": last_name, "date_of_birth": born,
        "phone_number": "+1 555 777 1234", "email": "mum@example.com"})
}

/// Books a separate slot for each patient, one after the other.
async fn booked(world: &ApiWorld, patients: &[Value]) -> Vec<Value> {
    let offers = world.offers(MAIN, patients.len()).await;
    let mut made = Vec::new();
    for (n, (patient, offer)) in patients.iter().zip(offers).enumerate() {
        let body = json!({"slot_token": offer["slot_token"], "idempotency_key": format!("k{n}"), "patient": patient});
        made.push(world.post(BOOK, body).ok().await["booking"].clone());
    }
    made
}

fn matched(made: &[Value]) -> Vec<bool> {
    made.iter().map(|it| it["patient_matched"].as_bool().unwrap()).collect()
}

#[actix_web::test]
async fn twins_are_two_patients() {
    let world = world().await;
    let born = "2015-05-05";
    let made = booked(&world, &[one_of("Anna", "Twin", born), one_of("Ben", "Twin", born)]).await;
    assert_eq!(matched(&made), [false, false]);
    assert_ne!(made[0]["patient_id"], made[1]["patient_id"]);
    for (booking, name) in made.iter().zip(["Anna Twin", "Ben Twin"]) {
        let path = format!("/appointments/{}?subdomain=acme&include[]=patient", booking["appointment_id"]);
        let shown = world.get(&path).ok().await["data"].clone();
        assert_eq!((&shown["patient_id"], &shown["patient"]["name"]), (&booking["patient_id"], &json!(name)));
    }
}

#[actix_web::test]
async fn a_parent_and_a_child_of_one_name_are_two_patients() {
    let world = world().await;
    let (parent, child) = (one_of("Jon", "Doe", "1985-05-05"), one_of("Jon", "Doe", "2015-05-05"));
    let made = booked(&world, &[parent.clone(), child, parent]).await;
    assert_eq!(matched(&made), [false, false, true]);
    assert_ne!(made[0]["patient_id"], made[1]["patient_id"]);
    assert_eq!(made[0]["patient_id"], made[2]["patient_id"]);
}

#[actix_web::test]
async fn names_are_compared_without_case_and_accents() {
    let world = world().await;
    let born = "1990-02-03";
    let spellings = [("Zoë", "Müller-Lüdenscheidt"), ("zoe", "MULLER LUDENSCHEIDT"), ("ZOË ", "Müller-Lüdenscheidt")];
    let mut patients = spellings.map(|(first, last)| one_of(first, last, born)).to_vec();
    patients.push(one_of("Zora", "Müller-Lüdenscheidt", born));
    let made = booked(&world, &patients).await;
    assert_eq!(matched(&made), [false, true, true, false]);
    let ids = made.iter().map(|it| it["patient_id"].as_u64().unwrap()).collect::<Vec<_>>();
    assert!(ids[0] == ids[1] && ids[0] == ids[2] && ids[0] != ids[3], "{ids:?}");
}

#[actix_web::test]
async fn a_known_patient_is_matched_in_the_booking_its_replay_and_its_status() {
    let world = world().await;
    let patient = json!({"first_name": "PAT", "last_name": "présent", "date_of_birth": "1980-05-06", "email": "pat@example.com",
        "phone_number": "5550101010"});
    // The practice's own Pat has neither phone nor email, so the match is uncertain.
    let made = booked(&world, std::slice::from_ref(&patient)).await.remove(0);
    assert_eq!((matched(std::slice::from_ref(&made)), made["patient_id"] == json!(PAT)), (vec![false], false));
    let again = booked_with(&world, &patient, "second").await;
    assert_eq!(
        (&again["booking"]["patient_matched"], &again["booking"]["patient_id"]),
        (&json!(true), &made["patient_id"])
    );
    let status = format!(
        "/intent/booking/status?subdomain=acme&booking_ref={}",
        again["booking"]["booking_ref"].as_str().unwrap()
    );
    assert_eq!(world.get(&status).ok().await["booking"], again["booking"]);
}

/// Sends a booking twice and returns the response.
async fn booked_with(world: &ApiWorld, patient: &Value, key: &str) -> Value {
    let offer = world.offers(MAIN, 1).await.remove(0);
    let body = json!({"slot_token": offer["slot_token"], "idempotency_key": key, "patient": patient});
    let first = world.post(BOOK, body.clone()).ok().await;
    let replay = world.post(BOOK, body).ok().await;
    assert_eq!((&replay["replay"], &replay["booking"]), (&json!(true), &first["booking"]));
    first
}

#[actix_web::test]
async fn simultaneous_appointments_of_a_patient_are_named() {
    let world = world().await;
    let warning = json!("The patient has another appointment at this location at the same time.");
    let patient = one_of("Mia", "Meier", "1990-02-03");
    let offers = world.offers(MAIN, 2).await;
    assert_eq!(offers[0]["start_iso"], offers[1]["start_iso"], "with two providers");
    let book = async |n: usize| {
        let body =
            json!({"slot_token": offers[n]["slot_token"], "idempotency_key": format!("k{n}"), "patient": patient});
        world.post(BOOK, body).ok().await
    };
    assert_eq!(book(0).await.get("description"), None);
    assert_eq!(book(1).await["description"], warning);
    let at = |chair: u64, provider: u32| {
        json!({"appt": {"patient_id": PAT, "provider_id": provider, "operatory_id": chair,
            "start_time": format!("{}T18:00:00Z", world.monday())}})
    };
    let post = async |body: Value| world.post("/appointments?subdomain=acme&location_id=1", body).answers(201).await;
    assert_eq!(post(at(CHAIR_1, ANNA)).await["description"], Value::Null);
    assert_eq!(post(at(CHAIR_2, BEN)).await["description"], warning);
}
