//! A listener with a certificate: calls, WebSockets, connections without TLS, and replaced certificates.

use std::{
    io::Read,
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use actix_web::{
    dev::ServerHandle,
    rt::task::spawn_blocking,
    test::{TestRequest, call_service, init_service, read_body},
    web::Data,
};
use api::server;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use configuration::Config;
use framework::{
    access::api::Api,
    http::{
        rules::{HttpRules, TlsFiles},
        tls::Certificates,
    },
    values::secret::Secret,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName},
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest, http::HeaderValue};

use crate::support::*;

/// A certificate for `localhost` and its key, as files and for clients.
struct Pair {
    der: CertificateDer<'static>,
    certificate: String,
    key: String,
}

/// Creates a certificate that is valid until the first day of a year.
fn pair(last_year: i32) -> Pair {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let der = params.self_signed(&key).unwrap().der().clone();
    let pem = |label: &str, der: &[u8]| {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64_STANDARD.encode(der))
    };
    Pair { certificate: pem("CERTIFICATE", &der), key: pem("PRIVATE KEY", &key.serialize_der()), der }
}

struct Secured {
    api: Data<Api>,
    address: SocketAddr,
    handle: ServerHandle,
    dir: TempDir,
}

fn rules(dir: &Path) -> HttpRules {
    let files = TlsFiles { certificate: dir.join("chain.pem"), key: dir.join("key.pem") };
    HttpRules { tls: Some(files), workers: 1, header_timeout: Duration::from_secs(1), ..free_rates() }
}

impl Secured {
    async fn start(pair: &Pair) -> Secured {
        Secured::around(world().await, pair)
    }

    fn around(world: ApiWorld, pair: &Pair) -> Secured {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &pair.certificate, &pair.key);
        let rules = rules(dir.path());
        let certificates = Certificates::load(&rules).unwrap();
        let mut api = Api::new(world.engine, keys(), &Secret::from_bytes([7; 32]), rules);
        api.certificates = certificates;
        let api = Data::new(api);
        let listener = server::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let (server, address) = server::start(api.clone(), listener).unwrap();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Secured { api, address, handle, dir }
    }

    /// Opens a connection of a client that trusts this certificate only.
    async fn connect(&self, trusted: &Pair) -> std::io::Result<TlsStream<tokio::net::TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.der.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let stream = tokio::net::TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config.with_no_client_auth())).connect(name, stream).await
    }

    async fn shows(&self, pair: &Pair) -> bool {
        self.connect(pair).await.is_ok()
    }

    /// Returns the metrics of the operators' listener.
    async fn metrics(&self) -> String {
        let app = init_service(server::operators_app(self.api.clone())).await;
        let answer = call_service(&app, TestRequest::with_uri("/metrics").to_request()).await;
        String::from_utf8(read_body(answer).await.to_vec()).unwrap()
    }

    fn refresh(&self) {
        self.api.certificates.refresh(self.api.engine.now());
    }
}

fn write(dir: &Path, certificate: &str, key: &str) {
    std::fs::write(dir.join("chain.pem"), certificate).unwrap();
    std::fs::write(dir.join("key.pem"), key).unwrap();
}

/// Sends a call on a connection that stays open.
async fn get(stream: &mut TlsStream<tokio::net::TcpStream>, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: t/1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut text, mut bytes) = (String::new(), [0; 65_536]);
    loop {
        let read = stream.read(&mut bytes).await.unwrap();
        text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
        if read == 0 || length.is_some_and(|length| body.len() >= length.parse::<usize>().unwrap()) {
            return text;
        }
    }
}

#[actix_web::test]
async fn a_call_is_answered_and_the_metrics_say_when_the_certificate_expires() {
    let pair = pair(2039);
    let secured = Secured::start(&pair).await;
    let mut stream = secured.connect(&pair).await.unwrap();
    assert!(get(&mut stream, "/healthz").await.starts_with("HTTP/1.1 200 OK"));
    let metrics = secured.metrics().await;
    // The first day of 2039.
    let line = "practice_sync_tls_certificate_expires_seconds{listener=\"http\"} 2177452800\n";
    assert!(metrics.contains(line), "{metrics}");
    secured.handle.stop(true).await;
}

/// After 2049 dates have another type.
#[actix_web::test]
async fn an_expiry_after_2049_is_read() {
    let pair = pair(2051);
    let secured = Secured::start(&pair).await;
    let metrics = secured.metrics().await;
    assert!(metrics.contains("expires_seconds{listener=\"http\"} 2556144000\n"), "{metrics}");
    secured.handle.stop(true).await;
}

#[actix_web::test]
async fn connections_without_tls_get_no_answer_and_silent_ones_are_closed() {
    let secured = Secured::start(&pair(2039)).await;
    for sent in ["GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", ""] {
        let address = secured.address;
        let exchange = move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            std::io::Write::write_all(&mut stream, sent.as_bytes()).unwrap();
            let (mut answer, started) = (Vec::new(), Instant::now());
            // The connection is closed or reset, but not open.
            let ended = stream.read_to_end(&mut answer);
            assert!(ended.is_ok() || started.elapsed() < Duration::from_secs(9), "{sent:?}: {ended:?}");
            answer
        };
        let answer = spawn_blocking(exchange).await.unwrap();
        assert!(!answer.starts_with(b"HTTP"), "{sent:?}: {}", String::from_utf8_lossy(&answer));
    }
    secured.handle.stop(true).await;
}

