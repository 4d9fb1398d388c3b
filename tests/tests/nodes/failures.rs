//! Failures of nodes and of the database break no promise to clients.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use postgres_server::is_skipped;
use runtime::clock::random_u64;
use sandbox_ehr::{
    Behaviours,
    records::{Record, Resource, Status},
};
use serde_json::{Value, json};
use testing::until;
use tests::harness::{http_client::Caller, process::API_KEY, random::SeededRandom, webhook_receiver::WebhookReceiver};
use tokio::time::sleep;

use crate::nodes::{
    checker::{self, ClientCall, Message, RunOutcome, SlotPlace, Visit},
    clients::{PATIENCE, SharedState, client, instant_text, offers, seconds},
    cluster::{FIRST, INSTITUTIONS, NAMES, Nodes, at, subdomain},
};

const CLIENTS: usize = 6;
/// Offset of the wall clock in seconds.
const CLOCKS: [(&str, i64); 3] = [("a", 60), ("c", -60), ("e", 60)];

#[derive(Clone, Copy, Debug)]
enum NodeFailure {
    Killed,
    Paused,
    Stopped,
    CutOff,
    Stalled,
    HalfClosed,
    Slow,
    DatabaseEnds,
}

const FAILURES: [NodeFailure; 8] = [
    NodeFailure::Killed,
    NodeFailure::Paused,
    NodeFailure::Stopped,
    NodeFailure::CutOff,
    NodeFailure::Stalled,
    NodeFailure::HalfClosed,
    NodeFailure::Slow,
    NodeFailure::DatabaseEnds,
];

/// Returns a random duration, sometimes longer than a node's period.
fn a_while(random: &mut SeededRandom) -> Duration {
    Duration::from_millis(300 + random.draw() % 3_500)
}

async fn inject(nodes: &mut Nodes, failure: NodeFailure, node: usize, random: &mut SeededRandom) {
    let lasting = a_while(random);
    match failure {
        NodeFailure::Killed => {
            nodes.nodes[node].process.take().unwrap().kill().unwrap();
            sleep(lasting).await;
            nodes.start(node).await;
        }
        NodeFailure::Stopped => {
            stopped(nodes, node).await;
            sleep(lasting / 4).await;
            nodes.start(node).await;
        }
        NodeFailure::Paused => {
            nodes.signal(node, "STOP");
            sleep(lasting).await;
            nodes.signal(node, "CONT");
        }
        NodeFailure::CutOff => {
            nodes.nodes[node].database.cut();
            sleep(lasting).await;
            nodes.nodes[node].database.clear_faults();
        }
        NodeFailure::Stalled => {
            nodes.nodes[node].database.stall();
            sleep(lasting).await;
            nodes.nodes[node].database.clear_faults();
        }
        NodeFailure::HalfClosed => nodes.nodes[node].database.half_close(),
        NodeFailure::Slow => {
            nodes.nodes[node].database.delay(Duration::from_millis(30));
            sleep(lasting).await;
            nodes.nodes[node].database.clear_faults();
        }
        NodeFailure::DatabaseEnds => nodes.cluster.run().unwrap(),
    }
}

async fn stopped(nodes: &mut Nodes, node: usize) {
    let process = nodes.nodes[node].process.take().unwrap();
    tokio::task::spawn_blocking(move || process.stop().unwrap()).await.unwrap();
}

/// The rounds in which a node joins, one leaves permanently, and another one joins.
struct Members {
    serving: Vec<usize>,
    at: [usize; 3],
}

impl Members {
    async fn change(&mut self, round: usize, nodes: &mut Nodes, world: &SharedState) -> Option<String> {
        let address = |nodes: &Nodes, node: usize| nodes.nodes[node].installation.address;
        let [one_comes, one_goes, another_comes] = self.at;
        if round == one_goes {
            let node = self.serving.remove(1);
            world.addresses.lock().retain(|known| *known != address(nodes, node));
            stopped(nodes, node).await;
            return Some(format!("{} went", NAMES[node]));
        }
        let node = match round {
            round if round == one_comes => FIRST,
            round if round == another_comes => FIRST + 1,
            _ => return None,
        };
        nodes.start(node).await;
        self.serving.push(node);
        world.addresses.lock().push(address(nodes, node));
        Some(format!("{} came", NAMES[node]))
    }
}

/// Calls a tool of agents at each location through each node, whose clocks differ. The API key replaces a token.
async fn call_tools(nodes: &Nodes) {
    for (name, node) in NAMES.iter().zip(&nodes.nodes[..FIRST]) {
        let mut caller = Caller::operator(node.installation.address, API_KEY).await.unwrap();
        for location in 1..=INSTITUTIONS {
            let params = json!({"name": "practice_info", "arguments": {"location_id": location}});
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            // A location that is moving refuses calls.
            until("the result of a tool", async || {
                let (status, answer) = caller.post("/mcp", &call).await.unwrap();
                assert_eq!(status, 200, "node {name}, location {location}: {answer}");
                (answer["result"]["isError"] == false).then_some(())
            })
            .await;
        }
    }
}

