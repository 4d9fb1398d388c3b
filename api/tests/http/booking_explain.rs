//! Reasons why times can or cannot be booked.

use std::sync::Arc;

use framework::access::keys::ApiKey;
use location::{
    ids::{AppointmentTypeId, LocationId},
    rules::{RuleOverrides, RuleSet, VisitRules},
};
use serde_json::{Value, json};

use crate::{
    booking_online::{set_chair_2, set_checkup},
    support::*,
};

const EXPLAIN: &str = "/intent/booking/explain?subdomain=acme&location_id=1";
/// Without a location, which a slot token contains.
const EXPLAIN_TOKEN: &str = "/intent/booking/explain?subdomain=acme";

/// All check-ups of the Monday: 16 half hours of two providers.
fn check_ups(world: &ApiWorld) -> Value {
    json!({"start_date": world.monday().to_string(), "days": 1, "appointment_type_id": CHECKUP})
}

/// Returns the reasons with their counts.
fn counts(explained: &Value) -> Vec<(String, u64)> {
    let reasons = explained["reasons"].as_array().unwrap().iter();
    let reasons: Vec<_> =
        reasons.map(|it| (it["reason"].as_str().unwrap().to_owned(), it["count"].as_u64().unwrap())).collect();
    let sum: u64 = reasons.iter().map(|(_, count)| count).sum();
    assert_eq!(explained["considered"].as_u64(), Some(sum), "{explained}");
    reasons
}

fn counted<const N: usize>(reasons: [(&str, u64); N]) -> Vec<(String, u64)> {
    reasons.map(|(reason, count)| (reason.to_owned(), count)).to_vec()
}

fn message(explained: &Value) -> &str {
    explained["message"].as_str().unwrap()
}

/// Starts a world in which the first location has booking rules.
async fn world_with_rules(rules: RuleSet) -> ApiWorld {
    let mut setup = setup();
    let main = setup.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap();
    main.settings_mut().booking.rules = rules;
    world_set_up(setup, free_rates()).await
}

#[actix_web::test]
async fn a_search_is_explained_with_all_its_times() {
    let world = world().await;
    let explained = world.post(EXPLAIN, check_ups(&world)).ok().await;
    assert_eq!((&explained["ok"], explained.get("slot")), (&json!(true), None));
    assert_eq!(counts(&explained), counted([("offered", 32)]));
    let first = explained["reasons"][0]["example_start_local"].as_str().unwrap();
    assert!(first.starts_with("Mon, ") && first.contains(", 9:00 AM E"), "{first}");
    assert_eq!(message(&explained), format!("32 times at Place 1 are free; the first is {first}."));
    let mut search = check_ups(&world);
    search["limit"] = json!(100);
    let found = world.post("/intent/booking/search?subdomain=acme&location_id=1", search).ok().await;
    assert_eq!(found["slots"].as_array().unwrap().len(), 32);

    // Only the times of the search count.
    let mut few = check_ups(&world);
    few["provider_ids"] = json!([BEN]);
    few["earliest"] = json!("15:00");
    let explained = world.post(EXPLAIN, few.clone()).ok().await;
    assert_eq!(counts(&explained), counted([("offered", 4)]));
    few["earliest"] = json!("20:00");
    let none = world.post(EXPLAIN, few).ok().await;
    assert_eq!(counts(&none), counted([("outside_hours", 1)]));
    let expected = "No time at Place 1 is free for this request: the times are outside working hours.";
    assert_eq!(message(&none), expected);
}

#[actix_web::test]
async fn a_party_is_explained_patient_by_patient_with_a_warning() {
    let world = world().await;
    let mut search = check_ups(&world);
    search["party_size"] = json!(3);
    let explained = world.post(EXPLAIN, search).ok().await;
    assert_eq!(counts(&explained), counted([("offered", 32)]));
    let expected = "party_size has no effect: each time is explained for one patient.";
    assert_eq!(explained["description"], json!(expected));
}

