use engine::records::ehr::Resource;
use location::time::DAY;
use serde_json::{Value, json};

use crate::support::*;

const LOGS: &str = "/communication_logs?subdomain=acme&location_id=1";

async fn log(world: &ApiWorld, patient: u64, note: &str) -> Value {
    let body = json!({"communication_log": {"patient_id": patient, "note": note}});
    world.post(LOGS, body).version("v3.1.0").answers(202).await["data"].clone()
}

#[actix_web::test]
async fn a_log_is_written_to_the_ehr() {
    let world = world().await;
    let body = json!({"communication_log": {
        "patient_id": PAT, "note": "Called back", "mode": "phone", "direction": "received", "occurred_at": "2026-01-02T03:04:05Z",
    }});
    let made = world.post(LOGS, body).version("v3.1.0").answers(202).await["data"].clone();
    assert_eq!(
        (&made["status"], &made["mode"], &made["direction"]),
        (&json!("pending"), &json!("phone"), &json!("received"))
    );
    let written = world.wait_for_writes(Resource::CommunicationLogs, 1).await;
    assert_eq!(
        (&written[0].fields()["patient"], &written[0].fields()["occurred_at"]),
        (&json!("pat"), &json!(1_767_323_045))
    );
    let path = format!("/communication_logs/{}?subdomain=acme", made["id"].as_str().unwrap());
    let done = world.data_until(&path, |it| it["status"] == "succeeded").await;
    assert_eq!((&done["occurred_at"], &done["failure_reason"]), (&json!("2026-01-02T03:04:05.000Z"), &Value::Null));

    let refused = log(&world, PAT.into(), "refused").await;
    let path = format!("/communication_logs/{}?subdomain=acme", refused["id"].as_str().unwrap());
    let failed = world.data_until(&path, |it| it["status"] == "failed").await;
    assert_eq!(failed["failure_reason"], json!("not such a note"));
}

#[actix_web::test]
async fn only_requests_made_here_are_listed() {
    let world = world().await;
    assert_eq!(world.edge(LOGS).await, json!([]), "the EHR has another one");
    let ada = world.patient("ada").await;
    log(&world, ada, "second").await;
    log(&world, ada, "refused").await;
    let notes = async |rest: &str| each(&world.edge(&format!("{LOGS}{rest}")).await, "note");
    world.data_until(&format!("{LOGS}&status=failed"), |it| !it.as_array().unwrap().is_empty()).await;
    world.data_until(&format!("{LOGS}&status=succeeded"), |it| !it.as_array().unwrap().is_empty()).await;
    // The slow one comes last, because its write never ends.
    log(&world, PAT.into(), "slow").await;
    assert_eq!(notes("").await, ["second", "refused", "slow"]);
    assert_eq!(notes("&sort=-created_at").await, ["slow", "refused", "second"]);
    assert_eq!(notes(&format!("&patient_id={ada}")).await, ["second", "refused"]);
    assert_eq!(notes("&status=pending").await, ["slow"]);
    assert_eq!(notes("&status=failed").await, ["refused"]);
    let tomorrow = framework::values::times::utc(world.engine.now().plus(DAY));
    assert_eq!(notes(&format!("&created_since={tomorrow}")).await, [""; 0]);
    let other = format!("/communication_logs?subdomain=acme&location_id={SECOND}");
    assert_eq!(world.edge(&other).await, json!([]), "requests belong to the location they were made at");
}

#[actix_web::test]
async fn logs_older_than_90_days_cannot_be_listed() {
    let world = world().await;
    let since = |days: i64| framework::values::times::utc(world.engine.now().minus(days * DAY));
    world.edge(&format!("{LOGS}&created_since={}", since(89))).await;
    let errors = world
        .get(&format!("{LOGS}&created_since={}&status=lost&sort=note", since(91)))
        .version("v3.1.0")
        .fails(400)
        .await;
    assert_eq!(
        errors,
        [
            "status must be one of pending, succeeded, failed.",
            "created_since must not be more than 90 days ago.",
            "sort must be one of created_at, -created_at.",
        ]
    );
}

#[actix_web::test]
async fn an_ehr_without_communication_logs_refuses_them() {
    let world = world().await;
    let body = json!({"communication_log": {"patient_id": PAT, "note": "x"}});
    let expected = ["EMR does not support communication logs."];
    let bare = format!("/communication_logs?subdomain=acme&location_id={BARE}");
    assert_eq!(world.post(&bare, body).version("v3.1.0").fails(422).await, expected);
    let missing = world.post(LOGS, json!({"communication_log": {"mode": "fax"}})).version("v3.1.0").fails(400).await;
    assert_eq!(
        missing,
        [
            "communication_log.patient_id is missing.",
            "communication_log.note is missing.",
            "communication_log.mode must be one of none, email, mail, phone, in_person, text.",
        ]
    );
}

#[actix_web::test]
async fn an_unknown_log_is_not_found() {
    let world = world().await;
    let made = log(&world, PAT.into(), "mine").await;
    let id = made["id"].as_str().unwrap();
    let foreign = world.get(&format!("/communication_logs/{id}?subdomain=rival")).key(RIVAL_KEY).version("v3.1.0");
    assert_eq!(foreign.fails(404).await, [format!("Communication Log with id {id} not found")]);
    let wrong = world.get("/communication_logs/7?subdomain=acme").version("v3.1.0").fails(400).await;
    assert_eq!(wrong, ["id must be a uuid."]);
}
