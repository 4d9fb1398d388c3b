use serde_json::{Value, json};

use crate::support::*;

const PATH: &str = "/write_requests?subdomain=acme&location_id=1";

async fn pay(world: &World, transaction: &str) -> Value {
    let body = json!({"payment": {"patient_id": PAT, "amount": 1, "transaction_id": transaction}});
    world.post("/payments?subdomain=acme&location_id=1", body).answers(202).await["data"]["id"].clone()
}

#[actix_web::test]
async fn what_became_of_writes() {
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
    // A booking of the test practice waits.
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
    let one = format!("/write_requests/{}?subdomain=acme&location_id=1", failed["id"]);
    assert_eq!(&world.get(&one).ok().await["data"], failed);
    assert_eq!(
        world.get("/write_requests/77?subdomain=acme&location_id=1").fails(404).await,
        ["Write Request with id 77 not found"]
    );
    // Without the grant the ledger's are not there.
    let plain = world.get(PATH).key(MAIN_KEY).ok().await;
    assert_eq!(each(&plain["data"], "resource"), ["patients", "appointments"]);
    world.get(&one).key(MAIN_KEY).fails(404).await;
    assert_eq!(
        world.get(&format!("{PATH}&status=lost")).fails(400).await,
        ["status must be one of queued, sending, parked, done, failed, timed_out."]
    );
}
