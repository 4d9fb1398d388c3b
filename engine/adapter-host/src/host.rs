//! The wasm engine that runs adapters. One per process, with its own threads, so that a spinning guest stalls no other
//! work for longer than a tick of the epoch.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use adapter_component::{
    COMPONENT_BYTES, InvalidComponent,
    signature::{self, Signer},
};
use runtime::metrics::{Collector, Family};
use setup::guests::HostLimits;
use sha2::{Digest, Sha256};
use tokio::{sync::Semaphore, task::JoinHandle};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    component::{Component, HasSelf, Linker},
};

use super::{
    Adapter, AdapterRegistry, CostsByCall, HostError, LoadError, LoadFailed, Manifest, bindings,
    cache::Cache,
    call_permits::CallPermits,
    costs::Costs,
    exports::Exports,
    host_shared::{GuestThreads, HostShared},
    limits::{
        CORE_INSTANCES_PER_COMPONENT, EPOCH_TICK, KEPT_MEMORY, KEPT_TABLE, MEMORIES_PER_COMPONENT, REASON_BYTES,
        TABLE_ELEMENTS, TABLES_PER_COMPONENT,
    },
    metered::turns_of_long_calls,
    plain, trial,
};

/// Loads adapters. Cheap to clone.
#[derive(Clone)]
pub struct Host(Arc<HostShared>);

impl Host {
    /// Creates the host. `cache_dir` holds compiled components and is created if it does not exist.
    pub fn new(limits: HostLimits, cache_dir: &Path) -> Result<Host, HostError> {
        Host::start(limits, Some(cache_dir))
    }

    /// Validates a component file as a server does on loading. Checks its manifest, contract and size, and that it
    /// compiles and starts. Returns the manifest.
    pub async fn judge(limits: HostLimits, path: &Path) -> Result<Manifest, Box<dyn Error + Send + Sync>> {
        Ok(Host::start(limits, None)?.load(path).await?.manifest().clone())
    }