#[actix_web::test]
async fn a_new_certificate_applies_to_new_connections_and_open_ones_continue() {
    let (old, new) = (pair(2039), pair(2040));
    let secured = Secured::start(&old).await;
    let mut open = secured.connect(&old).await.unwrap();
    assert!(get(&mut open, "/healthz").await.starts_with("HTTP/1.1 200 OK"));
    write(secured.dir.path(), &new.certificate, &new.key);
    secured.refresh();
    assert!(secured.shows(&new).await && !secured.shows(&old).await);
    assert!(get(&mut open, "/healthz").await.starts_with("HTTP/1.1 200 OK"));
    let metrics = secured.metrics().await;
    assert!(metrics.contains("expires_seconds{listener=\"http\"} 2208988800\n"), "{metrics}");
    secured.handle.stop(true).await;
}

#[actix_web::test]
async fn an_unusable_pair_leaves_the_current_one() {
    let (old, new) = (pair(2039), pair(2040));
    let secured = Secured::start(&old).await;
    let half = &new.certificate[..new.certificate.len() / 2];
    // One of the two files is missing, truncated or empty; or its content is invalid.
    for (certificate, key) in [
        (new.certificate.as_str(), old.key.as_str()),
        (half, &new.key),
        ("", &new.key),
        (&new.certificate, &new.key[..60]),
        ("nonsense", "nonsense"),
        (&new.key, &new.certificate),
    ] {
        write(secured.dir.path(), certificate, key);
        secured.refresh();
        assert!(secured.shows(&old).await, "{certificate}{key}");
    }
    std::fs::remove_file(secured.dir.path().join("key.pem")).unwrap();
    secured.refresh();
    assert!(secured.shows(&old).await);
    write(secured.dir.path(), &new.certificate, &new.key);
    secured.refresh();
    assert!(secured.shows(&new).await);
    secured.handle.stop(true).await;
}

#[actix_web::test]
async fn certificates_are_reloaded_on_request() {
    let (old, new) = (pair(2039), pair(2040));
    let secured = Secured::start(&old).await;
    write(secured.dir.path(), &new.certificate, &new.key);
    secured.api.certificates.refresh(secured.api.engine.now());
    assert!(secured.shows(&new).await);
    secured.handle.stop(true).await;
}

#[test]
fn a_missing_certificate_prevents_the_start_and_is_named() {
    let (one, other) = (pair(2039), pair(2040));
    let dir = tempfile::tempdir().unwrap();
    let refused = || Certificates::load(&rules(dir.path())).err().unwrap();
    assert!(refused().contains("chain.pem"), "{}", refused());
    write(dir.path(), &one.certificate, &other.key);
    assert!(refused().contains("key.pem: the key does not belong to the first certificate in"), "{}", refused());
    write(dir.path(), "", &one.key);
    assert!(refused().contains("chain.pem: there is no certificate in it"), "{}", refused());
    write(dir.path(), &one.certificate, &one.certificate);
    assert!(refused().contains("key.pem: there is no private key in it"), "{}", refused());
}

/// The client's address and the socket work as without TLS.
#[actix_web::test]
async fn a_workstation_connects() {
    let pair = pair(2039);
    let secured = Secured::around(world_gated().await, &pair);
    let stream = secured.connect(&pair).await.unwrap();
    let mut request = "wss://localhost/workstations/connect".into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("Sec-WebSocket-Protocol", HeaderValue::from_static("practice-sync.workstation.v1"));
    headers.insert("Origin", HeaderValue::from_static("chrome-extension://abcdefghijklmnop"));
    headers.insert("User-Agent", HeaderValue::from_static("t/1"));
    let (mut socket, answer) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    assert_eq!(answer.status(), 101);
    // A message outside the protocol makes the server close the socket.
    use futures_util::{SinkExt, StreamExt};
    socket.send(tungstenite::Message::text("nonsense")).await.unwrap();
    let message = tokio::time::timeout(Duration::from_secs(10), socket.next()).await.unwrap();
    assert!(message.is_some());
    drop(socket);
    secured.handle.stop(false).await;
}

#[test]
fn a_certificate_needs_a_key_and_paths_are_relative_to_the_configuration() {
    let read = |text: &str| Config::parse(text, Path::new("/etc/here"));
    let both = "tls_certificate = \"chain.pem\"\ntls_key = \"/else/key.pem\"\n";
    let http = read(&format!("[http]\n{both}[operators]\nlisten = \"127.0.0.1:8081\"\n{both}")).ok().unwrap().http;
    let files = TlsFiles { certificate: "/etc/here/chain.pem".into(), key: "/else/key.pem".into() };
    assert_eq!((http.tls, http.operators.tls), (Some(files.clone()), Some(files)));
    for (one, other) in [("tls_certificate", "tls_key"), ("tls_key", "tls_certificate")] {
        for table in ["[http]", "[operators]\nlisten = \"127.0.0.1:8081\""] {
            let problems = read(&format!("{table}\n{one} = \"x.pem\"")).err().unwrap();
            assert_eq!(problems.problems.len(), 1);
            assert!(
                problems.problems[0].text.starts_with(&format!("`{one}` needs `{other}`")),
                "{}",
                problems.problems[0].text
            );
        }
    }
}
