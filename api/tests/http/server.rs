//! Timeouts and invalid HTTP on a real socket.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::atomic::Ordering,
    time::Duration,
};

use api::server;
use framework::http::rules::HttpRules;
use testing::until;

use crate::support::*;

pub async fn serving(rules: HttpRules) -> (ApiWorld, SocketAddr, actix_web::dev::ServerHandle) {
    let world = world_with(HttpRules { workers: 1, ..rules }).await;
    let listener = server::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let (server, address) = server::start(world.api.clone(), listener).unwrap();
    let handle = server.handle();
    actix_web::rt::spawn(server);
    (world, address, handle)
}

/// Sends bytes and reads until the server closes.
pub async fn exchange(address: SocketAddr, parts: Vec<(Vec<u8>, Duration)>) -> String {
    let talk = move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        for (bytes, pause) in parts {
            if stream.write_all(&bytes).is_err() {
                break;
            }
            std::thread::sleep(pause);
        }
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    actix_web::rt::task::spawn_blocking(talk).await.unwrap()
}

pub fn now(bytes: impl Into<Vec<u8>>) -> (Vec<u8>, Duration) {
    (bytes.into(), Duration::ZERO)
}

#[actix_web::test]
async fn a_request_is_answered() {
    let (_world, address, handle) = serving(HttpRules::default()).await;
    let answer = exchange(address, vec![now("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")]).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    handle.stop(true).await;
}

/// Otherwise a client could reuse a connection that is about to close.
#[actix_web::test]
async fn a_stopping_server_closes_connections_with_each_response() {
    let (world, address, handle) = serving(HttpRules::default()).await;
    world.api.leaving.store(true, Ordering::Relaxed);
    let answer = exchange(address, vec![now("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")]).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.to_lowercase().contains("\r\nconnection: close\r\n"), "{answer}");
    handle.stop(true).await;
}

#[actix_web::test]
async fn slow_requests_are_closed() {
    let rules = HttpRules {
        header_timeout: Duration::from_secs(1),
        body_timeout: Duration::from_millis(300),
        keep_alive: Duration::from_secs(1),
        ..HttpRules::default()
    };
    let (world, address, handle) = serving(rules).await;
    let answer = exchange(address, vec![(b"GET /healthz HTT".to_vec(), Duration::ZERO)]).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");

    let head = format!(
        "POST /intent/booking/search?subdomain=acme&location_id=1 HTTP/1.1\r\nHost: x\r\nUser-Agent: t/1\r\nSvc-Api-Version: v3.0.0\r\n\
         Authorization: {}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{",
        world.token(ACME_KEY)
    );
    let answer = exchange(address, vec![(head.into_bytes(), Duration::from_millis(600))]).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("The request was not received in time."), "{answer}");
    handle.stop(true).await;
}

#[actix_web::test]
async fn a_body_without_content_length_is_limited() {
    let (world, address, handle) = serving(HttpRules { max_body: 2_048, ..HttpRules::default() }).await;
    let head = format!(
        "POST /intent/booking/search?subdomain=acme&location_id=1 HTTP/1.1\r\nHost: x\r\nUser-Agent: t/1\r\nSvc-Api-Version: v3.0.0\r\n\
         Authorization: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        world.token(ACME_KEY)
    );
    let chunk = format!("400\r\n{}\r\n", " ".repeat(0x400));
    let body = format!("{head}{}0\r\n\r\n", chunk.repeat(3));
    let answer = exchange(address, vec![now(body)]).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("larger than 2048 bytes"), "{answer}");
    handle.stop(true).await;
}

#[actix_web::test]
async fn invalid_http_is_refused() {
    let (_world, address, handle) = serving(HttpRules { keep_alive: Duration::ZERO, ..HttpRules::default() }).await;
    for bytes in ["\r\n\r\n\r\nnonsense\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n"] {
        let answer = exchange(address, vec![now(bytes)]).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{bytes:?}: {answer}");
    }
    let huge = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Huge: {}\r\n\r\n", "x".repeat(300_000));
    let answer = exchange(address, vec![now(huge)]).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer:.200}");
    handle.stop(true).await;
}

