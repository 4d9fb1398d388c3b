//! The compiled plug-in and its kinds of instantiation.

use std::time::Duration;

use extism::{CompiledPlugin, Error, Manifest, PTR, Plugin, PluginBuilder, UserData, Wasm, convert::Json, host_fn};
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::{
    contract::{EhrHttpRequest, Pull, PullAnswer},
    ehr::{InstantEhr, LOCATION},
};

/// Memory and deadline of a call, equal to the limits of the adapter host.
const MEMORY: usize = 64 << 20;
const DEADLINE: Duration = Duration::from_secs(5);
const PAGE_OF_WASM: usize = 64 << 10;
/// Bytes that are cleared instead of released after a call, as in the adapter host.
const KEPT_MEMORY: usize = 256 << 10;
const KEPT_TABLE: usize = 16 << 10;

host_fn!(send(ehr: InstantEhr; request: Json<EhrHttpRequest>) -> Vec<u8> {
    let ehr = ehr.get()?;
    let mut ehr = ehr.lock().map_err(|_| Error::msg("a call before this one panicked"))?;
    ehr.answer(&request.0)
});

/// The source of an instance's memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Extism's default: newly allocated by the operating system each time.
    Fresh,
    /// Wasmtime's pool with the adapter host's settings.
    Pooled,
}

pub fn compile(wasm: &[u8], ehr: &UserData<InstantEhr>, memory: Memory) -> Result<CompiledPlugin, Error> {
    let pages = u32::try_from(MEMORY / PAGE_OF_WASM)?;
    let manifest = Manifest::new([Wasm::data(wasm)])
        .with_memory_max(pages)
        .with_timeout(DEADLINE)
        .with_config_key("location", LOCATION);
    let mut builder = PluginBuilder::new(manifest).with_cache_disabled();
    if memory == Memory::Pooled {
        builder = builder.with_wasmtime_config(pooled());
    }
    builder.with_function("send", [PTR], [PTR], ehr.clone(), send).compile()
}

/// Returns the settings of `engine/adapter-host` that apply to a module without components.
fn pooled() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.max_memory_size(MEMORY);
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(KEPT_MEMORY).table_keep_resident(KEPT_TABLE);
    }
    let mut config = Config::new();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

pub fn pull(plugin: &mut Plugin, cursor: Option<&str>, limit: u32) -> Result<PullAnswer, Error> {
    let asked = Pull { resource: "patients".to_owned(), cursor: cursor.map(str::to_owned), limit };
    let Json(answer) = plugin.call::<_, Json<PullAnswer>>("pull", Json(asked))?;
    Ok(answer)
}
