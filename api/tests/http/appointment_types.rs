use serde_json::{Value, json};

use crate::support::*;

const PATH: &str = "/appointment_types?subdomain=acme";

#[actix_web::test]
async fn all_types_of_the_institution_are_listed() {
    let world = world().await;
    let list = world.get("/appointment_types?subdomain=acme&location_id=1").ok().await;
    assert_eq!((each(&list["data"], "id"), &list["count"]), (vec![json!(1), json!(2)], &json!(2)));
    assert_eq!(each(&list["data"], "minutes"), [60, 30]);
    assert_eq!(each(&list["data"], "parent_type"), ["Institution", "Institution"]);
    let with = world.get("/appointment_types?subdomain=acme&include[]=descriptors").ok().await;
    assert_eq!((&with["description"], &with["data"][0]["descriptors"]), (&Value::Null, &json!([])));
    assert_eq!(world.get("/appointment_types").fails(400).await, ["subdomain is missing."]);
    let one = world.get("/appointment_types/2?subdomain=acme").ok().await["data"].clone();
    assert_eq!((&one["name"], one.get("descriptors")), (&json!("Checkup"), None));
    assert_eq!(
        world.get("/appointment_types/3?subdomain=acme").fails(404).await,
        ["Appointment Type with id 3 not found"],
        "the rival's"
    );
}

#[actix_web::test]
async fn a_type_is_created_changed_and_removed() {
    let world = world().await;
    let body = json!({"appointment_type": {"name": "Whitening", "minutes": 45, "emr_appt_descriptor_ids": [1, 2]}});
    let made = world.post(PATH, body).answers(201).await["data"].clone();
    assert_eq!((&made["minutes"], &made["bookable_online"]), (&json!(45), &json!(true)));
    assert_eq!((&made["parent_type"], &made["parent_id"]), (&json!("Institution"), &json!(1)));
    let one = format!("/appointment_types/{}?subdomain=acme", made["id"]);
    let with = world.get(&format!("{one}&include[]=descriptors")).ok().await["data"].clone();
    assert_eq!(each(&with["descriptors"], "code"), [json!("NP"), Value::Null]);
    let own =
        format!("/appointment_types/{}/appointment_descriptors?subdomain=acme&descriptor_type=Colour", made["id"]);
    assert_eq!(each(&world.get(&own).ok().await["data"], "name"), ["Blue"]);
    let change =
        json!({"appointment_type": {"name": "Bleaching", "bookable_online": false, "emr_appt_descriptor_ids": []}});
    let changed = world.patch(&one, change).ok().await["data"].clone();
    assert_eq!((&changed["name"], &changed["minutes"]), (&json!("Bleaching"), &json!(45)));
    assert_eq!(world.get(&own).ok().await["count"], json!(0));
    let removed = world.delete(&one).ok().await["data"].clone();
    assert_eq!(removed["id"], made["id"]);
    world.get(&one).fails(404).await;
    world.delete(&one).fails(404).await;
    assert_eq!(world.get(PATH).ok().await["count"], json!(2));
}

#[actix_web::test]
async fn a_type_of_a_location_is_shown_only_there() {
    let world = world().await;
    let body =
        json!({"appointment_type": {"name": "Local", "minutes": 20, "parent_type": "Location", "parent_id": SECOND}});
    let made = world.post(PATH, body.clone()).answers(201).await["data"].clone();
    assert_eq!((&made["parent_type"], &made["parent_id"]), (&json!("Location"), &json!(SECOND)));
    let count = async |rest: &str| world.get(&format!("{PATH}{rest}")).ok().await["count"].clone();
    assert_eq!(
        (count("").await, count("&location_id=1").await, count("&location_id=2").await),
        (json!(3), json!(2), json!(3))
    );
    let one = format!("/appointment_types/{}?subdomain=acme", made["id"]);
    world.get(&one).key(MAIN_KEY).fails(404).await;
    world.get(&format!("{one}&location_id=1")).fails(404).await;
    world.post(PATH, body).key(MAIN_KEY).fails(404).await;
    let moved = world.patch(&one, json!({"appointment_type": {"parent_type": "Institution"}})).ok().await;
    assert_eq!(moved["data"]["parent_id"], json!(1));
    world.get(&one).key(MAIN_KEY).ok().await;
}

#[actix_web::test]
async fn invalid_types_are_refused() {
    let world = world().await;
    let fails =
        async |status: u16, kind: Value| world.post(PATH, json!({ "appointment_type": kind })).fails(status).await;
    assert_eq!(
        fails(400, json!({"minutes": 0})).await,
        ["appointment_type.name is missing.", "appointment_type.minutes must be between 1 and 1440."]
    );
    assert_eq!(
        fails(400, json!({"name": "x", "parent_type": "Institution", "parent_id": 9})).await,
        ["appointment_type.parent_id must be the id of the institution."]
    );
    assert_eq!(
        fails(400, json!({"name": "x", "parent_type": "Location"})).await,
        ["appointment_type.parent_id is missing: it must name the location."]
    );
    assert_eq!(
        fails(404, json!({"name": "x", "parent_type": "Location", "parent_id": 5})).await,
        ["Location with id 5 not found"]
    );
    assert_eq!(
        fails(404, json!({"name": "x", "emr_appt_descriptor_ids": [9]})).await,
        ["Appointment Descriptor with id 9 not found"]
    );
    let of_ehr =
        world.patch("/appointment_types/1?subdomain=acme", json!({"appointment_type": {"name": "x"}})).fails(400).await;
    assert_eq!(of_ehr, ["Appointment Type with id 1 comes from the health record system and must be changed there"]);
    let once = || world.post(PATH, json!({"appointment_type": {"name": "x"}})).with("Idempotency-Key", "k");
    let first = once().answers(201).await;
    assert_eq!(once().answers(201).await["data"]["id"], first["data"]["id"]);
}
