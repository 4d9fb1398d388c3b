//! Tests of the costs of calls, which are counted however a call ends.

use std::{sync::Arc, time::Duration};

use adapter_host::CallCosts;
use setup::guests::HostLimits;

use crate::support::{DEADLINE, Does, TestEhr, booking, connection, hostile, limited_host};

const PAGE_OF_MEMORY: u64 = 64 << 10;

/// Returns the costs of two writes on a separate host.
async fn written_twice(behaviour: &[(&str, &str)], ehr: &Arc<TestEhr>, deadline: Duration) -> CallCosts {
    let host = limited_host(HostLimits::default());
    let adapter = host.load(hostile()).await.unwrap();
    assert!(host.costs_by_adapter().is_empty(), "a trial is no call of a location");
    let connected = adapter.connect(connection(behaviour, ehr)).unwrap();
    for key in ["k-1", "k-2"] {
        // The costs are counted for every outcome.
        drop(connected.push(key.to_owned(), booking(), deadline).await);
    }
    let costs = host.costs_at("test location");
    assert_eq!(costs.keys().copied().collect::<Vec<_>>(), ["push"]);
    assert!(host.costs_at("another location").is_empty());
    assert_eq!(host.costs_by_adapter()[&adapter.manifest().id], costs, "it has no other location");
    costs["push"]
}

fn ended(costs: &CallCosts) -> (u64, u64, u64) {
    (costs.answered, costs.faults, costs.lost)
}

#[tokio::test]
async fn requests_and_bytes_are_those_the_ehr_saw() {
    let ehr = TestEhr::ok();
    let costs = written_twice(&[("behaviour", "echo")], &ehr, DEADLINE).await;
    let seen: usize = ehr.seen.lock().iter().map(|request| request.body.as_ref().unwrap().len()).sum();
    assert_eq!(ended(&costs), (2, 0, 0));
    assert_eq!((costs.requests, costs.sent, costs.received), (2, seen as u64, 2 * "fine".len() as u64));
    assert!(seen > 0 && costs.memory >= PAGE_OF_MEMORY && costs.memory.is_multiple_of(PAGE_OF_MEMORY), "{costs:?}");
    assert!(costs.processor > Duration::ZERO && costs.time > Duration::ZERO, "{costs:?}");
}

#[tokio::test]
async fn a_lost_call_has_the_costs_up_to_its_end() {
    let costs = written_twice(&[("behaviour", "get-then-panic")], &TestEhr::ok(), DEADLINE).await;
    assert_eq!((ended(&costs), costs.requests, costs.received), ((0, 0, 2), 2, 8));

    let spins = [("behaviour", "post-then"), ("then", "spin")];
    // Long enough for a share of a busy processor.
    let costs = written_twice(&spins, &TestEhr::ok(), Duration::from_millis(1_500)).await;
    assert_eq!((ended(&costs), costs.requests), ((0, 0, 2), 2));
    assert!(costs.processor > Duration::from_millis(100) && costs.time >= costs.processor, "{costs:?}");
}

#[tokio::test]
async fn requests_that_never_reached_the_ehr_are_not_counted() {
    let ehr = TestEhr::new(Does::RefusesConnections);
    let costs = written_twice(&[("behaviour", "echo")], &ehr, DEADLINE).await;
    assert_eq!((ended(&costs), costs.requests, costs.sent), ((0, 2, 0), 0, 0));
    let ehr = TestEhr::new(Does::LosesTheAnswer);
    let costs = written_twice(&[("behaviour", "echo")], &ehr, DEADLINE).await;
    assert_eq!((ended(&costs), costs.requests, costs.received), ((0, 2, 0), 2, 0));
}

/// The maximum of one call, not the sum.
#[tokio::test]
async fn memory_is_the_maximum_of_a_call() {
    let usual = written_twice(&[("behaviour", "echo")], &TestEhr::ok(), DEADLINE).await.memory;
    let hoards = [("behaviour", "post-then"), ("then", "allocate")];
    let costs = written_twice(&hoards, &TestEhr::ok(), DEADLINE).await;
    assert_eq!(ended(&costs), (0, 0, 2));
    assert!(costs.memory > usual && costs.memory <= 64 << 20, "{costs:?}, {usual} as usual");
}
