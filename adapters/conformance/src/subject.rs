//! The adapter under test, called like the engine does, and the checks that apply to every response.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use adapter_host::{Adapter, Connection, HttpTransport, Transport};
use records::ehr::{Description, Ehr, EhrPatient, EhrRecord, Fault, Page, PullAbility, Receipt, Resource, Write};
use serde_json::{Map, Value};
use setup::secret::Secret;

use crate::{
    display,
    effect::{due, left},
    ehr_under_test::{EhrAddress, EhrUnderTest},
    fault_injector::FaultInjector,
    flaky_proxy::FlakyProxy,
    flaky_transport::FlakyTransport,
    report::{CaseEnd, CaseResult, Finding},
};

pub const DEADLINE: Duration = Duration::from_secs(30);
/// Tolerance beyond the deadline of a call.
const GRACE: Duration = Duration::from_secs(3);
/// Maximum pages of a pass; no subject has as many records.
const MAX_PAGES: usize = 20_000;

pub struct Subject<S> {
    pub system: S,
    pub injector: FaultInjector,
    pub ehr: Arc<dyn Ehr>,
    pub description: Description,
    /// Kept alive for the connections through it.
    _proxy: Option<FlakyProxy>,
    made: Cell<usize>,
    placed: Cell<usize>,
    /// Records changed by staff: a second change of the same record may be without effect.
    changed: RefCell<Vec<(Resource, String)>>,
    /// The last call and its result, for the report.
    last: RefCell<(String, String)>,
}

/// A pass over a resource: the content of all its pages.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    pub records: BTreeMap<String, EhrRecord>,
    pub deleted: Vec<String>,
    pub skipped: Vec<String>,
    pub whole: bool,
    pub cursor: String,
}

/// Creates the connection of the adapter to this EHR, without faults.
pub fn connection<S: EhrUnderTest>(system: &S, base_url: &str, transport: Arc<dyn Transport>) -> Connection {
    let mut connection = Connection::new("conformance", system.location(), base_url, system.zone(), transport);
    let secret = |(name, value): (String, String)| (name, Secret::new(value));
    connection.headers = system.credentials().into_iter().map(secret).collect();
    connection.settings = system.settings().into_iter().map(secret).collect();
    connection.limits.requests = 200;
    connection.limits.memory = 256 << 20;
    connection
}

impl<S: EhrUnderTest> Subject<S> {
    pub async fn new(system: S, adapter: &Arc<Adapter>) -> Result<Subject<S>, String> {
        let network = Arc::new(HttpTransport::new().map_err(|error| error.to_string())?);
        let (connection, proxy, injector) = match system.place() {
            EhrAddress::Loopback(address) => {
                let proxy = FlakyProxy::to(address).await;
                let base_url = format!("http://{}{}", proxy.address(), system.base_path());
                let mut connection = connection(&system, &base_url, network);
                connection.gate = system.gate(proxy.address());
                let injector = proxy.injector.clone();
                (connection, Some(proxy), injector)
            }
            EhrAddress::Url(base_url) => {
                let injector = FaultInjector::default();
                let transport = Arc::new(FlakyTransport::around(network, injector.clone()));
                (connection(&system, &base_url, transport), None, injector)
            }
        };
        let ehr = adapter.connect(connection).map_err(|error| error.to_string())?;
        let described = ehr.describe(DEADLINE).await;
        let description = described.map_err(|fault| format!("the adapter does not describe itself: {fault}"))?;
        let made = Cell::new(system.first_number());
        let (placed, changed, last) = (Cell::new(0), RefCell::default(), RefCell::default());
        Ok(Subject { system, injector, ehr, description, _proxy: proxy, made, placed, changed, last })
    }

    /// Returns an unused number.
    pub fn number(&self) -> usize {
        self.made.set(self.made.get() + 1);
        self.made.get()
    }

    /// Returns the start of an unused half hour.
    pub fn free(&self) -> i64 {
        self.placed.set(self.placed.get() + 1);
        self.system.free(self.placed.get() - 1)
    }

    pub fn key(&self) -> String {
        format!("ps-1-{:x}-{}", std::process::id(), self.number())
    }

    /// Returns the write as this EHR takes it.
    pub fn adjusted(&self, mut write: Write) -> Write {
        self.system.adjust(&mut write);
        write
    }

    pub fn writes(&self, kind: &str) -> bool {
        self.description.writes.iter().any(|described| described == kind)
    }

    /// Skips the case unless all these kinds are described.
    pub fn needs(&self, kinds: &[&str]) -> CaseResult {
        match kinds.iter().find(|kind| !self.writes(kind)) {
            Some(missing) => Err(CaseEnd::NotAsked(format!("the adapter does not describe {missing}"))),
            None => Ok(()),
        }
    }

    pub fn ability(&self, resource: Resource) -> Option<&PullAbility> {
        self.description.pulls.iter().find(|ability| ability.resource == resource)
    }

