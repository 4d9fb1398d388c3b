//! Lenient parsing: every endpoint accepts unambiguous times, numbers and names in the same forms.

use location::time::{HOUR, Timestamp};
use serde_json::{Value, json};

use crate::support::*;

const POST: &str = "/appointments?subdomain=acme&location_id=1";

fn appt(world: &ApiWorld, fields: Value) -> Value {
    let start = format!("{}T15:00:00Z", world.monday());
    let mut appt = json!({"patient_id": PAT, "provider_id": ANNA, "operatory_id": CHAIR_1, "start_time": start});
    fields.as_object().unwrap().iter().for_each(|(name, value)| appt[name] = value.clone());
    json!({ "appt": appt })
}

#[actix_web::test]
async fn times_are_accepted_in_every_usual_form() {
    let world = world().await;
    let day = world.monday().add_days(21);
    let all = world.get(&format!(
        "/appointments?subdomain=acme&location_id=1&start={day}T00:00:00Z&end={day}T23:59:59Z&per_page=100"
    ));
    let all = all.ok().await["data"].clone();
    assert!(!all.as_array().unwrap().is_empty());
    for (start, end) in [
        ("T00:00:00+0000", "T23:59:59+0000"),
        ("T00:00:00%2B0000", "T23:59:59%2B00"),
        ("%2000:00:00%2B00:00", "+23:59:59Z"),
        ("T00:00Z", "T23:59:59.000Z"),
    ] {
        let path = format!("/appointments?subdomain=acme&location_id=1&start={day}{start}&end={day}{end}&per_page=100");
        let found = world.get(&path).ok().await;
        assert_eq!((&found["data"], &found["description"]), (&all, &Value::Null), "{start}");
    }
    let since = world.get("/patients?subdomain=acme&location_id=1&updated_since=2020-01-01T00:00:00-0500").ok().await;
    assert!(!since["data"].as_array().unwrap().is_empty());
    let day = world.monday();
    let start = json!({"start_time": format!("{day} 10:00:00-0500"), "end_time": format!("{day}T15:30:00+00")});
    let made = world.post(POST, appt(&world, start)).answers(201).await["data"]["appt"].clone();
    assert_eq!(
        (&made["start_time"], &made["end_time"]),
        (&json!(format!("{day}T15:00:00.000Z")), &json!(format!("{day}T15:30:00.000Z")))
    );
}

#[actix_web::test]
async fn a_time_without_offset_uses_the_locations_zone_and_is_noted() {
    let world = world().await;
    let day = world.monday();
    let body = appt(&world, json!({"start_time": format!("{day}T10:00:00")}));
    let made = world.post(POST, body).answers(201).await;
    let shown = made["data"]["appt"]["start_time_with_tz"].as_str().unwrap();
    assert!(shown.starts_with(&format!("{day}T10:00:00.000-0")), "{shown}");
    let description = made["description"].as_str().unwrap();
    assert!(
        description.starts_with(&format!(
            "{day}T10:00:00 has no offset and was read in America/New_York, as {day}T10:00:00-0"
        )),
        "{description}"
    );
    // A change uses the zone of the appointment's location, which no parameter names.
    let second = format!("/appointments/{SECONDS_APPOINTMENT}?subdomain=acme");
    let body = json!({"appt": {"checkin_at": format!("{day}T10:00:00")}});
    let changed = world.patch(&second, body).answers(400).await;
    assert_eq!(changed["reason"], "appointment_not_open");
    assert!(changed["description"].as_str().unwrap().contains("was read in America/Chicago"), "{changed}");
    // With locations of several zones the default is UTC, and the description reports it.
    let all = format!("/appointments?subdomain=acme&start={day}T00:00:00&end={day}T23:00:00Z");
    assert!(world.get(&all).ok().await["description"].as_str().unwrap().contains("was read in UTC"));
    // The client named the zone.
    assert_eq!(world.get(&format!("{all}&timezone=America/Denver")).ok().await["description"], Value::Null);
}

#[actix_web::test]
async fn an_end_given_as_a_date_includes_the_day() {
    let world = world().await;
    let day = world.monday().add_days(21);
    let found = async |rest: &str| {
        let path = format!("/appointments?subdomain=acme&location_id=1&per_page=100&{rest}");
        each(&world.get(&path).ok().await["data"], "id")
    };
    let of_day = found(&format!("start={day}&end={day}")).await;
    assert!(!of_day.is_empty());
    let next = day.add_days(1);
    assert_eq!(of_day, found(&format!("start={day}T00:00:00&end={next}T00:00:00&timezone=America/New_York")).await);
}

#[actix_web::test]
async fn numbers_and_booleans_are_accepted_as_texts() {
    let world = world().await;
    let body =
        appt(&world, json!({"patient_id": "1", "provider_id": "1", "operatory_id": "1", "is_guardian": "false"}));
    world.post(POST, body).answers(201).await;
    let wrong = appt(&world, json!({"patient_id": "1.0", "is_guardian": "yes"}));
    let refused = world.post(POST, wrong).fails(400).await;
    assert_eq!(refused, ["appt.patient_id must be an integer.", "appt.is_guardian must be true or false."]);
    let python = world.get("/patients?subdomain=acme&location_id=1&location_strict=True&inactive=False").ok().await;
    assert_eq!(python["description"], Value::Null);
}

