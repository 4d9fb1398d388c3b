//! Tests of access tokens with an authorization server and an EHR on loopback, which check every request. The keys in
//! `keys/` were created for these tests only.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use adapter_host::{Authorized, HttpRequest, HttpResponse, HttpTransport, Transport, TransportError, Url};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use parking_lot::Mutex;
use records::ehr::Fault;
use ring::{
    rand::SystemRandom,
    signature::{self, EcdsaKeyPair, KeyPair, RsaKeyPair, UnparsedPublicKey},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde_json::{Value, json};
use setup::{
    login::{Login, LoginError, OAuth, Proof, SigningKey},
    secret::Secret,
};

use super::support::{DEADLINE, TestEhr, adapter, booking, connection};

const RSA: &[u8] = include_bytes!("keys/rsa.pem");
const P384: &[u8] = include_bytes!("keys/p384.pem");
const P256: &[u8] = include_bytes!("keys/p256.pem");
const SECRET: &str = "pass word:+/ü";
const SCOPES: &str = "system/*.read system/Appointment.write";

/// The authentication expected of a client.
#[derive(Clone, Copy)]
enum Believes {
    Basic,
    Post,
    Rs384,
    Es384,
}

/// Both servers on one port: tokens at `/token`, the EHR below `/ehr/`.
struct Servers {
    address: String,
    state: Arc<Mutex<OAuthServerState>>,
}

struct OAuthServerState {
    believes: Believes,
    /// The status and body of the token endpoint's response in place of tokens.
    refuses: Option<(u16, String)>,
    life: u64,
    pause: Duration,
    tokens: u32,
    /// Tokens up to this one are revoked.
    revoked: u32,
    asked: u32,
    /// Assertions seen: each may be used once.
    used: Vec<String>,
    let_in: u32,
    turned_away: u32,
}

impl Servers {
    fn start(believes: Believes) -> Servers {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = OAuthServerState {
            believes,
            refuses: None,
            life: 3_600,
            pause: Duration::ZERO,
            tokens: 0,
            revoked: 0,
            asked: 0,
            used: Vec::new(),
            let_in: 0,
            turned_away: 0,
        };
        let state = Arc::new(Mutex::new(state));
        let (shared, token_url) = (state.clone(), format!("{address}/token"));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, token_url) = (shared.clone(), token_url.clone());
                std::thread::spawn(move || serve(stream, &shared, &token_url));
            }
        });
        Servers { address, state }
    }

    fn with<T>(&self, work: impl FnOnce(&mut OAuthServerState) -> T) -> T {
        work(&mut self.state.lock())
    }

    fn oauth(&self, proof: Proof) -> OAuth {
        let url = Url::parse(&format!("{}/token", self.address)).unwrap();
        OAuth::new(url, "client one".into(), proof, Some(SCOPES.into())).unwrap()
    }

    fn transport(&self, proof: Proof) -> Arc<Authorized> {
        Arc::new(Authorized::new(Arc::new(HttpTransport::new().unwrap()), Login::OAuth(self.oauth(proof))))
    }

    async fn get(&self, transport: &Authorized) -> Result<HttpResponse, TransportError> {
        let request = HttpRequest {
            method: "GET".into(),
            url: Url::parse(&format!("{}/ehr/Patient", self.address)).unwrap(),
            headers: vec![("authorization".into(), "Bearer of-the-guest".into())],
            body: None,
            max_response_body: 1_000,
        };
        transport.send(request, Duration::from_secs(5)).await
    }
}

fn secret() -> Proof {
    Proof::Basic(Secret::new(SECRET))
}

fn key(pem: &[u8]) -> Proof {
    Proof::Key { key: Arc::new(SigningKey::from_pem(pem).unwrap()), id: Some("k-1".into()) }
}

fn serve(mut stream: TcpStream, state: &Mutex<OAuthServerState>, token_url: &str) {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8_192];
    let (head, body) = loop {
        let n = stream.read(&mut chunk).unwrap_or(0);
        if n == 0 {
            return;
        }
        bytes.extend_from_slice(&chunk[..n]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = headers(head).get("content-length").map_or(0, |text| text.parse().unwrap());
        if body.len() >= length {
            break (head.to_owned(), body.to_owned());
        }
    };
    let (status, answer) = match head.starts_with("POST /token ") {
        true => token(&head, &body, state, token_url),
        false => ehr(&head, state),
    };
    let text = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
        answer.len()
    );
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
}

fn headers(head: &str) -> BTreeMap<String, String> {
    let lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect()
}

