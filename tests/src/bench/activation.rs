//! Time to load a location into memory: read, decrypt, verify, decode, and apply the tail of the journal.

use std::{
    collections::{HashMap, VecDeque},
    error::Error,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts};
use location::{
    command::{Command, Hold, OfferedSlot, Placement},
    ids::LocationId,
    slots::SlotQuery,
    time::{DAY, MINUTE, SECOND},
    zone::Date,
};
use processor::{
    change_counter::ChangeCounter,
    id_pool::Pool,
    processor::{Deps, Processor},
};
use records::ehr::Ehr;
use runtime::clock;
use setup::{Current, Setup};
use store::{Store, counters::Ids, secrets::Secrets};

use super::{
    options::{BenchResult, Options},
    own_ehr::{InProcessEhr, Writes},
    practices,
    report::{Aim, BenchReport, median},
};
use crate::harness::fixtures;

const LOCATION: LocationId = LocationId(1);
const ROUNDS: usize = 7;
/// Commits in flight while the journal is filled.
const AHEAD: usize = 2_000;

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "activation",
        format!("one location on the embedded store, each time from a store opened again; median of {ROUNDS}"),
    );
    actix_rt::System::new().block_on(async {
        let dir = tempfile::Builder::new().prefix("bench-activation").tempdir_in(&options.dir)?;
        let appointments = options.appointments;
        let free = fill_calendar(dir.path(), appointments).await?;
        let (time, found) = activated(dir.path()).await?;
        let what = format!("{found} future appointments, all in the snapshot");
        report.time(&what, time, Aim::Below(Duration::from_millis(5)));
        let records = fill_journal(dir.path(), free, options.journal).await?;
        let (time, found) = activated(dir.path()).await?;
        let what = format!("{records} records, {found} appointments, longest possible tail");
        report.time(&what, time, Aim::Below(Duration::from_millis(200)));
        Ok(())
    })
}

/// Pulls an EHR with this number of appointments through the engine and unloads the location. Returns a free place.
async fn fill_calendar(dir: &Path, appointments: usize) -> Result<Placement, Box<dyn Error>> {
    let start = (i64::from(fixtures::today()) + 1) * DAY / SECOND;
    let ehr: Arc<dyn Ehr> = Arc::new(InProcessEhr::booked(start, appointments));
    let mut parts = Parts::new(practices::store(dir)?, RecordViews::shared());
    parts.own = HashMap::from([(LOCATION, ehr)]);
    let engine = Engine::start(practices::setup(1), parts).await?;
    first_sync(&engine, LOCATION).await?;
    let days_filled = appointments as i64 * 30 / (24 * 60 * super::own_ehr::OPERATORIES as i64);
    let query = query(fixtures::today() + i32::try_from(days_filled)? + 3);
    let free = engine.free_slots(LOCATION, query).await?;
    let slot = free.slots.first().ok_or("no free slot")?;
    engine.stop().await;
    Ok(Placement { operatory: slot.operatory, provider: Some(slot.provider), span: slot.span })
}

pub async fn first_sync(engine: &Engine, location: LocationId) -> Result<(), Box<dyn Error>> {
    let since = Instant::now();
    while engine.sync_state(location).await?.last_sync.is_none() {
        if since.elapsed() > Duration::from_secs(60) {
            return Err("the first read cycle did not end".into());
        }
        actix_rt::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

fn query(from: i32) -> SlotQuery {
    SlotQuery { limit: 1, ..testing::slot_query(Date(from), 7, 30 * MINUTE, clock::now()) }
}

/// Returns the shared state of an engine's locations, without an engine.
pub async fn env(setup: Setup, store: Arc<dyn Store>) -> Result<Arc<Deps>, Box<dyn Error>> {
    let ids = Arc::new(Ids::new(store.clone()));
    let secrets = Secrets::load(&store).await?;
    let change_counter = ChangeCounter::new(&setup);
    Ok(Arc::new(Deps {
        is_local: None,
        image_permits: None,
        setup: Arc::new(Current::from_pointee(setup)),
        store,
        ids,
        pool: Pool::default(),
        secrets,
        index: Arc::default(),
        long_work: Default::default(),
        change_counter,
        change_doorbell: Arc::default(),
        call_queue: Arc::default(),
    }))
}

/// Returns the median load time and the number of appointments in memory.
async fn activated(dir: &Path) -> Result<(Duration, usize), Box<dyn Error>> {
    let (mut times, mut found) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        let env = env(practices::setup(1), practices::store(dir)?).await?;
        let start = Instant::now();
        let shell = Processor::load(env, LOCATION)?;
        times.push(start.elapsed());
        found = shell.machine.state.appointments.len();
    }
    Ok((median(times), found))
}

/// Takes and releases holds as the location would. Snapshots are written when due, except at the end, so that the
/// tail is as long as possible. Commits do not wait for durability, which saves time and does not change the data on
/// disk.
async fn fill_journal(dir: &Path, place: Placement, count: usize) -> Result<usize, Box<dyn Error>> {
    let env = env(practices::setup(1), practices::store(dir)?).await?;
    let mut shell = Processor::load(env.clone(), LOCATION)?;
    let mut under_way = VecDeque::new();
    let mut records = 0;
    loop {
        if shell.snapshot_due() {
            while let Some(committed) = under_way.pop_front() {
                committed.await?;
            }
            if records >= count {
                return Ok(records);
            }
            env.store.commit(shell.snapshot()?).await?;
            shell.snapshot_taken();
        }
        let hold = records as u64 / 2;
        let command = match records % 2 {
            0 => {
                let offer = OfferedSlot { hold, ..OfferedSlot::new(place, clock::now().plus(DAY)) };
                Command::Hold(Hold { offer, holder: None })
            }
            _ => Command::Release { hold },
        };
        let (mut turn, ()) = shell.prepare(clock::cx(), None, &command)?;
        if turn.is_free() {
            return Err("a hold was refused".into());
        }
        under_way.push_back(env.store.commit(std::mem::take(&mut turn.batch)));
        shell.finish(turn);
        records += 1;
        if under_way.len() >= AHEAD
            && let Some(committed) = under_way.pop_front()
        {
            committed.await?;
        }
    }
}

/// Returns an in-process EHR for each location.
pub fn in_process_ehrs(locations: u32, writes: Writes) -> HashMap<LocationId, Arc<dyn Ehr>> {
    let ehr = |id| (LocationId(id), Arc::new(InProcessEhr::new(writes)) as Arc<dyn Ehr>);
    (1..=locations).map(ehr).collect()
}