#[actix_web::test]
async fn an_answer_to_head_has_no_body() {
    let (world, address, handle) = serving(HttpRules::default()).await;
    let ask = |method: &str| {
        let token = world.token(ACME_KEY);
        format!(
            "{method} /patients/1?subdomain=acme HTTP/1.1\r\nHost: x\r\nUser-Agent: t/1\r\nSvc-Api-Version: v3.0.0\r\n\
             Authorization: {token}\r\nConnection: close\r\n\r\n"
        )
    };
    let length = |answer: &str| {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let line =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        (line.unwrap().parse::<usize>().unwrap(), body.len())
    };
    let get = exchange(address, vec![now(ask("GET"))]).await;
    let head = exchange(address, vec![now(ask("HEAD"))]).await;
    assert!(get.starts_with("HTTP/1.1 200") && head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(length(&get).0, length(&get).1);
    assert_eq!(length(&head), (length(&get).0, 0));
    handle.stop(true).await;
}

/// The HTTP library answers these before a request exists, with an empty body.
#[actix_web::test]
async fn errors_of_the_http_library_have_the_envelope_and_a_request_id() {
    let rules = HttpRules {
        header_timeout: Duration::from_secs(1),
        keep_alive: Duration::from_secs(1),
        ..HttpRules::default()
    };
    let (_world, address, handle) = serving(rules).await;
    let long = format!("GET /healthz?{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(200_000));
    let many = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{}\r\n", "a: b\r\n".repeat(500));
    for (sent, status) in [
        ("GET /patients?name=Renée HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), "400"),
        ("GET /a<b HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), "400"),
        ("POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx".to_owned(), "400"),
        ("POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n".to_owned(), "400"),
        (long, "4"),
        (many, "4"),
        ("GET /healthz HTT".to_owned(), "408"),
    ] {
        let answer = exchange(address, vec![now(sent.clone())]).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{sent:.60}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert!(body["code"] == false && !body["error"][0].as_str().unwrap().is_empty(), "{sent:.60}: {answer}");
        assert!(head.contains("x-request-id: ") && head.contains("\r\nconnection: close"), "{sent:.60}: {answer}");
    }
    // A truncated request has both as well.
    let head = "POST /authenticates HTTP/1.1\r\nHost: x\r\nUser-Agent: t/1\r\nConnection: close\r\n\r\n";
    let answer = exchange(address, vec![now(head)]).await;
    assert!(answer.to_lowercase().contains("x-request-id: ") && answer.contains("\"code\":false"), "{answer}");
    handle.stop(true).await;
}

/// One thread accepts requests, while the other threads read long pages.
#[actix_web::test]
async fn a_probe_is_answered_while_lists_are_read() {
    let (world, address, handle) = serving(HttpRules::default()).await;
    let list = format!(
        "GET /appointments?subdomain=acme&start=2000-01-01&end=2100-01-01&per_page=1000 HTTP/1.1\r\nHost: x\r\nUser-Agent: t/1\r\n\
         Svc-Api-Version: v3.0.0\r\nAuthorization: {}\r\nConnection: close\r\n\r\n",
        world.token(ACME_KEY)
    );
    let lists: Vec<_> = (0..8).map(|_| actix_web::rt::spawn(exchange(address, vec![now(list.clone())]))).collect();
    let probe = exchange(address, vec![now("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")]).await;
    assert!(probe.starts_with("HTTP/1.1 200 OK"), "{probe}");
    for list in lists {
        let answer = list.await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:.200}");
    }
    handle.stop(true).await;
}

/// A listener with all connections in use accepts no others. Operators have a separate listener with its own thread.
#[actix_web::test]
async fn operators_probes_are_answered_while_clients_get_no_answer() {
    let (world, address, handle) = serving(HttpRules { max_connections: 1, ..HttpRules::default() }).await;
    let listener = server::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let operators = listener.local_addr().unwrap();
    let for_operators = server::start_operators(world.api.clone(), listener).unwrap();
    let operators_handle = for_operators.handle();
    actix_web::rt::spawn(for_operators);

    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    let closing = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let (free, wait) = std::sync::mpsc::channel::<()>();
    let (held, holds) = tokio::sync::oneshot::channel();
    let hold = get("/healthz");
    let holder = actix_web::rt::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(hold.as_bytes()).unwrap();
        assert!(stream.read(&mut [0; 1_024]).unwrap() > 0);
        held.send(()).unwrap();
        // The connection stays open until the end of the test.
        let _ = wait.recv();
    });
    holds.await.unwrap();
    let waiting = actix_web::rt::spawn(exchange(address, vec![now(closing("/healthz"))]));
    for (probe, status) in [("/healthz", 200), ("/readyz", 503), ("/metrics", 200)].repeat(10) {
        let answer = exchange(operators, vec![now(closing(probe))]).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{probe}: {answer:.200}");
        assert!(probe != "/readyz" || answer.contains("max_connections"), "{answer}");
        for line in ["connections{listener=\"http\"} 1\n", "connections_limit{listener=\"http\"} 1\n"] {
            assert!(probe != "/metrics" || answer.contains(&format!("practice_sync_http_{line}")), "{answer}");
        }
    }
    assert!(!waiting.is_finished());
    free.send(()).unwrap();
    holder.await.unwrap();
    assert!(waiting.await.unwrap().starts_with("HTTP/1.1 200 OK"));
    until("the connection is counted as closed", async || world.api.connections.open() == 0).await;
    let ready = exchange(operators, vec![now(closing("/readyz"))]).await;
    assert!(ready.starts_with("HTTP/1.1 200 OK"), "{ready}");
    operators_handle.stop(true).await;
    handle.stop(true).await;
}
