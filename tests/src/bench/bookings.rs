//! Durable bookings per second over HTTP, beside a bare echo of the same bodies and the same booking on PostgreSQL.

use std::{error::Error, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use location::zone::Date;
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    bodies::{PlainSlot, booking, request},
    cluster::{self, Cluster},
    load::{Load, Outcome as Run, Requests},
    options::{Options, Outcome},
    own_ehr::{OPERATORIES, PROVIDERS},
    practices::SUBDOMAIN,
    report::{Aim, Report, short},
    servers::{Server, WORKERS, product::API_KEY},
};
use crate::harness::{fixtures, http_client::Caller};

/// Searches under way at one time while offers are gathered.
const SEARCHERS: u32 = 8;
/// The most one search answers; also the slots of half the operatories on one day.
const OFFERS: usize = 100;

pub fn run(options: &Options, report: &mut Report) -> Outcome {
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
    let echo = runtime.block_on(echo(options))?;
    report_run(report, "bare actix-web JSON echo of the same bodies", &echo);
    let ours = runtime.block_on(product(options, dir, "wait"))?;
    report_run(report, "practice-sync, write-backs queued", &ours);
    let drained = runtime.block_on(product(options, dir, "at-once"))?;
    report_run(report, "practice-sync, each written back at once as well", &drained);
    report.number("practice-sync / echo", ours.per_second / echo.per_second, "", Aim::AtLeast(0.35));
    match cluster::missing() {
        Some(missing) => report.note(format!("PostgreSQL 15 by hand: SKIPPED, {missing}")),
        None => {
            let postgres = runtime.block_on(postgres(options, dir))?;
            let what = format!("PostgreSQL 15 by hand, {} sessions, synchronous_commit on", options.sessions);
            report_run(report, &what, &postgres);
            report.number("practice-sync / PostgreSQL", ours.per_second / postgres.per_second, "", Aim::AtLeast(8.0));
        }
    }
    Ok(())
}

pub fn report_run(report: &mut Report, what: &str, run: &Run) {
    report.number(what, run.per_second, "/s", Aim::None);
    report.note(format!("  half within {}, 99 of 100 within {}", short(run.median), short(run.slow)));
    if !run.refused.is_empty() {
        report.note(format!("  NOT ANSWERED WITH 200, by status: {:?}", run.refused));
    }
    if run.short_of_requests {
        report.note("  the prepared bookings ran out before the time: more with --bookings");
    }
}

fn load(options: &Options) -> Load {
    Load {
        connections: options.connections,
        warm_up: Duration::from_secs(options.warm_up),
        length: Duration::from_secs(options.seconds),
    }
}

async fn echo(options: &Options) -> Result<Run, Box<dyn Error>> {
    let server = Server::start(&["echo"])?;
    Ok(load(options).run(server.address, plain_requests(options.locations)).await?)
}

async fn postgres(options: &Options, dir: &Path) -> Result<Run, Box<dyn Error>> {
    let cluster = Cluster::start(dir)?;
    let sockets = cluster.sockets().to_str().ok_or("a folder whose name is no text")?;
    let server = Server::start(&["postgres", sockets, &options.sessions.to_string()])?;
    Ok(load(options).run(server.address, plain_requests(options.locations)).await?)
}

async fn product(options: &Options, dir: &Path, writes: &str) -> Result<Run, Box<dyn Error>> {
    let dir = dir.join(writes);
    std::fs::create_dir(&dir)?;
    let dir = dir.to_str().ok_or("a folder whose name is no text")?;
    let server = Server::start(&["product", dir, &options.locations.to_string(), writes, "0"])?;
    let caller = Caller::sign_in(server.address, API_KEY).await?;
    let offers = offers(server.address, &caller, options).await?;
    let authorization = caller.authorization().to_owned();
    let requests: Requests = Arc::new(move |number| {
        let (location, token) = offers.get(number)?;
        let query = format!("subdomain={SUBDOMAIN}&location_id={location}");
        Some(request(&booking(number, token.clone()), &query, &authorization))
    });
    Ok(load(options).run(server.address, requests).await?)
}

/// The same for the comparisons: place after place, the locations in turn.
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

/// Offers as a client finds them, the locations in turn.
pub async fn offers(
    address: SocketAddr,
    caller: &Caller,
    options: &Options,
) -> Result<Vec<(u32, String)>, Box<dyn Error>> {
    let (locations, each) = (u32::try_from(options.locations)?, options.bookings.div_ceil(options.locations));
    let mut searchers = JoinSet::new();
    for first in 0..SEARCHERS {
        let mut caller = caller.another(address).await?;
        searchers.spawn(async move {
            let mut found = Vec::new();
            for location in (1 + first..=locations).step_by(SEARCHERS as usize) {
                found.push((location, of_location(&mut caller, location, each).await?));
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

async fn of_location(caller: &mut Caller, location: u32, count: usize) -> Result<Vec<String>, String> {
    let place = format!("subdomain={SUBDOMAIN}&location_id={location}");
    let (_, answer) = caller.get(&format!("/operatories?{place}&per_page=100")).await.map_err(|e| e.to_string())?;
    let operatories: Vec<u64> =
        answer["data"].as_array().into_iter().flatten().filter_map(|it| it["id"].as_u64()).collect();
    if operatories.len() != OPERATORIES {
        return Err(format!("operatories of {location}: {answer}"));
    }
    let mut tokens = Vec::new();
    for day in 1.. {
        let start = Date(fixtures::today()).add_days(day).to_string();
        for half in operatories.chunks(OPERATORIES / 2) {
            let asked = json!({"operatory_ids": half, "start_date": start, "days": 1, "limit": OFFERS});
            let found = caller.post(&format!("/intent/booking/search?{place}"), &asked).await;
            let (status, found) = found.map_err(|e| e.to_string())?;
            let slots = found["slots"].as_array().filter(|slots| status == 200 && slots.len() == OFFERS);
            let slots = slots.ok_or_else(|| format!("offers of {location} on {start}: {status} {found:.300}"))?;
            tokens.extend(slots.iter().filter_map(|slot| Some(slot["slot_token"].as_str()?.to_owned())));
            if tokens.len() >= count {
                return Ok(tokens);
            }
        }
    }
    Ok(tokens)
}
