//! Replacing the setup in force, with affected and unaffected locations.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use engine::{
    Engine, EngineError, NotReconfigurable, Parts, Place, Reconfigured,
    simulated::{NoSimulatedEhrs, OpenSimulated, SimulatedEhrs, SimulatedFuture},
};
use location::ids::{InstitutionId, LocationId};
use processor::commands::CreateRecord;
use query::lists::{ListQuery, Order, PageRequest};
use records::{InsurancePlan, document::DocumentKind, ehr::Ehr, record::Record};
use setup::{BackupRules, DataSource, EngineRules, LocationSetup, LocationStatus, NodeRules, Setup};
use store::{Key, MemoryStore, Store, keys};
use testing::{FakeEhr, HookedStore, NoViews, insurance_plan, until};
use tokio::sync::watch;

const PLACE: LocationId = LocationId(1);
const OTHER: LocationId = LocationId(2);

fn parts(store: &Arc<impl Store + 'static>) -> Parts {
    Parts::new(store.clone(), Arc::new(NoViews))
}

fn memory() -> Arc<MemoryStore> {
    Arc::default()
}

fn plan() -> CreateRecord<InsurancePlan> {
    CreateRecord { body: insurance_plan(), patient: None, number: None }
}

/// Starts an engine with EHRs for both locations. The setup contains the first one.
async fn serving(store: &Arc<impl Store + 'static>, here: &Arc<FakeEhr>, other: &Arc<FakeEhr>, setup: Setup) -> Engine {
    let own = [(PLACE, here), (OTHER, other)].map(|(id, ehr)| (id, ehr.clone() as Arc<dyn Ehr>));
    let parts = Parts { own: own.into_iter().collect(), ..parts(store) };
    parts.adapters.announce("practice");
    let engine = Engine::start(setup, parts).await.unwrap();
    until("what the EHR can do", async || engine.description(PLACE).unwrap().is_some()).await;
    engine
}

fn one() -> Setup {
    testing::one_location()
}

/// Returns a setup with the other location, too, on a separate data source.
fn both() -> Setup {
    let mut both = one();
    both.locations.insert(OTHER, testing::location(OTHER, 1, 2).into());
    both.sources.insert(2, testing::source(2, 1).into());
    both
}

fn with(mut setup: Setup, id: LocationId, change: impl FnOnce(&mut LocationSetup)) -> Setup {
    change(setup.locations.get_mut(&id).map(Arc::make_mut).unwrap());
    setup
}

async fn reconfigured(engine: &Engine, setup: Setup) -> Reconfigured {
    engine.reconfigure(setup, &NoSimulatedEhrs).await.unwrap_or_else(|error| panic!("{error}"))
}

#[actix::test]
async fn removed_location_keeps_its_queued_writes_until_it_returns() {
    let (store, here, other) = (memory(), Arc::default(), Arc::new(FakeEhr::default()));
    let engine = serving(&store, &here, &other, one()).await;
    assert_eq!(engine.send(OTHER, plan()).await.err(), Some(EngineError::UnknownLocation));
    let taken = reconfigured(&engine, both()).await;
    assert_eq!((taken.changes.locations.added, taken.changes.sources.added), (vec![OTHER], vec![2]));
    until("its first reading", async || engine.last_sync(OTHER).unwrap().is_some()).await;
    assert!(engine.location_set_up(OTHER).unwrap().is_some());
    engine.send(OTHER, plan()).await.unwrap();
    until("the write", async || other.pushed.get() == 1).await;

    other.set_shut(true);
    engine.send(OTHER, plan()).await.unwrap();
    // A write in flight when its location is removed is looked up first, after its deadline.
    let answered = async || engine.unfinished_writes(OTHER).await.unwrap().iter().any(|write| write.reason.is_some());
    until("the first attempt", answered).await;
    assert_eq!(reconfigured(&engine, one()).await.changes.locations.gone, [OTHER]);
    assert_eq!(engine.send(OTHER, plan()).await.err(), Some(EngineError::UnknownLocation));
    assert_eq!(engine.sync_state(OTHER).await.err(), Some(EngineError::UnknownLocation));
    other.set_shut(false);

    reconfigured(&engine, both()).await;
    assert_eq!(engine.unfinished_writes(OTHER).await.unwrap().len(), 1, "it waited in the store");
    engine.sync_now(OTHER).await.unwrap();
    until("the write that waited", async || other.pushed.get() == 2).await;
    engine.stop().await;
}

