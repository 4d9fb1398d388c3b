//! Actors on a store with failing reads, two actors of one location, and an actor whose data source changes.
#![allow(clippy::unwrap_used)]

use actix::Addr;
use location::{decision::Refusal, zone::Date};
use records::schema;
use store::{Direction, KeyRange, MemoryStore, Store, StoreError, keys};
use testing::{FakeEhr, HookedStore, NoViews, insurance_plan, slot_query};
use tokio::sync::watch;

use super::*;
use crate::{commands::CreateRecord, testing::deps};

/// Returns a setup of a location without EHR.
fn practice() -> Arc<setup::Setup> {
    let here = setup::LocationSetup { source: None, ..testing::location(LocationId(1), 1, 1) };
    Arc::new(testing::setup([testing::institution(1)], [here], []))
}

fn actor(deps: Arc<Deps>) -> Addr<LocationActor> {
    let means =
        LocationRuntime { source: None, ehr: None, watcher: None, idle: Duration::from_secs(3_600), mailbox: 16 };
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
    let actor = actor(deps(Arc::new(store), practice(), Arc::new(NoViews)).0);
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
    comes_back(|reply| LocationMessage::FreeSlots { query: Box::new(query.clone()), reply }).await;
}

#[actix::test]
async fn sync_state_query_loads_a_location_after_a_failed_load() {
    comes_back(|reply| LocationMessage::SyncState { reply }).await;
}

#[actix::test]
async fn write_list_query_loads_a_location_after_a_failed_load() {
    comes_back(|reply| LocationMessage::Writes { reply }).await;
}

/// A commit that a node sent before it lost the location arrives when another node has loaded the location.
#[actix::test]
async fn late_commit_of_the_previous_node_is_refused() {
    let (store, way) = (Arc::new(MemoryStore::default()), watch::Sender::new(true));
    let node = |is_local: &Arc<AtomicBool>, gate: &watch::Sender<bool>| {
        let store = HookedStore::over(store.clone()).commits_behind(gate);
        let (deps, _) = deps(Arc::new(store), practice(), Arc::new(NoViews));
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
        source: Some(source),
        ehr: Some(ehr.clone()),
        watcher: None,
        idle: Duration::from_secs(3_600),
        mailbox: 16,
    }
}

/// Returns an actor connected to data source 1, which finds `source` in force when it has loaded.
fn connected(source: u32) -> (Addr<LocationActor>, Arc<FakeEhr>, Arc<Deps>) {
    let (deps, _) = deps(Arc::new(MemoryStore::default()), Arc::new(practice_of(source)), Arc::new(NoViews));
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
    deps.setup.replace(Arc::new(practice_of(2)));
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
        let (deps, _) = deps(store.clone(), Arc::new(practice_of(1)), Arc::new(NoViews));
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
