//! Numbers of changes in a store that has lost values.

use store::keys::feed_end;

use super::*;
use crate::{follower::repair_numbers, keys};

/// Writes three changes that no subscription gets, and one whose messages are sent.
async fn followed_log() -> (Arc<MemoryStore>, Arc<LogWriter>) {
    let store = Arc::new(MemoryStore::new());
    let log = LogWriter::new(store.clone());
    for id in 1..=3 {
        log.write(1, &[Write::new(Resource::Charges, id, ChangeKind::Created)]);
    }
    subscribe(store.clone()).await;
    log.write(1, &[Write::new(Resource::Charges, 4, ChangeKind::Created)]);
    follow(&start(store.clone(), &setup_of(1), Sizes::default()), &store);
    assert_eq!(deliveries(&store).len(), 1);
    (store, log)
}

fn lose(store: &MemoryStore, lost: impl IntoIterator<Item = store::Key>) {
    let mut batch = Batch::new();
    for key in lost {
        batch.delete(key);
    }
    store.commit_now(batch).unwrap();
}

#[tokio::test]
async fn numbers_continue_above_all_numbers_in_a_store_that_lost_the_last_one() {
    let (store, _) = followed_log().await;
    let feed = store.scan_keys(Space::Feed.range(), Direction::Forward, usize::MAX).unwrap();
    for lost in [vec![], feed, vec![keys::position(INSTITUTION)]] {
        let has_position = lost != [keys::position(INSTITUTION)];
        lose(&store, lost.into_iter().chain([feed_end()]));
        repair_numbers(&*store, true).await.unwrap();
        // Without changes and a position, only the subscription has a number.
        assert_eq!(store.feed_end(None).unwrap(), if has_position { 4 } else { 3 });
    }
}

#[tokio::test]
async fn messages_are_sent_once_after_the_last_number_and_the_position_were_lost() {
    let (store, log) = followed_log().await;
    lose(&store, [feed_end(), keys::position(INSTITUTION)]);
    repair_numbers(&*store, false).await.unwrap();
    let follower = start(store.clone(), &setup_of(1), Sizes::default());
    follow(&follower, &store);
    assert_eq!(deliveries(&store).len(), 1, "not again");
    log.write(1, &[Write::new(Resource::Charges, 5, ChangeKind::Created)]);
    follow(&follower, &store);
    assert_eq!(deliveries(&store).len(), 2, "the next one");
}
