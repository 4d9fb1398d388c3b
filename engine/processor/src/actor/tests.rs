//! Actors on a store with failing reads, two actors of one location, an actor whose data source changes, and unloading
//! until the audit trail has all changes.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, sync::OnceLock, thread};

use actix::Addr;
use location::{
    decision::Refusal,
    explain::Question,
    pause::Directions,
    pull::Resource,
    settings::{PullRules, Quota},
    slots::StartFilter,
    state::State,
    time::MINUTE,
    zone::Date,
};
use records::{
    document::DocumentKind,
    ehr::{EhrPatient, EhrProvider, EhrRecord, Page},
    schema,
};
use runtime::origin::{Caller, Origin, OriginChange};
use store::{Batch, Direction, KeyRange, MemoryStore, Store, StoreError, keys};
use testing::{FakeEhr, HookedStore, insurance_plan, slot_query, until};
use tokio::sync::watch;

use super::*;
use crate::{
    call_changes,
    commands::CreateRecord,
    ingest::IngestPage,
    testing::{deps, turn},
};

/// Returns a setup of a location without EHR.
fn practice() -> Arc<setup::Setup> {
    let here = setup::LocationSetup { source: None, ..testing::location(LocationId(1), 1, 1) };
    Arc::new(testing::setup([testing::institution(1)], [here], []))
}

fn actor(deps: Arc<Deps>) -> Addr<LocationActor> {
    let means = LocationRuntime {
        site: EhrSite::default(),
        ehr: None,
        watcher: None,
        idle: Duration::from_secs(3_600),
        mailbox: 16,
    };
    LocationActor::new(LocationId(1), deps, means, Arc::default(), Arc::default()).start()
}

async fn ask<T>(actor: &Addr<LocationActor>, make: impl FnOnce(Reply<T>) -> LocationMessage) -> Result<T, EngineError> {
    let (reply, answer) = oneshot::channel();
    actor.send(make(reply)).await.unwrap();
    answer.await.unwrap()
}

/// Checks that a message loads a location that could not be loaded before, once another attempt is due.
async fn comes_back<T>(make: impl Fn(Reply<T>) -> LocationMessage) {
    let away = Arc::new(AtomicBool::new(true));
    let journal_away = away.clone();
    let store = HookedStore::default().before_read(move |key| {
        let fails = journal_away.load(Ordering::SeqCst) && keys::parse_journal(key).is_some();
        if fails { Err(StoreError::Away { why: "a test".into() }) } else { Ok(()) }
    });
    let actor = actor(deps(Arc::new(store), practice()));
    assert_eq!(ask(&actor, &make).await.err(), Some(EngineError::StoreAway));
    away.store(false, Ordering::SeqCst);
    for _ in 0..600 {
        if ask(&actor, &make).await.is_ok() {
            return;
        }
        actix::clock::sleep(Duration::from_millis(50)).await;
    }
    panic!("it was not loaded");
}

#[actix::test]
async fn search_loads_a_location_after_a_failed_load() {
    let query = slot_query(Date(20_000), 1, SECOND, Timestamp(0));
    comes_back(|reply| LocationMessage::FreeSlots { query: Box::new(query.clone()), rules: SlotRules::None, reply })
        .await;
}

#[actix::test]
async fn explanation_loads_a_location_after_a_failed_load() {
    let query = slot_query(Date(20_000), 1, MINUTE, Timestamp(0));
    let question = Question::Search { query, starts: StartFilter::default() };
    let query = ExplainQuery { question, channel: None, patient: None };
    comes_back(|reply| LocationMessage::Explain { query: Box::new(query.clone()), reply }).await;
}

#[actix::test]
async fn sync_state_query_loads_a_location_after_a_failed_load() {
    comes_back(|reply| LocationMessage::SyncState { reply }).await;
}

#[actix::test]
async fn write_list_query_loads_a_location_after_a_failed_load() {
    comes_back(|reply| LocationMessage::Writes { reply }).await;
}

/// Returns a call and the command that it becomes.
fn paused_by_a_call() -> (Origin, Command) {
    let caller = Caller {
        request_id: "request".into(),
        name: "a key".into(),
        operator: false,
        client: None,
        route: "POST /locations/{id}/pause".into(),
        tool: None,
    };
    let origin = Origin::from("request").changing(Some(OriginChange::new(caller)));
    (origin, Command::Pause { which: Directions { reading: true, writing: true } })
}

