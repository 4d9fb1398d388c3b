//! Isolation between tenants: latency and write-backs of a healthy practice's bookings next to a neighbour's load.
//! The neighbour has a hanging EHR, a spinning adapter, endless pulls, or many requests for slots.

use std::{
    fmt::Write,
    fs, io,
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use location::zone::Date;
use sha2::{Digest, Sha256};
use tokio::{sync::oneshot, task::JoinSet};

use super::{
    options::{BenchResult, Options},
    practices,
    report::{Aim, BenchReport},
    servers::BenchServer,
};
use crate::harness::{
    components,
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    process::{self, API_KEY, LOCATIONS, SUBDOMAIN},
};

/// Bookings per second, independent of response times.
const RATE: u32 = 40;
const CLIENTS: u32 = 8;
/// Maximum ratio of the 99th percentiles.
const MOST: f64 = 1.25;
/// Minimum ratio of write-backs to those without a neighbour.
const LEAST: f64 = 0.95;
const NEIGHBOUR: &str = "neighbour";
const NEIGHBOUR_KEY: &str = "psk_of_the_neighbour";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    Nobody,
    /// Number of locations, each with its own data source, and the behaviour of their guest.
    Guests(u32, &'static str),
    /// One location whose slots are requested continuously.
    Slots,
}

const SCENES: [(&str, Neighbour); 6] = [
    ("quiet", Neighbour::Nobody),
    ("140 locations on an EHR that hangs", Neighbour::Guests(140, "hang-in-pull")),
    ("a pull of endless fat pages", Neighbour::Guests(1, "fat-pages")),
    ("20 spinning guests", Neighbour::Guests(20, "spin-in-pull")),
    ("a pull of 60,000 records", Neighbour::Guests(1, "many-patients")),
    ("searches for 10,000 slots", Neighbour::Slots),
];

/// The result of a run.
struct Run {
    median: Duration,
    slow: Duration,
    /// Write-backs per second during the bookings.
    written: f64,
    refused: usize,
}

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "fairness",
        format!(
            "a practice with an EHR of its own books {RATE} times a second for {} s over {CLIENTS} connections, times counted from when a \
             booking was due; beside it, in the same process, neighbours in trouble for {} s before; a new server and data directory each",
            options.seconds,
            options.lead
        ),
    );
    actix_rt::System::new().block_on(async {
        let mut quiet: Option<Run> = None;
        for (name, beside) in SCENES {
            let run = scene(options, beside).await?;
            let against = quiet.as_ref().unwrap_or(&run);
            let ratio = run.slow.as_secs_f64() / against.slow.as_secs_f64().max(1e-9);
            report.time(&format!("{name}: half of the bookings within"), run.median, Aim::None);
            let slowest = if beside == Neighbour::Nobody { Aim::None } else { Aim::Below(against.slow.mul_f64(MOST)) };
            report.time("  99 of 100 within", run.slow, slowest);
            report.number("  of the quiet one's", ratio, "", Aim::None);
            let writes = if beside == Neighbour::Nobody { Aim::None } else { Aim::AtLeast(against.written * LEAST) };
            report.number("  write-backs per second", run.written, "", writes);
            if run.refused > 0 {
                report.note(format!("  {} bookings were refused", run.refused));
            }
            quiet.get_or_insert(run);
        }
        report.note(format!(
            "aim: 99 of 100 within at most {MOST} times the quiet one's; write-backs at full speed ({LEAST})"
        ));
        Ok(())
    })
}

