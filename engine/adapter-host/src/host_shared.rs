//! State shared by all adapters of a host: the engine, the guest threads and the permits for calls.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use adapter_component::signature::Signer;
use runtime::turns::FairSemaphore;
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
    task::{JoinError, JoinHandle},
};
use wasmtime::{Engine, component::Linker};

use super::{HostError, cache::Cache, call_permits::CallPermits, costs::Costs, imports::CallState, metered::step_back};

pub(super) struct HostShared {
    pub engine: Engine,
    pub linker: Linker<CallState>,
    pub cache: Option<Cache>,
    pub threads: GuestThreads,
    pub places: CallPermits,
    pub turns: FairSemaphore,
    /// Costs of calls since the start of the host.
    pub costs: Costs,
    /// Limits concurrent compilations. The permits outlive a load that timed out, because its work continues to the
    /// end.
    pub compiling: Arc<Semaphore>,
    pub compile_time: Duration,
    /// Trusted signers; empty to accept all components.
    pub signers: Vec<Signer>,
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The guest threads. Dropping them never blocks, because the last owner may be an actor.
pub(super) struct GuestThreads(Option<Runtime>);

impl GuestThreads {
    pub(crate) fn start(threads: usize) -> Result<GuestThreads, HostError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("adapter")
            .on_thread_start(step_back)
            // Handles timers and new calls at every pause of a guest, even if every thread has a spinning guest.
            .event_interval(1)
            .global_queue_interval(1)
            .enable_all()
            .build();
        Ok(GuestThreads(Some(runtime.map_err(HostError::Threads)?)))
    }

    fn runtime(&self) -> &Runtime {
        self.0.as_ref().expect("taken only by drop")
    }

    /// Runs a call to its end, even if the caller is dropped. With `here`, the call begins on the caller's thread and
    /// moves to the guest threads as soon as it waits. A call that does not wait then wakes no other thread.
    ///
    /// The caller's thread is held until the call waits or ends. A computing guest yields at the next tick of the
    /// epoch, so that is at most [`EPOCH_TICK`](super::limits::EPOCH_TICK). A host function in progress at the tick,
    /// such as the copying of the answer, and the check of the answer add to it. The guest's memory limit bounds both.
    /// Imports that wait are async.
    pub(crate) async fn run<T: Send + 'static>(&self, mut work: BoxFuture<T>, here: bool) -> Result<T, JoinError> {
        if here {
            match self.poll_here(&mut work) {
                Ok(Poll::Ready(done)) => return Ok(done),
                Ok(Poll::Pending) => {}
                Err(panic) => return self.spawn::<T>(async move { resume_unwind(panic) }).await,
            }
        }
        self.spawn(work).await
    }

    /// Polls `work` once. Its timers, connections and tasks belong to the guest threads. Wake-ups are ignored, because
    /// `spawn` polls the work again. Returns the payload of a panic as an error.
    fn poll_here<T>(&self, work: &mut BoxFuture<T>) -> thread::Result<Poll<T>> {
        let _entered = self.runtime().enter();
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut Context::from_waker(Waker::noop()))))
    }

    pub(crate) fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.runtime().spawn(work)
    }

    pub(crate) fn spawn_blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.runtime().spawn_blocking(work)
    }
}

impl Drop for GuestThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
