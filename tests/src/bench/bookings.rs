//! Durable bookings per second over HTTP, compared with an echo of the same bodies and the same booking on
//! PostgreSQL.

use std::{
    collections::BTreeMap, error::Error, fs, io, net::SocketAddr, os::unix::fs::MetadataExt, path::Path, sync::Arc,
    time::Duration,
};

use location::zone::Date;
use postgres_server::{Cluster, Durability};
use serde_json::{Value, json};
use store::EngineKind;
use tokio::task::JoinSet;

use super::{
    bodies::{PlainSlot, booking, request},
    load::{Load, LoadOutcome as Run, Requests},
    options::{BenchResult, Options},
    own_ehr::{OPERATORIES, PROVIDERS},
    practices::{self, SUBDOMAIN},
    processor_time::ProcessorTime,
    report::{self, Aim, BenchReport, short},
    servers::{BenchServer, WORKERS, product::API_KEY},
};
use crate::harness::{fixtures, http_client::Caller};

/// Concurrent searches while offers are collected.
const SEARCHERS: u32 = 8;
/// Maximum number of offers per search; also the slots of half the operatories on one day.
const OFFERS: usize = 100;

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "bookings over HTTP",
        format!(
            "{} connections in a closed loop, {} s after {} s of warm-up; {} locations of {OPERATORIES} operatories; servers in processes of \
             their own with {WORKERS} HTTP workers, load generator on the same machine; patients come again, a new key each; bookings \
             durable before they are answered",
            options.connections, options.seconds, options.warm_up, options.locations
        ),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let dir = tempfile::Builder::new().prefix("bench-bookings").tempdir_in(&options.dir)?;
    let dir = dir.path();
    let echo = runtime.block_on(echo(options, report))?;
    let what = "practice-sync, write-backs queued";
    let ours = runtime.block_on(product(options, dir, "wait", None, what, report))?;
    let what = "practice-sync, each written back at once as well";
    let drained = runtime.block_on(product(options, dir, "at-once", None, what, report))?;
    let ratio = |run: &Run| run.per_second / echo.per_second;
    report.number("practice-sync / echo", ratio(&ours), "", report::at_least(0.12, 0.2));
    report.number("  written back at once / echo", ratio(&drained), "", report::at_least(0.06, 0.1));
    match postgres_server::missing() {
        Some(missing) => report.note(format!("PostgreSQL 15 by hand: SKIPPED, {missing}")),
        None => {
            let postgres = runtime.block_on(postgres(options, dir))?;
            let what = format!("PostgreSQL 15 by hand, {} sessions, synchronous_commit on", options.sessions);
            report_run(report, &what, &postgres);
            report.number(
                "practice-sync / PostgreSQL",
                ours.per_second / postgres.per_second,
                "",
                report::at_least(3.0, 5.0),
            );
            let in_database = runtime.block_on(in_database(options, dir, report))?;
            let ratio = in_database.per_second / postgres.per_second;
            report.number("practice-sync on PostgreSQL / PostgreSQL by hand", ratio, "", Aim::AtLeast(2.0));
        }
    }
    Ok(())
}

pub fn report_run(report: &mut BenchReport, what: &str, run: &Run) {
    report.number(what, run.per_second, "/s", Aim::None);
    report.note(format!("  half within {}, 99 of 100 within {}", short(run.median), short(run.slow)));
    if !run.refused.is_empty() {
        report.note(format!("  NOT ANSWERED WITH 200, by status: {:?}", run.refused));
    }
    if run.short_of_requests {
        report.note("  the prepared bookings ran out before the time: more with --bookings");
    }
}

pub fn load(options: &Options) -> Load {
    Load { connections: options.connections, warm_up: Duration::from_secs(options.warm_up), length: options.length() }
}

/// Returns the bytes of the blocks allocated for a folder's files.
fn used(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => used(&entry.path())?,
            false => entry.metadata()?.blocks() * 512,
        };
    }
    Ok(bytes)
}

async fn echo(options: &Options, report: &mut BenchReport) -> Result<Run, Box<dyn Error>> {
    let server = BenchServer::start(&["echo"])?;
    let spent = ProcessorTime::by(server.pid())?;
    let run = load(options).run(server.address, plain_requests(options.locations)).await?;
    report_run(report, "bare actix-web JSON echo of the same bodies", &run);
    ProcessorTime::by(server.pid())?.report(&spent, run.answered as f64, Aim::None, report);
    Ok(run)
}

async fn postgres(options: &Options, dir: &Path) -> Result<Run, Box<dyn Error>> {
    let cluster = Cluster::start(dir, Durability::Synced)?;
    let sockets = cluster.sockets().to_str().ok_or("a folder whose name is no text")?;
    let server =
        BenchServer::start(&["postgres", sockets, &cluster.port().to_string(), &options.sessions.to_string()])?;
    Ok(load(options).run(server.address, plain_requests(options.locations)).await?)
}

async fn in_database(options: &Options, dir: &Path, report: &mut BenchReport) -> Result<Run, Box<dyn Error>> {
    let dir = dir.join("in-database");
    std::fs::create_dir(&dir)?;
    let cluster = Cluster::start(&dir, Durability::Synced)?;
    let what = "practice-sync, its store on PostgreSQL 15, write-backs queued";
    product(options, &dir, "wait", Some(&cluster.database()?), what, report).await
}

