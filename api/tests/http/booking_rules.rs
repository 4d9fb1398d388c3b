//! Booking rules of a practice: they bind the intents, and neither staff nor lists of available slots.

use std::sync::Arc;

use engine::{setup::Setup, simulated::NoSimulatedEhrs};
use framework::access::keys::ApiKey;
use location::{
    ids::{AppointmentTypeId, LocationId},
    rules::{Closure, Instead, RuleOverrides, RuleSet},
    zone::Date,
};
use serde_json::{Value, json};

use crate::support::*;

const SEARCH: &str = "/intent/booking/search?subdomain=acme&location_id=1";
const BOOK: &str = "/intent/booking/book?subdomain=acme";
const HOLD: &str = "/intent/booking/hold?subdomain=acme";

fn ruled(change: impl FnOnce(&mut RuleSet)) -> Setup {
    let mut setup = setup();
    let main = setup.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap();
    change(&mut main.settings_mut().booking.rules);
    setup
}

async fn world_ruled(change: impl FnOnce(&mut RuleSet)) -> ApiWorld {
    world_set_up(ruled(change), free_rates()).await
}

async fn change_rules(world: &ApiWorld, change: impl FnOnce(&mut RuleSet)) {
    let changed = world.api.reconfigure(ruled(change), &NoSimulatedEhrs).await;
    changed.unwrap_or_else(|error| panic!("{error}"));
}

fn closed_on(rules: &mut RuleSet, date: Date) {
    rules.plain.closures.push(Closure::of_days(date, date));
}

fn booking(slot: &Value, key: &str) -> Value {
    json!({"slot_token": slot["slot_token"], "idempotency_key": key, "patient": {"first_name": "Mia", "last_name": "Meier",
        "date_of_birth": "1990-02-03", "phone_number": "5550109999"}})
}

/// Returns the first slots of Anna on the Monday of the tests.
async fn offers_of_anna(world: &ApiWorld) -> Vec<Value> {
    let body = json!({"start_date": world.monday().to_string(), "provider_ids": [ANNA], "limit": 5, "appointment_type_id": CHECKUP});
    world.post(SEARCH, body).ok().await["slots"].as_array().unwrap().clone()
}

fn starts_on(slots: &Value, date: Date) -> bool {
    each(slots, "start_iso").iter().any(|start| start.as_str().unwrap().starts_with(&date.to_string()))
}

#[actix_web::test]
async fn rules_bind_searches_but_not_available_slots_and_staff() {
    let monday = monday(engine::clock::now());
    let world = world_ruled(|rules| {
        closed_on(rules, monday);
        rules.plain.align = Some(60);
    })
    .await;
    let found = world.post(SEARCH, json!({"start_date": monday.to_string(), "days": 2, "limit": 100})).ok().await;
    assert!(!starts_on(&found["slots"], monday) && starts_on(&found["slots"], monday.add_days(1)), "{found}");
    let starts = each(&found["slots"], "start_iso");
    assert!(
        starts.iter().all(|start| start.as_str().unwrap().ends_with(":00:00.000Z")),
        "aligned with the hour: {starts:?}"
    );
    let none = world.post(SEARCH, json!({"start_date": monday.to_string(), "days": 1})).ok().await;
    let tuesday = monday.add_days(1).to_string();
    assert_eq!((&none["slots"], &none["next_available_date"]), (&json!([]), &json!(tuesday)));

    let path = format!("/available_slots?subdomain=acme&start_date={monday}&days=1&lids[]=1&pids[]={ANNA}");
    let listed = world.get(&path).ok().await;
    let slot = listed["data"][0]["slots"][0].clone();
    assert!(!slot.is_null(), "{listed}");
    let appt =
        json!({"appt": {"patient_id": PAT, "provider_id": ANNA, "operatory_id": CHAIR_1, "start_time": slot["time"]}});
    world.post("/appointments?subdomain=acme&location_id=1", appt).answers(201).await;
}

