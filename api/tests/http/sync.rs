//! The read cycle in an operator's hands.

use std::sync::Arc;

use engine::ehr::{Ehr, Resource};
use serde_json::{Value, json};

use crate::{filled::Filled, support::*};

const SYNC: &str = "/locations/1/sync";
const PATIENTS: u32 = 40;

async fn open() -> (World, Arc<Filled>) {
    let ehr = Filled::new("Acme", MAIN, PATIENTS);
    (world_on([(MAIN, ehr.clone() as Arc<dyn Ehr>)]).await, ehr)
}

fn of<'a>(state: &'a Value, resource: &str) -> &'a Value {
    let all = state["data"]["resources"].as_array().unwrap();
    all.iter().find(|it| it["resource"] == resource).unwrap()
}

#[actix_web::test]
async fn progress_is_seen_and_a_cycle_starts_when_asked() {
    let (world, ehr) = open().await;
    let first = world.get(SYNC).ok().await;
    let patients = of(&first, "patients");
    assert_eq!(
        (&patients["records"], &patients["estimate"], &patients["whole"], &patients["running"]),
        (&json!(PATIENTS), &json!(PATIENTS), &json!(true), &json!(false))
    );
    let known = world.engine.sync_state(location::ids::LocationId(MAIN)).await.unwrap().progress.len();
    assert_eq!(first["data"]["resources"].as_array().unwrap().len(), known);
    assert!(patients["ended_at"].is_string() && first["data"]["last_sync_at"].is_string());
    assert!(first["data"]["next_cycle_at"].is_string() && first["data"]["reading"].is_null());
    assert_eq!((&first["data"]["writes_waiting"], &first["data"]["read_problem"]), (&json!(0), &Value::Null));
    ehr.touch(Resource::Patients, 2 * PATIENTS);
    world.post(SYNC, json!({})).ok().await;
    let more = |state: &Value| of(state, "patients")["records"] == json!(PATIENTS + 1);
    world.until(SYNC, more).await;
}

#[actix_web::test]
async fn deletions_that_were_stopped_are_let_go() {
    let (world, ehr) = open().await;
    let accept = |resource: &str| world.post("/locations/1/sync/accept_deletions", json!({"resource": resource}));
    assert_eq!(
        accept("patient_alerts").fails(400).await,
        ["No deletions of this resource were stopped at the location."]
    );
    (1..PATIENTS).for_each(|n| ehr.remove(Resource::PatientAlerts, n));
    world.post(SYNC, json!({})).ok().await;
    let stopped = |state: &Value| of(state, "patient_alerts")["deletions_stopped"] == json!(true);
    let state = world.until(SYNC, stopped).await;
    assert_eq!(state["data"]["read_problem"], "stopped: the EHR shows 39 of 40 records deleted");
    accept("patient_alerts").ok().await;
    let let_go = |state: &Value| {
        let alerts = of(state, "patient_alerts");
        alerts["deletions_stopped"] == json!(false) && alerts["records"] == json!(1)
    };
    world.until(SYNC, let_go).await;
    world.until(SYNC, |state| state["data"]["read_problem"].is_null()).await;
}

#[actix_web::test]
async fn a_location_without_a_health_record_system_reads_nothing() {
    let world = world().await;
    let alone = world.get(&format!("/locations/{BARE}/sync")).ok().await;
    assert_eq!(
        (&alone["data"]["resources"], &alone["data"]["next_cycle_at"], &alone["data"]["last_sync_at"]),
        (&json!([]), &Value::Null, &Value::Null)
    );
    assert_eq!(world.get("/locations/77/sync").fails(404).await, ["Location with id 77 not found"]);
    assert_eq!(
        world.post("/locations/1/sync/accept_deletions", json!({"resource": "teeth"})).fails(400).await[0]
            .split(" of ")
            .next(),
        Some("resource must be one")
    );
    world.get(SYNC).key(MAIN_KEY).fails(403).await;
}
