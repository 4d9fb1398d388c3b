//! The first pull of a practice, and later pulls with few changes.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use adapter_host::{Connection, HttpRequest, HttpResponse, Transport, TransportFuture};
use chrono_tz::Tz;
use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts};
use location::{
    ids::LocationId,
    settings::{LocationSettings, PullRules, Quota},
    time::DAY,
};
use parking_lot::Mutex;
use records::{
    ehr::{Ehr, Resource},
    sync_state::SyncState,
};
use runtime::clock;
use sandbox_ehr::{LocationProfile, OffsetFrom, Profile, SandboxEhr, SandboxRequest, control};
use serde_json::json;
use setup::Setup;

use super::{
    floor::{self, RecordedStore},
    idle::resident,
    options::{BenchResult, Options},
    practices,
    report::{Aim, BenchReport, median},
};
use crate::harness::{components, fixtures};

const LOCATION: LocationId = LocationId(1);
const PLACE: &str = "main-street";
const CHANGED: usize = 10;
/// Cycles without changes, of which the median is reported. Their end is found by polling, a millisecond at a time.
const UNCHANGED_CYCLES: usize = 15;
const DEADLINE: Duration = Duration::from_secs(60);
const LIMIT: Duration = Duration::from_secs(120);

/// The in-process EHR with the time spent on its answers.
struct Timed {
    ehr: Mutex<SandboxEhr>,
    nanos: AtomicU64,
    requests: AtomicU64,
}

impl Timed {
    fn handle(&self, request: &SandboxRequest) -> HttpResponse {
        let started = Instant::now();
        let reply = self.ehr.lock().handle(clock::now().0, request);
        self.nanos.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        HttpResponse { status: reply.status, headers: reply.headers, body: reply.body }
    }

    /// Returns the time since the last call.
    fn took(&self) -> Duration {
        Duration::from_nanos(self.nanos.swap(0, Ordering::Relaxed))
    }
}

impl Transport for Timed {
    fn send(&self, request: HttpRequest, _: Duration) -> TransportFuture<'_> {
        let answer = self.handle(&SandboxRequest {
            method: request.method,
            path: request.url.path().to_owned(),
            query: request.url.query().unwrap_or_default().to_owned(),
            headers: request.headers,
            body: request.body.unwrap_or_default(),
        });
        Box::pin(async { Ok(answer) })
    }
}

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    let timed = Arc::new(Timed {
        ehr: Mutex::new(SandboxEhr::new(profile(options.pulled))),
        nanos: AtomicU64::new(0),
        requests: AtomicU64::new(0),
    });
    let dir = tempfile::Builder::new().prefix("bench-pull").tempdir_in(&options.dir)?;
    report.section(
        "pulls",
        format!(
            "a practice of {} patients with their files and the appointments of half a year, in the simulated EHR of the same \
             process; the sandbox adapter, pages of {} records, the engine on the embedded store",
            options.pulled,
            PullRules::default().page
        ),
    );
    actix_rt::System::new().block_on(async {
        let registry = components::load(&["sandbox"]).await;
        let connection = Connection::new("1", PLACE, "http://ehr.invalid", Tz::UTC, timed.clone());
        let ehr = registry.connect("sandbox", connection).ok_or("the adapter is not loaded")??;
        let (records, alone) = pages(&ehr).await?;
        let of_ehr = timed.took();
        report.number("records in all", records as f64, "", Aim::None);
        report.time("adapter alone, all pages: guest and host", alone.saturating_sub(of_ehr), Aim::None);
        report.time("  the simulated EHR meanwhile, not counted above", of_ehr, Aim::None);

        let commits = dir.path().join("commits");
        let (store, recorded) = RecordedStore::over(practices::store(dir.path())?, &commits)?;
        let mut parts = Parts::new(store, RecordViews::shared());
        parts.adapters = registry;
        parts.in_process.insert(fixtures::SOURCE, timed.clone() as Arc<dyn Transport>);
        let before = resident(std::process::id())?;
        let started = Instant::now();
        let engine = Engine::start(setup(), parts).await?;
        let mut peak = before;
        let first = until(&engine, |state| {
            peak = peak.max(resident(std::process::id()).unwrap_or(peak));
            state.last_sync.is_some()
        })
        .await?;
        let whole = started.elapsed();
        let of_ehr = timed.took();
        let pulled: u64 = first.progress.values().map(|progress| progress.records).sum();
        if pulled != records {
            return Err(format!("{pulled} of {records} records were pulled").into());
        }
        for (resource, what) in [(Resource::Patients, "patients"), (Resource::Appointments, "appointments")] {
            let of_it = first.progress.get(&resource).map_or(0, |progress| progress.records);
            report.number(&format!("  of them {what}"), of_it as f64, "", Aim::None);
        }
        let rate = records as f64 / whole.as_secs_f64();
        report.number("first pull, end to end", rate, "/s", Aim::AtLeast(20_000.0));
        report.time("  it took", whole, Aim::None);
        report.time("  engine and store, without adapter and EHR", whole.saturating_sub(alone).saturating_sub(of_ehr), Aim::None);
        report.megabytes("memory of the process at its peak, above what it had before", peak - before, Aim::BelowMegabytes(100.0));

        until(&engine, |state| state.next_cycle.is_some()).await?;
        recorded.flush()?;
        let first_pull = dir.path().join("first pull");
        std::fs::copy(&commits, &first_pull)?;
        for n in 1..=CHANGED {
            let edit = json!({"staff_edits": {"resource": "patients", "id": format!("P-{n:05}"), "fields": {"last_name": format!("Changed {n}")}}});
            let answer = timed.handle(&SandboxRequest {
                method: "POST".into(),
                path: control::PATH.into(),
                query: String::new(),
                headers: Vec::new(),
                body: edit.to_string().into_bytes(),
            });
            if answer.status >= 300 {
                return Err(format!("the simulated EHR did not change: {}", String::from_utf8_lossy(&answer.body)).into());
            }
        }
        for (changes, cycles, aim) in
            [(CHANGED, 1, Duration::from_millis(12)), (0, UNCHANGED_CYCLES, Duration::from_millis(5))]
        {
            let mut took = Vec::new();
            for _ in 0..cycles {
                took.push(cycle(&engine, &timed, changes).await?);
            }
            report.time(&format!("a cycle with {changes} changes among them"), median(took), Aim::Below(aim));
            report.number("  requests it made", timed.requests.load(Ordering::Relaxed) as f64, "", Aim::None);
        }
        engine.stop().await;
        let floor = floor::replay(&first_pull, &dir.path().join("bare"))?;
        let bare = records as f64 / floor.took.as_secs_f64();
        let what = format!("bare sled, the first pull's {} keys in {} commits", floor.keys, floor.commits);
        report.number(&what, bare, "/s", Aim::None);
        report.number("  practice-sync / bare sled", rate / bare, "", Aim::None);
        Ok(())
    })
}

