use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn documents_and_their_types_are_listed() {
    let world = world().await;
    let list = world.get(&format!("/patients/{}/documents?subdomain=acme", world.patient("ada").await)).ok().await;
    let one = &list["data"][0];
    assert_eq!(
        (&list["count"], &one["filename"], &one["type"]),
        (&json!(1), &json!("paper.pdf"), &json!("application/pdf"))
    );
    assert_eq!((&one["url"], &one["created_at"]), (&Value::Null, &json!("2024-01-01T00:00:00.000Z")));
    let types = world.get("/document_types?subdomain=acme&location_id=1").ok().await;
    assert_eq!(each(&types["data"], "name"), ["Consent"]);
    assert_eq!(types["data"][0]["id"], one["document_type_id"]);
    let old = world.get("/document_types?subdomain=acme&location_id=1&active=false").ok().await;
    assert_eq!(each(&old["data"], "name"), ["Fax"]);
    let path = format!("/document_types/{}?subdomain=acme&location_id=1", one["document_type_id"]);
    assert_eq!(world.get(&path).ok().await["data"]["name"], json!("Consent"));
    let missing = world.get("/document_types/4711?subdomain=acme&location_id=1").fails(404).await;
    assert_eq!(missing, ["Document Type with id 4711 not found"]);
}

#[actix_web::test]
async fn nothing_can_be_uploaded() {
    let world = world().await;
    let path = format!("/patients/{PAT}/documents?subdomain=acme&location_id=1");
    let upload = world.post(&path, Value::Null).with("Content-Type", "multipart/form-data; boundary=x").bytes("--x--");
    assert_eq!(upload.fails(400).await, ["EMR does not support uploading documents."]);
    let nobody = world.post("/patients/4711/documents?subdomain=acme&location_id=1", Value::Null);
    assert_eq!(nobody.fails(404).await, ["Patient with id 4711 not found"]);
}
