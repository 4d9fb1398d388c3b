//! Locations run by the engine, with actors, a store in memory, and a fake EHR.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use location::{
    command::{Command, DecisionContext, Failure},
    decision::Call,
    event::CallKind,
    ids::{AppointmentId, InstitutionId, LocationId},
    time::{DAY, MINUTE},
};
use processor::{
    actor::{Job, RequestJob},
    call_changes::{self, CallChange},
    change_counter::ChangeCounter,
    commands::CreateRecord,
    disk_share,
    error::{EngineError, Reject},
    id_pool::Pool,
    long_work::LongWork,
    note_keys::description_key,
    processor::{Deps, Processor},
};
use query::{
    feed,
    lists::{ListQuery, Order, PageRequest},
    log,
    stream::{Change, ChangeKind, Stream},
};
use records::{InsurancePlan, ehr::Ehr, record::Record};
use runtime::clock;
use serde_json::Value;
use setup::{Current, EngineRules, NodeRules, Setup};
use store::{
    Batch, Direction, EmbeddedStore, EngineKind, MemoryStore, Store, StoreConfig, StoreError,
    counters::Ids,
    journal,
    keys::{self, Space},
    memory::Fault as Broken,
    secrets::Secrets,
};
use testing::{Answer, FakeEhr, HookedStore, NoViews, PlainViews, Received, Receiver, insurance_plan, until};
use tokio::sync::watch;
use webhooks::{model::Owner, registry::NewSubscription, sign::SecretKey};

use crate::{
    audit_follower::{AuditBatch, AuditFollower},
    data_dir::{DataDir, salvage_data},
    engine::{Engine, Parts},
    migrate_store::migrate_store,
};

pub(crate) const PLACE: LocationId = LocationId(1);
const SOURCE: u32 = 1;

fn setup(engine: EngineRules) -> Setup {
    Setup { engine, ..testing::one_location() }
}

/// Returns an EHR with that many pages of one patient each.
fn patients(pages: usize) -> FakeEhr {
    FakeEhr::with_patients(pages, |page| (format!("patient {page}"), "Many".to_owned()))
}

pub(crate) async fn started(store: Arc<dyn Store>, ehr: &Arc<FakeEhr>, rules: EngineRules) -> Engine {
    let own = HashMap::from([(PLACE, ehr.clone() as Arc<dyn Ehr>)]);
    Engine::start(setup(rules), Parts { own, ..Parts::new(store, Arc::new(NoViews)) }).await.unwrap()
}

fn plan() -> CreateRecord<InsurancePlan> {
    CreateRecord { body: insurance_plan(), patient: None, number: None }
}

/// Returns the dependencies of locations, without the rest of an engine.
fn deps(store: &Arc<MemoryStore>) -> Deps {
    let setup = Arc::new(setup(EngineRules::default()));
    Deps {
        is_local: None,
        image_permits: None,
        change_counter: ChangeCounter::new(&setup),
        change_doorbell: Arc::default(),
        call_queue: Arc::default(),
        setup: Arc::new(Current::new(setup)),
        store: store.clone(),
        ids: Arc::new(Ids::new(store.clone())),
        pool: Pool::default(),
        secrets: Secrets::from_seed([7; 32]),
        index: Arc::default(),
        long_work: LongWork::default(),
    }
}

/// Returns the store of an earlier process, whose clock was a day ahead: a write failed once and waits for its retry.
/// Its location was in memory when that process ended, or asleep.
async fn store_a_day_ahead(asleep: bool) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let deps = Arc::new(deps(&store));
    let mut processor = Processor::load(deps.clone(), PLACE).unwrap();
    let description = FakeEhr::default().description;
    store.commit_now(processor.describing(&description).unwrap()).unwrap();
    processor.described(description);
    let cx = DecisionContext { now: clock::now().plus(DAY), random: 1 };
    let mut next: Vec<Box<dyn Job>> = vec![RequestJob::internal(Command::Wake), RequestJob::internal(plan())];
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
                next.push(RequestJob::internal(Command::Pushed { write, attempt, outcome }));
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
async fn clock_ahead_in_an_earlier_process_delays_no_write() {
    for asleep in [false, true] {
        let (store, ehr) = (store_a_day_ahead(asleep).await, Arc::new(FakeEhr::default()));
        let engine = started(store, &ehr, EngineRules::default()).await;
        until("the write", async || ehr.pushed.get() == 1).await;
        engine.stop().await;
    }
}

