//! The lease of a location and the validation of messages that claim it.

use std::time::Duration;

use serde_json::{Value, json};
use testing::until;
use tests::harness::workstation::{
    exchange,
    gated_process::{GatedProcess, LOCATION, OTHER},
    socket::Socket,
};

use crate::workstations::product;

/// Returns an unsolicited answer.
fn answer(lease: u64, number: u64, location: u32) -> Value {
    json!({"type": "answer", "lease": lease, "number": number, "location": location, "status": 200, "headers": [], "body": ""})
}

#[actix::test]
async fn pairing_codes_work_once_and_guesses_are_limited() {
    let product = product().await;
    let code = product.code(LOCATION).await;
    let install = "5b1c1c0e-6a35-4a0e-9a55-0d7a6a6f0001";
    // Of two concurrent requests, one succeeds.
    let (one, two) = tokio::join!(
        exchange(product.installation.address, &code, "A", install),
        exchange(product.installation.address, &code, "B", "5b1c1c0e-6a35-4a0e-9a55-0d7a6a6f0002"),
    );
    let mut statuses = [one.unwrap().status, two.unwrap().status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 404]);
    let fresh = product.code(LOCATION).await;
    let mut last = 0;
    for n in 0..40 {
        let guess = format!("2222-{:04}", 2_222 + n).replace(['0', '1'], "Z");
        last = exchange(product.installation.address, &guess, "Guesser", install).await.unwrap().status;
        if last == 429 {
            break;
        }
        assert_eq!(last, 404);
    }
    assert_eq!(last, 429, "guesses are not limited");
    // Then even the correct code is rejected.
    assert_eq!(exchange(product.installation.address, &fresh, "Guesser", install).await.unwrap().status, 429);
}

#[actix::test]
async fn one_holds_the_lease_and_the_next_in_order_takes_over() {
    let product = product().await;
    let (first, second, third) =
        (product.pair(LOCATION, "1").await, product.pair(LOCATION, "2").await, product.pair(LOCATION, "3").await);
    let mut one = first.socket().await.unwrap();
    let mut two = second.socket().await.unwrap();
    let mut three = third.socket().await.unwrap();
    // Logged-out and paused workstations wait.
    one.state(false, false).await.unwrap();
    two.state(true, true).await.unwrap();
    three.state(true, false).await.unwrap();
    let lease = three.leased().await.unwrap();
    one.state(true, false).await.unwrap();
    two.state(true, false).await.unwrap();
    product.gate_is(LOCATION, "connected").await;
    assert_eq!(product.gate(LOCATION).await["workstation_name"], "3");
    // The next one in order of arrival gets the lease.
    drop(three);
    let next = one.leased().await.unwrap();
    assert!(next > lease);
    // Paused by the staff: the lease passes on.
    one.state(true, true).await.unwrap();
    assert_eq!(one.receive_kind("lease").await.unwrap()["lease"], Value::Null);
    assert!(two.leased().await.unwrap() > next);
    two.state(false, false).await.unwrap();
    product.gate_is(LOCATION, "paused").await;
    one.state(false, false).await.unwrap();
    product.gate_is(LOCATION, "logged_out").await;
    drop((one, two));
    product.gate_is(LOCATION, "closed").await;
}

#[actix::test]
async fn racing_workstations_never_share_the_lease() {
    let product = product().await;
    let (first, second) = (product.pair(LOCATION, "1").await, product.pair(LOCATION, "2").await);
    let mut seen = Vec::new();
    for _ in 0..10 {
        let (one, two) = tokio::join!(first.socket(), second.socket());
        let (mut one, mut two) = (one.unwrap(), two.unwrap());
        let (a, b) = tokio::join!(one.state(true, false), two.state(true, false));
        a.and(b).unwrap();
        let (lease, other) = tokio::select! {
            lease = one.leased() => (lease, &mut two),
            lease = two.leased() => (lease, &mut one),
        };
        seen.push(lease.unwrap());
        assert_eq!(tokio::time::timeout(Duration::from_millis(300), other.leased()).await.ok().flatten(), None);
    }
    let mut sorted = seen.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted, seen, "fencing numbers grow");
}

#[actix::test]
async fn a_revoked_token_ends_its_connection_and_opens_none() {
    let product = product().await;
    let (first, second) = (product.pair(LOCATION, "1").await, product.pair(LOCATION, "2").await);
    let (mut one, mut two) = (first.socket().await.unwrap(), second.socket().await.unwrap());
    one.state(true, false).await.unwrap();
    one.leased().await.unwrap();
    two.state(true, false).await.unwrap();
    let revoked = product.delete(&format!("/locations/{LOCATION}/workstations/{}", first.id)).await;
    assert_eq!(revoked, 204);
    assert_eq!(one.bye().await.as_deref(), Some("revoked"));
    assert!(one.ends_within(Duration::from_secs(60)).await);
    assert!(two.leased().await.is_some(), "no workstation takes over");
    let mut again = Socket::open(product.installation.address).await.unwrap();
    again.hello(&first.token).await.unwrap();
    assert_eq!(again.bye().await.as_deref(), Some("token"));
}

