use std::sync::{Arc, atomic::Ordering};

use engine::{
    records::ehr::{Operation, Write},
    setup::LocationStatus,
    simulated::NoSimulatedEhrs,
};
use location::ids::LocationId;
use serde_json::{Value, json};
use testing::until;

use crate::support::*;

const ALL: &str = "/write_requests?subdomain=acme&location_id=1";
/// The path of the list, in order of creation.
const PATH: &str = "/write_requests?subdomain=acme&location_id=1&sort=queued_at";

async fn pay(world: &ApiWorld, transaction: &str) -> Value {
    let body = json!({"payment": {"patient_id": PAT, "amount": 1, "transaction_id": transaction}});
    world.post("/payments?subdomain=acme&location_id=1", body).answers(202).await["data"]["id"].clone()
}

#[actix_web::test]
async fn write_requests_show_status_and_result() {
    let world = world().await;
    let paid = pay(&world, "fine").await;
    let refused = pay(&world, "REFUSE").await;
    let both = |list: &Value| each(&list["data"], "status") == ["done", "failed"];
    let list = world.until(PATH, both).await;
    let (done, failed) = (&list["data"][0], &list["data"][1]);
    assert_eq!(
        (&done["resource"], &done["record_id"], &done["operation"]),
        (&json!("payments"), &paid, &json!("create"))
    );
    assert_eq!((&done["attempts"], &done["reason"], &done["deadline"]), (&json!(1), &Value::Null, &Value::Null));
    assert_eq!((&failed["record_id"], &failed["reason"]), (&refused, &json!("the practice refuses it")));
    // A booking of the test practice stays pending.
    let slot = world.offers(MAIN, 1).await[0].clone();
    let book = json!({"slot_token": slot["slot_token"], "idempotency_key": "k", "patient": {"first_name": "Nora", "last_name": "Slow",
        "date_of_birth": "1990-01-01", "phone_number": "555-010-1234"}});
    world.post("/intent/booking/book?subdomain=acme", book).ok().await;
    let waiting = world.until(PATH, |list| list["data"].as_array().unwrap().len() == 4).await;
    assert_eq!(each(&waiting["data"], "resource"), ["payments", "payments", "patients", "appointments"]);
    assert_eq!(waiting["data"][3]["status"], json!("queued"));
    assert!(waiting["data"][3]["deadline"].is_string() && waiting["data"][3]["finished_at"].is_null());
    let ids = async |rest: &str| each(&world.get(&format!("{PATH}{rest}")).ok().await["data"], "id");
    assert_eq!(ids("&status=failed").await, [failed["id"].clone()]);
    let first = world.get(&format!("{PATH}&per_page=3")).ok().await;
    let cursor = first["page_info"]["end_cursor"].as_str().unwrap();
    let rest = world.get(&format!("{PATH}&per_page=3&end_cursor={cursor}")).ok().await;
    assert_eq!(each(&rest["data"], "id"), [waiting["data"][3]["id"].clone()]);
    let cursor = rest["page_info"]["start_cursor"].as_str().unwrap();
    assert_eq!(world.get(&format!("{PATH}&per_page=3&start_cursor={cursor}")).ok().await["data"], first["data"]);
    let one = format!("/write_requests/{}?subdomain=acme&location_id=1", failed["id"].as_str().unwrap());
    assert_eq!(&world.get(&one).ok().await["data"], failed);
    assert_eq!(
        world.get("/write_requests/1-77?subdomain=acme&location_id=1").fails(404).await,
        ["Write Request with id 1-77 not found"]
    );
    // Without the grant the writes of the ledger are hidden.
    let plain = world.get(PATH).key(MAIN_KEY).ok().await;
    assert_eq!(each(&plain["data"], "resource"), ["patients", "appointments"]);
    world.get(&one).key(MAIN_KEY).fails(404).await;
    assert_eq!(
        world.get(&format!("{PATH}&status=lost")).fails(400).await,
        ["status must be one of queued, sending, parked, done, failed, timed_out."]
    );
}

