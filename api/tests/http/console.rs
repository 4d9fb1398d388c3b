//! The console in a browser without scripts.

use std::{sync::atomic::Ordering, time::Duration};

use actix_web::{
    body::MessageBody,
    http::{Method, StatusCode, header::HeaderMap},
    test::{TestRequest, call_service, init_service, read_body},
    web::Data,
};
use api::server;
use audit::{Filter, Rules, Trail};
use engine::{
    records::{
        ehr::Resource,
        sync_state::{DAMAGED, OTHER_SOURCE},
    },
    setup::Setup,
};
use framework::{
    access::api::Api,
    http::rules::HttpRules,
    values::{role::Role, secret::Secret},
};
use location::ids::{AppointmentId, LocationId};
use serde_json::json;
use tempfile::TempDir;
use testing::{PATIENCE, until};

use crate::support::*;

const TRAIL: [u8; 32] = [9; 32];

/// Creates a world with operators and an audit trail.
pub async fn console_world() -> (ApiWorld, TempDir) {
    watched(world().await)
}

pub fn watched(mut world: ApiWorld) -> (ApiWorld, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let trail = Trail::open(folder.path(), &TRAIL, Rules::default()).unwrap();
    let api = Api::new(world.engine.clone(), keys(), &Secret::from_bytes([7; 32]), free_rates()).with_audit(trail);
    api.replace_operators(operators());
    world.api = Data::new(api);
    follow_changes(&world);
    (world, folder)
}

/// A browser, signed in or not.
pub struct ConsoleBrowser<'w> {
    world: &'w ApiWorld,
    pub cookie: Option<String>,
}

pub struct PageResponse {
    pub status: StatusCode,
    headers: HeaderMap,
    pub text: String,
}

impl PageResponse {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the value of a field in the first form that has the field.
    pub fn field(&self, name: &str) -> String {
        let (_, rest) =
            self.text.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{}", self.text));
        rest.split('"').next().unwrap().to_owned()
    }
}

