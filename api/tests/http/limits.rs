use framework::http::rules::{HttpRules, RateRules};
use serde_json::json;

use crate::support::*;

fn rules(per_second: u32, per_minute: u32, endpoint: &str, count: u32) -> HttpRules {
    let rates = RateRules { per_second, per_minute, endpoints: [(endpoint.to_owned(), count)].into() };
    HttpRules { rate_limits: rates, ..HttpRules::default() }
}

#[actix_web::test]
async fn a_key_is_limited_over_all_its_locations() {
    let world = world_with(rules(0, 6, "", 0)).await;
    for n in 0..6 {
        world.get(&format!("/operatories?subdomain=acme&location_id={}", n % 2 + 1)).ok().await;
    }
    let reply = world.get("/locations").reply().await;
    assert_eq!(reply.status, 429);
    assert_eq!(reply.json()["error"], json!(["You've exceeded our rate limit. Please wait and retry."]));
    assert!((1..=10).contains(&reply.header("Retry-After").unwrap().parse::<u64>().unwrap()));
    let description = reply.json()["description"].as_str().unwrap().to_owned();
    assert!(description.starts_with("At most 6 calls per minute with this API key;"), "{description}");
    let headers = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map(|name| reply.header(name).unwrap());
    assert_eq!(headers, ["6", "0", "60"]);
    world.get("/locations").key(RIVAL_KEY).ok().await;
}

#[actix_web::test]
async fn each_response_has_the_remaining_requests() {
    let world = world_with(rules(100, 6, "GET /appointments", 2)).await;
    let left = async |path: &str| {
        let reply = world.get(path).reply().await;
        ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map(|name| reply.header(name).unwrap().to_owned())
    };
    assert_eq!(left("/locations").await, ["6", "5", "10"]);
    assert_eq!(left("/locations").await, ["6", "4", "20"]);
    assert_eq!(left("/appointments?subdomain=acme&start=2026-12-01&end=2026-12-02").await, ["2", "1", "1"]);
    // Failed calls of a known caller count, too; calls of unknown callers do not.
    assert_eq!(left("/patients/1").await, ["6", "2", "40"]);
    let unknown = world.get("/locations").with("Authorization", "Bearer x").reply().await;
    assert_eq!((unknown.status.as_u16(), unknown.header("RateLimit-Limit")), (401, None));
}

#[actix_web::test]
async fn calls_refused_by_an_endpoint_limit_do_not_use_up_the_minute() {
    let world = world_with(rules(0, 6, "GET /appointments", 1)).await;
    let ask = || world.get("/appointments?subdomain=acme&start=2026-12-01&end=2026-12-02").reply();
    // One at once, and four that wait.
    let (a, b, c, d, e, f, g, h) = tokio::join!(ask(), ask(), ask(), ask(), ask(), ask(), ask(), ask());
    let refused = [a, b, c, d, e, f, g, h].iter().filter(|reply| reply.status == 429).count();
    assert!(refused >= 3, "{refused}");
    world.get("/locations").ok().await;
}

#[actix_web::test]
async fn requests_for_tokens_count_towards_the_limits() {
    let world = world_with(rules(0, 2, "", 0)).await;
    let asked = || world.request(actix_web::http::Method::POST, "/authenticates").with("Authorization", ACME_KEY);
    asked().answers(201).await;
    asked().answers(201).await;
    asked().fails(429).await;
}

#[actix_web::test]
async fn single_endpoints_have_additional_limits() {
    let world = world_with(rules(0, 0, "GET /appointments", 3)).await;
    let list = "/appointments?subdomain=acme&start=2026-12-01&end=2026-12-02";
    let started = std::time::Instant::now();
    let ask = || world.get(list).reply();
    // Three run at once, four wait and one is over the limit.
    let (a, b, c, d, e, f, g, h) = tokio::join!(ask(), ask(), ask(), ask(), ask(), ask(), ask(), ask());
    let refused = [a, b, c, d, e, f, g, h].iter().filter(|reply| reply.status == 429).count();
    // On a slow machine another slot may have become free.
    assert!(refused <= 1 && started.elapsed() > std::time::Duration::from_millis(1_000), "{refused}");
    world.get("/appointments/1?subdomain=acme").ok().await;
}

#[actix_web::test]
async fn refused_tokens_do_not_count_towards_a_keys_limits() {
    let world = world_with(rules(0, 1, "", 0)).await;
    for _ in 0..5 {
        world.get("/locations").with("Authorization", "Bearer x").fails(401).await;
    }
    world.get("/locations").ok().await;
}

#[actix_web::test]
async fn a_walk_over_pages_is_slowed_down_and_not_refused() {
    let world = world_with(rules(0, 0, "GET /appointments", 10)).await;
    let path = "/appointments?subdomain=acme&start=2026-12-01&end=2026-12-02";
    for _ in 0..25 {
        world.get(path).ok().await;
    }
}
