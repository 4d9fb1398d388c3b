//! The lag of a follower.

use super::*;

#[tokio::test]
async fn lag_begins_with_a_commit_and_ends_when_it_is_followed() {
    let (store, setup) = (Arc::new(MemoryStore::new()), setup_of(1));
    subscribe(store.clone()).await;
    let follower = start(store.clone(), &setup, Sizes { batch_keys: 1, ..Sizes::default() });
    follow(&follower, &store);
    assert_eq!(follower.lag(), None);

    follower.begin(BTreeSet::from([LocationId(1)]));
    assert_eq!(follower.lag().unwrap().changes, 1, "visible even if the follower never looks");
    let log = LogWriter::new(store.clone());
    for id in 1..=3 {
        log.write(1, &[Write::new(Resource::Charges, id, ChangeKind::Created)]);
    }
    let mut left = Vec::new();
    while let Some(mut prepared) = follower.prepare(INSTITUTION, T0).unwrap().batch {
        let before = follower.lag().unwrap();
        store.commit_now(std::mem::take(&mut prepared.batch)).unwrap();
        left.push((before.changes, before.seconds(T0)));
        follower.committed(prepared);
    }
    assert_eq!((left, follower.lag()), (vec![(3, 1), (2, 2), (1, 3)], None));
}
