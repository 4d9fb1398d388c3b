//! The power goes while a process writes. The process is a real one: what it does to its files is recorded below the C library
//! (`shim.rs`), the disk as it may be after a cut at any moment is made from the recording (`image.rs`), and a store is opened on it. What
//! was acknowledged before the cut must be there, of each commit all or nothing, and what is there must be what was written.
//!
//! ```text
//!  workload in a process of its own ──(shim)──► recording ──► image ──► a state ──► open, compare, go on
//!                 ▲                                                       │
//!                 └────────────── some states are worked on, and cut again ┘
//! ```
//!
//! 1,000 states of each engine, or as many as fit into two and a half minutes; `POWER_CUT_STATES=n` wants so many at least.
//! `POWER_CUT_SEED=n` begins elsewhere. Which states a seed makes depends on nothing else but how the recorded threads took turns.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod image;
mod random;
mod recording;
mod workload;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use image::{Fate, Image};
use random::Random;
use recording::Operation;
use store::EngineKind;
use tempfile::TempDir;
use workload::Counts;

/// Of each engine.
const STATES: u64 = 1_000;
const TIME: Duration = Duration::from_secs(150);
const STATES_OF_A_RECORDING: u64 = 100;
const STATES_OF_A_SECOND_RECORDING: u64 = 6;

/// In memory where the machine has room for files there: syncs are what a state costs on a disk, and no power is really cut.
fn new_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A process that worked on a folder while it was recorded.
struct Recorded {
    operations: Vec<(u64, Operation)>,
    /// How far the writers had got, and how long the recording was then.
    acknowledged: Vec<(u64, Counts)>,
}

impl Recorded {
    fn acknowledged_until(&self, written: u64) -> Counts {
        let mut all = Counts::default();
        for (_, counts) in self.acknowledged.iter().filter(|(at, _)| *at <= written) {
            for (most, count) in all.iter_mut().zip(counts) {
                *most = (*most).max(*count);
            }
        }
        all
    }
}

/// Works in a process of its own on the store below `folder`, and records it.
fn record(shim: &Path, engine: EngineKind, folder: &Path, seed: u64) -> Recorded {
    let beside = new_folder();
    let (log, told) = (beside.path().join("log"), beside.path().join("acknowledged"));
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_that_is_recorded", "--nocapture"])
        .env("LD_PRELOAD", shim)
        .env("POWER_CUT_DIR", folder)
        .env("POWER_CUT_LOG", &log)
        .env("POWER_CUT_ACKNOWLEDGED", &told)
        .env("POWER_CUT_ENGINE", engine.to_string())
        .env("POWER_CUT_SEED", seed.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{engine}, seed {seed}: {said}");
    Recorded { operations: recording::read(&log), acknowledged: workload::read_acknowledged(&told) }
}

/// Does nothing but in the process that `record` starts.
#[test]
fn the_process_that_is_recorded() {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    if let (Some(folder), Some(log), Some(acknowledged)) =
        (variable("POWER_CUT_DIR"), variable("POWER_CUT_LOG"), variable("POWER_CUT_ACKNOWLEDGED"))
    {
        let (engine, seed) = (std::env::var("POWER_CUT_ENGINE").unwrap(), std::env::var("POWER_CUT_SEED").unwrap());
        workload::run(engine.parse().unwrap(), &folder, seed.parse().unwrap(), &log, &acknowledged);
    }
}

#[test]
fn a_power_cut_at_any_moment_loses_nothing_acknowledged_on_sled() {
    at_any_moment(EngineKind::Sled);
}

#[test]
fn a_power_cut_at_any_moment_loses_nothing_acknowledged_on_fjall() {
    at_any_moment(EngineKind::Fjall);
}

fn at_any_moment(engine: EngineKind) {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let (wanted, first) = (number("POWER_CUT_STATES"), number("POWER_CUT_SEED").unwrap_or(1));
    let tools = new_folder();
    let shim = recording::compile_shim(tools.path());
    let begun = Instant::now();
    let mut states = 0;
    for seed in first.. {
        if states >= wanted.unwrap_or(STATES) || wanted.is_none() && begun.elapsed() > TIME {
            break;
        }
        states += one_recording(&shim, engine, seed);
    }
    println!("{engine}: {states} states in {:.0} s", begun.elapsed().as_secs_f64());
}

/// A test of the test: on a disk whose syncs do nothing, what was acknowledged is missed.
#[test]
fn a_disk_that_lies_is_noticed() {
    let tools = new_folder();
    let shim = recording::compile_shim(tools.path());
    let folder = new_folder();
    let mut before = Image::of(folder.path());
    before.ignores_syncs = true;
    let recorded = record(&shim, EngineKind::Sled, folder.path(), 0);
    let noticed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        cut(before, &recorded, folder.path(), 20, &mut Random::new(0), |state, acknowledged, what| {
            workload::look(EngineKind::Sled, state, &acknowledged, what);
        });
    }));
    assert!(noticed.is_err());
}

/// How many states were looked at.
fn one_recording(shim: &Path, engine: EngineKind, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let folder = new_folder();
    let before = Image::of(folder.path());
    let recorded = record(shim, engine, folder.path(), seed);
    let (mut worked_on, mut states) = (Random::new(!seed), 0);
    cut(before, &recorded, folder.path(), STATES_OF_A_RECORDING, &mut random, |state, acknowledged, what| {
        let what = format!("{engine}, seed {seed}, {what}");
        states += 1;
        if worked_on.below(20) > 0 {
            workload::look(engine, state, &acknowledged, &what);
            return;
        }
        // The power goes again while a start mends what the first cut left, or after it.
        let before = Image::of(state);
        let mut recorded = record(shim, engine, state, seed);
        recorded.acknowledged.push((0, acknowledged));
        cut(before, &recorded, state, STATES_OF_A_SECOND_RECORDING, &mut worked_on, |state, acknowledged, then| {
            states += 1;
            workload::look(engine, state, &acknowledged, &format!("{what}, then {then}"));
        });
    });
    states
}

/// Cuts the power at moments of chance, and hands each state out with what was acknowledged of it.
fn cut(
    mut image: Image,
    recorded: &Recorded,
    folder: &Path,
    states: u64,
    random: &mut Random,
    mut each: impl FnMut(&Path, Counts, &str),
) {
    let operations = &recorded.operations;
    let mut moments: Vec<usize> = (0..states).map(|_| random.below(operations.len() as u64 + 1) as usize).collect();
    moments.sort_unstable();
    let mut moments = moments.into_iter().peekable();
    for moment in 0..=operations.len() {
        while moments.next_if_eq(&moment).is_some() {
            let fate = [Fate::Lost, Fate::Kept, Fate::Mixed, Fate::Mixed][random.below(4) as usize];
            let state = new_folder();
            image.cut(fate, random, state.path());
            let written = moment.checked_sub(1).map_or(0, |last| operations[last].0);
            let what = format!("operation {moment} of {}, unsynced {fate:?}", operations.len());
            each(state.path(), recorded.acknowledged_until(written), &what);
        }
        if let Some((_, operation)) = operations.get(moment) {
            image.follow(operation);
        }
    }
    image.assert_is(folder);
}
