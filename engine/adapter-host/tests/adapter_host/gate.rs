//! Tests of requests through a workstation: the same rules as over HTTP, and the effect of their outcomes on a write.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use adapter_host::{Gate, GateError, GateFuture, GateRequest, HttpResponse};
use parking_lot::Mutex;
use records::ehr::{Ehr, Fault, Resource};
use setup::secret::Secret;

use super::support::{self, DEADLINE, TestEhr, adapter, booking};

#[derive(Default)]
struct TestGate {
    ends: Mutex<VecDeque<Result<HttpResponse, GateError>>>,
    seen: Mutex<Vec<GateRequest>>,
}

impl TestGate {
    fn ending(ends: impl IntoIterator<Item = Result<HttpResponse, GateError>>) -> Arc<TestGate> {
        Arc::new(TestGate { ends: Mutex::new(ends.into_iter().collect()), seen: Mutex::default() })
    }
}

impl Gate for TestGate {
    fn is_open(&self) -> bool {
        true
    }

    fn send(&self, request: GateRequest, _: Duration) -> GateFuture<'_> {
        self.seen.lock().push(request);
        let end = self.ends.lock().pop_front().expect("no more requests than ends");
        Box::pin(async move { end })
    }
}

fn answer(body: &str) -> Result<HttpResponse, GateError> {
    Ok(HttpResponse { status: 200, headers: vec![("X-A".into(), "1".into())], body: body.into() })
}

async fn at(gate: &Arc<TestGate>, settings: &[(&str, &str)], paths: &[&str]) -> Arc<dyn Ehr> {
    let mut connection = support::connection(settings, &TestEhr::ok());
    connection.gate = Some(gate.clone());
    connection.allowed_paths = paths.iter().map(|path| (*path).to_owned()).collect();
    adapter().await.connect(connection).unwrap()
}

async fn pushed(
    behaviour: &str,
    ends: impl IntoIterator<Item = Result<HttpResponse, GateError>>,
) -> Result<String, Fault> {
    let gate = TestGate::ending(ends);
    let ehr = at(&gate, &[("behaviour", behaviour)], &["/"]).await;
    ehr.push("k1".into(), booking(), DEADLINE).await.map(|receipt| receipt.id)
}

#[tokio::test]
async fn a_write_carries_its_tag_and_no_credentials() {
    let gate = TestGate::ending([answer("V-1"), answer("V-1")]);
    let ehr = at(&gate, &[("behaviour", "gated")], &["/writes"]).await;
    assert_eq!(ehr.push("k1".into(), booking(), DEADLINE).await.unwrap().id, "V-1");
    assert_eq!(ehr.find("k1".into(), booking(), DEADLINE).await.unwrap().unwrap().id, "V-1");
    let seen = gate.seen.lock();
    let tag = seen[0].write.as_ref().unwrap();
    // 100 seconds after the Unix epoch, in New York.
    assert_eq!(
        (tag.id.as_str(), tag.kind.as_str(), tag.at.as_deref()),
        ("k1", "appointment-insert", Some("1969-12-31T19:01"))
    );
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("POST", "/writes/k1"));
    assert!(seen[0].headers.iter().all(|(name, _)| name != "authorization"));
    assert_eq!((seen[1].method.as_str(), &seen[1].write), ("GET", &None), "a look-up is no write");
}

#[tokio::test]
async fn gate_requests_follow_the_rules_of_http_requests() {
    let gate = TestGate::ending([]);
    let ehr = at(&gate, &[("behaviour", "gated")], &["/api"]).await;
    let outside = ehr.push("k1".into(), booking(), DEADLINE).await;
    assert!(matches!(&outside, Err(Fault::Rejected(why)) if why.contains("outside")), "{outside:?}");
    assert!(gate.seen.lock().is_empty());
    let long = TestGate::ending([Ok(HttpResponse { status: 200, headers: vec![], body: vec![b'x'; (8 << 20) + 1] })]);
    let ehr = at(&long, &[("behaviour", "gated")], &["/"]).await;
    let huge = ehr.push("k1".into(), booking(), DEADLINE).await;
    assert!(matches!(&huge, Err(Fault::Unknown(why)) if why.contains("longer")), "{huge:?}");
}

#[tokio::test]
async fn the_outcome_of_a_gate_request_determines_the_fault() {
    let closed = || Err(GateError::NotSent("no workstation is connected".into()));
    let approval = || Err(GateError::Approval("it waits".into()));
    assert_eq!(pushed("gated", [closed()]).await, Err(Fault::GateClosed));
    assert_eq!(pushed("gated", [approval()]).await, Err(Fault::NotReady("it waits".into())));
    let declined = pushed("gated", [Err(GateError::Declined("no".into()))]).await;
    assert_eq!(declined, Err(Fault::Rejected("declined by the staff at the workstation: no".into())));
    let refused = pushed("gated", [Err(GateError::Refused("another host".into()))]).await;
    assert_eq!(refused, Err(Fault::Rejected("another host".into())));
    let lost = pushed("gated", [Err(GateError::NoAnswer("gone".into()))]).await;
    assert_eq!(lost, Err(Fault::Unknown("gone".into())));
    // Part of the write was sent before: it is looked up, not started again.
    let half = pushed("gated-twice", [answer("V-1"), closed()]).await;
    assert_eq!(half, Err(Fault::Unknown("not sent: no workstation is connected".into())));
    let half = pushed("gated-twice", [answer("V-1"), approval()]).await;
    assert_eq!(half, Err(Fault::Unknown("not sent: it waits".into())));
}

#[tokio::test]
async fn a_read_through_a_closed_gate_reports_gate_closed() {
    let gate = TestGate::ending([Err(GateError::NotSent("logged out".into()))]);
    let ehr = at(&gate, &[("behaviour", "gated")], &["/"]).await;
    let page = ehr.pull(Resource::Patients, None, 10, DEADLINE).await;
    assert_eq!(page.err(), Some(Fault::GateClosed));
}

#[tokio::test]
async fn a_gated_adapter_needs_a_gate() {
    let mut connection = support::connection(&[], &TestEhr::ok());
    connection.settings.insert("behaviour".into(), Secret::new("gated"));
    let ehr = adapter().await.connect(connection).unwrap();
    let described = ehr.describe(DEADLINE).await;
    assert!(matches!(&described, Err(Fault::Unsupported(why)) if why.contains("`workstation`")), "{described:?}");
    let ehr = at(&TestGate::ending([]), &[("behaviour", "gated")], &["/"]).await;
    assert!(ehr.describe(DEADLINE).await.unwrap().gated);
}