/// Sets the status of the first location.
async fn set_status(world: &ApiWorld, status: LocationStatus) {
    let mut setup = setup();
    setup.locations.get_mut(&LocationId(MAIN)).map(Arc::make_mut).unwrap().status = status;
    assert!(world.api.reconfigure(setup, &NoSimulatedEhrs).await.is_ok());
}

#[actix_web::test]
async fn operators_reach_the_writes_of_inactive_locations() {
    let world = world().await;
    for transaction in ["REFUSE", "REFUSE AGAIN"] {
        pay(&world, transaction).await;
    }
    let list = world.until(PATH, |list| each(&list["data"], "status") == ["failed", "failed"]).await;
    let [first, second] = [0usize, 1].map(|n| list["data"][n]["id"].as_str().unwrap().to_owned());
    let act = |id: &str, what: &str| {
        world.post(&format!("/write_requests/{id}/{what}?subdomain=acme&location_id=1"), json!({})).operator(OPERATOR)
    };
    set_status(&world, LocationStatus::Pending).await;
    world.get(PATH).fails(403).await;
    assert_eq!(world.get("/locations/1/sync").ok().await["data"]["writes_failed"], json!(2));
    assert_eq!(act(&first, "drop").ok().await["data"]["dropped"], json!(true));
    set_status(&world, LocationStatus::Closed).await;
    world.get(PATH).fails(404).await;
    world.books.kind.store(true, Ordering::SeqCst);
    act(&second, "retry").ok().await;
    until("the retried write", async || {
        let shown = world.get(PATH).operator(OPERATOR).ok().await;
        each(&shown["data"], "status") == ["failed", "failed", "done"]
    })
    .await;
}

