//! Clients that do not read their responses, and clients that hold many connections.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use framework::http::rules::{HttpRules, RateRules};
use testing::until;

use crate::{
    server::{exchange, now, serving},
    support::*,
};

const DOCUMENT: &str = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";

fn impatient() -> HttpRules {
    HttpRules { body_timeout: Duration::from_millis(300), ..HttpRules::default() }
}

fn asking(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(DOCUMENT.as_bytes()).unwrap();
    stream
}

#[actix_web::test]
async fn connections_that_read_nothing_are_cut_and_others_are_answered() {
    const CLIENTS: usize = 50;
    let (world, address, handle) = serving(impatient()).await;
    let held: Vec<TcpStream> = (0..CLIENTS).map(|_| asking(address)).collect();
    until("all are cut", async || world.api.connections.cut() == CLIENTS as u64).await;
    until("none is open", async || world.api.connections.open() == 0).await;
    // The document is part of the program, so its bytes are not counted.
    assert_eq!((world.api.response_bytes.in_flight(), world.api.response_bytes.refused()), (0, 0));
    drop(held);
    let closing = DOCUMENT.replace("Host", "Connection: close\r\nHost");
    let answer = exchange(address, vec![now(closing)]).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
    assert!(serde_json::from_str::<serde_json::Value>(body).is_ok());
    handle.stop(true).await;
}

#[actix_web::test]
async fn a_connection_that_reads_byte_by_byte_is_cut() {
    let (world, address, handle) = serving(impatient()).await;
    let mut stream = asking(address);
    stream.set_nonblocking(true).unwrap();
    until("it is cut", async || {
        let _ = stream.read(&mut [0]);
        world.api.connections.cut() == 1
    })
    .await;
    handle.stop(true).await;
}

#[actix_web::test]
async fn connections_beyond_the_share_of_an_address_are_closed_at_once() {
    let rules = HttpRules { max_connections_per_address: 2, ..HttpRules::default() };
    let probe = now("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    for (proxies, is_refused) in [(vec![], true), (vec!["127.0.0.0/8".parse().unwrap()], false)] {
        let (world, address, handle) = serving(HttpRules { trusted_proxies: proxies, ..rules.clone() }).await;
        let held = [TcpStream::connect(address).unwrap(), TcpStream::connect(address).unwrap()];
        until("both are open", async || world.api.connections.open() == 2).await;
        let answer = exchange(address, vec![probe.clone()]).await;
        assert_eq!(
            (answer.is_empty(), world.api.connections.refused()),
            (is_refused, u64::from(is_refused)),
            "{answer}"
        );
        drop(held);
        until("both are closed", async || world.api.connections.open() == 0).await;
        let answer = exchange(address, vec![probe.clone()]).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        handle.stop(true).await;
    }
}

#[actix_web::test]
async fn lists_beyond_the_total_of_bytes_are_refused_with_503() {
    let rate_limits = RateRules { per_second: 0, per_minute: 0, endpoints: Default::default() };
    let rules = HttpRules { max_response_bytes: 1, rate_limits, ..HttpRules::default() };
    let world = world_with(rules.clone()).await;
    let slots = format!("/available_slots?subdomain=acme&start_date={}&days=90&lids[]=1&pids[]=1", world.monday());
    let refused = world.get(&slots).reply().await;
    assert_eq!(refused.status, 503, "{:.200}", refused.text);
    assert!(refused.header("Retry-After").is_some(), "{:?}", refused.headers);
    let body = refused.json();
    assert_eq!(body["reason"], "unavailable");
    assert!(body["error"][0].as_str().unwrap().contains("`max_response_bytes`"), "{body}");
    assert_eq!((world.api.response_bytes.in_flight(), world.api.response_bytes.refused()), (0, 1));
    // Small responses, and responses to operators, are still sent.
    world.get("/locations").ok().await;
    assert_eq!(world.get("/metrics").reply().await.status, 200);
    world.api.replace_rules(HttpRules { max_response_bytes: 256 << 20, ..rules });
    world.get(&slots).ok().await;
    assert_eq!(world.api.response_bytes.in_flight(), 0);
}
