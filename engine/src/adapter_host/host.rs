//! The engine that runs adapters: one for the process, with its own threads, so that a spinning guest stalls nobody else.

use std::{fs, io::Read, path::Path, sync::Arc};

use sha2::{Digest, Sha256};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
    task::JoinHandle,
};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    component::{HasSelf, Linker},
};

use super::{
    Adapter, HostError, LoadError, LoadFailed, bindings,
    cache::Cache,
    imports::CallState,
    instance::Exports,
    limits::{
        COMPONENT_BYTES, CORE_INSTANCES_PER_COMPONENT, EPOCH_TICK, HostLimits, KEPT_MEMORY, KEPT_TABLE,
        MEMORIES_PER_COMPONENT, TABLE_ELEMENTS, TABLES_PER_COMPONENT,
    },
    manifest::Manifest,
    trial,
};

/// Loads adapters. Cheap to clone.
#[derive(Clone)]
pub struct Host(Arc<Shared>);

pub(super) struct Shared {
    pub engine: Engine,
    linker: Linker<CallState>,
    cache: Cache,
    pub threads: GuestThreads,
    /// Calls that may run now.
    pub places: Semaphore,
}

impl Host {
    /// `cache_dir` holds compiled components and is created where it does not exist.
    pub fn new(limits: HostLimits, cache_dir: &Path) -> Result<Host, HostError> {
        let unusable = |error: wasmtime::Error| HostError::Engine(format!("{error:#}"));
        let cache =
            Cache::open(cache_dir).map_err(|source| HostError::Cache { dir: cache_dir.to_path_buf(), source })?;
        let engine = Engine::new(&config(&limits)).map_err(unusable)?;
        let mut linker = Linker::new(&engine);
        bindings::Adapter::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state).map_err(unusable)?;
        let threads = GuestThreads::start(limits.threads)?;
        tick(&engine).map_err(HostError::Threads)?;
        let places = Semaphore::new(limits.calls as usize);
        Ok(Host(Arc::new(Shared { engine, linker, cache, threads, places })))
    }

    /// Reads, checks, compiles (or finds compiled), links and tries a component, off the caller's thread.
    pub async fn load(&self, path: &Path) -> Result<Arc<Adapter>, LoadFailed> {
        let failed = |reason| LoadFailed { path: path.to_path_buf(), reason };
        let (host, file) = (self.clone(), path.to_path_buf());
        let loading = self.0.threads.spawn_blocking(move || host.load_now(&file));
        let adapter = loading.await.unwrap_or(Err(LoadError::ShuttingDown)).map_err(failed)?;
        let tried = adapter.clone();
        let trial = self.0.threads.spawn(async move { trial::run(&tried).await });
        trial.await.unwrap_or(Err(LoadError::ShuttingDown)).map_err(failed)?;
        Ok(adapter)
    }

    fn load_now(&self, path: &Path) -> Result<Arc<Adapter>, LoadError> {
        let bytes = read_bounded(path)?;
        let manifest = Manifest::of_component(&bytes)?;
        let shared = &self.0;
        let compile = |error: wasmtime::Error| LoadError::Compile(format!("{error:#}"));
        let (component, from_cache) = shared.cache.component(&shared.engine, &bytes).map_err(compile)?;
        // The linker compares every type on both sides; its messages are long, their innermost part says what differs.
        let shape = |error: wasmtime::Error| LoadError::Shape(format!("{error:#}"));
        let pre = shared.linker.instantiate_pre(&component).map_err(shape)?;
        let exports = Exports::of(&pre).map_err(shape)?;
        let sha256 = hex::encode(Sha256::digest(&bytes));
        Ok(Arc::new(Adapter { host: shared.clone(), pre, exports, manifest, sha256, from_cache }))
    }
}

fn config(limits: &HostLimits) -> Config {
    let calls = limits.calls;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls * CORE_INSTANCES_PER_COMPONENT)
        .max_core_instances_per_component(CORE_INSTANCES_PER_COMPONENT)
        .total_memories(calls * 2)
        .max_memories_per_component(MEMORIES_PER_COMPONENT)
        .max_memory_size(limits.memory)
        .total_tables(calls * TABLES_PER_COMPONENT)
        .max_tables_per_component(TABLES_PER_COMPONENT)
        .table_elements(TABLE_ELEMENTS)
        .total_stacks(calls);
    // Clearing just the pages a call has touched takes a third off the cost of a call. Without this help of newer Linux kernels the
    // lowest pages would be cleared whether touched or not, which costs more than giving them back.
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(KEPT_MEMORY).table_keep_resident(KEPT_TABLE);
    }
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .wasm_component_model(true)
        .epoch_interruption(true);
    config
}

/// Advances the epoch until the engine is gone.
fn tick(engine: &Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    let ticking = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(EPOCH_TICK);
        }
    };
    std::thread::Builder::new().name("adapter-epoch".into()).spawn(ticking).map(drop)
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, LoadError> {
    let file = fs::File::open(path).map_err(LoadError::Io)?;
    let mut bytes = Vec::new();
    file.take(COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(LoadError::Io)?;
    if bytes.len() as u64 > COMPONENT_BYTES { Err(LoadError::TooLarge(COMPONENT_BYTES)) } else { Ok(bytes) }
}

/// The threads guests run on. Dropping them never waits: the last owner may be an actor.
pub(super) struct GuestThreads(Option<Runtime>);

impl GuestThreads {
    fn start(threads: usize) -> Result<GuestThreads, HostError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("adapter")
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

    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.runtime().spawn(work)
    }

    fn spawn_blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
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