#[actix_web::test]
async fn operators_retry_and_drop_writes() {
    let world = world().await;
    let feed = "/changes?subdomain=acme&location_id=1";
    let start = world.get(feed).ok().await;
    let act_on = |id: &Value, what| {
        let id = id.as_str().unwrap();
        world.post(&format!("/write_requests/{id}/{what}?subdomain=acme&location_id=1"), json!({}))
    };
    let (retry, drop) = (|id: &Value| act_on(id, "retry"), |id: &Value| act_on(id, "drop"));
    for unknown in [retry(&json!("1-77")), drop(&json!("1-77"))] {
        assert_eq!(unknown.fails(404).await, ["Write Request with id 1-77 not found"]);
    }
    retry(&json!("1-77")).operator(VIEWER).fails(403).await;
    retry(&json!("1-77")).key(MAIN_KEY).fails(401).await;
    let paid = pay(&world, "REFUSE").await;
    let list = world.until(PATH, |list| each(&list["data"], "status") == ["failed"]).await;
    let failed = list["data"][0].clone();
    let ids = async |open: bool| each(&world.get(&format!("{PATH}&open={open}")).ok().await["data"], "id");
    assert_eq!((ids(true).await, ids(false).await), (vec![failed["id"].clone()], vec![]));
    assert_eq!((&failed["retried_as"], &failed["dropped"]), (&Value::Null, &json!(false)));

    world.books.kind.store(true, Ordering::SeqCst);
    let again = retry(&failed["id"]).ok().await["data"]["id"].clone();
    let list = world.until(PATH, |list| each(&list["data"], "status") == ["failed", "done"]).await;
    assert_eq!((&list["data"][0]["retried_as"], &list["data"][1]["id"]), (&again, &again));
    // A retried write is finished, like a completed one.
    assert_eq!((ids(true).await, ids(false).await), (vec![], vec![failed["id"].clone(), again.clone()]));
    assert_eq!(
        (&list["data"][1]["record_id"], &list["data"][1]["attempts"]),
        (&paid, &json!(2)),
        "looked up, then sent"
    );
    let payments =
        world.books.written(MAIN).into_iter().filter(|write| matches!(write, Write::Record(Operation::Create, _)));
    assert_eq!(payments.count(), 1);
    let settled = ["The write has not failed, or was retried or dropped already."];
    for id in [&failed["id"], &again] {
        assert_eq!(retry(id).fails(400).await, settled);
        assert_eq!(drop(id).fails(400).await, settled);
    }

    world.books.kind.store(false, Ordering::SeqCst);
    pay(&world, "REFUSE AGAIN").await;
    let list = world.until(PATH, |list| each(&list["data"], "status") == ["failed", "done", "failed"]).await;
    let failed = list["data"][2]["id"].clone();
    assert_eq!(drop(&failed).ok().await["data"]["dropped"], json!(true));
    assert_eq!(retry(&failed).fails(400).await, settled);
    assert_eq!((ids(true).await, ids(false).await.len()), (vec![], 3), "what was dropped is, too");

    // A booking that waits for its patient.
    let slot = world.offers(MAIN, 1).await[0].clone();
    let book = json!({"slot_token": slot["slot_token"], "idempotency_key": "k", "patient": {"first_name": "Nora", "last_name": "Slow",
        "date_of_birth": "1990-01-01", "phone_number": "555-010-1234"}});
    let booked = world.post("/intent/booking/book?subdomain=acme", book).ok().await["booking"]["booking_ref"].clone();
    let statuses = ["failed", "done", "failed", "sending", "queued"];
    let list = world.until(PATH, |list| each(&list["data"], "status") == statuses).await;
    assert_eq!(ids(true).await, [list["data"][3]["id"].clone(), list["data"][4]["id"].clone()]);
    assert_eq!(
        drop(&list["data"][3]["id"]).fails(400).await,
        ["The write is being sent or may have been written: it cannot be dropped."]
    );
    drop(&list["data"][4]["id"]).ok().await;
    let status = format!("/intent/booking/status?subdomain=acme&booking_ref={}", booked.as_str().unwrap());
    let failed = world.get(&status).ok().await;
    assert_eq!(failed["booking"]["ehr_writeback"], json!("failed"), "{failed}");
    let list = world.get(PATH).ok().await;
    assert_eq!(
        (&list["data"][4]["reason"], &list["data"][4]["dropped"]),
        (&json!("dropped by an operator"), &json!(true))
    );
    // A failed booking does not appear as an appointment, and cannot be cancelled.
    let id = &failed["booking"]["appointment_id"];
    let days = "start=2020-01-01T00:00:00Z&end=2199-01-01T00:00:00Z&per_page=1000";
    let listed = world.get(&format!("/appointments?subdomain=acme&location_id=1&{days}")).ok().await;
    let found = |all: &Value| all.as_array().unwrap().iter().find(|it| &it["id"] == id).cloned().unwrap();
    assert_eq!(found(&listed["data"])["ehr_writeback"], json!("failed"), "{listed}");
    let mut theirs = listed["data"].as_array().unwrap().iter().filter(|it| it["foreign_id"].is_string());
    assert!(theirs.all(|it| it.get("ehr_writeback").is_none()), "made in the practice: {listed}");
    let since = start["page_info"]["end_cursor"].as_str().unwrap();
    let changes = world.get(&format!("{feed}&since={since}&resource[]=appointments")).ok().await;
    let records: Vec<Value> = each(&changes["data"], "record");
    assert_eq!(found(&json!(records))["ehr_writeback"], json!("failed"), "{changes}");
    let cancel = world.post("/intent/booking/cancel?subdomain=acme", json!({"booking_ref": booked}));
    let refused = cancel.answers(409).await;
    let why = "The practice's system refused the booking; there is nothing to cancel.";
    assert_eq!(
        (&refused["ok"], &refused["reason"], &refused["message"], &refused["error"]),
        (&json!(false), &json!("booking_failed"), &json!(why), &json!([why]))
    );
}

