//! The cost of ten thousand connected workstations, and the speed at which waiting writes are sent after a login.

use std::{
    fs, io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use cloud_ehr::{CloudEhr, CloudEhrSettings};
use location::ids::LocationId;
use sandbox_host::Sandboxes;
use serde_json::json;
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    idle::resident,
    options::{BenchResult, Options},
    report::{Aim, BenchReport, median},
    servers::{BenchServer, gateway},
};
use crate::harness::{
    http_client::{Caller, Connection, request},
    process::{self, API_KEY, Listen},
    workstation::{
        TestWorkstation,
        gated_process::{self, LOCATION},
        socket::Socket,
    },
};
use testing::until;

/// Concurrent handshakes.
const AT_ONCE: usize = 64;
/// Descriptors that a process needs in addition to its sockets.
pub(super) const SPARE: usize = 500;
/// Well below the limit of a workstation: each call has up to four requests, and a workstation answers at most forty
/// per second.
const PER_MINUTE: u32 = 480;

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    connected(options, report)?;
    drained(options, report)
}

fn connected(options: &Options, report: &mut BenchReport) -> BenchResult {
    let most = open_files()?.0.saturating_sub(SPARE);
    let count = options.workstations.min(most);
    report.section(
        "workstations connected",
        format!(
            "{count} workstations of {} locations on loopback, each with a WebSocket of its own to the product in a process of its own; \
             one of each location holds the lease; nothing to do but the heartbeat",
            gateway::locations(count)
        ),
    );
    if count < options.workstations {
        report.note(format!("this process may have {most} connections, not {}: raise ulimit -n", options.workstations));
    }
    let dir = tempfile::Builder::new().prefix("bench-workstations").tempdir_in(&options.dir)?;
    let folder = dir.path().to_str().ok_or("a folder whose name is no text")?;
    let server = BenchServer::start(&["gateway", folder, &count.to_string()])?;
    let tokens = fs::read_to_string(gateway::tokens(dir.path()))?;
    actix_rt::System::new().block_on(async {
        let (before, idle) = (resident(server.pid())?, busy(server.pid(), Duration::from_secs(5)).await?);
        let since = Instant::now();
        let (_sockets, pongs) = connect(server.address, tokens.lines().map(str::to_owned).collect()).await?;
        report.number("connections made per second", count as f64 / since.elapsed().as_secs_f64(), "", Aim::None);
        // Memory of the handshakes is released.
        tokio::time::sleep(Duration::from_secs(5)).await;
        let after = resident(server.pid())?;
        let kib = (after - before) * 1e6 / 1_024.0 / count as f64;
        report.number("memory per connection", kib, " KiB", Aim::None);
        report.megabytes("memory of all of them", after - before, Aim::BelowMegabytes(count as f64 * 0.064));
        let answered = pongs.load(Ordering::Relaxed);
        let watched = Duration::from_secs(options.watched);
        let cost = busy(server.pid(), watched).await?;
        let beats = (pongs.load(Ordering::Relaxed) - answered) as f64 / watched.as_secs_f64();
        report.number("heartbeats per second", beats, "", Aim::AtLeast(count as f64 / 20.0 * 0.9));
        report.time(
            "processor time for them per second",
            cost.saturating_sub(idle),
            Aim::Below(Duration::from_millis(100)),
        );
        report.time("  without any workstation", idle, Aim::None);
        report.time(
            "an answer of the API meanwhile, median",
            answer(server.address).await?,
            Aim::Below(Duration::from_millis(5)),
        );
        Ok(())
    })
}

/// Returns the soft and the hard limit of open files of this process.
pub(super) fn open_files() -> io::Result<(usize, usize)> {
    let limits = fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let mut numbers = line.unwrap_or_default().split_whitespace().map_while(|number| number.parse().ok());
    numbers.next().zip(numbers.next()).ok_or_else(|| io::Error::other("no limit of open files"))
}

/// Returns the processor time that a process spends per second.
async fn busy(pid: u32, watched: Duration) -> io::Result<Duration> {
    let before = processor_time(pid)?;
    let since = Instant::now();
    tokio::time::sleep(watched).await;
    Ok((processor_time(pid)? - before).div_f64(since.elapsed().as_secs_f64()))
}

/// Returns the processor time of all threads. The kernel counts in hundredths of a second.
fn processor_time(pid: u32) -> io::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<u64>().ok());
    let ticks = ticks(11).zip(ticks(12)).ok_or_else(|| io::Error::other("no processor time"))?;
    Ok(Duration::from_millis((ticks.0 + ticks.1) * 10))
}

