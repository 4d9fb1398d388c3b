//! Metering of a call's processor time. Waiting for an EHR is free. A call has a budget, and a long call runs behind a
//! semaphore for long calls, so that a short call finds a free thread.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use runtime::turns::{FairSemaphore, woken};

use super::{costs::Spending, limits::LONG_CALL};

/// Returns the semaphore for long calls, with fewer permits than there are threads.
pub(crate) fn turns_of_long_calls(threads: usize) -> FairSemaphore {
    FairSemaphore::at_once(threads / 2)
}

/// The error of a call that used up its processor time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuBudgetExceeded;

/// Runs a call within its budget and records the time used. Measures whenever the work pauses, which a computing guest
/// does at every epoch tick.
pub(crate) async fn metered<T>(
    work: impl Future<Output = T>,
    budget: Duration,
    turns: &FairSemaphore,
    spending: &Spending,
) -> Result<T, CpuBudgetExceeded> {
    let mut work = pin!(work);
    let mut used = Duration::ZERO;
    loop {
        let turn = if used < LONG_CALL { None } else { Some(turns.take().await) };
        let polled = poll_fn(|cx| {
            let before = thread_time();
            let polled = work.as_mut().poll(cx);
            used += thread_time().saturating_sub(before);
            spending.processor(used);
            Poll::Ready(polled)
        });
        let polled = polled.await;
        drop(turn);
        match polled {
            Poll::Ready(answer) => return Ok(answer),
            Poll::Pending if used >= budget => return Err(CpuBudgetExceeded),
            Poll::Pending => woken().await,
        }
    }
}

/// Lowers the priority of this thread to a third of the normal share, so that guests yield to the threads that answer
/// clients. Only for fairness, so failures are ignored.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(super) fn step_back() {
    const NICENESS: libc::c_int = 5;
    // SAFETY: the call takes numbers and nothing else. On Linux 0 means the calling thread.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}

/// On other systems the call would slow down the whole process.
#[cfg(not(target_os = "linux"))]
pub(super) fn step_back() {}

#[allow(unsafe_code)]
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec` to the address of one and keeps nothing.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } != 0;
    debug_assert!(!failed, "every Unix this runs on has this clock");
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Instant;

    use super::*;

    fn compute(time: Duration) {
        let before = thread_time();
        while thread_time() - before < time {
            std::hint::spin_loop();
        }
    }

    async fn computes(slices: u32) {
        for _ in 0..slices {
            compute(Duration::from_millis(2));
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn computing_uses_the_budget_and_waiting_does_not() {
        let turns = turns_of_long_calls(2);
        let budget = Duration::from_millis(60);
        assert_eq!(metered(computes(1_000), budget, &turns, &Spending::default()).await, Err(CpuBudgetExceeded));
        assert_eq!(metered(computes(3), budget, &turns, &Spending::default()).await, Ok(()));
        let waits = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            7
        };
        assert_eq!(metered(waits, budget, &turns, &Spending::default()).await, Ok(7));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn long_calls_share_permits_and_all_end() {
        let turns = turns_of_long_calls(2);
        let calls: Vec<_> = (0..4)
            .map(|_| {
                let turns = turns.clone();
                tokio::spawn(async move {
                    metered(computes(40), Duration::from_secs(5), &turns, &Spending::default()).await
                })
            })
            .collect();
        let since = Instant::now();
        for call in calls {
            assert_eq!(call.await.unwrap(), Ok(()));
        }
        assert!(since.elapsed() > Duration::from_millis(200), "they did not run side by side: {:?}", since.elapsed());
    }
}
