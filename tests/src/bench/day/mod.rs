//! Hours of many practices in virtual time: the cost of read cycles, of changes by staff and of bookings, and from it
//! the number of nodes for a million locations.

mod ehr;
mod practice;

use std::{
    error::Error, fs, io, num::NonZero, path::Path, process, sync::Arc, thread::available_parallelism, time::Duration,
};

use adapter_host::Connection;
use chrono_tz::Tz;
use futures_util::{StreamExt, TryStreamExt, stream};
use location::{
    ids::InstitutionId,
    settings::{PullRules, Quota},
    time::{DAY, HOUR, MINUTE, Millis, SECOND, Timestamp},
};
use processor::processor::{Deps, ImagePermits};
use query::index;
use setup::Setup;
use tokio::sync::RwLock;

use self::{
    ehr::{APPOINTMENTS, ChangingEhr, initial_records},
    practice::{Change, Counts, Practice},
};
use super::{
    activation::env,
    adapter::Canned,
    idle::resident,
    options::{BenchResult, Options},
    practices,
    processor_time::ProcessorTime,
    report::{Aim, BenchReport, short},
};
use crate::harness::{components, fixtures};

/// Changes of a location per day, half of them bookings.
const CHANGES: u32 = 100;
/// The hours of the day in which practices are open and schedules change.
const OPEN: std::ops::Range<i64> = 8..18;
const PER_OPEN_HOUR: u32 = CHANGES / (OPEN.end - OPEN.start) as u32;
const NIGHT_EVERY: Millis = HOUR;
/// Hour at which runs of less than a day start.
const MORNING: i64 = 9;
/// Locations that run concurrently. Their commits form groups, which are as small as those of ten thousand locations
/// in real time.
const AT_ONCE: usize = 4;
/// Calls of the adapter that are measured.
const CALLS: usize = 1_000;
const DEADLINE: Duration = Duration::from_secs(30);
/// Locations of the computed cluster.
const MILLION: f64 = 1e6;
/// Share of its processor time that a node uses in the busiest hour.
const UTILISATION: f64 = 0.5;

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "a day of practices",
        format!(
            "{} locations for {} h of virtual time each without changes, with {PER_OPEN_HOUR} changes an hour by staff, and with as many \
             bookings, from 8 to 18 h; read cycles every 10 min, at night every {} min; {APPOINTMENTS} appointments each at the start; \
             turns, loads and commits of the engine on the embedded store, without HTTP, mailboxes and subscriptions",
            options.simulated,
            options.hours,
            NIGHT_EVERY / MINUTE
        ),
    );
    let dir = tempfile::Builder::new().prefix("bench-day").tempdir_in(&options.dir)?;
    actix_rt::System::new().block_on(measure(options, dir.path(), report))
}

