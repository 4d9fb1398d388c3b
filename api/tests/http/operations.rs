use std::{collections::BTreeSet, sync::Arc};

use engine::{setup::LocationStatus, simulated::NoSimulatedEhrs};
use framework::http::rules::HttpRules;
use location::ids::LocationId;
use serde_json::json;
use testing::until;

use crate::support::*;

#[actix_web::test]
async fn probes_need_no_token_version_or_user_agent() {
    let world = world().await;
    let bare = |path| world.get(path).without("Authorization").without("Svc-Api-Version").without("User-Agent");
    assert_eq!(bare("/healthz").ok().await["status"], "ok");
    assert_eq!(bare("/readyz").ok().await["status"], "ready");
    let reply = bare("/metrics").reply().await;
    assert_eq!(
        (reply.status.as_u16(), reply.header("Content-Type")),
        (200, Some("text/plain; version=0.0.4; charset=utf-8"))
    );
    let counted =
        reply.text.lines().find(|line| line.starts_with("practice_sync_http_responses_total{class=\"2xx\"}")).unwrap();
    assert_eq!(counted.split(' ').nth(1), Some("2"));
    assert!(reply.text.contains(concat!("build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1")));
    for line in reply.text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.split_once(' ').unwrap();
        assert!(name.starts_with("practice_sync_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

#[actix_web::test]
async fn answers_are_counted_by_route_and_time() {
    let world = world_with(HttpRules { refused_per_minute: 1, ..HttpRules::default() }).await;
    world.get("/patients/1?subdomain=acme").ok().await;
    world.get("/patients/1?subdomain=rival").fails(403).await;
    world.get("/patients/999?subdomain=acme").fails(404).await;
    let wrong = || world.get("/locations").with("Authorization", "Bearer x").from("192.0.2.1");
    wrong().fails(401).await;
    wrong().fails(429).await;
    let text = world.get("/metrics").reply().await.text;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("practice_sync_{name} ")));
        line.unwrap_or_else(|| panic!("{name} is missing in {text}")).parse::<f64>().unwrap()
    };
    let patients = |class| format!("{{class=\"{class}\",method=\"GET\",route=\"/patients/{{id}}\"");
    assert_eq!(value(&format!("http_request_seconds_count{}}}", patients("2xx"))), 1.0);
    assert_eq!(value(&format!("http_request_seconds_count{}}}", patients("4xx"))), 2.0);
    assert_eq!(value(&format!("http_request_seconds_bucket{},le=\"+Inf\"}}", patients("4xx"))), 2.0);
    assert!(value(&format!("http_request_seconds_sum{}}}", patients("2xx"))) > 0.0);
    assert_eq!(value("http_limited_total{limit=\"other\"}"), 1.0);
    assert_eq!(value("http_limited_total{limit=\"key_minute\"}"), 0.0);
    // No label identifies a practice.
    assert!(!text.contains("acme") && !text.contains("/patients/1"), "{text}");
}

#[actix_web::test]
async fn writes_that_wait_and_locations_that_are_red_are_counted() {
    let world = world().await;
    let value = async |name: &str| {
        let text = world.get("/metrics").reply().await.text;
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("practice_sync_{name} ")));
        line.unwrap_or_else(|| panic!("{name} is missing in {text}")).parse::<f64>().unwrap()
    };
    assert_eq!((value("writes_queued").await, value("writes_failed_total").await), (0.0, 0.0));
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient});
    world.post("/intent/booking/book?subdomain=acme", body).ok().await;
    assert!(value("writes_queued").await >= 1.0);
    assert_eq!((value("writes_parked").await, value("locations_not_writing").await), (0.0, 0.0));
    assert!(value("oldest_read_seconds").await < 60.0 && value("oldest_write_seconds").await < 60.0);
    assert!(value("oldest_schedule_seconds").await < 60.0);
}

#[actix_web::test]
async fn a_closed_location_is_not_counted_as_red() {
    let world = world_unread().await;
    let red = || world.engine.metrics().locations_not_reading;
    until("all locations are red", async || red() == 4).await;
    let mut setup = (*world.engine.setup()).clone();
    setup.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap().status = LocationStatus::Closed;
    assert_ne!(world.get("/locations/1/sync").ok().await["data"]["problems"], json!([]));
    assert!(world.api.reconfigure(setup, &NoSimulatedEhrs).await.is_ok());
    assert_eq!(red(), 3);
    assert_eq!(world.get("/locations/1/sync").ok().await["data"]["problems"], json!([]));
}

/// The rules for Prometheus and the dashboard for Grafana use only metrics that exist.
#[actix_web::test]
async fn alerts_and_dashboard_name_metrics_that_exist() {
    // Exported only with [node], with [backup], with TLS, and after a call of an adapter.
    const ELSEWHERE: [&str; 5] = ["node_", "forwarded_", "backup", "tls_", "adapter_"];
    let written = include_str!("../../endpoints/src/resources/operations.rs").to_owned()
        + include_str!("../../endpoints/src/resources/operators/adapter_costs.rs")
        + include_str!("../../../engine/adapter-host/src/costs.rs");
    let world = world().await;
    // A histogram exists from its first entry on.
    world.get("/healthz").ok().await;
    let shown = world.get("/metrics").reply().await.text;
    let asked = [include_str!("../../deploy/alerts.yml"), include_str!("../../deploy/grafana.json")].concat();
    let mut names = BTreeSet::new();
    for rest in asked.split("practice_sync_").skip(1) {
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_')).unwrap_or(rest.len());
        names.insert(&rest[..end]);
    }
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let family =
            ["_bucket", "_count", "_sum"].iter().fold(name, |name, part| name.strip_suffix(part).unwrap_or(name));
        let there = shown.contains(&format!("# TYPE practice_sync_{family} "));
        let may =
            ELSEWHERE.iter().any(|begins| family.starts_with(begins)) && written.contains(&format!("\"{family}\""));
        assert!(there || may, "practice_sync_{name} is not written by anybody");
    }
}