#[actix::test]
async fn endless_reading_is_slowed_and_reported_while_other_work_continues() {
    let ehr = Arc::new(patients(usize::MAX));
    // A page exceeds the bucket, which is not refilled during the test.
    let rules = EngineRules { pull_burst_bytes: 1, pull_bytes_per_minute: 1, ..EngineRules::default() };
    let engine = started(Arc::new(MemoryStore::new()), &ehr, rules).await;
    let slowed = async || engine.sync_state(PLACE).await.unwrap().read_reason.as_deref() == Some(disk_share::SLOWED);
    until("the slower reading", slowed).await;
    let unknown = engine.cancel(PLACE, AppointmentId(1), None).await;
    assert_eq!(unknown, Err(EngineError::Refused(location::decision::Refusal::AppointmentNotFound)));
    engine.send(PLACE, plan()).await.unwrap();
    until("the write", async || ehr.pushed.get() == 1).await;
    assert!(ehr.pulled.get() <= 2, "the second page was asked for while the first was being stored");
    engine.stop().await;
}

/// The answer of the EHR changes the plan.
#[actix::test]
async fn commits_have_before_images_from_the_first_subscription_on() {
    let (store, ehr) = (Arc::new(MemoryStore::new()), Arc::new(FakeEhr::default()));
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("what the EHR can do", async || engine.description(PLACE).unwrap().is_some()).await;
    let lacks_images = async || {
        let since = feed::end(&*store, 1).unwrap();
        engine.send(PLACE, plan()).await.unwrap();
        until("the answer of the EHR", async || {
            let end = feed::end(&*store, 1).unwrap();
            let streams = [Stream::Source(SOURCE), Stream::Location(PLACE.0), Stream::Institution(1)];
            let found = log::commits(&*store, &streams, (since, end), usize::MAX, |_, _| true).unwrap();
            found.commits.iter().flat_map(|commit| &commit.changes).find_map(|(_, change)| match change {
                Change::Record(it) if it.change == ChangeKind::Updated => Some(it.lacks_image()),
                _ => None,
            })
        })
        .await
    };
    assert!(lacks_images().await);
    let (owner, secret, now) = (Owner("org".to_owned()), SecretKey::from_entropy([7; 32]), clock::now());
    let url = "https://hooks.example.com/in";
    let made = engine.webhooks().create_endpoint(&owner, url, true, secret, None, now).await.unwrap();
    let new = NewSubscription {
        payload: None,
        institution_id: InstitutionId(1),
        location_id: None,
        resource_type: "Patient",
        event: "patient_created",
        active: true,
        api_version: "v3.0.0",
    };
    engine.webhooks().create_subscription(&owner, made.record.id, new, None, now).await.unwrap();
    assert!(!lacks_images().await);
    engine.stop().await;
}

/// The journal is of an earlier version. Its location was in memory, and the entries since record 2 may be missing.
#[actix::test]
async fn earlier_journals_have_audit_positions_before_their_locations_are_loaded() {
    let store = store_a_day_ahead(false).await;
    let loaded = journal::load(&*store, PLACE.0).unwrap();
    let (last, bytes) = loaded.tail.last().unwrap();
    let mut record: Value = serde_json::from_slice(bytes).unwrap();
    record["untold"] = 2.into();
    let mut batch = Batch::new();
    batch.put(keys::journal(PLACE.0, *last), serde_json::to_vec(&record).unwrap());
    store.commit_now(batch).unwrap();
    let ehr = Arc::new(FakeEhr::default());
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the write", async || ehr.pushed.get() == 1).await;
    assert_eq!(call_changes::position(&*store, PLACE).unwrap(), Some(1));
    engine.stop().await;
}

