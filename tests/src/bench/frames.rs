//! The cost of a booking's values in the store: one by one, and as one frame per commit. The tables are then filled
//! from many frames at once.

use std::{error::Error, sync::Arc, time::Duration};

use store::{Batch, Store, keys};

use super::{
    options::{BenchResult, Options},
    practices,
    processor_time::ProcessorTime,
    report::{Aim, BenchReport},
};

const BOOKINGS: u64 = 40_000;
const IN_FLIGHT: u64 = 64;
/// Bookings per batch of the tables.
const FILLED_AT_ONCE: u64 = 100;
/// Approximate sizes of the values of a booking of a new patient: journal record, patient, appointment, entries in the
/// log of changes of the data source and of the location, claim of the idempotency key, key for matching patients.
const JOURNAL: usize = 700;
const PATIENT: usize = 450;
const APPOINTMENT: usize = 500;
const CHANGE: usize = 260;
const CLAIM: usize = 60;
const MATCH: usize = 20;
/// Size of a value with many changes of one stream.
const CHANGES: usize = 2_800;

#[derive(Clone, Copy)]
enum Values {
    /// A value for each fact, as committed today.
    Each,
    /// A frame with all facts, and the values that must be unique.
    Frame,
}

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "values per commit",
        format!("{BOOKINGS} commits of a booking's values, {IN_FLIGHT} in flight; processor time of this process"),
    );
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio.block_on(async {
        let each = measured(options, async |store| commit_bookings(store, Values::Each).await).await?;
        report.time("a value for each fact", each, Aim::None);
        let frame = measured(options, async |store| commit_bookings(store, Values::Frame).await).await?;
        report.time("one frame and what must be unique", frame, Aim::None);
        let tables = measured(options, fill_tables).await?;
        report.time(&format!("the tables, filled {FILLED_AT_ONCE} bookings at once"), tables, Aim::None);
        report.number("frame and tables / a value for each fact", ratio(frame + tables, each), "", Aim::None);
        Ok(())
    })
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// Returns the processor time per booking.
async fn measured(
    options: &Options,
    work: impl AsyncFnOnce(Arc<dyn Store>) -> BenchResult,
) -> Result<Duration, Box<dyn Error>> {
    let dir = tempfile::Builder::new().prefix("bench-frames").tempdir_in(&options.dir)?;
    let store = practices::store(dir.path())?;
    let this = std::process::id();
    let before = ProcessorTime::by(this)?.total();
    work(store.clone()).await?;
    let spent = ProcessorTime::by(this)?.total().saturating_sub(before);
    Ok(spent.div_f64(BOOKINGS as f64))
}

async fn commit_bookings(store: Arc<dyn Store>, values: Values) -> BenchResult {
    let clients: Vec<_> = (1..=IN_FLIGHT as u32)
        .map(|location| {
            let store = store.clone();
            tokio::spawn(async move {
                for seq in 1..=BOOKINGS / IN_FLIGHT {
                    store.commit(booking(location, seq, values)).await?;
                }
                Ok::<_, store::CommitError>(())
            })
        })
        .collect();
    for client in clients {
        client.await??;
    }
    Ok(())
}

fn booking(location: u32, seq: u64, values: Values) -> Batch {
    let id = u64::from(location) << 32 | seq;
    let digest = spread(id);
    let (claim, matched, patient) =
        (keys::claim(1, &digest), keys::patient_match(1, 1, &digest), keys::record(1, 1, id));
    let mut batch = Batch::new();
    for key in [&claim, &matched, &patient] {
        batch.expect_absent(key.clone());
    }
    let journaled = match values {
        Values::Each => JOURNAL,
        Values::Frame => JOURNAL + PATIENT + APPOINTMENT + 2 * CHANGE,
    };
    store::journal::append(&mut batch, location, seq, vec![1; journaled]);
    batch.put(claim, vec![2; CLAIM]).put(matched, vec![3; MATCH]);
    if matches!(values, Values::Each) {
        batch.put(patient, vec![4; PATIENT]).put(keys::record(2, 0, id), vec![5; APPOINTMENT]);
        batch.append(1 << 32 | 1, vec![6; CHANGE]).append(2 << 32 | u64::from(location), vec![7; CHANGE]);
    }
    batch
}

/// Ids of patients are allotted in order, digests are not.
fn spread(id: u64) -> [u8; 32] {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&id.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    digest
}

async fn fill_tables(store: Arc<dyn Store>) -> BenchResult {
    for first in (1..=BOOKINGS).step_by(FILLED_AT_ONCE as usize) {
        let mut batch = Batch::new();
        for id in first..first + FILLED_AT_ONCE {
            batch.put(keys::record(1, 1, id), vec![4; PATIENT]).put(keys::record(2, 0, id), vec![5; APPOINTMENT]);
        }
        // The data source's changes fill whole values. Each location has too few of them.
        for _ in 0..(FILLED_AT_ONCE as usize * CHANGE).div_ceil(CHANGES) {
            batch.append(1 << 32 | 1, vec![6; CHANGES]);
        }
        for location in 1..=IN_FLIGHT {
            batch.append(2 << 32 | location, vec![7; CHANGE * FILLED_AT_ONCE as usize / IN_FLIGHT as usize]);
        }
        store.commit(batch).await?;
    }
    Ok(())
}
