//! A world to call: three institutions, their locations with separate EHRs, keys, and a fluent request builder.

use std::{
    net::IpAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix_web::{
    http::{Method, StatusCode, header::HeaderMap},
    rt::task::JoinHandle,
    test::{TestRequest, call_service, init_service, read_body},
    web::Data,
};
use api::server;
use endpoints::{
    resources::record_views::RecordViews,
    routes::{route::Route, table::TABLE},
};
use engine::{
    Engine, Parts,
    records::{
        document::DocumentKind,
        ehr::Ehr,
        sync_state::{DAMAGED, OTHER_SOURCE},
    },
    setup::{
        DataSource, EngineRules, Environment, Institution, LocationSetup, LocationStatus, Setup, WorkstationAccess,
        country::CountryCode,
    },
    store::{Batch, MemoryStore, Store},
};
use framework::{
    access::{
        api::Api,
        audited,
        keys::{ApiKey, Grants, KeyRing, hash},
        operators::OperatorToken,
    },
    http::{
        response_body::NDJSON,
        rules::{HttpRules, RateRules},
    },
    values::{role::Role, secret::Secret},
};
use location::{
    hours::Weekday,
    ids::{InstitutionId, LocationId},
    time::{DAY, HOUR, Timestamp},
    zone::Date,
};
use serde_json::Value;
use testing::until;

use crate::{
    contract,
    practice::{Books, PracticeEhr},
};

// Institutions `acme` (1) and `rival` (2) are in the sandbox, `real` (3) is in production.
pub const MAIN: u32 = 1;
/// Location that books by operatory, in Chicago.
pub const SECOND: u32 = 2;
pub const PENDING: u32 = 3;
pub const CLOSED: u32 = 4;
pub const RIVAL: u32 = 5;
pub const REAL: u32 = 6;

/// Location without an EHR.
pub const BARE: u32 = 7;

/// Locations in the order of their first pulls, which makes ids predictable.
const PULLED: [u32; 4] = [MAIN, SECOND, RIVAL, REAL];

pub const ANNA: u32 = 1;
pub const BEN: u32 = 2;
pub const RIVALS_PROVIDER: u32 = 3;
pub const CHAIR_1: u64 = 1;
pub const CHAIR_2: u64 = 2;
pub const SECONDS_CHAIR: u64 = 3;
pub const CLEANING: u32 = 1;
pub const CHECKUP: u32 = 2;
pub const RIVALS_TYPE: u32 = 3;
pub const PAT: u32 = 1;
/// Id after the twelve appointments of the first location.
pub const SECONDS_APPOINTMENT: u64 = 13;
pub const RIVALS_APPOINTMENT: u64 = 14;

/// Key with all rights at `acme`.
pub const ACME_KEY: &str = "key-acme";
/// Key for the first location only, without grants.
pub const MAIN_KEY: &str = "key-main";
/// Key for the first location only, with all grants.
pub const MAIN_FULL_KEY: &str = "key-main-full";
/// Key for the location without an EHR only.
pub const BARE_KEY: &str = "key-bare";
pub const RIVAL_KEY: &str = "key-rival";
pub const REAL_KEY: &str = "key-real";

/// Operators' tokens, by role.
pub const VIEWER: &str = "pso_viewer";
pub const OPERATOR: &str = "pso_operator";
pub const ADMIN: &str = "pso_admin";

pub struct ApiWorld {
    pub api: Data<Api>,
    pub engine: Arc<Engine>,
    /// Books of the practices' EHRs.
    pub books: Arc<Books>,
    pub store: Arc<dyn Store>,
}

pub async fn world() -> ApiWorld {
    world_with(free_rates()).await
}

/// Starts the engine over a store in memory, after its first pull.
pub async fn world_with(rules: HttpRules) -> ApiWorld {
    world_set_up(setup(), rules).await
}

/// Starts a world in which the first institution's EHR opens only at workstations.
pub async fn world_gated() -> ApiWorld {
    let mut setup = setup();
    let source = setup.sources.get_mut(&1).map(Arc::make_mut).unwrap();
    source.base_url = "https://cloud.example/app/".into();
    source.requests.get_or_insert_default().allowed_paths.push("/api/".into());
    source.access.get_or_insert_default().workstation = Some(WorkstationAccess { probe: "/api/session".into() });
    world_set_up(setup, free_rates()).await
}

/// Starts a world that sends messages to receivers on this machine.
pub async fn world_that_sends() -> ApiWorld {
    let mut setup = setup();
    setup.engine.webhook_development = true;
    world_set_up(setup, free_rates()).await
}

/// Starts a world in which no EHR can be read.
pub async fn world_unread() -> ApiWorld {
    let books = Books::default();
    books.unreadable.store(true, Ordering::SeqCst);
    let mut setup = setup();
    for location in setup.locations.values_mut() {
        // Shorter than the usual pauses, so that tests do not wait.
        Arc::make_mut(location).settings_mut().pull.retry_cap = 50;
    }
    world_of(setup, free_rates(), books).await
}

/// Starts a world with this read interval, in milliseconds.
pub async fn world_read_every(every: i64) -> ApiWorld {
    let mut setup = setup();
    for location in setup.locations.values_mut() {
        Arc::make_mut(location).settings_mut().pull.every = every;
    }
    world_of(setup, free_rates(), Books::default()).await
}

pub fn free_rates() -> HttpRules {
    let rates = RateRules { per_second: 0, per_minute: 0, endpoints: Default::default() };
    HttpRules { rate_limits: rates, finds_per_minute: 0, finds_per_contact: 0, ..HttpRules::default() }
}

pub async fn world_set_up(setup: Setup, rules: HttpRules) -> ApiWorld {
    world_of(setup, rules, Books::default()).await
}

async fn world_of(setup: Setup, rules: HttpRules, books: Books) -> ApiWorld {
    world_over(setup, rules, books, Parts::new(Arc::new(MemoryStore::new()), RecordViews::shared())).await
}

/// Starts a world on a store.
pub async fn world_on_store(store: Arc<dyn Store>) -> ApiWorld {
    world_over(setup(), free_rates(), Books::default(), Parts::new(store, RecordViews::shared())).await
}

/// Starts a world in which the journal of a location is damaged.
pub async fn world_damaged(location: u32) -> ApiWorld {
    let (store, mut damage) = (MemoryStore::new(), Batch::new());
    damage.put(engine::store::keys::journal(location, 1), b"no record".to_vec());
    store.commit(damage).await.unwrap();
    world_on_store(Arc::new(store)).await
}

/// Starts a world in which the records of a location are of another data source than the configured one.
pub async fn world_of_other_source(location: u32) -> ApiWorld {
    let (store, mut site) = (MemoryStore::new(), Batch::new());
    let key = engine::store::keys::record(DocumentKind::EhrSite.byte(), 0, location.into());
    site.put(key, br#"{"source":99}"#.to_vec());
    store.commit(site).await.unwrap();
    world_on_store(Arc::new(store)).await
}

/// Starts a world on a persistent store with its keys in a file.
pub async fn world_kept_in(setup: Setup, store: Arc<dyn Store>, key_file: PathBuf) -> ApiWorld {
    let parts = Parts { key_file: Some(key_file), ..Parts::new(store, RecordViews::shared()) };
    world_over(setup, free_rates(), Books::default(), parts).await
}

async fn world_over(setup: Setup, rules: HttpRules, books: Books, mut parts: Parts) -> ApiWorld {
    let turn = Arc::new(AtomicUsize::new(0));
    let readable = !books.unreadable.load(Ordering::SeqCst);
    let (books, store) = (Arc::new(books), parts.store.clone());
    let ring = KeyRing::from(keys());
    parts.audience = Arc::new(ring.clone());
    for (order, location) in PULLED.into_iter().enumerate() {
        let ehr = PracticeEhr::new(location, order, turn.clone(), books.clone());
        parts.own.insert(LocationId(location), Arc::new(ehr));
    }
    let engine = Arc::new(Engine::start(setup, parts).await.unwrap());
    for (order, location) in PULLED.into_iter().enumerate() {
        turn.store(order, Ordering::SeqCst);
        if readable {
            pulled(&engine, LocationId(location)).await;
        }
    }
    let api = Api::new(engine.clone(), ring, &Secret::from_bytes([7; 32]), rules);
    api.replace_operators(operators());
    ApiWorld { api: Data::new(api), engine, books, store }
}

/// Starts a world with the test's own EHRs, by location.
pub async fn world_on(ehrs: impl IntoIterator<Item = (u32, Arc<dyn Ehr>)>) -> ApiWorld {
    world_on_set_up(setup(), ehrs).await
}

/// Starts such a world with another setup.
pub async fn world_on_set_up(setup: Setup, ehrs: impl IntoIterator<Item = (u32, Arc<dyn Ehr>)>) -> ApiWorld {
    let ehrs: Vec<_> = ehrs.into_iter().collect();
    let locations: Vec<LocationId> = ehrs.iter().map(|(location, _)| LocationId(*location)).collect();
    let world = world_unread_set_up(setup, ehrs).await;
    for location in locations {
        pulled(&world.engine, location).await;
    }
    world
}

/// Starts such a world even if the EHRs cannot be read.
pub async fn world_unread_on(ehrs: impl IntoIterator<Item = (u32, Arc<dyn Ehr>)>) -> ApiWorld {
    world_unread_set_up(setup(), ehrs).await
}

async fn world_unread_set_up(mut setup: Setup, ehrs: impl IntoIterator<Item = (u32, Arc<dyn Ehr>)>) -> ApiWorld {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut parts = Parts::new(store.clone(), RecordViews::shared());
    parts.own = ehrs.into_iter().map(|(location, ehr)| (LocationId(location), ehr)).collect();
    for location in setup.locations.values_mut() {
        // Shorter than the usual pauses for a page that may show a write in flight, so that tests do not wait.
        let pull = &mut Arc::make_mut(location).settings_mut().pull;
        (pull.retry_base, pull.retry_cap, pull.confirm_after) = (50, 50, HOUR);
    }
    let engine = Arc::new(Engine::start(setup, parts).await.unwrap());
    let api = Api::new(engine.clone(), keys(), &Secret::from_bytes([7; 32]), free_rates());
    api.replace_operators(operators());
    ApiWorld { api: Data::new(api), engine, books: Arc::default(), store }
}

async fn pulled(engine: &Engine, location: LocationId) {
    until("the first read cycle", async || {
        let state = engine.sync_state(location).await.unwrap();
        let is_unloadable = |why: &String| why == DAMAGED || why.starts_with(OTHER_SOURCE);
        state.last_sync.is_some() || state.read_reason.as_ref().is_some_and(is_unloadable)
    })
    .await;
}

/// Starts the task that appends the audit entries of changes, as the service does.
pub fn follow_changes(world: &ApiWorld) -> JoinHandle<()> {
    let (follower, api) = (world.engine.audit_follower().clone(), world.api.clone().into_inner());
    actix_web::rt::spawn(audited::audit_committed_changes(follower, Arc::downgrade(&api)))
}

pub fn keys() -> Vec<ApiKey> {
    let key = |name: &str, institution, environment, locations: Option<Vec<u32>>, beta| ApiKey {
        name: name.to_owned(),
        hash: hash(name),
        environment,
        institutions: vec![InstitutionId(institution)],
        locations: locations.map(|ids| ids.into_iter().map(LocationId).collect()),
        grants: Grants { financial: beta, beta },
        organisation: format!("organisation of {name}"),
        channel: None,
        role: None,
    };
    vec![
        key(ACME_KEY, 1, Environment::Sandbox, None, true),
        key(MAIN_KEY, 1, Environment::Sandbox, Some(vec![MAIN]), false),
        key(MAIN_FULL_KEY, 1, Environment::Sandbox, Some(vec![MAIN]), true),
        key(BARE_KEY, 1, Environment::Sandbox, Some(vec![BARE]), true),
        key(RIVAL_KEY, 2, Environment::Sandbox, None, true),
        key(REAL_KEY, 3, Environment::Production, None, false),
    ]
}

pub fn operators() -> Vec<OperatorToken> {
    let token = |token: &str, role| OperatorToken { name: token.to_owned(), hash: hash(token), role };
    vec![token(VIEWER, Role::Viewer), token(OPERATOR, Role::Operator), token(ADMIN, Role::Admin)]
}

pub fn setup() -> Setup {
    let institution = |id, subdomain: &str, environment| Institution {
        subdomain: subdomain.into(),
        name: subdomain.to_uppercase(),
        environment,
        ..testing::institution(id)
    };
    let institutions = [
        institution(1, "acme", Environment::Sandbox),
        institution(2, "rival", Environment::Sandbox),
        institution(3, "real", Environment::Production),
    ];
    let active = LocationStatus::Active;
    let locations = [
        place(MAIN, 1, "America/New_York", active),
        LocationSetup {
            map_by_operatory: true,
            foreign_id: Some("F2".into()),
            ..place(SECOND, 1, "America/Chicago", active)
        },
        place(PENDING, 1, "America/New_York", LocationStatus::Pending),
        place(CLOSED, 1, "America/New_York", LocationStatus::Closed),
        place(RIVAL, 2, "Europe/Berlin", active),
        place(REAL, 3, "Europe/Berlin", active),
        LocationSetup { source: None, ..place(BARE, 1, "America/New_York", active) },
    ];
    let sources = [1, 2, 3].map(|id| DataSource {
        name: format!("Source {id}").into(),
        adapter: String::new(),
        ..testing::source(id, id)
    });
    let engine = EngineRules { actor_threads: 1, ..EngineRules::default() };
    Setup { engine, ..testing::setup(institutions, locations, sources) }
}

fn place(id: u32, institution: u32, zone: &str, status: LocationStatus) -> LocationSetup {
    let mut place = LocationSetup {
        street_address: Some("1 Main Street".into()),
        city: Some("Springfield".into()),
        state: Some("NY".into()),
        zip_code: Some("10001".into()),
        country_code: Some(CountryCode::US),
        zone: zone.parse().unwrap(),
        status,
        ..testing::location_with(LocationId(id), institution, institution, |settings| settings.quota.burst = 1_000)
    };
    place.extras.get_or_insert_default().latitude = Some(40.5);
    place
}

/// Returns a Monday three to nine days from now.
pub fn monday(now: Timestamp) -> Date {
    let first = Date((now.0.div_euclid(DAY) + 3) as i32);
    (0..7).map(|days| first.add_days(days)).find(|date| date.weekday() == Weekday::Monday).unwrap()
}

pub fn midnight_utc(date: Date) -> Timestamp {
    Timestamp(i64::from(date.0) * DAY)
}

impl ApiWorld {
    pub fn monday(&self) -> Date {
        monday(self.engine.now())
    }

    pub fn get(&self, path: &str) -> ApiRequest<'_> {
        self.request(Method::GET, path)
    }

    pub fn post(&self, path: &str, body: Value) -> ApiRequest<'_> {
        self.request(Method::POST, path).json(body)
    }

    pub fn request(&self, method: Method, path: &str) -> ApiRequest<'_> {
        let at_operators = is_of_operators(&method, path);
        let token = if at_operators { format!("Bearer {ADMIN}") } else { self.token(ACME_KEY) };
        let headers = [("Svc-Api-Version", "v3.0.0"), ("User-Agent", "test-suite/1.0"), ("Authorization", &token)];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        ApiRequest { world: self, method, path: path.to_owned(), headers, body: None, peer: None, at_operators }
    }

    pub fn token(&self, key: &str) -> String {
        let id = keys().into_iter().find(|known| known.name == key).unwrap().id();
        format!("Bearer {}", self.api.tokens.mint(id, self.engine.now(), HOUR))
    }

    pub fn patch(&self, path: &str, body: Value) -> ApiRequest<'_> {
        self.request(Method::PATCH, path).json(body)
    }

    pub fn delete(&self, path: &str) -> ApiRequest<'_> {
        self.request(Method::DELETE, path)
    }

    /// Reads everything from a location's EHR, twice if a deletion has to be confirmed.
    pub async fn sync(&self, location: u32) {
        self.read(location).await;
        if !self.engine.sync_state(LocationId(location)).await.unwrap().missing.is_empty() {
            self.read(location).await;
        }
    }

    /// Runs one read cycle.
    async fn read(&self, location: u32) {
        let (id, before) = (LocationId(location), self.engine.now());
        tokio::time::sleep(Duration::from_millis(2)).await;
        self.engine.sync_now(id).await.unwrap();
        until("a read cycle", async || self.engine.sync_state(id).await.unwrap().last_sync > Some(before)).await;
    }

    /// Repeats the request until the response matches.
    pub async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        until(path, async || {
            let shown = self.get(path).ok().await;
            if wanted(&shown) { Ok(shown) } else { Err(shown) }
        })
        .await
    }

    /// Returns the first `count` slots of a search at a location.
    pub async fn offers(&self, location: u32, count: usize) -> Vec<Value> {
        let search = format!("/intent/booking/search?subdomain=acme&location_id={location}");
        let body = serde_json::json!({"start_date": self.monday().to_string(), "limit": count, "appointment_type_id": CHECKUP});
        let found = self.post(&search, body).ok().await;
        assert_eq!(found["slots"].as_array().unwrap().len(), count);
        found["slots"].as_array().unwrap().clone()
    }
}

