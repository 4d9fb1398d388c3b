use engine::{lists::Position, records::ehr::Resource};
use serde_json::{Value, json};

use crate::{export::without_ehr, support::*};

const PATH: &str = "/changes?subdomain=acme&location_id=1";

async fn now(world: &ApiWorld, path: &str) -> String {
    let list = world.get(path).ok().await;
    assert_eq!((&list["data"], &list["page_info"]["has_next_page"]), (&json!([]), &json!(false)));
    list["page_info"]["end_cursor"].as_str().unwrap().to_owned()
}

async fn pay(world: &ApiWorld) -> Value {
    let body = json!({"payment": {"patient_id": PAT, "amount": 1, "transaction_id": "t"}});
    let made = world.post("/payments?subdomain=acme&location_id=1", body).answers(202).await["data"]["id"].clone();
    world.until(&format!("/payments/{made}?subdomain=acme"), |it| it["data"]["foreign_id"].is_string()).await;
    made
}

#[actix_web::test]
async fn changes_follow_a_cursor() {
    let world = world().await;
    let start = now(&world, PATH).await;
    let made = pay(&world).await;
    world.patch("/appointments/1?subdomain=acme", json!({"appt": {"note": "Hello"}})).ok().await;
    // The reply of the EHR is a change, too.
    world.until("/appointments/1?subdomain=acme", |it| it["data"]["ehr_writeback"] == json!("confirmed")).await;
    let list = world.get(&format!("{PATH}&since={start}")).ok().await;
    assert_eq!(each(&list["data"], "resource"), ["payments", "appointments"]);
    let (payment, appointment) = (&list["data"][0], &list["data"][1]);
    assert_eq!((&payment["id"], &payment["change"]), (&made, &json!("created")), "made and written since: still new");
    let own = world.get(&format!("/payments/{made}?subdomain=acme")).ok().await["data"].clone();
    assert_eq!(payment["record"], own);
    assert_eq!((&appointment["change"], &appointment["record"]["note"]), (&json!("updated"), &json!("Hello")));
    assert!(payment["changed_at"].is_string());
    let next = list["page_info"]["end_cursor"].as_str().unwrap();
    assert_eq!(world.get(&format!("{PATH}&since={next}")).ok().await["data"], json!([]));
    // Pages of one change.
    let first = world.get(&format!("{PATH}&since={start}&per_page=1")).ok().await;
    assert_eq!((each(&first["data"], "resource").len(), &first["page_info"]["has_next_page"]), (1, &json!(true)));
    let (mut cursor, mut seen) = (start.clone(), Vec::new());
    loop {
        let page = world.get(&format!("{PATH}&since={cursor}&per_page=1")).ok().await;
        seen.extend(each(&page["data"], "resource"));
        cursor = page["page_info"]["end_cursor"].as_str().unwrap().to_owned();
        if page["page_info"]["has_next_page"] == json!(false) {
            break;
        }
    }
    assert!(seen.contains(&json!("appointments")) && seen.contains(&json!("payments")), "{seen:?}");
    let some = world.get(&format!("{PATH}&since={start}&resource[]=appointments&resource[]=patients")).ok().await;
    assert_eq!(each(&some["data"], "resource"), ["appointments"]);
    let elsewhere = format!("/changes?subdomain=acme&location_id=2&since={start}");
    assert_eq!(world.get(&elsewhere).fails(400).await, ["since is not an end_cursor of the changes of this location."]);
}

