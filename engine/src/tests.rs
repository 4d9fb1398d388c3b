//! Locations as the engine runs them: actors of their own, a store in memory, an EHR made up.
#![allow(clippy::unwrap_used)]

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use location::{
    command::{Command, Cx, Failure},
    decision::Call,
    event::CallKind,
    ids::{AppointmentId, InstitutionId, LocationId},
    pull::Resource,
    time::{DAY, MINUTE},
};
use processor::{
    actor::{Asked, Job},
    change_counter::ChangeCounter,
    commands::CreateRecord,
    disk_share,
    error::{EngineError, Reject},
    id_pool::Pool,
    long_work::LongWork,
    note_keys::description_key,
    processor::{Deps, Processor},
};
use query::lists::{ListQuery, Order, PageRequest};
use records::{
    InsurancePlan,
    ehr::{Description, Ehr, EhrFuture, EhrPatient, EhrRecord, Fault, Page, PullAbility, Receipt, Write},
    record::Record,
    schema,
    sync_state::SyncState,
};
use runtime::clock;
use serde_json::{Value, json};
use setup::{EngineRules, NodeRules, Setup, current::Current, testing};
use store::{
    Batch, CommitFuture, Direction, EmbeddedStore, Health, Key, KeyRange, MemoryStore, Store, StoreConfig, StoreError,
    Versioned,
    counters::Ids,
    keys::{self, Space},
    memory::Fault as Broken,
    secrets::Secrets,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use webhooks::{
    model::Owner,
    outbox::{Doorbell, Outbox},
    registry::NewSubscription,
    sign::SecretKey,
    views::{RelatedRecords, ViewContext, ViewError, Views},
};

use crate::{
    data_dir::{DataDir, salvage_data},
    engine::{Engine, Parts},
};

pub(crate) const PLACE: LocationId = LocationId(1);
const SOURCE: u32 = 1;

/// Nobody listens.
struct Mute;

impl Views for Mute {
    fn record(&self, _: &ViewContext<'_>, _: Resource, _: &[u8], _: &dyn RelatedRecords) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }

    fn sync_status(&self, _: &ViewContext<'_>, _: &SyncState) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }
}

/// Takes every write, and shows a patient a page.
#[derive(Default)]
pub(crate) struct Practice {
    pub described: AtomicUsize,
    pulled: AtomicUsize,
    pushed: AtomicUsize,
    /// It is asked again later, whatever it is asked for.
    shut: AtomicBool,
    /// One where none is said.
    pages: usize,
}

/// A store whose commits take their time, as they do on a disk.
struct Unhurried(MemoryStore);

impl Store for Unhurried {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        self.0.read(key)
    }

    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        self.0.scan(range, direction, limit)
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.0.scan_keys(range, direction, limit)
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        let committed = self.0.commit(batch);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            committed.await
        })
    }

    fn health(&self) -> Health {
        self.0.health()
    }
}

fn description() -> Description {
    Description {
        pulls: vec![PullAbility { resource: Resource::Patients, delta: true, deletions_by_absence: false }],
        writes: vec!["create-insurance-plan".to_owned()],
        ..Description::default()
    }
}

impl Ehr for Practice {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        self.described.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(description()) })
    }

    fn pull(&self, _: Resource, _: Option<String>, _: u32, _: Duration) -> EhrFuture<'_, Page> {
        let page = self.pulled.fetch_add(1, Ordering::SeqCst);
        let patient = EhrPatient { id: format!("patient {page}"), last_name: "Many".into(), ..EhrPatient::default() };
        let (cursor, last) = (page.to_string(), page + 1 >= self.pages);
        let records = vec![EhrRecord::Patient(patient)];
        Box::pin(async move { Ok(Page { records, cursor, last, ..Page::default() }) })
    }

    fn push(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        if self.shut.load(Ordering::SeqCst) {
            return Box::pin(async { Err(Fault::RetryLater { reason: "shut".into(), after: None }) });
        }
        let id = format!("written {}", self.pushed.fetch_add(1, Ordering::SeqCst));
        Box::pin(async { Ok(Receipt { id, version: None }) })
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        Box::pin(async { Ok(None) })
    }
}

fn setup(engine: EngineRules) -> Setup {
    let location = testing::location(PLACE, 1, SOURCE);
    Setup { engine, ..testing::setup([testing::institution(1)], [location], [testing::source(SOURCE, 1)]) }
}