/// Reads all pages through the adapter alone.
async fn pages(ehr: &Arc<dyn Ehr>) -> Result<(u64, Duration), Box<dyn Error>> {
    let started = Instant::now();
    let about = ehr.describe(DEADLINE).await?;
    let mut records = 0;
    for pull in about.pulls {
        let mut cursor = None;
        loop {
            let page = ehr.pull(pull.resource, cursor, PullRules::default().page, DEADLINE).await?;
            records += page.records.len() as u64;
            cursor = Some(page.cursor);
            if page.last {
                break;
            }
        }
    }
    Ok((records, started.elapsed()))
}

/// Requests a read cycle and waits for its end. Fails if it reads another number of records.
async fn cycle(engine: &Engine, timed: &Timed, changes: usize) -> Result<Duration, Box<dyn Error>> {
    let last = engine.sync_state(LOCATION).await?.last_sync;
    timed.requests.store(0, Ordering::Relaxed);
    let started = Instant::now();
    engine.sync_now(LOCATION).await.map_err(|refused| format!("{refused:?}"))?;
    let ended = until(engine, |state| state.last_sync > last && state.reading.is_none()).await?;
    let took = started.elapsed();
    let read: u64 = ended.progress.values().map(|progress| progress.records).sum();
    if read != changes as u64 {
        return Err(format!("{read} records instead of {changes} were read again").into());
    }
    Ok(took)
}

async fn until(engine: &Engine, mut so: impl FnMut(&SyncState) -> bool) -> Result<SyncState, Box<dyn Error>> {
    let started = Instant::now();
    loop {
        let state = engine.sync_state(LOCATION).await?;
        if so(&state) {
            return Ok(state);
        }
        if started.elapsed() > LIMIT {
            let (reading, problem) = (state.reading, state.read_reason);
            return Err(format!("the read cycle does not end: reading {reading:?}, {problem:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn profile(patients: u32) -> Profile {
    let offsets = vec![OffsetFrom { from: 0, seconds: 0 }];
    Profile {
        seed: 7,
        locations: vec![LocationProfile { key: PLACE.to_owned(), operatories: (patients / 250).max(1), offsets }],
        patients,
        today: fixtures::today(),
        days_back: 60,
        days_ahead: 120,
        booked_percent: 95,
        control: true,
    }
}

fn setup() -> Setup {
    let mut location = fixtures::location(LOCATION, PLACE, chrono_tz::UTC, false);
    location.settings = Arc::new(LocationSettings {
        pull: PullRules { every: DAY, max_pages: u32::MAX, ..PullRules::default() },
        quota: Quota { per_minute: 1_000_000, burst: 100_000 },
        ..LocationSettings::default()
    });
    let institution = fixtures::institution(fixtures::INSTITUTION, practices::SUBDOMAIN);
    let source = fixtures::source(fixtures::SOURCE, fixtures::INSTITUTION, "sandbox", "sandbox:");
    testing::setup([institution], [location], [source])
}
