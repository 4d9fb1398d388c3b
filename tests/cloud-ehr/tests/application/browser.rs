//! A minimal browser: a cookie and the page's token.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use cloud_ehr::{CloudEhr, CloudEhrSettings};
use reqwest::{Client, Method, RequestBuilder, Response, redirect::Policy};
use serde_json::Value;

/// 2026-12-01T15:00:00Z, ten in the morning at the practice.
pub const NOW: i64 = 1_796_137_200;

/// A practice with a settable clock.
pub struct TestEhr {
    pub ehr: CloudEhr,
    pub clock: Arc<AtomicI64>,
}

pub fn start(change: impl FnOnce(&mut CloudEhrSettings)) -> TestEhr {
    let clock = Arc::new(AtomicI64::new(NOW));
    let shown = clock.clone();
    let mut settings =
        CloudEhrSettings { clock: Arc::new(move || shown.load(Ordering::SeqCst)), ..CloudEhrSettings::default() };
    change(&mut settings);
    TestEhr { ehr: CloudEhr::start(settings).unwrap(), clock }
}

impl TestEhr {
    pub fn later(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }
}

pub struct TestBrowser {
    client: Client,
    origin: String,
    pub cookie: String,
}

impl TestBrowser {
    pub fn new(ehr: &CloudEhr) -> TestBrowser {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().redirect(Policy::none()).build().unwrap();
        TestBrowser { client, origin: ehr.origin(), cookie: String::new() }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.origin)).header("cookie", &self.cookie)
    }

    pub async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    pub async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status(), 200, "{path}");
        answer.text().await.unwrap()
    }

    pub async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let encoded: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = self.request(Method::POST, path).header("content-type", "application/x-www-form-urlencoded");
        request.body(encoded.join("&")).send().await.unwrap()
    }

    /// Logs in on the login page.
    pub async fn log_in(ehr: &CloudEhr, user: &str) -> TestBrowser {
        let mut browser = TestBrowser::new(ehr);
        let answer = browser.form("/app/login", &[("user", user), ("password", "maple-street")]).await;
        assert_eq!((answer.status().as_u16(), &answer.headers()["location"]), (303, &"/app/schedule".parse().unwrap()));
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        assert!(cookie.ends_with("; Path=/app; HttpOnly; SameSite=Lax"), "{cookie}");
        browser.cookie = cookie.split(';').next().unwrap().to_owned();
        browser
    }

    /// Returns the JSON of a reading call.
    pub async fn json(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.headers()["content-type"], "application/json", "{path}");
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }

    pub async fn csrf(&self) -> String {
        self.json("/app/api/session").await["csrf"].as_str().unwrap().to_owned()
    }

    /// Sends a change like the page's script and returns status and answer.
    pub async fn change(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let request = self.request(method, path).header("x-csrf-token", self.csrf().await).header("x-markup", "v3");
        let answer = request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap();
        let status = answer.status().as_u16();
        (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
    }
}
