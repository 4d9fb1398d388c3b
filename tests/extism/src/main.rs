//! Benchmark of the plug-in in `plugin/`, comparable with `bench adapter`. See README.md.

#[path = "../plugin/src/contract.rs"]
mod contract;
mod ehr;
mod plugins;

use std::{
    env, fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant, SystemTime},
};

use contract::{PullAnswer, PullFault};
use ehr::InstantEhr;
use extism::{CompiledPlugin, Error, Plugin, UserData};
use plugins::{Memory, compile, pull};

const CALLS: usize = 3_000;
/// Number of calls for pages, which take longer.
const PAGES: usize = 300;
const PATIENTS: u32 = 1_000;

const BUILD: &str = "cargo build --profile plugin -p extism-plugin --target wasm32-unknown-unknown";

fn main() -> Result<(), Error> {
    let profile = if cfg!(debug_assertions) { "debug (figures mean little)" } else { "release" };
    println!("machine: {} cores; build: {profile}", thread::available_parallelism()?);
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/wasm32-unknown-unknown/plugin/extism_plugin.wasm");
    let wasm = fs::read(&path).map_err(|e| Error::msg(format!("{}: {e}; build it: {BUILD}", path.display())))?;
    println!("the plug-in: {:.2} MB", wasm.len() as f64 / 1e6);
    let now_ms = i64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_millis())?;
    let ehr = UserData::new(InstantEhr::new(now_ms, PATIENTS)?);

    let start = Instant::now();
    let compiled = compile(&wasm, &ehr, Memory::Fresh)?;
    println!("compiled, once: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    fresh("a fresh instance for each call, as Extism does it by default", &compiled)?;
    let pooled = compile(&wasm, &ehr, Memory::Pooled)?;
    fresh("a fresh instance for each call, its memory from wasmtime's pool", &pooled)?;
    let mut plugin = Plugin::new_from_compiled(&compiled)?;
    series("one instance for all calls: Extism's usual way, and not as isolated as ours", |call| call(&mut plugin))
}

fn fresh(way: &str, compiled: &CompiledPlugin) -> Result<(), Error> {
    series(way, |call| call(&mut Plugin::new_from_compiled(compiled)?))
}

type PluginCall<'a> = &'a dyn Fn(&mut Plugin) -> Result<(), Error>;

/// Measures all figures of one kind of instantiation.
fn series(way: &str, mut through: impl FnMut(PluginCall<'_>) -> Result<(), Error>) -> Result<(), Error> {
    println!("\n{way}; one after the other; median and 99th of {CALLS}, of {PAGES} pages");
    timed("a call whose guest does nothing", CALLS, || through(&nothing))?;
    for limit in [100, PATIENTS] {
        timed(&format!("a page of {limit} patients"), PAGES, || through(&|plugin| page(plugin, limit)))?;
    }
    Ok(())
}

/// Calls with an invalid cursor, which the guest rejects without further work.
fn nothing(plugin: &mut Plugin) -> Result<(), Error> {
    match pull(plugin, Some("no cursor"), 1)? {
        PullAnswer::Fault(PullFault::Rejected(_)) => Ok(()),
        other => Err(Error::msg(format!("expected a rejection, got {other:?}"))),
    }
}

fn page(plugin: &mut Plugin, limit: u32) -> Result<(), Error> {
    match pull(plugin, None, limit)? {
        PullAnswer::Page(page) if page.records.len() == limit as usize => Ok(()),
        other => Err(Error::msg(format!("expected {limit} patients, got {other:?}"))),
    }
}

fn timed(what: &str, calls: usize, mut call: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("  {what:<34} {:>9.1} µs {:>9.1} µs", micros(times[calls / 2]), micros(times[calls * 99 / 100]));
    Ok(())
}
