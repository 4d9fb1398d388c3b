use std::sync::atomic::Ordering;

use engine::records::ehr::Write;
use location::{hours::Weekday, ids::LocationId};
use serde_json::{Value, json};
use testing::until;

use crate::support::*;

const PATH: &str = "/working_hours?subdomain=acme&location_id=1";

fn hour(fields: Value) -> Value {
    let mut hour = json!({"provider_id": BEN, "operatory_id": CHAIR_2, "begin_time": "18:00", "end_time": "20:00"});
    fields.as_object().unwrap().iter().for_each(|(name, value)| hour[name] = value.clone());
    json!({ "working_hour": hour })
}

async fn ids(world: &ApiWorld, filter: &str) -> Vec<Value> {
    each(&world.get(&format!("{PATH}&{filter}")).ok().await["data"], "id")
}

#[actix_web::test]
async fn working_hours_are_listed_and_filtered() {
    let world = world().await;
    let list = world.get(PATH).ok().await;
    assert_eq!(each(&list["data"], "provider_id"), [ANNA, BEN]);
    let one = &list["data"][0];
    assert_eq!(
        (&one["begin_time"], &one["end_time"], &one["source"]),
        (&json!("09:00"), &json!("17:00"), &json!("synced"))
    );
    assert_eq!(one["days"], json!(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]));
    assert_eq!((&one["label"]["name"], one.get("appointment_types")), (&json!("Hygiene"), None));
    let past = hour(json!({"specific_date": "2020-01-06", "appointment_type_ids": [CLEANING]}));
    let past = world.post(PATH, past).answers(201).await["data"]["id"].clone();
    let off =
        world.post(PATH, hour(json!({"days": ["Sunday"], "active": false}))).answers(201).await["data"]["id"].clone();
    assert_eq!(ids(&world, "source=manual").await, std::slice::from_ref(&past));
    assert_eq!(ids(&world, "active=false").await, [off]);
    assert_eq!(ids(&world, "ignore_past_dates=true").await.len(), 2);
    assert_eq!(ids(&world, "provider_id=1").await, [one["id"].clone()]);
    assert_eq!(ids(&world, "operatory_id=2&source=synced").await.len(), 1);
    assert_eq!(ids(&world, &format!("label_id={}", one["label"]["id"])).await, [one["id"].clone()]);
    let with = world.get(&format!("{PATH}&source=manual&include[]=appointment_types")).ok().await;
    assert_eq!(each(&with["data"][0]["appointment_types"], "name"), ["Cleaning"]);
    let bad = world.get(&format!("{PATH}&source=x&active=maybe")).fails(400).await;
    assert_eq!(bad, ["source must be one of manual, synced.", "active must be true or false."]);
}

