//! Start with many idle locations. The cost must not grow with their number.

use std::{
    collections::HashMap,
    error::Error,
    fs, io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts};
use location::{
    event::Event,
    ids::{InstitutionId, LocationId},
    settings::Quota,
    state::State,
    time::{DAY, HOUR, SECOND, Timestamp},
};
use processor::note_keys::description_key;
use records::ehr::Ehr;
use runtime::clock;
use sandbox_host::Sandboxes;
use serde::Deserialize;
use setup::{Setup, StoreEngine};
use store::{Batch, Direction, EngineKind, Store, journal, keys};
use webhooks::subscriptions::Everyone;

use super::{
    activation::first_sync,
    options::{BenchResult, Options},
    own_ehr::InProcessEhr,
    practices,
    report::{Aim, BenchReport, print_line},
    servers::{BenchServer, ready},
};
use crate::harness::fixtures;

const PER_INSTITUTION: u32 = 100;
const APPOINTMENTS: usize = 20;
/// Locations per commit.
const AT_ONCE: u32 = 500;
/// Idle time before the process's memory is read again.
const REST: Duration = Duration::from_secs(3);

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "idle locations",
        format!(
            "{} locations asleep, each with a snapshot of {APPOINTMENTS} appointments, a journal and a wake time an hour or more ahead; \
             the engine as `serve` opens it, in a process of its own",
            options.idle
        ),
    );
    let dir = tempfile::Builder::new().prefix("bench-idle").tempdir_in(&options.dir)?;
    actix_rt::System::new().block_on(prepare(dir.path(), options.idle))?;
    let folder = dir.path().to_str().ok_or("a folder whose name is no text")?;
    let locations = options.idle.to_string();
    for (verify, what) in [("true", "every record verified"), ("false", "as shipped")] {
        let server = BenchServer::start(&["idle", folder, &locations, verify])?;
        let start = Duration::from_secs_f64(printed_figure(&server, "start")?);
        std::thread::sleep(REST);
        let memory = resident(server.pid())?;
        report.time(&format!("start: store and engine, {what}"), start, Aim::Below(Duration::from_millis(800)));
        report.megabytes("  memory of the whole process after 3 s", memory, Aim::BelowMegabytes(150.0));
        report.megabytes("  of it the configuration of all locations", printed_figure(&server, "setup")?, Aim::None);
    }
    Ok(())
}

/// Returns a figure that the process printed before it was ready.
fn printed_figure(server: &BenchServer, name: &str) -> Result<f64, String> {
    let figure = server.output.iter().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    figure.ok_or_else(|| format!("the process did not say `{name}`: {:?}", server.output))
}

fn setup(locations: u32) -> Setup {
    let mut setup = Setup::default();
    for first in (1..=locations).step_by(PER_INSTITUTION as usize) {
        let id = InstitutionId(1 + first / PER_INSTITUTION);
        let count = PER_INSTITUTION.min(locations + 1 - first);
        practices::add_institution(&mut setup, id, &format!("practice-{id}"), first, count);
    }
    // As a loaded configuration is.
    setup.compact();
    setup
}

/// One location runs its first pull and becomes idle; the others are copies of it.
async fn prepare(dir: &Path, locations: u32) -> BenchResult {
    let first = LocationId(1);
    let start = (i64::from(fixtures::today()) + 1) * DAY / SECOND;
    let ehr: Arc<dyn Ehr> = Arc::new(InProcessEhr::booked(start, APPOINTMENTS));
    let mut parts = Parts::new(practices::store(dir)?, RecordViews::shared());
    parts.own = HashMap::from([(first, ehr)]);
    let store = parts.store.clone();
    let engine = Engine::start(setup(1), parts).await?;
    first_sync(&engine, first).await?;
    engine.stop().await;
    drop(engine);
    let next = clock::now().plus(HOUR).0;
    let model = journal::load(&*store, first.0)?;
    let state = state_of(&model)?;
    let record = last_record(&*store, first.0)?;
    let description = store.get(&description_key(first))?.ok_or("the location has no description")?;
    for block in (2..=locations).step_by(AT_ONCE as usize) {
        let mut batch = Batch::new();
        for id in block..(block + AT_ONCE).min(locations + 1) {
            journal::append(&mut batch, id, journal::FIRST_SEQ, record.clone());
            journal::write_snapshot(&mut batch, id, journal::FIRST_SEQ, &state);
            let wake = next + i64::from(id);
            batch.put(description_key(LocationId(id)), description.clone());
            batch.put(keys::wake(wake, id), Vec::new()).put(keys::asleep(id), wake.to_be_bytes().to_vec());
        }
        store.commit(batch).await?;
    }
    Ok(())
}

/// Returns the state that a load of the location would produce.
fn state_of(model: &journal::Loaded) -> Result<Vec<u8>, Box<dyn Error>> {
    #[derive(Deserialize)]
    struct JournalTurn {
        at: Timestamp,
        events: Vec<Event>,
    }
    let snapshot = model.snapshot.as_ref().map(|(_, bytes)| serde_json::from_slice(bytes)).transpose()?;
    let mut state: State = snapshot.unwrap_or_default();
    for (_, bytes) in &model.tail {
        let turn: JournalTurn = serde_json::from_slice(bytes)?;
        turn.events.iter().for_each(|event| state.evolve(turn.at, event, Quota::default()));
    }
    Ok(serde_json::to_vec(&state)?)
}

fn last_record(store: &dyn Store, location: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let range = store::KeyRange::new(keys::journal(location, 0), keys::journal(location, u64::MAX));
    let last = store.scan(range, Direction::Backward, 1)?.pop();
    Ok(last.ok_or("the location has no journal")?.1)
}

/// Starts an engine in this process and idles.
pub async fn serve(dir: &Path, locations: u32, verify: bool) -> BenchResult {
    let before = resident(std::process::id())?;
    let mut setup = setup(locations);
    setup.engine.store_verify = verify;
    setup.engine.store_engine = match practices::engine() {
        EngineKind::Sled => StoreEngine::Sled,
        EngineKind::Fjall => StoreEngine::Fjall,
    };
    print_line(format!("setup {}", resident(std::process::id())? - before));
    let start = Instant::now();
    let opened = engine::open(setup, dir, RecordViews::shared(), Arc::new(Everyone), &Sandboxes::default()).await?;
    print_line(format!("start {}", start.elapsed().as_secs_f64()));
    opened.engine.ready()?;
    ready(([127, 0, 0, 1], 0).into());
    std::future::pending::<()>().await;
    Ok(())
}

/// Returns the resident memory of a process in megabytes.
pub fn resident(pid: u32) -> io::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<f64>().ok());
    kib.map(|kib| kib * 1_024.0 / 1e6).ok_or_else(|| io::Error::other("no VmRSS"))
}
