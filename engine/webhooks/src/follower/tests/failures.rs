//! Failures of the task that follows an institution.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use testing::{Counter, HookedStore, until};

use super::*;
use crate::{follower::run::pause_after, keys};

#[tokio::test]
async fn institution_is_followed_again_after_a_panic() {
    let store = Arc::new(MemoryStore::new());
    subscribe(store.clone()).await;
    LogWriter::new(store.clone()).write(1, &[Write::new(Resource::Charges, 1, ChangeKind::Created)]);
    let panics = AtomicBool::new(true);
    let hooked = HookedStore::over(store.clone()).on_commit(move |inner, batch| {
        assert!(!panics.swap(false, Ordering::SeqCst), "a fault in a commit");
        inner.commit(batch)
    });
    let follower = start(Arc::new(hooked), &setup_of(1), Sizes::default());
    let running = tokio::spawn(follower.run(Arc::default()));
    until("a message", async || deliveries(&store).len() == 1).await;
    running.abort();
}

#[test]
fn pause_after_failures_doubles_up_to_a_minute() {
    let pauses = std::iter::successors(Some(pause_after(None)), |last| Some(pause_after(Some(*last))));
    assert_eq!(pauses.map(|pause| pause.as_secs()).take(8).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 60, 60]);
}

/// A value of the log cannot be decoded, and locations commit.
#[tokio::test]
async fn new_commits_do_not_end_the_pause_after_a_failure() {
    let store = Arc::new(MemoryStore::new());
    subscribe(store.clone()).await;
    LogWriter::new(store.clone()).write(1, &[Write::new(Resource::Charges, 1, ChangeKind::Created)]);
    let mut damage = Batch::new();
    damage.put(store::keys::feed(Stream::Source(SOURCE).number(), 1), vec![0xFF]);
    store.commit_now(damage).unwrap();
    let attempts = Arc::new(Counter::default());
    let counted = attempts.clone();
    let hooked = HookedStore::over(store).before_read(move |key| {
        counted.add(usize::from(key == keys::position(INSTITUTION)));
        Ok(())
    });
    let follower = start(Arc::new(hooked), &setup_of(1), Sizes::default());
    assert!(follower.prepare(INSTITUTION, T0).is_err_and(|error| error.to_string().contains("change 1 of stream")));
    let commits = Arc::new(runtime::doorbell::Doorbell::default());
    let running = tokio::spawn(follower.run(commits.clone()));
    for _ in 0..50 {
        commits.ring([LocationId(1)]);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.abort();
    // `prepare` above, the first attempt, and one after the pause on a slow machine.
    assert!((2..=4).contains(&attempts.get()), "{} attempts", attempts.get());
}
