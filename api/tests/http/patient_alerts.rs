use actix_web::http::Method;
use engine::records::ehr::Resource;
use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn active_alerts_and_all_alerts_are_listed() {
    let world = world().await;
    let path = format!("/patients/{}/alerts?subdomain=acme", world.patient("ada").await);
    let list = world.get(&path).ok().await;
    assert_eq!((each(&list["data"], "note"), &list["count"]), (vec![json!("Afraid of heights")], &json!(1)));
    let all = world.get(&format!("{path}&include_disabled=true")).ok().await;
    assert_eq!(each(&all["data"], "disabled_at"), [Value::Null, json!("2024-01-01T00:00:00.000Z")]);
    assert_eq!(world.get("/patients/4711/alerts?subdomain=acme").fails(404).await, ["Patient with id 4711 not found"]);
}

#[actix_web::test]
async fn a_new_alert_is_written_and_can_be_disabled_once() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let path = format!("/patients/{ada}/alerts?subdomain=acme");
    let made = world.post(&path, json!({"patient_alert": {"note": "Mind the dog"}})).answers(201).await["data"].clone();
    assert_eq!(
        (&made["note"], &made["patient_id"], &made["disabled_at"]),
        (&json!("Mind the dog"), &json!(ada), &Value::Null)
    );
    let written = world.wait_for_writes(Resource::PatientAlerts, 1).await;
    assert_eq!(
        (&written[0].fields()["patient"], &written[0].fields()["note"]),
        (&json!("ada"), &json!("Mind the dog"))
    );
    let one = format!("/patients/{ada}/alerts/{}?subdomain=acme", made["id"]);
    assert_eq!(world.get(&one).ok().await["data"]["note"], json!("Mind the dog"));
    let change =
        |disabled: Value| world.request(Method::PATCH, &one).json(json!({"patient_alert": {"disabled": disabled}}));
    assert_eq!(change(json!(false)).ok().await["data"]["disabled_at"], Value::Null);
    for body in [json!({}), json!({"disabled": true})] {
        let missing = world.request(Method::PATCH, &one).json(body).fails(400).await;
        assert_eq!(missing, ["patient_alert is missing."]);
    }
    let disabled = change(json!(true)).ok().await["data"]["disabled_at"].clone();
    assert!(disabled.is_string());
    assert_eq!(change(json!(true)).ok().await["data"]["disabled_at"], disabled);
    assert_eq!(
        change(json!(false)).fails(400).await,
        ["EMR does not support enabling a disabled alert; create a new one."]
    );
    assert!(world.wait_for_writes(Resource::PatientAlerts, 2).await[1].fields()["disabled_at"].is_i64());
}

#[actix_web::test]
async fn a_patient_unknown_to_the_ehr_cannot_have_an_alert() {
    let world = world().await;
    let body = json!({
        "provider": {"provider_id": ANNA},
        "patient": {"first_name": "Nora", "last_name": "Slow", "email": "n@example.com",
            "bio": {"date_of_birth": "1985-06-07", "phone_number": "555-010-7777"}},
    });
    let made = world.post("/patients?subdomain=acme&location_id=1", body).answers(201).await;
    let path = format!("/patients/{}/alerts?subdomain=acme", made["data"]["user"]["id"]);
    assert_eq!(world.post(&path, json!({"patient_alert": {"note": "x"}})).fails(400).await, ["Data source must exist"]);
    assert_eq!(world.post(&path, json!({"patient_alert": {}})).fails(400).await, ["patient_alert.note is missing."]);
}

#[actix_web::test]
async fn an_alert_of_another_patient_is_not_found() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let id = world.get(&format!("/patients/{ada}/alerts?subdomain=acme")).ok().await["data"][0]["id"].clone();
    assert_eq!(
        world.get(&format!("/patients/{PAT}/alerts/{id}?subdomain=acme")).fails(404).await,
        [format!("Patient Alert with id {id} not found")]
    );
}
