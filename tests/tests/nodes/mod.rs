//! Several nodes on one database, each as a process, without a load balancer: any node takes any call.
//!
//! Nodes are killed, paused, cut off from the database, stopped, added and removed while clients book, change,
//! cancel, pay and hold through all of them. Some clocks are wrong; the EHRs lose replies and are not idempotent. In
//! the end, `checker` compares the clients' answers with the final state. `NODES_ROUNDS` is the number of events,
//! `NODES_SEED` repeats a run.

mod checker;
mod clients;
mod clock;
mod cluster;
mod configurations;
mod failures;
mod membership;

use std::time::Instant;

use adapter_kit::{Manifest, pack};
use location::zone::Date;
use postgres_server::is_skipped;
use sandbox_ehr::Behaviours;
use serde_json::{Value, json};
use testing::until;
use tests::harness::{
    components, fixtures,
    http_client::Caller,
    process::{OPERATOR_TOKEN, booking},
};

use clients::{book, get_with_retries, insisting, offers};
use cluster::{FIRST, INSTITUTIONS, Nodes, PERIOD, at, subdomain};

#[actix::test]
async fn any_node_accepts_any_call_and_others_take_over_its_locations() {
    if is_skipped() {
        return;
    }
    let mut nodes = Nodes::started(&Behaviours::default(), &[]).await;
    let mut callers = [nodes.sign_in(0).await, nodes.sign_in(1).await, nodes.sign_in(2).await];

    // A key makes one booking, independent of the node.
    for location in 1..=INSTITUTIONS {
        let slot = offers(&mut callers[0], location, 2).await.pop().unwrap().token;
        let key = format!("nodes-{location}");
        let body = booking(&slot, &key, u64::from(location), &key);
        let made = book(&mut callers[1], location, &body).await;
        let again = book(&mut callers[2], location, &body).await;
        assert_eq!(
            (&again["replay"], &again["booking"]["booking_ref"]),
            (&json!(true), &made["booking"]["booking_ref"])
        );
    }
    let all = get_with_retries(&mut callers[2], "/sync_status").await;
    assert_eq!(all["data"].as_array().map(Vec::len), Some(INSTITUTIONS as usize), "{all}");

    // Method, headers and body of a forwarded call.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let owner = nodes.owner(0, 1).await;
    let other = (owner + 1) % FIRST;
    let asked = |method: reqwest::Method, path: String| {
        let url = format!("http://{}{path}", nodes.nodes[other].installation.address);
        let asked = client.request(method, url).header("authorization", callers[0].authorization());
        asked
            .header("svc-api-version", "v3.0.0")
            .header("user-agent", "tests/1.0")
            .header("x-request-id", "of-this-test")
    };
    for (method, path, status) in [
        (reqwest::Method::GET, at("/patients", 1), 200),
        (reqwest::Method::HEAD, at("/patients", 1), 200),
        (reqwest::Method::GET, format!("/patients/99999999?subdomain={}", subdomain(1)), 404),
        (reqwest::Method::POST, at("/intent/booking/search", 1), 200),
        (reqwest::Method::POST, at("/intent/booking/book", 1), 400),
        (reqwest::Method::DELETE, at("/patients", 1), 405),
    ] {
        let (handed_on, answer) = until("an answer", async || {
            let before = forwarded(&nodes, other).await;
            let sent = asked(method.clone(), path.clone()).header("content-type", "application/json");
            let sent = if method == reqwest::Method::POST { sent.body("{}") } else { sent };
            let answer = sent.send().await.unwrap();
            // A location that is moving returns 503.
            (answer.status() != 503).then_some((forwarded(&nodes, other).await - before, answer))
        })
        .await;
        assert_eq!(answer.status().as_u16(), status, "{method} {path}");
        assert_eq!(answer.headers()["x-request-id"], "of-this-test", "{method} {path}");
        assert!(!answer.headers().contains_key("x-node-proof"), "what nodes say to each other stays with them");
        // An unsupported method is rejected without forwarding. A call is forwarded twice if the other node did not
        // answer the first time.
        assert_eq!(handed_on > 0, status != 405, "{method} {path}");
        let length = answer.content_length();
        let body = answer.bytes().await.unwrap();
        assert_eq!(body.is_empty(), method == reqwest::Method::HEAD, "{method} {path}: {length:?}");
    }
    let large = vec![b' '; (1 << 20) + 1];
    let answer = asked(reqwest::Method::POST, at("/intent/booking/book", 1)).body(large).send().await;
    assert!(answer.map_or(true, |answer| answer.status() == 413), "too large a body is refused where it comes in");
    // Requests without the secret are rejected.
    let internal = nodes.nodes[owner].internal;
    let stranger = client.get(format!("http://{internal}{}", at("/patients", 1))).send().await.unwrap();
    assert_eq!(stranger.status(), 403);

    // Operators' tokens are not valid for client routes at any node, nor API keys for operators' routes.
    let installation = &nodes.nodes[other].installation;
    for node in [owner, other] {
        let clients = nodes.nodes[node].installation.address;
        let mut misplaced = Caller::operator(clients, OPERATOR_TOKEN).await.unwrap();
        assert_eq!(misplaced.get(&at("/patients", 1)).await.unwrap().0, 401);
        assert_eq!(misplaced.get("/sync_status").await.unwrap().0, 401);
    }
    let mut operator = installation.operator().await.unwrap();
    let all = get_with_retries(&mut operator, "/sync_status").await;
    assert_eq!(all["data"].as_array().map(Vec::len), Some(INSTITUTIONS as usize), "{all}");
    until("the status of the locations of all nodes", async || {
        let (_, fleet) = operator.get("/fleet?per_page=1000").await.ok()?;
        let rows = fleet["data"].as_array()?;
        let known = rows.iter().filter(|row| row["writes_waiting"].is_u64()).count();
        (known == rows.len() && known >= INSTITUTIONS as usize).then_some(())
    })
    .await;
    let mut misplaced = callers[other].another(installation.operators).await.unwrap();
    assert_eq!(misplaced.get("/sync_status").await.unwrap().0, 401);

    // An adapter version uploaded to one node is available at all nodes.
    let operator = nodes.nodes[other].installation.operator().await.unwrap();
    let as_operator = |path: &str| {
        let request = client.post(format!("http://{}{path}", nodes.nodes[other].installation.operators));
        let request = request.header("authorization", operator.authorization());
        request.header("svc-api-version", "v3.0.0").header("user-agent", "tests/1.0")
    };
    let version = next_version();
    let uploaded = insisting("the upload", async || {
        let upload = as_operator("/adapters/sandbox/versions").header("content-type", "application/wasm");
        answered(upload.body(version.clone())).await
    });
    let body = json!({"version": uploaded.await["data"]["sha256"]}).to_string();
    let rolled_out = insisting("the roll-out", async || {
        let roll_out = as_operator("/locations/1/adapter").header("content-type", "application/json");
        match answered(roll_out.body(body.clone())).await {
            // Calls of the trial have a limit of two seconds here. If one takes longer, nothing is changed.
            (422, answer) if answer.to_string().contains("The trial failed") => (503, answer),
            answer => answer,
        }
    });
    rolled_out.await;

    // A node that shuts down hands over its locations. A client that retries briefly sees no error.
    let left = nodes.nodes[owner].process.take().unwrap();
    let stopping = tokio::task::spawn_blocking(move || left.stop().unwrap());
    let since = Instant::now();
    let slot = wait_for_offer(&nodes, other, 1).await;
    let body = booking(&slot, "nodes-handed-over", 7, "nodes-handed-over");
    let made = book(&mut nodes.sign_in(other).await, 1, &body).await;
    eprintln!("nodes: booked {:?} after SIGTERM of the node that had the location", since.elapsed());
    stopping.await.unwrap();
    let mut operator = nodes.nodes[other].installation.operator().await.unwrap();
    let version = until("the adapter to be ready", async || {
        let (_, sync) = operator.get("/locations/1/sync").await.unwrap();
        sync["data"]["adapter"]["version"].as_str().map(str::to_owned)
    });
    assert_eq!(version.await, "2.0.0", "the node that took the location over runs what was rolled out to it");
    nodes.start(owner).await;
    let again = book(&mut nodes.sign_in(owner).await, 1, &body).await;
    assert_eq!((&again["replay"], &again["booking"]["booking_ref"]), (&json!(true), &made["booking"]["booking_ref"]));

    // After a node is killed, the others take over.
    let owner = nodes.owner(other, 2).await;
    let other = (owner + 1) % FIRST;
    let slot = wait_for_offer(&nodes, other, 2).await;
    nodes.nodes[owner].process.take().unwrap().kill().unwrap();
    let since = Instant::now();
    let body = booking(&slot, "nodes-taken-over", 8, "nodes-taken-over");
    book(&mut nodes.sign_in(other).await, 2, &body).await;
    let took = since.elapsed();
    eprintln!("nodes: booked {took:?} after kill -9 of the node that had the location, with a period of {PERIOD:?}");
    nodes.start(owner).await;

    // A node is suspended for longer than its period. The others continue, and it returns no stale answers.
    let owner = nodes.owner(other, 3).await;
    let other = (owner + 1) % FIRST;
    let slot = wait_for_offer(&nodes, other, 3).await;
    let mut waiting = nodes.sign_in(owner).await;
    nodes.signal(owner, "STOP");
    let asked = tokio::spawn(async move {
        let answer = waiting.get(&at("/appointments", 3).replace("?", "?start=2026-01-01&end=2030-01-01&")).await;
        answer.map(|(status, _)| status)
    });
    let body = booking(&slot, "nodes-paused", 9, "nodes-paused");
    let made = book(&mut nodes.sign_in(other).await, 3, &body).await;
    nodes.signal(owner, "CONT");
    let status = asked.await.unwrap();
    assert!(matches!(status, Ok(200 | 503)), "{status:?}");
    let mut back = nodes.sign_in(owner).await;
    let again = book(&mut back, 3, &body).await;
    assert_eq!((&again["replay"], &again["booking"]["booking_ref"]), (&json!(true), &made["booking"]["booking_ref"]));
    nodes.no_panics().await;
}

