//! Malformed bodies and odd values in every field give clear errors, no panic and no 500.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::support::*;

const SEARCH: &str = "/intent/booking/search?subdomain=acme&location_id=1";

#[actix_web::test]
async fn malformed_bodies_are_refused() {
    let world = world().await;
    let post =
        |bytes: Vec<u8>| world.request(Method::POST, SEARCH).with("Content-Type", "application/json").bytes(bytes);
    assert!(
        post(b"{\"days\": }".to_vec()).fails(400).await[0]
            .starts_with("The body is not valid JSON at byte 10: expected value")
    );
    assert!(post(b"\xff\xfe".to_vec()).fails(400).await[0].contains("at byte"));
    assert_eq!(post(b"[1]".to_vec()).fails(400).await, ["The body must be a JSON object."]);
    assert_eq!(post(b"null".to_vec()).fails(400).await, ["The body must be a JSON object."]);
    assert_eq!(post(Vec::new()).ok().await["ok"], json!(true));
    let nested = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    assert_eq!(post(nested).fails(400).await, ["The body is nested deeper than 64 levels at byte 64."]);
    let reply = post(vec![b' '; 1024 * 1024 + 1]).reply().await;
    assert_eq!(
        (reply.status.as_u16(), &reply.json()["error"]),
        (413, &json!(["The body is larger than 1048576 bytes."]))
    );
    post([vec![b' '; 1024 * 1024 - 2], b"{}".to_vec()].concat()).ok().await;
}

#[actix_web::test]
async fn an_invalid_value_is_not_reported_as_missing() {
    let world = world().await;
    let errors = world.post("/appointments?subdomain=acme&location_id=abc", json!({"appt": {}})).fails(400).await;
    let of_location: Vec<_> = errors.iter().filter(|error| error.contains("location_id")).collect();
    assert_eq!(of_location, ["location_id must be an integer."]);

    let release = world.request(Method::DELETE, "/intent/booking/hold?subdomain=acme").json(json!({"slot_token": ""}));
    assert_eq!(release.fails(400).await, ["slot_token must not be empty."]);

    let insure = async |field: &str, value: Value| {
        let mut coverage = json!({"plan_id": 1, "patient_id": PAT});
        coverage[field] = value;
        let path = "/insurance_coverages?subdomain=acme&location_id=1";
        world.post(path, coverage).version("v3.1.0").fails(400).await
    };
    assert_eq!(insure("subscriber_id", json!("abc")).await, ["insurance_coverage.subscriber_id must be an integer."]);
    let name = "insurance_coverage.insurance_subscription.name must not be empty.";
    assert_eq!(insure("insurance_subscription", json!({"name": ""})).await, [name]);
}

