//! Cost of booking rules for bookings. The same load runs with and without rules in rotation.

use std::fs;

use super::{
    bookings,
    options::{BenchResult, Options},
    report::{Aim, BenchReport},
};

const ROUNDS: usize = 3;
/// Arguments of the server, and names in the report.
const WAYS: [(&str, &str); 2] = [("wait", "without booking rules"), ("wait+rules", "with booking rules")];

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "booking rules",
        format!(
            "bookings over HTTP as in `bookings`, write-backs queued; rules of every kind that refuse none of them; {ROUNDS} rounds, a \
             server of its own for each figure"
        ),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let dir = tempfile::Builder::new().prefix("bench-rules").tempdir_in(&options.dir)?;
    let options = Options { bookings: options.bookings.div_ceil(2), ..options.clone() };
    let mut sums = [0.0; WAYS.len()];
    for round in 0..ROUNDS {
        let dir = dir.path().join(round.to_string());
        fs::create_dir(&dir)?;
        // Rotates the order, so that no variant is always first.
        for turn in 0..WAYS.len() {
            let at = (turn + round) % WAYS.len();
            let (how, what) = WAYS[at];
            let run = runtime.block_on(bookings::product(&options, &dir, how, None, what, report))?;
            if !run.refused.is_empty() {
                return Err(format!("{what}: refused bookings, by status: {:?}", run.refused).into());
            }
            sums[at] += run.per_second;
        }
    }
    report.number("with booking rules / without", sums[1] / sums[0], "", Aim::AtLeast(0.95));
    Ok(())
}
