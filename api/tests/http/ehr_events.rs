//! Reports of EHRs that something has changed.

use std::sync::Arc;

use actix_web::http::Method;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use engine::setup::{
    Setup,
    events::{EhrEvents, EventScheme},
    secret::Secret,
};
use framework::{http::rules::HttpRules, values::secret::sign};
use location::ids::LocationId;
use serde_json::{Value, json};
use testing::until;

use crate::{freshness::open_with, support::*};

const EVENTS: &str = "/ehr_events/1";
const SECRET: &str = "a secret of sixteen";
const APPOINTMENT: &str = r#"{"resourceType":"Appointment","id":"5"}"#;

fn listening(scheme: EventScheme) -> Setup {
    let mut setup = setup();
    let source = setup.sources.get_mut(&1).map(Arc::make_mut).unwrap();
    let secret = Some(Secret::new(SECRET));
    source.access.get_or_insert_default().events = Some(EhrEvents { secret, scheme, header: "x-ehr-event".into() });
    setup
}

/// A report as an EHR sends it: without the headers of an API client.
fn report<'w>(world: &'w ApiWorld, path: &str, header: &str, body: &str) -> ApiRequest<'w> {
    let report = world.post(path, json!({})).bytes(body).with("X-Ehr-Event", header);
    report.without("Authorization").without("Svc-Api-Version").without("User-Agent")
}

#[actix_web::test]
async fn a_report_with_the_secret_starts_a_read_of_the_appointments() {
    let (world, ehr) = open_with(listening(EventScheme::Header)).await;
    let last_sync = async || world.engine.sync_state(LocationId(MAIN)).await.unwrap().last_sync;
    let (reads, synced) = (ehr.reads.get(), last_sync().await);
    report(&world, EVENTS, SECRET, APPOINTMENT).answers_nothing(202).await;
    until("the read", async || ehr.reads.get() > reads).await;
    assert_eq!(last_sync().await, synced, "no whole cycle");
}

#[actix_web::test]
async fn a_report_of_other_records_starts_a_cycle() {
    let (world, _) = open_with(listening(EventScheme::Header)).await;
    let last_sync = async || world.engine.sync_state(LocationId(MAIN)).await.unwrap().last_sync;
    let synced = last_sync().await;
    report(&world, EVENTS, SECRET, r#"{"resourceType":"Patient","id":"7"}"#).answers_nothing(202).await;
    until("a cycle", async || last_sync().await > synced).await;
}

#[actix_web::test]
async fn a_signed_report_starts_a_read() {
    let tag = |body: &str| sign(SECRET.as_bytes(), body.as_bytes());
    for (body, signature) in [
        (APPOINTMENT, format!("sha256={}", hex_of(&tag(APPOINTMENT)))),
        (APPOINTMENT, STANDARD.encode(tag(APPOINTMENT))),
        // A rest-hook of FHIR R4 without `payload`.
        ("", hex_of(&tag(""))),
    ] {
        let (world, ehr) = open_with(listening(EventScheme::Hmac)).await;
        let reads = ehr.reads.get();
        report(&world, EVENTS, &signature, body).answers_nothing(202).await;
        until("the read", async || ehr.reads.get() > reads).await;
    }
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[actix_web::test]
async fn a_resource_sent_as_an_update_below_the_path_is_a_report() {
    let (world, ehr) = open_with(listening(EventScheme::Header)).await;
    let reads = ehr.reads.get();
    let put = |secret| {
        let put = world.request(Method::PUT, "/ehr_events/1/Appointment/5").bytes(APPOINTMENT);
        put.with("X-Ehr-Event", secret).with("Content-Type", "application/fhir+json")
    };
    put("wrong").answers(401).await;
    put(SECRET).answers_nothing(202).await;
    until("the read", async || ehr.reads.get() > reads).await;
}

#[actix_web::test]
async fn forged_reports_are_refused_and_cause_no_read() {
    for scheme in [EventScheme::Header, EventScheme::Hmac] {
        let (world, ehr) = open_with(listening(scheme)).await;
        let reads = ehr.reads.get();
        let other = hex_of(&sign(b"another secret of its", APPOINTMENT.as_bytes()));
        for wrong in ["", "wrong", &other] {
            let refused = report(&world, EVENTS, wrong, APPOINTMENT).answers(401).await;
            assert_eq!(refused["reason"], json!("event_secret_invalid"));
        }
        report(&world, EVENTS, SECRET, APPOINTMENT).without("X-Ehr-Event").answers(401).await;
        // A source without events, an unknown one, and no id.
        for path in ["/ehr_events/2", "/ehr_events/77", "/ehr_events/main"] {
            assert_eq!(report(&world, path, SECRET, APPOINTMENT).answers(404).await["reason"], json!("unknown_path"));
        }
        let large = format!("\"{}\"", "x".repeat(300 << 10));
        report(&world, EVENTS, SECRET, &large).answers(413).await;
        assert_eq!(ehr.reads.get(), reads);
    }
}

#[actix_web::test]
async fn guessed_secrets_are_limited_by_address() {
    let (world, _) = open_with(listening(EventScheme::Header)).await;
    world.api.replace_rules(HttpRules { refused_per_minute: 1, ..free_rates() });
    let guess = || report(&world, EVENTS, "a guess", APPOINTMENT).from("203.0.113.5");
    guess().answers(401).await;
    guess().answers(429).await;
    // The right secret is not affected.
    report(&world, EVENTS, SECRET, APPOINTMENT).from("203.0.113.5").answers_nothing(202).await;
}

#[actix_web::test]
async fn a_flood_of_reports_causes_few_reads() {
    let (world, ehr) = open_with(listening(EventScheme::Header)).await;
    let reads = ehr.reads.get();
    for _ in 0..50 {
        report(&world, EVENTS, SECRET, APPOINTMENT).answers_nothing(202).await;
    }
    until("the read", async || ehr.reads.get() > reads).await;
    assert!(ehr.reads.get() <= reads + 2, "{} reads", ehr.reads.get() - reads);
}

#[actix_web::test]
async fn reports_are_taken_by_post_at_the_clients_listener_only() {
    let (world, _) = open_with(listening(EventScheme::Header)).await;
    let got: Value = world.get(EVENTS).with("X-Ehr-Event", SECRET).answers(405).await;
    assert_eq!(got["reason"], json!("method_not_allowed"));
    report(&world, EVENTS, SECRET, APPOINTMENT).operator(ADMIN).answers(404).await;
}
