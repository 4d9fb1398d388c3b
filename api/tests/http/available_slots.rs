use serde_json::{Value, json};

use crate::support::*;

fn path(world: &World, rest: &str) -> String {
    format!("/available_slots?subdomain=acme&start_date={}&days=1&lids[]=1{rest}", world.monday())
}

#[actix_web::test]
async fn slots_are_grouped_by_provider_and_operatory() {
    let world = world().await;
    let list = world.get(&path(&world, "&appointment_type_id=1")).ok().await;
    assert_eq!((each(&list["data"], "pid"), &list["count"]), (vec![json!(ANNA), json!(BEN)], &json!(2)));
    assert_eq!(each(&list["data"], "operatory_id"), [CHAIR_1, CHAIR_2]);
    let slots = list["data"][0]["slots"].as_array().unwrap();
    assert_eq!(slots.len(), 8, "eight hours of sixty minutes");
    let (date, zone) = (world.monday(), "America/New_York".parse().unwrap());
    let offset = api::wire::offset(midnight_utc(date).plus(location::time::DAY / 2), zone);
    let first = json!({"time": format!("{date}T09:00:00.000{offset}"), "end_time": format!("{date}T10:00:00.000{offset}"),
        "operatory_id": CHAIR_1, "provider_id": ANNA, "working_hour_label_id": null});
    assert_eq!(slots[0], first);
    assert_eq!(list["data"][0]["next_available_date"], Value::Null);
}

#[actix_web::test]
async fn parameters_shape_the_slots() {
    let world = world().await;
    let counts = async |rest: &str| {
        let list = world.get(&path(&world, rest)).ok().await;
        list["data"].as_array().unwrap().iter().map(|it| it["slots"].as_array().unwrap().len()).collect::<Vec<_>>()
    };
    assert_eq!(counts("&pids[]=1").await, [16], "thirty minutes where no type is named");
    assert_eq!(counts("&pids[]=1&slot_length=120").await, [4]);
    assert_eq!(counts("&pids[]=1&slot_length=120&slot_interval=60").await, [7]);
    assert_eq!(counts("&operatory_ids[]=2").await, [16]);
    assert_eq!(counts("&working_hour_source=synced&pids[]=2").await, [16]);
    assert_eq!(counts("&working_hour_source=manual&pids[]=2").await, [0]);
    assert_eq!(counts("&lids[]=2&lids[]=1&pids[]=1").await, [16, 16]);
    assert_eq!(counts("&appointments_per_timeslot=2&pids[]=1").await, [0], "Anna has one chair");
}

#[actix_web::test]
async fn where_there_is_none_the_next_date_is_told() {
    let world = world().await;
    let sunday = world.monday().add_days(-1);
    let path = format!("/available_slots?subdomain=acme&start_date={sunday}&days=1&lids[]=1&pids[]=1");
    let list = world.get(&path).ok().await;
    let expected = json!([{"lid": 1, "pid": ANNA, "operatory_id": null, "slots": [], "next_available_date": world.monday().to_string()}]);
    assert_eq!((&list["data"], &list["description"]), (&expected, &Value::Null));
    // A provider without working hours.
    let path = format!("/available_slots?subdomain=acme&start_date={sunday}&days=1&lids[]=2&pids[]=2");
    let list = world.get(&path).ok().await;
    let message = "Next available slot not found. Please confirm that the provider has active availabilities.";
    assert_eq!((&list["description"], &list["data"][0]["next_available_date"]), (&json!(message), &Value::Null));
}

#[actix_web::test]
async fn the_path_depends_on_the_version() {
    let world = world().await;
    let (new, old) = (path(&world, ""), path(&world, "").replace("available_slots", "appointment_slots"));
    world.get(&old).version("v2.2.2").ok().await;
    assert_eq!(world.get(&old).fails(404).await, ["Resource not found"]);
    assert_eq!(world.get(&new).version("v2.2.2").fails(404).await, ["Resource not found"]);
}

#[actix_web::test]
async fn wrong_values_are_named_all_at_once() {
    let world = world().await;
    let errors = world.get("/available_slots?subdomain=acme").fails(400).await;
    assert_eq!(errors, ["start_date is missing.", "days is missing.", "lids[] is missing."]);
    let query = "start_date=2026-02-30&days=0&lids[]=one&slot_length=0&slot_interval=-5&appointments_per_timeslot=6\
                 &working_hour_source=x&overlapping_operatory_slots=2&pids[]=0&operatory_ids[]=-1&appointment_type_id=a";
    let expected = [
        "start_date must be a date in the form YYYY-MM-DD.",
        "days must lie between 1 and 366.",
        "appointment_type_id must be an integer.",
        "working_hour_source must be one of manual, synced.",
        "slot_length must lie between 1 and 1440.",
        "slot_interval must lie between 1 and 1440.",
        "overlapping_operatory_slots must be true or false.",
        "appointments_per_timeslot must lie between 1 and 5.",
        "lids[] must be an integer.",
        "pids[] must lie between 1 and 2147483647.",
        "operatory_ids[] must lie between 1 and 9223372036854775807.",
    ];
    assert_eq!(world.get(&format!("/available_slots?subdomain=acme&{query}")).fails(400).await, expected);
}

#[actix_web::test]
async fn dates_at_the_ends_of_time() {
    let world = world().await;
    let asked = |date: &str| world.get(&format!("/available_slots?subdomain=acme&days=366&lids[]=1&start_date={date}"));
    assert_eq!(asked("0000-01-01").fails(400).await, ["start_date must be a date in the form YYYY-MM-DD."]);
    assert_eq!(asked("9999-12-31").fails(400).await, ["start_date must lie in the years 1900 to 2199."]);
    assert_eq!(asked("2199-12-31").fails(400).await, ["start_date must not lie more than 730 days ahead."]);
    let past = asked("1900-01-01").ok().await;
    assert_eq!(past["data"][0]["slots"], json!([]));
}

#[actix_web::test]
async fn ids_of_others_are_not_found() {
    let world = world().await;
    let fails = async |rest: &str| world.get(&path(&world, rest)).fails(404).await;
    assert_eq!(fails(&format!("&appointment_type_id={RIVALS_TYPE}")).await, ["Appointment Type with id 3 not found"]);
    assert_eq!(fails(&format!("&pids[]={RIVALS_PROVIDER}")).await, ["Provider with id 3 not found"]);
    assert_eq!(
        fails(&format!("&operatory_ids[]={SECONDS_CHAIR}")).await,
        ["Operatory with id 3 in location 1 not found"],
        "of another location"
    );
    assert_eq!(fails("&lids[]=5").await, ["Location with id 5 not found"]);
}

#[actix_web::test]
async fn only_hours_with_a_label() {
    let world = world().await;
    let labels = world.get("/working_hour_labels?subdomain=acme&location_id=1").ok().await;
    let hygiene = labels["data"].as_array().unwrap().iter().find(|it| it["name"] == "Hygiene").unwrap()["id"].clone();
    let path = format!("/available_slots?subdomain=acme&lids[]=1&start_date={}&days=1", world.monday());
    assert_eq!(each(&world.get(&path).ok().await["data"], "pid"), [ANNA, BEN]);
    let labelled = world.get(&format!("{path}&working_hour_label_id={hygiene}")).ok().await["data"].clone();
    assert_eq!(each(&labelled, "pid"), [ANNA]);
    assert_eq!(labelled[0]["slots"][0]["working_hour_label_id"], hygiene);
    let unknown = world.get(&format!("{path}&working_hour_label_id=77")).fails(404).await;
    assert_eq!(unknown, ["Working Hour Label with id 77 not found"]);
}
