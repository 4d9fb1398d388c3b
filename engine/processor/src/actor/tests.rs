//! Actors over a store that cannot be read for a while, and two of one location.
#![allow(clippy::unwrap_used)]

use actix::Addr;
use location::zone::Date;
use setup::testing;
use store::{Batch, CommitFuture, Direction, Health, Key, KeyRange, MemoryStore, Store, StoreError, Versioned, keys};
use tokio::sync::watch;

use super::*;
use crate::testing::{Mute, deps};

/// No journal can be read while it is away.
#[derive(Default)]
struct Leaving {
    store: MemoryStore,
    away: AtomicBool,
}

impl Store for Leaving {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        self.store.read(key)
    }

    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        if self.away.load(Ordering::SeqCst) && keys::parse_journal(&range.start).is_some() {
            return Err(StoreError::Away { why: "a test".into() });
        }
        self.store.scan(range, direction, limit)
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.store.scan_keys(range, direction, limit)
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        self.store.commit(batch)
    }

    fn health(&self) -> Health {
        self.store.health()
    }
}

/// A location without EHR.
fn practice() -> Arc<setup::Setup> {
    let here = setup::LocationSetup { source: None, ..testing::location(LocationId(1), 1, 1) };
    Arc::new(testing::setup([testing::institution(1)], [here], []))
}

fn start(store: &Arc<Leaving>) -> Addr<LocationActor> {
    let (deps, _) = deps(store.clone(), practice(), Arc::new(Mute));
    actor(deps)
}

fn actor(deps: Arc<Deps>) -> Addr<LocationActor> {
    let means = Means { ehr: None, watcher: None, idle: Duration::from_secs(3_600), mailbox: 16 };
    LocationActor::new(LocationId(1), deps, means, Arc::default(), Arc::default()).start()
}

async fn ask<T>(actor: &Addr<LocationActor>, make: impl FnOnce(Reply<T>) -> Ask) -> Result<T, EngineError> {
    let (reply, answer) = oneshot::channel();
    actor.send(make(reply)).await.unwrap();
    answer.await.unwrap()
}

/// Whatever is asked first of a location that could not be loaded loads it, when it is time to try again.
async fn comes_back<T>(make: impl Fn(Reply<T>) -> Ask) {
    let store = Arc::new(Leaving::default());
    store.away.store(true, Ordering::SeqCst);
    let actor = start(&store);
    assert_eq!(ask(&actor, &make).await.err(), Some(EngineError::StoreAway));
    store.away.store(false, Ordering::SeqCst);
    for _ in 0..600 {
        if ask(&actor, &make).await.is_ok() {
            return;
        }
        actix::clock::sleep(Duration::from_millis(50)).await;
    }
    panic!("it was not loaded");
}

#[actix::test]
async fn a_search_loads_it() {
    let query = SlotQuery {
        from: Date(20_000),
        days: 1,
        length: SECOND,
        interval: None,
        appointment_type: None,
        providers: Vec::new(),
        operatories: Vec::new(),
        source: None,
        hours: None,
        join_blocks: false,
        overlapping_operatory_slots: false,
        appointments_per_timeslot: 1,
        not_before: Timestamp(0),
        limit: 1,
    };
    comes_back(|reply| Ask::FreeSlots { query: Box::new(query.clone()), reply }).await;
}

#[actix::test]
async fn a_look_at_how_reading_stands_loads_it() {
    comes_back(|reply| Ask::SyncState { reply }).await;
}

#[actix::test]
async fn a_list_of_its_writes_loads_it() {
    comes_back(|reply| Ask::Writes { reply }).await;
}

/// What one node sees of a store that others use too: its commits take until the way is open.
struct Way {
    store: Arc<MemoryStore>,
    open: watch::Receiver<bool>,
}

impl Store for Way {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        self.store.read(key)
    }

    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        self.store.scan(range, direction, limit)
    }

    fn scan_keys(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Key>, StoreError> {
        self.store.scan_keys(range, direction, limit)
    }

    fn commit(&self, batch: Batch) -> CommitFuture {
        let (store, mut open) = (self.store.clone(), self.open.clone());
        Box::pin(async move {
            open.wait_for(|open| *open).await.unwrap();
            store.commit(batch).await
        })
    }

    fn health(&self) -> Health {
        self.store.health()
    }
}

/// What a node had sent to the store before it lost the location arrives when another node has the location in memory.
#[actix::test]
async fn a_commit_of_a_node_that_has_lost_the_location_is_refused_however_late_it_arrives() {
    let (store, way) = (Arc::new(MemoryStore::default()), watch::Sender::new(true));
    let node = |lives_here: &Arc<AtomicBool>, open: watch::Receiver<bool>| {
        let (deps, _) = deps(Arc::new(Way { store: store.clone(), open }), practice(), Arc::new(Mute));
        let (mut deps, lives_here) = (Arc::into_inner(deps).unwrap(), lives_here.clone());
        deps.lives_here = Some(Arc::new(move |_| lives_here.load(Ordering::SeqCst)));
        actor(Arc::new(deps))
    };
    let writes = |reply| Ask::Do { job: Asked::by(Command::TakenOver, reply, None), begun: Arc::default() };
    let records = || {
        store.scan_keys(KeyRange::new(keys::journal(1, 0), keys::journal(2, 0)), Direction::Forward, 99).unwrap().len()
    };

    let at_first = Arc::new(AtomicBool::new(true));
    let first = node(&at_first, way.subscribe());
    ask(&first, writes).await.unwrap();
    assert_eq!(records(), 2, "it took the location over, and did what it was asked");
    way.send_replace(false);
    let (reply, late) = oneshot::channel();
    first.do_send(writes(reply));
    at_first.store(false, Ordering::SeqCst);
    let second = node(&Arc::new(AtomicBool::new(true)), watch::Sender::new(true).subscribe());
    ask(&second, |reply| Ask::Writes { reply }).await.unwrap();
    assert_eq!(records(), 3, "the other took it over before it answered anything");

    way.send_replace(true);
    assert!(matches!(late.await.unwrap(), Err(EngineError::Busy { .. })));
    assert!(matches!(ask(&first, |reply| Ask::Writes { reply }).await, Err(EngineError::Busy { .. })));
    ask(&second, writes).await.unwrap();
    assert_eq!(records(), 4);
}