#[actix::test]
async fn newer_socket_of_an_installation_replaces_the_older_one() {
    let product = product().await;
    let workstation = product.pair(LOCATION, "1").await;
    let mut old = workstation.socket().await.unwrap();
    old.state(true, false).await.unwrap();
    let lease = old.leased().await.unwrap();
    let mut new = workstation.socket().await.unwrap();
    assert_eq!(old.bye().await.as_deref(), Some("replaced"));
    new.state(true, false).await.unwrap();
    assert!(new.leased().await.unwrap() > lease);
    // After another pairing, the old token is void and its connection ends.
    let code = product.code(LOCATION).await;
    let again = exchange(product.installation.address, &code, "1", &workstation.install).await.unwrap();
    assert_eq!(again.json()["workstation"], json!(workstation.id));
    assert_eq!(new.bye().await.as_deref(), Some("replaced"));
    let mut socket = Socket::open(product.installation.address).await.unwrap();
    socket.hello(&workstation.token).await.unwrap();
    assert_eq!(socket.bye().await.as_deref(), Some("token"));
}

/// Forged answers with every kind of claim are rejected, counted and logged.
#[actix::test]
async fn unsolicited_answers_are_rejected_and_counted() {
    let product = product().await;
    let (holder, standby) = (product.pair(LOCATION, "1").await, product.pair(LOCATION, "2").await);
    let mut one = holder.socket().await.unwrap();
    one.state(true, false).await.unwrap();
    let lease = one.leased().await.unwrap();
    let mut two = standby.socket().await.unwrap();
    two.state(true, false).await.unwrap();
    let before = product.figure("workstation_answers_refused_total").await;
    for forged in [
        answer(lease, 4_000_000, LOCATION),
        answer(lease + 1, 1, LOCATION),
        answer(lease.wrapping_sub(1), 1, LOCATION),
        answer(lease, 1, OTHER),
        answer(u64::MAX, u64::MAX, u32::MAX),
        json!({"type": "failure", "lease": lease, "number": 4_000_000, "location": LOCATION, "kind": "no_answer", "reason": "x"}),
    ] {
        one.send(&forged).await.unwrap();
    }
    two.send(&answer(lease, 1, LOCATION)).await.unwrap();
    until("seven answers that are refused", async || {
        (product.figure("workstation_answers_refused_total").await == before + 7).then_some(())
    })
    .await;
    let log = product.installation.log().unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("answer was rejected")).count(), 7);
    for why in ["does not hold the lease", "under another lease", "for another location", "no such request"] {
        assert!(log.contains(why), "{why}");
    }
    let mut did = Vec::new();
    for entry in product.installation.audit_entries(&["--record", "location"]).unwrap() {
        assert!(entry["actor"]["workstation"].is_string() || entry["actor"]["operator"].is_string(), "{entry}");
        did.push(entry["action"].as_str().unwrap().to_owned());
    }
    for (what, times) in [("pair", 2), ("connect", 2), ("sign in", 2), ("take lease", 1), ("answer", 7)] {
        assert_eq!(did.iter().filter(|did| *did == what).count(), times, "{what}: {did:?}");
    }
    assert!(!log.contains(&holder.token) && !log.contains(&standby.token), "the log contains a token");
    // The answers were wrong, but do not end the connection.
    assert_eq!(product.gate(LOCATION).await["state"], "connected");
}

/// Numbers outside the protocol's range are invalid messages.
#[actix::test]
async fn invalid_claims_end_the_connection() {
    let product = product().await;
    let workstation = product.pair(LOCATION, "1").await;
    for wrong in [
        json!({"type": "answer", "lease": -1, "number": 1, "location": LOCATION, "status": 200}),
        json!({"type": "answer", "lease": "1", "number": 1, "location": LOCATION, "status": 200}),
        json!({"type": "answer", "number": 1, "location": LOCATION, "status": 200}),
        json!({"type": "answer", "lease": 1, "number": 1, "location": LOCATION, "status": 70_000}),
        json!({"type": "answer", "lease": 1, "number": 1, "location": LOCATION, "status": 200, "body": "no base64!"}),
        json!({"type": "failure", "lease": 1, "number": 1, "location": LOCATION, "kind": "bored", "reason": ""}),
        json!({"type": "state", "session": "maybe"}),
    ] {
        let mut socket = workstation.socket().await.unwrap();
        socket.send(&wrong).await.unwrap();
        assert_eq!(socket.bye().await.as_deref(), Some("protocol"), "{wrong}");
    }
}

#[actix::test]
async fn lease_of_one_location_is_invalid_at_another() {
    let product: GatedProcess = product().await;
    let (here, there) = (product.pair(LOCATION, "1").await, product.pair(OTHER, "2").await);
    let (mut one, mut two) = (here.socket().await.unwrap(), there.socket().await.unwrap());
    one.state(true, false).await.unwrap();
    two.state(true, false).await.unwrap();
    let (first, second) = (one.leased().await.unwrap(), two.leased().await.unwrap());
    let before = product.figure("workstation_answers_refused_total").await;
    one.send(&answer(second, 1, OTHER)).await.unwrap();
    two.send(&answer(first, 1, LOCATION)).await.unwrap();
    until("two answers that are refused", async || {
        (product.figure("workstation_answers_refused_total").await == before + 2).then_some(())
    })
    .await;
}

/// After a crash, no fencing number is reused.
#[actix::test]
async fn fencing_numbers_survive_a_crash() {
    let mut product = product().await;
    let workstation = product.pair(LOCATION, "1").await;
    let mut last = 0;
    for _ in 0..3 {
        let mut socket = workstation.socket().await.unwrap();
        socket.state(true, false).await.unwrap();
        let lease = socket.leased().await.unwrap();
        assert!(lease > last);
        last = lease;
        product.crash().await.unwrap();
        assert!(socket.ends_within(Duration::from_secs(60)).await);
    }
}