impl<'w> ConsoleBrowser<'w> {
    pub fn new(world: &'w ApiWorld) -> ConsoleBrowser<'w> {
        ConsoleBrowser { world, cookie: None }
    }

    pub async fn signed_in(world: &'w ApiWorld, token: &str) -> ConsoleBrowser<'w> {
        let mut browser = ConsoleBrowser::new(world);
        let seen = browser.post("/console/sign-in", &[("token", token)]).await;
        assert_eq!(seen.status, 303, "{}", seen.text);
        browser.cookie = seen.header("set-cookie").split(';').next().map(str::to_owned);
        browser
    }

    async fn request(&self, request: TestRequest) -> PageResponse {
        let app = init_service(server::operators_app(self.world.api.clone())).await;
        let mut request =
            request.insert_header(("User-Agent", "Mozilla/5.0")).peer_addr(([192, 0, 2, 1], 4_711).into());
        if let Some(cookie) = &self.cookie {
            request = request.insert_header(("Cookie", format!("other=1; {cookie}")));
        }
        let answer = call_service(&app, request.to_request()).await;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let text = String::from_utf8(read_body(answer).await.to_vec()).unwrap();
        PageResponse { status, headers, text }
    }

    pub async fn get(&self, path: &str) -> PageResponse {
        self.request(TestRequest::with_uri(path)).await
    }

    /// Returns a page that must exist.
    pub async fn page(&self, path: &str) -> String {
        let seen = self.get(path).await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.text);
        seen.text
    }

    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> PageResponse {
        self.request(TestRequest::with_uri(path).method(Method::POST).set_form(fields)).await
    }

    /// Opens the confirmation page and presses its button.
    pub async fn act(&self, path: &str) -> PageResponse {
        let asked = self.get(path).await;
        assert_eq!(asked.status, 200, "{path}: {}", asked.text);
        let word = asked.field("csrf_token");
        let (action, query) = path.split_once('?').unwrap();
        let mut fields: Vec<(&str, &str)> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        fields.push(("csrf_token", &word));
        self.post(action, &fields).await
    }
}

pub const PAGES: [&str; 5] = [
    "/console",
    "/console/locations/1",
    "/console/webhooks",
    "/console/adapters",
    "/console?state=red&order=lag&q=place",
];

#[actix_web::test]
async fn every_page_requires_a_sign_in() {
    let (world, _folder) = console_world().await;
    let nobody = ConsoleBrowser::new(&world);
    for path in
        PAGES.into_iter().chain(["/console/audit", "/console/search?q=1", "/console/events?page=/console&seen=0"])
    {
        let seen = nobody.get(path).await;
        assert_eq!((seen.status.as_u16(), seen.text.as_str()), (303, ""), "{path}");
        assert!(seen.header("location").starts_with("/console/sign-in?to=%2Fconsole"), "{path}");
    }
    assert_eq!(nobody.post("/console/actions/sync", &[("location", "1")]).await.status, 303);
    // Neither an API key nor its token opens the console.
    for token in [ACME_KEY, "", "pso_viewe"] {
        assert_eq!(nobody.post("/console/sign-in", &[("token", token)]).await.status, 403, "{token}");
    }
    let bearer = world.token(ACME_KEY).replace("Bearer ", "practice_sync_console=");
    assert_eq!(ConsoleBrowser { cookie: Some(bearer), ..nobody }.get("/console").await.status, 303);
}

#[actix_web::test]
async fn the_console_is_not_on_the_clients_listener() {
    let (world, _folder) = console_world().await;
    let answer = world.get("/console").reply().await;
    assert_eq!(answer.status, 404);
}

#[actix_web::test]
async fn the_cookie_is_valid_only_for_the_console() {
    let (world, _folder) = console_world().await;
    let seen =
        ConsoleBrowser::new(&world).post("/console/sign-in", &[("token", VIEWER), ("to", "/console/webhooks")]).await;
    assert_eq!((seen.status.as_u16(), seen.header("location")), (303, "/console/webhooks"));
    let cookie = seen.header("set-cookie");
    for part in ["; Path=/console", "; Max-Age=43200", "; HttpOnly", "; SameSite=Strict"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains(VIEWER));
    let behind_tls = TestRequest::with_uri("/console/sign-in").method(Method::POST).set_form([("token", VIEWER)]);
    let seen = ConsoleBrowser::new(&world).request(behind_tls.insert_header(("X-Forwarded-Proto", "https"))).await;
    assert!(seen.header("set-cookie").ends_with("; Secure"));
    // A form of another site cannot sign in.
    let foreign = TestRequest::with_uri("/console/sign-in").method(Method::POST).set_form([("token", VIEWER)]);
    assert_eq!(
        ConsoleBrowser::new(&world).request(foreign.insert_header(("Sec-Fetch-Site", "cross-site"))).await.status,
        403
    );
}

#[actix_web::test]
async fn wrong_tokens_are_limited() {
    let mut world = world().await;
    let rules = HttpRules { refused_per_minute: 2, ..free_rates() };
    let api = Api::new(world.engine.clone(), keys(), &Secret::from_bytes([7; 32]), rules);
    api.replace_operators(operators());
    world.api = Data::new(api);
    let nobody = ConsoleBrowser::new(&world);
    for _ in 0..2 {
        assert_eq!(nobody.post("/console/sign-in", &[("token", "pso_wrong")]).await.status, 403);
    }
    let limited = nobody.post("/console/sign-in", &[("token", "pso_wrong")]).await;
    assert_eq!(limited.status, 429);
    assert!(limited.header("retry-after").parse::<u64>().unwrap() > 0);
    // The correct token is accepted.
    ConsoleBrowser::signed_in(&world, VIEWER).await;
}

#[actix_web::test]
async fn a_revoked_token_ends_its_sessions_and_no_other() {
    let (world, _folder) = console_world().await;
    let (viewer, admin) =
        (ConsoleBrowser::signed_in(&world, VIEWER).await, ConsoleBrowser::signed_in(&world, ADMIN).await);
    viewer.page("/console").await;
    world.api.replace_operators(operators().into_iter().filter(|it| it.role == Role::Admin).collect());
    assert_eq!(viewer.get("/console").await.status, 303);
    admin.page("/console").await;
}

#[actix_web::test]
async fn signing_out_removes_the_cookie() {
    let (world, _folder) = console_world().await;
    let browser = ConsoleBrowser::signed_in(&world, VIEWER).await;
    let word = browser.get("/console").await.field("csrf_token");
    assert_eq!(browser.post("/console/sign-out", &[("csrf_token", "x")]).await.status, 403);
    let seen = browser.post("/console/sign-out", &[("csrf_token", &word)]).await;
    assert_eq!((seen.status.as_u16(), seen.header("location")), (303, "/console/sign-in"));
    assert!(seen.header("set-cookie").contains("Max-Age=0"));
}

#[actix_web::test]
async fn every_page_exists_and_loads_no_foreign_content() {
    let (world, _folder) = console_world().await;
    for token in [VIEWER, OPERATOR, ADMIN] {
        let browser = ConsoleBrowser::signed_in(&world, token).await;
        for path in PAGES {
            let seen = browser.get(path).await;
            assert_eq!(seen.status, 200, "{token} {path}: {}", seen.text);
            let policy = seen.header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
            for inline in ["style=\"", " onclick", "<style", "=\"http", "=\"//"] {
                assert!(!seen.text.contains(inline), "{path} has {inline}");
            }
        }
        let audit = browser.get("/console/audit").await;
        assert_eq!(audit.status, if token == VIEWER { 403 } else { 200 });
    }
    let browser = ConsoleBrowser::signed_in(&world, VIEWER).await;
    for (path, kind) in [("/console/style.css", "text/css"), ("/console/script.js", "text/javascript")] {
        assert!(browser.get(path).await.header("content-type").starts_with(kind));
    }
    for path in ["/console/locations/4711", "/console/locations/x", "/console/webhooks/7", "/console/nowhere"] {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
    }
}

#[actix_web::test]
async fn the_list_of_locations_counts_searches_and_pages() {
    let (world, _folder) = console_world().await;
    let browser = ConsoleBrowser::signed_in(&world, VIEWER).await;
    let all = browser.page("/console").await;
    for place in ["Place 1<", "Place 2<", "Place 5<", "Place 6<"] {
        assert!(all.contains(place), "{place}");
    }
    let found = browser.page("/console?q=PLACE+2").await;
    assert!(found.contains("Place 2<") && !found.contains("Place 1<"));
    let by_institution = browser.page("/console?q=rival").await;
    assert!(by_institution.contains("Place 5<") && !by_institution.contains("Place 1<"));
    assert!(browser.page("/console?q=6").await.contains("1 to 1 of 1"));
    assert!(browser.page("/console?q=nowhere").await.contains("No locations match."));
    assert!(browser.page("/console?page=99&q=%26").await.contains("No location"));
}

#[actix_web::test]
async fn red_locations_name_their_problem() {
    let (world, _folder) = watched(world_unread().await);
    let browser = ConsoleBrowser::signed_in(&world, VIEWER).await;
    let fleet = until("the reason of the red location", async || {
        let fleet = browser.page("/console?state=red&q=1").await;
        fleet.contains("it is down").then_some(fleet)
    })
    .await;
    assert!(fleet.contains("badge bad"));
    let location = browser.page("/console/locations/1").await;
    assert!(location.contains("it is down") && location.contains("Recent errors"));
    let errors = world.get("/locations/1/errors").operator(VIEWER).ok().await;
    let newest = &errors["data"][0];
    assert_eq!((&newest["part"], &newest["write_request_id"]), (&json!("pull"), &json!(null)), "{errors}");
    assert!(newest["reason"].as_str().unwrap().contains("it is down") && newest["times"].as_u64() > Some(0));
    let none = world.get(&format!("/locations/{BARE}/errors")).operator(VIEWER).ok().await;
    assert_eq!(none["data"], json!([]));
}

#[actix_web::test]
async fn locations_that_cannot_be_loaded_are_red_and_link_to_the_runbook() {
    for location in [SECOND, BARE] {
        for (world, reason, heading) in [
            (world_damaged(location).await, DAMAGED, "the-store-or-a-location-is-damaged"),
            (world_of_other_source(location).await, OTHER_SOURCE, "a-location-has-another-data-source"),
        ] {
            let (world, _folder) = watched(world);
            let browser = ConsoleBrowser::signed_in(&world, VIEWER).await;
            let page = browser.page(&format!("/console/locations/{location}")).await;
            let fleet = browser.page("/console?state=red").await;
            assert!(fleet.contains("1 to 1 of 1"), "{fleet}");
            for shown in [page, fleet] {
                assert!(shown.contains(reason) && shown.contains("badge bad"), "{shown}");
                assert!(shown.contains(&format!("/console/docs/runbooks#{heading}")), "{shown}");
            }
        }
    }
}

/// A practice with more than fifty locations is shown in pages.
#[actix_web::test]
async fn thousands_of_locations_are_shown_in_pages() {
    let mut setup: Setup = setup();
    let like = setup.locations[&LocationId(BARE)].clone();
    for id in 100..2_100 {
        let mut location = (*like).clone();
        (location.id, location.name) = (LocationId(id), format!("Branch {id}"));
        setup.locations.insert(location.id, location.into());
    }
    let store = std::sync::Arc::new(engine::store::memory::MemoryStore::new());
    let parts = engine::Parts::new(store.clone(), endpoints::resources::record_views::RecordViews::shared());
    let engine = std::sync::Arc::new(engine::Engine::start(setup, parts).await.unwrap());
    let api = Api::new(engine.clone(), keys(), &Secret::from_bytes([7; 32]), free_rates());
    api.replace_operators(operators());
    let world = ApiWorld { api: Data::new(api), engine, books: Default::default(), store };
    let browser = ConsoleBrowser::signed_in(&world, VIEWER).await;
    let first = browser.page("/console?q=branch").await;
    assert_eq!(first.matches("Branch ").count(), 50);
    assert!(first.contains("1 to 50 of 2000") && first.contains("page=2") && !first.contains("Previous"));
    // The list neither queries a location nor loads one into memory.
    assert_eq!(world.engine.metrics().locations_active, 0);
    assert!(browser.page("/console?state=no-news&order=name&q=branch").await.contains("Branch 1000<"));
    assert!(browser.page("/console?state=red&q=branch").await.contains("No locations match."));
    let last = browser.page("/console?q=branch&page=40").await;
    assert!(last.contains("1951 to 2000 of 2000") && !last.contains(">Next<"));
}

const CANARY: &str = "Kanarienvogel";

/// Creates a patient of the first location with an appointment today.
async fn with_canary(world: &ApiWorld) -> String {
    let list =
        format!("/appointments?subdomain=acme&location_id={MAIN}&start=2020-01-01T00:00:00Z&end=2040-01-01T00:00:00Z");
    let appointments = world.get(&list).ok().await;
    let row = appointments["data"].as_array().unwrap().iter().find(|row| !row["patient_id"].is_null()).unwrap().clone();
    let patient = world.get(&format!("/patients/{}?subdomain=acme", row["patient_id"])).ok().await["data"].clone();
    let foreign = patient["foreign_id"].as_str().unwrap();
    world.books.edit_entry(Resource::Patients, (foreign, foreign), json!({"last_name": CANARY}));
    world.sync(MAIN).await;
    let id = AppointmentId(row["id"].as_u64().unwrap());
    let start = world.engine.appointment(id).unwrap().unwrap().placement.span.start;
    world.engine.zone(LocationId(MAIN)).unwrap().local_date(start).to_string()
}

#[actix_web::test]
async fn viewers_see_no_patients_and_other_roles_are_audited() {
    let (world, folder) = console_world().await;
    let day = with_canary(&world).await;
    let calendar = format!("/console/locations/1?day={day}");
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    for path in PAGES.into_iter().map(str::to_owned).chain([calendar.clone(), format!("/console/search?q={PAT}")]) {
        assert!(!viewer.get(&path).await.text.contains(CANARY), "{path}");
    }
    assert!(viewer.page(&calendar).await.contains("Taken"));
    assert_eq!(entries(&folder, VIEWER), ["sign in console"]);

    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    assert!(operator.page(&calendar).await.contains(CANARY));
    let shown = entries(&folder, OPERATOR);
    assert!(shown.iter().any(|it| it == "read patient"), "{shown:?}");
    assert!(shown.iter().any(|it| it == "read appointment"), "{shown:?}");
    let audit = operator.page("/console/audit?kind=operator&name=pso_operator&record=patient").await;
    assert!(audit.contains("GET /console/locations/{id}") && audit.contains("read patient"), "{audit}");
    assert!(!operator.page("/console/audit?kind=operator&name=pso_viewer").await.contains("read patient"));
    assert_eq!(operator.get("/console/audit?from=yesterday").await.status, 400);
}

/// Returns the actions of an operator in the audit trail.
pub fn entries(folder: &TempDir, name: &str) -> Vec<String> {
    let actor = Some(audit::Actor::Operator(name.to_owned()));
    let mut lines = Vec::new();
    audit::export(folder.path(), &TRAIL, Filter { actor, ..Filter::default() }, &mut lines).unwrap();
    let lines =
        lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<audit::AuditEntry>(line).ok());
    lines.map(|entry| format!("{} {}", entry.action, entry.record)).collect()
}

