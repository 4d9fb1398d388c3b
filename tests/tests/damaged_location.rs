//! A location whose journal is damaged answers at once, also when it is asked again and again, and others beside it are served. One whose
//! commit conflicted reads its journal again only where the journal did.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use api::views::published::RecordViews;
use engine::{Engine, Parts, commands::CreateAppointmentType};
use location::ids::AppointmentId;
use processor::error::EngineError;
use store::{
    Batch, CommitError, CommitFuture, Direction, Health, Key, KeyRange, MemoryStore, Store, StoreError, Versioned,
    keys, memory::Fault,
};
use tests::harness::fixtures;

/// Counts how often a location's journal is read.
struct Counting {
    store: MemoryStore,
    journals_read: AtomicUsize,
}

impl Store for Counting {
    fn read(&self, key: &[u8]) -> Result<Option<Versioned>, StoreError> {
        self.store.read(key)
    }

    fn scan(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, StoreError> {
        if keys::parse_journal(&range.start).is_some_and(|(location, _)| location == fixtures::MAIN_STREET.0) {
            self.journals_read.fetch_add(1, Ordering::SeqCst);
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

async fn without_ehr(store: Arc<Counting>) -> Engine {
    let mut setup = fixtures::setup("sandbox:");
    for location in setup.locations.values_mut() {
        Arc::make_mut(location).source = None;
    }
    Engine::start(setup, Parts::new(store, RecordViews::shared())).await.unwrap()
}

#[actix::test]
async fn a_conflict_reads_the_journal_again_only_where_the_journal_conflicted() {
    let store = Arc::new(Counting { store: MemoryStore::new(), journals_read: AtomicUsize::new(0) });
    let engine = without_ehr(store.clone()).await;
    let recall = || CreateAppointmentType {
        name: "Recall".into(),
        minutes: 30,
        bookable_online: true,
        descriptor_ids: Vec::new(),
        of_location: true,
    };
    engine.send(fixtures::MAIN_STREET, recall()).await.unwrap();
    for (key, reads) in [(keys::record(1, 1, 1), 0), (keys::journal(fixtures::MAIN_STREET.0, 1), 1)] {
        let before = store.journals_read.load(Ordering::SeqCst);
        let commits = store.store.commits();
        store.store.fail_next_commit(Fault::Refuse(CommitError::Conflict { key: key.clone() }));
        engine.send(fixtures::MAIN_STREET, recall()).await.unwrap();
        assert_eq!(store.store.commits() - commits, 1, "the turn was prepared again");
        assert_eq!(store.journals_read.load(Ordering::SeqCst) - before, reads, "{key:?}");
    }
    engine.stop().await;
}

#[actix::test]
async fn a_damaged_location_does_not_read_its_journal_at_each_request() {
    let store = Arc::new(Counting { store: MemoryStore::new(), journals_read: AtomicUsize::new(0) });
    let mut damage = Batch::new();
    damage.put(keys::journal(fixtures::MAIN_STREET.0, 1), b"no record".to_vec());
    store.commit(damage).await.unwrap();
    let engine = without_ehr(store.clone()).await;
    for _ in 0..50 {
        let refused = engine.cancel(fixtures::MAIN_STREET, AppointmentId(1), None).await.unwrap_err();
        assert_eq!(refused, EngineError::Damaged);
        assert_eq!(engine.sync_state(fixtures::MAIN_STREET).await.err(), Some(EngineError::Damaged));
    }
    let read = store.journals_read.load(Ordering::SeqCst);
    assert!((1..=2).contains(&read), "read {read} times");
    assert!(matches!(
        engine.cancel(fixtures::LAKESIDE, AppointmentId(1), None).await,
        Err(EngineError::Refused(location::decision::Refusal::AppointmentNotFound))
    ));
    engine.stop().await;
}