async fn scene(options: &Options, beside: Neighbour) -> Result<Run, Box<dyn std::error::Error>> {
    let dir = tempfile::Builder::new().prefix("bench-fairness").tempdir_in(&options.dir)?;
    let (ehr, other) = (EhrServer::start(fixtures::profile(17))?, EhrServer::start(fixtures::profile(18))?);
    // Accepts connections up to the backlog and never answers.
    let hanging = TcpListener::bind(("127.0.0.1", 0))?;
    let config = dir.path().join("practice-sync.toml");
    fs::write(&config, configuration(dir.path(), beside, &ehr.url(), &other.url(), hanging.local_addr()?))?;
    fs::write(dir.path().join("keys.toml"), keys())?;
    let server = BenchServer::start(&["configured", config.to_str().ok_or("a folder whose name is no text")?])?;
    let mut caller = Caller::sign_in(server.address, API_KEY).await?;
    process::first_sync(&mut caller).await?;
    let place = LOCATIONS[0].0;
    let count = (f64::from(RATE) * options.seconds) as usize;
    let offers = process::offers(&mut caller, place, count).await?;
    if offers.len() < count {
        return Err(format!("the EHR offers {} times, not {count}", offers.len()).into());
    }
    let asking = if beside == Neighbour::Slots { Some(Asking::start(server.address).await?) } else { None };
    tokio::time::sleep(Duration::from_secs(options.lead)).await;
    let run = book(&server, &caller, offers, options.seconds).await;
    asking.map(Asking::end).transpose()?;
    ehr.stop().await;
    other.stop().await;
    run
}

/// Books at a constant rate and counts the write-backs in that time.
async fn book(
    server: &BenchServer,
    caller: &Caller,
    offers: Vec<String>,
    seconds: f64,
) -> Result<Run, Box<dyn std::error::Error>> {
    let place = LOCATIONS[0].0;
    let begin = Instant::now();
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let mut caller = caller.another(server.address).await?;
        let own: Vec<_> = offers.iter().cloned().enumerate().skip(client as usize).step_by(CLIENTS as usize).collect();
        clients.spawn(async move {
            let (mut times, mut refused) = (Vec::new(), 0);
            for (n, offer) in own {
                let due = begin + Duration::from_secs(1) * n as u32 / RATE;
                tokio::time::sleep_until(due.into()).await;
                let body = process::booking(&offer, &format!("fair-{n}"), n as u64, "fairness");
                let (status, _) = caller.post(&process::path("/intent/booking/book", place), &body).await?;
                times.push(due.elapsed());
                refused += usize::from(status != 200);
            }
            Ok::<_, io::Error>((times, refused))
        });
    }
    let (mut times, mut refused) = (Vec::new(), 0);
    while let Some(done) = clients.join_next().await {
        let (own, not) = done??;
        times.extend(own);
        refused += not;
    }
    let took = begin.elapsed().as_secs_f64().max(seconds);
    let operators = server.operators.ok_or("no listener for operators")?;
    let mut operator = Caller::operator(operators, process::OPERATOR_TOKEN).await?;
    let (status, sync) = operator.get(&format!("/locations/{place}/sync?subdomain={SUBDOMAIN}")).await?;
    let waiting = sync["data"]["writes_waiting"].as_u64().ok_or_else(|| format!("{status} {sync}"))?;
    // A patient and an appointment each.
    let made = 2 * (times.len() - refused) as u64;
    times.sort_unstable();
    let at = |per_cent: usize| times.get(times.len() * per_cent / 100).copied().unwrap_or_default();
    Ok(Run { median: at(50), slow: at(99), written: made.saturating_sub(waiting) as f64 / took, refused })
}

/// Requests the slots of the neighbour's location continuously. A separate thread keeps the processing of answers
/// from delaying the bookings.
struct Asking {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<io::Result<()>>,
}

impl Asking {
    async fn start(address: SocketAddr) -> io::Result<Asking> {
        let (stop, (first, ready)) = (Arc::new(AtomicBool::new(false)), oneshot::channel());
        let stopped = stop.clone();
        let ask = async move {
            let mut caller = Caller::sign_in(address, NEIGHBOUR_KEY).await?;
            wait_for_slots(&mut caller).await?;
            let _ = first.send(());
            while !stopped.load(Ordering::Relaxed) {
                let (status, answer) = caller.get(&slots_of_days(30)).await?;
                if status != 200 {
                    return Err(io::Error::other(format!("{status} {answer}")));
                }
            }
            Ok(())
        };
        let thread = thread::spawn(|| actix_rt::System::new().block_on(ask));
        let asking = Asking { stop, thread };
        match ready.await {
            Ok(()) => Ok(asking),
            // The thread ends early only on an error.
            Err(_) => Err(asking
                .end()
                .err()
                .unwrap_or_else(|| io::Error::other("the thread that requests slots ended early"))),
        }
    }