pub(crate) async fn started(store: Arc<dyn Store>, ehr: &Arc<Practice>, rules: EngineRules) -> Engine {
    let own = HashMap::from([(PLACE, ehr.clone() as Arc<dyn Ehr>)]);
    Engine::start(setup(rules), Parts { own, ..Parts::new(store, Arc::new(Mute)) }).await.unwrap()
}

pub(crate) async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..1_000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not happen within 10 s");
}

fn plan() -> CreateRecord<InsurancePlan> {
    let body = schema::read(json!({"name": "Family Plan"})).unwrap();
    CreateRecord { body, patient: None, number: None }
}

/// What an earlier life left, whose clock was a day ahead: a write that failed once and is to be tried again. Its location was in memory
/// when that life ended, or slept.
async fn left_a_day_ahead(asleep: bool) -> Arc<MemoryStore> {
    let (store, setup) = (Arc::new(MemoryStore::new()), Arc::new(setup(EngineRules::default())));
    let deps = Arc::new(Deps {
        lives_here: None,
        change_counter: ChangeCounter::new(&setup),
        setup: Current::new(setup),
        store: store.clone(),
        ids: Arc::new(Ids::new(store.clone())),
        pool: Pool::default(),
        outbox: Outbox::new(Arc::default(), Arc::new(Doorbell::default())),
        views: Arc::new(Mute),
        secrets: Secrets::from_seed([7; 32]),
        index: Arc::default(),
        long_work: LongWork::default(),
        untold: Default::default(),
    });
    let mut processor = Processor::load(deps.clone(), PLACE).unwrap();
    store.commit_now(processor.describing(&description()).unwrap()).unwrap();
    processor.described(description());
    let cx = Cx { now: clock::now().plus(DAY), random: 1 };
    let mut next: Vec<Box<dyn Job>> = vec![Asked::own(Command::Wake), Asked::own(plan())];
    while let Some(mut request) = next.pop() {
        let mut turn = match request.prepare(&processor, cx) {
            Err(Reject::NeedIds(resource)) => {
                deps.pool.fill(&deps.ids, resource).await.unwrap();
                next.push(request);
                continue;
            }
            turn => turn.unwrap(),
        };
        store.commit_now(std::mem::take(&mut turn.batch)).unwrap();
        for call in processor.finish(turn) {
            if let Call::Write { write, attempt, kind: CallKind::Push, .. } = call {
                let outcome = Err(Failure::RetryLater { reason: "down".into(), after: None });
                next.push(Asked::own(Command::Pushed { write, attempt, outcome }));
            }
        }
    }
    assert!(processor.wake_at().unwrap().since(clock::now()) > DAY - MINUTE);
    if asleep {
        store.commit_now(processor.leave().unwrap()).unwrap();
    }
    store
}

#[actix::test]
async fn a_clock_that_was_ahead_in_an_earlier_life_delays_nothing() {
    for asleep in [false, true] {
        let (store, ehr) = (left_a_day_ahead(asleep).await, Arc::new(Practice::default()));
        let engine = started(store, &ehr, EngineRules::default()).await;
        until("the write", async || ehr.pushed.load(Ordering::SeqCst) == 1).await;
        engine.stop().await;
    }
}

#[actix::test]
async fn reading_without_end_is_slowed_and_says_so_while_all_else_goes_on() {
    let ehr = Arc::new(Practice { pages: usize::MAX, ..Practice::default() });
    // A page more than the bucket holds, and nothing runs out of it while the test does.
    let rules = EngineRules { pull_burst_bytes: 1, pull_bytes_per_minute: 1, ..EngineRules::default() };
    let engine = started(Arc::new(MemoryStore::new()), &ehr, rules).await;
    let slowed = async || engine.sync_state(PLACE).await.unwrap().read_reason.as_deref() == Some(disk_share::SLOWED);
    until("the slower reading", slowed).await;
    let unknown = engine.cancel(PLACE, AppointmentId(1), None).await;
    assert_eq!(unknown, Err(EngineError::Refused(location::decision::Refusal::AppointmentNotFound)));
    engine.send(PLACE, plan()).await.unwrap();
    until("the write", async || ehr.pushed.load(Ordering::SeqCst) == 1).await;
    assert!(ehr.pulled.load(Ordering::SeqCst) <= 2, "the second page was asked for while the first was being stored");
    engine.stop().await;
}

