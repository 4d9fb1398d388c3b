//! Limits on messages before and after the handshake, and the end of connections.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;
use testing::until;
use tests::harness::{
    http_client::{Connection, request},
    workstation::{
        gated_process::{GatedProcess, LOCATION, OTHER},
        socket::{Handshake, ORIGIN, SUBPROTOCOL, Socket},
    },
};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

use crate::workstations::{product, program};

const SOON: Duration = Duration::from_secs(30);
const MIB: usize = 1 << 20;

#[actix::test]
async fn handshakes_of_web_pages_and_other_protocols_are_refused() {
    let product = product().await;
    let shake = async |origin, subprotocol| {
        Socket::shake(product.installation.address, &Handshake { origin, subprotocol }).await.err().flatten()
    };
    for page in ["https://ehr.example", "http://localhost:3000", "null", "file://"] {
        assert_eq!(shake(Some(page), Some(SUBPROTOCOL)).await, Some(403), "{page}");
    }
    assert_eq!(shake(Some(ORIGIN), None).await, Some(400));
    assert_eq!(shake(Some(ORIGIN), Some("practice-sync.workstation.v2")).await, Some(400));
    // Non-browser clients send no origin.
    assert!(
        Socket::shake(product.installation.address, &Handshake { origin: None, ..Handshake::default() }).await.is_ok()
    );
}

#[actix::test]
async fn hello_is_answered_with_location_and_ehr() {
    let product = product().await;
    let workstation = product.pair(LOCATION, "Front desk").await;
    let mut socket = Socket::open(product.installation.address).await.unwrap();
    socket.hello(&workstation.token).await.unwrap();
    let welcome = socket.receive_kind("welcome").await.unwrap();
    assert_eq!((&welcome["protocol"], &welcome["workstation"]), (&json!(1), &json!(workstation.id)));
    assert_eq!(welcome["location"], json!({"id": LOCATION, "name": format!("Place {LOCATION}")}));
    assert_eq!((&welcome["approval"], &welcome["heartbeat_seconds"]), (&json!(false), &json!(20)));
    let ehr = &welcome["ehr"];
    assert_eq!((&ehr["origin"], &ehr["base_path"]), (&json!(product.ehr.origin()), &json!("/app")));
    assert_eq!((&ehr["probe"], ehr["paths"].as_array().unwrap().is_empty()), (&json!("/api/session"), false));
}

/// The adapter declares `/api/`.
#[actix::test]
async fn allowed_paths_narrow_those_of_the_adapter() {
    let mut product = product().await;
    let file = product.installation.config().to_path_buf();
    let text = fs::read_to_string(&file).unwrap();
    let wider = text.replacen(
        "[[institutions.sources]]\n",
        "[[institutions.sources]]\nallowed_paths = [\"/\", \"/admin\"]\n",
        1,
    );
    assert_ne!(wider, text);
    fs::write(&file, wider).unwrap();
    product.restart().await.unwrap();
    let workstation = product.pair(LOCATION, "Front desk").await;
    let mut socket = Socket::open(product.installation.address).await.unwrap();
    socket.hello(&workstation.token).await.unwrap();
    assert_eq!(socket.receive_kind("welcome").await.unwrap()["ehr"]["paths"], json!(["/api/"]));
}

