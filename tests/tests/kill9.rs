//! Real processes on a real store. The server is killed at random moments while clients book alone and in groups,
//! reschedule, and confirm and cancel by visit token. The EHR loses replies and is not idempotent; in one run it cannot
//! move appointments.
//!
//! In the end, each acknowledged booking exists and its key returns it. The EHR has exactly one live appointment for
//! it, at the last acknowledged time and with the acknowledged confirmation, and none if it is cancelled. The
//! subscriber received each booking and each confirmation under one delivery id, and the audit trail contains each
//! creation. The store key is rotated in each life, and finally all data is sealed with the newest key. `KILL9_ROUNDS`
//! is the number of kills.

mod ledger;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use ledger::{Accepted, Attempt, Ledger, Work, found_visit, members};
use parking_lot::Mutex;
use postgres_server::{Cluster, Durability, is_skipped};
use runtime::clock::random_u64;
use sandbox_ehr::{
    Behaviours, Control, Profile,
    records::{Record, Resource},
};
use serde_json::{Value, json};
use store::EngineKind;
use testing::until;
use tests::harness::{
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    intents::{self, in_ehr, settled},
    process::{self, HASTY, Installation, LOCATIONS, SUBDOMAIN, binary},
    webhook_receiver::WebhookReceiver,
};

const CLIENTS: u64 = 8;
/// Maximum pause of a client between two bookings.
const THINK_MS: u64 = 60;
/// Lifetime of a process under load: minimum and maximum.
const LIFE_MS: (u64, u64) = (50, 450);
/// Bookings of earlier rounds checked after each restart, in addition to all of the last round.
const SAMPLE: usize = 10;
/// Number of acknowledged visits from which on each kind of request must have occurred.
const ENOUGH: usize = 200;

/// Books, reschedules, confirms and cancels until the connection breaks.
async fn client(mut caller: Caller, ledger: Arc<Mutex<Ledger>>, round: usize) {
    loop {
        let Some(attempt) = ledger.lock().next() else { return };
        let sought = ledger.lock().sought(&attempt);
        let found = match &sought {
            Some(visit) => found_visit(&mut caller, visit).await,
            None => Ok(None),
        };
        let broken = found.is_err();
        let attempt = ledger.lock().complete(attempt, found.ok().flatten());
        if let Some(attempt) = attempt {
            let answered = caller.post(&attempt.path(), &attempt.body).await;
            match answered {
                Ok((200, answer)) => ledger.lock().accept(attempt, &answer, round),
                // The status guarantees that nothing was done.
                Ok((503, _)) => ledger.lock().open.push(attempt),
                Ok((status, answer)) => panic!("{}: {status} {answer}", attempt.key),
                Err(_) => return ledger.lock().open.push(attempt),
            }
        } else if broken {
            return;
        }
        tokio::time::sleep(Duration::from_millis(random_u64() % THINK_MS)).await;
    }
}

async fn repeat(caller: &mut Caller, attempt: &Attempt) -> (u16, Value) {
    insisting(async || caller.post(&attempt.path(), &attempt.body).await.unwrap()).await
}

/// Repeats a request while the answer is 503: a new process may not have loaded its adapters yet.
async fn insisting(mut ask: impl AsyncFnMut() -> (u16, Value)) -> (u16, Value) {
    until("an answer other than 503", async || {
        let answered = ask().await;
        if answered.0 != 503 { Ok(answered) } else { Err(answered) }
    })
    .await
}

/// Checks that the booking exists and that its key returns it.
async fn assert_replayed(caller: &mut Caller, it: &Accepted) {
    let (code, answer) = insisting(async || intents::status(caller, &it.booking_ref).await.unwrap()).await;
    assert_eq!(code, 200, "{} is lost: {answer}", it.note);
    assert_eq!(answer["booking"]["appointment_id"], it.appointment_id);
    let (code, answer) = repeat(caller, &it.attempt).await;
    assert_eq!((code, &answer["replay"]), (200, &Value::Bool(true)), "{}: {answer}", it.note);
    let made = match it.attempt.work {
        Work::BookGroup => members(&answer).clone(),
        _ => vec![answer["booking"].clone()],
    };
    let known = made.iter().any(|made| made["booking_ref"] == it.booking_ref.as_str());
    assert!(known, "{} ({}) is not in its replay: {answer}", it.note, it.booking_ref);
}