/// The audit follower of a node. `is_here` is true while the node hosts the institution.
struct Node {
    deps: Arc<Deps>,
    follower: Arc<AuditFollower>,
}

impl Node {
    async fn new(store: &Arc<MemoryStore>, is_here: &Arc<AtomicBool>) -> Node {
        let (mut deps, is_here) = (deps(store), is_here.clone());
        deps.is_local = Some(Arc::new(move |_| is_here.load(Ordering::SeqCst)));
        let deps = Arc::new(deps);
        Node { follower: AuditFollower::start(deps.clone()).await.unwrap(), deps }
    }

    /// Returns the next batch after a commit of the location.
    async fn next(&self) -> AuditBatch {
        self.deps.call_queue.ring([PLACE]);
        self.follower.next().await
    }

    fn position(&self) -> Option<u64> {
        call_changes::position(&*self.deps.store, PLACE).unwrap()
    }
}

/// Appends a change by a call to the journal.
fn append_change(store: &MemoryStore, number: u64) {
    let by = r#"{"request_id":"r","name":"k","route":"x"}"#;
    let record = format!(r#"{{"at":1,"events":[],"by":{by},"institution":9}}"#);
    let mut batch = Batch::new();
    batch.put(keys::journal(PLACE.0, number), record.into_bytes());
    store.commit_now(batch).unwrap();
}

#[actix::test]
async fn changes_are_audited_by_the_host_of_the_institution() {
    let (store, is_here) = (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(false)));
    let node = Node::new(&store, &is_here).await;
    append_change(&store, 1);
    assert!(tokio::time::timeout(Duration::from_millis(200), node.next()).await.is_err());
    assert_eq!(node.follower.waiting(), 0);
    is_here.store(true, Ordering::SeqCst);
    let batch = node.follower.next().await;
    let found: Vec<_> = batch.changes.iter().map(|change| (change.decision.1, change.institution)).collect();
    assert_eq!(found, [(1, Some(InstitutionId(9)))], "the institution of the commit");
}

#[actix::test]
async fn audit_follower_does_not_move_the_position_of_another_node_back() {
    let (store, is_here) = (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(true)));
    let (late, other) = (Node::new(&store, &is_here).await, Node::new(&store, &is_here).await);
    append_change(&store, 1);
    let left = late.next().await;
    for number in 2..=3 {
        append_change(&store, number);
        other.follower.confirm(other.next().await).await;
    }
    late.follower.confirm(left).await;
    assert_eq!(late.position(), Some(3));
}

fn pushed_change(number: u64) -> CallChange {
    CallChange { decision: (PLACE, number), at: None, institution: None, caller: None, records: Vec::new() }
}

/// The journal is empty.
#[actix::test]
async fn pushed_changes_are_followed_without_their_journal() {
    let (store, is_here) = (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(true)));
    let node = Node::new(&store, &is_here).await;
    node.deps.call_queue.note_followed(&BTreeMap::from([(PLACE, 0)]));
    [1, 3].into_iter().for_each(|number| node.deps.call_queue.push(pushed_change(number)));
    let batch = node.follower.next().await;
    assert_eq!(batch.changes, [1, 3].map(pushed_change));
    node.follower.confirm(batch).await;
    assert_eq!((node.position(), node.follower.waiting()), (Some(3), 0));
}