#[actix::test]
async fn committed_change_is_passed_on_as_it_is_in_the_journal() {
    let deps = deps(Arc::new(MemoryStore::default()), practice());
    let mut processor = Processor::load(deps.clone(), LocationId(1)).unwrap();
    let (origin, pause) = paused_by_a_call();
    let cx = location::DecisionContext { now: Timestamp(1), random: 1 };
    deps.call_queue.note_followed(&BTreeMap::from([(LocationId(1), 0)]));
    let (mut pending, _) = processor.prepare(cx, Some(&origin), &pause).unwrap();
    deps.store.commit(std::mem::take(&mut pending.batch)).await.unwrap();
    assert_eq!(deps.call_queue.waiting(), 0, "not before the commit is durable");
    processor.finish(pending);
    let passed_on = deps.call_queue.take([]);
    let in_journal = call_changes::read(&*deps.store, LocationId(1), 0).unwrap();
    assert_eq!((passed_on.changes.len(), passed_on.unread.len(), in_journal.read_to), (1, 0, 1));
    assert_eq!(passed_on.changes, in_journal.changes);
}

#[actix::test]
async fn idle_location_is_unloaded_once_the_audit_trail_has_its_changes() {
    let deps = deps(Arc::new(MemoryStore::default()), practice());
    let means = LocationRuntime {
        site: EhrSite::default(),
        ehr: None,
        watcher: None,
        idle: Duration::from_millis(50),
        mailbox: 16,
    };
    let actor = LocationActor::new(LocationId(1), deps.clone(), means, Arc::default(), Arc::default()).start();
    let (origin, pause) = paused_by_a_call();
    let job = |reply| LocationMessage::Do { job: RequestJob::by(pause, reply, Some(origin)), begun: Arc::default() };
    ask(&actor, job).await.unwrap();
    actix::clock::sleep(Duration::from_millis(300)).await;
    assert!(actor.connected());
    let mut batch = Batch::new();
    call_changes::put_position(&mut batch, LocationId(1), 1);
    deps.store.commit(batch).await.unwrap();
    until("the end of the actor", async || !actor.connected()).await;
    assert_eq!(deps.store.get(&keys::active(1)).unwrap(), None);
}

#[actix::test]
async fn location_is_active_until_the_audit_trail_has_the_changes_before_its_snapshot() {
    for (followed, is_active) in [(1, true), (3, false)] {
        let (store, mut batch) = (Arc::new(MemoryStore::default()), Batch::new());
        for number in 1..=3 {
            let record = serde_json::json!({"at": number, "events": []});
            batch.put(keys::journal(1, number), serde_json::to_vec(&record).unwrap());
        }
        journal::write_snapshot(&mut batch, 1, 3, &serde_json::to_vec(&State::default()).unwrap());
        batch.put(keys::active(1), Vec::new());
        call_changes::put_position(&mut batch, LocationId(1), followed);
        store.commit(batch).await.unwrap();
        let processor = Processor::load(deps(store.clone(), practice()), LocationId(1)).unwrap();
        store.commit(processor.leave().unwrap()).await.unwrap();
        assert_eq!(store.get(&keys::active(1)).unwrap().is_some(), is_active, "followed to {followed}");
    }
}

/// Journals without changes by calls need not be read.
#[actix::test]
async fn snapshot_moves_the_audit_position_only_without_changes_by_calls() {
    let deps = deps(Arc::new(MemoryStore::default()), practice());
    let (mut processor, mut now) = (Processor::load(deps.clone(), LocationId(1)).unwrap(), Timestamp(1));
    for (last_call, position) in [(0, 1), (2, 1)] {
        turn(&deps, &mut processor, &mut now, &Command::SyncNow).await;
        processor.last_call = last_call;
        deps.store.commit(processor.snapshot().unwrap()).await.unwrap();
        assert_eq!(call_changes::position(&*deps.store, LocationId(1)).unwrap(), Some(position));
    }
}

/// Otherwise, deadlines of calls would be missed by up to the length of the step.
#[test]
fn timer_from_before_a_forward_step_of_the_clock_is_replaced() {
    let (set, clock) = (Instant::now(), Timestamp(1_000 * DAY));
    let (wake, passed) = (clock.plus(600 * SECOND), Duration::from_secs(60));
    let fires_at = set + sleep_until(wake, clock);
    let is_kept = |wake, clock| fires_in_time(fires_at, set + passed + sleep_until(wake, clock));
    let now = clock.plus(60 * SECOND);
    assert!(is_kept(wake, now) && is_kept(wake.plus(SECOND), now) && !is_kept(wake.minus(SECOND), now));
    let stepped = now.plus(3_600 * SECOND);
    assert!(!is_kept(stepped.plus(30 * SECOND), stepped));
}

