//! A fair semaphore for computation: limits concurrent work on the processors, in order of arrival. Waiting work holds
//! no permit.

use std::{
    future::{Future, poll_fn},
    num::NonZero,
    pin::pin,
    sync::Arc,
    task::Poll,
    thread::available_parallelism,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Threads that may wait for each permit of a [`FairSemaphore`], ready to take it over.
pub const WAITING_THREADS: usize = 4;

#[derive(Clone)]
pub struct FairSemaphore {
    permits: Arc<Semaphore>,
    /// Bounds the threads that wait for work to begin, because each keeps memory that it has freed.
    threads: Arc<Semaphore>,
}

impl FairSemaphore {
    pub fn at_once(count: usize) -> FairSemaphore {
        let count = count.max(1);
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        FairSemaphore { permits: semaphore(count), threads: semaphore(WAITING_THREADS * count) }
    }

    /// Creates a semaphore for work that also waits for the disk, or mostly waits for another machine if `from_afar`.
    /// While some of it waits, the rest uses the processors.
    pub fn for_readers(from_afar: bool) -> FairSemaphore {
        let each = if from_afar { 32 } else { 2 };
        FairSemaphore::at_once(each * available_parallelism().map_or(1, NonZero::get))
    }

    /// Acquires a permit, which is released when it is dropped.
    pub async fn take(&self) -> SemaphorePermit<'_> {
        self.permits.acquire().await.expect("the semaphore is never closed")
    }

    /// Acquires a place among the threads that wait for a first permit.
    pub async fn thread(&self) -> OwnedSemaphorePermit {
        self.threads.clone().acquire_owned().await.expect("the semaphore is never closed")
    }

    /// Runs work, holding a permit while the work is polled and releasing the permit while it waits. `thread` is
    /// released when the work begins.
    pub async fn run<T>(&self, thread: OwnedSemaphorePermit, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut turn = self.take().await;
        drop(thread);
        loop {
            let polled = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
            drop(turn);
            match polled {
                Poll::Ready(done) => return done,
                Poll::Pending => woken().await,
            }
            turn = self.take().await;
        }
    }
}

/// Waits until the task is polled again. The waker of the future just polled is responsible for that.
pub async fn woken() {
    let mut before = true;
    poll_fn(|_| if std::mem::take(&mut before) { Poll::Pending } else { Poll::Ready(()) }).await;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        time::Duration,
    };

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn concurrent_computation_is_limited() {
        let (turns, now, most) =
            (FairSemaphore::at_once(2), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = |_| {
            let (turns, now, most) = (turns.clone(), now.clone(), most.clone());
            tokio::spawn(async move {
                turns
                    .run(turns.thread().await, async {
                        for _ in 0..3 {
                            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                            std::thread::sleep(Duration::from_millis(5));
                            now.fetch_sub(1, SeqCst);
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                    })
                    .await;
            })
        };
        for working in (0..8).map(work).collect::<Vec<_>>() {
            working.await.unwrap();
        }
        assert_eq!(most.load(SeqCst), 2);
    }

    #[tokio::test]
    async fn waiting_work_holds_no_permit() {
        let turns = FairSemaphore::at_once(1);
        let (send, wait) = tokio::sync::oneshot::channel();
        let waiting = tokio::spawn({
            let turns = turns.clone();
            async move { turns.run(turns.thread().await, wait).await.unwrap() }
        });
        tokio::task::yield_now().await;
        assert_eq!(turns.run(turns.thread().await, async { 1 }).await, 1);
        send.send(2).unwrap();
        assert_eq!(waiting.await.unwrap(), 2);
    }
}