/// Each page is a record of the journal, and a snapshot is due behind the 500th.
#[actix::test]
async fn a_reading_goes_on_behind_its_snapshots() {
    let (ehr, store) =
        (Arc::new(Practice { pages: 1_200, ..Practice::default() }), Arc::new(Unhurried(MemoryStore::new())));
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the end of the reading", async || engine.last_sync(PLACE).unwrap().is_some()).await;
    assert!(store.get(&keys::snapshot(PLACE.0)).unwrap().is_some());
    engine.stop().await;
}

/// Its commit is durable, and nobody knows: what it would change is not acted on before the EHR is asked again.
#[actix::test]
async fn what_the_ehr_can_do_counts_once_it_is_stored() {
    let (store, ehr) = (Arc::new(MemoryStore::new()), Arc::new(Practice::default()));
    let described = || store.get(&description_key(PLACE)).unwrap().is_some();
    // Engine and location have nothing else to commit until then.
    started(store.clone(), &Arc::new(Practice::default()), EngineRules::default()).await.stop().await;
    let mut forgotten = Batch::new();
    forgotten.delete(description_key(PLACE));
    store.commit_now(forgotten).unwrap();
    store.fail_next_commit(Broken::LoseAnswer);
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the description", async || described()).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((ehr.described.load(Ordering::SeqCst), ehr.pulled.load(Ordering::SeqCst)), (1, 0));
    engine.stop().await;

    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the first read", async || ehr.pulled.load(Ordering::SeqCst) > 0).await;
    engine.stop().await;
}

/// As the log of the store would have lost it.
async fn lose_the_index(store: &EmbeddedStore) {
    for space in [Space::Feed, Space::IndexBlock, Space::IndexManifest] {
        let mut batch = Batch::new();
        for key in store.scan_keys(space.range(), Direction::Forward, usize::MAX).unwrap() {
            batch.delete(key);
        }
        store.commit(batch).await.unwrap();
    }
}

fn plans(engine: &Engine) -> Vec<Record<InsurancePlan>> {
    let query = ListQuery::new([SOURCE], Order::UpdatedAt);
    engine.list(&query, &PageRequest::whole(10), |_| true).unwrap().rows
}

#[actix::test]
async fn a_salvaged_store_shows_in_its_lists_what_its_index_had_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    std::fs::create_dir(&from).unwrap();
    let open = |dir: &Path| {
        let data = DataDir::new(dir);
        let key = data.key(false).unwrap();
        Arc::new(EmbeddedStore::open(StoreConfig::new(&data.store, key)).unwrap())
    };
    let (store, ehr) = (open(&from), Arc::new(Practice::default()));
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("what the EHR can do", async || engine.description(PLACE).unwrap().is_some()).await;
    engine.send(PLACE, plan()).await.unwrap();
    assert_eq!(plans(&engine).len(), 1);
    engine.stop().await;
    drop(engine);
    lose_the_index(&store).await;
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    assert_eq!(plans(&engine), [], "without its index nothing is shown");
    engine.stop().await;
    drop(engine);
    let open_elsewhere = Arc::downgrade(&store);
    drop(store);
    until("the end of all who read the store", async || open_elsewhere.strong_count() == 0).await;

    salvage_data(&from, &to).await.unwrap();
    let engine = started(open(&to), &ehr, EngineRules::default()).await;
    let found = plans(&engine);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].body.name, "Family Plan");
    engine.stop().await;
}

/// A store at the end of a cable that can be cut.
struct Distant {
    store: Arc<MemoryStore>,
    cut: AtomicBool,
}

impl Distant {
    fn to(store: &Arc<MemoryStore>) -> Arc<Distant> {
        Arc::new(Distant { store: store.clone(), cut: AtomicBool::new(false) })
    }

    fn reached(&self) -> Result<&MemoryStore, StoreError> {
        if self.cut.load(Ordering::SeqCst) { Err(StoreError::Busy) } else { Ok(&self.store) }
    }
}

