//! A practice with GNU Health: the product, reached over HTTP, and a proxy between product and EHR.

use adapter_conformance::flaky_proxy::FlakyProxy;
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use actix_web::{dev::ServerHandle, web::Data};
use api::server;
use engine::{Engine, Parts};
use framework::{
    access::{
        api::Api,
        keys::{ApiKey, Grants, hash},
    },
    http::rules::{HttpRules, RateRules},
    values::secret::Secret as TokenSecret,
};
use location::{
    settings::{PullRules, WriteRules},
    time::{DAY, HOUR, SECOND},
};
use records::record::Record;
use runtime::clock;
use serde_json::{Value, json};
use setup::{
    DataSource, Environment, LocationSetup, Setup,
    login::{Login, TrytonSession},
    secret::Secret,
};
use store::{EmbeddedStore, Store, StoreConfig, StoreKey};
use tempfile::TempDir;
use testing::until;
use tests::harness::{
    components,
    ehr_server::gnuhealth::{BASE_PATH, GnuHealth, PASSWORD},
    fixtures::{self, INSTITUTION, SOURCE},
    http_client::Caller,
    in_process::{self, LOCATION, ZONE},
};

pub const SUBDOMAIN: &str = "harbour-dental";
const API_KEY: &str = "psk_of_the_practice";
const OFFSET: i64 = 7 * 3_600;
const TYPES: &str = r#"[{"id":"CHECKUP","name":"Check-up – kurz","minutes":30}]"#;

pub struct GnuHealthHarness {
    pub server: GnuHealth,
    /// Proxy between the product and the server.
    pub proxy: FlakyProxy,
    pub engine: Arc<Engine>,
    pub caller: Caller,
    http: ServerHandle,
    _dir: TempDir,
    /// Local midnight of tomorrow, in seconds since 1970.
    pub midnight: i64,
}

impl GnuHealthHarness {
    /// Starts a practice and reads it once. Returns `None` if the suite is not selected.
    pub async fn open(login: &str) -> Option<GnuHealthHarness> {
        let server = GnuHealth::start().await?;
        let midnight = (clock::now().0 / 1_000 - OFFSET).div_euclid(86_400) * 86_400 + 86_400 + OFFSET;
        server.seed(midnight).await;
        let proxy = FlakyProxy::to(server.address()).await;
        let dir = tempfile::tempdir().expect("a folder for the store");
        let setup = setup(&proxy, login);
        let (engine, http, caller) = start(dir.path(), setup).await;
        let practice = GnuHealthHarness { server, proxy, engine, caller, http, _dir: dir, midnight };
        until("the first pull", async || practice.engine.sync_state(LOCATION).await.ok()?.last_sync).await;
        Some(practice)
    }

    pub async fn close(self) {
        self.http.stop(false).await;
        self.engine.stop().await;
    }

    /// Reads the EHR completely.
    pub async fn sync(&self) {
        in_process::sync(&self.engine).await;
    }

    /// Waits until no write is pending.
    pub async fn idle(&self) {
        in_process::idle(&self.engine).await;
    }

