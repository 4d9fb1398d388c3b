//! Writes to an EHR that is reached only through workstations: parked, drained in order, never sent twice. The tests
//! run the whole engine with a real guest and its `gate` import; workstations and EHR are fakes.

mod office;

use std::time::Duration;

use location::resource::Operation;
use office::{Cloud, Does, Office};
use processor::write_requests::Status;
use serde_json::json;
use testing::until;

#[actix::test]
async fn writes_wait_for_a_workstation_and_drain_in_order() {
    let cloud = Cloud::new();
    let office = Office::open(&cloud).await;
    let token = office.pair(1).await;
    let first = office.connect(&token, Does::Works).await;
    office.patients_are_there().await;
    until("writing is fine", async || office.state().await.write_ok.then_some(())).await;
    first.leave().await;
    let red = until("the gate is shut", async || Some(office.state().await).filter(|state| !state.write_ok)).await;
    assert_eq!(red.write_reason.as_deref(), Some("no staff workstation is connected"));

    let mut keys = Vec::new();
    for patient in ["1", "2", "3", "1", "2", "3"] {
        keys.push(office.pay(patient).await);
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let waiting = office.writes().await;
    assert!(waiting.iter().all(|write| write.attempts == 0), "nothing is tried while the gate is shut");
    assert_eq!((office.state().await.queued, cloud.written().len()), (6, 0));

    let second = office.connect(&token, Does::Works).await;
    until("the queue is drained", async || (office.state().await.queued == 0).then_some(())).await;
    assert_eq!(cloud.written(), cloud.posted(), "each once");
    let drained: Vec<u64> = office.ended().into_iter().map(|write| write.id).collect();
    assert_eq!(drained.len(), 6);
    assert_eq!(cloud.kinds(), vec!["payment-insert"; 6]);
    let order: Vec<String> = cloud.posted();
    assert!(order.is_sorted_by_key(|key| office.position(key)), "in the order in which they were accepted");
    assert!(office.state().await.write_ok);
    second.leave().await;
    office.close().await;
}

#[actix::test]
async fn write_of_a_disconnected_workstation_is_looked_up_by_the_next_one() {
    let cloud = Cloud::new();
    let mut office = Office::open(&cloud).await;
    let (one, two) = (office.pair(1).await, office.pair(2).await);
    let first = office.connect(&one, Does::WritesAndGoes).await;
    office.patients_are_there().await;
    let second = office.connect(&two, Does::Works).await;
    office.pay("1").await;
    until("it is written", async || (office.state().await.queued == 0).then_some(())).await;
    assert_eq!(
        (cloud.posted().len(), cloud.looked_up()),
        (1, 1),
        "written by the first, found by the second, sent once"
    );
    first.leave().await;

    // The engine stops during the next write, and another one continues.
    second.will(Does::WritesAndHangs);
    office.pay("2").await;
    until("it is in the EHR", async || (cloud.posted().len() == 2).then_some(())).await;
    let lease = second.last_lease();
    office.restart().await;
    let third = office.connect(&one, Does::Works).await;
    until("it is found", async || (office.state().await.queued == 0).then_some(())).await;
    assert_eq!((cloud.posted().len(), cloud.looked_up()), (2, 2));
    assert!(third.last_lease() > lease, "the fence is durable");
    third.leave().await;
    second.leave().await;
    office.close().await;
}

#[actix::test]
async fn writes_wait_for_approval_and_declined_ones_fail() {
    let cloud = Cloud::new();
    let office = Office::open(&cloud).await;
    let token = office.pair(1).await;
    let staff = office.connect(&token, Does::AsksTheStaff).await;
    office.patients_are_there().await;
    let (yes, no) = (office.pay("1").await, office.pay("2").await);
    let asked =
        until("both are asked for", async || Some(staff.requested_approvals()).filter(|asked| asked.len() == 2)).await;
    let waiting = office.writes().await;
    assert_eq!(waiting.len(), 2);
    assert!(office.state().await.write_ok, "what waits for the staff does not block the way");
    staff.approve(&asked[0]);
    staff.decline(&asked[1]);
    staff.send(json!({"type": "approved", "writes": [asked[0]]}));
    until("both have ended", async || (office.state().await.queued == 0).then_some(())).await;
    assert_eq!(cloud.posted(), [asked[0].clone()]);
    let ended = office.ended();
    let declined = ended.iter().find(|write| !write.done).unwrap();
    assert_eq!(declined.reason.as_deref(), Some("declined by the staff at the workstation: not this one"));
    assert_ne!(yes, no);
    assert!(
        ended.iter().all(|write| matches!(
            write.work,
            location::intent::WriteIntent::Record { operation: Operation::Create, .. }
        ))
    );
    staff.leave().await;
    office.close().await;
}

#[actix::test]
async fn writes_awaiting_approval_are_shown_to_the_next_workstation() {
    let cloud = Cloud::new();
    let office = Office::unhurried(&cloud).await;
    let (one, two) = (office.pair(1).await, office.pair(2).await);
    let first = office.connect(&one, Does::AsksTheStaff).await;
    office.patients_are_there().await;
    office.pay("1").await;
    office.pay("2").await;
    let asked =
        until("both are asked for", async || Some(first.requested_approvals()).filter(|asked| asked.len() == 2)).await;
    // A write in flight when the workstations change is retried only after a pause.
    let waiting = async || Some(office.writes().await).filter(|all| all.iter().all(|it| it.status != Status::Sending));
    until("both wait", waiting).await;
    first.send(json!({"type": "state", "session": "in", "paused": false, "awaiting": 2}));
    let second = office.connect(&two, Does::AsksTheStaff).await;
    first.leave().await;
    let again = async |staff: &office::Workstation| {
        let shown = until("both are asked for again", async || {
            Some(staff.requested_approvals()).filter(|asked| asked.len() == 2)
        });
        let mut shown = shown.await;
        shown.sort_by_key(|id| asked.iter().position(|known| known == id));
        assert_eq!(shown, asked);
        until("both wait again", waiting).await;
    };
    again(&second).await;
    // The same workstation reconnects at once, before the gate is shut.
    second.leave().await;
    let back = office.connect(&two, Does::AsksTheStaff).await;
    again(&back).await;
    assert!(office.state().await.write_ok);
    back.leave().await;
    office.close().await;
}

#[actix::test]
async fn logout_shuts_the_gate_and_login_opens_it() {
    let cloud = Cloud::new();
    let office = Office::open(&cloud).await;
    let token = office.pair(1).await;
    let staff = office.connect(&token, Does::Works).await;
    office.patients_are_there().await;
    for (session, paused, reason) in [
        ("out", false, "nobody is logged in to the EHR at a staff workstation"),
        ("in", true, "the staff paused it at their workstation"),
    ] {
        staff.send(json!({"type": "state", "session": session, "paused": paused, "awaiting": 0}));
        let red = until("the gate is shut", async || {
            Some(office.state().await).filter(|it| it.write_reason.as_deref() == Some(reason))
        });
        red.await;
        let before = cloud.posted().len();
        office.pay("1").await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(cloud.posted().len(), before);
        staff.send(json!({"type": "state", "session": "in", "paused": false, "awaiting": 0}));
        until("it is written", async || (office.state().await.queued == 0).then_some(())).await;
        until("all is well", async || office.state().await.write_ok.then_some(())).await;
    }
    staff.leave().await;
    office.close().await;
}
