//! What the sandbox around an adapter adds to a call.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use adapter_host::{Connection, Host, HttpRequest, HttpResponse, Transport, TransportFuture};
use chrono_tz::Tz;
use records::ehr::{Fault, Resource};
use runtime::clock;
use sandbox_ehr::{SandboxEhr, SandboxRequest};
use setup::guests::HostLimits;

use super::{
    options::Outcome,
    report::{Aim, Report, median},
};
use crate::harness::{components, external, fixtures, javascript::Toolbox};

const CALLS: usize = 3_000;
/// A page takes longer.
const PAGES: usize = 300;
/// Records of it.
const PAGE: u32 = 100;
const DEADLINE: Duration = Duration::from_secs(5);

/// An EHR that answers at once: what the simulated one answered the first time.
struct Canned(OnceLock<HttpResponse>);

impl Transport for Canned {
    fn send(&self, request: HttpRequest, _: Duration) -> TransportFuture<'_> {
        let answer = self.0.get_or_init(|| {
            let reply = SandboxEhr::new(fixtures::profile(1)).handle(
                clock::now().0,
                &SandboxRequest {
                    method: request.method,
                    path: request.url.path().to_owned(),
                    query: request.url.query().unwrap_or_default().to_owned(),
                    headers: request.headers,
                    body: request.body.unwrap_or_default(),
                },
            );
            HttpResponse { status: reply.status, headers: reply.headers, body: reply.body }
        });
        let answer = answer.clone();
        Box::pin(async { Ok(answer) })
    }
}

pub fn run(report: &mut Report) -> Outcome {
    actix_rt::System::new().block_on(async {
        let aim = Aim::Below(Duration::from_micros(50));
        of(report, "the sandbox adapter", components::component("sandbox"), aim).await?;
        if external::named().contains(&external::Suite::Node) {
            let component = components::root().join("target/adapters/measured/sandbox-js.wasm");
            Toolbox::installed().await.build(&components::root().join("adapters/sandbox-js"), &component).await;
            of(report, "the same in JavaScript", component, Aim::None).await?;
        }
        Ok(())
    })
}

async fn of(report: &mut Report, adapter: &str, component: PathBuf, aim: Aim) -> Outcome {
    report.section(
        "adapter host",
        format!("{adapter}, one call after the other, each in a fresh instance; median and 99th of {CALLS}, of {PAGES} pages"),
    );
    let bytes = component.metadata().map_err(|error| error.to_string())?.len();
    report.number("the component", bytes as f64 / 1e6, " MB", Aim::None);
    let start = Instant::now();
    Host::judge(HostLimits::default(), &component).await.map_err(|error| error.to_string())?;
    report.time("read, compiled and started, as a server does once", start.elapsed(), Aim::None);
    let registry = components::load_files(&[("measured", component)]).await;
    let connect = || {
        let ehr = Arc::new(Canned(OnceLock::new()));
        let connection = Connection::new("1", "main-street", "http://ehr.invalid", Tz::UTC, ehr);
        registry.connect("measured", connection).ok_or("the adapter is not loaded")?.map_err(|error| error.to_string())
    };
    let ehr = connect()?;
    // It looks at the cursor, refuses it and returns: next to nothing happens inside.
    let empty =
        timed(CALLS, async || match ehr.pull(Resource::Patients, Some("no cursor".to_owned()), 1, DEADLINE).await {
            Err(Fault::Rejected(_)) => Ok(()),
            other => Err(format!("expected a rejection, got {other:?}")),
        });
    let (middle, slow) = empty.await?;
    report.time("a call whose guest does nothing", middle, aim);
    report.time("  its 99th percentile", slow, Aim::None);
    let describe = timed(CALLS, async || ehr.describe(DEADLINE).await.map(drop).map_err(|fault| fault.to_string()));
    let (middle, slow) = describe.await?;
    report.time("describe: one request, JSON parsed, a record returned", middle, Aim::None);
    report.time("  its 99th percentile", slow, Aim::None);
    let ehr = connect()?;
    let page = timed(PAGES, async || match ehr.pull(Resource::Patients, None, PAGE, DEADLINE).await {
        Ok(page) if page.records.len() == PAGE as usize => Ok(()),
        other => Err(format!("expected {PAGE} patients, got {other:?}")),
    });
    let (middle, slow) = page.await?;
    report.time(&format!("a page of {PAGE} patients"), middle, Aim::None);
    report.time("  its 99th percentile", slow, Aim::None);
    Ok(())
}

async fn timed(calls: usize, call: impl AsyncFn() -> Result<(), String>) -> Result<(Duration, Duration), String> {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        call().await?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok((times[calls / 2], median(times.split_off(calls * 98 / 100))))
}
