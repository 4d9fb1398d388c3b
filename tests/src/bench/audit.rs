//! What the audit trail and the access log cost the booking path: the same load with and without them, in turn, so that a machine that
//! grows slower, or a disk that fills, is slower for all.

use std::fs;

use super::{
    bookings,
    options::{Options, Outcome},
    report::{Aim, Report},
};

const ROUNDS: usize = 3;
/// How the server is told, and what it is called here.
const WAYS: [(&str, &str); 3] =
    [("wait", "neither"), ("wait+audit", "with the audit trail"), ("wait+log", "with the access log, to a file")];

pub fn run(options: &Options, report: &mut Report) -> Outcome {
    report.section(
        "the audit trail and the access log",
        format!("bookings over HTTP as in `bookings`, write-backs queued; {ROUNDS} rounds, a server of its own for each figure"),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let dir = tempfile::Builder::new().prefix("bench-audit").tempdir_in(&options.dir)?;
    // A run takes as many as one of `bookings`, and has no write-backs to compare with.
    let options = Options { bookings: options.bookings.div_ceil(2), ..options.clone() };
    let mut sums = [0.0; WAYS.len()];
    for round in 0..ROUNDS {
        let dir = dir.path().join(round.to_string());
        fs::create_dir(&dir)?;
        // Nobody is always the first one.
        for turn in 0..WAYS.len() {
            let at = (turn + round) % WAYS.len();
            let (how, what) = WAYS[at];
            sums[at] += runtime.block_on(bookings::product(&options, &dir, how, None, what, report))?.per_second;
        }
    }
    report.number("with the audit trail / without", sums[1] / sums[0], "", Aim::AtLeast(0.95));
    report.number("with the access log / without", sums[2] / sums[0], "", Aim::AtLeast(0.95));
    Ok(())
}