#[actix::test]
async fn location_that_returns_while_unloading_is_in_memory_once() {
    let commits = watch::Sender::new(true);
    let gate = commits.clone();
    // The times of the setup are stored before a location leaves.
    let is_time = |key: &Key| keys::parse_record(key).is_some_and(|(kind, ..)| kind == DocumentKind::SetUp.byte());
    let store = Arc::new(HookedStore::default().on_commit(move |inner, batch| {
        let (inner, mut open) = (inner.clone(), gate.subscribe());
        let is_gated = !batch.writes().iter().all(|(key, _)| is_time(key));
        Box::pin(async move {
            open.wait_for(|open| *open || !is_gated).await.expect("the hook holds a sender");
            inner.commit(batch).await
        })
    }));
    let engine = Arc::new(serving(&store, &Arc::default(), &Arc::default(), both()).await);
    until("both readings", async || [PLACE, OTHER].iter().all(|id| engine.last_sync(*id).unwrap().is_some())).await;
    commits.send_replace(false);
    let in_memory = || engine.metrics().locations_active;
    // The caller of the reconfiguration has given up.
    let going = tokio::time::timeout(Duration::from_millis(100), engine.reconfigure(one(), &NoSimulatedEhrs));
    assert!(going.await.is_err(), "it has left already");
    reconfigured(&engine, both()).await;
    let asking = actix::spawn({
        let engine = engine.clone();
        async move { engine.sync_state(OTHER).await }
    });
    // Longer than the interval at which the engine looks for locations to load.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(in_memory(), 2);
    assert!(!asking.is_finished());
    commits.send_replace(true);
    asking.await.unwrap().unwrap();
    assert_eq!(in_memory(), 2);
    engine.send(OTHER, plan()).await.unwrap();
    engine.stop().await;
}

#[actix::test]
async fn removed_location_is_unloaded_when_reconfigure_returns() {
    let engine = serving(&memory(), &Arc::default(), &Arc::default(), both()).await;
    engine.sync_state(OTHER).await.unwrap();
    assert_eq!(engine.metrics().locations_active, 2);
    reconfigured(&engine, one()).await;
    assert_eq!(engine.metrics().locations_active, 1);
    engine.stop().await;
}

#[actix::test]
async fn setting_applies_from_the_next_command() {
    let (store, here) = (memory(), Arc::new(FakeEhr::default()));
    let engine = serving(&store, &here, &Arc::default(), one()).await;
    here.set_shut(true);
    let full = |most| with(one(), PLACE, |place| place.settings_mut().write.max_queue = most);
    for most in [1, 2] {
        reconfigured(&engine, full(most)).await;
        engine.send(PLACE, plan()).await.unwrap();
        assert!(engine.send(PLACE, plan()).await.is_err(), "{most} wait");
    }
    assert_eq!(here.described.get(), 1, "its connection is the same");
    let mut renamed = with(one(), PLACE, |place| place.name = "Elsewhere".into());
    renamed.engine.mailbox = 1;
    reconfigured(&engine, renamed).await;
    engine.send(PLACE, plan()).await.unwrap();
    assert_eq!(engine.setup().locations[&PLACE].name, "Elsewhere");
    engine.stop().await;
}