#[actix_web::test]
async fn every_failure_of_an_intent_has_ok_and_message() {
    let world = world().await;
    let asked = |method: Method, path: &str| {
        let path = format!("/intent/booking/{path}?subdomain=acme&location_id=1");
        world.request(method, &path).with("Content-Type", "application/json")
    };
    let fails = async |request: ApiRequest<'_>| {
        let reply = request.reply().await;
        let (status, body) = (reply.status.as_u16(), reply.json());
        let messages: Vec<&str> = body["error"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!((&body["ok"], &body["code"]), (&json!(false), &json!(false)), "{status} {body}");
        assert!(!messages.is_empty() && body["message"] == messages.join(" "), "{status} {body}");
        assert!(body["reason"].is_string() && body.get("data") == Some(&Value::Null), "{status} {body}");
        status
    };
    let without_token = json!({"idempotency_key": "k", "patient": {}}).to_string();
    for (method, path) in [
        (Method::POST, "search"),
        (Method::POST, "hold"),
        (Method::DELETE, "hold"),
        (Method::POST, "book"),
        (Method::POST, "cancel"),
        (Method::POST, "find"),
        (Method::POST, "confirm"),
        (Method::POST, "reschedule"),
    ] {
        let asked = || asked(method.clone(), path);
        let wrong = r#"{"limit": [], "slot_token": [], "idempotency_key": [], "booking_ref": []}"#;
        for body in ["{", "[1]", "null", wrong] {
            assert_eq!(fails(asked().bytes(body)).await, 400, "{method} {path} {body}");
        }
        assert_eq!(fails(asked().bytes(vec![b' '; 1024 * 1024 + 1])).await, 413);
        assert_eq!(fails(asked().with("Content-Type", "text/plain").bytes("{}")).await, 415);
        assert_eq!(fails(asked().with("Authorization", "Bearer x").bytes("{}")).await, 401);
        assert_eq!(fails(asked().without("Svc-Api-Version").bytes("{}")).await, 404);
        if path != "search" {
            assert_eq!(fails(asked().bytes("{}")).await, 400, "{method} {path}");
            assert_eq!(fails(asked().bytes(without_token.clone())).await, 400, "{method} {path}");
        }
    }
    assert_eq!(fails(asked(Method::POST, "book").bytes(r#"{"slot_token": "slt_00"}"#)).await, 400);
    assert_eq!(fails(asked(Method::GET, "status")).await, 400);
    assert_eq!(fails(asked(Method::PATCH, "hold").bytes("{}")).await, 405);
    assert_eq!(fails(asked(Method::GET, "nothing")).await, 404);
    let encoded = "/%69ntent/booking/status?subdomain=acme&location_id=1";
    assert_eq!(fails(world.request(Method::GET, encoded)).await, 400);
    assert_eq!(fails(world.request(Method::GET, encoded).with("Authorization", "Bearer x")).await, 401);
    assert_eq!(fails(world.request(Method::GET, encoded).without("User-Agent")).await, 403);
}

#[actix_web::test]
async fn a_query_with_too_many_parameters_has_only_that_error() {
    let world = world().await;
    let much = "lids[]=1&".repeat(1_101);
    for path in ["/patients?subdomain=acme&location_id=1", "/appointments/1?subdomain=acme"] {
        let refused = world.get(&format!("{path}&{much}")).fails(400).await;
        assert_eq!(refused, ["The query holds more than 1100 parameters."], "{path}");
    }
}

#[actix_web::test]
async fn a_byte_order_mark_before_a_body_is_skipped() {
    let world = world().await;
    let marked = |json: &str| format!("\u{feff}{json}").into_bytes();
    let post =
        |bytes: Vec<u8>| world.request(Method::POST, SEARCH).with("Content-Type", "application/json").bytes(bytes);
    // Each search has its own tokens.
    let starts = |found: Value| each(&found["slots"], "start_iso");
    let plain = starts(post(b"{\"days\": 2}".to_vec()).ok().await);
    assert_eq!(starts(post(marked("{\"days\": 2}")).ok().await), plain);
    assert_eq!(post(marked("{\"days\": 0}")).fails(400).await, ["days must be between 1 and 60."]);
    let empty = starts(post(Vec::new()).ok().await);
    assert_eq!(starts(post(marked("")).ok().await), empty);
}

#[actix_web::test]
async fn media_types_other_than_json_are_refused() {
    let world = world().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "jsonish"] {
        world.request(Method::POST, SEARCH).with("Content-Type", kind).bytes("{}").fails(415).await;
    }
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"]
    {
        world.request(Method::POST, SEARCH).with("Content-Type", kind).bytes("{}").ok().await;
    }
    for encoding in ["gzip", "br", "identity", "deflate, gzip"] {
        let ask = world.post(SEARCH, json!({})).with("Content-Encoding", encoding);
        assert_eq!(ask.fails(415).await, ["Content-Encoding is not supported; send the body as it is."]);
    }
}

/// Values that are invalid for every parameter, or at the limits.
const ODD: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "2147483647",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999999999",
    "1.5",
    "1e9",
    "NaN",
    "true",
    "null",
    "abc",
    "%00",
    "%ff%fe",
    "%F0%9F%A6%B7",
    "'%20OR%201=1",
    "../../etc/passwd",
    "0000-01-01",
    "9999-12-31",
    "1900-01-01",
    "2199-12-31",
    "2026-02-29",
    "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2026-11-01T01:30:00",
    "2026-03-08T02:30:00",
    "1900-01-01T00:00:00+23:59",
    "24:00",
    "America/New_York",
    "id",
    "-start_time",
    "patient",
];

const PARAMETERS: &[(&str, &[&str])] = &[
    ("/locations", &["subdomain", "inactive", "foreign_id"]),
    (
        "/operatories",
        &[
            "subdomain", "location_id", "search_name", "foreign_id", "updated_since", "include[]", "start_cursor",
            "end_cursor", "per_page",
        ],
    ),
    (
        "/providers",
        &[
            "location_id", "sort", "foreign_id", "requestable", "inactive", "updated_since", "include[]", "ids[]",
            "end_cursor", "per_page", "page",
        ],
    ),
    ("/appointment_types", &["location_id", "include[]"]),
    ("/sync_status", &["read_status", "write_status", "location_ids[]"]),
    (
        "/available_slots",
        &[
            "start_date",
            "days",
            "appointment_type_id",
            "working_hour_label_id",
            "working_hour_source",
            "slot_length",
            "slot_interval",
            "overlapping_operatory_slots",
            "appointments_per_timeslot",
            "lids[]",
            "pids[]",
            "operatory_ids[]",
        ],
    ),
    (
        "/appointments",
        &[
            "location_id", "sort", "start", "end", "timezone", "cancelled", "unavailable", "nex_only", "updated_since",
            "appointment_type_id", "foreign_id", "created_by", "patient_ids[]", "provider_ids[]", "operatory_ids[]",
            "start_cursor", "page",
        ],
    ),
    ("/appointments/1", &["subdomain", "include[]"]),
    ("/intent/booking/status", &["booking_ref"]),
    ("/webhook_endpoints", &["active"]),
    ("/webhook_endpoints/1/webhook_subscriptions", &["resource_type", "event"]),
];

/// Returns the parameters that the endpoint requires in addition to the odd value.
fn needed(path: &str) -> &'static [(&'static str, &'static str)] {
    match path {
        "/operatories" => &[("subdomain", "acme"), ("location_id", "1")],
        "/available_slots" => &[("subdomain", "acme"), ("start_date", "2026-12-01"), ("days", "3"), ("lids[]", "1")],
        "/appointments" => &[("subdomain", "acme"), ("start", "2026-12-01"), ("end", "2026-12-31")],
        _ => &[("subdomain", "acme")],
    }
}

