//! Whoever is shown a record of a patient leaves a line, each time.

use std::sync::{Mutex, Once};

use api::access::keys::ApiKey;
use serde_json::json;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    registry::Registry,
    util::SubscriberInitExt,
};

use crate::support::*;

static LINES: Mutex<Vec<Line>> = Mutex::new(Vec::new());

#[derive(Clone, Default)]
struct Line {
    key: String,
    said: String,
}

struct Trail;

impl<S: Subscriber> Layer<S> for Trail {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "audit" {
            let mut line = Line::default();
            event.record(&mut line);
            LINES.lock().unwrap().push(line);
        }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let value = format!("{value:?}").trim_matches('"').to_owned();
        match field.name() {
            "key" => self.key = value,
            _ => self.said = format!("{} {value}", self.said).trim().to_owned(),
        }
    }
}

/// The same world, whose first key has a name of its own.
async fn watched(name: &str) -> World {
    static START: Once = Once::new();
    START.call_once(|| Registry::default().with(Trail).init());
    let world = world().await;
    let named = |key: ApiKey| if key.name == ACME_KEY { ApiKey { name: name.to_owned(), ..key } } else { key };
    world.api.replace_keys(keys().into_iter().map(named).collect());
    world
}

/// What was noted of a key since the last time.
fn noted(name: &str) -> Vec<String> {
    let mut lines = LINES.lock().unwrap();
    let (own, others) = std::mem::take(&mut *lines).into_iter().partition(|line| line.key == name);
    *lines = others;
    let own: Vec<Line> = own;
    own.into_iter().map(|line| line.said).collect()
}

fn reads(record: &str, rows: &serde_json::Value) -> Vec<String> {
    each(rows, "id").iter().map(|id| format!("read {record} {id}")).collect()
}

#[actix_web::test]
async fn a_kept_page_leaves_its_lines_again() {
    let world = watched("polls").await;
    for (list, record) in [
        ("/patients?subdomain=acme&location_id=1&per_page=100", "patient"),
        (
            "/appointments?subdomain=acme&location_id=1&start=2020-01-01T00:00:00Z&end=2040-01-01T00:00:00Z",
            "appointment",
        ),
        ("/clinical_notes?subdomain=acme&location_id=1", "Clinical Note"),
    ] {
        let rows = world.get(list).ok().await["data"].clone();
        let expected = reads(record, &rows);
        assert!(!expected.is_empty(), "{list}");
        assert_eq!(noted("polls"), expected, "{list}");
        for _ in 0..2 {
            world.get(list).ok().await;
            assert_eq!(noted("polls"), expected, "{list}, kept");
        }
    }
}

#[actix_web::test]
async fn appointments_leave_lines_wherever_they_are_shown() {
    let world = watched("looks").await;
    world.get("/appointments/1?subdomain=acme").ok().await;
    assert!(noted("looks").contains(&"read appointment 1".to_owned()));
    let changes = "/changes?subdomain=acme&location_id=1&resource[]=appointments";
    let now = world.get(changes).ok().await["page_info"]["end_cursor"].as_str().unwrap().to_owned();
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient});
    world.post("/intent/booking/book?subdomain=acme", body).ok().await;
    noted("looks");
    let feed = world.get(&format!("{changes}&since={now}")).ok().await;
    let lines = noted("looks");
    let shown = feed["data"].as_array().unwrap().iter().filter(|row| !row["record"].is_null());
    let shown: Vec<String> = shown.map(|row| format!("read appointment {}", row["id"])).collect();
    assert!(!shown.is_empty());
    assert_eq!(lines, shown);
    let patient = world.get("/patients/1?subdomain=acme&include[]=upcoming_appts").ok().await;
    let coming = reads("appointment", &patient["data"]["upcoming_appts"]);
    assert!(!coming.is_empty());
    let lines = noted("looks");
    assert!(coming.iter().all(|line| lines.contains(line)), "{lines:?}");
}

#[actix_web::test]
async fn what_a_client_has_already_leaves_its_lines_again() {
    let world = watched("knows").await;
    for path in ["/patients/1?subdomain=acme", "/patients?subdomain=acme&location_id=1"] {
        let first = world.get(path).reply().await;
        let lines = noted("knows");
        assert!(!lines.is_empty(), "{path}");
        for _ in 0..2 {
            let again = world.get(path).with("If-None-Match", first.header("ETag").unwrap()).reply().await;
            assert_eq!((again.status.as_u16(), noted("knows")), (304, lines.clone()), "{path}");
        }
    }
}
