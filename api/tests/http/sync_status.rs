use std::sync::Arc;

use engine::{records::sync_state::DAMAGED, setup::LocationStatus, simulated::NoSimulatedEhrs};
use location::ids::LocationId;
use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn locations_of_one_source_are_one_entry() {
    let world = world().await;
    let list = world.get("/sync_status?subdomain=acme").ok().await;
    assert_eq!(list["count"], json!(2));
    let bare = &list["data"][0];
    assert_eq!(
        (&bare["emr"], &bare["sync_source_name"], each(&bare["locations"], "id")),
        (&Value::Null, &Value::Null, vec![json!(BARE)])
    );
    let shared = &list["data"][1];
    assert_eq!((&shared["institution_id"], &shared["sync_source_name"]), (&json!(1), &json!("Source 1")));
    assert_eq!(shared["emr"], json!({"id": 1, "name": "", "display_name": "Practice", "type": "cloud"}));
    assert_eq!(each(&shared["locations"], "id"), [MAIN, SECOND]);
    for entry in [bare, shared] {
        assert_eq!((&entry["read_status"], &entry["write_status"]), (&json!("green"), &json!("green")));
        assert!(entry["read_status_at"].is_string() && entry["write_status_at"].is_string());
    }
}

#[actix_web::test]
async fn filters_narrow_the_list() {
    let world = world().await;
    let count = async |query: &str| world.get(&format!("/sync_status?{query}")).ok().await["count"].clone();
    assert_eq!(count("read_status=green").await, 2);
    assert_eq!(count("write_status=red").await, 0);
    assert_eq!(count("location_ids[]=2").await, 1);
    assert_eq!(world.get("/sync_status?read_status=blue").fails(400).await, ["read_status must be one of green, red."]);
    // A pending location refuses all calls (specification 5.9).
    world.get(&format!("/sync_status?location_ids[]={PENDING}")).fails(403).await;
    for other in [RIVAL, CLOSED] {
        let errors = world.get(&format!("/sync_status?location_ids[]={other}")).fails(404).await;
        assert_eq!(errors, [format!("Location with id {other} not found")]);
    }
}

#[actix_web::test]
async fn a_damaged_location_is_red_and_hides_no_other() {
    let world = world_damaged(SECOND).await;
    let colors = async |query: &str| {
        let list = world.get(&format!("/sync_status?{query}")).ok().await;
        ["read_status", "write_status"].map(|field| each(&list["data"], field))
    };
    // The second entry is of the data source that the damaged location shares with the first one.
    assert_eq!(colors("subdomain=acme").await, [["green", "red"], ["green", "red"]]);
    assert_eq!(colors("location_ids[]=1").await, [["green"], ["green"]]);
    assert_eq!(colors("location_ids[]=2").await, [["red"], ["red"]]);
    let problems = world.get("/locations/2/sync").ok().await["data"]["problems"].clone();
    let runbook = json!("/console/docs/runbooks#the-store-or-a-location-is-damaged");
    assert_eq!(each(&problems, "reason"), [DAMAGED]);
    assert_eq!(each(&problems, "runbook"), [runbook]);
    let numbers = world.engine.metrics();
    assert_eq!((numbers.locations_not_reading, numbers.locations_not_writing), (1, 1));
}

/// Its waiting writes are not sent, and their number is not known.
#[actix_web::test]
async fn a_closed_location_of_another_data_source_has_a_problem() {
    let world = world_of_other_source(SECOND).await;
    let mut closed = setup();
    closed.locations.get_mut(&LocationId(SECOND)).map(Arc::make_mut).unwrap().status = LocationStatus::Closed;
    assert!(world.api.reconfigure(closed, &NoSimulatedEhrs).await.is_ok());
    let problems = world.get("/locations/2/sync").ok().await["data"]["problems"].clone();
    let runbook = json!("/console/docs/runbooks#a-location-has-another-data-source");
    assert_eq!(each(&problems, "runbook"), [runbook]);
}
