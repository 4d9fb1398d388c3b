//! Cost of the audit trail and the access log for bookings. The same load runs with and without them in rotation, so
//! that a slower machine or a fuller disk affects all variants.

use std::fs;

use super::{
    bookings,
    options::{BenchResult, Options},
    report::{Aim, BenchReport},
};

const ROUNDS: usize = 3;
/// Arguments of the server, and names in the report.
const WAYS: [(&str, &str); 3] =
    [("wait", "neither"), ("wait+audit", "with the audit trail"), ("wait+log", "with the access log, to a file")];

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "the audit trail and the access log",
        format!("bookings over HTTP as in `bookings`, write-backs queued; {ROUNDS} rounds, a server of its own for each figure"),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let dir = tempfile::Builder::new().prefix("bench-audit").tempdir_in(&options.dir)?;
    // Half of the bookings of `bookings` per run, because write-backs are not compared.
    let options = Options { bookings: options.bookings.div_ceil(2), ..options.clone() };
    let mut sums = [0.0; WAYS.len()];
    for round in 0..ROUNDS {
        let dir = dir.path().join(round.to_string());
        fs::create_dir(&dir)?;
        // Rotates the order, so that no variant is always first.
        for turn in 0..WAYS.len() {
            let at = (turn + round) % WAYS.len();
            let (how, what) = WAYS[at];
            sums[at] += runtime.block_on(bookings::product(&options, &dir, how, None, what, report))?.per_second;
        }
    }
    report.number("with the audit trail / without", sums[1] / sums[0], "", Aim::AtLeast(0.97));
    report.number("with the access log / without", sums[2] / sums[0], "", Aim::AtLeast(0.95));
    Ok(())
}