#[actix_web::test]
async fn hours_set_here_offer_slots_until_they_are_removed() {
    let world = world().await;
    let sunday = world.monday().add_days(6).to_string();
    let slots = format!("/available_slots?subdomain=acme&lids[]=1&pids[]={BEN}&start_date={sunday}&days=1");
    let count = async || world.get(&slots).ok().await["data"][0]["slots"].as_array().unwrap().len();
    assert_eq!(count().await, 0);
    let made = world.post(PATH, hour(json!({"days": ["Sunday"]}))).answers(201).await["data"].clone();
    assert_eq!((&made["source"], &made["active"], &made["days"]), (&json!("manual"), &json!(true), &json!(["Sunday"])));
    assert_eq!(count().await, 4);
    let one = format!("/working_hours/{}?subdomain=acme", made["id"]);
    let changed = world.patch(&one, json!({"working_hour": {"end_time": "19:00"}})).ok().await["data"].clone();
    assert_eq!(
        (&changed["end_time"], &changed["days"], &changed["operatory_id"]),
        (&json!("19:00"), &json!(["Sunday"]), &json!(CHAIR_2))
    );
    assert_eq!(count().await, 2);
    let every = json!({"working_hour": {"custom_recurrence": {"num": 2, "unit": "week", "ref": sunday}}});
    let changed = world.patch(&one, every).ok().await["data"].clone();
    assert_eq!((&changed["days"], &changed["custom_recurrence"]["num"]), (&json!([]), &json!(2)));
    assert_eq!(world.get(&one).ok().await["data"]["custom_recurrence"]["unit"], json!("week"));
    for contradiction in [json!({"days": ["Monday"], "specific_date": sunday}), json!({"days": []})] {
        let errors = world.patch(&one, json!({ "working_hour": contradiction })).fails(400).await;
        assert_eq!(errors, ["working_hour needs exactly one of days, specific_date and custom_recurrence."]);
    }
    for (name, problem) in [
        ("provider_id", "must not be empty"),
        ("begin_time", "must not be empty"),
        ("end_time", "must not be empty"),
        ("active", "must not be empty"),
        ("appointment_type_ids", "must be an array"),
    ] {
        let errors = world.patch(&one, json!({"working_hour": {name: null}})).fails(400).await;
        assert_eq!(errors, [format!("working_hour.{name} {problem}.")]);
    }
    let gone = world.delete(&one).reply().await;
    assert_eq!((gone.status.as_u16(), gone.text.as_str()), (204, ""));
    assert_eq!(count().await, 0);
    assert_eq!(world.get(&one).fails(404).await, [format!("Working Hour with id {} not found", made["id"])]);
    world.delete(&one).fails(404).await;
}

const SECONDS: &str = "/working_hours?subdomain=acme&location_id=2";

fn seconds_hour(fields: Value) -> Value {
    let mut hour = hour(json!({"provider_id": ANNA, "operatory_id": SECONDS_CHAIR, "days": ["Sunday"]}));
    fields.as_object().unwrap().iter().for_each(|(name, value)| hour["working_hour"][name] = value.clone());
    hour
}

/// Waits for the `n`th write of the second location.
async fn wait_for_write(world: &ApiWorld, n: usize) -> Write {
    until("the write", async || {
        let written = world.books.written(SECOND);
        written.get(n).cloned().ok_or(written)
    })
    .await
}

#[actix_web::test]
async fn an_ehr_without_working_hours_causes_a_warning() {
    let world = world().await;
    let warning = json!("The health record system takes no working hours: these stay here only, and offer slots here.");
    let made = world.post(PATH, hour(json!({"days": ["Sunday"]}))).answers(201).await;
    assert_eq!(made["description"], warning);
    let one = format!("/working_hours/{}?subdomain=acme", made["data"]["id"]);
    let changed = world.patch(&one, json!({"working_hour": {"end_time": "19:00"}})).ok().await;
    assert_eq!(changed["description"], warning);
    world.delete(&one).answers_nothing(204).await;
    let writes = world.get("/write_requests?subdomain=acme&location_id=1").ok().await;
    assert_eq!(writes["data"], json!([]));
}

