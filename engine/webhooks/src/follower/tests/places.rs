//! The number of scans for an institution with many locations.

use testing::{Counter, HookedStore};

use super::*;

/// Returns the scans of the log for a batch about a change of one location.
async fn scans(locations: u32, is_reported: bool) -> usize {
    let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(locations));
    subscribe(store.clone()).await;
    let scans = Arc::new(Counter::default());
    let counted = scans.clone();
    let hooked = HookedStore::over(store.clone()).before_read(move |key| {
        counted.add(usize::from(key.first() == Some(&(Space::Feed as u8))));
        Ok(())
    });
    let follower = start(Arc::new(hooked), &setup, Sizes::default());
    let log = LogWriter::new(store.clone());
    let (location, charge) = (locations, Write::new(Resource::Charges, 1, ChangeKind::Created));
    let hours = |change| Write::new(Resource::WorkingHours, 2, change);
    log.write(location, &[charge, hours(ChangeKind::Created)]);
    follow(&follower, &store);
    let before = scans.get();
    log.write(location, &[hours(ChangeKind::Updated)]);
    if is_reported {
        assert_eq!(follower.begin(BTreeSet::from([LocationId(location)])), [INSTITUTION]);
    }
    follow(&follower, &store);
    assert_eq!(sent(&store), log.expected());
    scans.get() - before
}

#[tokio::test]
async fn number_of_scans_does_not_grow_with_the_number_of_locations() {
    let few = scans(2, true).await;
    assert_eq!(scans(1_000, true).await, few, "the institution, its data source, and the location");
    assert!(few <= 3, "{few}");
}

/// Another node committed the change, or its wake-up was lost.
#[tokio::test]
async fn change_of_a_location_that_was_not_reported_is_found() {
    assert!(scans(1_000, false).await > 1_000);
}

/// A location reported a commit, and other locations have changes too.
#[tokio::test]
async fn changes_of_other_locations_are_not_passed_over() {
    let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(20));
    subscribe(store.clone()).await;
    let follower = start(store.clone(), &setup, Sizes::default());
    let log = LogWriter::new(store.clone());
    for round in 0..300_u64 {
        let location = 1 + (round % 20) as u32;
        log.write(location, &[Write::new(Resource::WorkingHours, 1_000 + round, ChangeKind::Created)]);
        if round % 7 == 0 {
            follower.begin(BTreeSet::from([LocationId(location)]));
            follow(&follower, &store);
        }
    }
    follow(&follower, &store);
    assert_eq!(sent(&store), log.expected());
}

/// The stream of the reported location has more values than a read returns.
#[tokio::test]
async fn changes_between_those_of_a_busy_location_are_not_passed_over() {
    let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(3));
    subscribe(store.clone()).await;
    let follower = start(store.clone(), &setup, Sizes::default());
    let log = LogWriter::new(store.clone());
    for round in 0..330_u64 {
        let location = if round % 55 == 54 { 2 } else { 1 };
        log.write(location, &[Write::new(Resource::WorkingHours, round, ChangeKind::Created)]);
    }
    follower.begin(BTreeSet::from([LocationId(1)]));
    follow(&follower, &store);
    assert_eq!(sent(&store), log.expected());
}

#[tokio::test]
async fn changes_of_a_location_before_its_move_from_another_institution_are_not_sent() {
    let (store, current) = (Arc::new(MemoryStore::new()), InstitutionId(2));
    subscribe_to(current, store.clone()).await;
    let hours = |id| [Write::new(Resource::WorkingHours, id, ChangeKind::Created)];
    LogWriter::new(store.clone()).write(1, &hours(1));
    LogWriter::of(current, store.clone()).write(1, &hours(2));
    let location = testing::location(LocationId(1), current.0, SOURCE);
    let setup = testing::setup([testing::institution(current.0)], [location], [testing::source(SOURCE, current.0)]);
    let follower = start(store.clone(), &Arc::new(Current::from_pointee(setup)), Sizes::default());
    let prepared = follower.prepare(current, T0).unwrap().batch.unwrap();
    store.commit_now(prepared.batch).unwrap();
    assert_eq!(sent(&store).into_keys().collect::<Vec<_>>(), [(Resource::WorkingHours, 2)]);
}

#[tokio::test]
async fn commits_wake_the_follower_only_with_subscriptions() {
    let store = Arc::new(MemoryStore::new());
    let registry = registry(store.clone());
    let outbox = Outbox::new(registry.subscriptions().clone(), Arc::new(Doorbell::default()));
    let commits = Follower::new(setup_of(1), store, outbox, Arc::new(StoredViews), None).doorbell();
    commits.ring([LocationId(1)]);
    assert_eq!((commits.waiting(), registry.subscriptions().changed.waiting()), (0, 0));
    subscribe_with(&registry, INSTITUTION).await;
    commits.ring([LocationId(1), LocationId(2)]);
    assert_eq!(commits.take().into_iter().collect::<Vec<_>>(), [LocationId(1)], "the other one is not configured");
    assert_eq!(registry.subscriptions().changed.waiting(), 1);
}
