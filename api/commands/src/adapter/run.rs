//! `adapter run`: a single call of an adapter against an EHR.

use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use adapter_conformance::{FaultInjector, FlakyTransport, InjectedFault, Local, RESOURCES, When};
use clap::{Args, Subcommand};
use engine::{
    adapter_host::{HttpTransport, Transport, plain},
    records::{Ehr, Resource},
};

use super::{
    component::{cache, quick},
    exchange::Masks,
    mask,
    recording::{Recorder, Replay},
};
use crate::{
    logging,
    terminal::{fail, print_line},
};

/// Timeout of a call.
const DEADLINE: Duration = Duration::from_secs(60);
/// Polling interval for source changes.
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[derive(Args)]
pub struct AdapterRunArguments {
    /// A component, or the folder of an adapter, which is built first with the quick profile.
    #[arg(default_value = ".")]
    adapter: PathBuf,
    #[command(subcommand)]
    call: AdapterCall,
    /// The file that describes the EHR: `base_url`, `location`, `zone`, `[headers]`, `[settings]`. See
    /// adapters/README.md.
    #[arg(long, value_name = "FILE", global = true, default_value = "local.toml")]
    config: PathBuf,
    /// Repeat the call whenever a source file changes.
    #[arg(long, global = true)]
    watch: bool,
    #[command(flatten)]
    way: ConnectionArguments,
}

/// The connection to the EHR, with fault injection, recording and replay.
#[derive(Args)]
struct ConnectionArguments {
    /// Lose the answer to the N-th request, which the EHR still carries out.
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["slow", "throttle"])]
    lose: Option<u32>,
    /// Delay each answer by this number of milliseconds.
    #[arg(long, value_name = "MS", global = true, conflicts_with = "throttle")]
    slow: Option<u64>,
    /// Answer each request with 429 and `Retry-After`.
    #[arg(long, global = true)]
    throttle: bool,
    /// Write the exchanges with the EHR to a new file, one per line. Secrets are left out. Texts, and numbers of five
    /// digits or more, are masked.
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Answer from a file written by `--record`, without network.
    #[arg(long, value_name = "FILE", global = true)]
    replay: Option<PathBuf>,
    /// A field or parameter of the EHR that is not masked in a recording. Can be given several times. `--replay` needs
    /// the same ones.
    #[arg(long, value_name = "FIELD", global = true)]
    keep: Vec<String>,
}

/// The transport, the recording it answers from, and the counter of its requests.
type OpenedTransport = (Arc<dyn Transport>, Option<Arc<Replay>>, FaultInjector);

impl ConnectionArguments {
    fn open(&self) -> Result<OpenedTransport, String> {
        let masks = Masks { keep: self.keep.clone() };
        let (mut way, replay): (Arc<dyn Transport>, _) = match &self.replay {
            Some(file) => {
                let replay = Arc::new(Replay::read(file, masks.clone())?);
                (replay.clone(), Some(replay))
            }
            None => (Arc::new(HttpTransport::new().map_err(|error| error.to_string())?), None),
        };
        if let Some(file) = &self.record {
            way = Arc::new(Recorder::new(way, file, masks)?);
        }
        let injector = FaultInjector::default();
        match (self.lose, self.slow, self.throttle) {
            (Some(n), _, _) => {
                injector.set(When::Nth(usize::try_from(n).unwrap_or(usize::MAX)), InjectedFault::LoseReply)
            }
            (_, Some(ms), _) => injector.set(When::Each, InjectedFault::Slow(Duration::from_millis(ms))),
            (_, _, true) => injector.set(When::Each, InjectedFault::Answer(429, vec![("retry-after", "30")], "{}")),
            _ => {}
        }
        Ok((Arc::new(FlakyTransport::around(way, injector.clone())), replay, injector))
    }
}

#[derive(Subcommand)]
enum AdapterCall {
    /// Print the capabilities of the EHR, as reported by the adapter.
    Describe,
    /// Print pages of a resource, one record per line.
    Pull {
        /// The resource, such as `patients` or `working_hours`.
        resource: String,
        /// The cursor to start from. Default: a first, full pass.
        #[arg(long)]
        cursor: Option<String>,
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
        /// Maximum number of pages.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        pages: u32,
        /// Do not mask patient data.
        #[arg(long)]
        show_patient_data: bool,
    },
}

pub(super) fn run(arguments: AdapterRunArguments) -> ExitCode {
    if let Err(problem) = logging::start("info") {
        return fail(problem);
    }
    let system = actix_web::rt::System::new();
    loop {
        let done = system.block_on(once(&arguments));
        if !arguments.watch {
            return done.map_or_else(fail, |()| ExitCode::SUCCESS);
        }
        if let Err(problem) = done {
            fail(problem);
        }
        if let Err(problem) = changed(&arguments.adapter) {
            return fail(problem);
        }
    }
}

