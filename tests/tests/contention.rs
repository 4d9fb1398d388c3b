//! Concurrent clients over HTTP: a slot is booked once, and a key creates one booking.

mod visits;

use std::collections::{BTreeMap, BTreeSet};

use sandbox_ehr::Profile;
use serde_json::Value;
use tempfile::TempDir;
use tests::harness::{
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    intents::{self, BOOK},
    process::{self, HASTY, Installation, LOCATIONS, Process, binary, booking, path},
};

const CLIENTS: usize = 64;

struct Contest {
    installation: Installation,
    caller: Caller,
    location: u32,
    offers: Vec<String>,
    ehr: EhrServer,
    _process: Process,
    _dir: TempDir,
}

/// The simulated EHR's ability to move appointments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moves {
    Supported,
    Unsupported,
}

async fn contest() -> Contest {
    contest_on(Moves::Supported).await
}

async fn contest_on(moves: Moves) -> Contest {
    let profile = Profile { booked_percent: 20, days_back: 0, days_ahead: 7, patients: 40, ..fixtures::profile(5) };
    let ehr = EhrServer::start(profile).unwrap();
    if moves == Moves::Unsupported {
        intents::refuse_moves(&ehr);
    }
    let dir = tempfile::tempdir().unwrap();
    let program = binary();
    let installation = Installation::new(program, dir.path(), &ehr.url(), HASTY).unwrap();
    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let location = LOCATIONS[0].0;
    let offers = process::offers(&mut caller, location, usize::MAX).await.unwrap();
    assert!(offers.len() > 2 * CLIENTS);
    Contest { installation, caller, location, offers, ehr, _process: process, _dir: dir }
}

impl Contest {
    /// Books concurrently, one client per body.
    async fn book(&self, bodies: Vec<Value>) -> Vec<(u16, Value)> {
        self.post(bodies.into_iter().map(|body| (BOOK, body)).collect()).await
    }

    /// Sends requests concurrently, one client per request.
    async fn post(&self, requests: Vec<(&str, Value)>) -> Vec<(u16, Value)> {
        let mut clients = Vec::new();
        for (route, body) in requests {
            let mut caller = self.caller.another(self.installation.address).await.unwrap();
            let path = path(route, self.location);
            clients.push(tokio::spawn(async move { caller.post(&path, &body).await.unwrap() }));
        }
        let mut answers = Vec::new();
        for client in clients {
            answers.push(client.await.unwrap());
        }
        assert_eq!(self.installation.panics().unwrap(), [""; 0]);
        answers
    }
}

fn booking_ref(answer: &Value) -> &str {
    answer["booking"]["booking_ref"].as_str().unwrap()
}

/// Counts the answers by status, reason and replay.
fn outcomes(answers: &[(u16, Value)]) -> BTreeMap<String, usize> {
    let mut outcomes = BTreeMap::new();
    for (status, answer) in answers {
        *outcomes.entry(format!("{status} {} replay {}", answer["reason"], answer["replay"])).or_default() += 1;
    }
    outcomes
}

fn accepted(answers: &[(u16, Value)]) -> Vec<&Value> {
    answers.iter().filter(|(status, _)| *status == 200).map(|(_, answer)| answer).collect()
}

fn refused<'a>(answers: &'a [(u16, Value)], reason: &str) -> Vec<&'a Value> {
    let with_reason = |(status, answer): &&(u16, Value)| *status == 409 && answer["reason"] == reason;
    answers.iter().filter(with_reason).map(|(_, answer)| answer).collect()
}

#[actix::test]
async fn one_slot_is_booked_once() {
    let mut contest = contest().await;
    let slot = contest.offers[0].clone();
    let bodies = (0..CLIENTS).map(|n| booking(&slot, &format!("slot-{n}"), n as u64, "one slot")).collect();
    let answers = contest.book(bodies).await;
    assert_eq!(accepted(&answers).len(), 1, "{:?}", outcomes(&answers));
    let taken = refused(&answers, "slot_taken");
    assert_eq!(taken.len(), CLIENTS - 1, "{:?}", outcomes(&answers));
    for answer in &taken {
        let alternatives = answer["alternatives"].as_array().unwrap();
        assert_eq!(alternatives.len(), 5, "{answer}");
        assert!(alternatives.iter().all(|offer| offer["slot_token"].as_str().unwrap().starts_with("slt_")));
    }
    // An alternative can be booked directly, and the key of a refused booking can be reused.
    let alternative = taken[0]["alternatives"][0]["slot_token"].as_str().unwrap();
    let loser = (0..CLIENTS).find(|n| answers[*n].0 == 409).unwrap();
    let body = booking(alternative, &format!("slot-{loser}"), loser as u64, "one slot");
    let (status, answer) = contest.caller.post(&path("/intent/booking/book", contest.location), &body).await.unwrap();
    assert_eq!((status, &answer["replay"]), (200, &Value::Bool(false)), "{answer}");
}

#[actix::test]
async fn one_key_and_the_same_data_make_one_booking() {
    let contest = contest().await;
    let body = booking(&contest.offers[0], "same-key", 1, "same data");
    let answers = contest.book(vec![body; CLIENTS]).await;
    let all = accepted(&answers);
    assert_eq!(all.len(), CLIENTS, "{:?}", outcomes(&answers));
    assert_eq!(all.iter().filter(|answer| answer["replay"] == false).count(), 1);
    assert_eq!(all.iter().filter(|answer| answer["replay"] == true).count(), CLIENTS - 1);
    assert_eq!(all.into_iter().map(booking_ref).collect::<BTreeSet<_>>().len(), 1);
}

#[actix::test]
async fn one_key_and_different_data_are_a_conflict() {
    let contest = contest().await;
    // Half of them book other slots, half the same slot for other patients. Any difference is a conflict.
    let body =
        |n: usize| booking(&contest.offers[if n.is_multiple_of(2) { n } else { 0 }], "one-key", n as u64, "data");
    let answers = contest.book((0..CLIENTS).map(body).collect()).await;
    let all = accepted(&answers);
    assert_eq!(all.len(), 1, "{:?}", outcomes(&answers));
    assert_eq!(all[0]["replay"], false);
    assert_eq!(refused(&answers, "idempotency_conflict").len(), CLIENTS - 1, "{:?}", outcomes(&answers));
}
