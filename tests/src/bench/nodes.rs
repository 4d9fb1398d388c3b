//! Bookings on one node and on three nodes with one PostgreSQL server, and the cost of forwarding a call.

use std::{
    error::Error,
    fs,
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use postgres_server::{Cluster, Durability};

use super::{
    bodies::{booking, request},
    bookings::{load, offers},
    load::{Load, LoadOutcome as Run, Requests},
    options::{BenchResult, Options},
    practices::subdomain,
    processor_time::ProcessorTime,
    report::{Aim, BenchReport, median, short},
    servers::{BenchServer, product::API_KEY},
};
use crate::harness::http_client::Caller;

const NAMES: [&str; 3] = ["a", "b", "c"];
/// Institutions, each with one location.
const INSTITUTIONS: usize = 24;
/// Calls per kind.
const CALLS: usize = 400;

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "nodes",
        format!(
            "{} connections in a closed loop, {} s after {} s of warm-up; {INSTITUTIONS} institutions with a location each; each call to a \
             node by chance; nodes, PostgreSQL and load generator on the same machine",
            options.connections, options.seconds, options.warm_up
        ),
    );
    if let Some(missing) = postgres_server::missing() {
        report.note(format!("SKIPPED, {missing}"));
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let one = runtime.block_on(bookings(options, 1, report))?;
    let three = runtime.block_on(bookings(options, 3, report))?;
    report.number("processor time of a booking, three nodes / one", three / one, "", Aim::AtMost(1.3));
    Ok(())
}

/// Returns the processor time of a booking in all nodes and the database.
async fn bookings(options: &Options, nodes: usize, report: &mut BenchReport) -> Result<f64, Box<dyn Error>> {
    let dir = tempfile::Builder::new().prefix("bench-nodes").tempdir_in(&options.dir)?;
    let cluster = Cluster::start(dir.path(), Durability::Synced)?;
    let database = cluster.database()?;
    let mut servers = Vec::new();
    for name in &NAMES[..nodes] {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (folder, locations, node) = (
            dir.path().to_str().ok_or("a folder whose name is no text")?,
            INSTITUTIONS.to_string(),
            format!("{name}:{port}"),
        );
        servers.push(BenchServer::start(&["product", folder, &locations, "wait", &database, &node])?);
    }
    let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();
    let caller = Caller::sign_in(addresses[0], API_KEY).await?;
    let few = Options { locations: INSTITUTIONS, ..options.clone() };
    let offers = Arc::new(offers(addresses[0], &caller, &few, subdomain).await?);
    if nodes > 1 {
        forwarding(options, &caller, &servers, report).await?;
    }
    let before = spent(&servers, &cluster)?;
    let authorization = caller.authorization().to_owned();
    let mut running = tokio::task::JoinSet::new();
    for (index, address) in addresses.into_iter().enumerate() {
        let (offers, authorization) = (offers.clone(), authorization.clone());
        let requests: Requests = Arc::new(move |number| {
            let number = number * nodes + index;
            let (location, token) = offers.get(number)?;
            let query = format!("subdomain={}&location_id={location}", subdomain(*location));
            Some(request(&booking(number, token.clone()), &query, &authorization))
        });
        let load = Load { connections: options.connections.div_ceil(nodes), ..load(options) };
        running.spawn(load.run(address, requests));
    }
    let mut runs = Vec::new();
    while let Some(run) = running.join_next().await {
        runs.push(run??);
    }
    let answered: u64 = runs.iter().map(|run| run.answered).sum();
    let each = (spent(&servers, &cluster)? - before).as_secs_f64() / answered.max(1) as f64;
    let per_second: f64 = runs.iter().map(|run: &Run| run.per_second).sum();
    report.number(&format!("bookings, nodes: {nodes}"), per_second, "/s", Aim::None);
    for run in runs.iter().filter(|run| !run.refused.is_empty()) {
        report.note(format!("  NOT ANSWERED WITH 200, by status: {:?}", run.refused));
    }
    report.note(format!("  processor time of each, in nodes and database: {}", short(Duration::from_secs_f64(each))));
    Ok(each)
}

/// Measures the same call at the node that hosts the institution and at one that forwards it.
async fn forwarding(
    options: &Options,
    caller: &Caller,
    servers: &[BenchServer],
    report: &mut BenchReport,
) -> BenchResult {
    let calls = options.repetitions_of(CALLS);
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    let path = format!("/operatories?subdomain={}&location_id=1", subdomain(1));
    for server in servers {
        let before = forwarded(server).await?;
        let mut there = caller.another(server.address).await?;
        let mut times = Vec::with_capacity(calls);
        for _ in 0..calls {
            let since = Instant::now();
            let (status, answer) = there.get(&path).await?;
            times.push(since.elapsed());
            if status != 200 {
                return Err(format!("{status} {answer}").into());
            }
        }
        match forwarded(server).await? - before {
            0 => right.extend(times),
            _ => wrong.extend(times),
        }
    }
    let cost = median(wrong).saturating_sub(median(right));
    report.time("a call that is handed on takes longer by", cost, Aim::Below(Duration::from_micros(150)));
    Ok(())
}

/// Returns the number of calls that a node has forwarded.
async fn forwarded(node: &BenchServer) -> Result<u64, Box<dyn Error>> {
    let mut connection =
        crate::harness::http_client::Connection::open(node.operators.ok_or("no listener for operators")?).await?;
    let answer = connection.send(&crate::harness::http_client::request("GET", "/metrics", &[], &[])).await?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("practice_sync_forwarded_total "));
    Ok(line.ok_or("no count of calls handed on")?.parse()?)
}

fn spent(servers: &[BenchServer], cluster: &Cluster) -> Result<Duration, Box<dyn Error>> {
    let nodes = servers.iter().map(|server| Ok(ProcessorTime::by(server.pid())?.total()));
    let nodes: Duration = nodes.sum::<Result<_, std::io::Error>>()?;
    Ok(nodes + database_processor_time(&cluster.sockets().join("data"))?)
}

/// Returns the processor time of the server and its child processes, which serve one session each.
fn database_processor_time(data: &Path) -> Result<Duration, Box<dyn Error>> {
    let server: u32 = fs::read_to_string(data.join("postmaster.pid"))?.lines().next().ok_or("no pid")?.parse()?;
    let mut spent = ProcessorTime::by(server)?.total();
    for process in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
        // The name in parentheses may contain any character. State and parent follow it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        if parent == Some(server) {
            // The process may have ended in the meantime.
            spent += ProcessorTime::by(pid).map_or(Duration::ZERO, |spent| spent.total());
        }
    }
    Ok(spent)
}
