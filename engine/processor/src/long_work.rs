//! A pool for long work outside the actors' threads, so that a page, a replay or a snapshot delays no other location.
//! On a remote store every turn is long work, because it waits for its reads.

use std::{num::NonZero, sync::Arc, thread::available_parallelism};

use runtime::run_blocking;
use store::Store;
use tokio::sync::Semaphore;

/// Concurrent turns on a store with remote reads. Most of them wait.
const WAITING_TURNS: usize = 32;

/// A semaphore with one place per processor, in first-in, first-out order.
#[derive(Clone)]
pub struct LongWork {
    places: Arc<Semaphore>,
    pub(crate) takes_turns: bool,
}

impl Default for LongWork {
    fn default() -> LongWork {
        LongWork::at_once(available_parallelism().map_or(1, NonZero::get))
    }
}

impl LongWork {
    pub fn on(store: &dyn Store) -> LongWork {
        match store.is_remote() {
            true => LongWork { takes_turns: true, ..LongWork::at_once(WAITING_TURNS) },
            false => LongWork::default(),
        }
    }

    fn at_once(places: usize) -> LongWork {
        LongWork { places: Arc::new(Semaphore::new(places)), takes_turns: false }
    }

    /// Runs the work on a blocking thread. Its panics resume in the caller.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let place = self.places.clone().acquire_owned().await.expect("the semaphore is never closed");
        run_blocking(move || {
            let _place = place;
            work()
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[actix::test]
    async fn concurrent_tasks_never_exceed_the_places() {
        let (work, running, most) = (LongWork::at_once(2), Arc::new(AtomicUsize::new(0)), Arc::default());
        let count = |running: Arc<AtomicUsize>, most: Arc<AtomicUsize>, met: Arc<Barrier>| {
            move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                met.wait();
                running.fetch_sub(1, Ordering::SeqCst);
            }
        };
        // A task ends only once two of them run concurrently.
        let met = Arc::new(Barrier::new(2));
        let all = (0..8).map(|_| {
            let (work, counted) = (work.clone(), count(running.clone(), Arc::clone(&most), met.clone()));
            actix::spawn(async move { work.run(counted).await })
        });
        for one in all.collect::<Vec<_>>() {
            one.await.unwrap();
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[actix::test]
    async fn panic_resumes_in_the_caller_and_frees_the_place() {
        let work = LongWork::at_once(1);
        let other = work.clone();
        let ended = actix::spawn(async move { other.run(|| panic!("broken")).await }).await;
        assert!(ended.unwrap_err().is_panic());
        assert_eq!(work.run(|| 7).await, 7);
    }
}