#[actix_web::test]
async fn hours_are_written_to_an_ehr_that_accepts_them() {
    let world = world().await;
    let made = world.post(SECONDS, seconds_hour(json!({}))).answers(201).await;
    assert_eq!((&made["description"], &made["data"]["source"]), (&Value::Null, &json!("manual")));
    let one = format!("/working_hours/{}?subdomain=acme", made["data"]["id"]);
    let Write::CreateWorkingHour(first) = wait_for_write(&world, 0).await else { panic!("no hours were made") };
    assert_eq!((first.provider.as_str(), first.operatory.as_deref()), ("anna", Some("chair 3")));
    assert_eq!(
        (first.begin_time.as_str(), first.end_time.as_str(), first.days),
        ("18:00", "20:00", vec![Weekday::Sunday])
    );
    let end = json!({"working_hour": {"end_time": "24:00", "specific_date": "2030-06-01"}});
    let changed = world.patch(&one, end).ok().await;
    assert_eq!(changed["description"], Value::Null);
    let Write::UpdateWorkingHour(second) = wait_for_write(&world, 1).await else { panic!("no hours were changed") };
    assert_eq!((second.id.as_str(), second.end_time.as_str()), ("written 0", "24:00"));
    assert_eq!((second.days, second.specific_date.as_deref()), (Vec::new(), Some("2030-06-01")));

    // A pull shows the same record, which clients may still change.
    let before = world.get(&one).ok().await["data"].clone();
    world.sync(SECOND).await;
    assert_eq!(world.get(&one).ok().await["data"], before);
    let all = world.get(SECONDS).ok().await;
    assert_eq!(each(&all["data"], "source"), ["synced", "manual"]);
    world.patch(&one, json!({"working_hour": {"end_time": "23:00"}})).ok().await;
    assert!(matches!(wait_for_write(&world, 2).await, Write::UpdateWorkingHour(third) if third.end_time == "23:00"));
    world.delete(&one).answers_nothing(204).await;
    assert!(matches!(wait_for_write(&world, 3).await, Write::DeleteWorkingHour(id) if id == "written 0"));
    world.get(&one).fails(404).await;
    let writes = world.get("/write_requests?subdomain=acme&location_id=2&per_page=100&sort=queued_at").ok().await;
    let hours: Vec<&Value> =
        writes["data"].as_array().unwrap().iter().filter(|it| it["resource"] == "working_hours").collect();
    let operations: Vec<&str> = hours.iter().map(|it| it["operation"].as_str().unwrap()).collect();
    assert_eq!(operations, ["create", "update", "update", "delete"]);
}

#[actix_web::test]
async fn hours_pulled_before_their_confirmation_stay_one_record() {
    let world = world().await;
    let made = world.post(SECONDS, seconds_hour(json!({"begin_time": "00:08"}))).answers(201).await;
    let one = format!("/working_hours/{}?subdomain=acme", made["data"]["id"]);
    wait_for_write(&world, 0).await;
    let sources = async || each(&world.get(SECONDS).ok().await["data"], "source");
    // A pull waits for the answer a few times, then accepts the new record.
    until("three hours", async || {
        world.engine.sync_now(LocationId(SECOND)).await.unwrap();
        sources().await.len() == 3
    })
    .await;
    assert_eq!(sources().await, ["synced", "manual", "synced"]);
    world.books.kind.store(true, Ordering::SeqCst);
    world.until(SECONDS, |list| each(&list["data"], "source") == ["synced", "manual"]).await;
    world.sync(SECOND).await;
    assert_eq!(sources().await, ["synced", "manual"]);
    world.patch(&one, json!({"working_hour": {"end_time": "19:00"}})).ok().await;
    assert!(matches!(wait_for_write(&world, 1).await, Write::UpdateWorkingHour(hour) if hour.id == "written 0"));
}

#[actix_web::test]
async fn hours_refused_by_the_ehr_are_reverted() {
    let world = world().await;
    let refused = world.post(SECONDS, seconds_hour(json!({"begin_time": "00:07"}))).answers(201).await;
    let one = format!("/working_hours/{}?subdomain=acme", refused["data"]["id"]);
    let shown = world.until(&one, |it| it["data"]["failure_reason"] == "no provider works then").await["data"].clone();
    assert_eq!(shown["active"], json!(false));
    assert_eq!(world.get(&format!("{SECONDS}&source=manual")).ok().await["data"], json!([]));
    // Corrected hours are written again.
    world.patch(&one, json!({"working_hour": {"begin_time": "18:00"}})).ok().await;
    assert!(matches!(wait_for_write(&world, 0).await, Write::CreateWorkingHour(_)));
    let shown = world.until(&one, |it| it["data"]["active"] == true).await["data"].clone();
    assert_eq!(shown.get("failure_reason"), None);

    world.patch(&one, json!({"working_hour": {"begin_time": "00:07"}})).ok().await;
    let shown = world.until(&one, |it| it["data"]["failure_reason"] == "no provider works then").await["data"].clone();
    assert_eq!((&shown["begin_time"], &shown["active"]), (&json!("18:00"), &json!(true)));
}

