//! Every failure has a one-word reason. If a message has several causes, the description names the cause and the fix.

use engine::setup::Environment;
use location::time::{HOUR, Timestamp};
use serde_json::{Value, json};

use crate::support::*;

/// Returns the reason and the description of a failure.
async fn reason(ask: ApiRequest<'_>, status: u16) -> (String, String) {
    let body = ask.answers(status).await;
    let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("no {name}: {body}")).to_owned();
    (text("reason"), text("description"))
}

async fn expect(ask: ApiRequest<'_>, status: u16, wanted: &str, fix: &str) {
    let (reason, description) = reason(ask, status).await;
    assert_eq!(reason, wanted, "{description}");
    assert!(description.contains(fix), "{wanted}: {description}");
}

#[actix_web::test]
async fn missing_access_is_explained_by_cause() {
    let world = world().await;
    let get = || world.get("/operatories?subdomain=acme&location_id=1");
    let key = world.api.keys().presented(ACME_KEY).unwrap().id();
    let expired = world.api.tokens.mint(key, Timestamp(world.engine.now().0 - 2 * HOUR), HOUR);
    let nobody = world.api.tokens.mint("0000000000000000".into(), world.engine.now(), HOUR);
    let exchange = "Exchange the key at POST /authenticates and send the token as Bearer.";
    expect(get().without("Authorization"), 401, "token_missing", exchange).await;
    expect(get().with("Authorization", ACME_KEY), 401, "api_key_instead_of_token", exchange).await;
    let key_as_bearer = format!("Bearer {ACME_KEY}");
    expect(get().with("Authorization", &key_as_bearer), 401, "api_key_instead_of_token", exchange).await;
    let bare = world.token(ACME_KEY)["Bearer ".len()..].to_owned();
    expect(get().with("Authorization", &bare), 401, "token_malformed", "Authorization: Bearer <token>").await;
    expect(get().with("Authorization", "Basic eDp5 x"), 401, "token_malformed", "Bearer").await;
    expect(get().with("Authorization", &format!("Bearer {expired}")), 401, "token_expired", "new one").await;
    expect(get().with("Authorization", "Bearer a.b.c"), 401, "token_invalid", "altered").await;
    expect(get().with("Authorization", &format!("Bearer {nobody}")), 401, "key_revoked", "another key").await;
    let elsewhere = world.get("/operatories?subdomain=Acme&location_id=1");
    expect(elsewhere, 403, "subdomain_out_of_reach", "lower case").await;
    let money = world.get("/payments?subdomain=acme&location_id=1").key(MAIN_KEY);
    expect(money, 403, "grant_missing", "`financial`").await;
    expect(get().key(MAIN_KEY).version("v3.1.0"), 403, "grant_missing", "`beta`").await;
    let pending = world.get(&format!("/operatories?subdomain=acme&location_id={PENDING}"));
    expect(pending, 403, "location_pending", "not active yet").await;
    let in_body = world.post("/webhook_endpoints/1/webhook_subscriptions", json!({"subdomain": "acme"}));
    expect(in_body, 403, "subdomain_missing", "in the query").await;
    let agent = world.get("/locations").with("User-Agent", "curl/8.5.0");
    expect(agent, 403, "user_agent_refused", "User-Agent").await;
    let talk = world.post("/conversations/1/messages?subdomain=acme", json!({}));
    expect(talk, 403, "messages_not_supported", "No health record system").await;
    let key = world.post("/authenticates", json!({}));
    expect(key, 401, "invalid_credentials", "without `Bearer`").await;
    assert_eq!(keys()[0].environment, Environment::Sandbox);
}

#[actix_web::test]
async fn missing_resources_are_explained_by_cause() {
    let world = world().await;
    let get = || world.get("/locations");
    expect(get().without("Svc-Api-Version"), 404, "version_missing", "Svc-Api-Version: v3.0.0").await;
    expect(get().version("v9"), 404, "version_unknown", "v3.1.0").await;
    expect(world.get("/location"), 404, "unknown_path", "/docs").await;
    expect(world.get("/locations/"), 404, "trailing_slash", "no trailing slash").await;
    let beta = world.get("/procedure_codes?subdomain=acme&location_id=1");
    expect(beta, 404, "version_without_endpoint", "send `Svc-Api-Version: v3.1.0`").await;
    let place = world.get("/locations/4711");
    expect(place, 404, "location_not_found", "GET /locations").await;
}