fn sample(ledger: &Ledger, round: usize) -> Vec<Accepted> {
    let (last, earlier): (Vec<_>, Vec<_>) =
        ledger.accepted.values().cloned().partition(|accepted| accepted.round + 1 == round);
    let some = (0..SAMPLE.min(earlier.len())).map(|_| earlier[random_u64() as usize % earlier.len()].clone());
    last.into_iter().chain(some).collect()
}

/// Allows enough resends that no write is given up: each kill may cost one, and this EHR always reports its state
/// correctly.
fn rules() -> String {
    HASTY.replacen("[defaults.write]\n", "[defaults.write]\nmax_resends = 100\n", 1)
}

/// The unpleasant EHR's ability to move appointments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moves {
    Supported,
    Unsupported,
}

fn unpleasant_ehr(moves: Moves) -> EhrServer {
    let profile = Profile { booked_percent: 20, days_back: 0, days_ahead: 7, patients: 40, ..fixtures::profile(9) };
    let ehr = EhrServer::start(profile).unwrap();
    let behaviours = Behaviours {
        idempotent: false,
        lose_replies_per_mille: 60,
        drop_writes_per_mille: 30,
        ..Behaviours::default()
    };
    ehr.ehr().control(Control::Behave(behaviours)).unwrap();
    if moves == Moves::Unsupported {
        intents::refuse_moves(&ehr);
    }
    ehr
}

#[actix::test]
async fn nothing_acknowledged_is_lost_and_nothing_is_written_twice_on_sled() {
    let chosen = |installation: Installation| installation.on_engine(EngineKind::Sled).unwrap();
    nothing_acknowledged_is_lost_and_nothing_is_written_twice("sled", 50, Moves::Supported, chosen, None).await;
}

#[actix::test]
async fn nothing_acknowledged_is_lost_and_nothing_is_written_twice_on_fjall() {
    let chosen = |installation: Installation| installation.on_engine(EngineKind::Fjall).unwrap();
    nothing_acknowledged_is_lost_and_nothing_is_written_twice("fjall", 50, Moves::Unsupported, chosen, None).await;
}

/// In every other round the database restarts before the process is killed.
#[actix::test]
async fn nothing_acknowledged_is_lost_and_nothing_is_written_twice_on_postgres() {
    if is_skipped() {
        return;
    }
    let mut cluster = Cluster::temporary(Durability::Synced).unwrap();
    let url = cluster.database().unwrap();
    let chosen = |installation: Installation| installation.on_database(&url).unwrap();
    nothing_acknowledged_is_lost_and_nothing_is_written_twice(
        "postgres",
        12,
        Moves::Supported,
        chosen,
        Some(&mut cluster),
    )
    .await;
}

async fn nothing_acknowledged_is_lost_and_nothing_is_written_twice(
    engine: &str,
    rounds: usize,
    moves: Moves,
    chosen: impl FnOnce(Installation) -> Installation,
    mut database: Option<&mut Cluster>,
) {
    let rounds = std::env::var("KILL9_ROUNDS").ok().map_or(rounds, |rounds| rounds.parse().unwrap());
    let ehr = unpleasant_ehr(moves);
    let dir = tempfile::tempdir().unwrap();
    let program = binary();
    let installation = chosen(Installation::new(program, dir.path(), &ehr.url(), &rules()).unwrap());

    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let receiver = WebhookReceiver::start().unwrap();
    subscribe(&mut caller, &receiver).await;
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    for (location, ..) in LOCATIONS {
        let offers = process::offers(&mut caller, location, usize::MAX).await.unwrap();
        ledger.lock().slots.extend(offers.into_iter().map(|token| (location, token)));
    }
    shuffle(&mut ledger.lock().slots);
    process.kill().unwrap();

    let since = Instant::now();
    for round in 0..rounds {
        let ended = database.as_deref_mut().filter(|_| round % 2 == 1);
        kill_under_load(&installation, &ledger, round, ended).await;
    }
    let took = since.elapsed();

    let _process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    finish_open_attempts(&mut caller, &ledger, rounds).await;
    let accepted: Vec<Accepted> = ledger.lock().accepted.values().cloned().collect();
    for it in &accepted {
        assert_replayed(&mut caller, it).await;
    }
    drained(&mut caller, &accepted).await;
    all_is_sealed_with_the_newest_key(&installation, rounds).await;
    assert_written_once(&ehr, &accepted);
    in_the_audit_trail(&installation, &accepted).await;
    let repeated = assert_messages_sent(&receiver, &accepted).await;
    assert_eq!(installation.panics().unwrap(), [""; 0]);
    let replayed = ledger.lock().replayed_after_a_crash;
    let count = |kind: fn(&Accepted) -> bool| accepted.iter().filter(|it| kind(it)).count();
    let grouped = count(|it| matches!(it.attempt.work, Work::BookGroup));
    let (moved, confirmed, cancelled) = (count(|it| it.moved), count(|it| it.confirmed), count(|it| it.cancelled));
    eprintln!(
        "kill -9 on {engine} x {rounds}: {} bookings acknowledged, {grouped} in groups, {moved} moved, {confirmed} confirmed, {cancelled} cancelled; \
         {replayed} requests durable though their first answer was lost; {repeated} webhook messages came again; {:.2} s a round",
        accepted.len(),
        took.as_secs_f64() / rounds as f64
    );
    assert!(accepted.len() > rounds, "too few bookings to mean anything");
    let kinds = [grouped, moved, confirmed, cancelled];
    assert!(accepted.len() < ENOUGH || !kinds.contains(&0), "a kind of request never occurred: {kinds:?}");
}