async fn measure(options: &Options, dir: &Path, report: &mut BenchReport) -> BenchResult {
    let midnight = Timestamp((i64::from(fixtures::today()) + 1) * DAY);
    let mut now = if options.hours < 24 { midnight.plus(MORNING * HOUR) } else { midnight };
    let deps = shared(options.simulated, dir).await?;
    let merging = tokio::spawn(index::run(deps.index.clone(), deps.store.clone()));
    let records = initial_records(midnight.plus(10 * DAY).0 / SECOND);
    let practice = |id: u32| {
        let offset = i64::from(id) * 30 * MINUTE / i64::from(options.simulated);
        Practice::new(id, deps.clone(), ChangingEhr::new(records.clone()), now.minus(HOUR).plus(offset))
    };
    let mut practices: Vec<Practice> = (1..=options.simulated).map(practice).collect();
    let before = resident(process::id())?;
    run_until(&mut practices, now).await?;

    let mut phases = Vec::new();
    for change in [None, Some(Change::Staff), Some(Change::Booking)] {
        phases.push(Phase::run(&mut practices, now, i64::from(options.hours), change).await?);
        now = now.plus(i64::from(options.hours) * HOUR);
    }
    merging.abort();
    let [cycles, staff, bookings] = &phases[..] else { return Err("three phases".into()) };
    let locations = f64::from(options.simulated);
    let hours = options.hours;
    report.time(
        &format!("read cycles of {hours} h, each location"),
        cycles.used.processor.div_f64(locations),
        Aim::None,
    );
    cycles.report_counts(locations, report);
    let mut changes = Duration::ZERO;
    for (phase, what) in
        [(staff, "a change by staff, read by a cycle"), (bookings, "a booking with search and write-back")]
    {
        let each = phase.used.processor.saturating_sub(cycles.used.processor).div_f64(phase.changes.max(1) as f64);
        report.time(what, each, Aim::None);
        phase.report_counts(locations, report);
        changes += each * (PER_OPEN_HOUR / 2);
    }
    let peak = phases.iter().fold(before, |peak, phase| peak.max(phase.memory));
    report.megabytes("memory of all locations at its peak", peak - before, Aim::None);
    report.number("  each location", (peak - before) * 1e6 / 1_024.0 / locations, " KiB", Aim::None);
    let loaded = practices.iter().filter(|practice| practice.is_in_memory()).count();
    report.number("  locations in memory at the end", loaded as f64, "", Aim::None);

    let call = adapter_call(options.repetitions_of(CALLS)).await?;
    report.time("an adapter call with one request, processor time", call, Aim::None);
    let busiest = cycles.busiest;
    let calls = call.mul_f64(busiest.counts.calls as f64 / locations);
    let engine = busiest.processor.div_f64(locations);
    let hour = engine + changes + calls;
    report.time("the busiest hour of a location", hour, Aim::None);
    report.note(format!(
        "  of it read cycles {}, {PER_OPEN_HOUR} changes {}, adapter calls of the cycles {}",
        short(engine),
        short(changes),
        short(calls)
    ));
    let cores = available_parallelism().map_or(1, NonZero::get);
    let node = cores as f64 * UTILISATION * Duration::from_secs(3_600).div_duration_f64(hour);
    report.number(&format!("computed: locations of a node with {cores} cores, half busy"), node, "", Aim::None);
    report.number("computed: such nodes for 1,000,000 locations", (MILLION / node).ceil(), "", Aim::None);
    Ok(())
}

/// Returns the shared state of the locations, each with its own institution and without webhook subscriptions.
async fn shared(locations: u32, dir: &Path) -> Result<Arc<Deps>, Box<dyn Error>> {
    let mut deps = env(setup(locations), practices::store(dir)?).await?;
    let lock = Arc::new(RwLock::new(()));
    let permits: ImagePermits = Arc::new(move |_: InstitutionId| lock.clone().try_read_owned().ok());
    Arc::get_mut(&mut deps).ok_or("the state is shared already")?.image_permits = Some(permits);
    Ok(deps)
}

fn setup(locations: u32) -> Setup {
    let mut setup = practices::setup_apart(locations);
    for location in setup.locations.values_mut() {
        let location = Arc::make_mut(location);
        location.zone = chrono_tz::UTC;
        let settings = location.settings_mut();
        settings.pull = PullRules { night_every: NIGHT_EVERY, ..PullRules::default() };
        settings.quota = Quota::default();
    }
    setup
}

async fn run_until(practices: &mut [Practice], end: Timestamp) -> BenchResult {
    let running = stream::iter(practices).map(|practice| practice.run_until(end)).buffer_unordered(AT_ONCE);
    running.try_collect::<()>().await
}

/// Hours with one kind of change.
struct Phase {
    used: Usage,
    /// The hour with the most processor time.
    busiest: Usage,
    changes: u64,
    /// Memory of the process at the end of an hour, at most, in megabytes.
    memory: f64,
}

