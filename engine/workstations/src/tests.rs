#![allow(clippy::unwrap_used)]
//! Tests of the gateway with workstations that misbehave.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use adapter_host::{AdapterRegistry, Gate, GateError};
use location::time::{HOUR, MINUTE, Timestamp};
use records::sync_state::{GateState, QueueChange};
use serde_json::json;
use setup::{Current, LocationSetup, Setup};
use store::{Direction, MemoryStore, Store, keys::Space, secrets::Secrets};
use uuid::Uuid;

use super::{
    CodeKind, Gateway, WorkstationError,
    devices::Devices,
    lease::Rejection,
    limits::{CODES, FRAME_BYTES, FRAMES, GUESSES_OF_ONE, SILENCE},
    protocol::{ByeReason, RequestRef, ToWorkstation},
    testing::{self, Fake, HERE, PEER, THERE, UNGATED, ask, gateway, paired},
};

const LONG: Duration = Duration::from_secs(30);

fn store() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new())
}

fn devices(store: &Arc<MemoryStore>) -> Devices {
    Devices::new(store.clone(), Secrets::from_seed([7; 32]))
}

fn open(gateway: &Gateway) -> bool {
    gateway.location_gateway(HERE).unwrap().is_open()
}

#[tokio::test]
async fn a_request_goes_through_the_workstation_that_holds_the_lease() {
    let gateway = gateway(&store());
    assert!(!open(&gateway));
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::connect(&gateway, &token).unwrap();
    let Some(ToWorkstation::Welcome(welcome)) = fake.next().await else { panic!("a welcome first") };
    assert_eq!((welcome.location.id, welcome.heartbeat_seconds, welcome.approval), (101, 20, false));
    assert_eq!((welcome.ehr.origin.as_str(), welcome.ehr.base_path.as_str()), ("https://ehr.example", "/app"));
    assert_eq!((welcome.ehr.paths, welcome.ehr.probe), (vec!["/api/".to_owned()], "/api/session".to_owned()));
    fake.state("in", false);
    let lease = fake.lease().await;
    let asked = ask(&gateway, HERE, "/api/visits", LONG);
    let request = fake.request().await;
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/api/visits"));
    assert_eq!(request.claim, RequestRef { lease, number: request.claim.number, location: 101 });
    assert!(request.deadline_ms > 29_000 && request.deadline_ms <= 30_000);
    assert_eq!(request.write.unwrap().kind, "appointment-insert");
    fake.answer(request.claim, "{}");
    let answer = asked.await.unwrap().unwrap();
    assert_eq!((answer.status, answer.body), (200, b"{}".to_vec()));
    assert_eq!(answer.headers, [("x-page".to_owned(), "1".to_owned())]);
    let status = gateway.status(HERE).unwrap();
    assert_eq!((status.state, status.connected), (GateState::Connected, 1));
    assert_eq!(status.holder.unwrap().name, "Front desk");
    let listed = &gateway.workstations(HERE).unwrap()[0];
    assert!(listed.connected && listed.holds_lease && listed.logged_in == Some(true) && !listed.paused);
    assert_eq!((gateway.count().connected, gateway.count().open, gateway.count().refused), (1, 1, 0));
}

#[tokio::test]
async fn workstations_of_a_released_location_are_disconnected() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    fake.lease().await;
    gateway.release_moved(|location| location == HERE);
    assert!(open(&gateway));
    gateway.release_moved(|location| location != HERE);
    assert_eq!(fake.bye().await, ByeReason::Shutdown);
    assert!(!open(&gateway));
}

#[tokio::test]
async fn a_workstation_paired_elsewhere_by_another_process_is_disconnected() {
    let store = store();
    let (here, elsewhere) = (gateway(&store), gateway(&store));
    let token = paired(&here, HERE, 1).await;
    let mut fake = Fake::at_work(&here, &token).await;
    fake.lease().await;
    here.end_reassigned();
    assert!(open(&here), "it is paired");
    paired(&elsewhere, THERE, 1).await;
    assert!(open(&here), "no workstation here reported it");
    here.end_reassigned();
    assert_eq!(fake.bye().await, ByeReason::Replaced);
    assert!(!open(&here));
}