#[actix::test]
async fn any_other_first_message_ends_the_connection() {
    let product = product().await;
    let workstation = product.pair(LOCATION, "Front desk").await;
    let state = json!({"type": "state", "session": "in", "paused": false, "awaiting": 0});
    let empty = json!({"type": "hello"});
    for (first, reason) in [
        (json!({"type": "hello", "token": "psw_nobodys", "extension": "1"}), "token"),
        (json!({"type": "hello", "token": format!("{}0", workstation.token), "extension": "1"}), "token"),
        (state, "protocol"),
        (empty, "protocol"),
        (json!({"type": "pong", "n": 1}), "protocol"),
        (json!(["hello"]), "protocol"),
        (json!(null), "protocol"),
    ] {
        let mut socket = Socket::open(product.installation.address).await.unwrap();
        socket.send(&first).await.unwrap();
        assert_eq!(socket.bye().await.as_deref(), Some(reason), "{first}");
        assert!(socket.ends_within(SOON).await, "{first}");
    }
    for first in [Message::binary(vec![1, 2, 3]), Message::text("{"), Message::text("")] {
        let mut socket = Socket::open(product.installation.address).await.unwrap();
        socket.send_raw(first.clone()).await.unwrap();
        assert_eq!(socket.bye().await.as_deref(), Some("protocol"), "{first:?}");
    }
    // Before authentication, messages must be short.
    let mut socket = Socket::open(product.installation.address).await.unwrap();
    socket.send(&json!({"type": "hello", "token": "x".repeat(5_000)})).await.unwrap();
    assert_eq!(socket.bye().await.as_deref(), Some("flood"));
}

#[actix::test]
async fn silent_connection_is_closed() {
    let product = product().await;
    let since = Instant::now();
    let mut silent = Socket::open(product.installation.address).await.unwrap();
    assert_eq!(silent.bye().await.as_deref(), Some("protocol"));
    assert!(since.elapsed() >= Duration::from_secs(9), "{:?}", since.elapsed());
}

#[actix::test]
async fn unknown_messages_end_the_connection_and_unknown_fields_do_not() {
    let product = product().await;
    let workstation = product.pair(LOCATION, "Front desk").await;
    let mut socket = workstation.socket().await.unwrap();
    let more = json!({"type": "state", "session": "out", "paused": false, "awaiting": 0, "mood": "fine"});
    socket.send(&more).await.unwrap();
    product.gate_is(LOCATION, "logged_out").await;
    socket.send(&json!({"type": "gossip"})).await.unwrap();
    assert_eq!(socket.bye().await.as_deref(), Some("protocol"));
    assert!(socket.ends_within(SOON).await);
    let mut socket = workstation.socket().await.unwrap();
    socket.hello(&workstation.token).await.unwrap();
    assert_eq!(socket.bye().await.as_deref(), Some("protocol"), "two hellos");
    let mut socket = workstation.socket().await.unwrap();
    socket.send_raw(Message::binary(b"{}".to_vec())).await.unwrap();
    assert_eq!(socket.bye().await.as_deref(), Some("protocol"), "not a text");
}

#[actix::test]
async fn flood_ends_only_its_own_connection() {
    let product = product().await;
    let (flooding, other) = (product.pair(LOCATION, "A").await, product.pair(OTHER, "B").await);
    let mut steady = other.socket().await.unwrap();
    steady.state(true, false).await.unwrap();
    steady.leased().await.unwrap();
    for message in [Message::text(json!({"type": "pong", "n": 1}).to_string()), Message::Ping(Vec::new().into())] {
        let mut socket = flooding.socket().await.unwrap();
        for _ in 0..600 {
            // The connection may be closed before the last message.
            if socket.send_raw(message.clone()).await.is_err() {
                break;
            }
        }
        let bye = socket.bye().await;
        assert!(bye.is_none() || bye.as_deref() == Some("flood"), "{bye:?}");
        assert!(socket.ends_within(SOON).await);
    }
    // Other connections are not affected.
    assert_eq!(product.gate(OTHER).await["state"], "connected");
    flooding.socket().await.unwrap();
}

#[actix::test]
async fn oversized_frames_are_refused_by_their_announced_length() {
    let product = product().await;
    let workstation = product.pair(LOCATION, "Front desk").await;
    // A message of the maximum length is read, but invalid; one byte more is not read.
    for (length, reason) in [(12 * MIB, "protocol"), (12 * MIB + 1, "flood")] {
        let mut socket = workstation.socket().await.unwrap();
        // The engine may close the connection during the transmission.
        let _ = socket.send_text("x".repeat(length)).await;
        let bye = socket.bye().await;
        assert!(bye.as_deref() == Some(reason) || (bye.is_none() && reason == "flood"), "{length}: {bye:?}");
    }
    // A frame that announces an enormous length without any data.
    let mut socket = workstation.socket().await.unwrap();
    socket.claim(u64::MAX >> 1).await.unwrap();
    assert!(socket.ends_within(SOON).await, "the engine waits for what no memory holds");
}