    fn start(limits: HostLimits, cache_dir: Option<&Path>) -> Result<Host, HostError> {
        let unusable = |error: wasmtime::Error| HostError::Engine(format!("{error:#}"));
        // Without a cache, components are compiled at each start: slower, but everything works.
        let cache = cache_dir.and_then(|dir| {
            let refused = |error| tracing::error!(dir = %dir.display(), %error, "the cache of compiled adapters is not available");
            Cache::open(dir).map_err(refused).ok()
        });
        let engine = Engine::new(&config(&limits)).map_err(unusable)?;
        let mut linker = Linker::new(&engine);
        bindings::Adapter::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state).map_err(unusable)?;
        let threads = GuestThreads::start(limits.threads)?;
        tick(&engine).map_err(HostError::Threads)?;
        let places = CallPermits::new(limits.calls, limits.calls_per_source, limits.calls_per_host);
        let turns = turns_of_long_calls(limits.threads);
        let compiling = Arc::new(Semaphore::new(compilers(&limits)));
        let compile_time = limits.compile;
        let signers = limits.signers.into_iter().map(Signer).collect();
        let shared = HostShared {
            engine,
            linker,
            cache,
            threads,
            places,
            turns,
            costs: Costs::default(),
            compiling,
            compile_time,
            signers,
        };
        Ok(Host(Arc::new(shared)))
    }

    /// Reads, checks, compiles (or finds in the cache), links and tries a component, on the guest threads and within
    /// limits.
    pub async fn load(&self, path: &Path) -> Result<Arc<Adapter>, LoadFailed> {
        let file = path.to_path_buf();
        self.load_within(move || read_bounded(&file))
            .await
            .map_err(|reason| LoadFailed { path: path.to_path_buf(), reason })
    }

    /// Returns the costs of each adapter's calls since the start of the host, by the id in its manifest.
    pub fn costs_by_adapter(&self) -> BTreeMap<String, CostsByCall> {
        self.0.costs.by_adapter()
    }

    pub fn call_durations(&self) -> Vec<Family> {
        self.0.costs.durations.collect()
    }

    /// Returns the costs of a location's calls since the start of the host.
    pub fn costs_at(&self, location: &str) -> CostsByCall {
        self.0.costs.at(location)
    }

    /// Like `load`, for a component that is already in memory.
    pub async fn load_bytes(&self, component: Vec<u8>) -> Result<Arc<Adapter>, LoadError> {
        self.load_within(move || Ok(component)).await
    }

    async fn load_within(
        &self,
        read: impl FnOnce() -> Result<Vec<u8>, LoadError> + Send + 'static,
    ) -> Result<Arc<Adapter>, LoadError> {
        let turn = self.0.compiling.clone().acquire_owned().await.map_err(|_| LoadError::ShuttingDown)?;
        let host = self.clone();
        // The work cannot be cancelled, so the permit stays with it if the caller gives up.
        let loading = self.0.threads.spawn_blocking(move || (read().and_then(|bytes| host.load_now(&bytes)), turn));
        let loaded = tokio::time::timeout(self.0.compile_time, loading).await;
        let loaded = loaded.map_err(|_| LoadError::TooSlow(self.0.compile_time))?;
        let (adapter, _turn) = loaded.map_err(|_| LoadError::ShuttingDown)?;
        let adapter = adapter?;
        let tried = adapter.clone();
        let trial = self.0.threads.spawn(async move { trial::run(&tried).await });
        trial.await.unwrap_or(Err(LoadError::ShuttingDown))?;
        Ok(adapter)
    }

    /// Loads files under their names in the background. Until then, connections under these names wait. A file that
    /// cannot be loaded closes only the locations that need it. The task ends when all are settled.
    pub fn load_all(&self, files: BTreeMap<String, PathBuf>, registry: &AdapterRegistry) -> JoinHandle<()> {
        files.keys().for_each(|name| registry.announce(name));
        let loads: Vec<_> = files
            .into_iter()
            .map(|(name, file)| {
                let (host, registry) = (self.clone(), registry.clone());
                self.0.threads.spawn(async move { host.load_as(&name, &file, &registry).await })
            })
            .collect();
        self.0.threads.spawn(async move {
            for load in loads {
                // A panicked load leaves its adapter in preparation, which its locations report.
                drop(load.await);
            }
        })
    }

    async fn load_as(&self, name: &str, file: &Path, registry: &AdapterRegistry) {
        tracing::info!(name, file = %file.display(), "adapter: being prepared");
        let since = Instant::now();
        match self.load(file).await {
            Ok(adapter) => {
                let (id, version) = (adapter.manifest().id.clone(), adapter.manifest().version.clone());
                let (sha256, compiled, took) = (adapter.sha256(), !adapter.from_cache(), since.elapsed());
                tracing::info!(name, id, version, sha256, compiled, ?took, "adapter: ready");
                registry.swap(name, adapter);
            }
            Err(failed) => {
                let reason = plain(&failed.reason.to_string(), REASON_BYTES);
                tracing::error!(name, file = %file.display(), reason, "the adapter cannot be used; its locations are closed");
                registry.refuse(name, &reason);
            }
        }
    }

    fn load_now(&self, bytes: &[u8]) -> Result<Arc<Adapter>, LoadError> {
        let manifest = adapter_component::verdict(bytes)?;
        let shared = &self.0;
        signature::signed_by_one_of(bytes, &shared.signers)?;
        let compile = |error: wasmtime::Error| LoadError::Compile(format!("{error:#}"));
        let (component, from_cache) = match &shared.cache {
            Some(cache) => cache.component(&shared.engine, bytes),
            None => Component::new(&shared.engine, bytes).map(|component| (component, false)),
        }
        .map_err(compile)?;
        // The linker compares every type on both sides. Its messages are long; their innermost part describes the
        // difference.
        let shape = |error: wasmtime::Error| LoadError::Shape(format!("{error:#}"));
        let pre = shared.linker.instantiate_pre(&component).map_err(shape)?;
        let exports = Exports::from_instance_pre(&pre).map_err(shape)?;
        let sha256 = hex::encode(Sha256::digest(bytes));
        Ok(Arc::new(Adapter { host: shared.clone(), pre, exports, manifest: Arc::new(manifest), sha256, from_cache }))
    }
}

/// Returns the number of components that may be compiled and tried concurrently. The other threads are for calls.
fn compilers(limits: &HostLimits) -> usize {
    (limits.threads / 2).clamp(1, 8)
}

fn config(limits: &HostLimits) -> Config {
    // Instances for trials, in addition to those for calls.
    let calls = limits.calls + compilers(limits) as u32;
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
    // Clearing only the touched pages saves a third of the cost of a call. It needs the pagemap scan of newer Linux
    // kernels: without that, the lowest pages would always be cleared, which costs more than returning them.
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(KEPT_MEMORY).table_keep_resident(KEPT_TABLE);
    }
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .wasm_component_model(true)
        // One core per component: compilation during service must not take all cores.
        .parallel_compilation(false)
        .epoch_interruption(true);
    config
}

/// Advances the epoch until the engine is dropped.
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
    if bytes.len() as u64 > COMPONENT_BYTES {
        Err(InvalidComponent::TooLarge(COMPONENT_BYTES).into())
    } else {
        Ok(bytes)
    }
}
