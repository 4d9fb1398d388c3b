use engine::records::ehr::Resource;
use serde_json::{Value, json};

use crate::support::*;

const SCHEMAS: &str = "/form_schemas?subdomain=acme&location_id=1";
const RESPONSES: &str = "/form_responses?subdomain=acme&location_id=1";

async fn intake(world: &ApiWorld) -> String {
    world.one_of(SCHEMAS).await["id"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn form_schemas_are_listed() {
    let world = world().await;
    let listed = world.one_of(SCHEMAS).await;
    assert_eq!((&listed["title"], &listed["newest_version_id"]), (&json!("Intake"), &json!("3")));
    assert_eq!(listed.get("formio_schema"), None);
    let id = intake(&world).await;
    let one = world.get(&format!("/form_schemas/{id}?subdomain=acme&location_id=1")).version("v3.1.0").ok().await;
    assert_eq!(each(&one["data"]["formio_schema"]["components"], "key"), ["name", "age", "smoker", "since"]);
    let other = id.replace(&id[..4], "0000");
    let missing = world.get(&format!("/form_schemas/{other}?subdomain=acme&location_id=1")).version("v3.1.0");
    assert_eq!(missing.fails(404).await, [format!("Form Schema with id {other} not found")]);
    let rivals =
        world.get(&format!("/form_schemas/{id}?subdomain=rival&location_id={RIVAL}")).key(RIVAL_KEY).version("v3.1.0");
    assert_eq!(rivals.fails(404).await, [format!("Form Schema with id {id} not found")]);
}

#[actix_web::test]
async fn responses_of_a_patient_are_listed() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let one = world.one_of(&format!("{RESPONSES}&patient_id={ada}")).await;
    assert_eq!((&one["patient_submitted_data"], &one["status"]), (&json!({"name": "Ada"}), &json!("succeeded")));
    assert_eq!(one["form_schema_id"], json!(intake(&world).await));
    let path = format!("/form_responses/{}?subdomain=acme&location_id=1", one["id"]);
    assert_eq!(world.get(&path).version("v3.1.0").ok().await["data"], one);
    assert_eq!(world.get(RESPONSES).version("v3.1.0").fails(400).await, ["patient_id is missing."]);
    let nobody = world.get(&format!("{RESPONSES}&patient_id=4711")).version("v3.1.0").fails(404).await;
    assert_eq!(nobody, ["Patient with id 4711 not found"]);
    let missing = world.get("/form_responses/4711?subdomain=acme&location_id=1").version("v3.1.0").fails(404).await;
    assert_eq!(missing, ["Form Response with id 4711 not found"]);
}

fn answers(form: &str, answers: Value) -> Value {
    json!({"form_response": {"patient_id": PAT, "form_schema_id": form, "patient_submitted_data": answers}})
}

#[actix_web::test]
async fn answers_are_written_to_the_ehr() {
    let world = world().await;
    let form = intake(&world).await;
    let data = json!({"name": "Pat", "age": 46, "smoker": "yes", "since": "1999"});
    let made = world.post(RESPONSES, answers(&form, data.clone())).version("v3.1.0").answers(201).await["data"].clone();
    assert_eq!((&made["status"], &made["patient_submitted_data"]), (&json!("pending"), &data));
    let written = world.wait_for_writes(Resource::FormResponses, 1).await;
    assert_eq!(
        (&written[0].fields()["form_schema"], &written[0].fields()["patient"]),
        (&json!("intake"), &json!("pat"))
    );
    let written: Value = serde_json::from_str(written[0].fields()["answers_json"].as_str().unwrap()).unwrap();
    assert_eq!(written, data);
    let path = format!("/form_responses/{}?subdomain=acme&location_id=1", made["id"]);
    world.data_until(&path, |it| it["status"] == "succeeded" && it["foreign_id"].is_string()).await;
}

#[actix_web::test]
async fn invalid_answers_are_refused() {
    let world = world().await;
    let form = intake(&world).await;
    let send = |body: Value| world.post(RESPONSES, body).version("v3.1.0");
    let wrong = json!({"age": "old", "smoker": "yes"});
    let expected = [
        "patient_submitted_data.name is missing.",
        "patient_submitted_data.age must be a number.",
        "patient_submitted_data.since is missing.",
    ];
    assert_eq!(send(answers(&form, wrong)).fails(400).await, expected);
    send(answers(&form, json!({"name": "Pat", "smoker": "no"}))).answers(201).await;
    let long = |length: usize| answers(&form, json!({"name": "x".repeat(length), "smoker": "no"}));
    let around = r#"{"name":"","smoker":"no"}"#.len();
    assert_eq!(
        send(long(60_001 - around)).fails(400).await,
        ["form_response.patient_submitted_data has 60001 bytes of JSON: at most 60000 are taken."]
    );
    send(long(60_000 - around)).answers(201).await;
    let missing = [
        "form_response.patient_id is missing.",
        "form_response.form_schema_id is missing.",
        "form_response.patient_submitted_data is missing.",
    ];
    assert_eq!(send(json!({})).fails(400).await, missing);
    let nowhere = "00000000-0000-8000-8000-000000000000";
    let none = send(answers(nowhere, json!({}))).fails(404).await;
    assert_eq!(none, [format!("Form Schema with id {nowhere} not found")]);
    let nobody =
        json!({"form_response": {"patient_id": 4711, "form_schema_id": form, "patient_submitted_data": {"name": "x"}}});
    assert_eq!(send(nobody).fails(404).await, ["Patient with id 4711 not found"]);
}