#[actix::test]
async fn fragments_are_counted_together() {
    let product = product().await;
    let workstation = product.pair(LOCATION, "Front desk").await;
    let fragment =
        |code: Data, last: bool, payload: Vec<u8>| Message::Frame(Frame::message(payload, OpCode::Data(code), last));
    // Browsers fragment long messages like this.
    let mut socket = workstation.socket().await.unwrap();
    let state = json!({"type": "state", "session": "out", "paused": false, "awaiting": 0, "more": "é".repeat(100_000)});
    let bytes = state.to_string().into_bytes();
    let pieces: Vec<&[u8]> = bytes.chunks(4_001).collect();
    for (n, piece) in pieces.iter().enumerate() {
        let code = if n == 0 { Data::Text } else { Data::Continue };
        socket.send_raw(fragment(code, n + 1 == pieces.len(), piece.to_vec())).await.unwrap();
    }
    product.gate_is(LOCATION, "logged_out").await;
    // A message that never ends.
    let mut code = Data::Text;
    for _ in 0..20 {
        if socket.send_raw(fragment(code, false, vec![b'x'; MIB])).await.is_err() {
            break;
        }
        code = Data::Continue;
    }
    let bye = socket.bye().await;
    assert!(bye.is_none() || bye.as_deref() == Some("flood"), "{bye:?}");
    assert!(socket.ends_within(SOON).await);
}

#[actix::test]
async fn workstation_without_pongs_is_disconnected() {
    let product = product().await;
    let workstation = product.pair(LOCATION, "Front desk").await;
    let mut socket = workstation.socket().await.unwrap();
    socket.state(true, false).await.unwrap();
    socket.leased().await.unwrap();
    let since = Instant::now();
    assert!(socket.ends_within(Duration::from_secs(120)).await, "pings are not answered, and nothing happens");
    assert!(since.elapsed() >= Duration::from_secs(20), "{:?}", since.elapsed());
    product.gate_is(LOCATION, "closed").await;
}

#[actix::test]
async fn workstations_leave_room_for_api_clients() {
    let rules = "[http]\nmax_connections = 12\nmax_workstations = 4\nworkers = 1";
    let product = GatedProcess::open(program(), rules).await;
    let mut seats = Vec::new();
    for _ in 0..4 {
        seats.push(Socket::open(product.installation.address).await.unwrap());
    }
    let full = Socket::shake(product.installation.address, &Handshake::default()).await.err().flatten();
    assert_eq!(full, Some(503));
    let mut connection = Connection::open(product.installation.address).await.unwrap();
    assert_eq!(connection.send(&request("GET", "/healthz", &[], &[])).await.unwrap().status, 200);
    drop(connection);
    drop(seats.pop());
    until("a seat that is free again", async || Socket::open(product.installation.address).await.ok()).await;
}

#[actix::test]
async fn stop_notifies_sockets_and_does_not_wait_for_them() {
    let mut product = product().await;
    let workstation = product.pair(LOCATION, "Front desk").await;
    let mut socket = workstation.socket().await.unwrap();
    socket.state(true, false).await.unwrap();
    let first = socket.leased().await.unwrap();
    let heard = actix_rt::spawn(async move { socket.bye().await });
    let took = product.restart().await.unwrap();
    assert_eq!(heard.await.unwrap().as_deref(), Some("shutdown"));
    assert!(took < Duration::from_secs(20), "stopped after {took:?}");
    let mut socket = workstation.socket().await.unwrap();
    socket.state(true, false).await.unwrap();
    assert!(socket.leased().await.unwrap() > first, "a fencing number came twice");
}
