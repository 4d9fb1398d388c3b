//! The benchmark: sections that can be asked for by name, each with its setting, its figures and its aims.

mod activation;
mod adapter;
mod bodies;
mod bookings;
mod cluster;
mod fairness;
mod floor;
mod idle;
mod lists;
mod load;
mod own_ehr;
mod practices;
mod pull;
mod reads;
mod report;
mod servers;
mod slots;
mod webhooks;
mod workstations;

use std::{error::Error, path::PathBuf, process::ExitCode};

use clap::{Parser, ValueEnum};

use report::{Report, say};

type Outcome = Result<(), Box<dyn Error>>;

/// Prints figures with their aims. Without names: all sections.
#[derive(Clone, Parser)]
#[command(name = "bench")]
pub struct Options {
    #[arg(value_enum)]
    sections: Vec<Section>,
    /// Where data goes; durable figures depend on its disk.
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    dir: PathBuf,
    /// Length of a run under load, in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// What comes before it and does not count.
    #[arg(long, default_value_t = 2)]
    warm_up: u64,
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Locations the bookings are spread over.
    #[arg(long, default_value_t = 250)]
    locations: usize,
    /// Bookings prepared for a run, at most.
    #[arg(long, default_value_t = 150_000)]
    bookings: usize,
    /// Sessions of the PostgreSQL comparison.
    #[arg(long, default_value_t = 32)]
    sessions: usize,
    /// Future appointments of the location that is activated.
    #[arg(long, default_value_t = 5_000)]
    appointments: usize,
    /// Records of its journal.
    #[arg(long, default_value_t = 1_000_000)]
    journal: usize,
    /// Locations that are asleep.
    #[arg(long, default_value_t = 100_000)]
    idle: u32,
    /// Patients of the list that is read.
    #[arg(long, default_value_t = 1_000_000)]
    patients: u32,
    /// Events that are sent to every webhook endpoint.
    #[arg(long, default_value_t = 100)]
    events: usize,
    /// Workstations that are connected at one time.
    #[arg(long, default_value_t = 10_000)]
    workstations: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Durable bookings per second over HTTP, beside an echo and PostgreSQL.
    Bookings,
    /// Free slots of a month.
    Slots,
    /// Bringing a location into memory.
    Activation,
    /// A start with many locations that have nothing to do.
    Idle,
    /// What the sandbox of an adapter costs.
    Adapter,
    /// Pages of a long list.
    Lists,
    /// Lists over HTTP, beside the same bytes sent bare.
    Reads,
    /// The first pull of a practice, and one with few changes.
    Pulls,
    /// Webhook deliveries per second, beside a bare client.
    Webhooks,
    /// Bookings of a healthy practice beside neighbours in trouble.
    Fairness,
    /// Workstations connected, and the queue behind a gate that opens.
    Workstations,
}

pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, rest)) if first == servers::SERVER => serve(rest),
        _ => run(&Options::parse()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format!("bench: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Outcome {
    let mut report = Report::start(&options.dir);
    let all = [
        Section::Slots,
        Section::Adapter,
        Section::Activation,
        Section::Idle,
        Section::Lists,
        Section::Reads,
        Section::Pulls,
        Section::Webhooks,
        Section::Workstations,
        Section::Fairness,
        Section::Bookings,
    ];
    let asked = if options.sections.is_empty() { &all[..] } else { &options.sections };
    for section in asked {
        match section {
            Section::Bookings => bookings::run(options, &mut report)?,
            Section::Slots => slots::run(&mut report)?,
            Section::Activation => activation::run(options, &mut report)?,
            Section::Idle => idle::run(options, &mut report)?,
            Section::Adapter => adapter::run(&mut report)?,
            Section::Lists => lists::run(options, &mut report)?,
            Section::Reads => reads::run(options, &mut report)?,
            Section::Pulls => pull::run(options, &mut report)?,
            Section::Webhooks => webhooks::run(options, &mut report)?,
            Section::Fairness => fairness::run(options, &mut report)?,
            Section::Workstations => workstations::run(options, &mut report)?,
        }
    }
    report.end();
    Ok(())
}

/// This process is one of the servers that are measured.
fn serve(arguments: &[String]) -> Outcome {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    actix_rt::System::new().block_on(async {
        match arguments.as_slice() {
            ["echo"] => servers::echo::serve().await?,
            ["sink"] => servers::sink::serve().await?,
            ["postgres", sockets, sessions] => servers::postgres::serve(sockets.as_ref(), sessions.parse()?).await?,
            ["bytes", file] => servers::bytes::serve(file.as_ref()).await?,
            ["product", dir, locations, writes, kept] => {
                servers::product::serve(dir.as_ref(), locations.parse()?, writes, kept.parse()?).await?;
            }
            ["configured", file] => servers::configured::serve(file.as_ref()).await?,
            ["gateway", dir, workstations] => {
                servers::gateway::serve(dir.as_ref(), workstations.parse()?).await?;
            }
            ["idle", dir, locations, verify] => {
                idle::serve(dir.as_ref(), locations.parse()?, verify.parse()?).await?;
            }
            other => return Err(format!("no such server: {other:?}").into()),
        }
        Ok(())
    })
}