impl Store for Distant {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        self.reached()?.read(key)
    }

    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        self.reached()?.scan(range, direction, limit)
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.reached()?.scan_keys(range, direction, limit)
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        match self.reached() {
            Ok(store) => store.commit(batch),
            Err(error) => Box::pin(async { Err(error.into()) }),
        }
    }

    fn health(&self) -> Health {
        self.store.health()
    }
}

/// One of the processes on a store.
async fn node(store: &Arc<Distant>, ehr: &Arc<Practice>, name: &str) -> Engine {
    let own = HashMap::from([(PLACE, ehr.clone() as Arc<dyn Ehr>)]);
    let period = Duration::from_millis(400);
    let rules = NodeRules { name: name.to_owned(), address: format!("{name}:7001"), period };
    let parts = Parts { own, ..Parts::new(store.clone(), Arc::new(Mute)) };
    Engine::start(setup(EngineRules { node: Some(rules), ..EngineRules::default() }), parts).await.unwrap()
}

fn is_here(engine: &Engine) -> bool {
    engine.directory().is_here(PLACE)
}

#[actix::test]
async fn an_institution_lives_on_one_node_and_moves_when_that_leaves() {
    let (store, ehr) = (Distant::to(&Arc::default()), Arc::new(Practice::default()));
    let (north, south) = (node(&store, &ehr, "north").await, node(&store, &ehr, "south").await);
    let settled = async || is_here(&north) != is_here(&south);
    until("its place", settled).await;
    let (here, there) = if is_here(&north) { (north, south) } else { (south, north) };
    until("its first reading", async || here.last_sync(PLACE).unwrap().is_some()).await;
    here.send(PLACE, plan()).await.unwrap();
    assert!(matches!(there.send(PLACE, plan()).await, Err(EngineError::Busy { .. })), "it lives elsewhere");
    here.stop().await;
    until("its new place", async || is_here(&there)).await;
    there.send(PLACE, plan()).await.unwrap();
    assert_eq!(plans(&there).len(), 2);
    there.stop().await;
}

#[actix::test]
async fn what_a_node_left_undone_that_has_lost_the_store_is_done_by_another() {
    let store = left_a_day_ahead(false).await;
    let (lost, found) = (Distant::to(&store), Distant::to(&store));
    // Its EHR takes nothing, so that the write waits.
    let (closed, open) = (Arc::new(Practice::default()), Arc::new(Practice::default()));
    closed.shut.store(true, Ordering::SeqCst);
    let north = node(&lost, &closed, "north").await;
    until("its place", async || is_here(&north)).await;
    lost.cut.store(true, Ordering::SeqCst);
    until("the end of its lease", async || !is_here(&north)).await;
    let south = node(&found, &open, "south").await;
    until("the write", async || open.pushed.load(Ordering::SeqCst) == 1).await;
    assert!(is_here(&south) && !is_here(&north));
    assert!(matches!(north.send(PLACE, plan()).await, Err(EngineError::Busy { .. })));
    lost.cut.store(false, Ordering::SeqCst);
    south.stop().await;
    until("its return", async || is_here(&north)).await;
    north.send(PLACE, plan()).await.unwrap();
    north.stop().await;
}

/// Shows one patient, under another name each time it is asked once it is open.
struct Renamed {
    open: Arc<AtomicBool>,
    pulled: AtomicUsize,
}

/// Pages of a reading.
const NAMES: usize = 4;

impl Ehr for Renamed {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        Box::pin(async { Ok(description()) })
    }

    fn pull(&self, _: Resource, _: Option<String>, _: u32, _: Duration) -> EhrFuture<'_, Page> {
        Box::pin(async {
            while !self.open.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let page = self.pulled.fetch_add(1, Ordering::SeqCst);
            let patient = EhrPatient { id: "one".into(), last_name: format!("Name {page}"), ..EhrPatient::default() };
            let (cursor, last) = (page.to_string(), page + 1 >= NAMES);
            Ok(Page { records: vec![EhrRecord::Patient(patient)], cursor, last, ..Page::default() })
        })
    }

    fn push(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        Box::pin(async { Err(Fault::RetryLater { reason: "shut".into(), after: None }) })
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        Box::pin(async { Ok(None) })
    }
}

/// Shows who and under which name.
struct Names;

