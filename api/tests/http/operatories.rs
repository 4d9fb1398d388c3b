use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn an_operatory_has_all_its_fields() {
    let world = world().await;
    let list = world.get("/operatories?subdomain=acme&location_id=1").ok().await;
    assert_eq!(each(&list["data"], "id"), [CHAIR_1, CHAIR_2]);
    let one = &list["data"][0];
    for (field, value) in [
        ("name", json!("Chair 1")),
        ("foreign_id", json!("chair 1")),
        ("foreign_id_type", json!("")),
        ("location_id", json!(1)),
        ("display_name", Value::Null),
        ("active", json!(true)),
        ("bookable_online", json!(true)),
        ("static_image_url", Value::Null),
        ("profile_url", Value::Null),
    ] {
        assert_eq!(one.get(field), Some(&value), "{field}");
    }
    assert!(one["created_at"].as_str().unwrap().ends_with('Z'));
    let kind = json!({"id": 1, "name": "Cleaning", "category": null, "parent_type": "Institution", "parent_id": 1, "minutes": 60,
        "position": null, "bookable_online": true});
    assert_eq!(one["appointment_types"][0], kind);
}

#[actix_web::test]
async fn lists_page_by_cursor_and_in_v2_by_number() {
    let world = world().await;
    for version in ["v3.0.0", "v3.1.0"] {
        let base = "/operatories?subdomain=acme&location_id=1&per_page=1";
        let first = world.get(base).version(version).ok().await;
        assert_eq!(each(&first["data"], "id"), [CHAIR_1]);
        assert_eq!(
            (&first["page_info"]["has_previous_page"], &first["page_info"]["has_next_page"]),
            (&json!(false), &json!(true))
        );
        let cursor = first["page_info"]["end_cursor"].as_str().unwrap();
        let second = world.get(&format!("{base}&end_cursor={cursor}&start_cursor=")).version(version).ok().await;
        assert_eq!(each(&second["data"], "id"), [CHAIR_2]);
        assert_eq!(second["page_info"]["has_next_page"], json!(false));
        let cursor = second["page_info"]["start_cursor"].as_str().unwrap();
        let back = world.get(&format!("{base}&start_cursor={cursor}")).version(version).ok().await;
        assert_eq!(each(&back["data"], "id"), [CHAIR_1]);
    }
    let second = world.get("/operatories?subdomain=acme&location_id=1&per_page=1&page=2").version("v2.2.2").ok().await;
    assert_eq!((&second["count"], each(&second["data"], "id")), (&json!(2), vec![json!(CHAIR_2)]));
    assert_eq!((second.get("page_info"), &second["description"]), (None, &Value::Null));
}

#[actix_web::test]
async fn a_cursor_of_another_query_is_refused() {
    let world = world().await;
    let first = world.get("/operatories?subdomain=acme&location_id=1&per_page=1").ok().await;
    let cursor = first["page_info"]["end_cursor"].as_str().unwrap();
    for path in [
        format!("/operatories?subdomain=acme&location_id=2&end_cursor={cursor}"),
        format!("/operatories?subdomain=acme&location_id=1&search_name=c&end_cursor={cursor}"),
        format!("/providers?subdomain=acme&end_cursor={cursor}"),
        format!("/operatories?subdomain=acme&location_id=1&end_cursor={}", &cursor[1..]),
    ] {
        assert!(world.get(&path).fails(400).await[0].starts_with("end_cursor does not belong to this query"), "{path}");
    }
}

#[actix_web::test]
async fn filters_narrow_the_list() {
    let world = world().await;
    let ids = async |query: &str| {
        each(&world.get(&format!("/operatories?subdomain=acme&location_id=1&{query}")).ok().await["data"], "id")
    };
    assert_eq!(ids("search_name=HAIR%202").await, [CHAIR_2]);
    assert_eq!(ids("search_name=nothing").await, Vec::<Value>::new());
    assert_eq!(ids("foreign_id=chair%202").await, [CHAIR_2]);
    assert_eq!(ids("updated_since=2000-01-01T00:00:00Z").await, [CHAIR_1, CHAIR_2]);
    assert_eq!(ids("updated_since=2190-01-01T00:00:00Z").await, Vec::<Value>::new());
}

#[actix_web::test]
async fn an_operatory_is_found_at_its_location() {
    let world = world().await;
    let one = world.get(&format!("/operatories/{SECONDS_CHAIR}?subdomain=acme")).ok().await["data"].clone();
    assert_eq!((&one["name"], &one["location_id"]), (&json!("Chair 3"), &json!(SECOND)));
    assert_eq!(
        each(
            &world.get("/operatories/1?subdomain=acme&include[]=appointment_types").ok().await["data"]["appointment_types"],
            "id"
        ),
        [1, 2]
    );
    let not_there = world.get(&format!("/operatories/{SECONDS_CHAIR}?subdomain=acme")).key(MAIN_KEY).fails(404).await;
    assert_eq!(not_there, ["Operatory with id 3 not found"]);
}
