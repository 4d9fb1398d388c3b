//! Access by version, User-Agent, token, subdomain, location, environment and grants.

use actix_web::http::Method;
use engine::{setup::LocationStatus, simulated::NoSimulatedEhrs};
use framework::access::keys::ApiKey;
use location::{
    ids::LocationId,
    time::{HOUR, Timestamp},
};
use serde_json::{Value, json};

use crate::support::*;

const NO_ACCESS: &str = "You don't have access to perform this action.";

/// Routes that need a token, with a body where required. `{tenant}` and `{place}` are replaced.
const ROUTES: &[(&str, &str, &str)] = &[
    ("GET", "/locations?subdomain={tenant}", ""),
    ("GET", "/locations/{place}", ""),
    ("GET", "/operatories?subdomain={tenant}&location_id={place}", ""),
    ("GET", "/providers?subdomain={tenant}&location_id={place}", ""),
    ("GET", "/appointment_types?subdomain={tenant}&location_id={place}", ""),
    ("GET", "/sync_status?subdomain={tenant}&location_ids[]={place}", ""),
    ("GET", "/available_slots?subdomain={tenant}&start_date=2026-12-01&days=1&lids[]={place}", ""),
    (
        "GET",
        "/appointments?subdomain={tenant}&location_id={place}&start=2026-12-01T00:00:00Z&end=2026-12-02T00:00:00Z",
        "",
    ),
    ("GET", "/intent/practice/info?subdomain={tenant}&location_id={place}", ""),
    ("POST", "/intent/booking/search?subdomain={tenant}&location_id={place}", "{}"),
    ("POST", "/intent/booking/explain?subdomain={tenant}&location_id={place}", "{}"),
    ("POST", "/intent/booking/hold?subdomain={tenant}&location_id={place}", r#"{"slot_token": "slt_00"}"#),
    ("DELETE", "/intent/booking/hold?subdomain={tenant}&location_id={place}", r#"{"slot_token": "slt_00"}"#),
    (
        "POST",
        "/intent/booking/book?subdomain={tenant}&location_id={place}",
        r#"{"slot_token": "slt_00", "idempotency_key": "k", "patient": {}}"#,
    ),
    ("GET", "/intent/booking/status?subdomain={tenant}&booking_ref=bkg_0", ""),
    ("POST", "/intent/booking/cancel?subdomain={tenant}", r#"{"booking_ref": "bkg_0"}"#),
    (
        "POST",
        "/intent/booking/find?subdomain={tenant}&location_id={place}",
        r#"{"patient": {"last_name": "Lee", "date_of_birth": "1990-01-02", "email": "lee@example.com"}}"#,
    ),
    ("POST", "/intent/booking/confirm?subdomain={tenant}", r#"{"booking_ref": "bkg_0"}"#),
    (
        "POST",
        "/intent/booking/reschedule?subdomain={tenant}",
        r#"{"booking_ref": "bkg_0", "slot_token": "slt_00", "idempotency_key": "k"}"#,
    ),
    ("GET", "/webhook_endpoints", ""),
    ("POST", "/webhook_endpoints", r#"{"target_url": "https://example.com/hook"}"#),
    ("GET", "/webhook_endpoints/1/webhook_subscriptions?subdomain={tenant}", ""),
    (
        "POST",
        "/webhook_endpoints/1/webhook_subscriptions?subdomain={tenant}",
        r#"{"resource_type": "Appointment", "event": "appointment_insertion"}"#,
    ),
];

fn ask<'w>(world: &'w ApiWorld, route: &(&str, &str, &str), tenant: &str, place: u32) -> ApiRequest<'w> {
    let (method, path, body) = route;
    let path = path.replace("{tenant}", tenant).replace("{place}", &place.to_string());
    let ask = world.request(Method::from_bytes(method.as_bytes()).unwrap(), &path);
    if body.is_empty() { ask } else { ask.json(serde_json::from_str(body).unwrap()) }
}

#[actix_web::test]
async fn calls_without_a_known_version_find_no_resource() {
    let world = world().await;
    for route in ROUTES {
        assert_eq!(
            ask(&world, route, "acme", MAIN).without("Svc-Api-Version").fails(404).await,
            ["Resource not found"]
        );
        assert_eq!(ask(&world, route, "acme", MAIN).version("v1").fails(404).await, ["Resource not found"]);
    }
    assert_eq!(
        world.post("/authenticates", json!({})).without("Svc-Api-Version").fails(404).await,
        ["Resource not found"]
    );
}

#[actix_web::test]
async fn calls_without_a_valid_token_are_refused() {
    let world = world().await;
    let key = world.api.keys().presented(ACME_KEY).unwrap().id();
    let expired = world.api.tokens.mint(key, Timestamp(world.engine.now().0 - 2 * HOUR), HOUR);
    let unknown = world.api.tokens.mint("0000000000000000".into(), world.engine.now(), HOUR);
    let good = world.token(ACME_KEY);
    let wrong = [
        "",
        "Bearer",
        "Bearer ",
        ACME_KEY,
        &good[7..],
        "Basic eDp5",
        &format!("Bearer {ACME_KEY}"),
        &format!("{good}x"),
    ];
    for empty in ["", "Bearer", "bearer "] {
        let refused = world.get("/locations").with("Authorization", empty).answers(401).await;
        assert_eq!(refused["reason"], json!("token_missing"), "{empty}");
    }
    let forged = [format!("Bearer {expired}"), format!("Bearer {unknown}")];
    for route in ROUTES {
        assert_eq!(ask(&world, route, "acme", MAIN).without("Authorization").fails(401).await, [NO_ACCESS]);
        for token in wrong.iter().copied().chain(forged.iter().map(String::as_str)) {
            assert_eq!(
                ask(&world, route, "acme", MAIN).with("Authorization", token).fails(401).await,
                [NO_ACCESS],
                "{token}"
            );
        }
    }
}

#[actix_web::test]
async fn another_tenant_is_forbidden_like_an_unknown_one() {
    let world = world().await;
    for route in ROUTES.iter().filter(|(_, path, _)| path.contains("{tenant}")) {
        for tenant in ["rival", "nobody", "Acme", "ACME", "real", "acme%20x"] {
            assert_eq!(ask(&world, route, tenant, MAIN).fails(403).await, [NO_ACCESS], "{} {tenant}", route.1);
        }
    }
}

#[actix_web::test]
async fn a_key_of_another_environment_has_no_access() {
    let world = world().await;
    for route in ROUTES.iter().filter(|(_, path, _)| path.contains("{tenant}")) {
        assert_eq!(ask(&world, route, "acme", MAIN).key(REAL_KEY).fails(403).await, [NO_ACCESS]);
    }
    // A key that lists an institution of the other environment has no access to it, either.
    let mixed = ApiKey { institutions: vec![location::ids::InstitutionId(1)], ..keys().pop().unwrap() };
    world.api.replace_keys(vec![mixed]);
    assert_eq!(ask(&world, &ROUTES[0], "acme", MAIN).key(REAL_KEY).fails(403).await, [NO_ACCESS]);
}

#[actix_web::test]
async fn a_location_out_of_reach_is_not_found() {
    let world = world().await;
    for route in ROUTES.iter().filter(|(_, path, _)| path.contains("{place}")) {
        for place in [RIVAL, REAL, CLOSED, 999_999] {
            let errors = ask(&world, route, "acme", place).fails(404).await;
            assert_eq!(errors, [format!("Location with id {place} not found")], "{}", route.1);
        }
        let errors = ask(&world, route, "acme", SECOND).key(MAIN_KEY).fails(404).await;
        assert_eq!(errors, [format!("Location with id {SECOND} not found")], "{}", route.1);
    }
}

#[actix_web::test]
async fn a_pending_location_refuses_all_calls() {
    let world = world().await;
    for route in ROUTES.iter().filter(|(_, path, _)| path.contains("{place}") && !path.contains("sync_status")) {
        assert_eq!(ask(&world, route, "acme", PENDING).fails(403).await, [NO_ACCESS], "{}", route.1);
    }
    // Operators see a pending location.
    let operator = world.get("/operator").operator(VIEWER).ok().await["data"].clone();
    let locations = operator["institutions"][0]["locations"].as_array().unwrap();
    let status = |id| locations.iter().find(|it| it["id"] == json!(id)).unwrap()["status"].clone();
    assert_eq!([MAIN, CLOSED, PENDING].map(status), ["active", "closed", "pending"]);
}

#[actix_web::test]
async fn revoking_a_key_ends_its_tokens_at_once() {
    let world = world().await;
    let token = world.token(ACME_KEY);
    let asked = || world.get("/locations").with("Authorization", &token);
    asked().ok().await;
    world.api.replace_keys(keys().into_iter().filter(|key| key.name != ACME_KEY).collect());
    assert_eq!(asked().fails(401).await, [NO_ACCESS]);
    // A new key of the same name does not take over the tokens.
    let renewed =
        keys().into_iter().map(|key| if key.name == ACME_KEY { ApiKey { hash: [9; 32], ..key } } else { key });
    world.api.replace_keys(renewed.collect());
    assert_eq!(asked().fails(401).await, [NO_ACCESS]);
}

#[actix_web::test]
async fn closing_a_location_takes_effect_on_the_next_call() {
    let world = world().await;
    let [main, all] = ["/patients?subdomain=acme&location_id=1", "/locations?subdomain=acme"];
    let token = world.token(ACME_KEY);
    let asked = || world.get(main).with("Authorization", &token);
    let closed = async || each(&world.get(all).ok().await["data"][0]["locations"], "inactive");
    let known = asked().ok().await["data"].clone();
    let with = |changes: &[(u32, LocationStatus)]| {
        let mut setup = setup();
        for (id, status) in changes {
            let location = setup.locations.get_mut(&LocationId(*id)).map(std::sync::Arc::make_mut).unwrap();
            location.status = *status;
        }
        setup
    };
    let taken = world.api.reconfigure(with(&[(MAIN, LocationStatus::Closed)]), &NoSimulatedEhrs).await;
    assert!(taken.is_ok());
    assert_eq!(asked().fails(404).await, [format!("Location with id {MAIN} not found")]);
    assert_eq!(closed().await, [true, false, true, false]);
    assert!(world.api.reconfigure(setup(), &NoSimulatedEhrs).await.is_ok());
    assert_eq!(asked().ok().await["data"], known);
    assert_eq!(closed().await, [false, false, true, false]);
}

#[actix_web::test]
async fn the_edge_version_needs_its_grant() {
    let world = world().await;
    for route in ROUTES {
        assert_eq!(ask(&world, route, "acme", MAIN).key(MAIN_KEY).version("v3.1.0").fails(403).await, [NO_ACCESS]);
    }
    world.get("/locations").version("v3.1.0").ok().await;
    world.get("/locations").version("v20240412").ok().await;
    world.get("/locations").version("v2").ok().await;
    world.get("/locations").without("Svc-Api-Version").with("Accept", "application/vnd.Svc+json;version=2").ok().await;
}

#[actix_web::test]
async fn a_user_agent_without_an_application_is_refused() {
    let world = world().await;
    const NAMELESS: &str = "Send a User-Agent header that names the calling application.";
    for agent in [
        "curl/8.5.0",
        "curl",
        "python-requests/2.32",
        "Go-http-client/1.1",
        "okhttp/4.9",
        "axios/1.7",
        "CURL/8",
        "node",
        "node-fetch/1.0 (+https://example.com)",
        "Python/3.12 aiohttp/3.9",
        "Python-urllib/3.12",
        "Faraday v2.7",
        "Ruby",
        "Java-http-client/17",
        "",
        "  ",
        "/1.0",
    ] {
        let reply = world.get("/locations").with("User-Agent", agent).reply().await;
        assert_eq!(reply.status, 403, "{agent}");
        assert_eq!(reply.json()["error"], json!([NAMELESS]));
        assert!(reply.json()["description"].as_str().unwrap().contains("1010"), "{}", reply.text);
        assert!(reply.header("X-Request-Id").is_some());
    }
    assert_eq!(world.get("/locations").without("User-Agent").fails(403).await, [NAMELESS]);
    assert_eq!(world.post("/authenticates", json!({})).with("User-Agent", "curl/8").fails(403).await, [NAMELESS]);
    for agent in ["acme-scheduler/1.0", "acme (python-requests/2.32)", "curlish", "NodeClinic/2.0", "RubyDental/1.0"] {
        world.get("/locations").with("User-Agent", agent).ok().await;
    }
}

#[actix_web::test]
async fn no_answer_shows_records_of_another_tenant() {
    let world = world().await;
    for route in ROUTES {
        let text = ask(&world, route, "acme", MAIN).reply().await.text;
        for foreign in ["Rita", "Rival", "Chair 4", "Place 5", "Place 6", "appointment 90"] {
            assert!(!text.contains(foreign), "{} shows {foreign}", route.1);
        }
    }
    let errors = world.get(&format!("/appointments/{RIVALS_APPOINTMENT}?subdomain=acme")).fails(404).await;
    assert_eq!(errors, [format!("Appointment with id {RIVALS_APPOINTMENT} not found")]);
}

#[actix_web::test]
async fn wrong_methods_and_paths_are_answered_in_the_envelope() {
    let world = world().await;
    let reply = world.request(Method::PUT, "/locations").reply().await;
    assert_eq!((reply.status.as_u16(), reply.header("Allow")), (405, Some("GET, HEAD")));
    assert_eq!(reply.json()["code"], Value::Bool(false));
    let reply = world.request(Method::PATCH, "/intent/booking/hold").reply().await;
    assert_eq!((reply.status.as_u16(), reply.header("Allow")), (405, Some("POST, DELETE")));
    for path in ["/nothing", "/locations/1/2", "/locations/", "//locations", "/%2e%2e/etc"] {
        assert_eq!(world.get(path).fails(404).await, ["Resource not found"], "{path}");
    }
}

/// Specification 5.11: administrators manage keys in the configuration. No endpoint creates, shows or changes a key.
#[actix_web::test]
async fn no_call_makes_or_rotates_an_api_key() {
    let world = world().await;
    for document in ["/openapi.json", "/openapi.json?for=operators", "/openapi.json?for=workstations"] {
        let document = world.get(document).ok().await;
        let paths = document["paths"].as_object().unwrap();
        // The keys that encrypt the store are of another kind.
        let about_keys =
            paths.keys().filter(|path| path.to_lowercase().contains("key") && !path.starts_with("/store/"));
        assert_eq!(about_keys.collect::<Vec<_>>(), Vec::<&String>::new());
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let with_keys = schemas.iter().filter(|(_, schema)| schema["properties"].get("api_key").is_some());
        assert_eq!(with_keys.map(|(name, _)| name).collect::<Vec<_>>(), Vec::<&String>::new());
    }
    // Undocumented paths do not exist, either, even for a key with all grants.
    for path in ["/keys", "/api_keys", "/authenticates/rotate", "/organizations/1/api_keys"] {
        assert_eq!(
            world.post(path, serde_json::json!({"environment": "production"})).fails(404).await,
            ["Resource not found"]
        );
    }
}