#[actix_web::test]
async fn audit_page_shows_the_tool_of_an_agent() {
    let (world, _folder) = console_world().await;
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let params = json!({"name": "book", "arguments": {"location_id": MAIN, "slot_token": token, "patient": patient}});
    world.post("/mcp", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).ok().await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    until("the entry of the booking", async || {
        let audit = operator.page("/console/audit?record=appointment").await;
        if audit.contains("POST /intent/booking/book <small>tool book</small>") { Ok(()) } else { Err(audit) }
    })
    .await;
}

#[actix_web::test]
async fn bookings_and_patients_are_found_by_operators_with_the_role() {
    let (world, folder) = console_world().await;
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient});
    let booked = world.post("/intent/booking/book?subdomain=acme", body).ok().await;
    let reference = booked["booking"]["booking_ref"].as_str().unwrap();
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let found = operator.page(&format!("/console/search?q={reference}")).await;
    assert!(found.contains("Place 1, ") && found.contains("on its way"), "{found}");
    assert!(!entries(&folder, OPERATOR).contains(&"read patient".to_owned()));
    let by_id = operator.page(&format!("/console/search?q={PAT}")).await;
    assert!(by_id.contains(&format!("patient {PAT} · ACME")), "{by_id}");
    assert!(entries(&folder, OPERATOR).contains(&"read patient".to_owned()));
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    for q in [reference, "1", "place"] {
        assert_eq!(viewer.get(&format!("/console/search?q={q}")).await.header("location"), format!("/console?q={q}"));
    }
}