#[actix::test]
async fn reconfiguration_loses_no_call_of_any_location() {
    let (store, here, other) = (memory(), Arc::new(FakeEhr::default()), Arc::new(FakeEhr::default()));
    let engine = Arc::new(serving(&store, &here, &other, both()).await);
    let done = Arc::new(AtomicBool::new(false));
    let calling = |place| {
        let (engine, done) = (engine.clone(), done.clone());
        actix::spawn(async move {
            let mut calls = 0;
            while !done.load(Ordering::SeqCst) {
                engine.sync_state(place).await.unwrap();
                engine.send(place, plan()).await.unwrap();
                calls += 1;
                tokio::task::yield_now().await;
            }
            calls
        })
    };
    // A location that is reconfigured continuously loses no call either.
    let calls = [calling(PLACE), calling(OTHER)];
    for n in 0..200 {
        let next =
            with(both(), OTHER, |place| (place.settings_mut().quota.burst, place.name) = (500 + n, format!("{n}")));
        reconfigured(&engine, next).await;
        // Lets calls come between.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    done.store(true, Ordering::SeqCst);
    for (calls, ehr) in calls.into_iter().zip([&here, &other]) {
        let calls = calls.await.unwrap();
        assert!(calls > 20);
        until("each write, once", async || ehr.pushed.get() >= calls).await;
        assert_eq!(ehr.pushed.get(), calls);
    }
    assert_eq!(here.described.get(), 1, "it came into memory once");
    engine.stop().await;
}

#[actix::test]
async fn write_in_flight_during_reconfiguration_is_sent_once() {
    let ehr = Arc::new(FakeEhr { writable: watch::Sender::new(false), ..FakeEhr::default() });
    let own = HashMap::from([(PLACE, ehr.clone() as Arc<dyn Ehr>)]);
    let parts = Parts { own, ..parts(&memory()) };
    let engine = Engine::start(one(), parts).await.unwrap();
    until("what the EHR can do", async || engine.description(PLACE).unwrap().is_some()).await;
    engine.send(PLACE, plan()).await.unwrap();
    until("the call", async || ehr.attempted.get() == 1).await;
    for n in 0..20 {
        let next = with(one(), PLACE, |place| place.settings_mut().write.concurrency = 2 + n);
        reconfigured(&engine, next).await;
    }
    ehr.writable.send_replace(true);
    until("its end", async || engine.unfinished_writes(PLACE).await.unwrap().is_empty()).await;
    assert_eq!((ehr.attempted.get(), ehr.pushed.get(), ehr.looked_up.get()), (1, 1, 0));
    engine.stop().await;
}

#[actix::test]
async fn opened_location_is_read_and_closed_one_is_not() {
    let (store, here) = (memory(), Arc::new(FakeEhr::default()));
    let pending = || with(one(), PLACE, |place| place.status = LocationStatus::Pending);
    let engine = serving(&store, &here, &Arc::default(), pending()).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(here.pulled.get(), 0);
    assert_eq!(reconfigured(&engine, one()).await.changes.locations.changed, [PLACE]);
    until("its first reading", async || engine.last_sync(PLACE).unwrap().is_some()).await;
    let read = here.pulled.get();
    assert_eq!(reconfigured(&engine, pending()).await.changes.locations.changed, [PLACE]);
    engine.sync_now(PLACE).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(here.pulled.get(), read);
    engine.stop().await;
}

fn pending(place: &mut LocationSetup) {
    place.status = LocationStatus::Pending;
}

#[actix::test]
async fn location_without_records_is_connected_to_a_new_data_source() {
    let (store, here) = (memory(), Arc::new(FakeEhr::default()));
    let engine = serving(&store, &here, &Arc::default(), with(both(), PLACE, pending)).await;
    let before = here.described.get();
    reconfigured(&engine, with(both(), PLACE, |place| place.source = Some(2))).await;
    until("the other EHR", async || here.described.get() > before).await;
    engine.send(PLACE, plan()).await.unwrap();
    until("the write", async || here.pushed.get() == 1).await;
    let query = ListQuery::new([2], Order::UpdatedAt);
    let plans = engine.lists().list(&query, &PageRequest::whole(10), |_: &Record<InsurancePlan>| true).unwrap().rows;
    assert_eq!(plans.len(), 1, "it is kept where the other data source's are");
    engine.stop().await;
}

/// Its cursors, hours and queued writes are those of its data source.
#[actix::test]
async fn location_with_records_keeps_its_data_source() {
    let (store, here) = (memory(), Arc::new(FakeEhr::default()));
    let engine = serving(&store, &here, &Arc::default(), both()).await;
    until("its first reading", async || engine.last_sync(PLACE).unwrap().is_some()).await;
    let refused = async |setup: Setup| {
        let Err(NotReconfigurable::Unusable(problems)) = engine.reconfigure(setup, &NoSimulatedEhrs).await else {
            panic!("it was taken")
        };
        let why = problems.join("; ");
        assert!(why.contains("location 1: the data source of a location with records cannot change"), "{why}");
    };
    let changed = |source| with(both(), PLACE, |place| place.source = source);
    refused(changed(Some(2))).await;
    refused(changed(None)).await;
    refused(with(both(), PLACE, |place| place.foreign_id = Some("north".into()))).await;
    let mut without = both();
    without.locations.remove(&PLACE);
    reconfigured(&engine, without).await;
    refused(changed(Some(2))).await;
    reconfigured(&engine, both()).await;
    engine.send(PLACE, plan()).await.unwrap();
    until("the write", async || here.pushed.get() == 1).await;
    engine.stop().await;
}

#[actix::test]
async fn location_is_not_served_by_a_start_with_another_data_source() {
    let (store, here) = (memory(), Arc::new(FakeEhr::default()));
    let engine = serving(&store, &here, &Arc::default(), both()).await;
    until("its first reading", async || engine.last_sync(PLACE).unwrap().is_some()).await;
    engine.stop().await;

    let (here, other) = (Arc::new(FakeEhr::default()), Arc::new(FakeEhr::default()));
    let own = [(PLACE, &here), (OTHER, &other)].map(|(id, ehr)| (id, ehr.clone() as Arc<dyn Ehr>));
    let parts = Parts { own: own.into_iter().collect(), ..parts(&store) };
    let engine = Engine::start(with(both(), PLACE, |place| place.source = Some(2)), parts).await.unwrap();
    assert!(matches!(engine.send(PLACE, plan()).await, Err(EngineError::OtherSource(_))));
    let state = engine.sync_state(PLACE).await.unwrap();
    let why = state.read_reason.clone().unwrap();
    assert!(why.contains("it has records of data source 1") && state.write_reason.as_ref() == Some(&why), "{why}");
    assert!(!state.read_ok && !state.write_ok);
    assert_eq!(engine.location_health()[&PLACE].read_problem, Some(why));
    until("what the other EHR can do", async || engine.description(OTHER).unwrap().is_some()).await;
    engine.send(OTHER, plan()).await.unwrap();
    until("the write of another location", async || other.pushed.get() == 1).await;
    assert_eq!((here.described.get(), here.pulled.get(), here.attempted.get()), (0, 0, 0));

    // The operator configures the former data source again.
    reconfigured(&engine, both()).await;
    engine.send(PLACE, plan()).await.unwrap();
    until("the write", async || here.pushed.get() == 1).await;
    engine.stop().await;
}

#[actix::test]
async fn unusable_setup_is_rejected_with_reasons_and_nothing_changes() {
    let engine = serving(&memory(), &Arc::default(), &Arc::default(), one()).await;
    let before = engine.setup();
    let renamed = || with(one(), PLACE, |place| place.name = "Other".into());
    let mut fixed = renamed();
    (fixed.engine.actor_threads, fixed.engine.webhook_development) = (7, true);
    let refused = engine.reconfigure(fixed, &NoSimulatedEhrs).await.err().unwrap();
    let NotReconfigurable::Restart(names) = refused else { panic!("{refused}") };
    assert_eq!(names, ["engine.actor_threads", "engine.webhook_development"]);

    let unusable = |setup: Setup| async {
        let Err(NotReconfigurable::Unusable(problems)) = engine.reconfigure(setup, &NoSimulatedEhrs).await else {
            panic!("it was taken")
        };
        problems.join("; ")
    };
    let mut elsewhere = renamed();
    elsewhere
        .sources
        .insert(2, DataSource { adapter: "none".into(), base_url: "ftp://ehr".into(), ..testing::source(2, 1) }.into());
    let why = unusable(elsewhere).await;
    assert!(why.contains("source 2: no adapter called none is configured; source 2: "), "{why}");
    let why = unusable(with(renamed(), PLACE, |place| place.source = Some(9))).await;
    assert!(why.contains("data source 9 is not configured"), "{why}");
    let mut simulated = renamed();
    simulated.sources.insert(1, DataSource { base_url: "sandbox:".into(), ..testing::source(1, 1) }.into());
    let why = unusable(simulated).await;
    assert!(why.contains("data source 1"), "{why}");
    assert!(Arc::ptr_eq(&before, &engine.setup()));
    engine.stop().await;
}

/// Panics in the step that may fail.
struct Unfit;

impl OpenSimulated for Unfit {
    fn open<'a>(&'a self, _: &'a Setup, _: &'a Arc<dyn Store>) -> SimulatedFuture<'a, Result<SimulatedEhrs, String>> {
        Box::pin(async { panic!("as a test wants it") })
    }
}

