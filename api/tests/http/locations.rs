use serde_json::{Value, json};

use crate::support::*;

#[actix_web::test]
async fn all_locations_except_pending_ones_are_listed_by_institution() {
    let world = world().await;
    for path in ["/locations", "/locations?subdomain=acme"] {
        let list = world.get(path).ok().await;
        assert_eq!(list["count"], json!(1));
        let institution = &list["data"][0];
        assert_eq!((&institution["id"], &institution["subdomain"]), (&json!(1), &json!("acme")));
        assert_eq!(each(&institution["locations"], "id"), [MAIN, SECOND, CLOSED, BARE]);
        assert_eq!(each(&institution["locations"], "inactive"), [false, false, true, false]);
    }
    let own = world.get("/locations").key(MAIN_KEY).ok().await;
    assert_eq!(each(&own["data"][0]["locations"], "id"), [MAIN]);
}

#[actix_web::test]
async fn filters_narrow_the_list() {
    let world = world().await;
    let ids =
        async |query: &str| each(&world.get(&format!("/locations?{query}")).ok().await["data"][0]["locations"], "id");
    assert_eq!(ids("inactive=true").await, [CLOSED]);
    assert_eq!(ids("inactive=false").await, [MAIN, SECOND, BARE]);
    assert_eq!(ids("foreign_id=F2").await, [SECOND]);
    assert_eq!(ids("foreign_id=none").await, Vec::<Value>::new());
}

#[actix_web::test]
async fn a_location_has_all_its_fields() {
    let world = world().await;
    for path in [format!("/locations/{SECOND}"), format!("/locations/{SECOND}?subdomain=acme")] {
        let found = world.get(&path).ok().await;
        let synced = found["data"]["last_sync_time"].clone();
        assert!(synced.as_str().unwrap().ends_with('Z'));
        let expected = json!({
            "id": SECOND, "name": "Place 2", "institution_id": 1, "street_address": "1 Main Street", "street_address_2": null,
            "city": "Springfield", "state": "NY", "zip_code": "10001", "country_code": "US", "created_at": found["data"]["created_at"], "updated_at": found["data"]["updated_at"],
            "latitude": 40.5, "longitude": null, "phone_number": null, "foreign_id": "F2", "foreign_id_type": "", "email": null,
            "tz": "America/Chicago", "last_sync_time": synced, "insert_appt_client": true, "map_by_operatory": true,
            "set_availability_by_operatory": true, "inactive": false, "specialty": null
        });
        assert_eq!(found["data"], expected);
    }
}

#[actix_web::test]
async fn a_location_without_ehr_is_never_synced() {
    let world = world().await;
    let found = world.get(&format!("/locations/{BARE}")).ok().await;
    assert_eq!((&found["data"]["last_sync_time"], &found["data"]["insert_appt_client"]), (&Value::Null, &json!(false)));
    assert_eq!((&found["data"]["foreign_id"], &found["data"]["foreign_id_type"]), (&Value::Null, &json!("nex")));
}

#[actix_web::test]
async fn invalid_ids_are_not_found() {
    let world = world().await;
    assert_eq!(world.get("/locations/abc").fails(400).await, ["id must be an integer."]);
    for id in ["0", "-1", "2147483648", "99999999999999999999"] {
        assert_eq!(world.get(&format!("/locations/{id}")).fails(400).await, ["id must be between 1 and 2147483647."]);
    }
    assert_eq!(world.get("/locations/1?subdomain=rival").fails(403).await.len(), 1);
}

#[actix_web::test]
async fn a_location_has_its_times_of_creation_and_last_sync() {
    let world = world().await;
    let one = world.get("/locations/1").ok().await["data"].clone();
    assert!(one["created_at"].is_string() && one["created_at"] == one["updated_at"], "{one}");
    let before = one["last_sync_time"].as_str().unwrap().to_owned();
    world.sync(MAIN).await;
    let after = world.get("/locations?subdomain=acme").ok().await["data"][0]["locations"][0].clone();
    assert!(after["last_sync_time"].as_str().unwrap() > before.as_str(), "{after}");
    let bare = world.get(&format!("/locations/{BARE}")).ok().await["data"].clone();
    assert_eq!(bare["last_sync_time"], serde_json::Value::Null);
}