#[tokio::test]
async fn each_kind_of_failure_maps_to_its_error() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    fake.lease().await;
    for (kind, means) in [
        ("not_sent", "not sent: because"),
        ("no_answer", "no answer: because"),
        ("refused", "refused: because"),
        ("logged_out", "not sent: nobody is logged in to the EHR at the workstation"),
        ("approval", "not sent: the write waits for the staff's approval"),
        ("declined", "declined: because"),
    ] {
        let asked = ask(&gateway, HERE, "/api/visits", LONG);
        let request = fake.request().await;
        fake.fail(request.claim, kind);
        assert_eq!(asked.await.unwrap().unwrap_err().to_string(), means);
    }
}

#[tokio::test]
async fn revoking_a_token_ends_the_connection_and_its_requests() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    fake.lease().await;
    let asked = ask(&gateway, HERE, "/api/visits", LONG);
    let request = fake.request().await;
    let id = fake.session.workstation();
    assert!(!gateway.revoke(THERE, id).await.unwrap(), "it is not a workstation of another location");
    assert!(gateway.revoke(HERE, id).await.unwrap());
    assert_eq!(fake.bye().await, ByeReason::Revoked);
    assert!(matches!(asked.await.unwrap(), Err(GateError::NoAnswer(_))), "it may have reached the EHR");
    assert!(!open(&gateway));
    // Its later messages are ignored, and it cannot connect again.
    fake.answer(request.claim, "{}");
    assert_eq!(Fake::connect(&gateway, &token).err(), Some(ByeReason::Token));
    assert!(gateway.workstations(HERE).unwrap().is_empty());
    assert!(!gateway.revoke(HERE, id).await.unwrap());
}

#[tokio::test]
async fn one_of_two_workstations_holds_the_lease_and_the_other_takes_over() {
    let gateway = gateway(&store());
    let tokens = [paired(&gateway, HERE, 1).await, paired(&gateway, HERE, 2).await];
    let mut first = Fake::at_work(&gateway, &tokens[0]).await;
    let lease = first.lease().await;
    let mut second = Fake::at_work(&gateway, &tokens[1]).await;
    let asked = ask(&gateway, HERE, "/api/visits", LONG);
    let request = first.request().await;
    // The other workstation claims to have the answer, and so does the holder under another lease or for another
    // location.
    second.answer(request.claim, "forged");
    first.answer(RequestRef { lease: lease + 1, ..request.claim }, "forged");
    first.answer(RequestRef { location: 102, ..request.claim }, "forged");
    first.answer(RequestRef { number: request.claim.number + 1, ..request.claim }, "forged");
    assert_eq!(gateway.count().refused, 4);
    assert!(!asked.is_finished());
    first.state("out", false);
    assert!(matches!(asked.await.unwrap(), Err(GateError::NoAnswer(_))), "the first went in the middle");
    assert_eq!(first.next().await, Some(ToWorkstation::Lease { lease: None }));
    let next = second.lease().await;
    assert!(next > lease);
    // Answers under the old lease are rejected, also for a request that was sent to the second workstation.
    let again = ask(&gateway, HERE, "/api/visits", LONG);
    let request = second.request().await;
    first.answer(request.claim, "late");
    first.answer(RequestRef { lease, ..request.claim }, "late");
    second.answer(request.claim, "right");
    second.answer(request.claim, "replayed");
    assert_eq!(again.await.unwrap().unwrap().body, b"right");
    assert_eq!(gateway.count().refused, 7);
}

#[tokio::test]
async fn a_second_connection_of_an_installation_replaces_the_first() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut old = Fake::at_work(&gateway, &token).await;
    let lease = old.lease().await;
    let mut new = Fake::at_work(&gateway, &token).await;
    assert_eq!(old.bye().await, ByeReason::Replaced);
    assert!(new.lease().await > lease);
    drop(old);
    assert_eq!(gateway.status(HERE).unwrap().connected, 1, "the old socket's end does not end the new one");
    // Paired with another location, it is removed from this one.
    let elsewhere = paired(&gateway, THERE, 1).await;
    assert_eq!(new.bye().await, ByeReason::Replaced);
    assert_eq!(Fake::connect(&gateway, &token).err(), Some(ByeReason::Token));
    assert!(gateway.workstations(HERE).unwrap().is_empty());
    assert_eq!(Fake::connect(&gateway, &elsewhere).unwrap().session.location(), THERE);
}