#[actix_web::test]
async fn the_newest_come_first_and_filters_narrow_them() {
    let world = world().await;
    let fine = pay(&world, "fine").await;
    let before = world.until(ALL, |list| each(&list["data"], "status") == ["done"]).await;
    let refused = pay(&world, "REFUSE").await;
    let log = json!({"communication_log": {"patient_id": PAT, "note": "Called", "mode": "phone", "direction": "sent",
        "occurred_at": "2026-11-01T10:00:00Z"}});
    let logs = "/communication_logs?subdomain=acme&location_id=1";
    let log = world.post(logs, log).version("v3.1.0").answers(202).await["data"]["id"].clone();
    let ended = |list: &Value| each(&list["data"], "finished_at").iter().filter(|at| at.is_string()).count() == 3;
    let list = world.until(ALL, ended).await;
    assert_eq!(each(&list["data"], "resource"), ["communication_logs", "payments", "payments"]);
    assert_eq!(
        each(&list["data"], "record_id"),
        [log.clone(), refused.clone(), fine.clone()],
        "as the records show them"
    );
    assert_eq!(each(&list["data"], "id"), ["1-3", "1-2", "1-1"]);
    let records = async |rest: &str| each(&world.get(&format!("{ALL}&{rest}")).ok().await["data"], "record_id");
    assert_eq!(records("resource=payments").await, [refused.clone(), fine.clone()]);
    assert_eq!(records(&format!("resource=payments&record_id={fine}")).await, std::slice::from_ref(&fine));
    assert_eq!(records(&format!("record_id={}", log.as_str().unwrap())).await, std::slice::from_ref(&log));
    assert_eq!(records("status=failed&sort=-queued_at").await, std::slice::from_ref(&refused));
    let later = list["data"][1]["queued_at"].as_str().unwrap();
    assert_eq!(records(&format!("since={later}")).await, [log.clone(), refused.clone()]);
    assert_eq!(records(&format!("updated_since={later}&sort=queued_at")).await, [refused, log]);
    let first = &before["data"][0];
    assert_eq!(records(&format!("updated_since={}", first["finished_at"].as_str().unwrap())).await.len(), 3);
    assert_eq!(records("since=2100-01-01T00:00:00Z").await, Vec::<Value>::new());
    let wrong = world.get(&format!("{ALL}&resource=payment&sort=id&record_id=")).fails(400).await;
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    let wrong = world.get("/write_requests/7?subdomain=acme&location_id=1").fails(400).await;
    assert_eq!(wrong, ["id must be an id of a write request, such as 101-8."]);
    // Ids are counted per location, so that of another location is not found.
    world.get("/write_requests/2-1?subdomain=acme&location_id=1").fails(404).await;
}

/// All records share one mechanism.
#[actix_web::test]
async fn every_record_shows_the_status_of_its_write() {
    let world = world().await;
    let stands = |it: &Value| (it["ehr_writeback"].clone(), it["failure_reason"].clone());
    let body = json!({"payment": {"patient_id": PAT, "amount": 1, "transaction_id": "REFUSE"}});
    let made = world.post("/payments?subdomain=acme&location_id=1", body).answers(202).await["data"].clone();
    assert_eq!(stands(&made), (json!("pending"), Value::Null));
    world.until(ALL, |list| each(&list["data"], "status") == ["failed"]).await;
    let shown = world.get(&format!("/payments/{}?subdomain=acme", made["id"])).ok().await["data"].clone();
    assert_eq!(stands(&shown), (json!("failed"), json!("the practice refuses it")));

    let paid = pay(&world, "fine").await;
    let path = format!("/payments/{paid}?subdomain=acme");
    let done = world.until(&path, |it| it["data"]["ehr_writeback"] == "confirmed").await;
    assert!(done["data"].get("failure_reason").is_none(), "{done}");

    // A record made by the practice shows no status; a change by a client does.
    let patient = format!("/patients/{PAT}?subdomain=acme&location_id=1");
    let theirs = world.get(&patient).ok().await["data"].clone();
    assert!(theirs.get("ehr_writeback").is_none(), "{theirs}");
    world.books.locked.store(true, Ordering::SeqCst);
    let change = json!({"patient": {"email": "new@example.com"}});
    let changed = world.patch(&patient, change).version("v3.1.0").ok().await["data"].clone();
    assert_eq!(stands(&changed), (json!("pending"), Value::Null));
    world.books.locked.store(false, Ordering::SeqCst);
    world.sync(MAIN).await;
    world.until(&patient, |it| it["data"]["ehr_writeback"] == "confirmed").await;
    let list = world.get("/patients?subdomain=acme&location_id=1").ok().await;
    let listed = list["data"]["patients"].as_array().or(list["data"].as_array()).unwrap();
    assert!(
        listed.iter().any(|it| it["ehr_writeback"] == "confirmed")
            && listed.iter().any(|it| it.get("ehr_writeback").is_none())
    );
}
