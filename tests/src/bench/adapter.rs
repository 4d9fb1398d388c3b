//! Overhead of an adapter's sandbox per call.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use adapter_host::{Connection, Host, HttpRequest, HttpResponse, Transport, TransportFuture};
use chrono_tz::Tz;
use records::ehr::{Fault, Resource};
use runtime::clock;
use sandbox_ehr::{Profile, SandboxEhr, SandboxRequest};
use setup::guests::HostLimits;
use tokio::runtime::Builder;

use super::{
    options::{BenchResult, Options},
    raw_wasmtime::Raw,
    report::{Aim, BenchReport, median},
};
use crate::harness::{components, external, fixtures, javascript::Toolbox};

const CALLS: usize = 3_000;
/// Number of calls for pages, which take longer.
const PAGES: usize = 300;
/// Records per page: a server's request and the contract's maximum.
const PAGES_OF: [u32; 2] = [100, 1_000];
/// Maximum time of a call through the host, in times of the same call on wasmtime alone.
const MOST: f64 = 1.2;
const DEADLINE: Duration = Duration::from_secs(5);

/// An EHR that answers immediately with the simulated EHR's first answer.
#[derive(Default)]
pub struct Canned(OnceLock<HttpResponse>);

impl Canned {
    pub fn answer(
        &self,
        method: String,
        path: &str,
        query: &str,
        headers: Vec<(String, String)>,
        body: Option<Vec<u8>>,
    ) -> HttpResponse {
        let ask = || {
            let (path, query, body) = (path.to_owned(), query.to_owned(), body.unwrap_or_default());
            let patients = *PAGES_OF.last().expect("one is named");
            let profile = Profile { patients, days_back: 0, days_ahead: 0, ..fixtures::profile(1) };
            let request = SandboxRequest { method, path, query, headers, body };
            let reply = SandboxEhr::new(profile).handle(clock::now().0, &request);
            HttpResponse { status: reply.status, headers: reply.headers, body: reply.body }
        };
        self.0.get_or_init(ask).clone()
    }
}

impl Transport for Canned {
    fn send(&self, request: HttpRequest, _: Duration) -> TransportFuture<'_> {
        let (path, query) = (request.url.path(), request.url.query().unwrap_or_default());
        let answer = self.answer(request.method, path, query, request.headers, request.body);
        Box::pin(async { Ok(answer) })
    }
}

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    actix_rt::System::new().block_on(async {
        measure_adapter(options, report, "the sandbox adapter", components::component("sandbox"), true).await?;
        if external::named().contains(&external::Suite::Node) {
            let component = components::root().join("target/adapters/measured/sandbox-js.wasm");
            Toolbox::installed().await.build(&components::root().join("adapters/sandbox-js"), &component).await;
            measure_adapter(options, report, "the same in JavaScript", component, false).await?;
        }
        Ok(())
    })
}

