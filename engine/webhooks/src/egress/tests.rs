#![allow(clippy::unwrap_used)]
use std::{
    net::Ipv4Addr,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use testing::{Answer, Receiver};

use super::*;
use crate::limits;

/// Returns the answers in order, then repeats the last one.
struct ScriptedResolver {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl ScriptedResolver {
    fn new(answers: &[&[&str]]) -> Arc<ScriptedResolver> {
        let parse = |one: &&[&str]| one.iter().map(|ip| ip.parse().unwrap()).collect();
        Arc::new(ScriptedResolver { answers: answers.iter().map(parse).collect(), asked: AtomicUsize::new(0) })
    }
}

impl Resolver for ScriptedResolver {
    fn lookup(&self, _host: &str) -> AddressLookup {
        let number = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let found = self.answers[number].clone();
        Box::pin(async move { Ok(found) })
    }
}

fn development() -> Egress {
    Egress::new(Reach::PublicAndLoopback).unwrap()
}

async fn send(egress: &Egress, url: &str) -> Result<u16, SendError> {
    let url = egress.check_url(url).map_err(|_| SendError::RefusedAddress)?;
    egress.post(&url, vec![("timestamp", "t".into()), ("signature", "s".into())], "{}".into()).await
}

#[test]
fn urls_that_are_refused_at_registration() {
    let egress = Egress::new(Reach::Public).unwrap();
    let refused = |url: &str, why: RefusedUrl| assert_eq!(egress.check_url(url).err(), Some(why), "{url}");
    for url in [
        "", "x", "https://", "https://:443/", "//example.com", "https://exa mple.com", "https://256.1.1.1/",
        "https://[::1",
    ] {
        refused(url, RefusedUrl::Invalid);
    }
    for url in
        ["http://example.com/", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "http://localhost/"]
    {
        refused(url, RefusedUrl::NotHttps);
    }
    refused(&format!("https://example.com/{}", "x".repeat(2048)), RefusedUrl::TooLong);
    refused("https://example.com:0/", RefusedUrl::PortZero);
    for url in ["https://user@example.com/", "https://user:secret@example.com/", "https://:secret@example.com/"] {
        refused(url, RefusedUrl::Credentials);
    }
    let private = "127.0.0.1 127.1 2130706433 017700000001 0x7f000001 0x7f.0.0.1 0177.0.0.1 127.0.0.1. 127.000.000.001 1 0 \
        10.0.0.1 167772161 012.0.0.1 0xa000001 169.254.169.254 2852039166 0xA9FEA9FE 0251.0376.0251.0376 192.168.1.1 3232235777 \
        100.64.0.1 198.18.0.1 192.0.2.1 203.0.113.9 224.0.0.1 255.255.255.255 0.0.0.0 ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 %31%32%37.0.0.1 \
        [::] [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1] [2002:7f00:1::] [fe80::1] [fc00::1] \
        [fd00:ec2::254] [ff02::1] [2001:db8::1] [2001::1] localhost LOCALHOST localhost. foo.localhost router.local metadata.google.internal \
        intranet nas.lan ｌｏｃａｌｈｏｓｔ";
    for host in private.split_whitespace() {
        refused(&format!("https://{host}/hook"), RefusedUrl::NotPublic);
        refused(&format!("https://{host}:8443"), RefusedUrl::NotPublic);
    }
    for url in [
        "https://example.com",
        "https://hooks.example.com:8443/a?b=c",
        "https://1.1.1.1/",
        "https://[2606:4700::1]/",
        "https://bücher.example/",
    ] {
        assert!(egress.check_url(url).is_ok(), "{url}");
    }
}

#[test]
fn the_development_switch_opens_loopback_and_nothing_else() {
    let egress = development();
    for url in [
        "http://127.0.0.1:9/", "http://localhost:9/", "https://127.0.0.1/", "http://[::1]:9/", "http://2130706433/",
        "https://example.com/",
    ] {
        assert!(egress.check_url(url).is_ok(), "{url}");
    }
    for url in ["http://example.com/", "http://10.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://foo.localhost/"] {
        assert_eq!(egress.check_url(url).err(), Some(RefusedUrl::NotHttps), "{url}");
    }
    for url in ["https://10.0.0.1/", "https://169.254.169.254/", "https://router.local/"] {
        assert_eq!(egress.check_url(url).err(), Some(RefusedUrl::NotPublic), "{url}");
    }
}

#[tokio::test]
async fn names_that_resolve_to_refused_addresses_are_not_connected_to() {
    for answers in [
        &["127.0.0.1"][..],
        &["10.1.2.3", "169.254.169.254"],
        &["::1"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["0.0.0.0"],
    ] {
        let egress = Egress::with_resolver(Reach::Public, ScriptedResolver::new(&[answers])).unwrap();
        assert_eq!(send(&egress, "https://hooks.example.com/").await, Err(SendError::RefusedAddress), "{answers:?}");
    }
    let nobody = Egress::with_resolver(Reach::Public, ScriptedResolver::new(&[&[]])).unwrap();
    assert_eq!(send(&nobody, "https://hooks.example.com/").await, Err(SendError::Dns));
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_at_every_connection() {
    let receiver = Receiver::start(|_| Answer::Status(200)).await;
    let resolver = ScriptedResolver::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let egress = Egress::with_resolver(Reach::PublicAndLoopback, resolver.clone()).unwrap();
    let url = format!("http://localhost:{}/hook", receiver.address.port());
    assert_eq!(send(&egress, &url).await, Ok(200));
    drop(receiver);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let other_port = "http://localhost:1/hook";
    assert_eq!(send(&egress, other_port).await, Err(SendError::RefusedAddress));
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn only_the_allowed_ones_of_several_addresses_are_used() {
    let receiver = Receiver::start(|_| Answer::Status(204)).await;
    let egress = Egress::with_resolver(
        Reach::PublicAndLoopback,
        ScriptedResolver::new(&[&["10.0.0.1", "169.254.169.254", "127.0.0.1"]]),
    )
    .unwrap();
    let begun = Instant::now();
    assert_eq!(send(&egress, &format!("http://localhost:{}/hook", receiver.address.port())).await, Ok(204));
    assert!(begun.elapsed() < limits::CONNECT_TIMEOUT);
}

#[tokio::test]
async fn literals_are_refused_when_sending_too() {
    let egress = Egress::new(Reach::Public).unwrap();
    for url in ["https://127.0.0.1/", "http://127.0.0.1/", "https://[::1]/", "https://2852039166/"] {
        assert_eq!(send(&egress, url).await, Err(SendError::RefusedAddress), "{url}");
    }
}

#[tokio::test]
async fn only_a_2xx_status_counts_as_delivered() {
    let statuses = [200, 201, 202, 204, 299, 300, 304, 400, 401, 404, 410, 429, 500, 503];
    let receiver = Receiver::start(move |n| Answer::Status(statuses[n])).await;
    let egress = development();
    for status in statuses {
        let expected = if status < 300 { Ok(status) } else { Err(SendError::Status(status)) };
        assert_eq!(send(&egress, &receiver.url()).await, expected);
    }
    let received = receiver.received();
    assert_eq!(received[0].headers["content-type"], "application/json");
    assert_eq!(received[0].headers["signature"], "s");
    assert_eq!(received[0].body, b"{}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = Receiver::start(|_| Answer::Status(200)).await;
    let there = target.url();
    let receiver = Receiver::start(move |_| Answer::Redirect(there.clone())).await;
    assert_eq!(send(&development(), &receiver.url()).await, Err(SendError::Status(302)));
    assert!(target.received().is_empty());
    let inside = Receiver::start(|_| Answer::Redirect("http://169.254.169.254/latest/meta-data".to_owned())).await;
    assert_eq!(send(&development(), &inside.url()).await, Err(SendError::Status(302)));
    assert_eq!(inside.received().len(), 1);
}

#[tokio::test]
async fn broken_connections_are_faults_and_are_not_repeated() {
    let receiver = Receiver::start(|_| Answer::Reset).await;
    assert_eq!(send(&development(), &receiver.url()).await, Err(SendError::NoAnswer));
    assert_eq!(receiver.received().len(), 1);
    let closed = receiver.url();
    drop(receiver);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(send(&development(), &closed).await, Err(SendError::Connect));
    assert_eq!(SendError::Connect.code(), "connect");
    assert_eq!(SendError::Status(500).code(), "500");
}

#[tokio::test]
async fn an_endless_answer_is_cut_off_and_its_status_counts() {
    let receiver = Receiver::start(|n| Answer::Endless(if n == 0 { 200 } else { 500 })).await;
    let begun = Instant::now();
    assert_eq!(send(&development(), &receiver.url()).await, Ok(200));
    assert_eq!(send(&development(), &receiver.url()).await, Err(SendError::Status(500)));
    assert!(begun.elapsed() < limits::TOTAL_TIMEOUT, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_hanging_receiver_times_out_after_fifteen_seconds() {
    let receiver = Receiver::start(|n| if n == 0 { Answer::Hang } else { Answer::Slow(Duration::from_secs(20)) }).await;
    let egress = development();
    let begun = Instant::now();
    let url = receiver.url();
    let (hang, slow) = tokio::join!(send(&egress, &url), send(&egress, &url));
    assert_eq!((hang, slow), (Err(SendError::Timeout), Err(SendError::Timeout)));
    let took = begun.elapsed().as_secs_f64();
    assert!((14.5..17.0).contains(&took), "{took}");
}

/// Runs the calling test in a child process with these environment variables.
async fn in_a_process_of_its_own(variables: &[(&str, &str)]) {
    let name = std::thread::current().name().unwrap().to_owned();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &name]).envs(variables.iter().copied());
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
async fn proxy_variables_are_ignored() {
    const CHILD: &str = "WEBHOOK_EGRESS_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let receiver = Receiver::start(|_| Answer::Status(200)).await;
        assert_eq!(send(&development(), &receiver.url()).await, Ok(200));
        return;
    }
    let proxy = Receiver::start(|_| Answer::Status(200)).await;
    let at = format!("http://{}", proxy.address);
    let variables = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let set: Vec<_> = variables.iter().map(|name| (*name, at.as_str())).chain([(CHILD, "1")]).collect();
    in_a_process_of_its_own(&set).await;
    assert!(proxy.received().is_empty());
}

/// A TLS server with an untrusted certificate. Responds 200 to clients that connect anyway.
fn untrusted_tls_server() -> SocketAddr {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    tls_server(made.cert.der().clone(), &made.signing_key)
}

fn tls_server(certificate: rustls::pki_types::CertificateDer<'static>, key: &rcgen::KeyPair) -> SocketAddr {
    install_crypto();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let config =
        rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key.into()).unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut tls = rustls::StreamOwned::new(connection, stream);
            let _ = io::Read::read(&mut tls, &mut [0; 4096]);
            let _ = io::Write::write_all(&mut tls, b"HTTP/1.1 200 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        }
    });
    address
}

#[tokio::test]
async fn certificates_are_verified() {
    let address = untrusted_tls_server();
    let egress = Egress::with_resolver(Reach::PublicAndLoopback, ScriptedResolver::new(&[&["127.0.0.1"]])).unwrap();
    assert_eq!(send(&egress, &format!("https://localhost:{}/hook", address.port())).await, Err(SendError::Tls));
}

/// Runs in a process that trusts one authority. The valid certificate works, so the others fail because of their single
/// fault.
#[tokio::test]
async fn a_certificate_must_be_trusted_valid_and_of_this_host() {
    const CHILD: &str = "WEBHOOK_EGRESS_AUTHORITY";
    if let Ok(ports) = std::env::var(CHILD) {
        let egress = Egress::with_resolver(Reach::PublicAndLoopback, ScriptedResolver::new(&[&["127.0.0.1"]])).unwrap();
        let mut outcomes = Vec::new();
        for port in ports.split(',') {
            outcomes.push(send(&egress, &format!("https://localhost:{port}/hook")).await);
        }
        assert_eq!(outcomes, [Ok(200), Err(SendError::Tls), Err(SendError::Tls), Err(SendError::Tls)]);
        return;
    }
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let authority_der = authority.self_signed(&authority_key).unwrap().der().clone();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let served = |name: &str, last_year: i32| {
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        tls_server(params.signed_by(&key, &issuer).unwrap().der().clone(), &key)
    };
    let servers =
        [served("localhost", 2090), served("other.example", 2090), served("localhost", 2002), untrusted_tls_server()];
    let ports = servers.map(|address| address.port().to_string()).join(",");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("authority.pem");
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(&authority_der));
    std::fs::write(&file, pem).unwrap();
    in_a_process_of_its_own(&[(CHILD, &ports), ("SSL_CERT_FILE", file.to_str().unwrap())]).await;
}

/// A server that accepts the connection without a handshake costs at most the connect timeout.
#[tokio::test]
async fn a_missing_handshake_times_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/hook", listener.local_addr().unwrap().port());
    let begun = Instant::now();
    assert_eq!(send(&development(), &url).await, Err(SendError::Connect));
    let took = begun.elapsed();
    assert!(took > limits::CONNECT_TIMEOUT / 2 && took < limits::TOTAL_TIMEOUT, "{took:?}");
}

/// A client without the other two checks: only the check of the peer is left.
#[tokio::test]
async fn a_response_from_a_refused_address_is_rejected() {
    let address = untrusted_tls_server();
    let resolver =
        WalledResolver { reach: Reach::PublicAndLoopback, resolver: ScriptedResolver::new(&[&["127.0.0.1"]]) };
    let client =
        Client::builder().no_proxy().tls_danger_accept_invalid_certs(true).dns_resolver(resolver).build().unwrap();
    let url = format!("https://hooks.example.com:{}/hook", address.port());
    let believing = Egress { client: client.clone(), reach: Reach::PublicAndLoopback };
    assert_eq!(send(&believing, &url).await, Ok(200));
    let walled = Egress { client, reach: Reach::Public };
    assert_eq!(send(&walled, &url).await, Err(SendError::RefusedAddress));
}
