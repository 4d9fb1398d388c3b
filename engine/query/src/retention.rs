//! Retention: deletes old changes of the feed and expired idempotency keys, in small steps between other
//! commits.

use std::{sync::Arc, time::Duration};

use location::time::Timestamp;
use runtime::clock;
use store::{Batch, CommitError, Store, StoreError};

use crate::{
    feed::{self, Followed},
    idempotency as once,
    index::{Index, merge},
    reading::reading,
    stream::{self, Stream},
};

/// Entries per step, about as many as in a commit group.
const STEP: usize = 500;
const PAUSE: Duration = Duration::from_millis(20);
const EVERY: Duration = Duration::from_secs(3_600);

/// Runs retention every hour while `is_ours` returns `true`. Of several processes on one store, only one runs
/// it.
pub async fn run(index: Arc<Index>, store: Arc<dyn Store>, followed: Arc<Followed>, is_ours: impl Fn() -> bool) {
    loop {
        tokio::time::sleep(EVERY).await;
        if !is_ours() {
            continue;
        }
        if let Err(error) = all(&index, &store, &followed, clock::now(), PAUSE).await {
            tracing::warn!(%error, "retention stopped early; it continues in an hour");
        }
    }
}

/// Deletes everything expired at `now`.
pub async fn all(
    index: &Arc<Index>,
    store: &Arc<dyn Store>,
    followed: &Arc<Followed>,
    now: Timestamp,
    pause: Duration,
) -> Result<(), CommitError> {
    let forget = move |store: &dyn Store, (), batch: &mut Batch| {
        Ok((once::forget(store, now, STEP, batch)? == STEP).then_some(()))
    };
    steps(store, pause, (), forget).await?;
    let mut after = None;
    while let Some((stream, eldest)) = reading(store, move |store| stream::next(store, after)).await? {
        after = Some(stream);
        if let Some(stream) = Stream::from_number(stream).filter(|_| feed::is_old(eldest, now)) {
            // The index reads unmerged changes from the stream, so they must not be pruned.
            merge(index, store, stream, 1, pause).await?;
            let followed = followed.clone();
            let prune = move |store: &dyn Store, (), batch: &mut Batch| {
                Ok(feed::prune(store, stream, now, &*followed, STEP, batch)?.then_some(()))
            };
            steps(store, pause, (), prune).await?;
        }
    }
    Ok(())
}

/// Runs `step` with one commit each until it returns `None`; otherwise it returns the argument of the next
/// step. Steps read on a blocking thread, so that many steps without deletions do not block the runtime.
pub async fn steps<At: Copy + Send + 'static>(
    store: &Arc<dyn Store>,
    pause: Duration,
    begin: At,
    step: impl Fn(&dyn Store, At, &mut Batch) -> Result<Option<At>, StoreError> + Clone + Send + 'static,
) -> Result<(), CommitError> {
    let mut next = Some(begin);
    while let Some(at) = next {
        let step = step.clone();
        let read = move |store: &dyn Store| {
            let mut batch = Batch::new();
            step(store, at, &mut batch).map(|next| (next, batch))
        };
        let (going_on, batch) = reading(store, read).await?;
        next = going_on;
        if !batch.is_empty() {
            match store.commit(batch).await {
                // A concurrent change conflicts; the next step reads the value again.
                Ok(()) | Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(pause).await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicUsize, Ordering};

    use location::pull::Resource;
    use testing::{Counter, HookedStore};

    use super::*;
    use crate::stream::{Change, ChangeKind, CommitHeader, Readers, Recorded, append};

    /// A thousand streams with recent changes only: few values are read, none on a runtime thread, and other
    /// tasks keep running.
    #[tokio::test]
    async fn retention_without_deletions_does_not_block_the_runtime() {
        let (on_runtime, runtime) = (Arc::new(Counter::default()), std::thread::current().id());
        let reads = on_runtime.clone();
        let store = HookedStore::default().before_read(move |_| {
            reads.add(usize::from(std::thread::current().id() == runtime));
            Ok(())
        });
        let now = Timestamp(1_800_000_000_000);
        let streams: usize = 1_000;
        for stream in 0..streams {
            let mut batch = Batch::new();
            for _ in 0..20 {
                let header = CommitHeader { at: now, institution: None, turn: None, origin: None };
                let change = Change::Record(Recorded {
                    resource: Resource::Patients,
                    id: 1,
                    change: ChangeKind::Updated,
                    readers: Readers::Source(1),
                    removed: Vec::new(),
                    added: Vec::new(),
                    states: None,
                });
                append(&mut batch, Stream::Location(u32::try_from(stream).unwrap()), &header, &[change]);
            }
            store.inner.commit_now(batch).unwrap();
        }
        let turns = Arc::new(AtomicUsize::new(0));
        let others = {
            let turns = turns.clone();
            tokio::spawn(async move {
                loop {
                    turns.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
            })
        };
        let store = Arc::new(store);
        let followed: Arc<Followed> = Arc::new(|_| Ok(u64::MAX));
        all(&Arc::default(), &(store.clone() as Arc<dyn Store>), &followed, now, Duration::ZERO).await.unwrap();
        others.abort();
        assert!(turns.load(Ordering::SeqCst) >= streams, "{turns:?} turns for {streams} streams");
        assert_eq!(on_runtime.get(), 0, "reads on the thread of the runtime");
        assert!(store.found.get() <= 2 * streams, "{:?} values read", store.found);
    }
}