#[actix_web::test]
async fn a_rule_that_refuses_is_named_with_the_way_out() {
    let world = world_ruled(|rules| {
        rules.plain.daily_visits = Some(1);
        rules.plain.instead = Some(Instead::Call);
    })
    .await;
    let offers = offers_of_anna(&world).await;
    let made = world.post(BOOK, booking(&offers[0], "one")).ok().await;
    assert_eq!(made["replay"], json!(false));
    for refused in [
        world.post(BOOK, booking(&offers[2], "two")).answers(422).await,
        world.post(HOLD, json!({"slot_token": offers[2]["slot_token"]})).answers(422).await,
    ] {
        assert_eq!((&refused["ok"], &refused["reason"]), (&json!(false), &json!("not_bookable")), "{refused}");
        assert_eq!((&refused["rule"], &refused["instead"]), (&json!("daily_cap"), &json!("call")));
        let message = refused["message"].as_str().unwrap();
        assert!(message.starts_with("The practice takes no more of these visits on that day"), "{message}");
        assert_eq!((&refused["error"], &refused["data"]), (&json!([message]), &Value::Null));
        assert!(refused.get("alternatives").is_none(), "{refused}");
    }
    // The key of the refused booking is free for another day.
    let body = json!({"start_date": world.monday().to_string(), "limit": 1, "appointment_type_id": CHECKUP});
    let next = world.post(SEARCH, body).ok().await["slots"][0].clone();
    assert!(!next["start_iso"].as_str().unwrap().starts_with(&world.monday().to_string()), "{next}");
    world.post(BOOK, booking(&next, "two")).ok().await;
}

#[actix_web::test]
async fn a_held_slot_is_booked_although_others_reached_the_cap() {
    let world = world_ruled(|rules| rules.plain.daily_visits = Some(2)).await;
    let offers = offers_of_anna(&world).await;
    world.post(HOLD, json!({"slot_token": offers[0]["slot_token"]})).ok().await;
    world.post(BOOK, booking(&offers[1], "one")).ok().await;
    let refused = world.post(BOOK, booking(&offers[2], "two")).answers(422).await;
    assert_eq!(refused["rule"], json!("daily_cap"), "the hold counts");
    world.post(BOOK, booking(&offers[0], "three")).ok().await;
}

#[actix_web::test]
async fn changed_rules_refuse_earlier_offers_with_alternatives() {
    let world = world().await;
    let offers = offers_of_anna(&world).await;
    let made = world.post(BOOK, booking(&offers[3], "before")).ok().await;
    change_rules(&world, |rules| closed_on(rules, world.monday())).await;
    for refused in [
        world.post(BOOK, booking(&offers[0], "one")).answers(409).await,
        world.post(HOLD, json!({"slot_token": offers[0]["slot_token"]})).answers(409).await,
    ] {
        assert_eq!((&refused["reason"], &refused["rule"]), (&json!("rules_changed"), &json!("closed")), "{refused}");
        let alternatives = &refused["alternatives"];
        assert!(!alternatives.as_array().unwrap().is_empty() && !starts_on(alternatives, world.monday()), "{refused}");
        assert!(refused["description"].as_str().unwrap().contains("changed its booking rules"), "{refused}");
    }
    let refused = world.post(BOOK, booking(&offers[0], "one")).answers(409).await;
    world.post(BOOK, booking(&refused["alternatives"][0], "one")).ok().await;
    // A retry of an earlier booking is no new one.
    let again = world.post(BOOK, booking(&offers[3], "before")).ok().await;
    assert_eq!((&again["replay"], &again["booking"]["booking_ref"]), (&json!(true), &made["booking"]["booking_ref"]));
}

#[actix_web::test]
async fn changed_rules_that_still_allow_an_offer_let_it_be_booked() {
    let world = world().await;
    let offers = offers_of_anna(&world).await;
    change_rules(&world, |rules| rules.plain.daily_visits = Some(2)).await;
    world.post(HOLD, json!({"slot_token": offers[0]["slot_token"]})).ok().await;
    world.post(BOOK, booking(&offers[0], "one")).ok().await;
    world.post(BOOK, booking(&offers[1], "two")).ok().await;
    let refused = world.post(BOOK, booking(&offers[2], "three")).answers(409).await;
    assert_eq!((&refused["reason"], &refused["rule"]), (&json!("rules_changed"), &json!("daily_cap")));
    change_rules(&world, |_| {}).await;
    world.post(BOOK, booking(&offers[2], "three")).ok().await;
}