    pub async fn pull(
        &self,
        resource: Resource,
        cursor: Option<String>,
        limit: u32,
    ) -> CaseResult<Result<Page, Fault>> {
        let from = cursor.as_ref().map_or_else(|| "from the beginning".to_owned(), |at| format!("from cursor {at}"));
        let asked = format!("pull {}, pages of {limit}, {from}", display::name(resource));
        let call = self.ehr.pull(resource, cursor, limit, DEADLINE);
        self.timely(asked, DEADLINE, call, display::page).await
    }

    pub async fn push(&self, key: &str, write: &Write) -> CaseResult<Result<Receipt, Fault>> {
        let call = self.ehr.push(key.to_owned(), write.clone(), DEADLINE);
        self.timely(format!("push with key {key}: {}", display::write(write)), DEADLINE, call, display::receipt).await
    }

    pub async fn find(&self, key: &str, write: &Write) -> CaseResult<Result<Option<Receipt>, Fault>> {
        let call = self.ehr.find(key.to_owned(), write.clone(), DEADLINE);
        self.timely(format!("find with key {key}: {}", display::write(write)), DEADLINE, call, display::found).await
    }

    /// Checks that a call ends by its deadline, and that a fault is not a trap or a contract violation.
    pub async fn timely<T>(
        &self,
        asked: String,
        deadline: Duration,
        call: impl Future<Output = Result<T, Fault>>,
        show: impl FnOnce(&T) -> String,
    ) -> CaseResult<Result<T, Fault>> {
        *self.last.borrow_mut() = (asked, "nothing yet".to_owned());
        let start = Instant::now();
        let ended = call.await;
        self.last.borrow_mut().1 = match &ended {
            Ok(answer) => show(answer),
            Err(fault) => format!("a fault: {fault}"),
        };
        self.hold(
            start.elapsed() <= deadline + GRACE,
            format!("an end within {deadline:?}; it took {:?}", start.elapsed()),
            "do not go on after the deadline: ask for less in one call",
        )?;
        if let Err(fault) = &ended {
            let message = fault.to_string();
            self.hold(
                !message.contains("the adapter failed") && !message.contains("broke the contract"),
                "an answer or a fault of the contract, without a panic",
                "the fault names what was wrong; the adapter's log has the file and line of a panic. Turn what the EHR says \
                 wrongly into a fault or a skipped record",
            )?;
        }
        Ok(ended)
    }

    /// Creates a finding about the last call.
    pub fn failed(&self, expected: impl Into<String>, remedy: impl Into<String>) -> CaseEnd {
        let (asked, answered) = self.last.borrow().clone();
        CaseEnd::Failed(Box::new(Finding { asked, answered, expected: expected.into(), remedy: remedy.into() }))
    }

    pub fn hold(&self, holds: bool, expected: impl Into<String>, remedy: impl Into<String>) -> CaseResult {
        if holds { Ok(()) } else { Err(self.failed(expected, remedy)) }
    }

    /// Returns the last call, for a case that panicked.
    pub fn last_call(&self) -> String {
        self.last.borrow().0.clone()
    }

    /// Checks a condition of the last call's response or of the EHR during it.
    pub fn hold_seen(
        &self,
        holds: bool,
        seen: String,
        expected: impl Into<String>,
        remedy: impl Into<String>,
    ) -> CaseResult {
        if holds {
            return Ok(());
        }
        self.last.borrow_mut().1 = seen;
        Err(self.failed(expected, remedy))
    }

    /// Returns the response of a call without injected faults.
    pub fn answered<T>(&self, ended: Result<T, Fault>) -> CaseResult<T> {
        let remedy = "no fault was injected: see what the fault says, and what the EHR answered";
        ended.map_err(|_| self.failed("an answer", remedy))
    }

    /// Sends a write without injected faults.
    pub async fn written(&self, write: &Write) -> CaseResult<Receipt> {
        self.answered(self.push(&self.key(), write).await?)
    }

    /// Reads all pages from a cursor to the end of the pass.
    pub async fn pass(&self, resource: Resource, cursor: Option<String>, limit: u32) -> CaseResult<Pass> {
        self.walk(resource, cursor, limit, Pass::default()).await
    }

    /// Reads the rest of a pass. A record listed twice is a finding unless it changed in between.
    pub async fn walk(&self, resource: Resource, cursor: Option<String>, limit: u32, begun: Pass) -> CaseResult<Pass> {
        let (mut pass, mut at) = (begun, cursor);
        for _ in 0..MAX_PAGES {
            let page = self.answered(self.pull(resource, at, limit).await?)?;
            for record in page.records {
                let id = record.id().to_owned();
                let again = pass.records.get(&id) == Some(&record);
                self.hold(
                    !again,
                    format!("{id} once in one pass"),
                    "the next page begins after the last record of the page before: put its place into the cursor, and \
                     sort by something that does not change",
                )?;
                pass.records.insert(id, record);
            }
            pass.deleted.extend(page.deleted);
            pass.skipped.extend(page.skipped.into_iter().map(|skipped| skipped.id));
            if page.last {
                return Ok(Pass { whole: page.whole, cursor: page.cursor, ..pass });
            }
            at = Some(page.cursor);
        }
        Err(self.failed("a page that is the last", "say `last` on the page after which the EHR has no more records"))
    }