#[actix::test]
async fn pushed_changes_are_read_from_the_journal_after_the_institution_has_moved_back() {
    let (store, is_here) = (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(false)));
    let node = Node::new(&store, &is_here).await;
    node.deps.call_queue.note_followed(&BTreeMap::from([(PLACE, 0)]));
    node.deps.call_queue.push(pushed_change(2));
    (1..=2).for_each(|number| append_change(&store, number));
    assert!(tokio::time::timeout(Duration::from_millis(200), node.follower.next()).await.is_err());
    assert_eq!(node.follower.waiting(), 0);
    is_here.store(true, Ordering::SeqCst);
    let batch = node.follower.next().await;
    assert_eq!(batch.changes.iter().map(|change| change.decision.1).collect::<Vec<_>>(), [1, 2]);
}

#[actix::test]
async fn positions_are_stored_together_once_no_change_waits() {
    let (store, is_here) = (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(true)));
    let node = Node::new(&store, &is_here).await;
    for number in 1..=4 {
        append_change(&store, number);
        let batch = node.next().await;
        assert_eq!(batch.changes.len(), 1, "the change after record {}", number - 1);
        // The next change comes before the entries of the odd ones are durable.
        if number % 2 == 1 {
            node.deps.call_queue.ring([PLACE]);
        }
        node.follower.restart_interval();
        node.follower.confirm(batch).await;
        let (stored, waiting) = if number % 2 == 1 { (number - 1, 1) } else { (number, 0) };
        assert_eq!((node.position().unwrap_or(0), node.follower.waiting()), (stored, waiting));
    }
}

/// Each page is a journal record, and a snapshot is due after 500.
#[actix::test]
async fn reading_continues_after_snapshots() {
    // Commits take time, as on a disk.
    let store = HookedStore::default().on_commit(|store, batch| {
        let committed = store.commit(batch);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            committed.await
        })
    });
    let (ehr, store) = (Arc::new(patients(1_200)), Arc::new(store));
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the end of the reading", async || engine.last_sync(PLACE).unwrap().is_some()).await;
    assert!(store.get(&keys::snapshot(PLACE.0)).unwrap().is_some());
    engine.stop().await;
}

/// The commit is durable, but its answer is lost. The description is not used before the EHR has been asked again.
#[actix::test]
async fn description_takes_effect_only_once_stored() {
    let (store, ehr) = (Arc::new(MemoryStore::new()), Arc::new(FakeEhr::default()));
    let described = || store.get(&description_key(PLACE)).unwrap().is_some();
    // Nothing else is committed by the engine and the location until then.
    started(store.clone(), &Arc::new(FakeEhr::default()), EngineRules::default()).await.stop().await;
    let mut forgotten = Batch::new();
    forgotten.delete(description_key(PLACE));
    store.commit_now(forgotten).unwrap();
    store.fail_next_commit(Broken::LoseAnswer);
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the description", async || described()).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((ehr.described.get(), ehr.pulled.get()), (1, 0));
    engine.stop().await;

    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the first read", async || ehr.pulled.get() > 0).await;
    engine.stop().await;
}

/// Deletes the index, as a damaged log would.
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
    engine.lists().list(&query, &PageRequest::whole(10), |_| true).unwrap().rows
}

#[actix::test]
async fn salvaged_store_lists_records_missing_from_its_index() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    std::fs::create_dir(&from).unwrap();
    let open = |dir: &Path| {
        let data = DataDir::new(dir);
        let key = data.key(false).unwrap();
        Arc::new(EmbeddedStore::open(StoreConfig::new(&data.store, key)).unwrap())
    };
    let (store, ehr) = (open(&from), Arc::new(FakeEhr::default()));
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
    let mut batch = Batch::new();
    batch.delete(keys::feed_end()).put(keys::feed_pruned(7), 1_000_u64.to_be_bytes().to_vec());
    call_changes::put_position(&mut batch, PLACE, 1_000_000);
    store.commit(batch).await.unwrap();
    let open_elsewhere = Arc::downgrade(&store);
    drop(store);
    until("the end of all who read the store", async || open_elsewhere.strong_count() == 0).await;

    // An incomplete move to another engine, which the damage has stopped.
    std::fs::write(DataDir::new(&from).migrating, "").unwrap();
    salvage_data(&from, &to).await.unwrap();
    let store = open(&to);
    assert!(store.feed_end(None).unwrap() > 1_000, "numbers continue above those of lost changes");
    assert!(call_changes::position(&*store, PLACE).unwrap() < Some(1_000_000), "the audit trail follows new records");
    let engine = started(store, &ehr, EngineRules::default()).await;
    let found = plans(&engine);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].body.name, "Family Plan");
    engine.stop().await;
}

