//! The booking intent from search to cancellation.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::support::*;

const BOOK: &str = "/intent/booking/book?subdomain=acme";

fn patient() -> Value {
    json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999", "email": "mia@example.com"})
}

fn booking(slot_token: &Value, key: &str) -> Value {
    json!({"slot_token": slot_token, "idempotency_key": key, "patient": patient(), "note": "first visit"})
}

#[actix_web::test]
async fn search_offers_slots_with_tokens() {
    let world = world().await;
    let body = json!({"start_date": world.monday().to_string(), "appointment_type_id": CLEANING, "provider_ids": [BEN], "limit": 3});
    let found = world.post("/intent/booking/search?subdomain=acme&location_id=1", body).ok().await;
    assert_eq!(found["ok"], json!(true));
    assert!(found["message"].as_str().unwrap().starts_with("The first free slot at Place 1 is Mon, "), "{found}");
    let slot = &found["slots"][0];
    assert!(slot["slot_token"].as_str().unwrap().starts_with("slt_"));
    assert!(slot["start_iso"].as_str().unwrap().ends_with('Z') && slot["expires_at"].as_str().unwrap().ends_with('Z'));
    let local = slot["start_local"].as_str().unwrap();
    assert!(
        local.starts_with("Mon, ") && (local.ends_with("9:00 AM EST") || local.ends_with("9:00 AM EDT")),
        "{local}"
    );
    assert_eq!(
        (&slot["duration_minutes"], &slot["provider"], &slot["provider_id"]),
        (&json!(60), &json!("Ben Brand"), &json!(BEN))
    );
    assert_eq!(slot["operatory_id"], json!(CHAIR_2));
    let here = json!({"location_id": 1, "name": "Place 1", "address": "1 Main Street, Springfield, NY 10001"});
    assert_eq!(slot["location"], here);
    assert_eq!(found["next_available_date"], Value::Null);
}

#[actix_web::test]
async fn search_respects_times_and_days() {
    let world = world().await;
    let search = async |body: Value| world.post("/intent/booking/search?subdomain=acme&location_id=1", body).ok().await;
    let monday = world.monday().to_string();
    let found = search(json!({"start_date": monday, "earliest": "13:00", "latest": "14:00", "days_of_week": ["Tuesday", "friday"], "limit": 100})).await;
    let locals = each(&found["slots"], "start_local");
    assert_eq!(locals.len(), 2 * 2 * 3, "two days, two providers, 13:00, 13:30 and 14:00");
    assert!(locals.iter().all(|it| it.as_str().unwrap().starts_with("Tue") || it.as_str().unwrap().starts_with("Fri")));
    // The body and all its fields are optional.
    let bare = world.request(Method::POST, "/intent/booking/search?subdomain=acme&location_id=1").ok().await;
    assert!(!bare["slots"].as_array().unwrap().is_empty() && bare["slots"].as_array().unwrap().len() <= 20);
    let none = search(json!({"start_date": world.monday().add_days(-1).to_string(), "days": 1})).await;
    assert_eq!((&none["slots"], &none["next_available_date"]), (&json!([]), &json!(monday)));
    // The next available date respects the days of the week, too.
    let none = search(json!({"start_date": monday, "days": 1, "days_of_week": ["wednesday"]})).await;
    let wednesday = world.monday().add_days(2).to_string();
    assert_eq!((&none["slots"], &none["next_available_date"]), (&json!([]), &json!(wednesday)));
    let never = search(json!({"start_date": monday, "earliest": "20:00"})).await;
    assert_eq!((&never["slots"], &never["next_available_date"]), (&json!([]), &Value::Null));
}

