//! Tests of the threads on which calls run: a short call on the caller's, all others on the guest threads.

use std::{
    future::poll_fn,
    sync::Arc,
    task::Poll,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use adapter_host::Host;
use parking_lot::Mutex;
use records::ehr::{Ehr, EhrFuture, Fault, Page, Resource};
use setup::guests::HostLimits;
use testing::{until, until_blocking};
use tokio::runtime::Builder;

use crate::support::{DEADLINE, Does, TestEhr, connection, hostile, limited_host};

/// Computes for a moment.
const SHORT: Resource = Resource::Patients;
/// Computes until it is stopped.
const ENDLESS: Resource = Resource::Providers;
/// Sends a request.
const WAITING: Resource = Resource::Operatories;

/// A guest whose calls record the thread on which they begin.
struct RecordedGuest {
    ehr: Arc<dyn Ehr>,
    began_on: Arc<Mutex<Option<ThreadId>>>,
}

impl RecordedGuest {
    async fn connected(host: &Host, ehr: &Arc<TestEhr>) -> RecordedGuest {
        let began_on = Arc::new(Mutex::new(None));
        let recorded = began_on.clone();
        let mut connection = connection(&[("behaviour", "by-resource")], ehr);
        connection.clock = Arc::new(move || {
            *recorded.lock() = Some(thread::current().id());
            0
        });
        let adapter = host.load(hostile()).await.unwrap();
        RecordedGuest { ehr: adapter.connect(connection).unwrap(), began_on }
    }

    fn call(&self, resource: Resource, deadline: Duration) -> EhrFuture<'_, Page> {
        *self.began_on.lock() = None;
        self.ehr.pull(resource, None, 10, deadline)
    }

    async fn short_call(&self) {
        self.call(SHORT, DEADLINE).await.unwrap();
    }

    fn began_here(&self) -> bool {
        *self.began_on.lock() == Some(thread::current().id())
    }

    /// Makes short calls and calls for `resource` in turns, until one of the latter begins on this thread and does not
    /// end at once. Returns that call and the time for which it held this thread.
    async fn begun_here(&self, resource: Resource, deadline: Duration) -> (EhrFuture<'_, Page>, Duration) {
        // The machine may be busy, and a tick may interrupt a short call.
        for _ in 0..100 {
            self.short_call().await;
            let mut call = self.call(resource, deadline);
            let since = Instant::now();
            let polled = polled(&mut call).await;
            let held = since.elapsed();
            assert!(polled.is_pending(), "{polled:?}");
            if self.began_here() {
                return (call, held);
            }
        }
        panic!("no call began on the caller's thread");
    }
}

async fn polled(call: &mut EhrFuture<'_, Page>) -> Poll<Result<Page, Fault>> {
    poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await
}

fn retried(ended: Result<Page, Fault>) -> String {
    match ended {
        Err(Fault::RetryLater { reason, .. }) => reason,
        other => panic!("expected to be tried again: {other:?}"),
    }
}

#[tokio::test]
async fn a_call_after_a_short_one_runs_on_the_callers_thread() {
    let host = limited_host(HostLimits::default());
    let guest = RecordedGuest::connected(&host, &TestEhr::ok()).await;
    guest.short_call().await;
    assert!(!guest.began_here(), "nothing is known of the guest before its first call");
    until("a short call ends on this thread", async || {
        guest.short_call().await;
        let mut call = guest.call(SHORT, DEADLINE);
        polled(&mut call).await.is_ready() && guest.began_here()
    })
    .await;
    guest.ehr.describe(DEADLINE).await.unwrap();
    assert!(!guest.began_here(), "nothing is known of its calls of another kind");
}

#[tokio::test]
async fn an_endless_loop_holds_the_caller_for_about_a_tick() {
    let host = limited_host(HostLimits::default());
    let guest = RecordedGuest::connected(&host, &TestEhr::ok()).await;
    let (call, held) = guest.begun_here(ENDLESS, Duration::from_millis(1_500)).await;
    // A tick is 10 ms; the rest is for other processes.
    assert!(held < Duration::from_millis(500), "{held:?}");
    assert!(retried(call.await).contains("within 1500 ms"));
    guest.short_call().await;
    assert!(!guest.began_here(), "the call before took long");
}

/// The guest waits on the guest threads: neither its timers nor its end depend on the caller's runtime.
#[test]
fn a_waiting_call_outlives_its_caller() {
    let host = limited_host(HostLimits::default());
    let ehr = TestEhr::new(Does::AnswersAfter(Duration::from_millis(500)));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let guest = runtime.block_on(RecordedGuest::connected(&host, &ehr));
    let (call, _) = runtime.block_on(guest.begun_here(WAITING, DEADLINE));
    drop(call);
    drop(runtime);
    let costs = || host.costs_at("test location").remove("pull").unwrap_or_default();
    until_blocking("the EHR's answers arrive", || {
        let sent = ehr.seen.lock().len() as u64;
        sent > 0 && costs().requests == sent
    });
    assert_eq!(costs().lost, 0);
}

#[tokio::test]
async fn a_panic_on_the_callers_thread_is_a_fault() {
    let host = limited_host(HostLimits::default());
    let guest = RecordedGuest::connected(&host, &TestEhr::new(Does::Panics)).await;
    let ended = until("a call panics on the caller's thread", async || {
        guest.short_call().await;
        let ended = guest.call(WAITING, DEADLINE).await;
        guest.began_here().then_some(ended)
    })
    .await;
    let reason = retried(ended);
    assert!(reason.contains("the adapter host failed") && reason.contains("transport of this test"), "{reason}");
    guest.short_call().await;
}
