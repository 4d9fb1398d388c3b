//! An office: an engine with one location, its workstations, and the EHR to which they are logged in.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use adapter_host::{AdapterRegistry, Host};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use engine::{Engine, Parts};
use location::{
    ids::LocationId,
    settings::{LocationSettings, WriteRules},
    time::{DAY, HOUR, SECOND},
};
use parking_lot::Mutex;
use processor::{commands::CreateRecord, write_requests::WriteRequest};
use records::{self, Payment, document::DocumentKind, ehr::Resource, schema, sync_state::SyncState};
use serde_json::{Value, json};
use setup::{DataSource, LocationSetup, Setup, WorkstationAccess, guests::HostLimits};
use store::{MemoryStore, Store};
use testing::{NoViews, until};
use tokio::task::JoinHandle;
use uuid::Uuid;
use workstations::{CodeKind, Session, ToWorkstation, protocol::Request};

const HERE: LocationId = LocationId(101);
const SOURCE: u32 = 11;

/// The EHR behind the workstations.
#[derive(Default)]
pub struct Cloud(Mutex<Records>);

#[derive(Default)]
struct Records {
    written: BTreeMap<String, String>,
    posted: Vec<String>,
    kinds: Vec<String>,
    looked_up: usize,
}

impl Cloud {
    pub fn new() -> Arc<Cloud> {
        Arc::default()
    }

    /// Returns status and body of the response.
    fn handle(&self, request: &Request) -> (u16, String) {
        let mut records = self.0.lock();
        match (request.method.as_str(), request.path.strip_prefix("/writes/")) {
            ("POST", Some(key)) => {
                let tag = request.write.as_ref().expect("a write names its kind");
                assert_eq!(tag.id, key, "the tag is the same over all tries");
                records.kinds.push(tag.kind.clone());
                records.posted.push(key.to_owned());
                let id = format!("P-{}", records.posted.len());
                (200, records.written.entry(key.to_owned()).or_insert(id).clone())
            }
            ("GET", Some(key)) => {
                assert!(request.write.is_none(), "a look-up is no write");
                records.looked_up += 1;
                records.written.get(key).map_or((404, String::new()), |id| (200, id.clone()))
            }
            _ => (200, "[]".to_owned()),
        }
    }

    /// Returns the keys of stored writes, each once, in the order of their first arrival.
    pub fn written(&self) -> Vec<String> {
        let records = self.0.lock();
        let mut known: Vec<String> = Vec::new();
        for key in &records.posted {
            if !known.contains(key) {
                known.push(key.clone());
            }
        }
        known
    }

    /// Returns the keys of all writes that arrived.
    pub fn posted(&self) -> Vec<String> {
        self.0.lock().posted.clone()
    }

    pub fn kinds(&self) -> Vec<String> {
        self.0.lock().kinds.clone()
    }

    pub fn looked_up(&self) -> usize {
        self.0.lock().looked_up
    }
}

pub struct Office {
    engine: Engine,
    rules: WriteRules,
    store: Arc<MemoryStore>,
    cloud: Arc<Cloud>,
}

impl Office {
    pub async fn open(cloud: &Arc<Cloud>) -> Office {
        let rules =
            WriteRules { concurrency: 1, call_deadline: 8 * SECOND, settle: SECOND / 4, ..WriteRules::default() };
        Office::with(cloud, rules).await
    }

    /// Opens an office with long retry pauses, so that writes waiting for approval are not retried without a reason.
    pub async fn unhurried(cloud: &Arc<Cloud>) -> Office {
        let rules = WriteRules { backoff_base: HOUR, backoff_cap: DAY, ..WriteRules::default() };
        Office::with(cloud, rules).await
    }

    async fn with(cloud: &Arc<Cloud>, rules: WriteRules) -> Office {
        let store = Arc::new(MemoryStore::new());
        let engine = start(&store, rules).await;
        Office { engine, rules, store, cloud: cloud.clone() }
    }

