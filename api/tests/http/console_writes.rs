//! Failed writes, failing webhooks and problems, on the pages of the console and in the calls behind the pages.

use std::{sync::Arc, time::Duration};

use engine::records::ehr::{Ehr, Resource};
use serde_json::{Value, json};
use testing::until;

use crate::{
    console::{ConsoleBrowser, PAGES, console_world, entries, watched},
    filled::Filled,
    support::*,
};

const WRITES: &str = "/write_requests?subdomain=acme&location_id=1&sort=queued_at";

/// Creates a payment that the practice refuses, in a request with this id.
async fn refused(world: &ApiWorld, request: &str) -> Value {
    let body = json!({"payment": {"patient_id": PAT, "amount": 1, "transaction_id": format!("REFUSE {request}")}});
    let paid = world.post("/payments?subdomain=acme&location_id=1", body).with("X-Request-Id", request);
    paid.answers(202).await;
    world.until(WRITES, |list| list["data"].as_array().unwrap().last().is_some_and(|it| it["status"] == "failed")).await
}

/// Waits until the location has this number of failed writes.
async fn until_failed(world: &ApiWorld, writes: u64) {
    until("failed writes", async || {
        let sync = world.get("/locations/1/sync").operator(VIEWER).ok().await;
        if sync["data"]["writes_failed"] == writes { Ok(()) } else { Err(sync) }
    })
    .await;
}

/// Returns the value of the tile with this label.
fn tile<'p>(page: &'p str, label: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!(">{label}</a></dt><dd>")).unwrap_or_else(|| panic!("{label}: {page}"));
    rest.split("</dd>").next().unwrap()
}

#[actix_web::test]
async fn failed_writes_are_on_the_first_page_until_they_are_settled() {
    let (world, _folder) = console_world().await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    assert_eq!(tile(&operator.page("/console").await, "Failed writes"), "0");
    refused(&world, "pay-1").await;
    refused(&world, "pay-2").await;
    let fleet = operator.page("/console").await;
    assert_eq!(tile(&fleet, "Failed writes"), "2 <small>at 1 location</small>");
    assert!(fleet.contains("href=\"/console?state=failed-writes\"") && fleet.contains("2 failed</a>"), "{fleet}");
    let found = operator.page("/console?state=failed-writes").await;
    assert!(found.contains("1 to 1 of 1") && found.contains("Place 1<") && !found.contains("Place 2<"), "{found}");
    let sync = async || world.get("/locations/1/sync").operator(VIEWER).ok().await["data"]["writes_failed"].clone();
    assert_eq!(sync().await, 2);
    let location = operator.page("/console/locations/1").await;
    assert!(
        location.contains("Failed: retry or drop each of them") && location.contains("retry?write=1-1"),
        "{location}"
    );
    operator.act("/console/actions/drop?write=1-1").await;
    assert_eq!(
        (sync().await, tile(&operator.page("/console").await, "Failed writes").split(' ').next()),
        (json!(1), Some("1"))
    );
    world.books.kind.store(true, std::sync::atomic::Ordering::SeqCst);
    operator.act("/console/actions/retry?write=1-2").await;
    assert_eq!(sync().await, 0);
    assert_eq!(tile(&operator.page("/console").await, "Failed writes"), "0");
}

#[actix_web::test]
async fn failed_writes_that_are_not_shown_are_counted() {
    let (world, _folder) = console_world().await;
    for n in 0..102 {
        let body = json!({"payment": {"patient_id": PAT, "amount": 1, "transaction_id": format!("REFUSE {n}")}});
        world.post("/payments?subdomain=acme&location_id=1", body).answers(202).await;
    }
    until_failed(&world, 102).await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let page = operator.page("/console/locations/1").await;
    assert_eq!(tile(&page, "Failed writes"), "102");
    assert!(page.contains("Failed: retry or drop each of them; 2 more are not shown"), "{page}");
}

#[actix_web::test]
async fn ended_writes_are_listed_also_if_the_newest_ones_failed() {
    let (world, _folder) = console_world().await;
    let pay = |transaction: &str| {
        let body = json!({"payment": {"patient_id": PAT, "amount": 1, "transaction_id": transaction}});
        world.post("/payments?subdomain=acme&location_id=1", body)
    };
    pay("good").answers(202).await;
    world.until(WRITES, |list| list["data"][0]["status"] == "done").await;
    for n in 0..20 {
        pay(&format!("REFUSE {n}")).answers(202).await;
    }
    until_failed(&world, 20).await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let page = operator.page("/console/locations/1").await;
    assert!(page.contains("Ended lately"), "{page}");
}