#[actix_web::test]
async fn a_channel_has_rules_of_its_own() {
    let monday = monday(engine::clock::now());
    let world = world_ruled(|rules| {
        let closures = Some(vec![Closure::of_days(monday, monday)]);
        rules.channels.insert("voice".into(), RuleOverrides { closures, ..RuleOverrides::default() });
    })
    .await;
    let with_channel = |key: ApiKey| match key.name == ACME_KEY {
        true => ApiKey { channel: Some("voice".into()), ..key },
        false => key,
    };
    world.api.replace_keys(keys().into_iter().map(with_channel).collect());
    let asked = json!({"start_date": monday.to_string(), "days": 1, "provider_ids": [ANNA], "limit": 5});
    let of_voice = world.post(SEARCH, asked.clone()).ok().await;
    assert_eq!(of_voice["slots"], json!([]));
    let plain = world.post(SEARCH, asked).key(MAIN_FULL_KEY).ok().await;
    assert!(starts_on(&plain["slots"], monday), "{plain}");
    world.post(BOOK, booking(&plain["slots"][0], "one")).key(MAIN_FULL_KEY).ok().await;
}

#[actix_web::test]
async fn a_token_of_another_channel_is_judged_by_the_rules_of_the_caller() {
    let monday = monday(engine::clock::now());
    let closed_to_voice = |rules: &mut RuleSet, last: Date| {
        let closures = Some(vec![Closure::of_days(monday, last)]);
        rules.channels.insert("voice".into(), RuleOverrides { closures, ..RuleOverrides::default() });
    };
    let world = world_ruled(|rules| closed_to_voice(rules, monday)).await;
    let with_channel = |key: ApiKey| match key.name == ACME_KEY {
        true => ApiKey { channel: Some("voice".into()), ..key },
        // The practice has no rules for this channel.
        false => ApiKey { channel: Some("chat".into()), ..key },
    };
    world.api.replace_keys(keys().into_iter().map(with_channel).collect());
    let offers_of_chat = async |date: Date| {
        let asked = json!({"start_date": date.to_string(), "days": 1, "provider_ids": [ANNA], "limit": 5});
        world.post(SEARCH, asked).key(MAIN_FULL_KEY).ok().await["slots"].as_array().unwrap().clone()
    };
    let (on_monday, on_tuesday) = (offers_of_chat(monday).await, offers_of_chat(monday.add_days(1)).await);
    // The rules of both channels are the same as at the search, so they have not changed.
    for refused in [
        world.post(BOOK, booking(&on_monday[0], "one")).answers(422).await,
        world.post(HOLD, json!({"slot_token": on_monday[0]["slot_token"]})).answers(422).await,
    ] {
        assert_eq!((&refused["reason"], &refused["rule"]), (&json!("not_bookable"), &json!("closed")), "{refused}");
    }
    world.post(BOOK, booking(&on_tuesday[0], "one")).ok().await;
    change_rules(&world, |rules| closed_to_voice(rules, monday.add_days(1))).await;
    let refused = world.post(BOOK, booking(&on_tuesday[2], "two")).answers(409).await;
    assert_eq!((&refused["reason"], &refused["rule"]), (&json!("rules_changed"), &json!("closed")), "{refused}");
    world.post(BOOK, booking(&on_tuesday[2], "two")).key(MAIN_FULL_KEY).ok().await;
}

#[actix_web::test]
async fn a_type_may_be_refused_to_new_patients() {
    let world = world_ruled(|rules| {
        let refused = RuleOverrides {
            new_patients: Some(false),
            instead: Some(Some(Instead::Type(AppointmentTypeId(CLEANING)))),
            ..RuleOverrides::default()
        };
        rules.types.insert(AppointmentTypeId(CHECKUP), refused);
    })
    .await;
    let offers = offers_of_anna(&world).await;
    let refused = world.post(BOOK, booking(&offers[0], "one")).answers(422).await;
    assert_eq!((&refused["reason"], &refused["rule"]), (&json!("not_bookable"), &json!("patient_not_eligible")));
    assert_eq!(refused["instead"], json!(format!("type:{CLEANING}")));
    let asked = json!({"start_date": world.monday().to_string(), "appointment_type_id": CHECKUP, "new_patient": true});
    let none = world.post(SEARCH, asked).ok().await;
    assert_eq!((&none["slots"], &none["next_available_date"]), (&json!([]), &Value::Null));
    let message = none["message"].as_str().unwrap();
    assert!(message.contains("does not book this visit for new patients"), "{message}");
    let asked = json!({"start_date": world.monday().to_string(), "appointment_type_id": CLEANING, "new_patient": true, "limit": 1});
    let other = world.post(SEARCH, asked).ok().await["slots"][0].clone();
    world.post(BOOK, booking(&other, "one")).ok().await;
}