#[actix_web::test]
async fn taken_and_held_times_have_separate_reasons() {
    let world = world().await;
    let offers = world.offers(MAIN, 3).await;
    let token = |n: usize| json!({"slot_token": offers[n]["slot_token"]});
    let booking = json!({"slot_token": offers[0]["slot_token"], "idempotency_key": "k", "patient": {
        "first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "5550109999"}});
    world.post("/intent/booking/book?subdomain=acme", booking).ok().await;
    world.post("/intent/booking/hold?subdomain=acme", token(1)).ok().await;
    let explained = world.post(EXPLAIN, check_ups(&world)).ok().await;
    assert_eq!(counts(&explained), counted([("offered", 30), ("taken", 1), ("held", 1)]));

    let taken = world.post(EXPLAIN_TOKEN, token(0)).ok().await;
    assert_eq!(counts(&taken), counted([("taken", 1)]));
    let slot = &taken["slot"];
    for field in ["start_iso", "start_local", "duration_minutes", "provider", "provider_id", "operatory_id"] {
        assert_eq!(slot[field], offers[0][field], "{field}");
    }
    assert_eq!((&slot["reason"], &slot["detail"]), (&json!("taken"), &json!("Another appointment is at this time.")));
    let start = offers[0]["start_local"].as_str().unwrap();
    assert!(message(&taken).starts_with(&format!("{start} at Place 1 is already booked. ")), "{taken}");
    assert!(message(&taken).contains("The next free time is Mon, "), "{taken}");
    assert!(!taken.to_string().contains("Meier"), "{taken}");
    // The hold belongs to the client with the token.
    assert_eq!(world.post(EXPLAIN_TOKEN, token(1)).ok().await["slot"]["reason"], json!("offered"));
    let held = json!({"start_iso": offers[1]["start_iso"], "provider_id": offers[1]["provider_id"],
        "operatory_id": offers[1]["operatory_id"], "appointment_type_id": CHECKUP});
    assert_eq!(world.post(EXPLAIN, held).ok().await["slot"]["reason"], json!("held"));
}

#[actix_web::test]
async fn a_time_is_explained_for_every_place_that_matches() {
    let world = world().await;
    let monday = world.monday();
    let at = async |body: Value| world.post(EXPLAIN, body).ok().await;
    let both = at(json!({"start_iso": format!("{monday}T09:05"), "appointment_type_id": CHECKUP})).await;
    assert_eq!(counts(&both), counted([("offered", 2)]));
    assert_eq!((&both["slot"]["provider_id"], &both["slot"]["duration_minutes"]), (&json!(ANNA), &json!(30)));
    assert!(message(&both).ends_with(" at Place 1 is free."), "{both}");
    let early = at(json!({"start_iso": format!("{monday}T08:00"), "provider_id": BEN, "operatory_id": CHAIR_2})).await;
    assert_eq!(counts(&early), counted([("outside_hours", 1)]));
    assert!(message(&early).contains(" is outside working hours. The next free time is Mon, "), "{early}");
    assert_eq!(early["slot"]["provider"], json!("Ben Brand"));
    let sunday = monday.add_days(-1);
    let none = at(json!({"start_iso": format!("{sunday}T09:00"), "operatory_id": CHAIR_1})).await;
    assert_eq!((&none["slot"]["reason"], &none["slot"]["provider_id"]), (&json!("no_working_hours"), &json!(ANNA)));
    let past = at(json!({"start_iso": "2020-01-06T09:00"})).await;
    assert_eq!(past["slot"]["reason"], json!("too_soon"));
    assert_eq!(past["slot"]["detail"], json!("The time has already begun."));
    // Anna has no hours in the second chair, but on that day.
    let other = at(json!({"start_iso": format!("{monday}T09:00"), "provider_id": ANNA, "operatory_id": CHAIR_2})).await;
    assert_eq!(counts(&other), counted([("outside_hours", 1)]));
}

#[actix_web::test]
async fn a_day_without_working_hours_names_the_next_day() {
    let world = world().await;
    let sunday = world.monday().add_days(-1).to_string();
    let explained = world.post(EXPLAIN, json!({"start_date": sunday, "days": 1})).ok().await;
    assert_eq!(counts(&explained), counted([("no_working_hours", 2)]));
    let expected = format!(
        "No time at Place 1 is free for this request: the times are on a day without working hours. The next day with \
         free times is {}.",
        world.monday()
    );
    assert_eq!(message(&explained), expected);
    // A location without any hours.
    let bare = format!("/intent/booking/explain?subdomain=acme&location_id={BARE}");
    let explained = world.post(&bare, json!({"days": 3})).ok().await;
    assert_eq!(counts(&explained), counted([("no_working_hours", 3)]));
}

#[actix_web::test]
async fn times_that_only_the_practice_books_have_a_reason() {
    let world = world().await;
    set_chair_2(&world, false).await;
    let explained = world.post(EXPLAIN, check_ups(&world)).ok().await;
    assert_eq!(counts(&explained), counted([("offered", 16), ("operatory_not_bookable_online", 16)]));
    set_checkup(&world, false).await;
    let explained = world.post(EXPLAIN, check_ups(&world)).ok().await;
    assert_eq!(counts(&explained), counted([("type_not_bookable_online", 32)]));
    let expected = "No time at Place 1 is free for this request: the times are available for this type of appointment \
                    only by calling the practice.";
    assert_eq!(message(&explained), expected);
    // No other time of this type can be booked.
    let sunday = format!("{}T09:00", world.monday().add_days(-1));
    let closed = world.post(EXPLAIN, json!({"start_iso": sunday, "appointment_type_id": CHECKUP})).ok().await;
    assert_eq!(closed["slot"]["reason"], json!("no_working_hours"));
    assert!(message(&closed).ends_with(" at Place 1 is on a day without working hours."), "{closed}");
}

#[actix_web::test]
async fn an_unread_schedule_is_a_reason_and_no_error() {
    let world = world_unread().await;
    let explained = world.post(EXPLAIN, json!({})).ok().await;
    assert_eq!(counts(&explained), counted([("schedule_not_read", 7)]));
    let expected =
        "The schedule of Place 1 has not been read yet, so its free slots are not known. Please try again in a minute.";
    assert_eq!(message(&explained), expected);
    let one = world.post(EXPLAIN, json!({"start_iso": format!("{}T09:00", world.monday())})).ok().await;
    assert_eq!((&one["slot"]["reason"], &one["slot"]["provider_id"]), (&json!("schedule_not_read"), &Value::Null));
    assert_eq!(message(&one), expected);
}

#[actix_web::test]
async fn wrong_values_name_the_field() {
    let world = world().await;
    let soon = format!("{}T09:00", world.monday());
    let expected = [
        "start_iso must be a date-time such as 2026-12-01T14:30:00Z.",
        "provider_id must be an integer.",
        "days must be between 1 and 60.",
        "latest must be a string.",
    ];
    let fails = async |body: Value| world.post(EXPLAIN, body).fails(400).await;
    let wrong = json!({"start_iso": "soon", "provider_id": "x", "days": 0, "latest": 9});
    assert_eq!(fails(wrong).await, expected);
    let both = json!({"slot_token": "slt_00", "start_iso": soon});
    assert_eq!(fails(both).await, ["slot_token and start_iso both name a time: send one of them."]);
    let lone = json!({"provider_id": ANNA, "operatory_id": CHAIR_1});
    let expected = [
        "provider_id needs start_iso; a search takes provider_ids.",
        "operatory_id needs start_iso; a search takes operatory_ids.",
    ];
    assert_eq!(fails(lone).await, expected);
    let lists = json!({"start_iso": soon, "provider_ids": [ANNA], "operatory_ids": [CHAIR_1]});
    let expected = [
        "provider_ids is for a search; start_iso takes provider_id.",
        "operatory_ids is for a search; start_iso takes operatory_id.",
    ];
    assert_eq!(fails(lists).await, expected);
    // No search reaches this day, so no answer may be `offered`.
    let expected = ["start_iso must not be more than 790 days ahead."];
    assert_eq!(fails(json!({"start_iso": "2150-01-05T10:00"})).await, expected);
    assert_eq!(fails(json!({"start_date": "2150-01-01"})).await, ["start_date must not be more than 730 days ahead."]);
    assert!(
        fails(json!({"date_of_birth": "2150-01-01"})).await[0].starts_with("date_of_birth must not be in the future")
    );
    let nowhere = world.post(EXPLAIN_TOKEN, json!({"start_iso": "2026-12-01T09:00:00Z"})).fails(400).await;
    assert_eq!(nowhere, ["location_id is missing."]);
}

#[actix_web::test]
async fn unknown_records_and_tokens_of_others_are_not_found() {
    let world = world().await;
    let soon = format!("{}T09:00", world.monday());
    for (field, id, name) in [
        ("provider_id", 999_998, "Provider with id 999998"),
        ("operatory_id", 77, "Operatory with id 77"),
        ("appointment_type_id", 78, "Appointment Type with id 78"),
        ("provider_id", u64::from(RIVALS_PROVIDER), "Provider with id 3"),
    ] {
        let mut body = json!({"start_iso": soon});
        body[field] = json!(id);
        let problems = world.post(EXPLAIN, body).fails(404).await;
        assert!(problems[0].starts_with(name), "{problems:?}");
    }
    let token = world.offers(MAIN, 1).await[0]["slot_token"].as_str().unwrap().to_owned();
    let body = json!({"slot_token": token});
    let of_rival = "/intent/booking/explain?subdomain=rival";
    for refused in [
        world.post(of_rival, body.clone()).key(RIVAL_KEY),
        world.post("/intent/booking/explain?subdomain=acme&location_id=2", body.clone()),
        world.post(EXPLAIN_TOKEN, body).key(BARE_KEY),
        world.post(EXPLAIN_TOKEN, json!({"slot_token": format!("{token}00")})),
        world.post(EXPLAIN_TOKEN, json!({"slot_token": "slt_00"})),
    ] {
        let refused = refused.answers(404).await;
        assert_eq!((&refused["ok"], &refused["reason"]), (&json!(false), &json!("slot_not_found")), "{refused}");
    }
}

#[actix_web::test]
async fn booking_rules_are_reasons() {
    let of_type = RuleOverrides { new_patients: Some(false), age_min: Some(Some(18)), ..RuleOverrides::default() };
    let voice = RuleOverrides { horizon_days: Some(2), ..RuleOverrides::default() };
    let rules = RuleSet {
        plain: VisitRules { align: Some(60), ..VisitRules::default() },
        types: [(AppointmentTypeId(CHECKUP), of_type)].into(),
        channels: [("voice".to_owned(), voice)].into(),
    };
    let world = world_with_rules(rules).await;
    let explain = async |body: Value| world.post(EXPLAIN, body).ok().await;
    // The grid of the search follows the alignment.
    assert_eq!(counts(&explain(check_ups(&world)).await), counted([("offered", 16)]));
    let start = |time: &str| {
        let start = format!("{}T{time}", world.monday());
        json!({"start_iso": start, "provider_id": ANNA, "appointment_type_id": CHECKUP})
    };
    let odd = explain(start("09:30")).await;
    assert_eq!(odd["slot"]["reason"], json!("not_aligned"));
    assert_eq!(odd["slot"]["detail"], json!("Appointments start every 60 minutes from the full hour."));

    let mut of_patient = check_ups(&world);
    of_patient["new_patient"] = json!(true);
    let new = explain(of_patient).await;
    assert_eq!(counts(&new), counted([("patient_not_eligible", 16)]));
    assert_eq!(message(&new), "No time at Place 1 is free for this request: the times are not open to this patient.");
    // No other time helps this patient.
    let sunday = world.monday().add_days(-1);
    let mut idle = json!({"start_date": sunday.to_string(), "days": 1, "appointment_type_id": CHECKUP});
    assert!(message(&explain(idle.clone()).await).contains("The next day with free times is "));
    idle["new_patient"] = json!(true);
    let idle = explain(idle).await;
    assert_eq!(counts(&idle), counted([("no_working_hours", 2)]));
    assert!(!message(&idle).contains("next"), "{idle}");
    let one = json!({"start_iso": format!("{sunday}T09:00"), "appointment_type_id": CHECKUP, "new_patient": true});
    assert!(!message(&explain(one).await).contains("next"));
    let mut child = start("09:00");
    child["date_of_birth"] = json!("2020-01-01");
    let child = explain(child).await;
    assert_eq!(child["slot"]["reason"], json!("patient_not_eligible"));
    assert_eq!(child["slot"]["detail"], json!("The appointment is for patients aged 18 or older."));

    let named = |key: ApiKey| {
        let channel = (key.name == MAIN_KEY).then(|| "voice".to_owned());
        ApiKey { channel, ..key }
    };
    world.api.replace_keys(keys().into_iter().map(named).collect());
    let by_voice = world.post(EXPLAIN, check_ups(&world)).key(MAIN_KEY).ok().await;
    assert_eq!(counts(&by_voice), counted([("beyond_horizon", 16)]));
    let by_voice = world.post(EXPLAIN, start("09:00")).key(MAIN_KEY).ok().await;
    assert_eq!(by_voice["slot"]["detail"], json!("Appointments can be booked at most 2 days ahead."));
    assert_eq!(counts(&explain(check_ups(&world)).await), counted([("offered", 16)]));
}