impl Phase {
    async fn run(
        practices: &mut [Practice],
        start: Timestamp,
        hours: i64,
        change: Option<Change>,
    ) -> Result<Phase, Box<dyn Error>> {
        let mut phase = Phase { used: Usage::default(), busiest: Usage::default(), changes: 0, memory: 0.0 };
        for hour in (0..hours).map(|hour| start.plus(hour * HOUR)) {
            if let Some(change) = change.filter(|_| OPEN.contains(&(hour.0.rem_euclid(DAY) / HOUR))) {
                phase.changes += plan_changes(practices, hour, change);
            }
            let before = Usage::of(practices)?;
            run_until(practices, hour.plus(HOUR)).await?;
            let used = Usage::of(practices)?.combine(before, u64::saturating_sub, Duration::saturating_sub);
            phase.used = phase.used.combine(used, u64::saturating_add, Duration::saturating_add);
            if used.processor > phase.busiest.processor {
                phase.busiest = used;
            }
            phase.memory = phase.memory.max(resident(process::id())?);
        }
        Ok(phase)
    }

    /// Reports the work of each location.
    fn report_counts(&self, locations: f64, report: &BenchReport) {
        let Usage { disk, counts: Counts { calls, loads, commits, bytes }, .. } = self.used;
        let each = |count: u64| count as f64 / locations;
        report.note(format!(
            "  each location: {:.0} calls to the EHR, {:.0} loads, {:.0} commits of {:.0} KiB in all, {:.0} KiB written to the disk",
            each(calls),
            each(loads),
            each(commits),
            each(bytes) / 1_024.0,
            each(disk) / 1_024.0
        ));
    }
}

/// Distributes the changes of an hour over it, differently for each location. Returns their number.
fn plan_changes(practices: &mut [Practice], hour: Timestamp, change: Change) -> u64 {
    for practice in practices.iter_mut() {
        let offset = i64::from(practice.id()) * 7_919 % 3_600 * SECOND;
        for number in 0..i64::from(PER_OPEN_HOUR) {
            practice.plan_change(hour.plus((number * HOUR + offset) / i64::from(PER_OPEN_HOUR)), change);
        }
    }
    practices.len() as u64 * u64::from(PER_OPEN_HOUR)
}

#[derive(Clone, Copy, Default)]
struct Usage {
    processor: Duration,
    /// Bytes that the process wrote to the disk.
    disk: u64,
    counts: Counts,
}

impl Usage {
    /// Returns the usage since the start of the process and of the practices.
    fn of(practices: &[Practice]) -> io::Result<Usage> {
        let counts = practices.iter().fold(Counts::default(), |all, it| all.combine(it.counts, u64::saturating_add));
        Ok(Usage { processor: ProcessorTime::by(process::id())?.total(), disk: written_to_disk()?, counts })
    }

    fn combine(self, other: Usage, count: fn(u64, u64) -> u64, time: fn(Duration, Duration) -> Duration) -> Usage {
        Usage {
            processor: time(self.processor, other.processor),
            disk: count(self.disk, other.disk),
            counts: self.counts.combine(other.counts, count),
        }
    }
}

fn written_to_disk() -> io::Result<u64> {
    let io = fs::read_to_string("/proc/self/io")?;
    let bytes = io.lines().find_map(|line| line.strip_prefix("write_bytes:")?.trim().parse().ok());
    bytes.ok_or_else(|| io::Error::other("no write_bytes"))
}

/// Returns the processor time of an adapter call that sends one request and returns its parsed answer.
async fn adapter_call(calls: usize) -> Result<Duration, Box<dyn Error>> {
    let registry = components::load(&["sandbox"]).await;
    let connection = Connection::new("1", "main-street", "http://ehr.invalid", Tz::UTC, Arc::new(Canned::default()));
    let ehr = registry.connect("sandbox", connection).ok_or("the adapter is not loaded")??;
    ehr.describe(DEADLINE).await?;
    let before = ProcessorTime::by(process::id())?.total();
    for _ in 0..calls {
        ehr.describe(DEADLINE).await?;
    }
    Ok(ProcessorTime::by(process::id())?.total().saturating_sub(before) / calls as u32)
}