/// Runs the product and reports its processor time and disk usage per booking, including the warm-up.
pub async fn product(
    options: &Options,
    dir: &Path,
    writes: &str,
    database: Option<&str>,
    what: &str,
    report: &mut BenchReport,
) -> Result<Run, Box<dyn Error>> {
    let dir = dir.join(writes);
    std::fs::create_dir(&dir)?;
    let name = dir.to_str().ok_or("a folder whose name is no text")?;
    let locations = options.locations.to_string();
    let mut arguments = vec!["product", name, &locations, writes];
    arguments.extend(database);
    let server = BenchServer::start(&arguments)?;
    let caller = Caller::sign_in(server.address, API_KEY).await?;
    let offers = offers(server.address, &caller, options, |_| SUBDOMAIN.to_owned()).await?;
    let authorization = caller.authorization().to_owned();
    let requests: Requests = Arc::new(move |number| {
        let (location, token) = offers.get(number)?;
        let query = format!("subdomain={SUBDOMAIN}&location_id={location}");
        Some(request(&booking(number, token.clone()), &query, &authorization))
    });
    let (spent, used_before) = (ProcessorTime::by(server.pid())?, used(&dir)?);
    let run = load(options).run(server.address, requests).await?;
    report_run(report, what, &run);
    let aim = match (writes, database, practices::engine()) {
        ("wait", None, EngineKind::Fjall) => Aim::Below(Duration::from_micros(170)),
        _ => Aim::None,
    };
    ProcessorTime::by(server.pid())?.report(&spent, run.answered as f64, aim, report);
    let kib = used(&dir)?.saturating_sub(used_before) as f64 / run.answered.max(1) as f64 / 1_024.0;
    let aim = if writes == "at-once" { report::at_most(12.0, 4.0) } else { Aim::None };
    report.number("  disk for each", kib, " KiB", aim);
    Ok(run)
}

/// Returns the requests for the comparisons: place after place, in rotation over the locations.
fn plain_requests(locations: usize) -> Requests {
    let first = i64::from(fixtures::today() + 1) * 86_400;
    Arc::new(move |number| {
        let (at, place) = (number % locations, number / locations);
        let operatory = place % OPERATORIES;
        let start = first + (place / OPERATORIES) as i64 * 1_800;
        let slot = PlainSlot {
            location: i32::try_from(at).ok()?,
            operatory: (at * OPERATORIES + operatory) as i64,
            provider: i32::try_from(operatory % PROVIDERS).ok()?,
            start,
            end: start + 1_800,
        };
        let query = format!("subdomain={SUBDOMAIN}&location_id={at}");
        Some(request(&booking(number, slot.token()), &query, "Bearer of-as-many-letters-as-ours"))
    })
}

/// Searches offers like a client and returns them in rotation over the locations.
pub async fn offers(
    address: SocketAddr,
    caller: &Caller,
    options: &Options,
    subdomain: fn(u32) -> String,
) -> Result<Vec<(u32, String)>, Box<dyn Error>> {
    let (locations, each) = (u32::try_from(options.locations)?, options.bookings.div_ceil(options.locations));
    let mut searchers = JoinSet::new();
    for first in 0..SEARCHERS {
        let mut caller = caller.another(address).await?;
        searchers.spawn(async move {
            let mut found = Vec::new();
            for location in (1 + first..=locations).step_by(SEARCHERS as usize) {
                let place = format!("subdomain={}&location_id={location}", subdomain(location));
                found.push((location, slot_tokens_for(&mut caller, &place, each).await?));
            }
            Ok::<_, String>(found)
        });
    }
    let mut by_location = Vec::new();
    while let Some(found) = searchers.join_next().await {
        by_location.extend(found??);
    }
    let mut in_turn = Vec::with_capacity(options.bookings);
    for place in 0..each {
        let at_place =
            by_location.iter().filter_map(|(location, tokens)| Some((*location, tokens.get(place)?.clone())));
        in_turn.extend(at_place);
    }
    Ok(in_turn)
}

async fn slot_tokens_for(caller: &mut Caller, place: &str, count: usize) -> Result<Vec<String>, String> {
    let (_, hours) = caller.get(&format!("/working_hours?{place}&per_page=100")).await.map_err(|e| e.to_string())?;
    let halves = halves(&hours["data"]);
    if halves.iter().map(Vec::len).ne([PROVIDERS; OPERATORIES / PROVIDERS]) {
        return Err(format!("working hours of {place}: {hours}"));
    }
    let mut tokens = Vec::new();
    for day in 1.. {
        let start = Date(fixtures::today()).add_days(day).to_string();
        for half in &halves {
            let asked = json!({"operatory_ids": half, "start_date": start, "days": 1, "limit": OFFERS});
            let found = caller.post(&format!("/intent/booking/search?{place}"), &asked).await;
            let (status, found) = found.map_err(|e| e.to_string())?;
            let slots = found["slots"].as_array().filter(|slots| status == 200 && slots.len() == OFFERS);
            let slots = slots.ok_or_else(|| format!("offers of {place} on {start}: {status} {found:.300}"))?;
            tokens.extend(slots.iter().filter_map(|slot| Some(slot["slot_token"].as_str()?.to_owned())));
            if tokens.len() >= count {
                return Ok(tokens);
            }
        }
    }
    Ok(tokens)
}

/// Splits the operatories of a practice into sets with one operatory per provider, because a search returns a
/// provider once per start. Ids have no order.
pub fn halves(hours: &Value) -> Vec<Vec<u64>> {
    let mut by_provider: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for hour in hours.as_array().into_iter().flatten() {
        if let Some((provider, operatory)) = hour["provider_id"].as_u64().zip(hour["operatory_id"].as_u64()) {
            by_provider.entry(provider).or_default().push(operatory);
        }
    }
    let most = by_provider.values().map(Vec::len).max().unwrap_or_default();
    (0..most).map(|n| by_provider.values().filter_map(|theirs| theirs.get(n).copied()).collect()).collect()
}