#[actix_web::test]
async fn odd_query_values_never_end_in_a_500() {
    let world = world().await;
    for (path, parameters) in PARAMETERS {
        for parameter in *parameters {
            for odd in ODD {
                let rest = needed(path).iter().filter(|(name, _)| name != parameter);
                let query =
                    rest.fold(format!("{parameter}={odd}"), |query, (name, value)| format!("{query}&{name}={value}"));
                for version in ["v3.0.0", "v2.2.2"] {
                    let reply = world.get(&format!("{path}?{query}")).version(version).reply().await;
                    assert!(
                        [200, 400, 403, 404].contains(&reply.status.as_u16()),
                        "{path}?{query}: {} {}",
                        reply.status,
                        reply.text
                    );
                    reply.json();
                }
            }
        }
    }
}

#[actix_web::test]
async fn odd_path_values_never_end_in_a_500() {
    let world = world().await;
    for path in [
        "/locations/{}",
        "/appointments/{}?subdomain=acme",
        "/webhook_endpoints/{}/webhook_subscriptions?subdomain=acme",
    ] {
        for odd in ODD.iter().filter(|odd| !odd.contains('/')) {
            let reply = world.get(&path.replace("{}", odd)).reply().await;
            assert!([200, 400, 403, 404].contains(&reply.status.as_u16()), "{path} {odd}: {}", reply.status);
        }
    }
}

#[actix_web::test]
async fn odd_body_values_never_end_in_a_500() {
    let world = world().await;
    let offer = world.offers(MAIN, 1).await.remove(0);
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!(" "),
        json!("\u{0}"),
        json!("🦷"),
        json!("9999-12-31"),
        json!("0000-01-01"),
        json!("24:00"),
        json!("x".repeat(100_000)),
        json!([]),
        json!([[]]),
        json!([null, {}]),
        json!({}),
        json!({"first_name": {"a": []}}),
    ];
    let fields: [(&str, &[&str]); 5] = [
        (
            SEARCH,
            &[
                "appointment_type_id", "provider_ids", "operatory_ids", "start_date", "days", "earliest", "latest",
                "days_of_week", "new_patient", "limit",
            ],
        ),
        (
            "/intent/booking/explain?subdomain=acme&location_id=1",
            &["slot_token", "start_iso", "provider_id", "operatory_id", "date_of_birth", "earliest", "new_patient"],
        ),
        ("/intent/booking/book?subdomain=acme", &["slot_token", "idempotency_key", "patient", "note"]),
        ("/intent/booking/hold?subdomain=acme", &["slot_token"]),
        ("/intent/booking/cancel?subdomain=acme", &["booking_ref", "reason"]),
    ];
    for (path, names) in fields {
        for name in names {
            for value in &odd {
                let mut body = json!({});
                if path.contains("/book?") {
                    body = json!({"slot_token": offer["slot_token"], "idempotency_key": "odd", "patient": {}});
                }
                body[name] = value.clone();
                let reply = world.post(path, body).reply().await;
                let expected = [200, 400, 404, 409, 410, 422].contains(&reply.status.as_u16());
                assert!(expected, "{path} {name} {value:.60}: {} {}", reply.status, reply.text);
            }
        }
    }
    let patient =
        ["first_name", "middle_name", "last_name", "date_of_birth", "phone_number", "email", "gender", "address"];
    for name in patient {
        for value in &odd {
            let body = json!({"slot_token": offer["slot_token"], "idempotency_key": "odd", "patient": {name: value}});
            let reply = world.post("/intent/booking/book?subdomain=acme", body).reply().await;
            assert!([400, 422].contains(&reply.status.as_u16()), "{name} {value:.60}: {}", reply.text);
        }
    }
}