fn token(head: &str, body: &str, state: &Mutex<OAuthServerState>, token_url: &str) -> (u16, String) {
    let pause = state.lock().pause;
    std::thread::sleep(pause);
    let mut state = state.lock();
    state.asked += 1;
    if let Some(refuses) = state.refuses.clone() {
        return refuses;
    }
    let form: BTreeMap<String, String> =
        Url::parse(&format!("http://form/?{body}")).unwrap().query_pairs().into_owned().collect();
    let proven = form.get("grant_type").map(String::as_str) == Some("client_credentials")
        && form.get("scope").map(String::as_str) == Some(SCOPES)
        && match state.believes {
            Believes::Basic => {
                let pair = STANDARD.encode("client%20one:pass%20word%3A%2B%2F%C3%BC");
                headers(head).get("authorization") == Some(&format!("Basic {pair}"))
            }
            Believes::Post => form.get("client_secret").map(String::as_str) == Some(SECRET),
            Believes::Rs384 | Believes::Es384 => signed(&form, &mut state, token_url),
        };
    if !proven {
        return (401, json!({"error": "invalid_client", "error_description": "who is client one?"}).to_string());
    }
    state.tokens += 1;
    let (token, life) = (format!("t-{}", state.tokens), state.life);
    (200, json!({"access_token": token, "token_type": "Bearer", "expires_in": life}).to_string())
}

/// Validates an assertion by RFC 7523 and SMART backend services: issuer, audience, lifetime, single use and signature.
fn signed(form: &BTreeMap<String, String>, state: &mut OAuthServerState, token_url: &str) -> bool {
    let assertion = &form["client_assertion"];
    let parts: Vec<&str> = assertion.split('.').collect();
    let json = |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap() };
    let (header, claims) = (json(parts[0]), json(parts[1]));
    let now = runtime::clock::now().0 / 1_000;
    let (algorithm, key): (&dyn signature::VerificationAlgorithm, Vec<u8>) = match state.believes {
        Believes::Rs384 => {
            let pair = RsaKeyPair::from_pkcs8(&der(RSA)).unwrap();
            (&signature::RSA_PKCS1_2048_8192_SHA384, pair.public_key().as_ref().to_vec())
        }
        _ => {
            let random = SystemRandom::new();
            let pair = EcdsaKeyPair::from_pkcs8(&signature::ECDSA_P384_SHA384_FIXED_SIGNING, &der(P384), &random);
            (&signature::ECDSA_P384_SHA384_FIXED, pair.unwrap().public_key().as_ref().to_vec())
        }
    };
    let message = format!("{}.{}", parts[0], parts[1]);
    let by_them = UnparsedPublicKey::new(algorithm, key)
        .verify(message.as_bytes(), &URL_SAFE_NO_PAD.decode(parts[2]).unwrap())
        .is_ok();
    let id = claims["jti"].as_str().unwrap().to_owned();
    let once = !state.used.contains(&id);
    state.used.push(id);
    let alg = if matches!(state.believes, Believes::Rs384) { "RS384" } else { "ES384" };
    let life = claims["exp"].as_i64().unwrap() - now;
    by_them
        && once
        && (1..=300).contains(&life)
        && header == json!({"alg": alg, "typ": "JWT", "kid": "k-1"})
        && (&claims["iss"], &claims["sub"]) == (&json!("client one"), &json!("client one"))
        && claims["aud"] == token_url
        && form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
}

fn der(pem: &[u8]) -> Vec<u8> {
    PrivatePkcs8KeyDer::from_pem_slice(pem).unwrap().secret_pkcs8_der().to_vec()
}

fn ehr(head: &str, state: &Mutex<OAuthServerState>) -> (u16, String) {
    let mut state = state.lock();
    let given = headers(head).get("authorization").and_then(|text| text.strip_prefix("Bearer t-")?.parse::<u32>().ok());
    match given.is_some_and(|n| n > state.revoked && n <= state.tokens) {
        true => {
            state.let_in += 1;
            (200, "{}".into())
        }
        false => {
            state.turned_away += 1;
            (401, "{}".into())
        }
    }
}

#[tokio::test]
async fn each_authentication_gets_a_token_that_is_reused() {
    let post = Proof::Post(Secret::new(SECRET));
    for (believes, proof) in
        [(Believes::Basic, secret()), (Believes::Post, post), (Believes::Rs384, key(RSA)), (Believes::Es384, key(P384))]
    {
        let servers = Servers::start(believes);
        let transport = servers.transport(proof);
        for _ in 0..3 {
            assert_eq!(servers.get(&transport).await.unwrap().status, 200);
        }
        servers.with(|state| assert_eq!((state.asked, state.let_in, state.turned_away), (1, 3, 0)));
    }
}

#[tokio::test]
async fn a_wrong_proof_is_unauthorized_and_never_reaches_the_ehr() {
    let wrong = Proof::Basic(Secret::new("guessed"));
    let other_key = Proof::Key { key: Arc::new(SigningKey::from_pem(P384).unwrap()), id: Some("k-2".into()) };
    for (believes, proof) in [(Believes::Basic, wrong), (Believes::Es384, other_key)] {
        let servers = Servers::start(believes);
        let transport = servers.transport(proof);
        assert_eq!(servers.get(&transport).await.unwrap().status, 401);
        servers.with(|state| assert_eq!((state.let_in, state.turned_away), (0, 0)));
    }
}

