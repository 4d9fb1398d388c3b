//! Headers and rules of every response.

use actix_web::{
    http::Method,
    test::{TestRequest, call_service, init_service},
};
use api::server;
use framework::http::{cors, rules::HttpRules};
use serde_json::json;

use crate::support::*;

#[actix_web::test]
async fn responses_are_not_cached_or_sniffed() {
    let world = world().await;
    let answers = [
        world.get("/patients?subdomain=acme&location_id=1"),
        world.get("/patients?subdomain=acme&location_id=1"),
        world.get("/patients/1?subdomain=acme"),
        world.request(Method::POST, "/authenticates").with("Authorization", ACME_KEY),
        world.get("/patients?subdomain=rival"),
        world.get("/nowhere"),
        world.get("/patients").with("User-Agent", "curl"),
        world.get("/healthz"),
    ];
    for ask in answers {
        let reply = ask.reply().await;
        assert_eq!(reply.header("Cache-Control"), Some("no-store"), "{}", reply.text);
        assert_eq!(reply.header("X-Content-Type-Options"), Some("nosniff"), "{}", reply.text);
    }
    assert_eq!(world.get("/docs").reply().await.header("Cache-Control"), Some("no-cache"));
}

#[actix_web::test]
async fn the_scheme_of_a_token_is_written_in_any_case() {
    let world = world().await;
    let token = world.token(ACME_KEY);
    for scheme in ["bearer", "BEARER", "Bearer", "bEaReR"] {
        world.get("/locations").with("Authorization", &token.replace("Bearer", scheme)).ok().await;
    }
    world.get("/locations").with("Authorization", &token.replace("Bearer", "Basic")).fails(401).await;
    world.get("/locations").with("Authorization", &token.replace("Bearer ", "Bearer")).fails(401).await;
}

#[actix_web::test]
async fn head_is_answered_where_get_is() {
    let world = world().await;
    for path in
        ["/healthz", "/metrics", "/docs", "/openapi.json", "/locations?subdomain=acme", "/patients/1?subdomain=acme"]
    {
        let (head, get) = (world.request(Method::HEAD, path).reply().await, world.get(path).reply().await);
        assert_eq!((head.status, head.header("Content-Type")), (get.status, get.header("Content-Type")), "{path}");
    }
    assert_eq!(world.request(Method::HEAD, "/patients/1").reply().await.status, 400);
    assert_eq!(world.request(Method::HEAD, "/locations").without("Authorization").reply().await.status, 401);
    let reply = world.request(Method::HEAD, "/authenticates").reply().await;
    assert_eq!((reply.status.as_u16(), reply.header("Allow")), (405, Some("POST")));
}

#[actix_web::test]
async fn the_root_path_redirects_to_the_documentation() {
    let world = world().await;
    for path in ["/", "/docs/"] {
        let reply = world.get(path).without("User-Agent").without("Authorization").reply().await;
        assert_eq!((reply.status.as_u16(), reply.header("Location")), (307, Some("/docs")), "{path}");
    }
    let operators = init_service(server::operators_app(world.api.clone())).await;
    for (path, page) in [("/", "/console"), ("/docs/", "/docs")] {
        let reply = call_service(&operators, TestRequest::get().uri(path).to_request()).await;
        let location = reply.headers().get("Location").map(|it| it.to_str().unwrap());
        assert_eq!((reply.status().as_u16(), location), (307, Some(page)), "{path}");
    }
}

#[actix_web::test]
async fn unchanged_documents_are_not_sent_again() {
    let world = world().await;
    for path in ["/openapi.json", "/openapi.json?version=v2.2.2", "/docs", "/docs/script.js"] {
        let first = world.get(path).reply().await;
        let tag = first.header("ETag").unwrap();
        let again = world.get(path).with("If-None-Match", tag).reply().await;
        assert_eq!((again.status.as_u16(), again.text.as_str(), again.header("ETag")), (304, "", Some(tag)), "{path}");
        assert_eq!(world.get(path).with("If-None-Match", "\"other\"").reply().await.status, 200);
    }
    let [v3, v2] = ["/openapi.json", "/openapi.json?version=v2.2.2"].map(|path| world.get(path).reply());
    assert_ne!(v3.await.header("ETag"), v2.await.header("ETag"));
}

const PAGE: &str = "https://app.example.com";

/// Builds the preflight request of a browser.
fn preflight(world: &ApiWorld) -> ApiRequest<'_> {
    let ask = world.request(Method::OPTIONS, "/patients").without("Authorization").without("Svc-Api-Version");
    ask.with("Access-Control-Request-Method", "POST").with("User-Agent", "")
}