/// Decisions: a response names all problems of a request, including unknown references next to invalid values.
#[actix_web::test]
async fn unknown_records_are_reported_next_to_wrong_values() {
    let world = world().await;
    let soon = format!("{}T15:00:00Z", world.monday());
    let appointments = "/appointments?subdomain=acme&location_id=1";
    let unknown = ["Patient with id 999999 not found", "Provider with id 999998 not found"];
    let wrong = json!({"appt": {"patient_id": 999_999, "provider_id": 999_998, "start_time": "never", "end_time": 5}});
    let problems = world.post(appointments, wrong).fails(400).await;
    assert_eq!((problems.len(), &problems[2..]), (4, &unknown.map(str::to_owned)[..]), "{problems:?}");
    assert!(problems[0].starts_with("appt.start_time") && problems[1].starts_with("appt.end_time"), "{problems:?}");
    let more = json!({"appt": {
        "patient_id": PAT, "provider_id": ANNA, "start_time": "2020-01-01T15:00:00Z", "operatory_id": 77,
        "appointment_type_id": 78, "descriptor_ids": [79, 79],
    }});
    let expected = [
        "appt.start_time is in the past.",
        "Operatory with id 77 not found",
        "Appointment Type with id 78 not found",
        "Appointment Descriptor with id 79 not found",
    ];
    assert_eq!(world.post(appointments, more).fails(400).await, expected);
    // Known records, and invalid values, are not reported as unknown.
    let known = json!({"appt": {"patient_id": PAT, "provider_id": "x", "start_time": soon}});
    assert_eq!(world.post(appointments, known).fails(400).await, ["appt.provider_id must be an integer."]);
    let moved = json!({"appt": {"operatory_id": 77, "start_time": "never"}});
    let problems = world.patch("/appointments/1?subdomain=acme", moved).fails(400).await;
    assert_eq!((problems.len(), problems[1].as_str()), (2, "Operatory with id 77 not found"));
    // Null clears a value, and these have none to clear.
    for name in ["confirmed", "checkin_at", "start_time", "end_time", "operatory_id", "note", "cancelled"] {
        let errors = world.patch("/appointments/1?subdomain=acme", json!({"appt": {name: null}})).fails(400).await;
        assert_eq!(errors, [format!("appt.{name} must not be empty.")]);
    }

    let payment = json!({"payment": {
        "patient_id": 999_999, "amount": "much", "payment_type_id": 999, "transaction_id": "t", "charge_splits": {"998": 1},
    }});
    let problems = world.post("/payments?subdomain=acme&location_id=1", payment).fails(400).await;
    let expected = [
        "Patient with ID 999999 not found in location 1",
        "Payment Type with id 999 not found in location 1",
        "Charge with id 998 not found in location 1",
    ];
    assert_eq!(problems[1..], expected, "{problems:?}");

    let hours = json!({"working_hour": {
        "provider_id": 999_998, "begin_time": "25:00", "end_time": "17:00", "days": ["monday"], "appointment_type_ids": [78],
    }});
    let problems = world.post("/working_hours?subdomain=acme&location_id=1", hours.clone()).fails(400).await;
    assert_eq!(
        problems[2..],
        ["User with id 999998 not found", "Appointment Type with id 78 not found"],
        "{problems:?}"
    );
    let mut none = hours;
    none["working_hour"]["begin_time"] = json!("17:00");
    let problems = world.post("/working_hours?subdomain=acme&location_id=1", none).fails(400).await;
    assert_eq!(
        problems[1..],
        ["User with id 999998 not found", "Appointment Type with id 78 not found"],
        "{problems:?}"
    );

    let coverage = json!({"plan_id": 77, "patient_id": 999_999, "subscriber_id": 999_997, "priority": "fourth"});
    let coverages = "/insurance_coverages?subdomain=acme&location_id=1";
    let problems = world.post(coverages, coverage).version("v3.1.0").fails(400).await;
    let expected =
        ["Insurance Plan with id 77 not found", "Patient with id 999999 not found", "Patient with id 999997 not found"];
    assert_eq!(problems[1..], expected, "{problems:?}");

    let form =
        world.get("/form_schemas?subdomain=acme&location_id=1").version("v3.1.0").ok().await["data"][0]["id"].clone();
    let response = json!({"form_response": {"patient_id": 999_999, "form_schema_id": form, "patient_submitted_data": {"smoker": 5}}});
    let responses = "/form_responses?subdomain=acme&location_id=1";
    let problems = world.post(responses, response).version("v3.1.0").fails(400).await;
    assert!(problems.len() > 1 && problems.last().unwrap() == "Patient with id 999999 not found", "{problems:?}");

    let search = json!({"days": 0, "provider_ids": [999_998], "operatory_ids": [77]});
    let problems = world.post(SEARCH, search).fails(400).await;
    let expected = ["Provider with id 999998 not found", "Operatory with id 77 in location 1 not found"];
    assert_eq!(problems[1..], expected, "{problems:?}");
}