/// A commit that a node sent before it lost the location arrives when another node has loaded the location.
#[actix::test]
async fn late_commit_of_the_previous_node_is_refused() {
    let (store, way) = (Arc::new(MemoryStore::default()), watch::Sender::new(true));
    let node = |is_local: &Arc<AtomicBool>, gate: &watch::Sender<bool>| {
        let store = HookedStore::over(store.clone()).commits_behind(gate);
        let deps = deps(Arc::new(store), practice());
        let (mut deps, is_local) = (Arc::into_inner(deps).unwrap(), is_local.clone());
        deps.is_local = Some(Arc::new(move |_| is_local.load(Ordering::SeqCst)));
        actor(Arc::new(deps))
    };
    let writes =
        |reply| LocationMessage::Do { job: RequestJob::by(Command::TakenOver, reply, None), begun: Arc::default() };
    let records = || {
        store.scan_keys(KeyRange::new(keys::journal(1, 0), keys::journal(2, 0)), Direction::Forward, 99).unwrap().len()
    };

    let at_first = Arc::new(AtomicBool::new(true));
    let first = node(&at_first, &way);
    ask(&first, writes).await.unwrap();
    assert_eq!(records(), 2, "it took the location over, and did what it was asked");
    way.send_replace(false);
    let (reply, late) = oneshot::channel();
    first.do_send(writes(reply));
    at_first.store(false, Ordering::SeqCst);
    let second = node(&Arc::new(AtomicBool::new(true)), &watch::Sender::new(true));
    ask(&second, |reply| LocationMessage::Writes { reply }).await.unwrap();
    assert_eq!(records(), 3, "the other took it over before it answered anything");

    way.send_replace(true);
    assert!(matches!(late.await.unwrap(), Err(EngineError::Moved)));
    assert!(matches!(ask(&first, |reply| LocationMessage::Writes { reply }).await, Err(EngineError::Moved)));
    ask(&second, writes).await.unwrap();
    assert_eq!(records(), 4);
}

fn practice_of(source: u32) -> setup::Setup {
    let here = testing::location(LocationId(1), 1, source);
    testing::setup([testing::institution(1)], [here], [1, 2].map(|id| testing::source(id, 1)))
}

fn means_of(source: u32, ehr: &Arc<FakeEhr>) -> LocationRuntime {
    LocationRuntime {
        site: EhrSite::from_setup(&testing::location(LocationId(1), 1, source)),
        ehr: Some(ehr.clone()),
        watcher: None,
        idle: Duration::from_secs(3_600),
        mailbox: 16,
    }
}

/// Returns an actor connected to data source 1, which finds `source` in force when it has loaded.
fn connected(source: u32) -> (Addr<LocationActor>, Arc<FakeEhr>, Arc<Deps>) {
    let deps = deps(Arc::new(MemoryStore::default()), Arc::new(practice_of(source)));
    let ehr = Arc::new(FakeEhr::default());
    let actor = LocationActor::new(LocationId(1), deps.clone(), means_of(1, &ehr), Arc::default(), Arc::default());
    (actor.start(), ehr, deps)
}

/// Queues a write once the EHR has reported that it accepts such writes, and gives it time to go out.
async fn create_plan(actor: &Addr<LocationActor>) -> Result<(), EngineError> {
    for _ in 0..100 {
        let plan = CreateRecord { body: insurance_plan(), patient: None, number: None };
        let asked =
            ask(actor, |reply| LocationMessage::Do { job: RequestJob::by(plan, reply, None), begun: Arc::default() })
                .await;
        if !matches!(asked, Err(EngineError::Refused(Refusal::NotSupportedByEhr))) {
            actix::clock::sleep(Duration::from_millis(300)).await;
            return asked.map(drop);
        }
        actix::clock::sleep(Duration::from_millis(20)).await;
    }
    panic!("the EHR was never asked what it takes");
}

/// The actor was created under the previous setup. When it has loaded, another data source is in force.
#[actix::test]
async fn write_for_a_new_data_source_is_not_sent_to_the_previous_ehr() {
    let (actor, ehr, _) = connected(1);
    create_plan(&actor).await.unwrap();
    assert_eq!(ehr.pushed.get(), 1);
    let (actor, ehr, _) = connected(2);
    assert!(matches!(create_plan(&actor).await, Err(EngineError::Busy { .. })));
    assert_eq!(ehr.pushed.get(), 0);
}