#[actix_web::test]
async fn waiting_writes_are_counted_on_the_first_page() {
    let (world, _folder) = console_world().await;
    for (key, name) in [("a", "Nora"), ("b", "Dora")] {
        let slot = world.offers(MAIN, 1).await[0]["slot_token"].clone();
        let patient = json!({"first_name": name, "last_name": "Slow", "date_of_birth": "1990-01-01", "phone_number": "555-010-1234"});
        let body = json!({"slot_token": slot, "idempotency_key": key, "patient": patient});
        world.post("/intent/booking/book?subdomain=acme", body).ok().await;
    }
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let all = world.get(&format!("{WRITES}&open=true")).ok().await["data"].as_array().unwrap().len();
    let shown = format!("{all} <small>at 1 location</small>");
    for _ in 0..200 {
        let page = operator.page("/console").await;
        if page.contains("state=writes-waiting") && tile(&page, "Writes waiting") == shown {
            assert!(all >= 2, "{all}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not {shown}: {}", operator.page("/console").await);
}

#[actix_web::test]
async fn a_booking_is_dropped_with_its_new_patient() {
    let (world, _folder) = console_world().await;
    let slot = world.offers(MAIN, 1).await[0]["slot_token"].clone();
    let patient = json!({"first_name": "REFUSED", "last_name": "Refused", "date_of_birth": "1990-01-01", "phone_number": "555-010-1234"});
    let body = json!({"slot_token": slot, "idempotency_key": "k", "patient": patient});
    world.post("/intent/booking/book?subdomain=acme", body).ok().await;
    let list = world.until(WRITES, |list| each(&list["data"], "status") == ["failed", "failed"]).await;
    assert_eq!(each(&list["data"], "resource"), ["patients", "appointments"]);
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    operator.act("/console/actions/drop?write=1-1").await;
    let list = world.get(WRITES).ok().await;
    assert_eq!(each(&list["data"], "dropped"), [true, true], "{list}");
    assert_eq!(tile(&operator.page("/console").await, "Failed writes"), "0");
}

#[actix_web::test]
async fn a_failing_endpoint_is_on_the_first_page_and_its_messages_can_be_read() {
    let (world, folder) = watched(world_that_sends().await);
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    assert_eq!(tile(&operator.page("/console").await, "Webhooks failing"), "0");
    let made = world.post("/webhook_endpoints", json!({"target_url": "https://127.0.0.1:9/hook"})).answers(201).await;
    let id = &made["data"]["id"];
    let done = operator.act(&format!("/console/actions/test-webhook?endpoint={id}")).await;
    assert_eq!(done.header("location"), format!("/console/webhooks/{id}?done=tested"), "{}", done.text);
    for _ in 0..500 {
        if tile(&operator.page("/console").await, "Webhooks failing") == "1" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let fleet = operator.page("/console").await;
    assert_eq!(tile(&fleet, "Webhooks failing"), "1");
    assert!(fleet.contains("href=\"/console/webhooks?state=failing\""));
    assert!(operator.page("/console/webhooks?state=failing").await.contains("127.0.0.1:9/hook"));
    let list = operator.page(&format!("/console/webhooks/{id}")).await;
    let (_, rest) = list.split_once(&format!("/console/webhooks/{id}/deliveries/")).unwrap();
    let path = format!("/console/webhooks/{id}/deliveries/{}", rest.split('"').next().unwrap());
    let message = operator.page(&path).await;
    assert!(message.contains("webhook_endpoint.test") && message.contains("class=\"body\""), "{message}");
    assert!(entries(&folder, OPERATOR).contains(&"read webhook message".to_owned()));
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    assert!(!viewer.page(&path).await.contains("class=\"body\""));
    assert_eq!(viewer.get(&format!("/console/actions/test-webhook?endpoint={id}")).await.status, 403);
    assert_eq!(operator.get(&format!("/console/webhooks/{id}/deliveries/x")).await.status, 404);
    let again = operator.act(&format!("/console/actions/redeliver-failed?endpoint={id}")).await;
    assert!(again.status == 200 && again.text.contains("Messages that are sent again: "), "{}", again.text);
}

#[actix_web::test]
async fn a_write_has_a_page_with_each_attempt_and_what_belongs_to_it() {
    let (world, _folder) = console_world().await;
    let list = refused(&world, "pay-of-pat").await;
    let (id, record) = (list["data"][0]["id"].as_str().unwrap(), list["data"][0]["record_id"].to_string());
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let page = operator.page(&format!("/console/writes/{id}")).await;
    for shown in
        ["create payments", &record, "attempt 1", "the practice refuses it", "pay-of-pat", "Place 1", "create payment"]
    {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let times = page.matches(" UTC").count();
    assert!(times >= 6, "queued, sent and answered, each with a time and a title: {times}");
    // The confirmation page names the subject of the action.
    let asked = operator.page(&format!("/console/actions/retry?write={id}")).await;
    assert!(asked.contains(&format!("create payments {record}; failed: the practice refuses it")), "{asked}");
    operator.act(&format!("/console/actions/drop?write={id}")).await;
    // The entry of the audit trail may appear a moment later.
    for tries in 0.. {
        let dropped = operator.page(&format!("/console/writes/{id}")).await;
        if dropped.contains("drop write request") && dropped.contains("by an operator") {
            break;
        }
        assert!(tries < 500, "{dropped}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // A viewer sees the outcome, but no data of the patient.
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    let seen = viewer.page(&format!("/console/writes/{id}")).await;
    assert!(
        seen.contains("attempt 1") && !seen.contains("Audit trail") && !seen.contains("/console/actions/"),
        "{seen}"
    );
    for missing in ["/console/writes/1-77", "/console/writes/x", "/console/writes/4711-1"] {
        assert_eq!(operator.get(missing).await.status, 404, "{missing}");
    }
}

#[actix_web::test]
async fn search_finds_writes_requests_and_bookings() {
    let (world, _folder) = console_world().await;
    refused(&world, "pay-of-pat").await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    assert_eq!(operator.get("/console/search?q=1-1").await.header("location"), "/console/writes/1-1");
    let by_request = async || operator.page("/console/search?q=pay-of-pat").await;
    assert!(by_request().await.contains("/console/writes/1-1"));
    until("the audit entry of the request", async || by_request().await.contains("Audit trail")).await;
    let slot = world.offers(MAIN, 1).await[0]["slot_token"].clone();
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": slot, "idempotency_key": "k", "patient": patient});
    let booked = world.post("/intent/booking/book?subdomain=acme", body).with("X-Request-Id", "book-mia").ok().await;
    let reference = booked["booking"]["booking_ref"].as_str().unwrap();
    let by_booking = operator.page(&format!("/console/search?q={reference}")).await;
    assert!(by_booking.contains("Writes of the booking") && by_booking.contains("/console/writes/1-3"), "{by_booking}");
    let waiting = operator.page("/console/search?q=book-mia").await;
    assert!(waiting.contains("/console/writes/1-2") && waiting.contains("/console/writes/1-3"), "{waiting}");
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    let seen = viewer.page("/console/search?q=pay-of-pat").await;
    assert!(seen.contains("/console/writes/1-1") && !seen.contains("Audit trail"), "{seen}");
    assert_eq!(viewer.get("/console/search?q=1-1").await.header("location"), "/console/writes/1-1");
    for q in ["4711-1", "no-such-request", "place"] {
        assert_eq!(operator.get(&format!("/console/search?q={q}")).await.header("location"), format!("/console?q={q}"));
    }
}

#[actix_web::test]
async fn every_age_on_a_page_has_an_exact_time() {
    let (world, _folder) = console_world().await;
    refused(&world, "pay").await;
    let admin = ConsoleBrowser::signed_in(&world, ADMIN).await;
    let mut seen = 0;
    for path in PAGES.into_iter().chain(["/console/writes/1-1", "/console/system", "/console/search?q=pay"]) {
        let page = admin.page(path).await;
        for time in page.split("<time ").skip(1).map(|rest| rest.split('>').next().unwrap()) {
            assert!(time.contains("datetime=\"2") && time.contains(" UTC\""), "{path}: {time}");
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen}");
}

#[actix_web::test]
async fn a_problem_names_the_resource_the_next_step_and_its_runbook() {
    let ehr = Filled::new("Acme", MAIN, 40);
    let (world, _folder) = watched(world_on([(MAIN, ehr.clone() as Arc<dyn Ehr>)]).await);
    (1..40).for_each(|n| ehr.remove(Resource::PatientAlerts, n));
    world.post("/locations/1/sync", json!({})).ok().await;
    let state = world.until("/locations/1/sync", |it| it["data"]["problems"] != json!([])).await;
    let problem = &state["data"]["problems"][0];
    assert_eq!(
        (&problem["direction"], &problem["resource"], &problem["address"]),
        (&json!("reading"), &json!("patient_alerts"), &Value::Null)
    );
    assert_eq!(problem["reason"], "patient_alerts: the EHR shows 39 of 40 records deleted; nothing was deleted here");
    assert!(problem["next_step"].as_str().unwrap().contains("`practice-sync accept-deletions 1 patient_alerts`"));
    let runbook = problem["runbook"].as_str().unwrap();
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let page = operator.page("/console/locations/1").await;
    let (_, trouble) = page.split_once("class=\"trouble\"").unwrap();
    let (trouble, _) = trouble.split_once("<dl").unwrap();
    for shown in [
        "39 of 40",
        "accept-deletions?location=1&amp;resource=patient_alerts",
        "Accept deletions of patient alerts",
        runbook,
    ] {
        assert!(trouble.contains(shown), "{shown}: {trouble}");
    }
    assert!(operator.page("/console?state=red").await.contains(runbook));
    let (path, anchor) = runbook.split_once('#').unwrap();
    assert!(operator.page(path).await.contains(&format!("id=\"{anchor}\"")));
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    assert!(!viewer.page("/console/locations/1").await.contains("accept-deletions?"));
}

#[actix_web::test]
async fn a_location_without_ehr_shows_no_reads_and_is_not_green() {
    let (world, _folder) = console_world().await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let page = operator.page(&format!("/console/locations/{BARE}")).await;
    assert!(page.contains("No EHR"), "{page}");
    for absent in ["Read now", "Pause", "Requests left", "Last complete read", "Read cycle", "badge good\">green"] {
        assert!(!page.contains(absent), "{absent}: {page}");
    }
    let fleet = operator.page("/console?state=no-ehr").await;
    assert!(
        fleet.contains(&format!("/console/locations/{BARE}\"")) && !fleet.contains("badge good\">green"),
        "{fleet}"
    );
}

#[actix_web::test]
async fn the_root_path_redirects_to_the_console_and_missing_pages_are_named() {
    let (world, _folder) = console_world().await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let home = operator.get("/").await;
    assert_eq!((home.status.as_u16(), home.header("location")), (307, "/console"));
    let docs = world.get("/").without("Authorization").reply().await;
    assert_eq!((docs.status.as_u16(), docs.header("location")), (307, Some("/docs")));
    let nowhere = operator.get("/console/nowhere").await.text;
    assert!(nowhere.contains("Page not found.") && !nowhere.contains("The page"), "{nowhere}");
    let unknown = operator.get("/console/locations/4711").await.text;
    assert!(unknown.contains("Location 4711 not found.") && !unknown.contains("API key"), "{unknown}");
    let system = operator.page("/console/system").await;
    assert!(system.contains(env!("CARGO_PKG_VERSION")) && system.contains("MiB") && !system.contains("Operators</h2>"));
    assert!(ConsoleBrowser::signed_in(&world, ADMIN).await.page("/console/system").await.contains("Operators</h2>"));
    assert_eq!(operator.get("/console/docs/nothing").await.status, 404);
}

#[actix_web::test]
async fn a_server_that_drains_is_not_ready_and_serves() {
    let (world, _folder) = console_world().await;
    let before = world.get("/readyz").without("Authorization").reply().await;
    assert!(before.status == 200 && !before.text.contains("instance"), "{}", before.text);
    world.api.draining.store(true, std::sync::atomic::Ordering::Relaxed);
    let drains = world.get("/readyz").without("Authorization").reply().await;
    assert!(drains.status == 503 && drains.text.contains("it drains"), "{}", drains.text);
    world.get("/patients?subdomain=acme&location_id=1").ok().await;
    assert_eq!(world.get("/healthz").without("Authorization").reply().await.status, 200);
}