/// Opens connections that answer pings until they are dropped. Returns them with the number of pongs.
async fn connect(address: SocketAddr, tokens: Vec<String>) -> io::Result<(JoinSet<()>, Arc<AtomicUsize>)> {
    let (mut alive, pongs) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut opening = JoinSet::new();
    for token in tokens {
        let turns = turns.clone();
        opening.spawn(async move {
            let _turn = turns.acquire().await.map_err(io::Error::other)?;
            let mut socket = Socket::open(address).await?;
            socket.hello(&token).await?;
            socket.receive_kind("welcome").await.ok_or_else(|| io::Error::other("no welcome"))?;
            socket.state(true, false).await?;
            Ok::<Socket, io::Error>(socket)
        });
    }
    while let Some(opened) = opening.join_next().await {
        let (mut socket, pongs) = (opened.map_err(io::Error::other)??, pongs.clone());
        alive.spawn(async move {
            while let Some(message) = socket.receive().await {
                if message["type"] == "ping" {
                    pongs.fetch_add(1, Ordering::Relaxed);
                    if socket.send(&json!({"type": "pong", "n": message["n"]})).await.is_err() {
                        return;
                    }
                }
            }
        });
    }
    Ok((alive, pongs))
}

async fn answer(address: SocketAddr) -> io::Result<Duration> {
    let mut connection = Connection::open(address).await?;
    let asked = request("GET", "/healthz", &[], &[]);
    let mut times = Vec::new();
    for _ in 0..500 {
        let since = Instant::now();
        connection.send(&asked).await?;
        times.push(since.elapsed());
    }
    Ok(median(times))
}

/// Runs the product, the cloud EHR and the workstation in one process: at this quota, none of them is busy.
fn drained(options: &Options, report: &mut BenchReport) -> BenchResult {
    let writes = 2 * options.gated as u64;
    report.section(
        "a queue behind a closed gate",
        format!(
            "{writes} writes wait until somebody logs in; then they go through the workstation to the cloud EHR, by its adapter, at \
             {PER_MINUTE} calls a minute"
        ),
    );
    actix_rt::System::new().block_on(async {
        let ehr = CloudEhr::start(CloudEhrSettings { calls_per_minute: None, ..CloudEhrSettings::default() })?;
        let dir = tempfile::tempdir()?;
        let rules =
            format!("[defaults.quota]\nper_minute = {PER_MINUTE}\nburst = 1\n[defaults.pull]\nevery = \"1d\"\n");
        let local = "127.0.0.1:0".parse()?;
        let listen = Listen { address: local, operators: local };
        let text = gated_process::configuration(dir.path(), listen, &ehr.origin(), &rules);
        let file = dir.path().join("practice-sync.toml");
        std::fs::write(&file, text)?;
        std::fs::write(dir.path().join("keys.toml"), gated_process::keys())?;
        let config = configuration::Config::load(&file)?;
        let running = api::service::start(config, &Sandboxes::default()).await?;
        let (address, place) = (running.address, LocationId(LOCATION));
        let engine = running.engine.clone();
        let code = engine.gateway().new_code(place, workstations::CodeKind::Single).await?.code;
        let workstation = TestWorkstation::pair(address, &code, "Front desk").await?;
        workstation.browser.log_in(&ehr.log_in("frontdesk"));
        let connection = workstation.start().await?;
        until("the first read cycle", async || engine.sync_state(place).await.ok()?.last_sync).await;
        connection.state(false, false);
        let mut caller = Caller::sign_in(address, API_KEY).await?;
        let offers = process::offers(&mut caller, LOCATION, usize::MAX).await?;
        if offers.len() < options.gated {
            return Err(format!("the EHR offers {} times, not {}", offers.len(), options.gated).into());
        }
        for (n, offer) in offers.iter().rev().take(options.gated).enumerate() {
            let note = format!("booking {n}");
            let body = process::booking(offer, &note, n as u64, &note);
            let (status, answer) = caller.post(&process::path("/intent/booking/book", LOCATION), &body).await?;
            if status != 200 {
                return Err(format!("not booked: {status} {answer}").into());
            }
        }
        let queued = async || engine.sync_state(place).await.map(|state| state.queued);
        if queued().await? != writes {
            return Err(format!("{} writes wait, not {writes}", queued().await?).into());
        }
        let since = Instant::now();
        connection.state(true, false);
        while queued().await? > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let (took, least) =
            (since.elapsed(), Duration::from_secs(60).mul_f64((writes - 1) as f64 / f64::from(PER_MINUTE)));
        report.time("time the quota asks for", least, Aim::None);
        report.time("time it took", took, Aim::Below(least.mul_f64(1.05)));
        let idle = took.saturating_sub(least).as_secs_f64() / took.as_secs_f64();
        report.number("idle", idle * 100.0, " %", Aim::None);
        let visits = ehr
            .appointments()
            .iter()
            .filter(|it| it.note.as_deref().is_some_and(|note| note.contains("booking ")))
            .count();
        report.number("visits in the EHR", visits as f64, "", Aim::AtLeast(options.gated as f64));
        connection.state(false, false);
        engine.stop().await;
        Ok(())
    })
}