#[tokio::test]
async fn fencing_tokens_are_unique_across_restarts_and_processes() {
    let store = store();
    let first = gateway(&store);
    let token = paired(&first, HERE, 1).await;
    let mut fake = Fake::at_work(&first, &token).await;
    let before = fake.lease().await;
    let restarted = gateway(&store);
    let mut fake = Fake::at_work(&restarted, &token).await;
    assert!(fake.lease().await > before);
    let (a, b) = (Arc::new(devices(&store)), Arc::new(devices(&store)));
    let mut given = Vec::new();
    for _ in 0..20 {
        let (x, y) = tokio::join!(a.next_lease(HERE), b.next_lease(HERE));
        given.extend([x.unwrap(), y.unwrap()]);
    }
    let count = given.len();
    given.sort_unstable();
    given.dedup();
    assert_eq!(given.len(), count);
}

#[tokio::test]
async fn a_flood_or_an_invalid_message_ends_the_connection() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    let pong = json!({"type": "pong", "n": 1});
    let ended = (0..=FRAMES).find_map(|_| fake.send(pong.clone()).err());
    assert_eq!((ended, fake.bye().await), (Some(ByeReason::Flood), ByeReason::Flood));
    let mut fake = Fake::at_work(&gateway, &token).await;
    let huge = "x".repeat(FRAME_BYTES + 1);
    assert_eq!((fake.session.received(&huge), fake.bye().await), (Err(ByeReason::Flood), ByeReason::Flood));
    for message in [json!({"type": "whisper"}), json!({"type": "hello", "token": token})] {
        let mut fake = Fake::at_work(&gateway, &token).await;
        assert_eq!((fake.send(message), fake.bye().await), (Err(ByeReason::Protocol), ByeReason::Protocol));
    }
    for first in ["", "{}", r#"{"type": "pong", "n": 1}"#] {
        assert_eq!(gateway.connect(first, None).err(), Some(ByeReason::Protocol), "{first:?} is no hello");
    }
}

#[tokio::test]
async fn an_oversized_or_invalid_answer_is_reported_as_no_answer() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    fake.lease().await;
    let asked = ask(&gateway, HERE, "/api/visits", LONG);
    let request = fake.request().await;
    fake.answer_bytes(request.claim, &vec![b'x'; request.max_body]);
    assert_eq!(asked.await.unwrap().unwrap().body.len(), request.max_body);
    let asked = ask(&gateway, HERE, "/api/visits", LONG);
    let request = fake.request().await;
    fake.answer_bytes(request.claim, &vec![b'x'; request.max_body + 1]);
    assert!(matches!(asked.await.unwrap(), Err(GateError::NoAnswer(_))));
    let asked = ask(&gateway, HERE, "/api/visits", LONG);
    let RequestRef { lease, number, location } = fake.request().await.claim;
    let odd = json!({"type": "answer", "lease": lease, "number": number, "location": location, "status": 999});
    fake.send(odd).unwrap();
    assert!(matches!(asked.await.unwrap(), Err(GateError::NoAnswer(_))));
}

#[tokio::test]
async fn requests_end_at_their_deadline_and_free_their_slot() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    fake.lease().await;
    let short = Duration::from_millis(150);
    let asked =
        [ask(&gateway, HERE, "/1", short), ask(&gateway, HERE, "/2", LONG), ask(&gateway, HERE, "/3", short / 2)];
    let [late, abandoned, waiting] = asked;
    assert!(matches!(late.await.unwrap(), Err(GateError::NoAnswer(_))), "it was handed out");
    assert!(matches!(waiting.await.unwrap(), Err(GateError::NotSent(_))), "it had no turn");
    abandoned.abort();
    assert!(abandoned.await.is_err());
    let first = fake.request().await;
    fake.request().await;
    fake.answer(first.claim, "late");
    assert_eq!(gateway.count().refused, 1, "what came too late is not believed");
    let asked = ask(&gateway, HERE, "/4", LONG);
    let request = fake.request().await;
    assert_eq!(request.path, "/4");
    fake.answer(request.claim, "{}");
    assert!(asked.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_beat_sends_due_pings_and_ends_silent_connections() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    fake.lease().await;
    let gated = gateway.location_gateway(HERE).unwrap();
    let (now, wall) = (Instant::now(), runtime::clock::now());
    (0..20).for_each(|second| gated.beat(second, now, wall));
    let mut pings = 0;
    while let Ok(message) = fake.messages.try_recv() {
        pings += usize::from(matches!(*message, ToWorkstation::Ping { .. }));
    }
    assert_eq!(pings, 1, "once in twenty seconds");
    gated.beat(20, now + SILENCE - Duration::from_secs(2), wall);
    assert!(open(&gateway));
    gated.beat(21, now + SILENCE, wall);
    assert!(!open(&gateway) && gateway.status(HERE).unwrap().connected == 0);
    while fake.next().await.is_some() {}
}

