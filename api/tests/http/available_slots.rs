use serde_json::{Value, json};

use crate::support::*;

fn path(world: &ApiWorld, rest: &str) -> String {
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
    let offset = framework::values::times::offset(midnight_utc(date).plus(location::time::DAY / 2), zone);
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
async fn without_slots_the_next_available_date_is_given() {
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
        "days must be between 1 and 93.",
        "appointment_type_id must be an integer.",
        "working_hour_source must be one of manual, synced.",
        "slot_length must be between 1 and 1440.",
        "slot_interval must be between 5 and 1440.",
        "overlapping_operatory_slots must be true or false.",
        "appointments_per_timeslot must be between 1 and 5.",
        "lids[] must be an integer.",
        "pids[] must be between 1 and 2147483647.",
        "operatory_ids[] must be between 1 and 9223372036854775807.",
    ];
    assert_eq!(world.get(&format!("/available_slots?subdomain=acme&{query}")).fails(400).await, expected);
}

#[actix_web::test]
async fn dates_beyond_the_limits_are_refused_and_past_ones_adjusted() {
    let world = world().await;
    let asked = |date: &str| world.get(&format!("/available_slots?subdomain=acme&days=93&lids[]=1&start_date={date}"));
    assert_eq!(asked("0000-01-01").fails(400).await, ["start_date must be between the years 1900 and 2199."]);
    assert_eq!(asked("9999-12-31").fails(400).await, ["start_date must be between the years 1900 and 2199."]);
    assert_eq!(asked("2199-12-31").fails(400).await, ["start_date must not be more than 730 days ahead."]);
    let past = asked("1900-01-01").ok().await;
    let description = past["description"].as_str().unwrap();
    assert!(
        description.starts_with("start_date 1900-01-01 is in the past: the search begins today, 20"),
        "{description}"
    );
    assert!(!past["data"][0]["slots"].as_array().unwrap().is_empty());
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
async fn a_label_restricts_the_working_hours() {
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

#[actix_web::test]
async fn days_times_locations_have_a_limit() {
    let world = world().await;
    let ask = |days: u32, rest: &str| {
        let monday = world.monday();
        world.get(&format!("/available_slots?subdomain=acme&start_date={monday}&days={days}{rest}"))
    };
    let too_much = ask(47, "&lids[]=1&lids[]=2").fails(400).await;
    assert_eq!(too_much, ["days times locations must not be more than 93, and it is 94."]);
    ask(46, "&lids[]=1&lids[]=2").ok().await;
    ask(93, "&lids[]=1&lids[]=1").ok().await;
    // Slots shorter than five minutes still start five minutes apart.
    let close = ask(1, "&lids[]=1&pids[]=1&slot_length=1").ok().await;
    assert_eq!(close["data"][0]["slots"].as_array().unwrap().len(), 8 * 12);
}

/// Returns the start of each slot, in the order of the response.
fn starts(list: &Value) -> Vec<(u64, u64, String)> {
    let rows = list["data"].as_array().unwrap().iter();
    let of = |row: &Value| {
        let (lid, slots) = (row["lid"].as_u64().unwrap(), row["slots"].as_array().unwrap().clone());
        slots
            .into_iter()
            .map(move |slot| (lid, slot["provider_id"].as_u64().unwrap(), slot["time"].as_str().unwrap().to_owned()))
    };
    rows.flat_map(of).collect()
}

#[actix_web::test]
async fn a_long_answer_ends_early_and_names_the_date_to_continue() {
    let world = world().await;
    let first = world.monday();
    let end = first.add_days(93);
    let ask = async |from: location::zone::Date, rest: &str| {
        let days = end.days_since(from);
        let path =
            format!("/available_slots?subdomain=acme&start_date={from}&days={days}&lids[]=1&slot_interval=5{rest}");
        world.get(&path).ok().await
    };
    let mut whole = Vec::new();
    for provider in [ANNA, BEN] {
        let own = ask(first, &format!("&pids[]={provider}")).await;
        assert_eq!(own["description"], Value::Null);
        whole.extend(starts(&own));
    }
    assert!(whole.len() > 10_000);
    let one = ask(first, "").await;
    let next = one["data"][0]["next_available_date"].as_str().unwrap().to_owned();
    let expected = format!(
        "The answer ends before {next}, as it may have 10000 slots. Ask again with start_date={next} for the rest."
    );
    assert_eq!(one["description"], json!(expected));
    let rest = ask(next.parse().unwrap(), "").await;
    assert_eq!((&rest["description"], &rest["data"][0]["next_available_date"]), (&Value::Null, &Value::Null));
    let mut walked = starts(&one);
    assert!((9_000..=10_000).contains(&walked.len()), "{}", walked.len());
    walked.extend(starts(&rest));
    walked.sort();
    whole.sort();
    assert!(walked == whole, "{} and {}", walked.len(), whole.len());
}

#[actix_web::test]
async fn a_long_answer_of_several_locations_has_each_day_of_all() {
    let world = world().await;
    let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    for (location, chair, end) in [(MAIN, CHAIR_1, "20:00"), (SECOND, SECONDS_CHAIR, "23:00")] {
        let hour =
            json!({"provider_id": ANNA, "operatory_id": chair, "begin_time": "00:00", "end_time": end, "days": days});
        let path = format!("/working_hours?subdomain=acme&location_id={location}");
        world.post(&path, json!({ "working_hour": hour })).answers(201).await;
    }
    let first = world.monday();
    let ask = async |days: i64, lids: &str| {
        let path = format!(
            "/available_slots?subdomain=acme&start_date={first}&days={days}{lids}&pids[]={ANNA}&slot_interval=5\
             &working_hour_source=manual"
        );
        world.get(&path).ok().await
    };
    let both = ask(46, "&lids[]=1&lids[]=2").await;
    let next = both["data"][0]["next_available_date"].as_str().unwrap().to_owned();
    let said = format!(
        "The answer ends before {next}, as it may have 10000 slots. Ask again with start_date={next} for the rest."
    );
    assert_eq!(both["description"], json!(said));
    let found = starts(&both);
    assert!((9_000..=10_000).contains(&found.len()), "{}", found.len());
    let complete = next.parse::<location::zone::Date>().unwrap().days_since(first);
    let mut single = starts(&ask(complete, "&lids[]=1").await);
    single.extend(starts(&ask(complete, "&lids[]=2").await));
    assert!(found == single, "{} and {}", found.len(), single.len());
}

#[actix_web::test]
async fn weeks_without_slots_are_skipped() {
    let world = world().await;
    let late = world.monday().add_days(40);
    let hour = json!({"working_hour": {"provider_id": BEN, "operatory_id": CHAIR_2, "begin_time": "06:00", "end_time": "07:00",
        "specific_date": late.to_string()}});
    world.post("/working_hours?subdomain=acme&location_id=1", hour).answers(201).await;
    let manual = async |from: location::zone::Date, days: u32| {
        let path = format!(
            "/available_slots?subdomain=acme&start_date={from}&days={days}&lids[]=1&working_hour_source=manual"
        );
        world.get(&path).ok().await
    };
    assert_eq!(starts(&manual(world.monday(), 60).await).len(), 2);
    let none = manual(world.monday(), 20).await;
    assert_eq!(
        (&none["data"][0]["slots"], &none["data"][0]["next_available_date"]),
        (&json!([]), &json!(late.to_string()))
    );
    let none = manual(late.add_days(1), 20).await;
    assert_eq!(none["data"][0]["next_available_date"], Value::Null);
}

/// A long search runs as one short search per week. Between weeks, the location and the worker serve other requests.
#[actix_web::test]
async fn a_long_search_yields_between_weeks() {
    let world = world().await;
    let (monday, days) = (world.monday(), 93);
    let long = format!("/available_slots?subdomain=acme&start_date={monday}&days={days}&lids[]=1&pids[]={BEN}");
    let before = world.engine.metrics().commands;
    world.get(&long).ok().await;
    let asked = world.engine.metrics().commands - before;
    assert!(asked >= days / 7, "{asked}");
}