    pub async fn restart(&mut self) {
        self.engine.stop().await;
        self.engine = start(&self.store, self.rules).await;
    }

    pub async fn close(self) {
        self.engine.stop().await;
    }

    pub async fn pair(&self, install: u128) -> String {
        let gateway = self.engine.gateway();
        let code = gateway.new_code(HERE, CodeKind::Single).await.unwrap().code;
        let peer = "192.0.2.7".parse().unwrap();
        gateway.pair(peer, &code, "Front desk", Uuid::from_u128(install)).await.unwrap().token
    }

    pub async fn connect(&self, token: &str, does: Does) -> Workstation {
        let hello = json!({"type": "hello", "token": token, "extension": "1.0.0"});
        let (session, messages) = self.engine.gateway().connect(&hello.to_string(), None).unwrap();
        let desk = Arc::new(WorkstationDesk {
            session: Mutex::new(Some(session)),
            cloud: self.cloud.clone(),
            does: Mutex::new(does),
            lease: Mutex::new(0),
            asked: Mutex::default(),
            approved: Mutex::default(),
            declined: Mutex::default(),
        });
        desk.send(json!({"type": "state", "session": "in", "paused": false, "awaiting": 0}));
        let working = tokio::spawn(desk.clone().work(messages));
        Workstation { desk, working }
    }

    pub async fn state(&self) -> SyncState {
        self.engine.sync_state(HERE).await.unwrap()
    }

    pub async fn patients_are_there(&self) {
        until("the patients are pulled", async || self.patient("3")).await;
    }

    fn patient(&self, foreign_id: &str) -> Option<u64> {
        self.engine.id_of_foreign(SOURCE, DocumentKind::Of(Resource::Patients), foreign_id).unwrap()
    }

    /// Creates a payment, and returns its id.
    pub async fn pay(&self, patient: &str) -> u64 {
        let patient = u32::try_from(self.patient(patient).unwrap()).unwrap();
        let body = json!({"patient_id": patient, "amount": {"amount": "12.50", "currency": "USD"}});
        let body: Payment = schema::read(body).unwrap();
        let saved = self.engine.send(HERE, CreateRecord { body, patient: Some(patient), number: None });
        saved.await.map_err(|_| "not saved").unwrap().record.id
    }

    pub async fn writes(&self) -> Vec<WriteRequest> {
        self.engine.unfinished_writes(HERE).await.unwrap()
    }

    pub fn ended(&self) -> Vec<records::FinishedWrite> {
        use store::{Direction, keys};
        let range = keys::records(DocumentKind::Write.byte(), HERE.0);
        let found = self.store.scan(range, Direction::Forward, 100).unwrap();
        found.into_iter().map(|(_, bytes)| serde_json::from_slice(&bytes).unwrap()).collect()
    }

    /// Returns the id of a write. Ids ascend in the order of acceptance.
    pub fn position(&self, key: &str) -> Option<u64> {
        self.ended().into_iter().find(|write| write.key == key).map(|write| write.id)
    }
}

async fn start(store: &Arc<MemoryStore>, rules: WriteRules) -> Engine {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let component = BUILT.get_or_init(|| {
        let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapter-host/tests/guests/hostile");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../adapters");
        adapter_kit::build(&guest, &out, adapter_kit::Profile::Quick, &mut |_| {}).unwrap().component
    });
    let host = Host::new(HostLimits::default(), &Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled")).unwrap();
    let adapters = AdapterRegistry::new();
    adapters.swap("cloud", host.load(component).await.unwrap());
    let store: Arc<dyn Store> = store.clone();
    Engine::start(setup(rules), Parts { adapters, ..Parts::new(store, Arc::new(NoViews)) }).await.unwrap()
}