/// Blocks until the modification time of the folder or file changes.
fn changed(adapter: &Path) -> Result<(), String> {
    let before = newest(adapter).map_err(at(adapter))?;
    while newest(adapter).map_err(at(adapter))? == before {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

fn newest(path: &Path) -> std::io::Result<Option<std::time::SystemTime>> {
    if !path.is_dir() {
        return fs::metadata(path)?.modified().map(Some);
    }
    let mut newest = None;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        // Build output is not a source.
        if name != "target" && name != "dist" && name != "node_modules" && !name.to_string_lossy().starts_with('.') {
            newest = newest.max(self::newest(&entry.path())?);
        }
    }
    Ok(newest)
}

async fn once(arguments: &AdapterRunArguments) -> Result<(), String> {
    let local = Local::read(&arguments.config)?;
    let component = quick(&arguments.adapter)?;
    let (way, replay, requests) = arguments.way.open()?;
    let adapter = adapter_conformance::load(&component, &cache()).await?;
    let ehr = local.connect(&adapter, local.connection(way))?;
    let done = match &arguments.call {
        AdapterCall::Describe => describe(&*ehr, &requests).await,
        AdapterCall::Pull { resource, cursor, limit, pages, show_patient_data } => {
            let resource = resource_named(resource)?;
            pull(&*ehr, &requests, resource, cursor.clone(), (*limit, *pages), !show_patient_data).await
        }
    };
    // A missing answer of the recording explains more than the adapter's error.
    replay.map_or(Ok(()), |replay| replay.missing())?;
    done
}

async fn describe(ehr: &dyn Ehr, requests: &FaultInjector) -> Result<(), String> {
    let since = Instant::now();
    let description = ehr.describe(DEADLINE).await.map_err(|fault| fault.to_string())?;
    let value = serde_json::to_value(&description).map_err(|error| error.to_string())?;
    for (name, value) in value.as_object().into_iter().flatten() {
        print_line(format_args!("{name:<24} {}", plain(&value.to_string(), SHOWN_BYTES)));
    }
    print_line(cost(requests.requests(), since));
    Ok(())
}

/// Maximum number of bytes printed per line.
const SHOWN_BYTES: usize = 16_000;

async fn pull(
    ehr: &dyn Ehr,
    requests: &FaultInjector,
    resource: Resource,
    mut cursor: Option<String>,
    (limit, pages): (u32, u32),
    masked: bool,
) -> Result<(), String> {
    for _ in 0..pages {
        let (since, before) = (Instant::now(), requests.requests());
        let page = ehr.pull(resource, cursor.take(), limit, DEADLINE).await.map_err(|fault| fault.to_string())?;
        for record in &page.records {
            print_line(plain(&mask::render(record, masked).to_string(), SHOWN_BYTES));
        }
        for skipped in &page.skipped {
            print_line(format_args!(
                "skipped {}: {}",
                plain(&skipped.id, SHOWN_BYTES),
                plain(&skipped.reason, SHOWN_BYTES)
            ));
        }
        let kind = if page.whole { "whole" } else { "changes" };
        let end = if page.last { "the last page of the pass" } else { "more to come" };
        print_line(format_args!(
            "{} records, {} skipped, {} deleted; {kind}, {end}; cursor {}",
            page.records.len(),
            page.skipped.len(),
            page.deleted.len(),
            plain(&page.cursor, SHOWN_BYTES)
        ));
        print_line(cost(requests.requests() - before, since));
        if page.last {
            break;
        }
        cursor = Some(page.cursor);
    }
    Ok(())
}

/// Formats the cost of a call: `1 request, 4.6 ms`.
fn cost(requests: usize, since: Instant) -> String {
    let took = since.elapsed().as_secs_f64() * 1_000.0;
    format!("{requests} request{}, {took:.1} ms", if requests == 1 { "" } else { "s" })
}

fn resource_named(name: &str) -> Result<Resource, String> {
    let named = |resource: &Resource| adapter_conformance::name(*resource) == name.replace('-', "_");
    RESOURCES.into_iter().find(named).ok_or_else(|| {
        let known = RESOURCES.map(adapter_conformance::name).join(", ");
        format!("`{}` is no resource; the resources are {known}", plain(name, SHOWN_BYTES))
    })
}

fn at<E: Display>(file: &Path) -> impl FnOnce(E) -> String {
    let file = file.display().to_string();
    move |error| format!("{file}: {error}")
}
