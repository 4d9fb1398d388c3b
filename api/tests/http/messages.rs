//! Messages (7.3), statuses (7.2) and reasons (7.4) of the specification, each with the test that causes it. Also the
//! tests of messages without a resource.

use std::{fs, path::PathBuf};

use actix_web::{
    App,
    body::to_bytes,
    http::Method,
    middleware::from_fn,
    test::{TestRequest, init_service, try_call_service},
};
use api::server::guard::guard;
use endpoints::routes::{
    dispatch::{self, ServedRoutes},
    route::{Route, get, post},
};
use framework::access::{
    arguments::Anywhere,
    call::ApiCall,
    respond::{Answer, One},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{filled::Filled, support::*};

/// A text of the specification (`<id>` is a placeholder), its endpoint and cause, and the test as `module::function`.
struct SpecifiedMessage {
    words: &'static str,
    by: &'static str,
    test: &'static str,
}

const fn specified(words: &'static str, by: &'static str, test: &'static str) -> SpecifiedMessage {
    SpecifiedMessage { words, by, test }
}

const NO_ACCESS: &str = "You don't have access to perform this action.";
const WRONG: &str = "Something went wrong. Please try again or contact our support team.";

/// Specification 7.3, row by row.
const MESSAGES: &[SpecifiedMessage] = &[
    specified("Invalid Credentials", "POST /authenticates", "authenticates::anything_but_the_raw_key_is_refused"),
    specified(NO_ACCESS, "any: expired token", "everywhere::every_endpoint_refuses_calls_without_a_valid_token"),
    specified(NO_ACCESS, "any: wrong environment", "access::a_key_of_another_environment_has_no_access"),
    specified(NO_ACCESS, "any: capitals", "everywhere::another_tenants_institution_is_forbidden_like_an_unknown_one"),
    specified(
        NO_ACCESS,
        "subscriptions: scope in the body",
        "webhooks::subscriptions_belong_to_an_endpoint_and_an_institution",
    ),
    specified(
        NO_ACCESS,
        "PATCH /appointments/{id}: scope in the body",
        "appointment_writes::invalid_changes_are_refused",
    ),
    specified(
        NO_ACCESS,
        "any: location Pending",
        "everywhere::locations_out_of_reach_are_not_found_and_pending_ones_forbidden",
    ),
    specified(NO_ACCESS, "any: access removed", "access::revoking_a_key_ends_its_tokens_at_once"),
    specified(NO_ACCESS, "any: no financial grant", "everywhere::grants_are_required_exactly_where_documented"),
    specified(NO_ACCESS, "POST /conversations/{id}/messages", "messages::conversations_cannot_be_written"),
    specified(
        "A patient with that information already exists -id=<id>",
        "POST /patients",
        "patients::an_existing_patient_is_refused_or_returned",
    ),
    specified(
        "Patient with id <id> not found",
        "POST /appointments",
        "appointment_writes::patients_unknown_to_the_locations_ehr_cannot_be_booked",
    ),
    specified(
        "Patient with ID <id> not found in location <id>",
        "POST /payments",
        "payments::refusals_have_the_specified_messages",
    ),
    specified(
        "Patient with ID <id> not found in location <id>",
        "POST /appointments",
        "appointment_writes::patients_unknown_to_the_locations_ehr_cannot_be_booked",
    ),
    specified(
        "Data source must exist",
        "POST /patients/{id}/alerts",
        "patient_alerts::a_patient_unknown_to_the_ehr_cannot_have_an_alert",
    ),
    specified(
        "Unfortunately this time is no longer available, please go back and choose another time.",
        "POST /appointments",
        "appointment_writes::refusals_have_the_specified_messages",
    ),
    specified(
        "Time slot is not during working hours, please choose another time",
        "POST /appointments in v2.2.2",
        "appointment_writes::refusals_have_the_specified_messages",
    ),
    specified(
        "Provided appointment_type_id was not found to be configured for the requested slot",
        "POST /appointments",
        "appointment_writes::refusals_have_the_specified_messages",
    ),
    specified(
        "Cannot create an appointment where the patient attribute new_patient=true",
        "POST /appointments",
        "appointment_writes::patients_unknown_to_the_locations_ehr_cannot_be_booked",
    ),
    specified(
        "Cannot create an appointment where the patient belongs to a location from a different EHR",
        "POST /appointments",
        "appointment_writes::patients_unknown_to_the_locations_ehr_cannot_be_booked",
    ),
    specified(
        "Missing parameter appt[patient_id] with unavailable: true",
        "POST /appointments",
        "appointment_writes::refusals_have_the_specified_messages",
    ),
    specified(
        "Cannot update appointment because it is not synced with the PMS and/or a live client",
        "PATCH /appointments/{id}",
        "appointment_writes::invalid_changes_are_refused",
    ),
    specified(
        "User with id <id> not found",
        "POST /working_hours",
        "working_hours::refusals_have_the_specified_messages",
    ),
    specified(
        "Operatory uuid can't be blank",
        "POST /working_hours",
        "working_hours::refusals_have_the_specified_messages",
    ),
    specified(
        "Next available slot not found. Please confirm that the provider has active availabilities.",
        "GET /available_slots (description)",
        "available_slots::without_slots_the_next_available_date_is_given",
    ),
    specified(
        "Payment Type with id <id> not found in location <id>",
        "POST /payments",
        "payments::refusals_have_the_specified_messages",
    ),
    specified(
        "Adjustment Type with id <id> not found in location <id>",
        "POST /adjustments",
        "adjustments::refusals_have_the_specified_messages",
    ),
    specified(WRONG, "POST /payments: patient not in the EHR", "payments::refusals_have_the_specified_messages"),
    specified(WRONG, "any: 500", "messages::a_server_error_has_no_details"),
    specified(
        "Location with id <id> not found",
        "any with location_id or lids[]",
        "everywhere::locations_out_of_reach_are_not_found_and_pending_ones_forbidden",
    ),
    specified(
        "Resource not found",
        "any: version missing",
        "everywhere::without_version_or_with_an_unknown_one_there_is_no_resource",
    ),
    specified(
        "You've exceeded our rate limit. Please wait and retry.",
        "any",
        "limits::a_key_is_limited_over_all_its_locations",
    ),
    specified("Gateway Time-out", "any: 503", "messages::a_timeout_allows_a_retry"),
    specified(
        "Note that following parameters are ignored: include.",
        "GET /appointments",
        "messages::a_list_of_appointments_includes_nothing",
    ),
    specified(
        "Note that following parameters are ignored: location_id.",
        "GET /patients/{id}",
        "patients_one::a_patient_includes_requested_records",
    ),
];

/// Specification 7.2 and the codes of success.
const STATUSES: &[SpecifiedMessage] = &[
    specified("200", "success", "patients::an_existing_patient_is_refused_or_returned"),
    specified("201", "success", "authenticates::a_key_is_exchanged_for_a_valid_token"),
    specified("202", "accepted", "messages::accepted_writes_are_pending"),
    specified("204", "no body", "messages::deletions_have_no_body"),
    specified("400", "missing field, wrong value", "bad_input::malformed_bodies_are_refused"),
    specified("401", "token", "everywhere::every_endpoint_refuses_calls_without_a_valid_token"),
    specified("403", "reach", "everywhere::another_tenants_institution_is_forbidden_like_an_unknown_one"),
    specified("404", "record, version", "everywhere::without_version_or_with_an_unknown_one_there_is_no_resource"),
    specified(
        "422",
        "PATCH /patients/{id}: not synced",
        "patients_one::a_patient_unknown_to_the_ehr_cannot_be_changed",
    ),
    specified("422", "communication logs: not supported", "messages::an_ehr_without_communication_logs_takes_none"),
    specified("429", "rate limit", "limits::a_key_is_limited_over_all_its_locations"),
    specified("500", "problem of the server", "messages::a_server_error_has_no_details"),
    specified("503", "no answer in time", "messages::a_timeout_allows_a_retry"),
];

/// Specification 7.4.
const REASONS: &[SpecifiedMessage] = &[
    specified("slot_not_found", "book", "booking::tokens_of_others_and_altered_ones_are_not_found"),
    specified("slot_expired", "book", "booking::an_expired_offer_is_refused"),
    specified("slot_taken", "book", "booking::a_taken_slot_is_refused_with_alternatives"),
    specified("idempotency_conflict", "book", "booking::a_repeated_booking_is_replayed"),
    specified("patient_fields_required", "book", "booking::required_patient_fields_of_the_practice_are_listed"),
    specified("new_patient_not_supported", "book", "messages::a_practice_without_new_patients_books_known_ones_only"),
];

#[test]
fn every_message_of_the_specification_has_a_test() {
    let (mut missing, mut without) = (Vec::new(), Vec::new());
    for specified in MESSAGES.iter().chain(STATUSES).chain(REASONS) {
        match source(specified.test) {
            None => missing.push(format!("{} ({}): {}", specified.words, specified.by, specified.test)),
            Some(source) if !holds(&source, specified.words) => {
                without.push(format!("{}: {}", specified.test, specified.words))
            }
            Some(_) => {}
        }
    }
    assert!(without.is_empty(), "these tests do not contain their message: {without:#?}");
    assert!(missing.is_empty(), "these messages have no test: {missing:#?}");
}

/// Returns the text of a test with the constants and the table of requests it uses. Returns `None` for an unknown test.
fn source(test: &str) -> Option<String> {
    let (module, function) = test.split_once("::")?;
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/http").join(format!("{module}.rs"));
    let text = fs::read_to_string(file).ok()?;
    let begin = text.find(&format!("fn {function}("))?;
    assert!(text[..begin].trim_end_matches("async ").trim_end().ends_with(']'), "{test} is no test");
    let body = &text[begin..begin + text[begin..].find("\n}\n")?];
    let constants = text.lines().filter(|line| {
        let name = line.strip_prefix("const ").and_then(|rest| rest.split(':').next());
        name.is_some_and(|name| body.contains(name))
    });
    Some([body].into_iter().chain(constants).collect::<Vec<_>>().join("\n"))
}

/// Matches word for word, with any text for `<id>`.
fn holds(source: &str, words: &str) -> bool {
    let plain = source.replace("\\\"", "\"");
    plain.lines().any(|line| {
        let mut rest = line;
        words.split("<id>").all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    })
}

#[test]
fn messages_match_word_for_word() {
    let line = r#"assert_eq!(x, [format!("Location with id {place} not found")]);"#;
    assert!(holds(line, "Location with id <id> not found"));
    assert!(!holds(line, "Location with id <id> not found in location <id>"));
    assert!(!holds(line, "location with id <id> not found"));
    assert!(source("messages::nothing_of_that_name").is_none() && source("").is_none());
}

#[actix_web::test]
async fn conversations_cannot_be_written() {
    let world = world().await;
    let path = "/conversations/1/messages?subdomain=acme&location_id=1";
    assert_eq!(world.post(path, json!({"message": "Hello"})).fails(403).await, [NO_ACCESS]);
}

#[actix_web::test]
async fn a_list_of_appointments_includes_nothing() {
    let world = world().await;
    let span = "start=2026-12-01T00:00:00Z&end=2026-12-02T00:00:00Z";
    let list = world.get(&format!("/appointments?subdomain=acme&location_id=1&{span}&include[]=patient")).ok().await;
    assert_eq!(list["description"], "Note that following parameters are ignored: include.");
}

#[actix_web::test]
async fn a_timeout_allows_a_retry() {
    let world = world().await;
    world.engine.stop().await;
    let search = world.post("/intent/booking/search?subdomain=acme&location_id=1", json!({})).reply().await;
    assert_eq!((search.status.as_u16(), &search.json()["error"]), (503, &json!(["Gateway Time-out"])));
    assert!(search.header("Retry-After").unwrap().parse::<u32>().unwrap() > 0);
}

#[derive(Serialize, JsonSchema)]
struct Nothing;

async fn broken(_: ApiCall, _: Anywhere<()>) -> Answer<One<Nothing>> {
    panic!("of a patient's secret")
}

#[actix_web::test]
async fn a_server_error_has_no_details() {
    let world = world().await;
    let routes = [get("/broken", broken), post("/broken", broken)];
    let routes = routes.map(|route| route.about("Broken", "7.2"));
    let table: &'static [Route] = Vec::from(routes).leak();
    let routes = ServedRoutes::new(table);
    let app = App::new().app_data(world.api.clone()).configure(|app| dispatch::serve(routes, app)).wrap(from_fn(guard));
    let app = init_service(app).await;
    // Reads and writes run on different threads.
    for method in [Method::GET, Method::POST] {
        let token = world.token(ACME_KEY);
        let headers = [("User-Agent", "test/1"), ("Svc-Api-Version", "v3.0.0"), ("Authorization", &token)];
        let mut request =
            TestRequest::with_uri("/broken").method(method).insert_header(("Content-Type", "application/json"));
        for header in headers {
            request = request.insert_header(header);
        }
        let response = match try_call_service(&app, request.set_payload("{}").to_request()).await {
            Ok(response) => response.into_parts().1.map_into_boxed_body(),
            Err(error) => error.error_response(),
        };
        assert_eq!(response.status(), 500);
        let body: Value = serde_json::from_slice(&to_bytes(response.into_body()).await.unwrap()).unwrap();
        let message = "Something went wrong. Please try again or contact our support team.";
        let advice = "After a failed create read the record back before sending it again.";
        let expected =
            json!({"code": false, "reason": "internal_error", "description": advice, "error": [message], "data": null});
        assert_eq!(body, expected);
    }
}

#[actix_web::test]
async fn accepted_writes_are_pending() {
    let world = world_on([(MAIN, Filled::new("Acme", MAIN, 1) as _)]).await;
    let log = json!({"communication_log": {"patient_id": PAT, "note": "Called.", "mode": "phone", "direction": "sent",
        "occurred_at": "2026-01-05T10:00:00Z"}});
    let made = world.post("/communication_logs?subdomain=acme&location_id=1", log).version("v3.1.0").answers(202).await;
    assert_eq!(made["data"]["status"], "pending");
}

#[actix_web::test]
async fn deletions_have_no_body() {
    let world = world_on([(MAIN, Filled::new("Acme", MAIN, 1) as _)]).await;
    let list = "/insurance_coverages?subdomain=acme&location_id=1";
    let id = world.get(list).ok().await["data"][0]["id"].clone();
    let path = format!("/insurance_coverages/{id}?subdomain=acme");
    let gone = world.request(Method::DELETE, &path).version("v3.1.0").reply().await;
    assert_eq!((gone.status.as_u16(), gone.text.as_str()), (204, ""));
}

#[actix_web::test]
async fn an_ehr_without_communication_logs_takes_none() {
    let ehr = Filled::new("Acme", MAIN, 1).without_writes(&["create-communication-log"]);
    let world = world_on([(MAIN, ehr as _)]).await;
    let log = json!({"communication_log": {"patient_id": PAT, "note": "Called.", "mode": "phone", "direction": "sent",
        "occurred_at": "2026-01-05T10:00:00Z"}});
    let path = "/communication_logs?subdomain=acme&location_id=1";
    let refused = world.post(path, log).version("v3.1.0").fails(422).await;
    assert_eq!(refused.len(), 1);
}

#[actix_web::test]
async fn a_practice_without_new_patients_books_known_ones_only() {
    let ehr = Filled::new("Acme", MAIN, 1).without_writes(&["create-patient"]);
    let world = world_on([(MAIN, ehr as _)]).await;
    let search = json!({"start_date": world.monday().to_string(), "limit": 1});
    let found = world.post("/intent/booking/search?subdomain=acme&location_id=1", search).ok().await;
    let book = |last_name: &str| {
        json!({"slot_token": found["slots"][0]["slot_token"], "idempotency_key": last_name, "patient": {
            "first_name": "Acme given 0", "last_name": last_name, "date_of_birth": "1900-05-06",
            "email": "Acme0@mail.example", "phone_number": "555-010-1234"}})
    };
    let refused = world.post("/intent/booking/book?subdomain=acme", book("Nobody")).answers(422).await;
    assert_eq!(refused["reason"], "new_patient_not_supported");
    let known = world.post("/intent/booking/book?subdomain=acme", book("Acme family 0 0")).ok().await;
    assert_eq!(known["ok"], true);
}
