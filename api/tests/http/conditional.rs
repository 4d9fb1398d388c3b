//! `ETag` and `If-None-Match`: an unchanged response has no body. A response outside the caller's rights is refused.

use actix_web::http::Method;
use framework::{
    access::keys::ApiKey,
    http::rules::{HttpRules, RateRules},
};
use serde_json::{Value, json};

use crate::support::*;

const PATIENT: &str = "/patients/1?subdomain=acme";
const APPOINTMENTS: &str =
    "/appointments?subdomain=acme&location_id=1&start=2020-01-01T00:00:00Z&end=2040-01-01T00:00:00Z&per_page=5";

async fn tag(world: &ApiWorld, path: &str) -> String {
    let reply = world.get(path).reply().await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text);
    reply.header("ETag").unwrap_or_else(|| panic!("{path} has no tag")).to_owned()
}

async fn status(ask: ApiRequest<'_>) -> u16 {
    ask.reply().await.status.as_u16()
}

async fn book_for_new_patient(world: &ApiWorld) {
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient});
    world.post("/intent/booking/book?subdomain=acme", body).ok().await;
}

#[actix_web::test]
async fn an_unchanged_response_has_no_body() {
    let world = world().await;
    for path in [
        PATIENT,
        APPOINTMENTS,
        "/providers?subdomain=acme",
        "/locations",
        "/me",
        "/changes?subdomain=acme&location_id=1",
    ] {
        let known = tag(&world, path).await;
        assert!(known.starts_with('"') && known.ends_with('"'), "{known}");
        let again = world.get(path).with("If-None-Match", &known).reply().await;
        assert_eq!((again.status.as_u16(), again.text.as_str()), (304, ""), "{path}");
        assert_eq!((again.header("ETag"), again.header("Content-Type")), (Some(known.as_str()), None), "{path}");
        assert!(again.header("X-Request-Id").is_some() && again.header("Cache-Control") == Some("no-store"), "{path}");
    }
}

#[actix_web::test]
async fn entity_tags_follow_the_standard() {
    let world = world().await;
    let known = tag(&world, PATIENT).await;
    for naming in [format!("W/{known}"), format!("\"other\", {known}"), "*".to_owned()] {
        assert_eq!(status(world.get(PATIENT).with("If-None-Match", &naming)).await, 304, "{naming}");
    }
    for naming in ["\"other\"", "", "nonsense", known.trim_matches('"')] {
        assert_eq!(status(world.get(PATIENT).with("If-None-Match", naming)).await, 200, "{naming}");
    }
    assert_eq!(status(world.request(Method::HEAD, PATIENT).with("If-None-Match", &known)).await, 304);
}

#[actix_web::test]
async fn a_page_that_is_read_again_has_the_same_tag() {
    let world = world_with(free_rates()).await;
    for path in [
        APPOINTMENTS,
        "/patients?subdomain=acme&location_id=1&sort=updated_at",
        "/patients?subdomain=acme&location_id=1",
    ] {
        let known = tag(&world, path).await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        assert_eq!(status(world.get(path).with("If-None-Match", &known)).await, 304, "{path}");
    }
}

#[actix_web::test]
async fn a_change_is_shown_at_once() {
    let world = world().await;
    let path = APPOINTMENTS.replace("per_page=5", "per_page=1000");
    let known = tag(&world, &path).await;
    book_for_new_patient(&world).await;
    let reply = world.get(&path).with("If-None-Match", &known).reply().await;
    assert_eq!(reply.status, 200);
    assert_ne!(reply.header("ETag"), Some(known.as_str()));
}

#[actix_web::test]
async fn a_page_with_the_same_rows_and_a_following_page_has_another_tag() {
    let world = world().await;
    let patients = "/patients?subdomain=acme&location_id=1";
    let all = world.get(&format!("{patients}&per_page=1000")).ok().await;
    let count = all["data"].as_array().unwrap().len();
    let path = format!("{patients}&per_page={count}");
    let (before, known) = (world.get(&path).ok().await, tag(&world, &path).await);
    book_for_new_patient(&world).await;
    let after = world.get(&path).with("If-None-Match", &known).ok().await;
    assert_eq!(after["data"], before["data"]);
    let has_next = |page: &Value| page["page_info"]["has_next_page"].clone();
    assert_eq!((has_next(&before), has_next(&after)), (json!(false), json!(true)));
}

#[actix_web::test]
async fn a_tag_depends_on_the_caller_and_the_request() {
    let world = world().await;
    let known = tag(&world, PATIENT).await;
    let ask = || world.get(PATIENT).with("If-None-Match", &known);
    assert_eq!(status(ask().key(MAIN_FULL_KEY)).await, 200, "another key's tag is its own");
    assert_eq!(status(ask().version("v3.1.0")).await, 200);
    assert_eq!(status(ask().key(RIVAL_KEY)).await, 403, "a tag opens nothing");
    assert_eq!(status(ask().without("Authorization")).await, 401);
    assert_eq!(status(world.get("/patients/999999?subdomain=acme").with("If-None-Match", "*")).await, 404);
}

#[actix_web::test]
async fn lost_rights_are_not_answered_with_not_modified() {
    let world = world().await;
    let with_money = "/patients/1?subdomain=acme&include[]=charges";
    let (patient, all) = (tag(&world, PATIENT).await, tag(&world, with_money).await);
    let poorer = |key: ApiKey| ApiKey { grants: Default::default(), ..key };
    world.api.replace_keys(keys().into_iter().map(poorer).collect());
    assert_eq!(
        status(world.get(with_money).with("If-None-Match", &all)).await,
        200,
        "the response names withheld fields"
    );
    assert_eq!(status(world.get(PATIENT).with("If-None-Match", &patient)).await, 304, "nothing of it has changed");
    let gone = |key: ApiKey| ApiKey { institutions: Vec::new(), ..key };
    world.api.replace_keys(keys().into_iter().map(gone).collect());
    assert_eq!(status(world.get(PATIENT).with("If-None-Match", &patient)).await, 403);
}

#[actix_web::test]
async fn ignored_parameters_are_named_without_a_body_too() {
    let world = world().await;
    let path = format!("{APPOINTMENTS}&colour=red");
    let known = tag(&world, &path).await;
    let again = world.get(&path).with("If-None-Match", &known).reply().await;
    assert_eq!((again.status.as_u16(), again.header("X-Ignored-Parameters")), (304, Some("colour")));
}

#[actix_web::test]
async fn unchanged_responses_count_towards_rate_limits() {
    let rates = RateRules { per_second: 0, per_minute: 3, endpoints: Default::default() };
    let world = world_with(HttpRules { rate_limits: rates, ..HttpRules::default() }).await;
    let known = tag(&world, PATIENT).await;
    let again = world.get(PATIENT).with("If-None-Match", &known).reply().await;
    assert_eq!((again.status.as_u16(), again.header("RateLimit-Remaining")), (304, Some("1")));
    assert_eq!(status(world.get(PATIENT).with("If-None-Match", &known)).await, 304);
    assert_eq!(status(world.get(PATIENT).with("If-None-Match", &known)).await, 429);
}

#[actix_web::test]
async fn responses_to_writes_have_no_tag() {
    let world = world().await;
    let search = "/intent/booking/search?subdomain=acme&location_id=1";
    let reply = world.post(search, json!({})).with("If-None-Match", "*").reply().await;
    assert_eq!((reply.status.as_u16(), reply.header("ETag")), (200, None));
}