#[actix_web::test]
async fn a_search_may_cross_midnight() {
    let world = world().await;
    let night = json!({"working_hour": {"provider_id": BEN, "operatory_id": CHAIR_2, "begin_time": "21:00", "end_time": "03:00",
        "days": ["Monday"]}});
    world.post("/working_hours?subdomain=acme&location_id=1", night).answers(201).await;
    let body = json!({"start_date": world.monday().to_string(), "days": 2, "earliest": "22:00", "latest": "01:30", "limit": 100});
    let found = world.post("/intent/booking/search?subdomain=acme&location_id=1", body).ok().await;
    let locals = each(&found["slots"], "start_local");
    assert_eq!(locals.len(), 8, "from 22:00 to 01:30, every half hour");
    let days = locals.iter().map(|it| it.as_str().unwrap()[..3].to_owned()).collect::<Vec<_>>();
    assert_eq!(days, ["Mon", "Mon", "Mon", "Mon", "Tue", "Tue", "Tue", "Tue"]);
    assert!(locals[0].as_str().unwrap().contains("10:00 PM") && locals[7].as_str().unwrap().contains("1:30 AM"));
}

#[actix_web::test]
async fn a_search_that_begins_in_the_past_begins_today() {
    let world = world().await;
    let search = async |body: Value| world.post("/intent/booking/search?subdomain=acme&location_id=1", body).ok().await;
    let late = search(json!({"start_date": "2020-01-06", "limit": 1})).await;
    let now = search(json!({"limit": 1})).await;
    assert_eq!(late["slots"][0]["start_iso"], now["slots"][0]["start_iso"]);
    let description = late["description"].as_str().unwrap();
    assert!(
        description.starts_with("start_date 2020-01-06 is in the past: the search begins today, 20"),
        "{description}"
    );
    assert_eq!(now.get("description"), None);
    // The next available date is searched from today on, too.
    let none = search(json!({"start_date": "2020-01-06", "days": 1, "earliest": "23:59"})).await;
    assert_eq!(none["next_available_date"], Value::Null);
    assert_eq!(none["message"], json!("There is no such slot at Place 1."));
}

#[actix_web::test]
async fn a_key_has_a_limit_of_holds_and_other_keys_are_unaffected() {
    let world = world().await;
    let hold = "/intent/booking/hold?subdomain=acme";
    let offers = world.offers(MAIN, 52).await;
    for offer in &offers[..50] {
        world.post(hold, json!({"slot_token": offer["slot_token"]})).ok().await;
    }
    let refused = world.post(hold, json!({"slot_token": offers[50]["slot_token"]})).reply().await;
    assert_eq!(refused.status.as_u16(), 429);
    let message = "This key already holds 50 slots at the location, the maximum: book or release some of them.";
    assert_eq!(refused.json()["error"], json!([message]));
    let wait: u64 = refused.header("Retry-After").unwrap().parse().unwrap();
    assert!((200..=301).contains(&wait), "until the first one lapses: {wait}");
    world.post(hold, json!({"slot_token": offers[50]["slot_token"]})).key(MAIN_KEY).ok().await;
    // The advice of the message works.
    let released = format!("{hold}&slot_token={}", offers[0]["slot_token"].as_str().unwrap());
    world.request(Method::DELETE, &released).ok().await;
    world.post(hold, json!({"slot_token": offers[51]["slot_token"]})).ok().await;
}

#[actix_web::test]
async fn search_names_wrong_values() {
    let world = world().await;
    let body = json!({"appointment_type_id": "one", "provider_ids": [1, "x"], "operatory_ids": 7, "start_date": "tomorrow", "days": 61,
        "earliest": "25:00", "latest": 9, "days_of_week": ["someday"], "new_patient": "yes", "limit": 0, "unknown": {"is": "ignored"}});
    let expected = [
        "location_id is missing.",
        "appointment_type_id must be an integer.",
        "provider_ids[1] must be an integer.",
        "operatory_ids must be an array.",
        "start_date must be a date in the form YYYY-MM-DD.",
        "days must be between 1 and 60.",
        "earliest must be a time of day in the form HH:MM.",
        "latest must be a string.",
        "days_of_week[0] must be a day of the week such as monday.",
        "limit must be between 1 and 100.",
        "new_patient must be true or false.",
    ];
    assert_eq!(world.post("/intent/booking/search?subdomain=acme", body).fails(400).await, expected);
    let search = |body| world.post("/intent/booking/search?subdomain=acme&location_id=1", body);
    assert_eq!(search(json!({"days": 0})).fails(400).await, ["days must be between 1 and 60."]);
    assert_eq!(
        search(json!({"start_date": "2150-01-01"})).fails(400).await,
        ["start_date must not be more than 730 days ahead."]
    );
    assert_eq!(search(json!({"appointment_type_id": 3})).fails(404).await, ["Appointment Type with id 3 not found"]);
    assert_eq!(search(json!({"provider_ids": [RIVALS_PROVIDER]})).fails(404).await, ["Provider with id 3 not found"]);
    assert_eq!(
        search(json!({"operatory_ids": [SECONDS_CHAIR]})).fails(404).await,
        ["Operatory with id 3 in location 1 not found"]
    );
}