#[tokio::test]
async fn queue_messages_are_at_least_two_seconds_apart() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    fake.lease().await;
    let gated = gateway.location_gateway(HERE).unwrap();
    let (now, wall) = (Instant::now(), Timestamp(1_000 * HOUR));
    let mut shown = Vec::new();
    for tenth in 0..60_u32 {
        let news = QueueChange { waiting: tenth.into(), oldest: Some(wall.minus(5 * MINUTE)), ended: Vec::new() };
        gated.queue(news);
        // At these seconds no connection is due for a ping.
        gated.beat(7, now + Duration::from_millis(100) * tenth, wall);
    }
    while let Ok(message) = fake.messages.try_recv() {
        if let ToWorkstation::Queue(queue) = *message {
            shown.push((queue.waiting, queue.oldest_seconds));
        }
    }
    assert_eq!(shown, [(0, 300), (20, 300), (40, 300)]);
}

#[tokio::test]
async fn a_workstation_that_does_not_read_is_disconnected() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let fake = Fake::at_work(&gateway, &token).await;
    let gated = gateway.location_gateway(HERE).unwrap();
    let (now, wall) = (Instant::now(), runtime::clock::now());
    (0..20 * 100).for_each(|second| gated.beat(second, now, wall));
    assert_eq!(gateway.status(HERE).unwrap().connected, 0);
    drop(fake);
}

#[tokio::test]
async fn stopping_ends_all_connections_and_rejects_new_ones() {
    let gateway = gateway(&store());
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    gateway.stop();
    assert_eq!(fake.bye().await, ByeReason::Shutdown);
    assert_eq!(Fake::connect(&gateway, &token).err(), Some(ByeReason::Shutdown));
}

#[tokio::test]
async fn a_code_works_once_in_any_spelling_within_ten_minutes() {
    let store = store();
    let gateway = gateway(&store);
    let code = gateway.new_code(HERE, CodeKind::Single).await.unwrap().code;
    assert_eq!((code.len(), &code[4..5]), (9, "-"));
    let typed = format!(" {} ", code.replace('-', "").to_lowercase());
    let paired = gateway.pair(PEER, &typed, "  Front\ndesk 1 ", Uuid::from_u128(1)).await.unwrap();
    assert_eq!((paired.location, paired.location_name.as_str()), (HERE, "Place 101"));
    assert!(paired.token.starts_with("psw_"));
    assert_eq!(gateway.workstations(HERE).unwrap()[0].name, "Front desk 1");
    let again = gateway.pair(PEER, &code, "x", Uuid::from_u128(2)).await;
    assert!(matches!(again, Err(WorkstationError::UnknownCode)));

    let devices = devices(&store);
    let made = Timestamp(HOUR);
    let code = devices.new_code(HERE, CodeKind::Single, made).await.unwrap();
    let pair = |at| devices.pair(PEER, &code.code, "x", Uuid::from_u128(3), at, |_| true);
    assert!(matches!(pair(made.plus(10 * MINUTE)).await, Err(WorkstationError::UnknownCode)));
    assert!(pair(made.plus(10 * MINUTE - 1)).await.is_ok());
}

#[tokio::test]
async fn a_code_used_twice_concurrently_pairs_one_workstation() {
    let store = store();
    let gateway = gateway(&store);
    // The second one counts as a wrong guess, so the loop stays within the limit.
    for _ in 0..GUESSES_OF_ONE.burst {
        let code = gateway.new_code(HERE, CodeKind::Single).await.unwrap().code;
        let pair = |install| gateway.pair(PEER, &code, "x", Uuid::from_u128(install));
        let (a, b) = tokio::join!(pair(1), pair(2));
        assert!(a.is_ok() != b.is_ok());
    }
}

#[tokio::test]
async fn an_enrolment_code_is_limited_in_uses_and_hours() {
    let devices = devices(&store());
    let made = Timestamp(HOUR);
    let code = devices.new_code(HERE, CodeKind::Enrolment { uses: 3, hours: 2 }, made).await.unwrap();
    assert_eq!((code.code.len(), code.uses, code.expires), (26, 3, made.plus(2 * HOUR)));
    for install in 1..=3 {
        devices.pair(PEER, &code.code, "x", Uuid::from_u128(install), made, |_| true).await.unwrap();
    }
    let fourth = devices.pair(PEER, &code.code, "x", Uuid::from_u128(4), made, |_| true).await;
    assert!(matches!(fourth, Err(WorkstationError::UnknownCode)));
    assert_eq!(devices.at(HERE).unwrap().len(), 3);
    for (uses, hours) in [(0, 1), (1, 0), (1_001, 1), (1, 721)] {
        let refused = devices.new_code(HERE, CodeKind::Enrolment { uses, hours }, made).await;
        assert!(matches!(refused, Err(WorkstationError::Refused(_))));
    }
}

