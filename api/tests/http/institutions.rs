use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn institutions_of_the_key_are_listed() {
    let world = world().await;
    let list = world.get("/institutions").ok().await;
    assert_eq!((each(&list["data"], "id"), &list["count"]), (vec![json!(1)], &json!(1)));
    let one = world.get("/institutions/1").ok().await["data"].clone();
    assert_eq!(one, list["data"][0]);
    for (field, value) in [
        ("name", json!("ACME")),
        ("subdomain", json!("acme")),
        ("phone_number", Value::Null),
        ("country_code", json!("US")),
        ("appointment_types_location_scoped", json!(false)),
        ("is_sync_notifications", json!(false)),
    ] {
        assert_eq!(one.get(field), Some(&value), "{field}");
    }
    assert!(one["created_at"].is_string() && one["created_at"] == one["updated_at"]);
    assert_eq!(each(&one["locations"], "id"), [MAIN, SECOND, CLOSED, BARE], "pending ones are not shown");
    let own = world.get("/institutions/1").key(MAIN_KEY).ok().await["data"].clone();
    assert_eq!(each(&own["locations"], "id"), [MAIN]);
    assert_eq!(world.get("/institutions/2").fails(404).await, ["Institution with id 2 not found"]);
    assert_eq!(each(&world.get("/institutions").key(RIVAL_KEY).ok().await["data"], "subdomain"), ["rival"]);
}

#[actix_web::test]
async fn a_type_of_one_location_makes_types_location_scoped() {
    let world = world().await;
    let body = json!({"appointment_type": {"name": "Local", "parent_type": "Location", "parent_id": SECOND}});
    world.post("/appointment_types?subdomain=acme", body).answers(201).await;
    let one = world.get("/institutions/1").ok().await["data"].clone();
    assert_eq!(one["appointment_types_location_scoped"], json!(true));
}
