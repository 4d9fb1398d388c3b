//! The caller's key, its grants, locations and limits.

use framework::{
    access::keys::ApiKey,
    http::rules::{HttpRules, RateRules},
};
use location::ids::LocationId;
use serde_json::json;

use crate::support::*;

#[actix_web::test]
async fn the_response_has_the_grants_and_locations_of_the_key() {
    let world = world().await;
    let me = world.get("/me").ok().await["data"].clone();
    let key = keys().into_iter().find(|key| key.name == ACME_KEY).unwrap();
    for (field, value) in [
        ("key_id", json!(key.id())),
        ("key_name", json!(ACME_KEY)),
        ("organisation", json!("organisation of key-acme")),
        ("environment", json!("sandbox")),
        ("api_version", json!("v3.0.0")),
        ("grants", json!(["financial", "beta"])),
    ] {
        assert_eq!(me.get(field), Some(&value), "{field}");
    }
    let institutions = me["institutions"].as_array().unwrap();
    assert_eq!(institutions.len(), 1);
    assert_eq!((&institutions[0]["id"], &institutions[0]["subdomain"]), (&json!(1), &json!("acme")));
    let locations = &institutions[0]["locations"];
    assert_eq!(each(locations, "id"), [MAIN, SECOND, CLOSED, BARE], "pending ones are not shown");
    assert_eq!(each(locations, "inactive"), [false, false, true, false]);
    assert_eq!(locations[1]["time_zone"], "America/Chicago");
}

#[actix_web::test]
async fn neither_the_key_nor_data_of_others_is_shown() {
    let world = world().await;
    let reply = world.get("/me").key(MAIN_KEY).reply().await;
    let me = reply.json()["data"].clone();
    assert_eq!((&me["grants"], each(&me["institutions"][0]["locations"], "id")), (&json!([]), vec![json!(MAIN)]));
    let key = keys().into_iter().find(|key| key.name == MAIN_KEY).unwrap();
    let hash: String = key.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    for hidden in [hash.as_str(), "rival", "Place 2"] {
        assert!(!reply.text.contains(hidden), "{hidden}: {}", reply.text);
    }
    let real = world.get("/me").key(REAL_KEY).ok().await["data"].clone();
    assert_eq!(
        (&real["environment"], &real["limits"]["token_lifetime_seconds"]),
        (&json!("production"), &json!(3_600))
    );
}

#[actix_web::test]
async fn the_version_of_the_request_is_shown_without_alias() {
    let world = world().await;
    for (asked, read) in [("v2", "v2.2.2"), ("v20240412", "v3.0.0"), ("v3.1.0", "v3.1.0")] {
        assert_eq!(world.get("/me").version(asked).ok().await["data"]["api_version"], read, "{asked}");
    }
}

#[actix_web::test]
async fn the_limits_are_those_in_force() {
    let world = world().await;
    let free = world.get("/me").ok().await["data"]["limits"].clone();
    assert_eq!(
        free,
        json!({"calls_per_second": null, "calls_per_minute": null, "endpoint_calls_per_second": {}, "max_wait_seconds": 2,
            "max_body_bytes": 1_048_576, "token_lifetime_seconds": 86_400})
    );
    let endpoints = [("GET /appointments".to_owned(), 7), ("GET /available_slots".to_owned(), 0)].into();
    let rates = RateRules { per_second: 50, per_minute: 900, endpoints };
    let limited = world_with(HttpRules { rate_limits: rates, ..HttpRules::default() }).await;
    let limits = limited.get("/me").ok().await["data"]["limits"].clone();
    assert_eq!((&limits["calls_per_second"], &limits["calls_per_minute"]), (&json!(50), &json!(900)));
    assert_eq!(limits["endpoint_calls_per_second"], json!({"GET /appointments": 7}), "0 is no limit");
}

#[actix_web::test]
async fn changes_of_the_key_are_shown_at_once() {
    let world = world().await;
    let narrowed = |key: ApiKey| ApiKey { locations: Some(vec![LocationId(SECOND)]), ..key };
    world.api.replace_keys(keys().into_iter().map(narrowed).collect());
    let me = world.get("/me").ok().await["data"].clone();
    assert_eq!(each(&me["institutions"][0]["locations"], "id"), [SECOND]);
}