#[actix_web::test]
async fn a_repeated_booking_is_replayed() {
    let world = world().await;
    let offer = world.offers(MAIN, 1).await.remove(0);
    let first = world.post(BOOK, booking(&offer["slot_token"], "k1")).ok().await;
    assert_eq!((&first["ok"], &first["replay"]), (&json!(true), &json!(false)));
    let made = &first["booking"];
    assert!(made["booking_ref"].as_str().unwrap().starts_with("bkg_"));
    assert_eq!((&made["booking_status"], &made["ehr_writeback"]), (&json!("confirmed"), &json!("pending")));
    for field in ["start_local", "start_iso", "duration_minutes", "provider", "location"] {
        assert_eq!(made[field], offer[field], "{field}");
    }
    assert_eq!(made["patient"], json!({"first_name": "Mia", "last_name": "Meier"}));
    let message = first["message"].as_str().unwrap();
    assert!(
        message.ends_with(" is booked and is being sent to the practice's system.")
            && message.contains(made["start_local"].as_str().unwrap()),
        "{message}"
    );

    let again = world.post(BOOK, booking(&offer["slot_token"], "k1")).ok().await;
    assert_eq!((&again["replay"], &again["booking"]), (&json!(true), made));
    let mut other = booking(&offer["slot_token"], "k1");
    other["patient"]["first_name"] = json!("Max");
    let conflict = world.post(BOOK, other).answers(409).await;
    assert_eq!((&conflict["ok"], &conflict["reason"]), (&json!(false), &json!("idempotency_conflict")));

    let shown = world.get(&format!("/appointments/{}?subdomain=acme", made["appointment_id"])).ok().await;
    assert_eq!(
        (&shown["data"]["start_time"].as_str().unwrap()[..19], &shown["data"]["ehr_writeback"]),
        (&made["start_iso"].as_str().unwrap()[..19], &json!("pending"))
    );
}

#[actix_web::test]
async fn a_taken_slot_is_refused_with_alternatives() {
    let world = world().await;
    let offers = world.offers(MAIN, 2).await;
    world.post(BOOK, booking(&offers[0]["slot_token"], "k1")).ok().await;
    let taken = world.post(BOOK, booking(&offers[0]["slot_token"], "k2")).answers(409).await;
    assert_eq!((&taken["ok"], &taken["reason"], &taken["code"]), (&json!(false), &json!("slot_taken"), &json!(false)));
    let alternatives = taken["alternatives"].as_array().unwrap();
    assert!((1..=5).contains(&alternatives.len()));
    let advice = "The time is taken. Book one of `alternatives` with its `slot_token`, or search for free slots again.";
    assert_eq!(taken["description"], json!(advice));
    // Each alternative can be booked, and the refused idempotency key is free.
    world.post(BOOK, booking(&alternatives[0]["slot_token"], "k2")).ok().await;
}

#[actix_web::test]
async fn required_patient_fields_of_the_practice_are_listed() {
    let world = world().await;
    let offer = world.offers(MAIN, 1).await.remove(0);
    let mut body = booking(&offer["slot_token"], "k1");
    body["patient"] = json!({"first_name": "Mia", "last_name": "", "date_of_birth": null});
    let refused = world.post(BOOK, body).answers(422).await;
    assert_eq!(refused["reason"], json!("patient_fields_required"));
    assert_eq!(refused["missing_fields"], json!(["last_name", "date_of_birth", "phone_number"]));
}