#[actix_web::test]
async fn hours_for_internal_types_are_not_written_to_the_ehr() {
    let world = world().await;
    let kind =
        json!({"appointment_type": {"name": "Ours", "minutes": 30, "parent_type": "Institution", "parent_id": 1}});
    let kind = world.post("/appointment_types?subdomain=acme", kind).answers(201).await["data"]["id"].clone();
    let made = world.post(SECONDS, seconds_hour(json!({"appointment_type_ids": [kind]}))).answers(201).await;
    let warning = made["description"].as_str().unwrap();
    assert!(warning.starts_with("The working hours are for appointment types"), "{warning}");
    let one = format!("/working_hours/{}?subdomain=acme", made["data"]["id"]);
    // Without an own type they concern the EHR, and then cannot become internal again.
    world.patch(&one, json!({"working_hour": {"appointment_type_ids": []}})).ok().await;
    assert!(matches!(wait_for_write(&world, 0).await, Write::CreateWorkingHour(_)));
    let back = world.patch(&one, json!({"working_hour": {"appointment_type_ids": [kind]}})).fails(400).await;
    assert_eq!(back, ["EMR does not support this operation."]);
}

#[actix_web::test]
async fn refusals_have_the_specified_messages() {
    let world = world().await;
    let post = |path: &str, fields: Value| world.post(path, hour(fields));
    let days = json!({"days": ["Monday"], "provider_id": RIVALS_PROVIDER});
    assert_eq!(post(PATH, days).fails(404).await, ["User with id 3 not found"]);
    let nowhere = json!({"days": ["Monday"], "provider_id": RIVALS_PROVIDER, "operatory_id": 77});
    assert_eq!(post(PATH, nowhere).fails(404).await, ["User with id 3 not found", "Operatory with id 77 not found"]);
    let second = "/working_hours?subdomain=acme&location_id=2";
    let none = json!({"days": ["Monday"], "provider_id": ANNA, "operatory_id": null});
    assert_eq!(post(second, none.clone()).fails(400).await, ["Operatory uuid can't be blank"]);
    post(PATH, none).answers(201).await;
    let made = post(second, json!({"days": ["Sunday"], "provider_id": ANNA, "operatory_id": SECONDS_CHAIR}))
        .answers(201)
        .await;
    let one = format!("/working_hours/{}?subdomain=acme", made["data"]["id"]);
    let blank = world.patch(&one, json!({"working_hour": {"operatory_id": null}})).fails(400).await;
    assert_eq!(blank, ["Operatory uuid can't be blank"]);
}

#[actix_web::test]
async fn invalid_hours_are_refused() {
    let world = world().await;
    let fails = async |status: u16, fields: Value| world.post(PATH, hour(fields)).fails(status).await;
    let exactly = ["working_hour needs exactly one of days, specific_date and custom_recurrence."];
    assert_eq!(fails(400, json!({})).await, exactly);
    assert_eq!(fails(400, json!({"days": ["Monday"], "specific_date": "2026-12-01"})).await, exactly);
    assert_eq!(
        fails(400, json!({"days": ["Caturday"]})).await,
        ["working_hour.days[0] must be one of Sunday, Monday, Tuesday, Wednesday, Thursday, Friday, Saturday."]
    );
    assert_eq!(
        fails(400, json!({"custom_recurrence": {"num": 0}})).await,
        [
            "working_hour.custom_recurrence.num must be between 1 and 10000.",
            "working_hour.custom_recurrence.unit is missing.",
            "working_hour.custom_recurrence.ref is missing.",
        ]
    );
    assert_eq!(
        fails(400, json!({"days": ["Monday"], "begin_time": "9 am"})).await,
        ["working_hour.begin_time must be a time of day in the form HH:MM."]
    );
    assert_eq!(fails(404, json!({"days": ["Monday"], "operatory_id": 77})).await, ["Operatory with id 77 not found"]);
    assert_eq!(
        fails(404, json!({"days": ["Monday"], "appointment_type_ids": [77]})).await,
        ["Appointment Type with id 77 not found"]
    );
    let of_ehr = "The working hours come from the health record system: change them there.";
    assert_eq!(
        world.patch("/working_hours/1?subdomain=acme", json!({"working_hour": {"active": false}})).fails(400).await,
        [of_ehr]
    );
    assert_eq!(world.delete("/working_hours/1?subdomain=acme").fails(400).await, [of_ehr]);
    assert_eq!(world.post(PATH, json!({})).fails(400).await[0], "working_hour is missing.");
    let once = || world.post(PATH, hour(json!({"days": ["Sunday"]}))).with("Idempotency-Key", "k");
    let first = once().answers(201).await;
    assert_eq!(once().answers(201).await["data"]["id"], first["data"]["id"]);
}

