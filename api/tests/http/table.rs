//! Guarantees of the table on endpoints made for this test: grants, versions, methods, statuses, Idempotency-Key.

use actix_web::{
    App,
    http::{Method, StatusCode},
    middleware::from_fn,
    test::{TestRequest, call_service, init_service, read_body},
};
use api::server::guard::guard;
use endpoints::routes::{
    dispatch::{self, ServedRoutes},
    route::{Route, delete, get, post},
};
use framework::{
    access::{
        arguments::{Anywhere, FromPath, Id},
        call::ApiCall,
        respond::{Answer, Empty, One},
    },
    http::errors::ApiError,
    values::{kinds::long_id, versions::Version},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::support::*;

#[derive(Serialize, JsonSchema)]
struct Seen {
    key: Option<String>,
    fingerprint: Option<String>,
    parts: Vec<u64>,
}

async fn show<const STATUS: u16>(call: ApiCall, _: Anywhere<()>) -> Answer<One<Seen, STATUS>> {
    let once = call.idempotency_key();
    let seen = Seen {
        key: once.map(|once| hex(once.key)),
        fingerprint: once.map(|once| hex(once.fingerprint)),
        parts: Vec::new(),
    };
    Ok(call.created(once.is_some(), seen))
}

struct PartId(u64);

impl FromPath for PartId {
    fn from_path(call: &ApiCall) -> Result<PartId, ApiError> {
        call.path("part_id", long_id()).map(PartId)
    }
}

async fn parts(call: ApiCall, (Id(whole), PartId(part)): (Id<u32>, PartId), _: Anywhere<()>) -> Answer<One<Seen>> {
    Ok(call.show(Seen { key: None, fingerprint: None, parts: vec![whole.into(), part] }))
}

async fn remove(call: ApiCall, _: Anywhere<()>) -> Answer<Empty> {
    Ok(call.empty())
}

fn hex(bytes: [u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn table() -> &'static [Route] {
    let table = vec![
        get("/money", show::<200>).about("Money", "5.10").financial(),
        post("/money", show::<202>).about("Money", "5.10").financial(),
        get("/edge", show::<200>).about("Edge", "4.2").beta(),
        get("/old", show::<200>).about("Old", "9").only(&[Version::V2_2_2]),
        get("/whole/{id}/parts/{part_id}", parts).about("Part", "4"),
        delete("/whole/{id}/parts/{part_id}", remove).about("Part", "4"),
    ];
    table.leak()
}

async fn ask(
    world: &ApiWorld,
    method: Method,
    path: &str,
    key: &str,
    version: &str,
    more: &[(&str, &str)],
    body: Value,
) -> ApiResponse {
    let table = table();
    let routes = ServedRoutes::new(table);
    let app = App::new().app_data(world.api.clone()).configure(|app| dispatch::serve(routes, app)).wrap(from_fn(guard));
    let app = init_service(app).await;
    let mut request = TestRequest::with_uri(path).method(method).insert_header(("User-Agent", "test-suite/1.0"));
    request = request.insert_header(("Authorization", world.token(key))).insert_header(("Svc-Api-Version", version));
    for header in more {
        request = request.append_header(*header);
    }
    if !body.is_null() {
        request = request.insert_header(("Content-Type", "application/json")).set_payload(body.to_string());
    }
    let response = call_service(&app, request.to_request()).await;
    let (status, headers) = (response.status(), response.headers().clone());
    ApiResponse { status, headers, text: String::from_utf8(read_body(response).await.to_vec()).unwrap() }
}

async fn status(world: &ApiWorld, path: &str, key: &str, version: &str) -> StatusCode {
    ask(world, Method::GET, path, key, version, &[], Value::Null).await.status
}

#[actix_web::test]
async fn financial_endpoints_need_their_grant() {
    let world = world().await;
    assert_eq!(status(&world, "/money", ACME_KEY, "v3.0.0").await, 200);
    let reply = ask(&world, Method::GET, "/money", MAIN_KEY, "v3.0.0", &[], Value::Null).await;
    assert_eq!(reply.status, 403);
    assert_eq!(reply.json()["error"], json!(["You don't have access to perform this action."]));
    assert_eq!(ask(&world, Method::POST, "/money", MAIN_KEY, "v3.0.0", &[], Value::Null).await.status, 403);
}

#[actix_web::test]
async fn endpoints_exist_in_their_versions_only() {
    let world = world().await;
    for (path, version, expected) in [
        ("/edge", "v3.1.0", 200),
        ("/edge", "v3.0.0", 404),
        ("/edge", "v2.2.2", 404),
        ("/old", "v2", 200),
        ("/old", "v3.0.0", 404),
        ("/old", "v3.1.0", 404),
        ("/money", "v3.1.0", 200),
    ] {
        assert_eq!(status(&world, path, ACME_KEY, version).await.as_u16(), expected, "{path} {version}");
    }
    assert_eq!(status(&world, "/edge", MAIN_KEY, "v3.1.0").await, 403);
    let reply = ask(&world, Method::PATCH, "/money", ACME_KEY, "v3.0.0", &[], Value::Null).await;
    assert_eq!((reply.status.as_u16(), reply.header("Allow")), (405, Some("GET, HEAD, POST")));
}

#[actix_web::test]
async fn paths_with_two_ids_are_read_by_name() {
    let world = world().await;
    let part = "/whole/7/parts/9007199254740993";
    let reply = ask(&world, Method::GET, part, ACME_KEY, "v3.0.0", &[], Value::Null).await;
    assert_eq!(reply.json()["data"]["parts"], json!([7, 9_007_199_254_740_993_u64]));
    let wrong = ask(&world, Method::GET, "/whole/7/parts/x", ACME_KEY, "v3.0.0", &[], Value::Null).await;
    assert_eq!((wrong.status.as_u16(), &wrong.json()["error"]), (400, &json!(["part_id must be an integer."])));
    let gone = ask(&world, Method::DELETE, part, ACME_KEY, "v3.0.0", &[], Value::Null).await;
    assert_eq!((gone.status.as_u16(), gone.text.as_str()), (204, ""));
}

#[actix_web::test]
async fn paths_are_decoded_except_for_slashes() {
    let world = world().await;
    let get = async |path: &str| ask(&world, Method::GET, path, ACME_KEY, "v3.0.0", &[], Value::Null).await;
    let reply = get("/whole/%37/p%61rts/8").await;
    assert_eq!(reply.json()["data"]["parts"], json!([7, 8]));
    let reply = get("/whole/7/parts/8%2F9").await;
    assert_eq!((reply.status.as_u16(), &reply.json()["error"]), (400, &json!(["part_id must be an integer."])));
    for (path, reason) in [
        ("/whole/7", "unknown_path"),
        ("/whole//parts/8", "unknown_path"),
        ("/whole/7/parts/8/9", "unknown_path"),
        ("/whole%2F7/parts/8", "unknown_path"),
        ("/Money", "unknown_path"),
        ("/money/", "trailing_slash"),
        ("/whole/7/parts/", "trailing_slash"),
    ] {
        let reply = get(path).await;
        assert_eq!((reply.status.as_u16(), &reply.json()["reason"]), (404, &json!(reason)), "{path}");
    }
}

#[actix_web::test]
async fn an_idempotency_key_applies_to_creations_only() {
    let world = world().await;
    let post = async |key: &str, path: &str, given: &[(&str, &str)], body: Value| {
        ask(&world, Method::POST, path, key, "v3.0.0", given, body).await
    };
    let plain = post(ACME_KEY, "/money", &[], json!({"a": 1})).await;
    assert_eq!((plain.status.as_u16(), plain.header("Idempotent-Replay")), (202, None));
    let given = [("Idempotency-Key", "k-1")];
    let first = post(ACME_KEY, "/money?a=1&b=2", &given, json!({"a": 1, "b": 2})).await;
    assert_eq!((first.status.as_u16(), first.header("Idempotent-Replay")), (202, Some("true")));
    let again = post(ACME_KEY, "/money?b=2&a=1", &given, json!({"b": 2, "a": 1})).await;
    assert_eq!(again.json()["data"], first.json()["data"]);
    let other = post(ACME_KEY, "/money?a=1&b=2", &given, json!({"a": 1, "b": 3})).await.json();
    assert_eq!(other["data"]["key"], first.json()["data"]["key"]);
    assert_ne!(other["data"]["fingerprint"], first.json()["data"]["fingerprint"]);
    let stranger = post(RIVAL_KEY, "/money?a=1&b=2", &given, json!({"a": 1, "b": 2})).await.json();
    assert_ne!(stranger["data"]["key"], first.json()["data"]["key"]);
    for wrong in [
        &[("Idempotency-Key", "")][..],
        &[("Idempotency-Key", "a b")],
        &[("Idempotency-Key", "a"), ("Idempotency-Key", "b")],
    ] {
        let reply = post(ACME_KEY, "/money", wrong, json!({})).await;
        let problem = "Idempotency-Key must hold 1 to 255 visible ASCII characters, and be given once.";
        assert_eq!((reply.status.as_u16(), &reply.json()["error"]), (400, &json!([problem])));
    }
    // A read ignores the key.
    let read = ask(&world, Method::GET, "/money", ACME_KEY, "v3.0.0", &given, Value::Null).await;
    assert_eq!((read.status.as_u16(), &read.json()["data"]["key"]), (200, &Value::Null));
}