#[actix_web::test]
async fn a_deletion_by_the_practice_has_no_record() {
    let world = world().await;
    let start = now(&world, PATH).await;
    world.books.remove(Resource::Payments, "payment 2");
    world.sync(MAIN).await;
    let list = world.get(&format!("{PATH}&since={start}&resource[]=payments")).ok().await;
    assert_eq!((&list["data"][0]["change"], &list["data"][0]["record"]), (&json!("deleted"), &Value::Null));
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn changes_of_another_location_are_not_listed() {
    let world = world().await;
    let second = "/changes?subdomain=acme&location_id=2";
    let start = now(&world, second).await;
    pay(&world).await;
    assert_eq!(world.get(&format!("{second}&since={start}")).ok().await["data"], json!([]));
}

#[actix_web::test]
async fn changes_respect_the_grants_of_the_key() {
    let world = world().await;
    let start = world.get(PATH).key(MAIN_KEY).ok().await["page_info"]["end_cursor"].as_str().unwrap().to_owned();
    pay(&world).await;
    let list = world.get(&format!("{PATH}&since={start}")).key(MAIN_KEY).ok().await;
    assert_eq!(list["data"], json!([]));
    for resource in ["payments", "fee_schedules", "form_responses"] {
        let asked = world.get(&format!("{PATH}&since={start}&resource[]={resource}")).key(MAIN_KEY);
        assert_eq!(asked.fails(403).await, ["You don't have access to perform this action."], "{resource}");
    }
}

#[actix_web::test]
async fn a_cursor_of_the_changes_of_another_ehr_has_expired() {
    let world = world().await;
    let cursor = now(&world, PATH).await;
    without_ehr(&world).await;
    let refused = world.get(&format!("{PATH}&since={cursor}")).answers(400).await;
    assert_eq!(refused["reason"], json!("cursor_expired"));
    let message = refused["error"][0].as_str().unwrap();
    assert!(message.contains("another health record system") && message.contains("Export the records"), "{message}");
    let next = now(&world, PATH).await;
    world.get(&format!("{PATH}&since={next}")).ok().await;
}

/// Cursors of earlier versions do not contain the data source.
#[actix_web::test]
async fn a_cursor_of_an_earlier_version_is_continued() {
    let world = world().await;
    let cursor = now(&world, PATH).await;
    let cursors = world.api.cursors.bound_to("/changes", vec![("location_id", "1")]);
    let (position, as_of) = cursors.open(&cursor).unwrap();
    let earlier = cursors.seal(Position::id(position.id), as_of);
    assert_ne!(earlier, cursor);
    let made = pay(&world).await;
    let list = world.get(&format!("{PATH}&since={earlier}")).ok().await;
    assert!(each(&list["data"], "id").contains(&made), "{list}");
}

#[actix_web::test]
async fn wrong_values_are_named() {
    let world = world().await;
    let bad = world.get(&format!("{PATH}&since=abc")).fails(400).await;
    assert_eq!(bad, ["since is not an end_cursor of the changes of this location."]);
    let bad = world.get(&format!("{PATH}&resource[]=teeth&per_page=0")).fails(400).await;
    assert!(bad[0].starts_with("resource[] must be one of providers, operatories,"), "{bad:?}");
    assert_eq!(bad[1], "per_page must be between 1 and 1000.");
    world.get(PATH).version("v2.2.2").fails(404).await;
}

/// Every resource has a view in the feed.
#[actix_web::test]
async fn every_pulled_record_is_in_the_feed() {
    let world = world().await;
    let cursors = world.api.cursors.bound_to("/changes", vec![("location_id", "1")]);
    let cursor = cursors.seal(engine::lists::Position::id(0), location::time::Timestamp(0));
    let list = world.get(&format!("{PATH}&since={cursor}&per_page=1000")).ok().await;
    let resources: std::collections::BTreeSet<String> =
        each(&list["data"], "resource").iter().map(|it| it.as_str().unwrap().to_owned()).collect();
    let reads = world.get("/locations/1/capabilities").ok().await;
    for resource in each(&reads["data"]["ehr"]["reads"], "resource") {
        assert!(resources.contains(resource.as_str().unwrap()), "{resource}: nothing of it among {resources:?}");
    }
    for row in list["data"].as_array().unwrap() {
        assert_eq!(row["change"], json!("created"));
        assert!(row["record"].is_object(), "{row}");
    }
}