#[actix_web::test]
async fn no_web_page_calls_unless_its_origin_is_listed() {
    let closed = world().await;
    let reply = closed.get("/locations").with("Origin", PAGE).reply().await;
    assert_eq!((reply.status.as_u16(), reply.header("Access-Control-Allow-Origin")), (200, None));
    let refused = preflight(&closed).with("User-Agent", "browser").with("Origin", PAGE).reply().await;
    assert_eq!((refused.status.as_u16(), refused.header("Access-Control-Allow-Origin")), (405, None));

    let rules = HttpRules { cors_origins: vec![cors::origin(PAGE).unwrap()], ..HttpRules::default() };
    let open = world_with(rules).await;
    let allowed = preflight(&open).with("Origin", PAGE).reply().await;
    assert_eq!((allowed.status.as_u16(), allowed.header("Access-Control-Allow-Origin")), (204, Some(PAGE)));
    for (header, named) in
        [("Allow-Headers", "Authorization"), ("Allow-Headers", "Svc-Api-Version"), ("Allow-Methods", "PATCH")]
    {
        assert!(allowed.header(&format!("Access-Control-{header}")).unwrap().contains(named), "{header}");
    }
    for (path, status) in [("/locations", 200), ("/patients", 400), ("/nowhere", 404)] {
        let reply = open.get(path).with("Origin", PAGE).reply().await;
        assert_eq!((reply.status.as_u16(), reply.header("Access-Control-Allow-Origin")), (status, Some(PAGE)));
        assert_eq!(reply.header("Vary"), Some("Origin"));
    }
    for other in ["https://evil.example", "null", "https://app.example.com:8443"] {
        let reply = open.get("/locations").with("Origin", other).reply().await;
        assert_eq!(reply.header("Access-Control-Allow-Origin"), None, "{other}");
        let refused = preflight(&open).with("User-Agent", "browser").with("Origin", other).reply().await;
        assert_eq!((refused.status.as_u16(), refused.header("Access-Control-Allow-Origin")), (405, None), "{other}");
    }
}

fn limited(refused_per_minute: u32, proxies: &[&str]) -> HttpRules {
    let trusted_proxies = proxies.iter().map(|it| framework::http::proxies::trusted(it).unwrap()).collect();
    HttpRules { refused_per_minute, trusted_proxies, ..HttpRules::default() }
}

#[actix_web::test]
async fn wrong_keys_and_tokens_are_limited_by_address() {
    let world = world_with(limited(3, &[])).await;
    let wrong_key = |from| world.request(Method::POST, "/authenticates").with("Authorization", "psk_guess").from(from);
    let wrong_token = |from| world.get("/locations").with("Authorization", "Bearer x").from(from);
    wrong_key("192.0.2.1").fails(401).await;
    wrong_token("192.0.2.1").fails(401).await;
    wrong_token("192.0.2.1").fails(401).await;
    for ask in [wrong_key("192.0.2.1"), wrong_token("192.0.2.1")] {
        let reply = ask.reply().await;
        assert_eq!(reply.status, 429);
        assert!((1..=20).contains(&reply.header("Retry-After").unwrap().parse::<u64>().unwrap()));
    }
    // Other addresses, and callers with a correct credential, are not limited.
    wrong_key("192.0.2.2").fails(401).await;
    world.get("/locations").from("192.0.2.1").ok().await;
    world.request(Method::POST, "/authenticates").with("Authorization", ACME_KEY).from("192.0.2.1").answers(201).await;
}

#[actix_web::test]
async fn callers_behind_a_trusted_proxy_are_limited_separately() {
    let world = world_with(limited(1, &["10.0.0.0/8"])).await;
    let wrong = |client| {
        world.get("/locations").with("Authorization", "Bearer x").from("10.0.0.1").with("X-Forwarded-For", client)
    };
    wrong("192.0.2.1").fails(401).await;
    wrong("192.0.2.1").fails(429).await;
    wrong("192.0.2.2").fails(401).await;
    // A forged header of a client has no effect.
    wrong("198.51.100.7, 192.0.2.2").fails(429).await;
    let direct = |client| {
        world.get("/locations").with("Authorization", "Bearer x").from("192.0.2.9").with("X-Forwarded-For", client)
    };
    direct("198.51.100.8").fails(401).await;
    direct("198.51.100.9").fails(429).await;
}

fn wrong_code<'w>(world: &'w ApiWorld, client: &str) -> ApiRequest<'w> {
    let body = json!({"code": "ABCD-EFGH-JKLM", "name": "Desk", "install": "6f1c1a52-0c3f-4a3e-9d5c-0d6f3f0e7a11"});
    let ask = world.post("/workstations/pair", body).without("Authorization");
    ask.from("10.0.0.1").with("X-Forwarded-For", client)
}

#[actix_web::test]
async fn wrong_pairing_codes_of_one_practice_leave_others_alone() {
    let trusting = |proxies: &[&str]| limited(0, proxies);
    for (proxies, other_practice) in [(&["10.0.0.1"][..], 404), (&[][..], 429)] {
        let world = world_with(trusting(proxies)).await;
        let mut last = 0;
        for _ in 0..30 {
            last = wrong_code(&world, "192.0.2.1").reply().await.status.as_u16();
        }
        assert_eq!(last, 429);
        assert_eq!(wrong_code(&world, "192.0.2.2").reply().await.status.as_u16(), other_practice, "{proxies:?}");
    }
}
