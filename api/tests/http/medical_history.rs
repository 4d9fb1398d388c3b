use engine::records::ehr::Resource;
use serde_json::{Value, json};

use crate::support::*;

const ITEMS: &str = "/medical_history/items?subdomain=acme&location_id=1";
const OF_PATIENT: &str = "/medical_history/patient_items?subdomain=acme&location_id=1";

async fn item(world: &ApiWorld, category: &str, name: &str) -> u64 {
    world.one_of(&format!("{ITEMS}&category={category}&search_term={name}")).await["id"].as_u64().unwrap()
}

#[actix_web::test]
async fn the_catalogue_is_listed() {
    let world = world().await;
    let names = async |rest: &str| each(&world.edge(&format!("{ITEMS}&{rest}")).await, "name");
    assert_eq!(names("category=allergies").await, ["Penicillin", "Latex"]);
    assert_eq!(names("category=allergies&search_term=TEX").await, ["Latex"]);
    assert_eq!(names("category=medications").await, [""; 0]);
    let wrong = world.get(&format!("{ITEMS}&category=habits")).version("v3.1.0").fails(400).await;
    assert_eq!(wrong, ["category must be one of allergies, conditions, medications."]);
    assert_eq!(world.get(ITEMS).version("v3.1.0").fails(400).await, ["category is missing."]);
    world.get(&format!("{ITEMS}&category=allergies")).fails(404).await;
}

#[actix_web::test]
async fn items_of_a_patient_are_listed() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let list =
        async |rest: &str| world.get(&format!("{OF_PATIENT}&patient_id={ada}&{rest}")).version("v3.1.0").ok().await;
    let active = list("category=allergies").await;
    assert_eq!((&active["count"], &active["data"][0]["note"]), (&json!(1), &json!("severe")));
    assert_eq!(active["data"][0]["item_name"], json!("Penicillin"));
    assert_eq!(list("category=conditions").await["data"], json!([]));
    assert_eq!(each(&list("category=conditions&active=false").await["data"], "item_name"), ["Asthma"]);
    let missing = world.get(OF_PATIENT).version("v3.1.0").fails(400).await;
    assert_eq!(missing, ["patient_id is missing.", "category is missing."]);
    let nobody =
        world.get(&format!("{OF_PATIENT}&patient_id=4711&category=allergies")).version("v3.1.0").fails(404).await;
    assert_eq!(nobody, ["Patient with id 4711 not found"]);
}

#[actix_web::test]
async fn a_batch_creates_changes_and_ends() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let (penicillin, latex, asthma) = (
        item(&world, "allergies", "penicillin").await,
        item(&world, "allergies", "latex").await,
        item(&world, "conditions", "asthma").await,
    );
    let body = json!({
        "patient_id": ada,
        "allergies": [{"item_id": penicillin, "active": false}, {"item_id": latex, "note": "gloves"}],
        "conditions": [{"item_id": asthma, "note": "again"}],
    });
    let made = world.post(OF_PATIENT, body.clone()).version("v3.1.0").with("Idempotency-Key", "k").answers(201).await;
    assert_eq!(made["count"], json!(3));
    assert_eq!(each(&made["data"], "item_name"), ["Penicillin", "Latex", "Asthma"]);
    assert_eq!(each(&made["data"], "active"), [json!(false), json!(true), json!(true)]);
    assert_eq!(each(&made["data"], "note"), ["severe", "gloves", "again"]);
    let written = world.wait_for_writes(Resource::PatientHistoryItems, 3).await;
    let by_item = |name: &str| written.iter().find(|it| it.fields()["item"] == name).unwrap().clone();
    assert_eq!(
        (by_item("penicillin").id(), &by_item("penicillin").fields()["active"]),
        ("ada penicillin", &json!(false))
    );
    assert_eq!((by_item("latex").id(), by_item("asthma").id()), ("", "ada asthma"));

    // A repeated batch, with and without the key, creates nothing twice.
    let again = world.post(OF_PATIENT, body.clone()).version("v3.1.0").with("Idempotency-Key", "k").reply().await;
    assert_eq!((again.status.as_u16(), again.header("Idempotent-Replay")), (201, Some("true")));
    let without = world.post(OF_PATIENT, body.clone()).version("v3.1.0").answers(201).await;
    assert_eq!(each(&without["data"], "id"), each(&made["data"], "id"));
    let mut other = body;
    other["allergies"][0]["note"] = json!("mild");
    world.post(OF_PATIENT, other).version("v3.1.0").with("Idempotency-Key", "k").fails(409).await;
}

#[actix_web::test]
async fn a_batch_with_an_invalid_item_is_refused_entirely() {
    let world = world().await;
    let ada = world.patient("ada").await;
    let (latex, asthma) = (item(&world, "allergies", "latex").await, item(&world, "conditions", "asthma").await);
    let send = |body: Value| world.post(OF_PATIENT, body).version("v3.1.0");
    let wrong_place = json!({"patient_id": ada, "allergies": [{"item_id": latex}, {"item_id": asthma}]});
    assert_eq!(send(wrong_place).fails(404).await, [format!("Medical History Item with id {asthma} not found")]);
    let twice =
        json!({"patient_id": ada, "allergies": [{"item_id": latex}, {"item_id": latex}], "conditions": [{"note": 1}]});
    let expected = [
        format!("allergies names item {latex} twice."),
        "conditions[0].item_id is missing.".into(),
        "conditions[0].note must be a string.".into(),
    ];
    assert_eq!(send(twice).fails(400).await, expected);
    assert_eq!(send(json!({})).fails(400).await, ["patient_id is missing."]);
    assert!(world.books.all().is_empty());
    let list = format!("{OF_PATIENT}&patient_id={ada}&category=allergies");
    assert_eq!(each(&world.get(&list).version("v3.1.0").ok().await["data"], "item_name"), ["Penicillin"]);
}