#[actix_web::test]
async fn actions_need_confirmation_and_role_and_run_once() {
    let (world, folder) = console_world().await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let before = world.engine.sync_state(LocationId(MAIN)).await.unwrap().last_sync;
    tokio::time::sleep(Duration::from_millis(2)).await;
    let asked = operator.page("/console/actions/sync?location=1").await;
    assert!(asked.contains("Place 1, ACME") && asked.contains("<form method=\"post\""));
    let done = operator.act("/console/actions/sync?location=1").await;
    assert_eq!((done.status.as_u16(), done.header("location")), (303, "/console/locations/1?done=sync"));
    assert!(operator.page("/console/locations/1?done=sync").await.contains("Reading begins"));
    assert!(!operator.page("/console/locations/1?done=%3Cb%3Eown").await.contains("<b>own"));
    let last_sync = async || world.engine.sync_state(LocationId(MAIN)).await.unwrap().last_sync;
    until("a read cycle", async || last_sync().await > before).await;
    until("the audit entries", async || world.engine.audit_follower().waiting() == 0).await;
    assert!(entries(&folder, OPERATOR).contains(&"start read cycle location".to_owned()));

    // An action is refused without the form token, with that of another session, and without the role.
    let other = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let word = other.get("/console").await.field("csrf_token");
    for word in ["", "x", &word] {
        let refused = operator.post("/console/actions/sync", &[("location", "1"), ("csrf_token", word)]).await;
        assert_eq!(refused.status, 403);
    }
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    let word = viewer.get("/console").await.field("csrf_token");
    assert_eq!(viewer.get("/console/actions/sync?location=1").await.status, 403);
    assert_eq!(viewer.post("/console/actions/sync", &[("location", "1"), ("csrf_token", &word)]).await.status, 403);
    let word = operator.get("/console").await.field("csrf_token");
    let fields = [("location", "1"), ("version", "configured"), ("csrf_token", word.as_str())];
    assert_eq!(operator.post("/console/actions/roll-out", &fields).await.status, 403);
    assert_eq!(entries(&folder, VIEWER), ["sign in console"]);
    for (path, status) in [
        ("/console/actions/explode?location=1", 404),
        ("/console/actions/sync?location=4711", 404),
        ("/console/actions/sync?location=x", 400),
        ("/console/actions/drop?write=1", 400),
        ("/console/actions/accept-deletions?location=1&resource=nothing", 400),
        ("/console/actions/pair?location=1", 200),
    ] {
        assert_eq!(operator.get(path).await.status, status, "{path}");
    }
    // A refusal by the engine is shown.
    let refused = operator.act("/console/actions/accept-deletions?location=1&resource=patients").await;
    assert!(refused.status.is_client_error() && refused.text.contains("<h1>"), "{}", refused.text);
}