#[tokio::test]
async fn an_expiring_token_is_renewed_early_and_a_revoked_one_once() {
    let servers = Servers::start(Believes::Basic);
    servers.with(|state| state.life = 1);
    let transport = servers.transport(secret());
    servers.get(&transport).await.unwrap();
    // A tenth of its lifetime before its end.
    tokio::time::sleep(Duration::from_millis(920)).await;
    servers.with(|state| state.life = 3_600);
    assert_eq!(servers.get(&transport).await.unwrap().status, 200);
    servers.with(|state| assert_eq!((state.asked, state.turned_away), (2, 0)));

    servers.with(|state| state.revoked = 2);
    assert_eq!(servers.get(&transport).await.unwrap().status, 200);
    servers.with(|state| assert_eq!((state.asked, state.turned_away), (3, 1)));
    // An EHR that accepts none of them receives two requests, and no more.
    servers.with(|state| state.revoked = 100);
    assert_eq!(servers.get(&transport).await.unwrap().status, 401);
    servers.with(|state| assert_eq!((state.asked, state.turned_away), (4, 3)));
}

#[tokio::test]
async fn concurrent_requests_share_one_token_request() {
    let servers = Servers::start(Believes::Basic);
    servers.with(|state| state.pause = Duration::from_millis(150));
    let transport = servers.transport(secret());
    let all = async |n: usize| {
        let mut under_way = tokio::task::JoinSet::new();
        for _ in 0..n {
            let (transport, address) = (transport.clone(), servers.address.clone());
            let state = servers.state.clone();
            under_way.spawn(async move { Servers { address, state }.get(&transport).await.unwrap().status });
        }
        assert!(under_way.join_all().await.into_iter().all(|status| status == 200));
    };
    all(20).await;
    servers.with(|state| assert_eq!((state.asked, state.let_in), (1, 20)));
    servers.with(|state| state.revoked = 1);
    all(20).await;
    servers.with(|state| assert_eq!((state.asked, state.let_in), (2, 40)));
}

#[tokio::test]
async fn a_failing_token_endpoint_is_retried_later_and_nothing_is_sent() {
    let servers = Servers::start(Believes::Basic);
    let transport = servers.transport(secret());
    for (status, body) in [
        (500, "oops".to_owned()),
        (429, "{}".to_owned()),
        (302, String::new()),
        (200, "<html>".to_owned()),
        (200, json!({"access_token": "", "token_type": "Bearer"}).to_string()),
        (200, json!({"access_token": "two words", "token_type": "Bearer"}).to_string()),
        (200, json!({"access_token": "t-1", "token_type": "mac"}).to_string()),
        (200, json!({"access_token": "x".repeat(9_000), "token_type": "Bearer"}).to_string()),
        (200, "x".repeat(100_000)),
    ] {
        servers.with(|state| state.refuses = Some((status, body)));
        let Err(TransportError::NotSent(why)) = servers.get(&transport).await else { panic!("{status}") };
        assert!(!why.contains(SECRET) && !why.contains("two words"), "{why}");
    }
    servers.with(|state| {
        state.refuses = None;
        state.pause = Duration::from_secs(15);
    });
    let started = Instant::now();
    assert!(matches!(servers.get(&transport).await, Err(TransportError::NotSent(_))), "within the call's time");
    assert!(started.elapsed() < Duration::from_secs(14));
    servers.with(|state| {
        state.pause = Duration::ZERO;
        assert_eq!((state.let_in, state.turned_away), (0, 0));
    });
    assert_eq!(servers.get(&transport).await.unwrap().status, 200);
}

#[test]
fn keys_and_addresses_are_checked_and_never_shown() {
    assert!(matches!(SigningKey::from_pem(P256), Err(LoginError::Key)));
    assert!(matches!(SigningKey::from_pem(b"-----BEGIN NOTHING-----"), Err(LoginError::Pem)));
    let url = |text: &str| Url::parse(text).unwrap();
    for (text, taken) in [
        ("https://login.example/token", true),
        ("http://127.0.0.1:9/token", true),
        ("http://localhost/token", true),
        ("http://login.example/token", false),
        ("http://127.0.0.1.example/token", false),
        ("ftp://127.0.0.1/token", false),
    ] {
        assert_eq!(OAuth::new(url(text), "c".into(), secret(), None).is_ok(), taken, "{text}");
    }
    let shown = format!("{:?} {:?}", secret(), key(RSA));
    assert!(!shown.contains("pass") && shown.contains("RS384"), "{shown}");
}

/// Through the sandbox: the fault for a rejected client. A guest cannot set the header itself.
#[tokio::test]
async fn a_refused_client_is_unauthorized_to_the_engine() {
    let servers = Servers::start(Believes::Basic);
    for (proof, fits) in [(Proof::Basic(Secret::new("guessed")), true), (secret(), false)] {
        let ehr = TestEhr::ok();
        let mut connection = connection(&[("behaviour", "post-then")], &ehr);
        connection.headers.clear();
        connection.base_url = format!("{}/ehr", servers.address);
        connection.transport = servers.transport(proof);
        let ehr = adapter().await.connect(connection).unwrap();
        let ended = ehr.push("k".into(), booking(), DEADLINE).await;
        assert_eq!((matches!(ended, Err(Fault::Unauthorized(_))), ended.is_ok()), (fits, !fits), "{ended:?}");
    }
}