/// The actor receives a setup when a later one is already in force, with another data source for the location.
#[actix::test]
async fn location_about_to_unload_writes_to_its_own_data_source() {
    let (actor, ehr, deps) = connected(1);
    create_plan(&actor).await.unwrap();
    deps.setup.store(Arc::new(practice_of(2)));
    actor.send(LocationMessage::SetUp(means_of(1, &ehr))).await.unwrap();
    create_plan(&actor).await.unwrap();
    let plans = |source| {
        let kind = schema::rules(location::pull::Resource::InsurancePlans).tag;
        deps.store.scan_keys(keys::records(kind, source), Direction::Forward, 9).unwrap().len()
    };
    assert_eq!((plans(1), plans(2), ehr.pushed.get()), (2, 0, 2));
}

#[actix::test]
async fn a_page_in_flight_is_requested_again_after_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let mut actors = Vec::new();
    for restarted in [false, true] {
        let deps = deps(store.clone(), Arc::new(practice_of(1)));
        let ehr = Arc::new(FakeEhr::default());
        ehr.readable.send_replace(false);
        let actor = LocationActor::new(LocationId(1), deps, means_of(1, &ehr), Arc::default(), Arc::default()).start();
        let mut state = ask(&actor, |reply| LocationMessage::SyncState { reply }).await.unwrap();
        for _ in 0..1_200 {
            if ehr.pulled.get() == 1 {
                break;
            }
            actix::clock::sleep(Duration::from_millis(50)).await;
            state = ask(&actor, |reply| LocationMessage::SyncState { reply }).await.unwrap();
        }
        let waits = state.read_waits.unwrap_or_default();
        assert_eq!((ehr.pulled.get(), waits.starts_with("the service was restarted")), (1, restarted), "{waits}");
        actors.push(actor);
    }
}

/// Returns an EHR with a patient per page, identified by the number of the request.
fn patients(pages: usize) -> Arc<FakeEhr> {
    Arc::new(FakeEhr::with_patients(pages, |page| (format!("patient {page}"), "Many".to_owned())))
}

fn patient_keys() -> KeyRange {
    keys::records(DocumentKind::Of(Resource::Patients).byte(), 1)
}

/// Returns a setup of a location that reads again soon after a failure.
fn impatient() -> setup::Setup {
    let pull = PullRules { retry_base: 1, retry_cap: 1, ..PullRules::default() };
    let here = testing::location_with(LocationId(1), 1, 1, |settings| settings.pull = pull);
    testing::setup([testing::institution(1)], [here], [testing::source(1, 1)])
}

/// Starts an actor that reads from the EHR, and waits until it has stored that many patients.
async fn read_patients(
    store: HookedStore,
    setup: setup::Setup,
    ehr: &Arc<FakeEhr>,
    count: usize,
) -> (Addr<LocationActor>, Arc<Metrics>) {
    let (memory, metrics) = (store.inner.clone(), Arc::<Metrics>::default());
    let deps = deps(Arc::new(store), Arc::new(setup));
    let actor = LocationActor::new(LocationId(1), deps, means_of(1, ehr), metrics.clone(), Arc::default()).start();
    let stored = async || memory.scan_keys(patient_keys(), Direction::Forward, 99).unwrap().len() == count;
    until("the patients", stored).await;
    (actor, metrics)
}

/// Returns the number of journal records that contain an event.
fn journal_records(store: &MemoryStore, event: &str) -> usize {
    let journal = KeyRange::new(keys::journal(1, 0), keys::journal(2, 0));
    let records = store.scan(journal, Direction::Forward, 99).unwrap();
    records.iter().filter(|(_, value)| String::from_utf8_lossy(value).contains(event)).count()
}

/// After the load, another request may have the number of the one that the page answers.
#[actix::test]
async fn page_that_was_requested_before_a_load_is_dropped() {
    let (store, ehr) = (Arc::new(MemoryStore::default()), patients(1));
    ehr.readable.send_replace(false);
    let deps = deps(store.clone(), Arc::new(practice_of(1)));
    let actor = LocationActor::new(LocationId(1), deps, means_of(1, &ehr), Arc::default(), Arc::default()).start();
    until("the request of a page", async || ehr.pulled.get() == 1).await;
    // The actor has loaded once.
    for (loads, stored) in [(0, 0), (1, 1)] {
        let (call, outcome) = (State::default().pulls.next_call, Ok(Box::new((ehr.page)(0).unwrap())));
        let job = RequestJob::internal(IngestPage { resource: Resource::Patients, call, outcome });
        actor.send(SelfMessage::Page { job, loads }).await.unwrap();
        assert_eq!(store.scan_keys(patient_keys(), Direction::Forward, 9).unwrap().len(), stored);
    }
}

fn cursors(of: &[&str]) -> Vec<Option<String>> {
    of.iter().map(|cursor| Some((*cursor).to_owned()).filter(|cursor| !cursor.is_empty())).collect()
}