#[tokio::test]
async fn codes_of_a_location_are_limited_until_they_expire() {
    let devices = devices(&store());
    let now = Timestamp(HOUR);
    for _ in 0..CODES {
        devices.new_code(HERE, CodeKind::Single, now).await.unwrap();
    }
    assert!(matches!(devices.new_code(HERE, CodeKind::Single, now).await, Err(WorkstationError::Refused(_))));
    assert!(devices.new_code(THERE, CodeKind::Single, now).await.is_ok());
    assert!(devices.new_code(HERE, CodeKind::Single, now.plus(10 * MINUTE)).await.is_ok());
}

#[tokio::test]
async fn wrong_codes_are_rate_limited_per_address() {
    let store = store();
    let gateway = gateway(&store);
    let code = gateway.new_code(HERE, CodeKind::Single).await.unwrap().code;
    let guess = |peer: IpAddr, code: String| {
        let gateway = &gateway;
        async move { gateway.pair(peer, &code, "x", Uuid::from_u128(9)).await.map(drop) }
    };
    // Input that cannot be a code counts too.
    for wrong in ["2222-2222", "O0O0-I1I1", "", "23456789ABCDEFGHJKMNPQRSTV"].iter().cycle().take(10) {
        assert!(matches!(guess(PEER, (*wrong).to_owned()).await, Err(WorkstationError::UnknownCode)), "{wrong:?}");
    }
    assert_eq!(GUESSES_OF_ONE.burst, 10);
    let Err(WorkstationError::TooMany { retry_after }) = guess(PEER, code.clone()).await else {
        panic!("now the right one is not looked at either")
    };
    assert!((1..=61).contains(&retry_after));
    let other: IpAddr = "192.0.2.8".parse().unwrap();
    assert!(guess(other, code).await.is_ok());
    // All addresses of an IPv6 network count as one.
    let of = |host: u32| -> IpAddr { format!("2001:db8:1:2::{host:x}").parse().unwrap() };
    for host in 0..10 {
        assert!(matches!(guess(of(host), "2222-2222".into()).await, Err(WorkstationError::UnknownCode)));
    }
    assert!(matches!(guess(of(99), "2222-2222".into()).await, Err(WorkstationError::TooMany { .. })));
}

#[tokio::test]
async fn the_store_has_neither_codes_nor_tokens_nor_installations() {
    let store = store();
    let gateway = gateway(&store);
    let code = gateway.new_code(HERE, CodeKind::Enrolment { uses: 5, hours: 1 }).await.unwrap().code;
    let install = Uuid::from_u128(0x1234_5678_9abc_def0_1234_5678_9abc_def0);
    let made = gateway.pair(PEER, &code, "x", install).await.unwrap();
    assert_ne!(made.workstation, install);
    let secret = &made.token["psw_".len() + 32..];
    for space in Space::ALL {
        for (key, value) in store.scan(space.range(), Direction::Forward, 1_000).unwrap() {
            for text in [&key, &value].map(|bytes| String::from_utf8_lossy(bytes).into_owned()) {
                assert!(!text.contains(&code) && !text.contains(secret) && !text.contains(&install.to_string()));
            }
            assert!(!key.windows(16).any(|part| part == install.as_bytes()));
        }
    }
    // Tokens with another workstation's secret and truncated tokens are rejected.
    let other = paired(&gateway, HERE, 2).await;
    let mixed = format!("{}{}", &made.token[..36], &other[36..]);
    for token in [mixed.as_str(), &made.token[..60], "psw_", "", &"psw_é".repeat(20)] {
        assert_eq!(Fake::connect(&gateway, token).err(), Some(ByeReason::Token), "{token}");
    }
}

#[tokio::test]
async fn a_location_without_gate_has_no_workstations() {
    let gateway = gateway(&store());
    assert!(matches!(gateway.new_code(UNGATED, CodeKind::Single).await, Err(WorkstationError::NotGated)));
    assert!(matches!(gateway.workstations(UNGATED), Err(WorkstationError::NotGated)));
    assert!(gateway.status(UNGATED).is_none());
    assert_eq!(Rejection::OtherLocation.to_string(), "it is for another location");
}