#[actix::test]
async fn acknowledged_writes_survive_node_failures_without_duplicates() {
    if is_skipped() {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let (rounds, seed) =
        (number("NODES_ROUNDS").unwrap_or(30) as usize, number("NODES_SEED").unwrap_or_else(random_u64));
    eprintln!("nodes: NODES_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let behaviours = Behaviours {
        idempotent: false,
        lose_replies_per_mille: 60,
        drop_writes_per_mille: 30,
        ..Behaviours::default()
    };
    let mut nodes = Nodes::started(&behaviours, &CLOCKS).await;
    call_tools(&nodes).await;
    let mut caller = nodes.sign_in(0).await;
    let mut free = Vec::new();
    for location in 1..=INSTITUTIONS {
        free.extend(offers(&mut caller, location, 45).await);
    }
    for at in (1..free.len()).rev() {
        free.swap(at, random.below(at + 1));
    }
    let receiver = WebhookReceiver::start().unwrap();
    subscribe(&nodes, &receiver, &mut random).await;
    let addresses: Vec<SocketAddr> = nodes.nodes[..FIRST].iter().map(|node| node.installation.address).collect();
    let world = Arc::new(SharedState::new(addresses, free));
    let clients: Vec<_> =
        (0..CLIENTS).map(|_| tokio::spawn(client(world.clone(), SeededRandom::new(random.draw())))).collect();
    let mut members = Members { serving: (0..FIRST).collect(), at: [rounds / 4, rounds / 2, rounds * 3 / 4] };
    let (since, mut events) = (Instant::now(), String::new());
    for round in 0..rounds {
        let happened = match members.change(round, &mut nodes, &world).await {
            Some(changed) => changed,
            None => {
                let (failure, node) = (FAILURES[round % FAILURES.len()], *random.pick(&members.serving).unwrap());
                inject(&mut nodes, failure, node, &mut random).await;
                format!("{failure:?}({})", NAMES[node])
            }
        };
        events.push_str(&format!(" {happened}"));
        let (before, since) = (world.accepted(), Instant::now());
        // Bookings continue.
        while world.accepted() < before + 3 {
            let logged = || nodes.last_logged();
            assert!(since.elapsed() < PATIENCE, "nothing was accepted any more after:{events}\n{}", logged());
            assert!(!world.offers.lock().is_empty(), "no slots left: fewer rounds, or larger practices");
            assert!(!clients.iter().all(|client| client.is_finished()), "all clients have ended after:{events}");
            sleep(Duration::from_millis(20)).await;
        }
    }
    let took = since.elapsed();
    world.ended.store(true, Ordering::SeqCst);
    for client in clients {
        assert!(client.await.is_ok(), "a client was refused, after:{events}\n{}", nodes.faults());
    }
    let history = world.history();
    let mut caller = nodes.sign_in(*random.pick(&members.serving).unwrap()).await;
    let (since, mut outcome) = (Instant::now(), gather(&nodes, &mut caller, &receiver).await);
    let mut found = checker::findings(&history, &outcome);
    // Pending writes and messages arrive; real violations remain.
    while !found.is_empty() && since.elapsed() < PATIENCE {
        sleep(Duration::from_millis(500)).await;
        outcome = gather(&nodes, &mut caller, &receiver).await;
        found = checker::findings(&history, &outcome);
    }
    assert!(
        found.is_empty(),
        "seed {seed}, after{events}:\n{}\nwhat is there:\n{}",
        found.join("\n"),
        describe(&found, &mut caller).await
    );
    nodes.no_panics().await;
    assert_patients_exist_once(&nodes);
    eprintln!("nodes: {rounds} rounds in {took:?}; {}", summary(&history, &outcome));
}

fn summary(history: &[ClientCall], outcome: &RunOutcome) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for call in history {
        let text = format!("{:?}/{:?}", call.asked, call.answered);
        let (asked, answered) = text.split_once('/').unwrap();
        let word = |text: &str| text.chars().take_while(char::is_ascii_alphabetic).collect::<String>();
        *kinds.entry(format!("{} {}", word(asked), word(answered).to_lowercase())).or_default() += 1;
    }
    let counts: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    format!("{}; messages {}", counts.join(", "), outcome.messages.len())
}