#[actix_web::test]
async fn unavailable_times_are_explained_by_cause() {
    let world = world().await;
    let path = "/appointments?subdomain=acme&location_id=1";
    let post = |start: &str, fields: Value| {
        let mut appt = json!({"patient_id": PAT, "provider_id": ANNA, "operatory_id": CHAIR_1,
            "start_time": format!("{}T{start}:00Z", world.monday())});
        fields.as_object().unwrap().iter().for_each(|(name, value)| appt[name] = value.clone());
        world.post(path, json!({ "appt": appt }))
    };
    post("15:00", json!({})).answers(201).await;
    expect(post("15:00", json!({})), 400, "slot_taken", "Search for free slots again").await;
    expect(post("03:00", json!({})), 400, "outside_working_hours", "GET /available_slots").await;
    let stranger = json!({"operatory_id": CHAIR_2});
    expect(post("16:00", stranger), 400, "outside_working_hours", "in this operatory").await;
}

#[actix_web::test]
async fn failures_keep_the_notes() {
    let world = world().await;
    let failed = world.get("/operatories?subdomain=acme&foo=1&location_id=x").reply().await;
    assert_eq!(failed.header("X-Ignored-Parameters"), Some("foo"));
    let body = failed.json();
    assert_eq!(body["description"], "Note that following parameters are ignored: foo.");
    assert_eq!(
        (&body["reason"], &body["error"][0]),
        (&json!("invalid_request"), &json!("location_id must be an integer."))
    );
    let slots = world.get("/available_slots?subdomain=acme&start_date=2026-12-01&days=1&lids=1").answers(400).await;
    assert_eq!(slots["error"], json!(["lids[] is missing: it is a list, written lids[]=1&lids[]=2."]));
    assert_eq!(slots["description"], "Note that following parameters are ignored: lids.");
    // Handlers that fail later, and the booking intent, keep the notes, too.
    let missing = world.get("/appointments/4711?subdomain=acme&foo=1").answers(404).await;
    assert_eq!(missing["description"], "Note that following parameters are ignored: foo.");
    let hold =
        world.post("/intent/booking/hold?subdomain=acme", json!({"slot_token": "slt_00", "foo": 1})).answers(404).await;
    assert_eq!((&hold["reason"], &hold["ok"]), (&json!("slot_not_found"), &json!(false)));
    assert_eq!(hold["description"], "Note that following parameters are ignored: foo.");
}

#[actix_web::test]
async fn unknown_fields_are_named_like_parameters() {
    let world = world().await;
    let body = json!({"communication_log": {"patient_id": PAT, "note": "x", "ocurred_at": "2026-01-01"}, "é": 1});
    let ask = world.post("/communication_logs?subdomain=acme&location_id=1&bar=1", body).version("v3.1.0");
    let reply = ask.reply().await;
    assert_eq!(reply.header("X-Ignored-Parameters"), Some("bar, communication_log.ocurred_at, %C3%A9"));
    let description = reply.json()["description"].as_str().unwrap().to_owned();
    assert!(description.ends_with("ignored: bar, communication_log.ocurred_at, é."), "{description}");
    let search = world.post("/intent/booking/search?subdomain=acme&location_id=1", json!({"foo": 1})).ok().await;
    assert_eq!(search["description"], "Note that following parameters are ignored: foo.");
}

#[actix_web::test]
async fn each_page_has_the_header_of_its_own_request() {
    let world = world().await;
    for _ in 0..2 {
        let reply = world.get("/operatories?subdomain=acme&location_id=1&foo=1").reply().await;
        assert_eq!(reply.header("X-Ignored-Parameters"), Some("foo"));
    }
    assert_eq!(
        world.get("/operatories?subdomain=acme&location_id=1").reply().await.header("X-Ignored-Parameters"),
        None
    );
}

#[actix_web::test]
async fn includes_without_the_grant_are_withheld_not_ignored() {
    let world = world().await;
    let path = format!("/patients/{PAT}?subdomain=acme&include[]=charges&include[]=address&include[]=payments");
    let reply = world.get(&path).key(MAIN_KEY).reply().await;
    assert_eq!(
        reply.json()["description"],
        "Withheld because the API key lacks the grant `financial`: charges, payments."
    );
    assert_eq!(reply.header("X-Ignored-Parameters"), None);
    assert!(world.get(&path).key(ACME_KEY).ok().await["data"]["charges"].is_array());
}
