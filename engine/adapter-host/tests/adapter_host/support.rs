//! The hostile guest, built once, and an EHR in the test process.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use adapter_host::{Adapter, Connection, Host, HttpRequest, HttpResponse, Transport, TransportError, TransportFuture};
use parking_lot::Mutex;
use records::ehr::{Ehr, EhrAppointment, Write};
use setup::{guests::HostLimits, secret::Secret};

pub const DEADLINE: Duration = Duration::from_secs(20);

/// Returns the hostile guest's component, built with the same code as all adapters.
pub fn hostile() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/hostile");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../adapters");
        adapter_kit::build(&guest, &out, adapter_kit::Profile::Quick, &mut |_| {}).unwrap().component
    })
}

/// Returns the component of the first version of the contract. It is small, so it compiles quickly.
pub fn released() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v1.wasm"))
}

/// Returns the host shared by tests.
pub fn host() -> Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| limited_host(HostLimits::default())).clone()
}

/// Returns a new host with these limits. Compiled components are kept for other hosts and between runs.
pub fn limited_host(limits: HostLimits) -> Host {
    Host::new(limits, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled")).unwrap()
}

pub async fn adapter() -> Arc<Adapter> {
    host().load(hostile()).await.unwrap()
}

/// The behaviour of the EHR in the test process.
#[derive(Clone)]
pub enum Does {
    Answers(u16, String),
    AnswersBytes(usize),
    AnswersAfter(Duration),
    Hangs,
    RefusesConnections,
    LosesTheAnswer,
    Panics,
}

/// An EHR in this process that records its requests.
pub struct TestEhr {
    does: Does,
    pub seen: Mutex<Vec<HttpRequest>>,
}

impl TestEhr {
    pub fn new(does: Does) -> Arc<TestEhr> {
        Arc::new(TestEhr { does, seen: Mutex::default() })
    }

    pub fn ok() -> Arc<TestEhr> {
        TestEhr::new(Does::Answers(200, "fine".into()))
    }
}

impl Transport for TestEhr {
    fn send(&self, request: HttpRequest, _: Duration) -> TransportFuture<'_> {
        self.seen.lock().push(request);
        let answer =
            |status, body: Vec<u8>| Ok(HttpResponse { status, headers: vec![("X-Test".into(), "1".into())], body });
        Box::pin(async move {
            match &self.does {
                Does::Answers(status, body) => answer(*status, body.clone().into_bytes()),
                Does::AnswersBytes(bytes) => answer(200, vec![b'x'; *bytes]),
                Does::AnswersAfter(time) => {
                    tokio::time::sleep(*time).await;
                    answer(200, b"late".to_vec())
                }
                Does::Hangs => std::future::pending().await,
                Does::RefusesConnections => Err(TransportError::NotSent("connection refused".into())),
                Does::LosesTheAnswer => Err(TransportError::NoAnswer("connection closed".into())),
                Does::Panics => panic!("the transport of this test panics"),
            }
        })
    }
}

/// Creates a connection whose guest behaves according to the settings.
pub fn connection(settings: &[(&str, &str)], ehr: &Arc<TestEhr>) -> Connection {
    let mut connection =
        Connection::new("test location", "L-7", "https://ehr.example/base", chrono_tz::America::New_York, ehr.clone());
    connection.settings = settings.iter().map(|(name, value)| (name.to_string(), Secret::new(*value))).collect();
    connection.headers = vec![("Authorization".into(), Secret::new("Bearer s3cret"))];
    connection
}

pub async fn connected(settings: &[(&str, &str)], ehr: &Arc<TestEhr>) -> Arc<dyn Ehr> {
    adapter().await.connect(connection(settings, ehr)).unwrap()
}

/// Returns the guest's report about its environment, through `describe`.
pub async fn guest_report(settings: &[(&str, &str)], ehr: &Arc<TestEhr>) -> String {
    connected(settings, ehr).await.describe(DEADLINE).await.unwrap().name
}

pub fn booking() -> Write {
    Write::CreateAppointment(EhrAppointment { start: 100, end: 200, ..Default::default() })
}
