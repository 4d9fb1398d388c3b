//! Tests of sessions with a Tryton server in this process, which checks every request.

use std::{sync::Arc, time::Duration};

use adapter_host::{Authorized, HttpRequest, HttpResponse, Transport, TransportError, TransportFuture, Url};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use serde_json::{Value, json};
use setup::{
    login::{Login, LoginError, TrytonSession},
    secret::Secret,
};

const PASSWORD: &str = "pass \"word\" ü";
const BASE: &str = "https://ehr.example:8000/gnuhealth";

#[derive(Default)]
struct TrytonServer {
    state: Mutex<TrytonServerState>,
}

#[derive(Default)]
struct TrytonServerState {
    /// The number of opened sessions; the last ones of them are valid.
    opened: u32,
    dead: u32,
    let_in: u32,
    turned_away: u32,
    /// The response to a login in place of a session.
    says: Option<(u16, String)>,
}

impl TrytonServer {
    fn with<T>(&self, work: impl FnOnce(&mut TrytonServerState) -> T) -> T {
        work(&mut self.state.lock())
    }

    fn answer(&self, request: &HttpRequest) -> (u16, String) {
        let body: Value = serde_json::from_slice(request.body.as_deref().unwrap_or_default()).unwrap();
        let authorization = request.headers.iter().find(|(name, _)| name == "authorization");
        self.with(|state| match (body["method"].as_str().unwrap(), authorization) {
            ("common.db.login", None) => {
                assert_eq!(
                    (request.method.as_str(), request.url.as_str()),
                    ("POST", "https://ehr.example:8000/gnuhealth/")
                );
                if let Some(says) = state.says.clone() {
                    return says;
                }
                if body["params"] != json!(["practice-sync", {"password": PASSWORD}]) {
                    return (401, String::new());
                }
                state.opened += 1;
                (200, json!({"id": body["id"], "result": [7, format!("key{}", state.opened)]}).to_string())
            }
            (_, Some((_, value))) => {
                let alive =
                    |n: &u32| *value == format!("Session {}", STANDARD.encode(format!("practice-sync:7:key{n}")));
                if (state.dead + 1..=state.opened).any(|n| alive(&n)) {
                    state.let_in += 1;
                    return (200, "{}".into());
                }
                state.turned_away += 1;
                (401, String::new())
            }
            other => panic!("{other:?}"),
        })
    }
}

struct Way(Arc<TrytonServer>);

impl Transport for Way {
    fn send(&self, request: HttpRequest, _: Duration) -> TransportFuture<'_> {
        let (status, body) = self.0.answer(&request);
        Box::pin(async move {
            // Other requests arrive meanwhile.
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(HttpResponse { status, headers: Vec::new(), body: body.into_bytes() })
        })
    }
}

fn begin(password: &str) -> (Arc<TrytonServer>, Arc<Authorized>) {
    let server = Arc::new(TrytonServer::default());
    let session = TrytonSession::new(BASE, "practice-sync".into(), Secret::new(password)).unwrap();
    (server.clone(), Arc::new(Authorized::new(Arc::new(Way(server)), Login::Tryton(session))))
}

async fn call(transport: &Authorized) -> Result<u16, TransportError> {
    let request = HttpRequest {
        method: "POST".into(),
        url: Url::parse(&format!("{BASE}/")).unwrap(),
        headers: vec![("authorization".into(), "Session of-the-guest".into())],
        body: Some(br#"{"method": "model.party.party.read"}"#.to_vec()),
        max_response_body: 1_000,
    };
    Ok(transport.send(request, Duration::from_secs(5)).await?.status)
}

#[tokio::test]
async fn a_session_is_shared_and_reopened_when_it_expires() {
    let (server, transport) = begin(PASSWORD);
    let all = async || {
        let mut under_way = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let transport = transport.clone();
            under_way.spawn(async move { call(&transport).await.unwrap() });
        }
        assert!(under_way.join_all().await.into_iter().all(|status| status == 200));
    };
    all().await;
    server.with(|state| assert_eq!((state.opened, state.let_in, state.turned_away), (1, 20, 0)));
    server.with(|state| state.dead = 1);
    all().await;
    server.with(|state| assert_eq!((state.opened, state.let_in), (2, 40)));
    // A server that accepts none of them receives two requests, and no more.
    server.with(|state| (state.dead, state.turned_away) = (100, 0));
    assert_eq!(call(&transport).await, Ok(401));
    server.with(|state| assert_eq!((state.opened, state.turned_away), (3, 2)));
}

#[tokio::test]
async fn a_wrong_password_is_unauthorized_and_nothing_else_is_sent() {
    let (server, transport) = begin("guessed");
    assert_eq!(call(&transport).await, Ok(401));
    server.with(|state| assert_eq!((state.opened, state.let_in, state.turned_away), (0, 0, 0)));
}

#[tokio::test]
async fn a_failing_login_is_retried_later_and_nothing_is_sent() {
    let (server, transport) = begin(PASSWORD);
    for (status, body) in [
        (429, String::new()),
        (500, "oops".to_owned()),
        (404, String::new()),
        (200, "<html>".to_owned()),
        (200, json!({"id": 0, "error": ["KeyError", PASSWORD]}).to_string()),
        (200, json!({"id": 0, "result": null}).to_string()),
        (200, json!({"id": 0, "result": [7, ""]}).to_string()),
        (200, json!({"id": 0, "result": [7, "two words"]}).to_string()),
        (200, json!({"id": 0, "result": [7, "k".repeat(9_000)]}).to_string()),
    ] {
        server.with(|state| state.says = Some((status, body)));
        let Err(TransportError::NotSent(why)) = call(&transport).await else { panic!("{status}") };
        assert!(!why.contains("word"), "{why}");
    }
    server.with(|state| state.says = None);
    assert_eq!(call(&transport).await, Ok(200));
}

#[test]
fn logins_and_addresses_are_checked_and_passwords_never_shown() {
    let session = |base: &str, user: &str| TrytonSession::new(base, user.into(), Secret::new(PASSWORD));
    assert!(session("http://127.0.0.1:8000/gnuhealth/", "u").is_ok());
    for base in ["https://ehr.example", "https://ehr.example/", "sandbox:", "ftp://ehr.example/gnuhealth"] {
        assert_eq!(session(base, "u").err(), Some(LoginError::Address), "{base}");
    }
    for user in ["", "a:b"] {
        assert_eq!(session(BASE, user).err(), Some(LoginError::User), "{user}");
    }
    assert!(!format!("{:?}", session(BASE, "u")).contains('ü'));
}