#[actix::test]
async fn panic_while_reconfiguring_changes_nothing_and_the_next_setup_applies() {
    let engine = Arc::new(serving(&memory(), &Arc::default(), &Arc::default(), one()).await);
    let before = engine.setup();
    let mut simulated = both();
    simulated.sources.insert(2, DataSource { base_url: "sandbox:".into(), ..testing::source(2, 1) }.into());
    let broken = actix::spawn({
        let engine = engine.clone();
        async move { engine.reconfigure(simulated, &Unfit).await.map(drop) }
    });
    assert!(broken.await.unwrap_err().is_panic());
    assert!(Arc::ptr_eq(&before, &engine.setup()));
    assert_eq!(engine.send(OTHER, plan()).await.err(), Some(EngineError::UnknownLocation));
    reconfigured(&engine, both()).await;
    engine.sync_state(OTHER).await.unwrap();
    engine.stop().await;
}

/// Setups applied concurrently with the stop are complete, and load no location afterwards.
#[actix::test]
async fn setups_applied_while_stopping_load_no_location() {
    let engine = Arc::new(serving(&memory(), &Arc::default(), &Arc::default(), one()).await);
    let coming = |setup: Setup| {
        let engine = engine.clone();
        actix::spawn(async move { engine.reconfigure(setup, &NoSimulatedEhrs).await.map(drop) })
    };
    let first = with(both(), OTHER, pending);
    let second = with(first.clone(), OTHER, |place| place.source = Some(1));
    let all = [coming(first), coming(second), coming(one())];
    engine.stop().await;
    for one in all {
        one.await.unwrap().unwrap();
    }
    assert_eq!(engine.setup().locations.len(), 1, "the last one is in force");
    assert_eq!(engine.metrics().locations_active, 0);
    assert!(matches!(engine.sync_state(PLACE).await, Err(EngineError::Busy { .. })));
}