#[actix::test]
async fn waiting_work_continues_after_a_move_to_another_engine() {
    let (dir, ehr) = (tempfile::tempdir().unwrap(), Arc::new(patients(1)));
    let open = |engine| {
        let data = DataDir::new(dir.path());
        let key = data.key(false).unwrap();
        Arc::new(EmbeddedStore::open(StoreConfig { engine, ..StoreConfig::new(&data.store, key) }).unwrap())
    };
    let start = async |store: Arc<EmbeddedStore>| {
        let own = HashMap::from([(PLACE, ehr.clone() as Arc<dyn Ehr>)]);
        let rules = EngineRules { webhook_development: true, ..EngineRules::default() };
        Engine::start(setup(rules), Parts { own, ..Parts::new(store, Arc::new(PlainViews::default())) }).await.unwrap()
    };
    let deliveries = |store: &EmbeddedStore| store.scan(Space::DeliveryLog.range(), Direction::Forward, 9).unwrap();
    ehr.readable.send_replace(false);
    ehr.set_shut(true);
    let store = open(EngineKind::Sled);
    let engine = start(store.clone()).await;
    let (receiver, owner, now) =
        (Receiver::start(|_| Answer::Status(503)).await, Owner("org".to_owned()), clock::now());
    let secret = SecretKey::from_entropy([7; 32]);
    let made = engine.webhooks().create_endpoint(&owner, &receiver.url(), true, secret, None, now).await.unwrap();
    let new = NewSubscription {
        payload: None,
        institution_id: InstitutionId(1),
        location_id: None,
        resource_type: "Patient",
        event: "patient_created",
        active: true,
        api_version: "v3.0.0",
    };
    engine.webhooks().create_subscription(&owner, made.record.id, new, None, now).await.unwrap();
    ehr.readable.send_replace(true);
    until("what the EHR can do", async || engine.description(PLACE).unwrap().is_some()).await;
    engine.send(PLACE, plan()).await.unwrap();
    receiver.wait_for(1).await;
    engine.stop().await;
    drop(engine);
    let (waiting, open_elsewhere) = (deliveries(&store), Arc::downgrade(&store));
    assert_eq!(waiting.len(), 1);
    drop(store);
    until("the end of all who read the store", async || open_elsewhere.strong_count() == 0).await;

    migrate_store(dir.path(), EngineKind::Fjall, |_| {}).await.unwrap();
    let store = open(EngineKind::Fjall);
    assert_eq!(deliveries(&store), waiting);
    ehr.set_shut(false);
    let engine = start(store).await;
    engine.sync_now(PLACE).await.unwrap();
    until("the write", async || ehr.pushed.get() == 1).await;
    assert_eq!(plans(&engine).len(), 1);
    engine.stop().await;
}

/// Returns a node's connection to a shared store, and a switch that cuts it.
fn cable(store: &Arc<MemoryStore>) -> (Arc<HookedStore>, Arc<AtomicBool>) {
    let cut = Arc::new(AtomicBool::new(false));
    let reach = |cut: &AtomicBool| if cut.load(Ordering::SeqCst) { Err(StoreError::Busy) } else { Ok(()) };
    let (reads, commits) = (cut.clone(), cut.clone());
    let store = HookedStore::over(store.clone()).before_read(move |_| reach(&reads));
    let store = store.on_commit(move |store, batch| match reach(&commits) {
        Ok(()) => store.commit(batch),
        Err(error) => Box::pin(async { Err(error.into()) }),
    });
    (Arc::new(store), cut)
}

