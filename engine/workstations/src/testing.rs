//! Test support: a gateway for two locations, and a workstation controlled by the test.
#![allow(clippy::unwrap_used)]

use std::{net::IpAddr, sync::Arc, time::Duration};

use adapter_host::{AdapterRegistry, Gate, GateError, GateRequest, HttpResponse, WriteTag};
use location::{LocationId, settings::WorkstationRules};
use serde_json::{Value, json};
use setup::{Current, DataSource, Setup, WorkstationAccess};
use store::{MemoryStore, secrets::Secrets};
use tokio::time::timeout;
use uuid::Uuid;

use super::{
    ByeReason, CodeKind, Gateway, Messages, Session, ToWorkstation,
    protocol::{Request, RequestRef},
};

pub(crate) const HERE: LocationId = LocationId(101);
pub(crate) const THERE: LocationId = LocationId(102);
/// Has no workstations.
pub(crate) const UNGATED: LocationId = LocationId(103);
pub(crate) const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

pub(crate) fn setup() -> Setup {
    let workstation = WorkstationRules { patience_seconds: 0, ..WorkstationRules::default() };
    let location = |id, source| testing::location_with(id, 1, source, |settings| settings.workstation = workstation);
    let source = |id| {
        let mut source = DataSource { base_url: "https://ehr.example/app/".into(), ..testing::source(id, 1) };
        source.requests.get_or_insert_default().allowed_paths.push("/api/".into());
        source
    };
    let (mut gated, ungated) = (source(1), source(2));
    gated.access.get_or_insert_default().workstation = Some(WorkstationAccess { probe: "/api/session".into() });
    let locations = [location(HERE, 1), location(THERE, 1), location(UNGATED, 2)];
    testing::setup([], locations, [gated, ungated])
}

pub(crate) fn gateway(store: &Arc<MemoryStore>) -> Arc<Gateway> {
    let secrets = Secrets::from_seed([7; 32]);
    Gateway::new(Arc::new(Current::from_pointee(setup())), store.clone(), secrets, &AdapterRegistry::new()).0
}

/// Pairs an installation and returns its token.
pub(crate) async fn paired(gateway: &Arc<Gateway>, location: LocationId, install: u128) -> String {
    let code = gateway.new_code(location, CodeKind::Single).await.unwrap().code;
    gateway.pair(PEER, &code, "Front desk", Uuid::from_u128(install)).await.unwrap().token
}

pub(crate) struct Fake {
    pub session: Session,
    pub messages: Messages,
}

impl Fake {
    pub(crate) fn connect(gateway: &Arc<Gateway>, token: &str) -> Result<Fake, ByeReason> {
        let hello = json!({"type": "hello", "token": token, "extension": "1.0.0"});
        let (session, messages) = gateway.connect(&hello.to_string(), Some(PEER))?;
        Ok(Fake { session, messages })
    }

    /// Connects, reads the welcome and logs in.
    pub(crate) async fn at_work(gateway: &Arc<Gateway>, token: &str) -> Fake {
        let mut fake = Fake::connect(gateway, token).unwrap();
        assert!(matches!(fake.next().await, Some(ToWorkstation::Welcome(_))));
        fake.state("in", false);
        fake
    }

    pub(crate) fn send(&self, message: Value) -> Result<(), ByeReason> {
        self.session.received(&message.to_string())
    }

    pub(crate) fn state(&self, session: &str, paused: bool) {
        self.send(json!({"type": "state", "session": session, "paused": paused, "awaiting": 0})).unwrap();
    }

    /// Returns the next message, or `None` when the engine has closed the connection.
    pub(crate) async fn next(&mut self) -> Option<ToWorkstation> {
        timeout(Duration::from_secs(10), self.messages.recv()).await.expect("a message or the end").map(|it| *it)
    }

    pub(crate) async fn lease(&mut self) -> u64 {
        match self.next().await {
            Some(ToWorkstation::Lease { lease: Some(lease) }) => lease,
            other => panic!("{other:?} instead of a lease"),
        }
    }

    pub(crate) async fn request(&mut self) -> Request {
        match self.next().await {
            Some(ToWorkstation::Request(request)) => request,
            other => panic!("{other:?} instead of a request"),
        }
    }

    pub(crate) async fn bye(&mut self) -> ByeReason {
        loop {
            match self.next().await {
                Some(ToWorkstation::Bye { reason }) => {
                    assert_eq!(self.next().await, None, "nothing follows a bye");
                    return reason;
                }
                Some(_) => {}
                None => panic!("closed without a bye"),
            }
        }
    }

    pub(crate) fn answer(&self, claim: RequestRef, body: &str) {
        self.answer_bytes(claim, body.as_bytes());
    }

    pub(crate) fn answer_bytes(&self, claim: RequestRef, body: &[u8]) {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let RequestRef { lease, number, location } = claim;
        let answer = json!({"type": "answer", "lease": lease, "number": number, "location": location, "status": 200,
            "headers": [["X-Page", "1"]], "body": STANDARD.encode(body)});
        self.send(answer).unwrap();
    }

    pub(crate) fn fail(&self, claim: RequestRef, kind: &str) {
        let RequestRef { lease, number, location } = claim;
        let failure = json!({"type": "failure", "lease": lease, "number": number, "location": location, "kind": kind,
            "reason": "because"});
        self.send(failure).unwrap();
    }
}

/// Starts a request through a location's gate.
pub(crate) fn ask(
    gateway: &Gateway,
    location: LocationId,
    path: &str,
    deadline: Duration,
) -> tokio::task::JoinHandle<Result<HttpResponse, GateError>> {
    let gated = gateway.location_gateway(location).unwrap();
    let request = GateRequest {
        method: "POST".into(),
        path: path.into(),
        headers: vec![("accept".into(), "application/json".into())],
        body: Some(b"{}".to_vec()),
        max_response_body: 8 << 20,
        write: Some(WriteTag { id: "w1".into(), kind: "appointment-insert".into(), at: None }),
    };
    tokio::spawn(async move { gated.send(request, deadline).await })
}
