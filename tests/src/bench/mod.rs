//! The benchmark: sections that can be selected by name, each with its setting, figures and aims.

mod activation;
mod adapter;
mod audit;
pub mod bodies;
pub mod bookings;
mod day;
mod export;
mod fairness;
mod floor;
mod frames;
mod freshness;
mod idle;
mod lists;
mod load;
mod nodes;
mod options;
mod own_ehr;
mod practices;
mod probes;
mod processor_time;
mod pull;
mod raw_wasmtime;
mod reads;
mod report;
mod rules;
mod servers;
mod slots;
mod slow_readers;
mod webhooks;
mod workstations;

use std::process::ExitCode;

use clap::Parser;
use endpoints::memory;

use options::{BenchResult, Options, Section};
use report::{BenchReport, print_line};

pub fn main() -> ExitCode {
    memory::give_back_soon();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, rest)) if first == servers::SERVER => serve(rest),
        _ => run(&Options::parse()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_line(format!("bench: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> BenchResult {
    let is_report = options.sections.contains(&Section::Report);
    let mut report = BenchReport::start(&options.dir, is_report);
    let all = [
        Section::Slots,
        Section::Adapter,
        Section::Activation,
        Section::Idle,
        Section::Day,
        Section::Lists,
        Section::Reads,
        Section::Probes,
        Section::SlowReaders,
        Section::Pulls,
        Section::Webhooks,
        Section::Workstations,
        Section::Fairness,
        Section::Export,
        Section::Freshness,
        Section::Bookings,
        Section::Frames,
        Section::Audit,
        Section::Rules,
        Section::Nodes,
    ];
    let named: Vec<_> = options.sections.iter().copied().filter(|section| *section != Section::Report).collect();
    let asked = if named.is_empty() { &all[..] } else { &named };
    for section in asked {
        match section {
            Section::Report => {}
            Section::Bookings => bookings::run(options, &mut report)?,
            Section::Frames => frames::run(options, &mut report)?,
            Section::Audit => audit::run(options, &mut report)?,
            Section::Rules => rules::run(options, &mut report)?,
            Section::Nodes => nodes::run(options, &mut report)?,
            Section::Slots => slots::run(options, &mut report)?,
            Section::Activation => activation::run(options, &mut report)?,
            Section::Idle => idle::run(options, &mut report)?,
            Section::Day => day::run(options, &mut report)?,
            Section::Adapter => adapter::run(options, &mut report)?,
            Section::Lists => lists::run(options, &mut report)?,
            Section::Reads => reads::run(options, &mut report)?,
            Section::Probes => probes::run(options, &mut report)?,
            Section::SlowReaders => slow_readers::run(options, &mut report)?,
            Section::Pulls => pull::run(options, &mut report)?,
            Section::Webhooks => webhooks::run(options, &mut report)?,
            Section::Fairness => fairness::run(options, &mut report)?,
            Section::Export => export::run(options, &mut report)?,
            Section::Freshness => freshness::run(options, &mut report)?,
            Section::Workstations => workstations::run(options, &mut report)?,
        }
    }
    report.end();
    Ok(())
}

/// Runs one of the measured servers in this process.
fn serve(arguments: &[String]) -> BenchResult {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    actix_rt::System::new().block_on(async {
        match arguments.as_slice() {
            ["echo"] => servers::echo::serve().await?,
            ["sink"] => servers::sink::serve().await?,
            ["postgres", sockets, port, sessions] => {
                servers::postgres::serve(sockets.as_ref(), port.parse()?, sessions.parse()?).await?
            }
            ["bytes", file] => servers::bytes::serve(file.as_ref()).await?,
            ["product", dir, locations, writes, more @ ..] => {
                let (database, node) = (more.first().copied(), more.get(1).copied());
                servers::product::serve(dir.as_ref(), locations.parse()?, writes, database, node).await?;
            }
            ["configured", file] => servers::configured::serve(file.as_ref()).await?,
            ["readers", server, count, request] => {
                servers::readers::hold(server.parse()?, count.parse()?, request.as_ref()).await?;
            }
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