#[tokio::test]
async fn a_code_of_a_location_that_lost_its_gate_keeps_an_earlier_pairing() {
    let (setup, store) = (Arc::new(Current::from_pointee(testing::setup())), store());
    let gateway = Gateway::new(setup.clone(), store, Secrets::from_seed([7; 32]), &AdapterRegistry::new()).0;
    let token = paired(&gateway, HERE, 1).await;
    let code = gateway.new_code(THERE, CodeKind::Single).await.unwrap().code;
    let mut next = setup.load_full().as_ref().clone();
    next.locations.get_mut(&THERE).map(Arc::make_mut).unwrap().source = Some(2);
    setup.store(Arc::new(next));
    gateway.apply_setup();
    let refused = gateway.pair(PEER, &code, "x", Uuid::from_u128(1)).await;
    assert!(matches!(refused, Err(WorkstationError::NotGated)));
    assert!(Fake::connect(&gateway, &token).is_ok());
}

/// An adapter that is rolled out has other paths without a change of the setup.
#[tokio::test]
async fn a_beat_ends_connections_with_former_paths() {
    let (setup, store) = (Arc::new(Current::from_pointee(testing::setup())), store());
    let gateway = Gateway::new(setup.clone(), store, Secrets::from_seed([7; 32]), &AdapterRegistry::new()).0;
    let token = paired(&gateway, HERE, 1).await;
    let mut fake = Fake::at_work(&gateway, &token).await;
    gateway.end_outdated();
    assert_eq!(gateway.count().connected, 1);
    let mut next = setup.load_full().as_ref().clone();
    let sources = next.sources.values_mut().map(Arc::make_mut);
    sources.for_each(|source| source.requests.get_or_insert_default().allowed_paths.push("/files/".into()));
    setup.store(Arc::new(next));
    gateway.end_outdated();
    assert_eq!(fake.bye().await, ByeReason::Shutdown);
    let mut again = Fake::connect(&gateway, &token).unwrap();
    let Some(ToWorkstation::Welcome(welcome)) = again.next().await else { panic!("a welcome first") };
    assert_eq!(welcome.ehr.paths, ["/api/", "/files/"]);
}

#[tokio::test]
async fn a_new_setup_ends_connections_whose_welcome_changes() {
    let (setup, store) = (Arc::new(Current::from_pointee(testing::setup())), store());
    let secrets = Secrets::from_seed([7; 32]);
    let gateway = Gateway::new(setup.clone(), store.clone(), secrets, &AdapterRegistry::new()).0;
    let (here, there) = (paired(&gateway, HERE, 1).await, paired(&gateway, THERE, 2).await);
    let mut fakes = [Fake::connect(&gateway, &here).unwrap(), Fake::connect(&gateway, &there).unwrap()];
    for fake in &mut fakes {
        assert!(matches!(fake.next().await, Some(ToWorkstation::Welcome(_))));
    }
    let change = |change: &dyn Fn(&mut Setup)| {
        let mut next = setup.load_full().as_ref().clone();
        change(&mut next);
        setup.store(Arc::new(next));
        gateway.apply_setup();
    };
    let location = |setup: &mut Setup, id, change: &dyn Fn(&mut LocationSetup)| {
        change(setup.locations.get_mut(&id).map(Arc::make_mut).unwrap());
    };
    change(&|setup| location(setup, HERE, &|it| it.settings_mut().workstation.in_flight += 1));
    assert_eq!(gateway.count().connected, 2, "the count includes no requests in flight");
    change(&|setup| location(setup, HERE, &|it| it.settings_mut().workstation.approval = true));
    assert_eq!(fakes[0].bye().await, ByeReason::Shutdown);
    let mut again = Fake::connect(&gateway, &here).unwrap();
    let Some(ToWorkstation::Welcome(welcome)) = again.next().await else { panic!("a welcome first") };
    assert!(welcome.approval);
    assert_eq!(gateway.count().connected, 2);

    change(&|setup| location(setup, UNGATED, &|it| it.source = Some(1)));
    gateway.new_code(UNGATED, CodeKind::Single).await.unwrap();
    change(&|setup| drop(setup.locations.remove(&THERE)));
    assert_eq!(fakes[1].bye().await, ByeReason::Shutdown);
    assert!(gateway.location_gateway(THERE).is_none());
    assert_eq!(Fake::connect(&gateway, &there).err(), Some(ByeReason::Shutdown), "it keeps its token");
    assert_eq!(gateway.count().connected, 1);
}