#[actix_web::test]
async fn tokens_of_others_and_altered_ones_are_not_found() {
    let world = world().await;
    let offer = world.offers(MAIN, 1).await.remove(0);
    let token = offer["slot_token"].as_str().unwrap();
    let flipped = format!("{}{}", &token[..token.len() - 1], if token.ends_with('0') { '1' } else { '0' });
    for (method, path) in [(Method::POST, "hold"), (Method::DELETE, "hold"), (Method::POST, "book")] {
        let ask = |subdomain: &str, token: &str, rest: &str| {
            let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient()});
            world.request(method.clone(), &format!("/intent/booking/{path}?subdomain={subdomain}{rest}")).json(body)
        };
        for wrong in [flipped.as_str(), "slt_", "slt_zz", "x", &token[4..]] {
            let refused = ask("acme", wrong, "").answers(404).await;
            assert_eq!((&refused["ok"], &refused["reason"]), (&json!(false), &json!("slot_not_found")), "{wrong}");
        }
        assert_eq!(ask("rival", token, "").key(RIVAL_KEY).answers(404).await["reason"], json!("slot_not_found"));
        assert_eq!(ask("acme", token, "&location_id=2").answers(404).await["reason"], json!("slot_not_found"));
        assert_eq!(ask("acme", "", "").fails(400).await[0], "slot_token must not be empty.");
    }
    let second = world.offers(SECOND, 1).await.remove(0);
    let refused = world.post(BOOK, booking(&second["slot_token"], "k")).key(MAIN_KEY).answers(404).await;
    assert_eq!(refused["reason"], json!("slot_not_found"), "a location the key does not reach");
}

#[actix_web::test]
async fn a_retry_finds_its_booking_when_the_secret_of_its_token_is_lost() {
    let mut world = world().await;
    let offers = world.offers(MAIN, 2).await;
    let first = world.post(BOOK, booking(&offers[0]["slot_token"], "k1")).ok().await;
    world.post("/intent/booking/hold?subdomain=acme", json!({"slot_token": offers[1]["slot_token"]})).ok().await;
    world.api = actix_web::web::Data::new(framework::access::api::Api::new(
        world.engine.clone(),
        framework::access::keys::KeyRing::from(keys()),
        &framework::values::secret::Secret::from_bytes([8; 32]),
        world.api.edge().rules.clone(),
    ));
    let again = world.post(BOOK, booking(&offers[0]["slot_token"], "k1")).ok().await;
    assert_eq!((&again["replay"], &again["booking"]), (&json!(true), &first["booking"]));
    let mut other = booking(&offers[0]["slot_token"], "k1");
    other["note"] = json!("another visit");
    assert_eq!(world.post(BOOK, other).answers(409).await["reason"], json!("idempotency_conflict"));
    // A token that fails verification books nothing, even if its slot is held.
    for offer in &offers {
        let refused = world.post(BOOK, booking(&offer["slot_token"], "k2")).answers(404).await;
        assert_eq!(refused["reason"], json!("slot_not_found"));
    }
}

#[actix_web::test]
async fn an_expired_offer_is_refused() {
    let rules =
        framework::http::rules::HttpRules { slot_token: -1_000, ..framework::http::rules::HttpRules::default() };
    let world = world_with(rules).await;
    let offer = world.offers(MAIN, 1).await.remove(0);
    let refused = world.post(BOOK, booking(&offer["slot_token"], "k1")).answers(410).await;
    assert_eq!(refused["reason"], json!("slot_expired"));
}

#[actix_web::test]
async fn a_hold_keeps_the_slot_for_its_token() {
    let world = world().await;
    let (mine, theirs) = (world.offers(MAIN, 1).await.remove(0), world.offers(MAIN, 1).await.remove(0));
    assert_eq!(mine["start_iso"], theirs["start_iso"]);
    assert_ne!(mine["slot_token"], theirs["slot_token"]);
    let hold = "/intent/booking/hold?subdomain=acme";
    let held = world.post(hold, json!({"slot_token": mine["slot_token"]})).ok().await;
    assert!(held["ok"] == json!(true) && held["held_until"].as_str().unwrap().ends_with('Z'));
    let taken = world.post(BOOK, booking(&theirs["slot_token"], "k1")).answers(409).await;
    assert_eq!(taken["reason"], json!("slot_taken"));
    let path = format!("{hold}&slot_token={}", mine["slot_token"].as_str().unwrap());
    world.request(Method::DELETE, &path).ok().await;
    world.request(Method::DELETE, &path).ok().await;
    world.post(hold, json!({"slot_token": mine["slot_token"]})).ok().await;
    world.post(BOOK, booking(&mine["slot_token"], "k2")).ok().await;
}