    fn end(self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| io::Error::other("the thread that requests slots panicked"))?
    }
}

fn slots_of_days(days: u32) -> String {
    let start = Date(fixtures::today()).add_days(1);
    format!(
        "/available_slots?subdomain={NEIGHBOUR}&lids[]=2001&start_date={start}&days={days}&slot_length=15&slot_interval=5\
         &overlapping_operatory_slots=true"
    )
}

async fn wait_for_slots(caller: &mut Caller) -> io::Result<()> {
    let since = Instant::now();
    loop {
        // The practice is closed at weekends.
        let (status, answer) = caller.get(&slots_of_days(3)).await?;
        if status == 200 && answer["data"][0]["slots"].as_array().is_some_and(|slots| !slots.is_empty()) {
            return Ok(());
        }
        if since.elapsed() > Duration::from_secs(60) {
            return Err(io::Error::other(format!("the neighbour has no slots: {status} {answer}")));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn configuration(dir: &Path, beside: Neighbour, ehr: &str, other: &str, hanging: SocketAddr) -> String {
    let cache = components::root().join("target").join("adapters").join("compiled");
    let (place, foreign_id, zone, _) = LOCATIONS[0];
    let mut text = format!(
        r#"data_dir = "{data}"
log = "error"
[http]
listen = "127.0.0.1:0"
slot_token = "12h"
[operators]
listen = "127.0.0.1:0"
[rate_limits]
per_second = 0
per_minute = 0
[rate_limits.endpoints]
"POST /intent/booking/search" = 0
"GET /available_slots" = 0
[engine]
adapter_cache = "{cache}"
store_engine = "{engine}"
[adapters]
sandbox = "{sandbox}"
hostile = "{hostile}"
[[institutions]]
id = 1
subdomain = "{SUBDOMAIN}"
name = "Healthy"
environment = "sandbox"
quota = {{ per_minute = 60000, burst = 1000 }}
[[institutions.sources]]
id = 1
name = "Healthy EHR"
adapter = "sandbox"
base_url = "{ehr}"
[[institutions.locations]]
id = {place}
name = "Healthy"
zone = "{zone}"
source = 1
foreign_id = "{foreign_id}"
[[institutions]]
id = 2
subdomain = "{NEIGHBOUR}"
name = "Neighbour"
environment = "sandbox"
"#,
        engine = practices::engine(),
        data = dir.join("data").display(),
        cache = cache.display(),
        sandbox = components::component("sandbox").display(),
        hostile = components::hostile().display(),
    );
    let mut neighbour = |n: u32, adapter: &str, base_url: &str, foreign_id: &str, behaviour: &str| {
        let id = 2_000 + n;
        let settings = if behaviour.is_empty() {
            String::new()
        } else {
            format!("adapter_config = {{ behaviour = \"{behaviour}\" }}\n")
        };
        let written = write!(
            text,
            "[[institutions.sources]]\nid = {id}\nname = \"EHR {n}\"\nadapter = \"{adapter}\"\nbase_url = \"{base_url}\"\n\
             [[institutions.locations]]\nid = {id}\nname = \"Neighbour {n}\"\nzone = \"{zone}\"\nsource = {id}\n\
             foreign_id = \"{foreign_id}\"\n{settings}"
        );
        written.expect("a string takes all text");
    };
    match beside {
        Neighbour::Nobody => {}
        Neighbour::Guests(count, behaviour) => {
            (1..=count).for_each(|n| neighbour(n, "hostile", &format!("http://{hanging}"), "x", behaviour));
        }
        Neighbour::Slots => neighbour(1, "sandbox", other, foreign_id, ""),
    }
    text
}

fn keys() -> String {
    let key = |name: &str, key: &str, subdomain: &str, grants: &str| {
        let hash = hex::encode(Sha256::digest(key));
        format!(
            "[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nenvironment = \"sandbox\"\n\
             institutions = [\"{subdomain}\"]\ngrants = [{grants}]\n"
        )
    };
    [
        key("tests", API_KEY, SUBDOMAIN, "\"financial\""),
        process::operator(),
        key("neighbour", NEIGHBOUR_KEY, NEIGHBOUR, "\"financial\""),
    ]
    .concat()
}
