//! Memory of connections that do not read their responses, and latency of other clients meanwhile.

use std::{fs, path::Path, sync::Arc, time::Duration};

use super::{
    bookings::{self, report_run},
    idle::resident,
    load::Requests,
    options::{BenchResult, Options},
    reads,
    report::{Aim, BenchReport},
    servers::{BenchServer, WORKERS, product::API_KEY},
    workstations::{SPARE, open_files},
};
use crate::harness::http_client::{Caller, api_request, request};

/// Maximum memory of a connection that does not read: a slice, the write buffer, and its state.
const MEGABYTES_EACH: f64 = 0.065_536;
/// The default of `max_response_bytes`.
const MEGABYTES_OF_LISTS: f64 = 268.0;
/// Maximum ratio of the 99th percentiles.
const MOST: f64 = 1.25;
/// Time after the end of the connections before memory is read again.
const REST: Duration = Duration::from_secs(3);

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    let (_, most) = open_files()?;
    let count = options.readers.min(most.saturating_sub(SPARE));
    report.section(
        "slow readers",
        format!(
            "{count} connections that send a request and read nothing; meanwhile {} connections that read lists of 100 appointments in a \
             closed loop, {} s after {} s of warm-up; the server with {WORKERS} HTTP workers in a process of its own",
            options.connections, options.seconds, options.warm_up
        ),
    );
    if count < options.readers {
        report.note(format!("a process may open {most} files, too few for {}: raise ulimit -Hn", options.readers));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let dir = tempfile::Builder::new().prefix("bench-slow-readers").tempdir_in(&options.dir)?;
    runtime.block_on(measure(options, count, dir.path(), report))
}

async fn measure(options: &Options, count: usize, dir: &Path, report: &mut BenchReport) -> BenchResult {
    let lists = reads::fill(options, dir).await?;
    let [short, long] = &lists[..] else { return Err("a short list and a long one".into()) };
    let server = reads::server(dir)?;
    let caller = Caller::sign_in(server.address, API_KEY).await?;
    let list = |path: &str| api_request("GET", path, caller.authorization(), b"");
    let others = list(&short.path);
    let others: Requests = Arc::new(move |_| Some(others.clone()));
    let load = bookings::load(options);
    let alone = load.run(server.address, others.clone()).await?;
    report_run(report, "other clients alone", &alone);
    let all = count as f64 * MEGABYTES_EACH;
    let (file, address) = (dir.join("request"), server.address.to_string());
    let name = file.to_str().ok_or("a file whose name is no text")?;
    for (what, unread, most) in [
        ("/openapi.json", request("GET", "/openapi.json", &[], b""), all),
        ("lists of patients", list(&long.path), all + MEGABYTES_OF_LISTS),
    ] {
        let before = resident(server.pid())?;
        fs::write(&file, unread)?;
        let readers = BenchServer::start(&["readers", &address, &count.to_string(), name])?;
        let connected = resident(server.pid())?;
        let beside = load.run(server.address, others.clone()).await?;
        let during = resident(server.pid())?.max(connected);
        drop(readers);
        tokio::time::sleep(REST).await;
        let after = resident(server.pid())?;
        report.note(format!("{what}, not read"));
        report.megabytes("memory before", before, Aim::None);
        report.megabytes("  during, in addition", during - before, Aim::BelowMegabytes(most));
        report.megabytes("  after, in addition", after - before, Aim::None);
        report_run(report, "other clients meanwhile", &beside);
        let ratio = beside.slow.as_secs_f64() / alone.slow.as_secs_f64();
        report.number("  their 99th percentile / alone", ratio, "", Aim::AtMost(MOST));
    }
    Ok(())
}