async fn measure_adapter(
    options: &Options,
    report: &mut BenchReport,
    adapter: &str,
    component: PathBuf,
    has_aims: bool,
) -> BenchResult {
    let (calls, pages) = (options.repetitions_of(CALLS), options.repetitions_of(PAGES));
    let aim = |applies| if has_aims && applies { Aim::AtMost(MOST) } else { Aim::None };
    report.section(
        "adapter host",
        format!("{adapter}, one call after the other, each in a fresh instance, in turns with wasmtime alone; median and 99th of {calls}, of {pages} pages, of a tenth of the long ones"),
    );
    let bytes = component.metadata().map_err(|error| error.to_string())?.len();
    report.number("the component", bytes as f64 / 1e6, " MB", Aim::None);
    let start = Instant::now();
    Host::judge(HostLimits::default(), &component).await.map_err(|error| error.to_string())?;
    report.time("read, compiled and started, as a server does once", start.elapsed(), Aim::None);
    let raw = Raw::load(&component).map_err(|error| format!("{error:#}"))?;
    let registry = components::load_files(&[("measured", component)]).await;
    let canned = || Arc::new(Canned::default());
    let connect = || {
        let connection = Connection::new("1", "main-street", "http://ehr.invalid", Tz::UTC, canned());
        registry.connect("measured", connection).ok_or("the adapter is not loaded")?.map_err(|error| error.to_string())
    };
    // The adapter rejects the cursor and returns, so that almost no work happens inside.
    let (ehr, alone, cursor) = (connect()?, canned(), "no cursor");
    let empty = async || match ehr.pull(Resource::Patients, Some(cursor.to_owned()), 1, DEADLINE).await {
        Err(Fault::Rejected(_)) => Ok(()),
        other => Err(format!("expected a rejection, got {other:?}")),
    };
    let empty_alone = async || match raw.patients(alone.clone(), Some(cursor), 1).await {
        Ok(Err(_)) => Ok(()),
        other => Err(format!("expected a rejection, got {other:?}")),
    };
    report.time("an empty task on other threads, part of long calls below", thread_crossing(calls).await?, Aim::None);
    alternate(report, "a call whose guest does nothing", aim(true), calls, empty, empty_alone).await?;
    let described = async || ehr.describe(DEADLINE).await.map(drop).map_err(|fault| fault.to_string());
    let described_alone = async || match raw.describe(alone.clone()).await {
        Ok(Ok(_)) => Ok(()),
        other => Err(format!("expected a description, got {other:?}")),
    };
    let what = "describe: one request, JSON parsed, a record returned";
    alternate(report, what, Aim::None, calls, described, described_alone).await?;
    for count in PAGES_OF {
        // The same number of records for each size.
        let pages = (pages * PAGES_OF[0] as usize / count as usize).max(1);
        let (ehr, alone) = (connect()?, canned());
        let page = async || match ehr.pull(Resource::Patients, None, count, DEADLINE).await {
            Ok(page) if page.records.len() == count as usize => Ok(()),
            other => Err(format!("expected {count} patients, got {other:?}")),
        };
        let page_alone = async || match raw.patients(alone.clone(), None, count).await {
            Ok(Ok(page)) if page.records.len() == count as usize => Ok(()),
            other => Err(format!("expected {count} patients, got {other:?}")),
        };
        alternate(report, &format!("a page of {count} patients"), aim(count == 100), pages, page, page_alone).await?;
    }
    Ok(())
}

/// Returns the median time of a task that only wakes another thread and its caller. On idle virtual processors, which
/// halt, it exceeds the time of a guest that does nothing.
async fn thread_crossing(calls: usize) -> std::io::Result<Duration> {
    let threads = Builder::new_multi_thread().worker_threads(HostLimits::default().threads).build()?;
    let mut crossings = Vec::with_capacity(calls);
    for _ in 0..calls {
        // As between two calls, the other threads fall asleep.
        std::thread::sleep(Duration::from_micros(50));
        let start = Instant::now();
        drop(threads.spawn(async {}).await);
        crossings.push(start.elapsed());
    }
    threads.shutdown_background();
    Ok(median(crossings))
}

/// Alternates the calls, so that both sides run under the same load of the machine.
async fn alternate(
    report: &mut BenchReport,
    what: &str,
    aim: Aim,
    calls: usize,
    hosted: impl AsyncFn() -> Result<(), String>,
    alone: impl AsyncFn() -> Result<(), String>,
) -> BenchResult {
    let (mut with_host, mut without) = (Vec::with_capacity(calls), Vec::with_capacity(calls));
    for _ in 0..calls {
        let start = Instant::now();
        hosted().await?;
        with_host.push(start.elapsed());
        let start = Instant::now();
        alone().await?;
        without.push(start.elapsed());
    }
    with_host.sort_unstable();
    let hosted = with_host[calls / 2];
    let (slow, alone) = (median(with_host.split_off(calls * 98 / 100)), median(without));
    report.time(what, hosted, Aim::None);
    report.time("  its 99th percentile", slow, Aim::None);
    report.time("  the same on wasmtime alone", alone, Aim::None);
    report.number("  of which the host is", hosted.as_secs_f64() / alone.as_secs_f64(), " times", aim);
    Ok(())
}
