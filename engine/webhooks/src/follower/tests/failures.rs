//! Failures of the task that follows an institution.

use std::sync::atomic::{AtomicBool, Ordering};

use testing::{HookedStore, until};

use super::*;

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