#[actix::test]
async fn node_applies_another_setup_to_its_institutions() {
    let (ehr, period) = (Arc::new(FakeEhr::default()), Duration::from_millis(400));
    let node = Some(NodeRules { name: "north".into(), address: "north:7001".into(), period });
    let parts = Parts { own: HashMap::from([(PLACE, ehr.clone() as Arc<dyn Ehr>)]), ..parts(&memory()) };
    let engine =
        Engine::start(Setup { engine: EngineRules { node, ..EngineRules::default() }, ..one() }, parts).await.unwrap();
    until("its place", async || engine.place(InstitutionId(1)) == Place::Mine).await;
    until("its first reading", async || engine.last_sync(PLACE).unwrap().is_some()).await;
    let mut more = engine.setup().as_ref().clone();
    more.institutions.insert(InstitutionId(2), testing::institution(2).into());
    let bare = LocationSetup { source: None, ..testing::location(OTHER, 2, 1) };
    more.locations.insert(OTHER, bare.into());
    let mut more = with(more, PLACE, |place| place.settings_mut().write.concurrency += 1);
    reconfigured(&engine, more.clone()).await;
    assert!(engine.here_since(InstitutionId(2)).is_some() && engine.stamp(InstitutionId(2)).is_some());
    engine.sync_state(OTHER).await.unwrap();
    engine.send(PLACE, plan()).await.unwrap();
    until("the write", async || ehr.pushed.get() == 1).await;
    more.engine.node = None;
    let refused = engine.reconfigure(more, &NoSimulatedEhrs).await.err().unwrap();
    assert!(matches!(refused, NotReconfigurable::Restart(names) if names == ["node"]));
    engine.stop().await;
}

#[actix::test]
async fn webhook_and_backup_rules_follow_the_setup_in_force() {
    let engine = serving(&memory(), &Arc::default(), &Arc::default(), one()).await;
    assert_eq!(engine.backup_numbers(), None);
    let mut next = one();
    (next.engine.webhooks.queue, next.engine.history_days) = (123, 7);
    let folder = std::env::temp_dir();
    next.engine.backup = Some(BackupRules { folder, every: None, keep: 3 });
    let taken = reconfigured(&engine, next).await;
    assert_eq!(taken.changes.engine, ["engine.history_days", "webhooks", "backup"]);
    assert_eq!(engine.webhooks().rules().queue, 123);
    assert_eq!(engine.backup_numbers(), Some((None, 0)));
    engine.stop().await;
}
