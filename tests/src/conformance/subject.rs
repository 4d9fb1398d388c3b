//! The adapter under test as the engine calls it, and what every answer of it must keep.

use std::{
    cell::Cell,
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use adapter_host::{Connection, HttpTransport};
use records::ehr::{Description, Ehr, EhrPatient, EhrRecord, Fault, Page, PullAbility, Receipt, Resource, Write};
use serde_json::{Map, Value};
use setup::secret::Secret;

use super::ehr_under_test::EhrUnderTest;
use crate::harness::{components, flaky_proxy::FlakyProxy};

pub const DEADLINE: Duration = Duration::from_secs(30);
/// What a call may take beyond its deadline.
const GRACE: Duration = Duration::from_secs(3);
/// More pages than any subject has records.
const MAX_PAGES: usize = 20_000;

pub struct Subject<S> {
    pub system: S,
    pub proxy: FlakyProxy,
    pub ehr: Arc<dyn Ehr>,
    pub description: Description,
    made: Cell<usize>,
    placed: Cell<usize>,
}

/// A pass over a resource: what all its pages showed together.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    pub records: BTreeMap<String, EhrRecord>,
    pub deleted: Vec<String>,
    pub whole: bool,
    pub cursor: String,
}

impl<S: EhrUnderTest> Subject<S> {
    pub async fn new(system: S, component: PathBuf) -> Subject<S> {
        let proxy = FlakyProxy::to(system.address()).await;
        let base_url = format!("http://{}{}", proxy.address(), system.base_path());
        let transport = Arc::new(HttpTransport::new().expect("a client for HTTP"));
        let mut connection = Connection::new("conformance", system.location(), &base_url, system.zone(), transport);
        let secret = |(name, value): (String, String)| (name, Secret::new(value));
        connection.headers = system.credentials().into_iter().map(secret).collect();
        connection.settings = system.settings().into_iter().map(secret).collect();
        connection.gate = system.gate(proxy.address());
        connection.limits.requests = 200;
        connection.limits.memory = 256 << 20;
        let registry = components::load_files(&[(S::ADAPTER, component)]).await;
        let ehr = registry.connect(S::ADAPTER, connection).expect("it was just loaded").expect("an address");
        let description = ehr.describe(DEADLINE).await.unwrap_or_else(|fault| panic!("describe: {fault}"));
        Subject { system, proxy, ehr, description, made: Cell::new(0), placed: Cell::new(0) }
    }

    /// A number never given before.
    pub fn number(&self) -> usize {
        self.made.set(self.made.get() + 1);
        self.made.get()
    }

    /// The start of a half hour never given before.
    pub fn free(&self) -> i64 {
        self.placed.set(self.placed.get() + 1);
        self.system.free(self.placed.get() - 1)
    }

    pub fn key(&self) -> String {
        format!("ps-1-{:x}-{}", std::process::id(), self.number())
    }

    pub fn writes(&self, kind: &str) -> bool {
        self.description.writes.iter().any(|described| described == kind)
    }

    pub fn ability(&self, resource: Resource) -> Option<&PullAbility> {
        self.description.pulls.iter().find(|ability| ability.resource == resource)
    }

    pub async fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        timely(DEADLINE, self.ehr.pull(resource, cursor, limit, DEADLINE)).await
    }

    pub async fn push(&self, key: &str, write: &Write) -> Result<Receipt, Fault> {
        timely(DEADLINE, self.ehr.push(key.to_owned(), write.clone(), DEADLINE)).await
    }

    pub async fn find(&self, key: &str, write: &Write) -> Result<Option<Receipt>, Fault> {
        timely(DEADLINE, self.ehr.find(key.to_owned(), write.clone(), DEADLINE)).await
    }

    /// A write nothing stands in the way of.
    pub async fn written(&self, write: &Write) -> Receipt {
        let pushed = self.push(&self.key(), write).await;
        pushed.unwrap_or_else(|fault| panic!("{write:?}: {fault}"))
    }

    /// All pages from a cursor to the end of the pass.
    pub async fn pass(&self, resource: Resource, cursor: Option<String>, limit: u32) -> Pass {
        let (mut pass, mut at) = (Pass::default(), cursor);
        for _ in 0..MAX_PAGES {
            let page = self.pull(resource, at, limit).await;
            let page = page.unwrap_or_else(|fault| panic!("{resource:?}, pages of {limit}: {fault}"));
            for record in page.records {
                let id = record.id().to_owned();
                let before = pass.records.insert(id.clone(), record);
                assert!(before.is_none(), "{resource:?} {id} is shown twice in one pass of pages of {limit}");
            }
            pass.deleted.extend(page.deleted);
            if page.last {
                return Pass { whole: page.whole, cursor: page.cursor, ..pass };
            }
            at = Some(page.cursor);
        }
        panic!("{resource:?}: a pass without end");
    }

    pub async fn everything(&self, resource: Resource) -> Pass {
        self.pass(resource, None, 1_000).await
    }

    /// The record a pull shows; none where it shows none.
    pub async fn shown(&self, resource: Resource, id: &str) -> Option<EhrRecord> {
        self.everything(resource).await.records.remove(id)
    }

    pub async fn patient_shown(&self, id: &str) -> EhrPatient {
        match self.shown(Resource::Patients, id).await {
            Some(EhrRecord::Patient(patient)) => patient,
            other => panic!("patient {id} is not shown: {other:?}"),
        }
    }

    /// What a record shows other than it was written, by field.
    pub fn differences(&self, resource: Resource, written: &Map<String, Value>, shown: &EhrRecord) -> Vec<String> {
        let shown = shown.fields();
        let kept = written.iter().filter(|(field, value)| {
            let unsaid =
                value.is_null() || **value == Value::Bool(false) || value.as_array().is_some_and(Vec::is_empty);
            let frame = matches!(field.as_str(), "id" | "version" | "write_key" | "ssn" | "extra");
            !unsaid && !frame && self.system.keeps(resource, field)
        });
        let differs = kept.filter(|(field, value)| !same(value, shown.get(*field).unwrap_or(&Value::Null)));
        differs.map(|(field, value)| format!("{field}: {value} was written, {:?} is shown", shown.get(field))).collect()
    }
}

/// Parts that were not written may be there or not.
fn same(written: &Value, shown: &Value) -> bool {
    match (written, shown) {
        (Value::Object(written), Value::Object(shown)) => {
            written.iter().all(|(name, part)| part.is_null() || same(part, shown.get(name).unwrap_or(&Value::Null)))
        }
        (Value::String(written), Value::String(shown)) if written.starts_with('{') => {
            // Answers to a form: the same JSON, however it is written.
            let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
            written == shown || parsed(written).is_some_and(|json| Some(json) == parsed(shown))
        }
        _ => written == shown,
    }
}

/// A call ends by its deadline, and whatever its fault, the adapter neither trapped nor broke the contract.
pub async fn timely<T>(deadline: Duration, call: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let start = Instant::now();
    let ended = call.await;
    assert!(start.elapsed() <= deadline + GRACE, "a call took {:?} with a deadline of {deadline:?}", start.elapsed());
    if let Err(fault) = &ended {
        let said = fault.to_string();
        assert!(!said.contains("the adapter failed") && !said.contains("broke the contract"), "{said}");
    }
    ended
}