#[actix_web::test]
async fn a_write_is_dropped_and_one_that_failed_retried() {
    let (world, _folder) = console_world().await;
    world.books.locked.store(true, Ordering::SeqCst);
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient});
    world.post("/intent/booking/book?subdomain=acme", body).with("X-Request-Id", "booking-of-mia").ok().await;
    world.until("/write_requests?subdomain=acme&location_id=1", |it| it["data"][0]["status"] == "parked").await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let page = operator.page("/console/locations/1").await;
    assert!(page.contains("parked") && page.contains("create patients"), "{page}");
    // The id of the request that caused the write is shown next to the error.
    let errors = world.get("/locations/1/errors").operator(VIEWER).ok().await["data"].clone();
    let of_write = errors.as_array().unwrap().iter().find(|it| it["part"] == "write").unwrap();
    assert_eq!((&of_write["resource"], &of_write["request_id"]), (&json!("patients"), &json!("booking-of-mia")));
    assert!(page.contains("<code>booking-of-mia</code>"), "{page}");
    let (_, rest) = page.split_once("/console/actions/drop?write=").unwrap();
    let write = rest.split('"').next().unwrap().to_owned();
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    assert!(!viewer.page("/console/locations/1").await.contains("/console/actions/"));
    let done = operator.act(&format!("/console/actions/drop?write={write}")).await;
    assert_eq!(
        (done.status.as_u16(), done.header("location")),
        (303, format!("/console/writes/{write}?done=dropped").as_str())
    );
    assert!(operator.page("/console/locations/1").await.contains("dropped by an operator"));
    let again = operator.act(&format!("/console/actions/drop?write={write}")).await;
    assert!(again.status.is_client_error(), "{}", again.text);
    // The audit page finds the write, and not the write of another location with the same number.
    let audit = async |write: &str| operator.page(&format!("/console/audit?id={write}")).await;
    until("the entry of the drop", async || audit(&write).await.contains("drop write request")).await;
    assert!(audit(&write.replacen("1-", "2-", 1)).await.contains("No entries match."));
}