/// Creates one endpoint and subscribes it for each institution through a random node.
async fn subscribe(nodes: &Nodes, receiver: &WebhookReceiver, random: &mut SeededRandom) {
    let mut caller = nodes.sign_in(0).await;
    let (status, made) = caller.post("/webhook_endpoints", &json!({"target_url": receiver.url})).await.unwrap();
    assert_eq!(status, 201, "{made}");
    for location in 1..=INSTITUTIONS {
        let mut caller = nodes.sign_in(random.below(FIRST)).await;
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

/// Collects the final state through public interfaces.
async fn gather(nodes: &Nodes, caller: &mut Caller, receiver: &WebhookReceiver) -> RunOutcome {
    let mut outcome = RunOutcome::default();
    for (location, ehr) in (1..=INSTITUTIONS).zip(&nodes.ehrs) {
        let operatories = list(caller, &at("/operatories", location)).await;
        let operatories: BTreeMap<String, u64> = operatories
            .iter()
            .map(|it| (it["foreign_id"].as_str().unwrap().to_owned(), it["id"].as_u64().unwrap()))
            .collect();
        let ever = format!("&start={}&end={}", instant_text(1_700_000_000), instant_text(2_500_000_000));
        for it in list(caller, &format!("{}{ever}", at("/appointments", location))).await {
            if is_booked_by_test(it["note"].as_str()) {
                outcome.ours.insert(it["id"].as_u64().unwrap(), parse_visit(location, &it));
            }
        }
        for it in list(caller, &at("/payments", location)).await {
            let key = it["transaction_id"].as_str().filter(|key| is_booked_by_test(Some(key)));
            outcome.payments.extend(key.map(|key| (key.to_owned(), cents(&it["payment_amount"]["amount"]))));
        }
        let ehr = ehr.ehr();
        for record in ehr.records(Resource::Appointments) {
            let Record::Appointment(it) = record else { continue };
            let Some(note) = it.note.clone().filter(|note| is_booked_by_test(Some(note))) else { continue };
            let operatory = operatories[it.operatory.as_ref().unwrap()];
            let place = SlotPlace { location, operatory, start: it.start, end: it.end };
            let (confirmed, cancelled) = (it.status == Status::Confirmed, it.status == Status::Cancelled);
            outcome.in_ehr.push((note, Visit { place, confirmed, cancelled }));
        }
        for record in ehr.records(Resource::Payments) {
            let Record::Filed(_, it) = record else { continue };
            let key =
                it.fields.get("transaction_id").and_then(Value::as_str).filter(|key| is_booked_by_test(Some(key)));
            let amount = &it.fields["amount"]["amount"];
            outcome.payments_in_ehr.extend(key.map(|key| (key.to_owned(), cents(amount))));
        }
    }
    let locations: BTreeMap<u64, u32> = outcome.ours.iter().map(|(id, visit)| (*id, visit.place.location)).collect();
    for message in receiver.messages() {
        let body: Value = serde_json::from_slice(&message.body).unwrap();
        let shown = &body["data"]["appointment"];
        let shown = if shown.is_null() { &body["data"]["appointments"][0] } else { shown };
        let appointment = shown["id"].as_u64().unwrap();
        // Ignores appointments of staff and of the seed.
        let Some(location) = locations.get(&appointment) else { continue };
        let (delivery, sequence) = (message.headers["delivery-id"].clone(), body["sequence"].as_u64().unwrap());
        outcome.messages.push(Message { delivery, sequence, appointment, visit: parse_visit(*location, shown) });
    }
    outcome
}

/// Describes the appointments whose keys are in the findings, for error messages.
async fn describe(found: &[String], caller: &mut Caller) -> String {
    let ever = format!("&start={}&end={}", instant_text(1_700_000_000), instant_text(2_500_000_000));
    let mut lines = Vec::new();
    for location in 1..=INSTITUTIONS {
        for it in list(caller, &format!("{}{ever}", at("/appointments", location))).await {
            let named = |it: &&str| found.iter().any(|line| line.split_whitespace().any(|word| word == *it));
            if let Some(key) = it["note"].as_str().filter(|key| is_booked_by_test(Some(key))).filter(named) {
                let writes =
                    format!("{}&resource=appointments&record_id={}", at("/write_requests", location), it["id"]);
                lines.push(format!("{key}: {it}; {:?}", caller.get(&writes).await));
            }
        }
    }
    lines.join("\n")
}

fn is_booked_by_test(key: Option<&str>) -> bool {
    key.is_some_and(|key| key.starts_with("nodes-"))
}

/// Parses an appointment in the format of the API and the messages.
fn parse_visit(location: u32, it: &Value) -> Visit {
    let operatory = it["operatory_id"].as_u64().unwrap();
    let place = SlotPlace { location, operatory, start: seconds(&it["start_time"]), end: seconds(&it["end_time"]) };
    Visit { place, confirmed: it["confirmed"] == true, cancelled: it["cancelled"] == true }
}

fn cents(amount: &Value) -> u64 {
    let digits: String = amount.as_str().unwrap().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Returns the records of all pages.
async fn list(caller: &mut Caller, path: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let asked = format!("{path}&per_page=1000{cursor}");
        let page = until("a page", async || match caller.get(&asked).await.unwrap() {
            (200, page) => Some(page),
            (503, _) => None,
            (status, answer) => panic!("{asked}: {status} {answer}"),
        });
        let page = page.await;
        all.extend(page["data"].as_array().unwrap().iter().cloned());
        if page["page_info"]["has_next_page"] != true {
            return all;
        }
        cursor = format!("&end_cursor={}", page["page_info"]["end_cursor"].as_str().unwrap());
    }
}

fn assert_patients_exist_once(nodes: &Nodes) {
    for ehr in &nodes.ehrs {
        let mut people = BTreeSet::new();
        for record in ehr.ehr().records(Resource::Patients) {
            let Record::Patient(patient) = record else { continue };
            if patient.last_name.starts_with("Ångström-") {
                assert!(people.insert(patient.last_name.clone()), "{} is in the EHR twice", patient.last_name);
            }
        }
    }
}