#[actix_web::test]
async fn status_follows_the_booking() {
    let world = world().await;
    let offer = world.offers(MAIN, 1).await.remove(0);
    let made = world.post(BOOK, booking(&offer["slot_token"], "k1")).ok().await;
    let reference = made["booking"]["booking_ref"].as_str().unwrap();
    let status = format!("/intent/booking/status?subdomain=acme&booking_ref={reference}");
    let shown = world.get(&status).ok().await;
    assert_eq!((&shown["ok"], &shown["booking"], shown.get("replay")), (&json!(true), &made["booking"], None));
    assert_eq!(shown["booking"]["cancellation_writeback"], Value::Null);

    let cancel = "/intent/booking/cancel?subdomain=acme";
    let cancelled = world.post(cancel, json!({"booking_ref": reference, "reason": "ill"})).ok().await;
    assert_eq!(cancelled["booking"]["booking_status"], json!("cancelled"));
    // The insert and the cancellation are both in flight.
    let freeing = " is cancelled; its time stays booked until the practice's system has cancelled it.";
    assert!(cancelled["message"].as_str().unwrap().ends_with(freeing), "{cancelled}");
    assert_eq!(cancelled["booking"]["cancellation_writeback"], json!("pending"));
    let shown = world.get(&status).ok().await;
    assert_eq!((&shown["message"], &shown["booking"]), (&cancelled["message"], &cancelled["booking"]));
    let taken = world.post(BOOK, booking(&offer["slot_token"], "k2")).answers(409).await;
    assert!(taken["message"].as_str().unwrap().contains("is being freed"), "{taken}");
    world.post(cancel, json!({"booking_ref": reference})).ok().await;
    assert_eq!(world.get(&status).ok().await["booking"]["booking_status"], json!("cancelled"));

    for (path, key) in [(status.replace("acme", "rival"), RIVAL_KEY), (format!("{status}0"), ACME_KEY)] {
        let refused = world.get(&path).key(key).answers(404).await;
        assert_eq!(
            (&refused["ok"], &refused["code"], &refused["reason"]),
            (&json!(false), &json!(false), &json!("booking_not_found"))
        );
    }
    assert_eq!(world.get("/intent/booking/status?subdomain=acme").fails(400).await, ["booking_ref is missing."]);
    assert_eq!(
        world.post(cancel, json!({"reason": 7})).fails(400).await,
        ["booking_ref or visit_token is missing.", "reason must be a string."]
    );
}

#[actix_web::test]
async fn book_names_wrong_values() {
    let world = world().await;
    assert_eq!(
        world.post(BOOK, json!({})).fails(400).await,
        ["slot_token is missing.", "idempotency_key is missing.", "patient is missing."]
    );
    let body = json!({"slot_token": 5, "idempotency_key": "k".repeat(256), "note": "n".repeat(4_001), "patient": {"first_name": ["x"],
        "last_name": "a\u{0}b", "date_of_birth": "9999-12-31", "phone_number": "call me", "email": "nobody", "gender": "a male",
        "address": {"line_1": 5, "city": {}}}});
    let expected = [
        "slot_token must be a string.",
        "idempotency_key must not be longer than 255 characters.",
        "patient.first_name must be a string.",
        "patient.last_name must not contain control characters.",
        "patient.date_of_birth must be between the years 1880 and 2199.",
        "patient.phone_number must be a phone number.",
        "patient.email must be an email address.",
        "patient.gender must be one of Male, Female, Other.",
        "patient.address.line_1 must be a string.",
        "patient.address.city must be a string.",
        "note must not be longer than 4000 characters.",
    ];
    assert_eq!(world.post(BOOK, body).fails(400).await, expected);
    assert_eq!(
        world.post(BOOK, json!({"slot_token": "x", "idempotency_key": "k", "patient": []})).fails(400).await,
        ["patient must be an object."]
    );
}