/// Returns the sandbox adapter under another version.
fn next_version() -> Vec<u8> {
    let known = std::fs::read_to_string(components::root().join("adapters/sandbox/adapter.toml")).unwrap();
    let manifest = Manifest::parse(&known.replace("version = \"0.1.0\"", "version = \"2.0.0\"")).unwrap();
    pack(&std::fs::read(components::component("sandbox")).unwrap(), &manifest).unwrap()
}

async fn wait_for_offer(nodes: &Nodes, through: usize, location: u32) -> String {
    let mut caller = nodes.sign_in(through).await;
    until("an offer", async || {
        let asked = json!({"start_date": Date(fixtures::today()).add_days(3).to_string(), "days": 3, "limit": 1});
        let (status, found) = caller.post(&at("/intent/booking/search", location), &asked).await.unwrap();
        found["slots"][0]["slot_token"].as_str().filter(|_| status == 200).map(str::to_owned)
    })
    .await
}

async fn answered(request: reqwest::RequestBuilder) -> (u16, Value) {
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
}

async fn forwarded(nodes: &Nodes, node: usize) -> u64 {
    let text = reqwest::get(format!("http://{}/metrics", nodes.nodes[node].installation.operators)).await.unwrap();
    let text = text.text().await.unwrap();
    let count = text.lines().find_map(|line| line.strip_prefix("practice_sync_forwarded_total "));
    count.unwrap().parse().unwrap()
}