#[actix_web::test]
async fn hours_with_likely_typing_errors_are_refused_or_named() {
    let world = world().await;
    let none = ["working_hour.end_time must differ from begin_time; a whole day is 00:00 to 24:00."];
    let same = hour(json!({"days": ["Sunday"], "begin_time": "10:00", "end_time": "10:00"}));
    assert_eq!(world.post(PATH, same).fails(400).await, none);
    let made = world
        .post(PATH, hour(json!({"days": ["Sunday"], "begin_time": "17:00", "end_time": "09:00"})))
        .answers(201)
        .await;
    let description = made["description"].as_str().unwrap();
    assert!(description.contains("The hours end after midnight: at 09:00 of the next day."), "{description}");
    let one = format!("/working_hours/{}?subdomain=acme", made["data"]["id"]);
    assert_eq!(world.patch(&one, json!({"working_hour": {"end_time": "17:00"}})).fails(400).await, none);
    let past =
        world.patch(&one, json!({"working_hour": {"specific_date": "2020-01-06", "end_time": "18:00"}})).ok().await;
    let description = past["description"].as_str().unwrap();
    assert!(
        description.contains("specific_date 2020-01-06 is in the past: these hours offer no slots."),
        "{description}"
    );
    assert!(!description.contains("midnight"), "{description}");
    let whole_day = hour(json!({"days": ["Saturday"], "begin_time": "00:00", "end_time": "24:00"}));
    let made = world.post(PATH, whole_day).answers(201).await;
    assert!(!made["description"].as_str().unwrap().contains("midnight"));
}

#[actix_web::test]
async fn v2_calls_them_availabilities() {
    let world = world().await;
    let v2 = |path: &str| world.get(path).version("v2.2.2");
    let list = v2("/availabilities?subdomain=acme&location_id=1&per_page=1").ok().await;
    assert_eq!((&list["count"], list["data"].as_array().unwrap().len()), (&json!(2), 1));
    v2(PATH).fails(404).await;
    world.get("/availabilities?subdomain=acme&location_id=1").fails(404).await;
    let made = world
        .post("/availabilities?subdomain=acme&location_id=1", hour(json!({"days": ["Sunday"]})))
        .version("v2.2.2")
        .answers(201)
        .await;
    let one = format!("/availabilities/{}?subdomain=acme", made["data"]["id"]);
    v2(&one).ok().await;
    world.delete(&one).version("v2.2.2").answers_nothing(204).await;
}

#[actix_web::test]
async fn labels_are_collected_from_the_hours() {
    let world = world().await;
    let list = world.get("/working_hour_labels?subdomain=acme").ok().await;
    assert_eq!(each(&list["data"], "name"), ["Hygiene"]);
    assert_eq!(list["data"][0]["location_id"], json!(MAIN));
    for (filter, found) in [
        ("location_id=2", 0),
        ("location_id=1", 1),
        ("search_name=GIENE", 1),
        ("search_name=x", 0),
        ("active=false", 0),
    ] {
        let list = world.get(&format!("/working_hour_labels?subdomain=acme&{filter}")).ok().await;
        assert_eq!(list["data"].as_array().unwrap().len(), found, "{filter}");
    }
}