#[actix::test]
async fn next_page_is_requested_while_a_page_is_prepared() {
    let (ehr, early) = (patients(3), Arc::new(OnceLock::new()));
    let links = keys::links(1, DocumentKind::Of(Resource::Patients).byte());
    let (asked, requested) = (ehr.clone(), early.clone());
    let store = HookedStore::default().before_read(move |key| {
        // The first page is being prepared, on a blocking thread.
        if *key >= *links.start && *key < *links.end {
            requested.get_or_init(|| {
                let since = Instant::now();
                while asked.pulled.get() < 2 && since.elapsed() < Duration::from_secs(10) {
                    thread::sleep(Duration::from_millis(1));
                }
                asked.pulled.get()
            });
        }
        Ok(())
    });
    let _actor = read_patients(store, practice_of(1), &ehr, 3).await;
    assert_eq!(early.get(), Some(&2), "one page ahead");
    assert_eq!(ehr.cursors(), cursors(&["", "0", "1"]), "each page is requested once");
}

#[actix::test]
async fn prefetched_page_is_dropped_if_the_commit_fails() {
    let (ehr, refused) = (patients(5), AtomicBool::new(false));
    let store = HookedStore::default().on_commit(move |store, batch| {
        let range = patient_keys();
        let of_page = batch.writes().iter().any(|(key, _)| *key >= range.start && *key < range.end);
        if of_page && !refused.swap(true, Ordering::SeqCst) {
            return Box::pin(async { Err(CommitError::Store(StoreError::Away { why: "a test".into() })) });
        }
        store.commit(batch)
    });
    let _actor = read_patients(store, practice_of(1), &ehr, 3).await;
    assert_eq!(ehr.cursors(), cursors(&["", "0", "", "2", "3"]), "the first page is requested again");
}

#[actix::test]
async fn prefetched_pages_keep_to_the_quota() {
    let ehr = patients(5);
    let quota = Quota { per_minute: 1, burst: 2 };
    let here = testing::location_with(LocationId(1), 1, 1, |settings| settings.quota = quota);
    let setup = testing::setup([testing::institution(1)], [here], [testing::source(1, 1)]);
    let _actor = read_patients(HookedStore::default(), setup, &ehr, 2).await;
    actix::clock::sleep(Duration::from_millis(300)).await;
    assert_eq!(ehr.cursors(), cursors(&["", "0"]));
}

#[actix::test]
async fn prefetched_page_is_dropped_if_the_page_before_is_not_applied() {
    let page = |number: usize| -> Result<Page, Fault> {
        let patient =
            EhrPatient { id: format!("patient {number}"), last_name: "Many".to_owned(), ..EhrPatient::default() };
        let wrong = EhrProvider { id: "of another resource".to_owned(), ..EhrProvider::default() };
        let record = if number == 0 { EhrRecord::Provider(wrong) } else { EhrRecord::Patient(patient) };
        Ok(Page { records: vec![record], cursor: "next".to_owned(), last: number == 3, ..Page::default() })
    };
    let ehr = Arc::new(FakeEhr { page: Box::new(page), ..FakeEhr::default() });
    let store = HookedStore::default();
    let memory = store.inner.clone();
    let _actor = read_patients(store, impatient(), &ehr, 2).await;
    assert_eq!(ehr.cursors(), cursors(&["", "next", "", "next"]));
    assert_eq!(journal_records(&memory, "requests_sent"), 1, "the dropped page counts towards the quota");
}

#[actix::test]
async fn error_of_a_prefetched_page_counts_once() {
    let page = |number: usize| -> Result<Page, Fault> {
        if number == 1 {
            return Err(Fault::RetryLater { reason: "a test".into(), after: None });
        }
        let patient =
            EhrPatient { id: format!("patient {number}"), last_name: "Many".to_owned(), ..EhrPatient::default() };
        let (records, cursor) = (vec![EhrRecord::Patient(patient)], number.to_string());
        Ok(Page { records, cursor, last: number == 3, ..Page::default() })
    };
    let ehr = Arc::new(FakeEhr { page: Box::new(page), ..FakeEhr::default() });
    let store = HookedStore::default();
    let memory = store.inner.clone();
    let (_actor, metrics) = read_patients(store, impatient(), &ehr, 3).await;
    assert_eq!(ehr.cursors(), cursors(&["", "0", "0", "2"]), "the failed page is requested again");
    assert_eq!(metrics.adapter_faults.get(), 1);
    assert_eq!(journal_records(&memory, "pull_failed"), 1);
    assert_eq!(journal_records(&memory, "requests_sent"), 0, "its event counts the request");
}