fn setup(write: WriteRules) -> Setup {
    let mut source = DataSource {
        adapter: "cloud".into(),
        base_url: "https://ehr.example/app".into(),
        guest_requests_per_call: 20,
        ..testing::source(SOURCE, 1)
    };
    source.access.get_or_insert_default().workstation = Some(WorkstationAccess { probe: "/session".into() });
    let settings = |settings: &mut LocationSettings| {
        settings.write = write;
        settings.pull.retry_base = SECOND / 10;
        settings.workstation.patience_seconds = 1;
    };
    let mut location =
        LocationSetup { zone: chrono_tz::America::New_York, ..testing::location_with(HERE, 1, SOURCE, settings) };
    location.extras.get_or_insert_default().adapter_config.insert("behaviour".to_owned(), "gated".to_owned());
    testing::setup([testing::institution(1)], [location], [source])
}

/// The behaviour of a workstation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    Works,
    /// Performs a write, and disconnects before answering.
    WritesAndGoes,
    /// Performs a write without answering.
    WritesAndHangs,
    /// Asks the staff before a write.
    AsksTheStaff,
}

pub struct Workstation {
    desk: Arc<WorkstationDesk>,
    working: JoinHandle<()>,
}

struct WorkstationDesk {
    /// `None` after the socket was closed.
    session: Mutex<Option<Session>>,
    cloud: Arc<Cloud>,
    does: Mutex<Does>,
    lease: Mutex<u64>,
    asked: Mutex<Vec<String>>,
    approved: Mutex<Vec<String>>,
    declined: Mutex<Vec<String>>,
}

impl Workstation {
    pub async fn leave(self) {
        drop(self.desk.session.lock().take());
        self.working.await.unwrap();
    }

    pub fn will(&self, does: Does) {
        *self.desk.does.lock() = does;
    }

    pub fn last_lease(&self) -> u64 {
        *self.desk.lease.lock()
    }

    /// Returns the writes that the staff was asked to approve.
    pub fn requested_approvals(&self) -> Vec<String> {
        self.desk.asked.lock().clone()
    }

    pub fn approve(&self, id: &str) {
        self.desk.approved.lock().push(id.to_owned());
    }

    pub fn decline(&self, id: &str) {
        self.desk.declined.lock().push(id.to_owned());
    }

    pub fn send(&self, message: Value) {
        self.desk.send(message);
    }
}

impl WorkstationDesk {
    fn send(&self, message: Value) {
        if let Some(session) = &*self.session.lock() {
            session.received(&message.to_string()).unwrap();
        }
    }

    async fn work(self: Arc<WorkstationDesk>, mut messages: workstations::Messages) {
        while let Some(message) = messages.recv().await {
            match *message {
                ToWorkstation::Lease { lease: Some(lease) } => *self.lease.lock() = lease,
                ToWorkstation::Request(request) => self.perform(&request),
                ToWorkstation::Ping { n } => self.send(json!({"type": "pong", "n": n})),
                _ => {}
            }
        }
    }

    fn perform(&self, request: &Request) {
        let does = *self.does.lock();
        match (&request.write, does) {
            (Some(_), Does::WritesAndGoes) => {
                self.cloud.handle(request);
                drop(self.session.lock().take());
            }
            (Some(_), Does::WritesAndHangs) => drop(self.cloud.handle(request)),
            (Some(write), Does::AsksTheStaff) if self.declined.lock().contains(&write.id) => {
                self.fail(request, "declined", "not this one");
            }
            (Some(write), Does::AsksTheStaff) if !self.approved.lock().contains(&write.id) => {
                let mut asked = self.asked.lock();
                if !asked.contains(&write.id) {
                    asked.push(write.id.clone());
                }
                self.fail(request, "approval", "");
            }
            _ => {
                let (status, body) = self.cloud.handle(request);
                let claim = request.claim;
                self.send(json!({"type": "answer", "lease": claim.lease, "number": claim.number,
                    "location": claim.location, "status": status, "headers": [], "body": STANDARD.encode(body)}));
            }
        }
    }

    fn fail(&self, request: &Request, kind: &str, reason: &str) {
        let claim = request.claim;
        self.send(json!({"type": "failure", "lease": claim.lease, "number": claim.number, "location": claim.location,
            "kind": kind, "reason": reason}));
    }
}
