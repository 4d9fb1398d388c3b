//! Bookings at a constant rate, alone and during exports of a large location, and the memory of the exports.

use std::{
    error::Error,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use query::index::Index;
use records::record::Record;
use tokio::task::JoinSet;

use super::{
    bodies::booking,
    bookings,
    idle::resident,
    lists,
    options::{BenchResult, Options},
    practices::{self, SUBDOMAIN},
    report::{Aim, BenchReport},
    servers::{BenchServer, product::API_KEY},
};
use crate::harness::http_client::{Caller, request};

/// Bookings per second, independent of response times.
const RATE: u32 = 100;
const CLIENTS: u32 = 8;
/// Locations that get bookings. The first one is exported.
const LOCATIONS: usize = 8;
/// Maximum ratio of the 99th percentiles.
const MOST: f64 = 1.25;
/// Maximum memory of an export, in megabytes.
const MEMORY: f64 = 64.0;
/// Ids from here on are not assigned by the server during the run.
const FIRST_ID: u32 = 1_000_000_000;
/// Bytes at the end of an export that contain its last line.
const TAIL: usize = 1_024;
/// Pause between two readings of the memory.
const PAUSE: Duration = Duration::from_millis(20);

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "export",
        format!(
            "{RATE} bookings a second for {} s over {CLIENTS} connections at {LOCATIONS} locations, times counted from when a booking was \
             due; first alone, then during exports of {} patients, one after the other; the same server",
            options.seconds, options.exported
        ),
    );
    let dir = tempfile::Builder::new().prefix("bench-export").tempdir_in(&options.dir)?;
    fill(dir.path(), options.exported)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(options, dir.path(), report))
}

fn fill(dir: &Path, count: u32) -> BenchResult {
    let (store, index) = (practices::store(dir)?, Arc::new(Index::default()));
    let patients = (1..=count).map(|n| Record { id: FIRST_ID + n, ..lists::patient(n, count) });
    actix_rt::System::new().block_on(lists::load(&store, &index, patients))
}

async fn measure(options: &Options, dir: &Path, report: &mut BenchReport) -> BenchResult {
    let dir = dir.to_str().ok_or("a folder whose name is no text")?;
    let server = BenchServer::start(&["product", dir, &LOCATIONS.to_string(), "wait"])?;
    let caller = Caller::sign_in(server.address, API_KEY).await?;
    let count = (f64::from(RATE) * options.seconds) as usize;
    let all = Options { locations: LOCATIONS, bookings: 2 * count, ..options.clone() };
    let offers = bookings::offers(server.address, &caller, &all, |_| SUBDOMAIN.to_owned()).await?;
    if offers.len() < 2 * count {
        return Err(format!("{} offers, not {}", offers.len(), 2 * count).into());
    }
    let (address, authorization) = (server.address, caller.authorization().to_owned());
    let begun = Instant::now();
    let exported = export(address, &authorization)?;
    report.number("records of an export alone", exported as f64 / begun.elapsed().as_secs_f64(), "/s", Aim::None);
    if exported < u64::from(options.exported) {
        return Err(format!("an export of {exported} records, not {}", options.exported).into());
    }
    let quiet = book(address, &caller, &offers[..count], 0).await?;
    let before = resident(server.pid())?;
    let exporter = Exporter::start(address, authorization, server.pid());
    let during = book(address, &caller, &offers[count..2 * count], count).await?;
    let (exports, most) = exporter.end()?;
    report.time("alone: 99 of 100 bookings within", quiet, Aim::None);
    report.time("during exports: 99 of 100 bookings within", during, Aim::None);
    let ratio = during.as_secs_f64() / quiet.as_secs_f64().max(1e-9);
    report.number("  during exports / alone", ratio, "", Aim::AtMost(MOST));
    report.megabytes("memory that exports added at most", (most - before).max(0.0), Aim::BelowMegabytes(MEMORY));
    report.note(format!("{exports} exports were read meanwhile"));
    Ok(())
}

/// Books at a constant rate. Returns the 99th percentile.
async fn book(
    address: SocketAddr,
    caller: &Caller,
    offers: &[(u32, String)],
    first: usize,
) -> Result<Duration, Box<dyn Error>> {
    let begin = Instant::now();
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS as usize {
        let mut caller = caller.another(address).await?;
        let own: Vec<_> = offers.iter().cloned().enumerate().skip(client).step_by(CLIENTS as usize).collect();
        clients.spawn(async move {
            let mut times = Vec::new();
            for (n, (location, token)) in own {
                let due = begin + Duration::from_secs(1) * n as u32 / RATE;
                tokio::time::sleep_until(due.into()).await;
                let body = serde_json::to_value(booking(first + n, token)).map_err(io::Error::other)?;
                let path = format!("/intent/booking/book?subdomain={SUBDOMAIN}&location_id={location}");
                let (status, answer) = caller.post(&path, &body).await?;
                if status != 200 {
                    return Err(io::Error::other(format!("a booking: {status} {answer}")));
                }
                times.push(due.elapsed());
            }
            Ok::<_, io::Error>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(own) = clients.join_next().await {
        times.extend(own??);
    }
    times.sort_unstable();
    Ok(times.get(times.len() * 99 / 100).copied().unwrap_or_default())
}

/// Reads exports of the first location one after the other, on a thread, and watches the memory of the server on
/// another one.
struct Exporter {
    stop: Arc<AtomicBool>,
    reader: JoinHandle<io::Result<usize>>,
    watcher: JoinHandle<io::Result<f64>>,
}

impl Exporter {
    fn start(address: SocketAddr, authorization: String, pid: u32) -> Exporter {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, ended) = (stop.clone(), stop.clone());
        let reader = thread::spawn(move || {
            let mut exports = 0;
            while !stopped.load(Ordering::Relaxed) {
                export(address, &authorization)?;
                exports += 1;
            }
            Ok(exports)
        });
        let watcher = thread::spawn(move || {
            let mut most = 0.0;
            while !ended.load(Ordering::Relaxed) {
                most = f64::max(most, resident(pid)?);
                thread::sleep(PAUSE);
            }
            Ok(most)
        });
        Exporter { stop, reader, watcher }
    }

    /// Returns the number of exports, and the highest memory in megabytes.
    fn end(self) -> io::Result<(usize, f64)> {
        self.stop.store(true, Ordering::Relaxed);
        let panicked = |_| io::Error::other("a thread of the exporter panicked");
        Ok((self.reader.join().map_err(panicked)??, self.watcher.join().map_err(panicked)??))
    }
}

/// Reads an export to its end. Returns the number of records in its last line.
fn export(address: SocketAddr, authorization: &str) -> io::Result<u64> {
    let path = format!("/export?subdomain={SUBDOMAIN}&location_id=1");
    let headers = [("authorization", authorization), ("svc-api-version", "v3.0.0"), ("connection", "close")];
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(&request("GET", &path, &headers, b""))?;
    let (mut buffer, mut tail) = (vec![0; 64 << 10], Vec::new());
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        tail.extend_from_slice(&buffer[..read]);
        tail.drain(..tail.len().saturating_sub(TAIL));
    }
    let tail = String::from_utf8_lossy(&tail);
    let count = tail.split_once(r#""type":"end""#).and_then(|(_, end)| end.split_once(r#""count":"#));
    let count = count.and_then(|(_, count)| count.split('}').next()?.parse().ok());
    count.ok_or_else(|| io::Error::other(format!("an export without its end: {tail}")))
}