#[actix_web::test]
async fn working_hours_are_accepted_by_their_older_name() {
    let world = world().await;
    let hour = json!({"provider_id": BEN, "operatory_id": CHAIR_2, "days": ["Saturday"], "begin_time": "09:00", "end_time": "12:00"});
    let post =
        |version: &'static str, path: &str| world.post(path, json!({"availability": hour.clone()})).version(version);
    let made = post("v2", "/availabilities?subdomain=acme&location_id=1").answers(201).await["data"]["id"].clone();
    post("v3.0.0", "/working_hours?subdomain=acme&location_id=1").answers(201).await;
    let one = format!("/availabilities/{made}?subdomain=acme");
    let changed = world.patch(&one, json!({"availability": {"end_time": "13:00"}})).version("v2").ok().await;
    assert_eq!(changed["data"]["end_time"], "13:00");
    assert!(!changed["description"].as_str().unwrap().contains("ignored"), "{changed}");
    let without = world.post("/working_hours?subdomain=acme&location_id=1", json!({})).fails(400).await;
    assert_eq!(without[0], "working_hour is missing.");
    assert!(without.iter().all(|problem| !problem.contains("working_hour.")), "reported once: {without:?}");
}

#[actix_web::test]
async fn an_appointment_may_have_its_location_in_the_body() {
    let world = world().await;
    let mut body = appt(&world, json!({}));
    body["location_id"] = json!(MAIN);
    let made = world.post("/appointments?subdomain=acme", body.clone()).answers(201).await;
    assert_eq!(made["data"]["appt"]["location_id"], json!(MAIN));
    let contradiction = world.post("/appointments?subdomain=acme&location_id=2", body).fails(400).await;
    assert_eq!(contradiction[0], "location_id names one location in the query and another in the body.");
    let none = world.post("/appointments?subdomain=acme", appt(&world, json!({}))).fails(400).await;
    assert_eq!(none, ["location_id is missing."]);
}

#[actix_web::test]
async fn dates_of_birth_and_genders_are_accepted_in_common_forms() {
    let world = world().await;
    let new = |first: &str, born: &str, gender: &str| {
        json!({"provider": {"provider_id": ANNA}, "patient": {"first_name": first, "last_name": "Born", "email": "b@example.com",
            "bio": {"date_of_birth": born, "phone_number": "555-010-7777", "gender": gender}}})
    };
    let path = "/patients?subdomain=acme&location_id=1";
    for (first, born, gender) in
        [("A", "March 1 1985", "female"), ("B", "1 Mar 1985", "M"), ("C", "08/22/1938", "OTHER")]
    {
        world.post(path, new(first, born, gender)).answers(201).await;
    }
    let found = world.get(&format!("{path}&date_of_birth=March%201,%201985&sort=id")).ok().await;
    assert_eq!(each(&found["data"], "first_name"), ["A", "B"]);
    assert_eq!(each(&found["data"], "bio")[0]["gender"], "Female");
    let both = world.post(path, new("D", "03/04/1985", "Female")).fails(400).await;
    assert_eq!(both, ["patient.bio.date_of_birth can mean 1985-03-04 or 1985-04-03: write it as YYYY-MM-DD."]);
}

#[actix_web::test]
async fn unreadable_names_are_refused() {
    let world = world().await;
    let path = "/patients?subdomain=acme&location_id=1";
    for (name, problem) in [
        ("\u{200b}", "must not be empty"),
        ("An\nna", "must not contain line ends, control characters or marks of writing direction"),
        ("A\u{202e}nna", "must not contain line ends, control characters or marks of writing direction"),
        ("An\u{200b}na", "must not contain characters that cannot be seen"),
    ] {
        let body = json!({"provider": {"provider_id": ANNA}, "patient": {"first_name": name, "last_name": "Lee",
            "email": "b@example.com", "bio": {"date_of_birth": "1985-03-01", "phone_number": "555-010-7777"}}});
        assert_eq!(world.post(path, body).fails(400).await, [format!("patient.first_name {problem}.")], "{name:?}");
    }
}

#[actix_web::test]
async fn future_times_of_communication_logs_are_refused() {
    let world = world().await;
    let at = |time: Timestamp| json!({"communication_log": {"patient_id": PAT, "note": "x", "occurred_at": framework::values::times::utc(time)}});
    let post = |body: Value| world.post("/communication_logs?subdomain=acme&location_id=1", body).version("v3.1.0");
    let refused = post(at(world.engine.now().plus(HOUR))).fails(400).await;
    assert_eq!(refused, ["communication_log.occurred_at must not be in the future."]);
    post(at(world.engine.now().minus(HOUR))).answers(202).await;
}

