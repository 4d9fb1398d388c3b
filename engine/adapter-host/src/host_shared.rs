//! What all adapters of a host share: the engine, the threads guests run on, the places they run in.

use std::{future::Future, sync::Arc, time::Duration};

use adapter_component::signature::Signer;
use runtime::turns::Turns;
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
    task::JoinHandle,
};
use wasmtime::{Engine, component::Linker};

use super::{HostError, cache::Cache, costs::Costs, imports::CallState, metered::step_back, places::Places};

pub(super) struct HostShared {
    pub engine: Engine,
    pub linker: Linker<CallState>,
    pub cache: Option<Cache>,
    pub threads: GuestThreads,
    /// Calls that may run now.
    pub places: Places,
    pub turns: Turns,
    /// What calls have cost since the host started.
    pub costs: Costs,
    /// Components that may be compiled at one time. Its permits outlive a load that ran out of time: the work goes on to its end.
    pub compiling: Arc<Semaphore>,
    pub compile_time: Duration,
    /// Whose components are used; empty: everybody's.
    pub signers: Vec<Signer>,
}

/// The threads guests run on. Dropping them never waits: the last owner may be an actor.
pub(super) struct GuestThreads(Option<Runtime>);

impl GuestThreads {
    pub(crate) fn start(threads: usize) -> Result<GuestThreads, HostError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("adapter")
            .on_thread_start(step_back)
            // Timers and new calls are looked at whenever a guest pauses, also when every thread has a spinning guest.
            .event_interval(1)
            .global_queue_interval(1)
            .enable_all()
            .build();
        Ok(GuestThreads(Some(runtime.map_err(HostError::Threads)?)))
    }

    fn runtime(&self) -> &Runtime {
        self.0.as_ref().expect("taken only by drop")
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