    pub async fn everything(&self, resource: Resource) -> CaseResult<Pass> {
        self.pass(resource, None, 1_000).await
    }

    /// Returns the record listed by a pull, or `None`.
    pub async fn listed_record(&self, resource: Resource, id: &str) -> CaseResult<Option<EhrRecord>> {
        Ok(self.everything(resource).await?.records.remove(id))
    }

    pub async fn listed_patient(&self, id: &str) -> CaseResult<EhrPatient> {
        match self.listed_record(Resource::Patients, id).await? {
            Some(EhrRecord::Patient(patient)) => Ok(patient),
            _ => Err(self.failed(format!("patient {id}, who was written"), SHOW_WHAT_IS_WRITTEN)),
        }
    }

    /// Changes a record as staff. Returns `false` if staff cannot.
    pub async fn changed_by_staff(&self, resource: Resource, id: &str) -> bool {
        let changed = self.system.change(resource, id).await;
        if changed {
            self.changed.borrow_mut().push((resource, id.to_owned()));
        }
        changed
    }

    /// Returns `true` if staff have not changed the record.
    pub fn untouched(&self, resource: Resource, id: &str) -> bool {
        !self.changed.borrow().iter().any(|(of, changed)| *of == resource && changed == id)
    }

    /// Returns the number of records with the content of this write in the EHR, or `None` if they cannot be counted.
    pub async fn copies(&self, write: &Write) -> Option<usize> {
        match self.system.counts(left(write).0) {
            true => Some(self.system.copies(write).await),
            false => None,
        }
    }

    /// Checks that the effect of the write exists exactly once.
    pub async fn exists_once(&self, write: &Write) -> CaseResult {
        self.check_copies(write, due(write)).await
    }

    pub async fn check_copies(&self, write: &Write, wanted: usize) -> CaseResult {
        self.hold_copies(write, self.copies(write).await, wanted)
    }

    /// Checks the number of copies that were already counted. `None`: they cannot be counted.
    pub fn hold_copies(&self, write: &Write, copies: Option<usize>, wanted: usize) -> CaseResult {
        let Some(copies) = copies else { return Ok(()) };
        self.hold_seen(
            copies == wanted,
            format!("{copies} such records are in the EHR"),
            format!("{wanted} after {}", display::write(write)),
            "a write is carried out once however often its key is sent, and not at all where it is refused: look for the \
             key before writing, and answer a receipt only for what the EHR took",
        )
    }

    /// Returns the fields of a record that differ from the written ones.
    pub fn differences(&self, resource: Resource, written: &Map<String, Value>, record: &EhrRecord) -> Vec<String> {
        let held = record.fields();
        let kept = written.iter().filter(|(field, value)| {
            let unsaid =
                value.is_null() || **value == Value::Bool(false) || value.as_array().is_some_and(Vec::is_empty);
            let frame = matches!(field.as_str(), "id" | "version" | "write_key" | "ssn" | "extra");
            !unsaid && !frame && self.keeps(resource, field)
        });
        let differs = kept.filter(|(field, value)| !same(value, shown_as(resource, field, &held)));
        let current = |field: &String| match shown_as(resource, field, &held) {
            Value::Null => "nothing".to_owned(),
            it => display::beside(written, it),
        };
        differs.map(|(field, value)| format!("{field}: {value} was written, {} is shown", current(field))).collect()
    }

    /// Returns `true` if a pull returns the field as written, unless `describe` or the subject excludes it.
    pub fn keeps(&self, resource: Resource, field: &str) -> bool {
        let described = || self.description.unkept_patient_fields.iter().any(|unkept| unkept == field);
        self.system.keeps(resource, field) && !(resource == Resource::Patients && described())
    }
}

/// Returns the value of a field in a pulled record. An EHR with one untyped phone number returns a patient's cell phone
/// as the primary phone.
pub fn shown_as<'a>(resource: Resource, field: &str, held: &'a Map<String, Value>) -> &'a Value {
    let shown = |field: &str| held.get(field).filter(|value| !value.is_null());
    let primary = || shown("primary_phone").filter(|_| resource == Resource::Patients && field == "cell_phone");
    shown(field).or_else(primary).unwrap_or(&Value::Null)
}

pub const SHOW_WHAT_IS_WRITTEN: &str =
    "a pull shows a record under the identifier its receipt has, with every field the EHR keeps as it was written";

/// Compares values. Parts that were not written are ignored.
pub fn same(written: &Value, shown: &Value) -> bool {
    match (written, shown) {
        (Value::Object(written), Value::Object(shown)) => {
            written.iter().all(|(name, part)| part.is_null() || same(part, shown.get(name).unwrap_or(&Value::Null)))
        }
        (Value::String(written), Value::String(shown)) if written.starts_with('{') => {
            // Responses of a form: the same JSON in any formatting.
            let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
            written == shown || parsed(written).is_some_and(|json| Some(json) == parsed(shown))
        }
        _ => written == shown,
    }
}