#[actix_web::test]
async fn an_ambiguous_body_is_refused() {
    let world = world().await;
    let post = |body: &str, kind: &str| {
        let ask = world.request(actix_web::http::Method::POST, "/intent/booking/search?subdomain=acme&location_id=1");
        ask.with("Content-Type", kind).bytes(body.to_owned())
    };
    let twice = post(r#"{"days": 1, "days": 2}"#, "application/json").answers(400).await;
    assert_eq!(
        (&twice["error"], &twice["reason"]),
        (&json!([r#"The body holds the key "days" twice."#]), &json!("invalid_json"))
    );
    post("{}", "application/json; charset=utf-16").fails(415).await;
    post("{}", "application/json; charset=UTF-8").ok().await;
    let target = world.post("/webhook_endpoints", json!({"target_url": "https://example.com:0/"})).fails(400).await;
    assert_eq!(target, ["target_url must not have port 0."]);
}

#[actix_web::test]
async fn aliases_of_filters_filter() {
    let world = world().await;
    let day = world.monday().add_days(21);
    let appointments = format!("/appointments?subdomain=acme&start={day}&end={day}&per_page=100");
    let ask = async |rest: &str| {
        let all = world.get(&format!("{appointments}&{rest}")).ok().await;
        assert_eq!(all["description"], Value::Null, "{rest}");
        each(&all["data"], "id")
    };
    for (one, many) in
        [("patient_id", "patient_ids[]"), ("provider_id", "provider_ids[]"), ("operatory_id", "operatory_ids[]")]
    {
        for id in 1..=3 {
            assert_eq!(ask(&format!("{one}={id}")).await, ask(&format!("{many}={id}")).await, "{one}={id}");
        }
    }
    assert_ne!(ask("provider_id=1").await, ask("provider_id=2").await);
    let found = async |rest: &str| {
        let all = world.get(&format!("/patients?subdomain=acme&location_id=1&per_page=100&{rest}")).ok().await;
        assert_eq!(all["description"], Value::Null, "{rest}");
        each(&all["data"], "foreign_id")
    };
    assert_eq!(found("phone=5550102030").await, ["ada"]);
    assert_eq!(found("first_name=ada").await, ["ada"]);
    assert_eq!(found("last_name=LUBKE").await, ["ada"]);
    assert_eq!(found("first_name=lubke").await, [""; 0], "not of the given names");
    assert_eq!(found("first_name=-").await, [""; 0]);
    assert_eq!(found("patient_id=1").await, ["pat"]);
    assert_eq!(found("since=2190-01-01T00:00:00Z").await, [""; 0]);
    assert_eq!(found("updated_after=2190-01-01T00:00:00Z").await, [""; 0]);
    // The EHR of this world accepts form responses and has all four patients.
    assert_eq!(found("forms_syncable=true").await.len(), 4);
    assert_eq!(found("forms_syncable=false").await, [""; 0]);
    let named = world.get("/locations?filter_by_subscription_feature=forms").reply().await;
    assert_eq!(named.header("X-Ignored-Parameters"), Some("filter_by_subscription_feature"));
}

#[actix_web::test]
async fn lists_with_cursors_also_accept_page_numbers() {
    let world = world().await;
    let page =
        async |rest: &str| world.get(&format!("/patients?subdomain=acme&location_id=1&per_page=1&{rest}")).ok().await;
    let mut seen = Vec::new();
    for number in 1..=10 {
        let rows = page(&format!("page={number}")).await;
        assert_eq!(rows["description"], Value::Null);
        let ids = each(&rows["data"], "id");
        if ids.is_empty() {
            break;
        }
        seen.extend(ids);
    }
    let all = world.get("/patients?subdomain=acme&location_id=1&per_page=100").ok().await;
    assert_eq!(seen, each(&all["data"], "id"), "each once, and it ends");
    let second = page("page=2").await;
    let next = page(&format!("end_cursor={}", second["page_info"]["end_cursor"].as_str().unwrap())).await;
    assert_eq!(next["data"], page("page=3").await["data"]);
}

#[actix_web::test]
async fn null_clears_what_may_be_cleared() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let path = format!("/patients/{ada}?subdomain=acme&location_id=1");
    let patch = |patient: Value| world.patch(&path, json!({ "patient": patient })).version("v3.1.0");
    let before =
        patch(json!({"email": "a@example.com", "address": {"line_1": "1 Here", "line_2": "Left", "city": "Town"}}))
            .ok()
            .await;
    assert_eq!(before["data"]["email"], "a@example.com");
    let after =
        patch(json!({"email": null, "middle_name": null, "address": {"line_2": null}})).ok().await["data"].clone();
    assert_eq!(
        (&after["email"], &after["middle_name"], &after["address"]["line_2"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(after["address"]["line_1"], "1 Here");
    let problems = patch(json!({"first_name": null, "date_of_birth": null, "gender": null, "cell_phone_number": null}))
        .fails(400)
        .await;
    let expected = ["first_name", "date_of_birth", "gender", "cell_phone_number"];
    assert_eq!(problems, expected.map(|name| format!("patient.{name} must not be empty.")));
    let hook = world.post("/webhook_endpoints", json!({"target_url": "https://example.com/"})).answers(201).await;
    let hook = format!("/webhook_endpoints/{}", hook["data"]["id"]);
    world.patch(&hook, json!({"active": null})).fails(400).await;
}
