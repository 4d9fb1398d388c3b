//! A location with a damaged journal is red and answers repeated requests at once, and other locations are served.
//! After a conflicting commit the journal is read again only if the conflict was in the journal.

use std::sync::Arc;

use endpoints::resources::record_views::RecordViews;
use engine::{
    Engine, Parts,
    commands::WriteAppointmentType,
    records::{AppointmentType, sync_state::DAMAGED},
};
use location::ids::AppointmentId;
use processor::error::EngineError;
use store::{Batch, CommitError, Store, keys, memory::Fault};
use testing::{Counter, HookedStore};
use tests::harness::fixtures;

/// Returns a store and a counter of reads of the location's journal. A reload takes two reads: the conflicting key
/// and the entries after it.
fn store() -> (Arc<HookedStore>, Arc<Counter>) {
    let journals_read = Arc::new(Counter::default());
    let count = journals_read.clone();
    let store = HookedStore::default().before_read(move |key| {
        let location = keys::parse_journal(key).map(|(location, _)| location);
        count.add(usize::from(location == Some(fixtures::MAIN_STREET.0)));
        Ok(())
    });
    (Arc::new(store), journals_read)
}

async fn without_ehr(store: Arc<HookedStore>) -> Engine {
    let mut setup = fixtures::setup("sandbox:");
    for location in setup.locations.values_mut() {
        Arc::make_mut(location).source = None;
    }
    Engine::start(setup, Parts::new(store, RecordViews::shared())).await.unwrap()
}

#[actix::test]
async fn conflict_reloads_the_journal_only_if_the_journal_conflicted() {
    let (store, journals_read) = store();
    let engine = without_ehr(store.clone()).await;
    let body =
        AppointmentType { name: "Recall".into(), minutes: 30, bookable_online: true, ..AppointmentType::default() };
    let recall = || WriteAppointmentType::Create { body: body.clone(), of_location: true };
    engine.send(fixtures::MAIN_STREET, recall()).await.unwrap();
    for (key, reads) in [(keys::record(1, 1, 1), 0), (keys::journal(fixtures::MAIN_STREET.0, 1), 1)] {
        let before = journals_read.get();
        let commits = store.inner.commits();
        store.inner.fail_next_commit(Fault::Refuse(CommitError::Conflict { key: key.clone() }));
        engine.send(fixtures::MAIN_STREET, recall()).await.unwrap();
        assert_eq!(store.inner.commits() - commits, 1, "the turn was prepared again");
        assert_eq!(journals_read.get() - before, reads, "{key:?}");
    }
    engine.stop().await;
}

#[actix::test]
async fn damaged_location_does_not_reload_its_journal_per_request() {
    let (store, journals_read) = store();
    let mut damage = Batch::new();
    damage.put(keys::journal(fixtures::MAIN_STREET.0, 1), b"no record".to_vec());
    store.commit(damage).await.unwrap();
    let engine = without_ehr(store.clone()).await;
    // The start reads the newest record of each journal once per store, before locations are loaded.
    let before = journals_read.get();
    for _ in 0..50 {
        let refused = engine.cancel(fixtures::MAIN_STREET, AppointmentId(1), None).await.unwrap_err();
        assert_eq!(refused, EngineError::Damaged);
        let state = engine.sync_state(fixtures::MAIN_STREET).await.unwrap();
        assert_eq!((state.read_ok, state.write_ok, state.read_reason.as_deref()), (false, false, Some(DAMAGED)));
    }
    let read = journals_read.get() - before;
    assert!((1..=2).contains(&read), "read {read} times");
    assert!(matches!(
        engine.cancel(fixtures::LAKESIDE, AppointmentId(1), None).await,
        Err(EngineError::Refused(location::decision::Refusal::AppointmentNotFound))
    ));
    engine.stop().await;
}