async fn kill_under_load(
    installation: &Installation,
    ledger: &Arc<Mutex<Ledger>>,
    round: usize,
    ended: Option<&mut Cluster>,
) {
    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    let sampled = sample(&ledger.lock(), round);
    for accepted in sampled {
        assert_replayed(&mut caller, &accepted).await;
    }
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let caller = caller.another(installation.address).await.unwrap();
        clients.push(tokio::spawn(client(caller, ledger.clone(), round)));
    }
    change_the_key(installation, round).await;
    let (least, most) = LIFE_MS;
    let life = || Duration::from_millis(least + random_u64() % (most - least));
    tokio::time::sleep(life()).await;
    if let Some(cluster) = ended {
        cluster.stop().unwrap();
        tokio::time::sleep(life()).await;
        cluster.run().unwrap();
        let accepted = || ledger.lock().accepted.len();
        let before = accepted();
        until("a booking after the database is back", async || accepted() > before).await;
    }
    process.kill().unwrap();
    for client in clients {
        client.await.unwrap();
    }
    assert!(!ledger.lock().slots.is_empty(), "no slots left: fewer rounds, or a larger practice");
}

/// Waits until each creation has an audit entry with its API key, even if the first answer was lost. Changes left
/// unaudited by a crash are audited in the next life.
async fn in_the_audit_trail(installation: &Installation, accepted: &[Accepted]) {
    let untold = || {
        let entries = installation.audit_entries(&["--record", "appointment"]).unwrap();
        let made = entries.iter().filter(|entry| entry["action"] == "create" && entry["actor"]["key"].is_string());
        let made: BTreeSet<u64> =
            made.flat_map(|entry| entry["ids"].as_array().unwrap()).filter_map(Value::as_u64).collect();
        accepted.iter().map(|it| it.appointment_id).filter(|id| !made.contains(id)).collect::<Vec<_>>()
    };
    until("an entry of every appointment", async || {
        let untold = untold();
        if untold.is_empty() { Ok(()) } else { Err(untold) }
    })
    .await;
}

/// Rotates the store key unless a rotation is in progress, which may take several lives.
async fn change_the_key(installation: &Installation, round: usize) {
    let mut operator = installation.operator().await.unwrap();
    let (status, answer) = operator.post("/store/keys", &json!({})).await.unwrap();
    assert!(status == 200 || status == 409, "round {round}: {answer}");
}

/// Repeats the requests that were never answered.
async fn finish_open_attempts(caller: &mut Caller, ledger: &Mutex<Ledger>, round: usize) {
    let open = std::mem::take(&mut ledger.lock().open);
    for attempt in open {
        let (status, answer) = repeat(caller, &attempt).await;
        assert_eq!(status, 200, "{}: {answer}", attempt.key);
        ledger.lock().accept(attempt, &answer, round);
    }
}

async fn all_is_sealed_with_the_newest_key(installation: &Installation, rounds: usize) {
    let mut operator = installation.operator().await.unwrap();
    let keys = until("no values left", async || {
        let (_, answer) = operator.get("/store/keys").await.unwrap();
        assert!(answer["data"]["failed"].is_null(), "{answer}");
        let keys = answer["data"]["keys"].as_array().unwrap().clone();
        if answer["data"]["values_left"] == 0 { Ok(keys) } else { Err(answer) }
    })
    .await;
    assert!(keys.len() > 1 && keys.len() <= rounds + 1, "{keys:?}");
    for old in &keys[1..] {
        let path = format!("/store/keys/{}", old["id"].as_str().unwrap());
        let (status, answer) = operator.delete(&path).await.unwrap();
        assert_eq!(status, 200, "{answer}");
    }
}

