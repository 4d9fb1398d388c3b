use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn a_provider_has_all_its_fields_and_locations() {
    let world = world().await;
    let list = world.get("/providers?subdomain=acme").ok().await;
    assert_eq!(each(&list["data"], "id"), [ANNA, BEN]);
    let one = &list["data"][0];
    assert_eq!((&one["name"], &one["foreign_id_type"]), (&json!("Anna Abel"), &json!("")));
    assert_eq!(each(&one["locations"], "id"), [MAIN, SECOND]);
    assert_eq!(one["provider_requestables"], json!([{"location_id": MAIN}, {"location_id": SECOND}]));
    for field in ["email", "middle_name", "display_name", "npi", "tin", "state_license", "specialty_code"] {
        assert_eq!(one.get(field), Some(&Value::Null), "{field}");
    }
}

#[actix_web::test]
async fn providers_are_filtered_and_ordered() {
    let world = world().await;
    let ids =
        async |query: &str| each(&world.get(&format!("/providers?subdomain=acme&{query}")).ok().await["data"], "id");
    assert_eq!(ids("location_id=2").await, [ANNA]);
    assert_eq!(ids("ids[]=2&ids[]=99").await, [BEN]);
    assert_eq!(ids("inactive=true").await, Vec::<Value>::new());
    assert_eq!(ids("requestable=false").await, Vec::<Value>::new());
    assert_eq!(ids("sort=-id").await, [BEN, ANNA]);
    let next = world.get("/providers?subdomain=acme&sort=-id&per_page=1").ok().await;
    let cursor = next["page_info"]["end_cursor"].as_str().unwrap();
    assert_eq!(ids(&format!("sort=-id&per_page=1&end_cursor={cursor}")).await, [ANNA]);
}

#[actix_web::test]
async fn v2_has_numbered_pages_and_bare_lists() {
    let world = world().await;
    let page = world.get("/providers?subdomain=acme&page=2&per_page=1").version("v2.2.2").ok().await;
    assert_eq!((&page["count"], page.get("page_info")), (&json!(2), None));
    assert_eq!(each(&page["data"], "id"), [BEN]);
}

#[actix_web::test]
async fn wrong_values_are_named() {
    let world = world().await;
    let errors = world
        .get("/providers?subdomain=acme&sort=name&include[]=x&ids[]=a&per_page=0&requestable=maybe")
        .fails(400)
        .await;
    let expected = [
        "include[] must be one of locations, availabilities, appointment_types, not x.",
        "sort must be one of id, -id.",
        "requestable must be true or false.",
        "ids[] must be an integer.",
        "per_page must be between 1 and 1000.",
    ];
    assert_eq!(errors, expected);
}

#[actix_web::test]
async fn a_provider_includes_requested_records() {
    let world = world().await;
    let one = world.get(&format!("/providers/{ANNA}?subdomain=acme")).ok().await["data"].clone();
    assert_eq!((&one["name"], one.get("availabilities")), (&json!("Anna Abel"), None));
    let all = format!("/providers/{ANNA}?subdomain=acme&include[]=availabilities&include[]=appointment_types");
    let one = world.get(&all).ok().await["data"].clone();
    assert_eq!(each(&one["availabilities"], "operatory_id"), [CHAIR_1, SECONDS_CHAIR]);
    assert_eq!(one["availabilities"][0]["begin_time"], json!("09:00"));
    // Anna's hours accept every type.
    assert_eq!(each(&one["appointment_types"], "name"), ["Cleaning", "Checkup"]);
    let list = world.get("/providers?subdomain=acme&include[]=availabilities").ok().await;
    assert_eq!(
        (&list["description"], each(&list["data"][1]["availabilities"], "provider_id")),
        (&Value::Null, vec![json!(BEN)])
    );
    assert_eq!(
        world.get(&format!("/providers/{RIVALS_PROVIDER}?subdomain=acme")).fails(404).await,
        ["Provider with id 3 not found"]
    );
}

#[actix_web::test]
async fn included_types_show_all_hours_with_their_types() {
    let world = world().await;
    let untyped = world.get("/providers?subdomain=acme&include[]=availabilities").version("v2").ok().await;
    assert_eq!(untyped["data"][0]["availabilities"][0]["appointment_types"], json!([]));
    for version in ["v2", "v3.0.0"] {
        let all = world.get("/providers?subdomain=acme&include[]=appointment_types").version(version).ok().await;
        for provider in all["data"].as_array().unwrap() {
            let hours = provider["availabilities"].as_array().unwrap();
            assert!(!hours.is_empty(), "{}", provider["name"]);
            for hour in hours {
                let types =
                    world.get(&format!("/appointment_types?subdomain=acme&location_id={}", hour["location_id"]));
                assert_eq!(each(&hour["appointment_types"], "id"), each(&types.ok().await["data"], "id"));
            }
        }
    }
    let hour = json!({"working_hour": {"provider_id": ANNA, "operatory_id": CHAIR_1, "begin_time": "18:00", "end_time": "19:00",
        "days": ["Monday"], "appointment_type_ids": [CLEANING]}});
    let made = world.post("/working_hours?subdomain=acme&location_id=1", hour).answers(201).await;
    let path = format!("/providers/{ANNA}?subdomain=acme&include[]=appointment_types");
    let one = world.get(&path).ok().await["data"].clone();
    let hours = one["availabilities"].as_array().unwrap();
    let named = hours.iter().find(|hour| hour["id"] == made["data"]["id"]).unwrap();
    assert_eq!(each(&named["appointment_types"], "id"), [CLEANING]);
    let others = hours.iter().filter(|hour| hour["id"] != made["data"]["id"]);
    assert!(
        others.clone().count() > 0
            && others.clone().all(|hour| hour["appointment_types"].as_array().unwrap().len() > 1)
    );
    assert_eq!(each(&one["appointment_types"], "name"), ["Cleaning", "Checkup"]);
}