#[actix_web::test]
async fn workstations_are_paired_and_revoked() {
    let (world, _folder) = watched(world_gated().await);
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let made = operator.act("/console/actions/pair?location=1").await;
    assert_eq!(made.status, 200);
    let (_, rest) = made.text.split_once("<p class=\"code\">").unwrap();
    let code = rest.split('<').next().unwrap();
    let pairing =
        json!({"code": code, "name": "<script>desk</script>", "install": "5b1c1c0e-6a35-4a0e-9a55-0d7a6a6f0001"});
    let paired = world.post("/workstations/pair", pairing).without("Authorization").answers(201).await;
    let page = operator.page("/console/locations/1").await;
    assert!(page.contains("desk") && !page.contains("<script>desk"), "{page}");
    assert!(page.contains("no workstation"), "{page}");
    let workstation = paired["workstation"].as_str().unwrap();
    let done = operator.act(&format!("/console/actions/revoke?location=1&workstation={workstation}")).await;
    assert_eq!(done.header("location"), "/console/locations/1?done=revoked");
    assert!(operator.page("/console/locations/1").await.contains("No workstation is paired."));
}

#[actix_web::test]
async fn messages_are_shown_and_redelivered() {
    let (world, _folder) = watched(world_that_sends().await);
    let target = "https://127.0.0.1:9/hook?secret=1";
    let made = world.post("/webhook_endpoints", json!({"target_url": target})).answers(201).await;
    let id = &made["data"]["id"];
    let subscription = json!({"resource_type": "appointment", "event": "appointment_updated", "subdomain": "acme"});
    world.post(&format!("/webhook_endpoints/{id}/webhook_subscriptions"), subscription).reply().await;
    world.post(&format!("/webhook_endpoints/{id}/test"), json!({})).answers(201).await;
    let operator = ConsoleBrowser::signed_in(&world, OPERATOR).await;
    let list = operator.page("/console/webhooks").await;
    assert!(list.contains("127.0.0.1:9/hook?…") && !list.contains("secret=1"), "{list}");
    let path = format!("/console/webhooks/{id}");
    let one = operator.page(&path).await;
    assert!(one.contains("webhook_endpoint.test") && one.contains("pending"), "{one}");
    assert!(operator.page(&format!("{path}?status=delivered")).await.contains("No deliveries match."));
    let (_, rest) = one.split_once("delivery=").unwrap();
    let delivery = rest.split('"').next().unwrap();
    let done = operator.act(&format!("/console/actions/redeliver?endpoint={id}&delivery={delivery}")).await;
    assert_eq!(done.header("location"), format!("{path}?done=redelivered"), "{}", done.text);
}

