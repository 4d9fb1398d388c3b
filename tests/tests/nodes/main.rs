//! Three nodes on one database, each as its own process, behind no load balancer but these tests: any node takes any call. Nodes are
//! killed, paused, cut off from the database and stopped in order while clients book through all of them, and the EHRs lose replies and
//! recognise nothing. In the end every booking that was acknowledged is there once: in our lists and in the EHR, its key answers with it, no
//! place is booked twice, and the subscriber was told of each, of one record in order. `NODES_ROUNDS` says how often something happens.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::{SocketAddr, TcpListener},
    path::Path,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use location::zone::Date;
use postgres_server::{Cluster, Durability, Proxy, is_left_out};
use runtime::clock::random_u64;
use sandbox_ehr::{
    Behaviours, Control, Profile,
    records::{Record, Resource},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tests::harness::{
    components,
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    poll::until,
    process::{API_KEY, HASTY, Installation, OPERATOR_KEY, Process, booking},
    webhook_receiver::WebhookReceiver,
};
use tokio::time::{sleep, timeout};

const PROGRAM: &str = env!("CARGO_BIN_EXE_practice-sync-under-test");
const NAMES: [&str; 3] = ["a", "b", "c"];
/// Each has one location, and an EHR of its own.
const INSTITUTIONS: u32 = 5;
/// Short, so that others take over soon.
const PERIOD: Duration = Duration::from_secs(2);
const CLIENTS: usize = 6;
/// How long a call may take: longer than a node waits for what is moving.
const CALL: Duration = Duration::from_secs(12);
/// What two busy processors may need.
const PATIENCE: Duration = Duration::from_secs(90);

struct Node {
    installation: Installation,
    internal: SocketAddr,
    database: Proxy,
    process: Option<Process>,
}

struct Nodes {
    nodes: Vec<Node>,
    cluster: Cluster,
    ehrs: Vec<EhrServer>,
    _dir: TempDir,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn subdomain(location: u32) -> String {
    format!("practice-{location}")
}

fn at(route: &str, location: u32) -> String {
    format!("{route}?subdomain={}&location_id={location}", subdomain(location))
}

fn key(name: &str, key: &str, grants: &str) -> String {
    let hash = hex::encode(Sha256::digest(key));
    let all: Vec<String> = (1..=INSTITUTIONS).map(subdomain).collect();
    format!(
        "[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nenvironment = \"sandbox\"\ninstitutions = {all:?}\ngrants = [{grants}]\n"
    )
}

/// All nodes have the same file but for `[node]` and what is a machine's own.
fn configuration(
    dir: &Path,
    address: SocketAddr,
    internal: SocketAddr,
    name: &str,
    url: &str,
    ehrs: &[EhrServer],
) -> String {
    let practices: String = (1..=INSTITUTIONS)
        .zip(ehrs)
        .map(|(id, ehr)| {
            format!(
                "[[institutions]]\nid = {id}\nsubdomain = \"{subdomain}\"\nname = \"Practice\"\nenvironment = \"sandbox\"\n\
                 [[institutions.sources]]\nid = {id}\nname = \"EHR\"\nadapter = \"sandbox\"\nbase_url = \"{url}\"\n\
                 [[institutions.locations]]\nid = {id}\nname = \"Main Street\"\nzone = \"America/New_York\"\nsource = {id}\n\
                 foreign_id = \"main-street\"\n",
                subdomain = subdomain(id),
                url = ehr.url(),
            )
        })
        .collect();
    format!(
        r#"data_dir = "{data}"
log = "info"
token_secret = "{secret}"
[http]
listen = "{address}"
slot_token = "12h"
refused_per_minute = 0
[rate_limits]
per_second = 0
per_minute = 0
[rate_limits.endpoints]
"POST /intent/booking/search" = 0
[postgres]
url = "{url}"
tls = "off"
connect_timeout = "1s"
statement_timeout = "3s"
[engine]
store_engine = "postgres"
adapter_cache = "{cache}"
webhook_development = true
[node]
name = "{name}"
address = "http://{internal}"
listen = "{internal}"
secret = "{secret}"
period = "{period}s"
[adapters]
sandbox = "{component}"
{HASTY}{practices}
{tests}
{operator}
"#,
        data = dir.join("data").display(),
        secret = "7".repeat(64),
        cache = components::root().join("target").join("adapters").join("compiled").display(),
        component = components::component("sandbox").display(),
        period = PERIOD.as_secs(),
        tests = key("tests", API_KEY, r#""financial", "beta""#),
        operator = key("operator", OPERATOR_KEY, r#""operator""#),
    )
}

impl Nodes {
    /// Three, of which none runs.
    fn new(behaviours: &Behaviours) -> Nodes {
        let ehr = |seed: u32| {
            let profile = Profile {
                booked_percent: 20,
                days_back: 0,
                days_ahead: 7,
                patients: 20,
                ..fixtures::profile(seed.into())
            };
            let ehr = EhrServer::start(profile).unwrap();
            ehr.ehr().control(Control::Behave(behaviours.clone())).unwrap();
            ehr
        };
        let ehrs: Vec<EhrServer> = (1..=INSTITUTIONS).map(ehr).collect();
        let cluster = Cluster::temporary(Durability::Written).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let nodes = NAMES.map(|name| {
            let own = dir.path().join(name);
            fs::create_dir_all(own.join("data")).unwrap();
            let database = Proxy::to(cluster.port()).unwrap();
            let internal = SocketAddr::from(([127, 0, 0, 1], free_port()));
            let url = Cluster::url(database.port());
            let configured = |address| configuration(&own, address, internal, name, &url, &ehrs);
            let installation = Installation::configured(Path::new(PROGRAM), &own, configured).unwrap();
            Node { installation, internal, database, process: None }
        });
        let nodes = Nodes { nodes: nodes.into(), cluster, ehrs, _dir: dir };
        // One makes the store, and all have its key.
        let first = &nodes.nodes[0];
        let made =
            Command::new(PROGRAM).args(["store", "migrate", "--config"]).arg(first.installation.config()).output();
        assert!(made.as_ref().unwrap().status.success(), "{made:?}");
        let key = |node: &Node| node.installation.config().with_file_name("data").join("store.key");
        for node in &nodes.nodes[1..] {
            fs::copy(key(first), key(node)).unwrap();
        }
        nodes
    }

    async fn start(&mut self, node: usize) {
        let process = self.nodes[node].installation.start().await.unwrap();
        self.nodes[node].process = Some(process);
    }

    async fn started(behaviours: &Behaviours) -> Nodes {
        let mut nodes = Nodes::new(behaviours);
        for node in 0..NAMES.len() {
            nodes.start(node).await;
        }
        let mut caller = nodes.sign_in(0).await;
        for location in 1..=INSTITUTIONS {
            until("the first reading", async || {
                let (status, answer) =
                    caller.get(&format!("/sync_status?subdomain={}", subdomain(location))).await.unwrap();
                (status == 200 && answer["data"][0]["read_status"] == "green").then_some(())
            })
            .await;
        }
        nodes
    }

    async fn sign_in(&self, node: usize) -> Caller {
        self.nodes[node].installation.sign_in().await.unwrap()
    }

    /// Which node serves a location, as an operator is told by any of them.
    async fn owner(&self, through: usize, location: u32) -> usize {
        let mut operator = self.nodes[through].installation.sign_in_operator().await.unwrap();
        until("the node of a location", async || {
            let (_, answer) = operator.get(&format!("/locations/{location}/sync")).await.ok()?;
            NAMES.iter().position(|name| answer["data"]["node"] == *name)
        })
        .await
    }

    fn signal(&self, node: usize, signal: &str) {
        self.nodes[node].process.as_ref().unwrap().signal(signal).unwrap();
    }

    async fn no_panics(&self) {
        for node in &self.nodes {
            assert_eq!(node.installation.panics().unwrap(), [""; 0]);
        }
    }
}

/// Offers of a location that do not overlap.
async fn offers(caller: &mut Caller, location: u32, days: i32) -> Vec<String> {
    let (_, answer) = caller.get(&format!("{}&per_page=100", at("/operatories", location))).await.unwrap();
    let today = Date(fixtures::today());
    let mut tokens = Vec::new();
    for operatory in answer["data"].as_array().unwrap() {
        for day in (1..days).step_by(3) {
            let start = today.add_days(day).to_string();
            let asked = json!({"operatory_ids": [operatory["id"]], "start_date": start, "days": 3, "limit": 100});
            let (status, found) = caller.post(&at("/intent/booking/search", location), &asked).await.unwrap();
            assert_eq!(status, 200, "{found}");
            let mut starts = BTreeSet::new();
            let first =
                found["slots"].as_array().unwrap().iter().filter(|slot| starts.insert(slot["start_iso"].to_string()));
            tokens.extend(first.map(|slot| slot["slot_token"].as_str().unwrap().to_owned()));
        }
    }
    tokens
}

async fn book(caller: &mut Caller, location: u32, body: &Value) -> Value {
    until("a booking", async || match caller.post(&at("/intent/booking/book", location), body).await.unwrap() {
        (200, answer) => Some(answer),
        (503, _) => None,
        (status, answer) => panic!("{status} {answer}"),
    })
    .await
}

#[actix::test]
async fn any_node_takes_any_call_and_what_a_node_had_goes_on_without_it() {
    if is_left_out() {
        return;
    }
    let mut nodes = Nodes::started(&Behaviours::default()).await;
    let mut callers = [nodes.sign_in(0).await, nodes.sign_in(1).await, nodes.sign_in(2).await];

    // A key is one booking, whoever is asked.
    for location in 1..=INSTITUTIONS {
        let slot = offers(&mut callers[0], location, 2).await.pop().unwrap();
        let key = format!("nodes-{location}");
        let body = booking(&slot, &key, u64::from(location), &key);
        let made = book(&mut callers[1], location, &body).await;
        let again = book(&mut callers[2], location, &body).await;
        assert_eq!(
            (&again["replay"], &again["booking"]["booking_ref"]),
            (&json!(true), &made["booking"]["booking_ref"])
        );
    }
    let (status, all) = callers[2].get("/sync_status").await.unwrap();
    assert_eq!((status, all["data"].as_array().unwrap().len()), (200, INSTITUTIONS as usize), "{all}");

    // What travels with a call that is handed on.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let owner = nodes.owner(0, 1).await;
    let other = (owner + 1) % NAMES.len();
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
        let before = forwarded(&nodes, other).await;
        let sent = asked(method.clone(), path.clone()).header("content-type", "application/json");
        let sent = if method == reqwest::Method::POST { sent.body("{}") } else { sent };
        let answer = sent.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{method} {path}");
        assert_eq!(answer.headers()["x-request-id"], "of-this-test", "{method} {path}");
        assert!(!answer.headers().contains_key("x-node-proof"), "what nodes say to each other stays with them");
        // Whether there is such a method is nobody's institution.
        assert_eq!(forwarded(&nodes, other).await - before, u64::from(status != 405), "{method} {path}");
        let length = answer.content_length();
        let body = answer.bytes().await.unwrap();
        assert_eq!(body.is_empty(), method == reqwest::Method::HEAD, "{method} {path}: {length:?}");
    }
    let large = vec![b' '; (1 << 20) + 1];
    let answer = asked(reqwest::Method::POST, at("/intent/booking/book", 1)).body(large).send().await;
    assert!(answer.map_or(true, |answer| answer.status() == 413), "too large a body is refused where it comes in");
    // Who has no secret is not served.
    let internal = nodes.nodes[owner].internal;
    let stranger = client.get(format!("http://{internal}{}", at("/patients", 1))).send().await.unwrap();
    assert_eq!(stranger.status(), 403);

    // A node that is stopped in order hands over: a client that tries again for a moment notices nothing.
    let left = nodes.nodes[owner].process.take().unwrap();
    let stopping = tokio::task::spawn_blocking(move || left.stop().unwrap());
    let since = Instant::now();
    let slot = offers_when_there(&nodes, other, 1).await;
    let body = booking(&slot, "nodes-handed-over", 7, "nodes-handed-over");
    let made = book(&mut nodes.sign_in(other).await, 1, &body).await;
    eprintln!("nodes: booked {:?} after SIGTERM of the node that had the location", since.elapsed());
    stopping.await.unwrap();
    nodes.start(owner).await;
    let again = book(&mut nodes.sign_in(owner).await, 1, &body).await;
    assert_eq!((&again["replay"], &again["booking"]["booking_ref"]), (&json!(true), &made["booking"]["booking_ref"]));

    // A node that is killed: the others take over.
    let owner = nodes.owner(other, 2).await;
    let other = (owner + 1) % NAMES.len();
    let slot = offers_when_there(&nodes, other, 2).await;
    nodes.nodes[owner].process.take().unwrap().kill().unwrap();
    let since = Instant::now();
    let body = booking(&slot, "nodes-taken-over", 8, "nodes-taken-over");
    book(&mut nodes.sign_in(other).await, 2, &body).await;
    let took = since.elapsed();
    eprintln!("nodes: booked {took:?} after kill -9 of the node that had the location, with a period of {PERIOD:?}");
    nodes.start(owner).await;

    // One that stands still for longer than its period: the others go on, and it gives out nothing of the past.
    let owner = nodes.owner(other, 3).await;
    let other = (owner + 1) % NAMES.len();
    let slot = offers_when_there(&nodes, other, 3).await;
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

async fn offers_when_there(nodes: &Nodes, through: usize, location: u32) -> String {
    let mut caller = nodes.sign_in(through).await;
    until("an offer", async || {
        let asked = json!({"start_date": Date(fixtures::today()).add_days(3).to_string(), "days": 3, "limit": 1});
        let (status, found) = caller.post(&at("/intent/booking/search", location), &asked).await.unwrap();
        (status == 200).then(|| found["slots"][0]["slot_token"].as_str().unwrap().to_owned())
    })
    .await
}

async fn forwarded(nodes: &Nodes, node: usize) -> u64 {
    let text = reqwest::get(format!("http://{}/metrics", nodes.nodes[node].installation.address)).await.unwrap();
    let text = text.text().await.unwrap();
    let count = text.lines().find_map(|line| line.strip_prefix("practice_sync_forwarded_total "));
    count.unwrap().parse().unwrap()
}

#[derive(Clone)]
struct Attempt {
    location: u32,
    key: String,
    body: Value,
}

#[derive(Default)]
struct Ledger {
    slots: Vec<(u32, String)>,
    /// Sent, and not answered.
    open: Vec<Attempt>,
    accepted: BTreeMap<String, (Attempt, String, u64)>,
    refused: usize,
    unanswered: usize,
}

impl Ledger {
    fn next(&mut self) -> Option<Attempt> {
        if let Some(open) = self.open.pop() {
            return Some(open);
        }
        let (location, token) = self.slots.pop()?;
        let key = format!("nodes-{}", self.slots.len());
        let body = booking(&token, &key, random_u64() % 400, &key);
        Some(Attempt { location, key, body })
    }

    fn accept(&mut self, attempt: Attempt, answer: &Value) {
        let made = &answer["booking"];
        let (reference, appointment) =
            (made["booking_ref"].as_str().unwrap().to_owned(), made["appointment_id"].as_u64().unwrap());
        let before = self.accepted.insert(attempt.key.clone(), (attempt, reference, appointment));
        assert!(before.is_none(), "a key was accepted twice");
    }
}

/// Books through a node by chance each time.
async fn client(addresses: Vec<SocketAddr>, ledger: Arc<Mutex<Ledger>>, ended: Arc<AtomicBool>) {
    while !ended.load(Ordering::SeqCst) {
        let Some(attempt) = ledger.lock().unwrap().next() else { return };
        let node = addresses[random_u64() as usize % addresses.len()];
        let asked = async {
            let mut caller = Caller::sign_in(node, API_KEY).await?;
            caller.post(&at("/intent/booking/book", attempt.location), &attempt.body).await
        };
        match timeout(CALL, asked).await {
            Ok(Ok((200, answer))) => ledger.lock().unwrap().accept(attempt, &answer),
            Ok(Ok((503, _))) => {
                let mut ledger = ledger.lock().unwrap();
                (ledger.refused, _) = (ledger.refused + 1, ledger.open.push(attempt));
            }
            Ok(Ok((status, answer))) => panic!("{}: {status} {answer}", attempt.key),
            Ok(Err(_)) | Err(_) => {
                let mut ledger = ledger.lock().unwrap();
                (ledger.unanswered, _) = (ledger.unanswered + 1, ledger.open.push(attempt));
            }
        }
        sleep(Duration::from_millis(random_u64() % 40)).await;
    }
}

#[derive(Clone, Copy, Debug)]
enum Trouble {
    Killed,
    Paused,
    Stopped,
    CutOff,
    Stalled,
    HalfClosed,
    Slow,
    DatabaseEnds,
}

const TROUBLES: [Trouble; 8] = [
    Trouble::Killed,
    Trouble::Paused,
    Trouble::Stopped,
    Trouble::CutOff,
    Trouble::Stalled,
    Trouble::HalfClosed,
    Trouble::Slow,
    Trouble::DatabaseEnds,
];

/// Longer than a node keeps its place, now and then.
fn a_while() -> Duration {
    Duration::from_millis(300 + random_u64() % 3_500)
}

async fn suffer(nodes: &mut Nodes, trouble: Trouble, node: usize) {
    match trouble {
        Trouble::Killed => {
            nodes.nodes[node].process.take().unwrap().kill().unwrap();
            sleep(a_while()).await;
            nodes.start(node).await;
        }
        Trouble::Stopped => {
            let process = nodes.nodes[node].process.take().unwrap();
            tokio::task::spawn_blocking(move || process.stop().unwrap()).await.unwrap();
            sleep(a_while() / 4).await;
            nodes.start(node).await;
        }
        Trouble::Paused => {
            nodes.signal(node, "STOP");
            sleep(a_while()).await;
            nodes.signal(node, "CONT");
        }
        Trouble::CutOff => {
            nodes.nodes[node].database.cut();
            sleep(a_while()).await;
            nodes.nodes[node].database.mend();
        }
        Trouble::Stalled => {
            nodes.nodes[node].database.stall();
            sleep(a_while()).await;
            nodes.nodes[node].database.mend();
        }
        Trouble::HalfClosed => nodes.nodes[node].database.half_close(),
        Trouble::Slow => {
            nodes.nodes[node].database.delay(Duration::from_millis(30));
            sleep(a_while()).await;
            nodes.nodes[node].database.mend();
        }
        Trouble::DatabaseEnds => nodes.cluster.run().unwrap(),
    }
}

#[actix::test]
async fn nothing_acknowledged_is_lost_and_nothing_is_written_twice_by_three_nodes_in_trouble() {
    if is_left_out() {
        return;
    }
    let rounds = std::env::var("NODES_ROUNDS").map_or(30, |rounds| rounds.parse().unwrap());
    let behaviours = Behaviours {
        idempotent: false,
        lose_replies_per_mille: 60,
        drop_writes_per_mille: 30,
        ..Behaviours::default()
    };
    let mut nodes = Nodes::started(&behaviours).await;
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let mut caller = nodes.sign_in(0).await;
    for location in 1..=INSTITUTIONS {
        let offers = offers(&mut caller, location, 45).await;
        ledger.lock().unwrap().slots.extend(offers.into_iter().map(|token| (location, token)));
    }
    ledger.lock().unwrap().slots.sort_by_cached_key(|_| random_u64());
    let receiver = WebhookReceiver::start(|_| true).unwrap();
    subscribe(&nodes, &receiver).await;
    let addresses: Vec<SocketAddr> = nodes.nodes.iter().map(|node| node.installation.address).collect();
    let ended = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> =
        (0..CLIENTS).map(|_| tokio::spawn(client(addresses.clone(), ledger.clone(), ended.clone()))).collect();
    let accepted = || ledger.lock().unwrap().accepted.len();
    let (since, mut told) = (Instant::now(), String::new());
    for round in 0..rounds {
        let (trouble, node) = (TROUBLES[round % TROUBLES.len()], random_u64() as usize % NAMES.len());
        told.push_str(&format!(" {trouble:?}({})", NAMES[node]));
        let before = accepted();
        suffer(&mut nodes, trouble, node).await;
        let since = Instant::now();
        // The practices go on.
        while accepted() < before + 3 {
            assert!(since.elapsed() < PATIENCE, "nobody could book any more after:{told}");
            assert!(!ledger.lock().unwrap().slots.is_empty(), "no slots left: fewer rounds, or larger practices");
            sleep(Duration::from_millis(20)).await;
        }
    }
    let took = since.elapsed();
    ended.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }

    // What was never answered is asked again.
    let mut caller = nodes.sign_in(1).await;
    let open = std::mem::take(&mut ledger.lock().unwrap().open);
    for attempt in open {
        let answer = book(&mut caller, attempt.location, &attempt.body).await;
        ledger.lock().unwrap().accept(attempt, &answer);
    }
    let ledger = std::mem::take(&mut *ledger.lock().unwrap());
    for (attempt, reference, appointment) in ledger.accepted.values() {
        let status =
            format!("/intent/booking/status?subdomain={}&booking_ref={reference}", subdomain(attempt.location));
        let shown = until("its end", async || {
            let (code, answer) = caller.get(&status).await.unwrap();
            let pending = code == 503 || answer["booking"]["ehr_writeback"] == "pending";
            (!pending).then_some((code, answer))
        });
        let (code, answer) = timeout(PATIENCE, shown).await.unwrap();
        assert_eq!(code, 200, "{} is lost: {answer}", attempt.key);
        assert_eq!(answer["booking"]["appointment_id"], *appointment, "{}", attempt.key);
        assert_eq!(answer["booking"]["ehr_writeback"], "confirmed", "{}: {answer}", attempt.key);
        let again = book(&mut caller, attempt.location, &attempt.body).await;
        assert_eq!(
            (&again["replay"], &again["booking"]["booking_ref"]),
            (&json!(true), &json!(reference)),
            "{}",
            attempt.key
        );
    }
    for (location, ehr) in (1..=INSTITUTIONS).zip(&nodes.ehrs) {
        let of_location = ledger.accepted.values().filter(|(attempt, ..)| attempt.location == location);
        let keys: BTreeSet<&str> = of_location.map(|(attempt, ..)| attempt.key.as_str()).collect();
        assert_written_once(ehr, location, &keys);
    }
    let told: BTreeSet<u64> = ledger.accepted.values().map(|(_, _, appointment)| *appointment).collect();
    let again = assert_told(&receiver, &told).await;
    nodes.no_panics().await;
    eprintln!(
        "nodes: {rounds} rounds in {took:?}; {} bookings acknowledged, {} calls 503, {} without answer; {again} messages came again",
        ledger.accepted.len(),
        ledger.refused,
        ledger.unanswered
    );
}

/// One endpoint for all institutions, each subscribed through a node by chance.
async fn subscribe(nodes: &Nodes, receiver: &WebhookReceiver) {
    let mut caller = nodes.sign_in(0).await;
    let (status, made) = caller.post("/webhook_endpoints", &json!({"target_url": receiver.url})).await.unwrap();
    assert_eq!(status, 201, "{made}");
    for location in 1..=INSTITUTIONS {
        let mut caller = nodes.sign_in(random_u64() as usize % NAMES.len()).await;
        for event in ["appointment_insertion", "appointment_updated"] {
            let path = format!(
                "/webhook_endpoints/{}/webhook_subscriptions?subdomain={}",
                made["data"]["id"],
                subdomain(location)
            );
            let (status, answer) =
                caller.post(&path, &json!({"resource_type": "Appointment", "event": event})).await.unwrap();
            assert_eq!(status, 201, "{answer}");
        }
    }
}

/// The subscriber was told of each appointment, by messages that have one id however often they came; what came first of those about one
/// appointment was made first. Answers how many messages came more than once.
async fn assert_told(receiver: &WebhookReceiver, appointments: &BTreeSet<u64>) -> usize {
    let since = Instant::now();
    loop {
        let messages = receiver.messages();
        let mut of_record: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
        for message in &messages {
            let body: Value = serde_json::from_slice(&message.body).unwrap();
            let shown = &body["data"]["appointment"];
            let shown = if shown.is_null() { &body["data"]["appointments"][0] } else { shown };
            let (id, sequence) = (shown["id"].as_u64().unwrap(), body["sequence"].as_u64().unwrap());
            let told = of_record.entry(id).or_default();
            let delivery = message.headers["delivery-id"].clone();
            if !told.iter().any(|(_, before)| *before == delivery) {
                told.push((sequence, delivery));
            }
        }
        if appointments.iter().all(|id| of_record.contains_key(id)) {
            for (id, told) in &of_record {
                assert!(told.is_sorted(), "messages about appointment {id} came out of order: {told:?}");
            }
            return messages.len() - of_record.values().map(Vec::len).sum::<usize>();
        }
        let missing = appointments.iter().filter(|id| !of_record.contains_key(id)).count();
        assert!(since.elapsed() < PATIENCE, "{missing} bookings were never told of");
        sleep(Duration::from_millis(50)).await;
    }
}

/// The EHR has one appointment for each booking, none for anything else, no two in one place at one time, and no patient twice.
fn assert_written_once(ehr: &EhrServer, location: u32, keys: &BTreeSet<&str>) {
    let ehr = ehr.ehr();
    let (mut by_note, mut places) = (BTreeMap::<String, usize>::new(), BTreeSet::new());
    for record in ehr.records(Resource::Appointments) {
        let Record::Appointment(appointment) = record else { continue };
        let Some(note) = appointment.note.clone().filter(|note| note.starts_with("nodes-")) else { continue };
        let place = format!("{:?} {:?}", appointment.operatory, appointment.start);
        assert!(places.insert(place.clone()), "location {location}: {place} is booked twice, for {note} too");
        *by_note.entry(note).or_default() += 1;
    }
    for key in keys {
        assert_eq!(by_note.remove(*key), Some(1), "location {location}: appointments in the EHR for {key}");
    }
    assert!(by_note.is_empty(), "location {location}: appointments nobody was told of: {by_note:?}");
    let mut people = BTreeSet::new();
    for record in ehr.records(Resource::Patients) {
        let Record::Patient(patient) = record else { continue };
        if patient.last_name.starts_with("Ångström-") {
            assert!(people.insert(patient.last_name.clone()), "{} is in the EHR twice", patient.last_name);
        }
    }
}