/// Starts one of the processes on a store.
async fn node(store: &Arc<HookedStore>, ehr: &Arc<FakeEhr>, name: &str) -> Engine {
    node_with_period(store, ehr, name, Duration::from_millis(400)).await
}

async fn node_with_period(store: &Arc<HookedStore>, ehr: &Arc<FakeEhr>, name: &str, period: Duration) -> Engine {
    let own = HashMap::from([(PLACE, ehr.clone() as Arc<dyn Ehr>)]);
    let rules = NodeRules { name: name.to_owned(), address: format!("{name}:7001"), period };
    let parts = Parts { own, ..Parts::new(store.clone(), Arc::new(NoViews)) };
    Engine::start(setup(EngineRules { node: Some(rules), ..EngineRules::default() }), parts).await.unwrap()
}

fn is_here(engine: &Engine) -> bool {
    engine.directory.is_here(PLACE)
}

#[actix::test]
async fn institution_is_on_one_node_and_moves_when_the_node_leaves() {
    let (store, ehr) = (Arc::new(HookedStore::default()), Arc::new(FakeEhr::default()));
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

/// Institutions do not move to a node that cannot take over webhooks. It still sees the renewals of other nodes.
#[actix::test]
async fn node_that_cannot_take_over_webhooks_does_not_remove_others() {
    let period = Duration::from_secs(2);
    let (store, ehr) = (Arc::new(MemoryStore::new()), Arc::new(FakeEhr::default()));
    let north = node_with_period(&Arc::new(HookedStore::over(store.clone())), &ehr, "north", period).await;
    until("its place", async || is_here(&north)).await;
    let claims =
        |batch: &Batch| batch.writes().iter().any(|(key, _)| Space::from_key(key) == Some(Space::DeliveryStripes));
    let refusing = HookedStore::over(store).on_commit(move |store, batch| match claims(&batch) {
        false => store.commit(batch),
        true => Box::pin(async { Err(StoreError::Busy.into()) }),
    });
    let south = node_with_period(&Arc::new(refusing), &ehr, "south", period).await;
    let view = |engine: &Engine| engine.nodes().map(|nodes| (nodes.view, nodes.members.len()));
    let joined = |engine: &Engine| view(engine).filter(|(_, members)| *members == 2);
    until("both as members", async || joined(&north).is_some() && joined(&south).is_some()).await;
    let joined = view(&north);
    tokio::time::sleep(period * 3).await;
    assert_eq!((view(&north), view(&south)), (joined, joined));
    south.stop().await;
    north.stop().await;
}

#[actix::test]
async fn unfinished_work_of_a_node_that_lost_the_store_is_done_by_another() {
    let store = store_a_day_ahead(false).await;
    let ((lost, cut), (found, _)) = (cable(&store), cable(&store));
    // The EHR accepts nothing, so the write stays pending.
    let (closed, open) = (Arc::new(FakeEhr::default()), Arc::new(FakeEhr::default()));
    closed.set_shut(true);
    let north = node(&lost, &closed, "north").await;
    until("its place", async || is_here(&north)).await;
    cut.store(true, Ordering::SeqCst);
    until("the end of its lease", async || !is_here(&north)).await;
    let south = node(&found, &open, "south").await;
    until("the write", async || open.pushed.get() == 1).await;
    assert!(is_here(&south) && !is_here(&north));
    assert!(matches!(north.send(PLACE, plan()).await, Err(EngineError::Busy { .. })));
    cut.store(false, Ordering::SeqCst);
    south.stop().await;
    until("its return", async || is_here(&north)).await;
    north.send(PLACE, plan()).await.unwrap();
    north.stop().await;
}

/// Number of pages that are read.
const NAMES: usize = 4;

#[actix::test]
async fn messages_about_institutions_on_two_nodes_arrive_once_and_in_order() {
    const PRACTICES: u32 = 8;
    let (store, readable, period) =
        (Arc::new(MemoryStore::new()), watch::Sender::new(false), Duration::from_millis(400));
    let ids = || 1..=PRACTICES;
    let node = async |name: &str| {
        let node = Some(NodeRules { name: name.to_owned(), address: format!("{name}:7001"), period });
        let rules = EngineRules { webhook_development: true, node, ..EngineRules::default() };
        let locations = ids().map(|id| testing::location(LocationId(id), id, id));
        let practices =
            testing::setup(ids().map(testing::institution), locations, ids().map(|id| testing::source(id, id)));
        // One patient, under another name on each page.
        let patient = |page| ("one".to_owned(), format!("Name {page}"));
        let ehr = || FakeEhr { readable: readable.clone(), ..FakeEhr::with_patients(NAMES, patient) };
        let own = ids().map(|id| (LocationId(id), Arc::new(ehr()) as Arc<dyn Ehr>)).collect();
        let parts = Parts { own, ..Parts::new(store.clone(), Arc::new(PlainViews::default())) };
        Engine::start(Setup { engine: rules, ..practices }, parts).await.unwrap()
    };
    let (north, south) = (node("north").await, node("south").await);
    let here = |engine: &Engine| ids().filter(|id| engine.directory.is_here(LocationId(*id))).count();
    until("their places", async || here(&north) + here(&south) == 8 && here(&north) > 0 && here(&south) > 0).await;

    let (receiver, owner, now) =
        (Receiver::start(|_| Answer::Status(200)).await, Owner("org".to_owned()), clock::now());
    let secret = SecretKey::from_entropy([7; 32]);
    let made = north.webhooks().create_endpoint(&owner, &receiver.url(), true, secret, None, now).await.unwrap();
    for (id, event) in ids().flat_map(|id| [(id, "patient_created"), (id, "patient_updated")]) {
        // Every other one through the node that did not create the endpoint.
        let registry = if id % 2 == 0 { south.webhooks() } else { north.webhooks() };
        let (institution_id, api_version) = (InstitutionId(id), "v3.0.0");
        let new = NewSubscription {
            payload: None,
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
    readable.send_replace(true);
    receiver.wait_for(NAMES * PRACTICES as usize).await;
    // Also waits for duplicates that would be sent later.
    north.stop().await;
    south.stop().await;
    let received: Vec<Value> = receiver.received().iter().map(Received::json).collect();
    assert_eq!(received.len(), NAMES * PRACTICES as usize);
    for id in ids() {
        let of_practice = received.iter().filter(|message| message["institution_id"] == id);
        let sequence: Vec<u64> = of_practice.map(|message| message["sequence"].as_u64().unwrap()).collect();
        assert_eq!(sequence.len(), NAMES);
        assert!(sequence.is_sorted(), "{sequence:?}");
    }
}

/// The console knows only the id of the patient.
#[actix::test]
async fn patient_is_found_in_many_institutions_with_one_read() {
    let (store, ehr) = (Arc::new(HookedStore::default()), Arc::new(patients(1)));
    let engine = started(store.clone(), &ehr, EngineRules::default()).await;
    until("the first read", async || engine.sync_state(PLACE).await.is_ok_and(|state| state.last_sync.is_some())).await;
    let own = engine.location(PLACE).unwrap().institution;
    engine.stop().await;
    let asked: Vec<_> = (1..=200).map(InstitutionId).collect();
    let before = (store.found.get(), store.reads_of_many.get());
    assert_eq!(engine.with_patient(&asked, 1).unwrap(), [own]);
    assert_eq!((store.found.get(), store.reads_of_many.get()), (before.0 + asked.len(), before.1 + 1));
    assert!(engine.with_patient(&asked, 4_711).unwrap().is_empty());
}