pub struct ApiRequest<'w> {
    world: &'w ApiWorld,
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    peer: Option<IpAddr>,
    at_operators: bool,
}

pub struct ApiResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl ApiRequest<'_> {
    pub fn json(self, body: Value) -> Self {
        self.with("Content-Type", "application/json").bytes(body.to_string())
    }

    pub fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Replaces the header.
    pub fn with(self, name: &str, value: &str) -> Self {
        let mut without = self.without(name);
        without.headers.push((name.to_owned(), value.to_owned()));
        without
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Sets the peer address of the connection.
    pub fn from(mut self, address: &str) -> Self {
        self.peer = Some(address.parse().unwrap());
        self
    }

    pub fn key(self, key: &str) -> Self {
        let token = self.world.token(key);
        self.with("Authorization", &token)
    }

    /// Calls the operators' listener as an operator.
    pub fn operator(self, token: &str) -> Self {
        ApiRequest { at_operators: true, ..self }.with("Authorization", &format!("Bearer {token}"))
    }

    /// Calls the clients' listener.
    pub fn at_clients(self) -> Self {
        ApiRequest { at_operators: false, ..self }
    }

    pub fn version(self, version: &str) -> Self {
        self.with("Svc-Api-Version", version)
    }

    pub async fn reply(self) -> ApiResponse {
        let asked = contract::Asked::new(&self.method, &self.path, &self.headers);
        let mut request = TestRequest::with_uri(&self.path).method(self.method);
        for (name, value) in self.headers {
            request = request.insert_header((name, value));
        }
        if let Some(peer) = self.peer {
            request = request.peer_addr((peer, 4_711).into());
        }
        if let Some(body) = self.body {
            request = request.insert_header(("Content-Length", body.len().to_string())).set_payload(body);
        }
        let (api, request) = (self.world.api.clone(), request.to_request());
        let response = match self.at_operators {
            true => call_service(&init_service(server::operators_app(api)).await, request).await,
            false => call_service(&init_service(server::app(api)).await, request).await,
        };
        let (status, headers) = (response.status(), response.headers().clone());
        let reply =
            ApiResponse { status, headers, text: String::from_utf8(read_body(response).await.to_vec()).unwrap() };
        contract::check(&asked, &reply);
        reply
    }

    /// Returns the body of a response with this status.
    pub async fn answers(self, status: u16) -> Value {
        let asked = format!("{} {}", self.method, self.path);
        let reply = self.reply().await;
        assert_eq!(reply.status.as_u16(), status, "{asked}: {}", reply.text);
        reply.json()
    }

    /// Asserts a response without a body.
    pub async fn answers_nothing(self, status: u16) {
        let reply = self.reply().await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (status, ""));
    }

    pub async fn ok(self) -> Value {
        self.answers(200).await
    }

    /// Returns the messages of a failure, in the envelope.
    pub async fn fails(self, status: u16) -> Vec<String> {
        let body = self.answers(status).await;
        assert_eq!((&body["code"], &body["data"]), (&Value::Bool(false), &Value::Null), "{body}");
        let messages = body["error"].as_array().unwrap().iter();
        let messages: Vec<String> = messages.map(|message| message.as_str().unwrap().to_owned()).collect();
        assert!(messages.iter().all(|message| !message.ends_with("..")), "one full stop: {messages:?}");
        messages
    }
}

impl ApiResponse {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    pub fn is_lines(&self) -> bool {
        self.header("Content-Type") == Some(NDJSON)
    }

    /// Returns the objects of a body with one per line.
    pub fn lines(&self) -> Vec<Value> {
        self.text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
            .collect()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// Returns whether only operators can call the path; such a call uses their listener.
fn is_of_operators(method: &Method, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let fits = |template: &str| {
        let part = |(given, part): (&str, &str)| given == part || part.starts_with('{');
        template.split('/').count() == path.split('/').count() && path.split('/').zip(template.split('/')).all(part)
    };
    let theirs = |route: &&Route| route.role.is_some() && route.method == *method;
    path == "/metrics" || TABLE.iter().filter(theirs).any(|route| fits(route.path))
}

/// Returns one field of each element.
pub fn each(rows: &Value, field: &str) -> Vec<Value> {
    rows.as_array().unwrap().iter().map(|row| row[field].clone()).collect()
}
