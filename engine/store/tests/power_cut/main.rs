//! Tests of power loss during writes. A real process is recorded below the C library (`shim.rs`). The
//! possible disk states after a power loss at any moment are derived from the recording (`image.rs`), and a
//! store is opened on each. Acknowledged commits must exist, every commit must be complete or absent, and
//! values must be as written.
//!
//! ```text
//!  workload in a separate process ──(shim)──► recording ──► image ──► a state ──► open, compare, continue
//!                 ▲                                                     │
//!                 └─────────────── some states are used and cut again ──┘
//! ```
//!
//! Tests 1,000 states per engine, or as many as fit into two and a half minutes. `POWER_CUT_STATES=n` sets a
//! minimum, `POWER_CUT_SEED=n` the first seed. The states of a seed depend only on the scheduling of the
//! recorded threads.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod image;
mod random;
mod recording;
mod workload;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use image::{Image, UnsyncedFate};
use random::SeededRandom;
use recording::Operation;
use store::EngineKind;
use tempfile::TempDir;
use workload::Counts;

/// Number of states per engine.
const STATES: u64 = 1_000;
const TIME: Duration = Duration::from_secs(150);
const STATES_OF_A_RECORDING: u64 = 100;
const STATES_OF_A_SECOND_RECORDING: u64 = 6;

/// Creates a folder in memory if the machine supports it, because syncs are slow on a disk and unnecessary
/// here.
fn new_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// The recording of a process that worked on a folder.
struct Recording {
    operations: Vec<(u64, Operation)>,
    /// The commits acknowledged to the writers, each with the length of the recording at that time.
    acknowledged: Vec<(u64, Counts)>,
}

impl Recording {
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

/// Runs the workload on the store below `folder` in a separate process, and records it.
fn record(shim: &Path, engine: EngineKind, folder: &Path, seed: u64) -> Recording {
    let scratch = new_folder();
    let (log, acknowledged) = (scratch.path().join("log"), scratch.path().join("acknowledged"));
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "recorded_workload_process", "--nocapture"])
        .env("LD_PRELOAD", shim)
        .env("POWER_CUT_DIR", folder)
        .env("POWER_CUT_LOG", &log)
        .env("POWER_CUT_ACKNOWLEDGED", &acknowledged)
        .env("POWER_CUT_ENGINE", engine.to_string())
        .env("POWER_CUT_SEED", seed.to_string())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{engine}, seed {seed}: {stderr}");
    Recording { operations: recording::read(&log), acknowledged: workload::read_acknowledged(&acknowledged) }
}

/// Does nothing, except in the process started by `record`.
#[test]
fn recorded_workload_process() {
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

/// Verifies the test itself: on a disk with ineffective syncs, commits are missing. The list of acknowledged commits is
/// complete, because it is not on that disk.
#[test]
fn a_disk_that_loses_synced_data_is_detected() {
    let tools = new_folder();
    let shim = recording::compile_shim(tools.path());
    for engine in [EngineKind::Sled, EngineKind::Fjall] {
        let folder = new_folder();
        let mut before = Image::from_folder(folder.path());
        before.ignores_syncs = true;
        let recorded = record(&shim, engine, folder.path(), 0);
        let mut missing = 0;
        cut(before, &recorded, folder.path(), 40, &mut SeededRandom::new(0), |state, acknowledged, what| {
            let verify = || workload::verify_state(engine, state, &acknowledged, what);
            let panic = catch_unwind(AssertUnwindSafe(verify)).err().and_then(|panic| panic.downcast::<String>().ok());
            missing += usize::from(panic.is_some_and(|message| message.contains("was acknowledged")));
        });
        assert!(missing > 0, "{engine}");
    }
}

/// Tests the states of one recording. Returns their number.
fn one_recording(shim: &Path, engine: EngineKind, seed: u64) -> u64 {
    let mut random = SeededRandom::new(seed);
    let folder = new_folder();
    let before = Image::from_folder(folder.path());
    let recorded = record(shim, engine, folder.path(), seed);
    let (mut worked_on, mut states) = (SeededRandom::new(!seed), 0);
    cut(before, &recorded, folder.path(), STATES_OF_A_RECORDING, &mut random, |state, acknowledged, what| {
        let what = format!("{engine}, seed {seed}, {what}");
        states += 1;
        if worked_on.below(20) > 0 {
            workload::verify_state(engine, state, &acknowledged, &what);
            return;
        }
        // Cuts the power again, during or after the recovery from the first cut.
        let before = Image::from_folder(state);
        let mut recorded = record(shim, engine, state, seed);
        recorded.acknowledged.push((0, acknowledged));
        cut(before, &recorded, state, STATES_OF_A_SECOND_RECORDING, &mut worked_on, |state, acknowledged, then| {
            states += 1;
            workload::verify_state(engine, state, &acknowledged, &format!("{what}, then {then}"));
        });
    });
    states
}

/// Cuts the power at random moments, and passes each state on with the commits acknowledged until then.
fn cut(
    mut image: Image,
    recorded: &Recording,
    folder: &Path,
    states: u64,
    random: &mut SeededRandom,
    mut each: impl FnMut(&Path, Counts, &str),
) {
    let operations = &recorded.operations;
    let mut moments: Vec<usize> = (0..states).map(|_| random.below(operations.len() as u64 + 1) as usize).collect();
    moments.sort_unstable();
    let mut moments = moments.into_iter().peekable();
    for moment in 0..=operations.len() {
        while moments.next_if_eq(&moment).is_some() {
            let fate = [UnsyncedFate::Lost, UnsyncedFate::Kept, UnsyncedFate::Mixed, UnsyncedFate::Mixed]
                [random.below(4) as usize];
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