#[actix_web::test]
async fn external_texts_are_escaped() {
    let evil = "<script>alert(1)</script>";
    let mut setup = setup();
    for location in setup.locations.values_mut() {
        std::sync::Arc::make_mut(location).name = format!("{evil} {}", location.id);
    }
    for institution in setup.institutions.values_mut() {
        std::sync::Arc::make_mut(institution).name = evil.to_owned();
    }
    let (world, _folder) = watched(world_set_up(setup, free_rates()).await);
    let day = with_canary(&world).await;
    let foreign = |resource: Resource, id: &str, fields| world.books.edit_entry(resource, (id, id), fields);
    let patient = world.get(&format!("/patients/{PAT}?subdomain=acme")).ok().await["data"].clone();
    foreign(
        Resource::Patients,
        patient["foreign_id"].as_str().unwrap(),
        json!({"first_name": evil, "last_name": evil}),
    );
    world.sync(MAIN).await;
    let mut tokens = operators();
    tokens.iter_mut().for_each(|token| token.name = evil.to_owned());
    world.api.replace_operators(tokens);
    let admin = ConsoleBrowser::signed_in(&world, ADMIN).await;
    let mut seen = 0;
    for path in PAGES.into_iter().map(str::to_owned).chain([
        format!("/console/locations/1?day={day}"),
        format!("/console/search?q={PAT}"),
        format!("/console/search?q={PAT}&institution=1"),
        format!("/console?q={}", "%3Cscript%3Ealert(1)%3C/script%3E"),
        format!("/console/audit?kind=operator&name={}", "%3Cscript%3Ealert(1)%3C/script%3E%22"),
        "/console/actions/sync?location=1".to_owned(),
        "/console/locations/%3Cscript%3E".to_owned(),
        "/console/actions/%3Cscript%3E".to_owned(),
    ]) {
        let text = admin.get(&path).await.text;
        assert!(!text.contains("<script>"), "{path}: {text}");
        seen += usize::from(text.contains("&#60;script&#62;") || text.contains("&lt;script&gt;"));
    }
    assert!(seen >= 8, "only {seen} pages show the names");
}

#[actix_web::test]
async fn an_open_page_is_notified_of_changes() {
    let (world, _folder) = console_world().await;
    let viewer = ConsoleBrowser::signed_in(&world, VIEWER).await;
    let page = viewer.page("/console/locations/1").await;
    let (_, rest) = page.split_once("data-live=\"").unwrap();
    let live = rest.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    assert_eq!(viewer.get("/console/events?page=/console/audit&seen=0").await.status, 403);
    let app = init_service(server::operators_app(world.api.clone())).await;
    let listening = async |live: &str| {
        let request = TestRequest::with_uri(live).insert_header(("Cookie", viewer.cookie.clone().unwrap()));
        call_service(&app, request.insert_header(("User-Agent", "Mozilla/5.0")).to_request()).await
    };
    let answer = listening(&live).await;
    assert_eq!(answer.headers().get("content-type").unwrap(), "text/event-stream");
    // The stream ends with the session, after it reported the change.
    let mut body = answer.into_body();
    let mut next = async || std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_next(cx)).await;
    world.sync(MAIN).await;
    let mut text = String::new();
    until("a change is reported", async || {
        text.push_str(&String::from_utf8_lossy(&next().await.unwrap().unwrap()));
        text.contains("event: changed")
    })
    .await;
    world.api.replace_operators(Vec::new());
    until("the stream ends with the session", async || next().await.is_none()).await;
    world.api.replace_operators(operators());
    // The stream ends with the server, too.
    let answer = listening(&live).await;
    world.api.leaving.store(true, Ordering::Relaxed);
    tokio::time::timeout(PATIENCE, read_body(answer)).await.unwrap();
    assert_eq!(listening("/console/events?page=/elsewhere&seen=0").await.status(), 400);
}