impl Views for Names {
    fn record(
        &self,
        context: &ViewContext<'_>,
        _: Resource,
        stored: &[u8],
        _: &dyn RelatedRecords,
    ) -> Result<Value, ViewError> {
        let record: Value = serde_json::from_slice(stored).map_err(|_| ViewError::Damaged)?;
        Ok(json!({"id": context.location.institution, "last_name": record["body"]["last_name"]}))
    }

    fn sync_status(&self, _: &ViewContext<'_>, _: &SyncState) -> Result<Value, ViewError> {
        Err(ViewError::Damaged)
    }
}

/// Bodies of messages in the order in which they arrive, at an address.
async fn receiver() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (url, received) = (format!("http://{}/hook", listener.local_addr().unwrap()), Arc::new(Mutex::default()));
    let log: Arc<Mutex<Vec<Value>>> = received.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let log = log.clone();
            tokio::spawn(async move {
                let mut read = Vec::new();
                while stream.read_buf(&mut read).await.is_ok_and(|bytes| bytes > 0) {
                    let Some(head) = read.windows(4).position(|it| it == b"\r\n\r\n") else { continue };
                    let Ok(body) = serde_json::from_slice(&read[head + 4..]) else { continue };
                    log.lock().unwrap().push(body);
                    read.clear();
                    stream.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                }
            });
        }
    });
    (url, received)
}

#[actix::test]
async fn messages_about_institutions_on_two_nodes_arrive_once_and_in_order() {
    const PRACTICES: u32 = 8;
    let (store, open, period) =
        (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(false)), Duration::from_millis(400));
    let ids = || 1..=PRACTICES;
    let node = async |name: &str| {
        let node = Some(NodeRules { name: name.to_owned(), address: format!("{name}:7001"), period });
        let rules = EngineRules { webhook_development: true, node, ..EngineRules::default() };
        let locations = ids().map(|id| testing::location(LocationId(id), id, id));
        let practices =
            testing::setup(ids().map(testing::institution), locations, ids().map(|id| testing::source(id, id)));
        let ehr = |_| Arc::new(Renamed { open: open.clone(), pulled: AtomicUsize::new(0) }) as Arc<dyn Ehr>;
        let own = ids().map(|id| (LocationId(id), ehr(id))).collect();
        let parts = Parts { own, ..Parts::new(store.clone(), Arc::new(Names)) };
        Engine::start(Setup { engine: rules, ..practices }, parts).await.unwrap()
    };
    let (north, south) = (node("north").await, node("south").await);
    let here = |engine: &Engine| ids().filter(|id| engine.directory().is_here(LocationId(*id))).count();
    until("their places", async || here(&north) + here(&south) == 8 && here(&north) > 0 && here(&south) > 0).await;

    let ((url, received), owner, now) = (receiver().await, Owner("org".to_owned()), clock::now());
    let secret = SecretKey::from_entropy([7; 32]);
    let made = north.webhooks().create_endpoint(&owner, &url, true, secret, None, now).await.unwrap();
    for (id, event) in ids().flat_map(|id| [(id, "patient_created"), (id, "patient_updated")]) {
        // The one that did not make the endpoint, too.
        let registry = if id % 2 == 0 { south.webhooks() } else { north.webhooks() };
        let (institution_id, api_version) = (InstitutionId(id), "v3.0.0");
        let new = NewSubscription {
            institution_id,
            location_id: None,
            resource_type: "Patient",
            event,
            active: true,
            api_version,
        };
        if registry.endpoint(&owner, made.record.id).is_err() {
            until("what the other node made", async || registry.endpoint(&owner, made.record.id).is_ok()).await;
        }
        registry.create_subscription(&owner, made.record.id, new, None, now).await.unwrap();
    }
    open.store(true, Ordering::SeqCst);
    until("all messages", async || received.lock().unwrap().len() == NAMES * PRACTICES as usize).await;
    // None comes twice, not even later.
    north.stop().await;
    south.stop().await;
    let received = received.lock().unwrap();
    assert_eq!(received.len(), NAMES * PRACTICES as usize);
    for id in ids() {
        let of_practice = received.iter().filter(|message| message["institution_id"] == id);
        let sequence: Vec<u64> = of_practice.map(|message| message["sequence"].as_u64().unwrap()).collect();
        assert_eq!(sequence.len(), NAMES);
        assert!(sequence.is_sorted(), "{sequence:?}");
    }
}