    pub async fn get(&mut self, path: &str) -> Value {
        let (status, answer) = self.caller.get(&full(path)).await.expect("the product answers");
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Returns all records of a list from one page.
    pub async fn list(&mut self, path: &str) -> Vec<Value> {
        let joined = if path.contains('?') { '&' } else { '?' };
        self.get(&format!("{path}{joined}per_page=1000")).await["data"].as_array().expect("a list").clone()
    }

    pub async fn post(&mut self, path: &str, body: Value) -> Value {
        let (status, answer) = self.caller.post(&full(path), &body).await.expect("the product answers");
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    pub async fn patch(&mut self, path: &str, body: Value) -> Value {
        let (status, answer) = self.caller.patch(&full(path), &body).await.expect("the product answers");
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    /// Returns a professional's offers on the n-th day as slot tokens by local time.
    pub async fn offers(&mut self, provider: &str, day: i64) -> BTreeMap<String, String> {
        let provider = self.our_id("/providers", provider).await;
        let (kind, start) = (self.list("/appointment_types").await[0]["id"].clone(), self.date(day));
        let asked = json!({"provider_ids": [provider], "start_date": start, "days": 1, "limit": 100, "appointment_type_id": kind});
        let found = self.post("/intent/booking/search", asked).await;
        let slots = found["slots"].as_array().expect("slots").iter();
        slots
            .map(|slot| {
                (self.time(slot["start_iso"].as_str().unwrap()), slot["slot_token"].as_str().unwrap().to_owned())
            })
            .collect()
    }

    pub async fn times(&mut self, provider: &str, day: i64) -> Vec<String> {
        self.offers(provider, day).await.into_keys().collect()
    }

    /// Books the offer at a local time and returns the booking from the response.
    pub async fn book(&mut self, provider: &str, day: i64, time: &str, key: &str, person: &Value) -> Value {
        let token = self.offers(provider, day).await.remove(time).unwrap_or_else(|| panic!("{time} is not offered"));
        let body = json!({"slot_token": token, "idempotency_key": key, "patient": person, "note": "läuft ☺"});
        self.post("/intent/booking/book", body).await["booking"].clone()
    }

    /// Waits until the booking is written to the EHR.
    pub async fn written(&self, id: u64) -> Record<records::Appointment> {
        in_process::written(&self.engine, id).await
    }

    pub fn appointment(&self, id: u64) -> Record<records::Appointment> {
        in_process::appointment(&self.engine, id)
    }

    /// Returns the appointment in the EHR.
    pub async fn in_ehr(&self, id: u64) -> Value {
        let foreign = number(self.appointment(id).foreign_id.as_deref().expect("it was written"));
        let fields = [
            "patient", "healthprof", "state", "appointment_date", "appointment_date_end", "comments", "checked_in_date",
        ];
        self.server.one("gnuhealth.appointment", json!([["id", "=", foreign]]), &fields).await
    }

    /// Returns our id of a foreign id.
    pub async fn our_id(&mut self, list: &str, foreign_id: &str) -> Value {
        let all = self.list(list).await;
        let found = all.iter().find(|record| record["foreign_id"] == foreign_id);
        found.unwrap_or_else(|| panic!("{list} has no {foreign_id}: {all:?}"))["id"].clone()
    }

    /// Returns the local time of a minute on the n-th day, in seconds since 1970.
    pub fn at(&self, day: i64, minute: i64) -> i64 {
        self.midnight + day * 86_400 + minute * 60
    }

    pub fn iso(&self, day: i64, minute: i64) -> String {
        chrono::DateTime::from_timestamp(self.at(day, minute), 0).expect("near").to_rfc3339()
    }

    fn date(&self, day: i64) -> String {
        let at = chrono::DateTime::from_timestamp(self.at(day, 0) - OFFSET, 0).expect("near");
        at.date_naive().to_string()
    }

    fn time(&self, iso: &str) -> String {
        let at = chrono::DateTime::parse_from_rfc3339(iso).expect("a time");
        at.with_timezone(&ZONE).format("%H:%M").to_string()
    }
}

pub fn number(foreign_id: &str) -> i64 {
    foreign_id.parse().expect("a number of the database")
}

fn full(path: &str) -> String {
    let joined = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joined}subdomain={SUBDOMAIN}&location_id={LOCATION}")
}

async fn start(dir: &Path, setup: Setup) -> (Arc<Engine>, ServerHandle, Caller) {
    let mut config = StoreConfig::new(dir.join("store"), StoreKey::new([7; 32]));
    config.floor_bytes = 0;
    // The previous engine may still be finishing its last calls.
    let store = until("the store is free", async || EmbeddedStore::open(config.clone()).ok()).await;
    let mut parts =
        Parts::new(Arc::new(store) as Arc<dyn Store>, endpoints::resources::record_views::RecordViews::shared());
    parts.adapters = components::load(&["gnuhealth"]).await;
    let engine = Arc::new(Engine::start(setup, parts).await.expect("the engine starts"));
    let rates = RateRules { per_second: 0, per_minute: 0, endpoints: BTreeMap::default() };
    let rules = HttpRules { workers: 1, rate_limits: rates, shutdown_timeout: Duration::ZERO, ..HttpRules::default() };
    let key = ApiKey {
        name: "tests".to_owned(),
        hash: hash(API_KEY),
        environment: Environment::Sandbox,
        institutions: vec![INSTITUTION],
        locations: None,
        grants: Grants { financial: true, beta: true },
        organisation: "tests".to_owned(),
        channel: None,
        role: None,
    };
    let api = Data::new(Api::new(engine.clone(), vec![key], &TokenSecret::from_bytes([7; 32]), rules));
    let listener = server::listen(([127, 0, 0, 1], 0).into()).expect("loopback has a free port");
    let (server, address) = server::start(api, listener).expect("the API starts");
    let handle = server.handle();
    actix_rt::spawn(server);
    let caller = Caller::sign_in(address, API_KEY).await.expect("the key is good").at("v3.1.0");
    (engine, handle, caller)
}

fn setup(proxy: &FlakyProxy, login: &str) -> Setup {
    let base_url = format!("http://{}{BASE_PATH}", proxy.address());
    let session =
        TrytonSession::new(&base_url, login.to_owned(), Secret::new(PASSWORD)).expect("an address and a login");
    let source = fixtures::source(SOURCE, INSTITUTION, "gnuhealth", &base_url);
    let mut source = DataSource { guest_memory_mib: 128, ..source };
    source.access.get_or_insert_default().login = Some(Login::Tryton(session));
    let mut place =
        LocationSetup { foreign_id: Some("1".into()), ..fixtures::location(LOCATION, "harbour", ZONE, false) };
    for (name, value) in [("appointment_types", TYPES), ("country", "US")] {
        place.extras.get_or_insert_default().adapter_config.insert(name.to_owned(), value.to_owned());
    }
    let settings = place.settings_mut();
    settings.write = WriteRules {
        call_deadline: 10 * SECOND,
        backoff_base: 50,
        backoff_cap: 400,
        settle: 100,
        breaker_threshold: 100,
        breaker_pause: 200,
        breaker_pause_cap: 400,
        ..WriteRules::default()
    };
    // Reads once, and later only on request of a test.
    settings.pull = PullRules {
        every: HOUR,
        retry_base: 100,
        retry_cap: 400,
        confirm_after: HOUR,
        keep_past: DAY,
        ..PullRules::default()
    };
    testing::setup([fixtures::institution(INSTITUTION, SUBDOMAIN)], [place], [source])
}