/// Waits until the EHR has everything, and checks that nothing was refused.
async fn drained(caller: &mut Caller, accepted: &[Accepted]) {
    for it in accepted {
        let last = settled(caller, &it.booking_ref).await;
        let status = if it.cancelled { "cancelled" } else { "confirmed" };
        assert_eq!(last["booking_status"], status, "{}: {last}", it.note);
        assert_eq!(last["patient_confirmed_at"].is_string(), it.confirmed, "{}: {last}", it.note);
        if it.cancelled {
            assert_ne!(last["cancellation_writeback"], "failed", "{}: {last}", it.note);
            continue;
        }
        assert_eq!(last["ehr_writeback"], "confirmed", "{}: {last}", it.note);
        if it.moved {
            assert_eq!(last["reschedule"]["status"], "confirmed", "{}: {last}", it.note);
        }
    }
}

/// Checks that the EHR has one live appointment per booking, at its last acknowledged time, with the acknowledged
/// confirmation, and none if it is cancelled. There are no others, and no duplicate patients.
fn assert_written_once(ehr: &EhrServer, accepted: &[Accepted]) {
    let mut live = in_ehr(ehr, "kill9-");
    for it in accepted {
        let there = live.remove(&it.note).unwrap_or_default();
        let shown: Vec<(i64, bool)> = there.iter().map(|visit| (visit.start, visit.patient_confirmed)).collect();
        let expected = if it.cancelled { Vec::new() } else { vec![(it.start, it.confirmed)] };
        assert_eq!(shown, expected, "live appointments in the EHR for {} ({})", it.note, it.booking_ref);
    }
    assert!(live.is_empty(), "appointments of no acknowledged booking: {live:?}");
    let ehr = ehr.ehr();
    let mut people = BTreeSet::new();
    for record in ehr.records(Resource::Patients) {
        let Record::Patient(patient) = record else { continue };
        if patient.last_name.starts_with("Ångström-") {
            assert!(people.insert(patient.last_name.clone()), "{} is in the EHR twice", patient.last_name);
        }
    }
}

async fn subscribe(caller: &mut Caller, receiver: &WebhookReceiver) {
    let (status, made) = caller.post("/webhook_endpoints", &json!({"target_url": receiver.url})).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let subscriptions =
        format!("/webhook_endpoints/{}/webhook_subscriptions?subdomain={SUBDOMAIN}", made["data"]["id"]);
    for event in ["appointment_insertion", "appointment_confirmed"] {
        let event = json!({"resource_type": "Appointment", "event": event});
        let (status, answer) = caller.post(&subscriptions, &event).await.unwrap();
        assert_eq!(status, 201, "{answer}");
    }
}

/// Checks that the subscriber received each booking and each confirmation at least once, always under one delivery id.
/// A cancelled booking may never have been written. Returns the number of repeated messages.
async fn assert_messages_sent(receiver: &WebhookReceiver, accepted: &[Accepted]) -> usize {
    until("a message of every booking and confirmation", async || {
        let mut deliveries: BTreeMap<(u64, String), BTreeSet<String>> = BTreeMap::new();
        let messages = receiver.messages();
        for message in &messages {
            let body: Value = serde_json::from_slice(&message.body).unwrap();
            let event = body["event_name"].as_str().unwrap().to_owned();
            let appointment = body["data"]["appointment"]["id"].as_u64().unwrap();
            deliveries.entry((appointment, event)).or_default().insert(message.headers["delivery-id"].clone());
        }
        for (event, ids) in &deliveries {
            assert_eq!(ids.len(), 1, "deliveries of one event: {event:?}");
        }
        let live = accepted.iter().filter(|it| !it.cancelled).map(|it| (it, "appointment_insertion.complete"));
        let confirmed = accepted.iter().filter(|it| it.confirmed).map(|it| (it, "appointment_confirmed"));
        let expected = live.chain(confirmed).map(|(it, event)| (it.appointment_id, event.to_owned()));
        let missing = expected.filter(|event| !deliveries.contains_key(event)).count();
        if missing == 0 { Ok(messages.len() - deliveries.len()) } else { Err(missing) }
    })
    .await
}

fn shuffle<T>(items: &mut [T]) {
    for at in (1..items.len()).rev() {
        items.swap(at, random_u64() as usize % (at + 1));
    }
}
