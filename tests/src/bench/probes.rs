//! Latency of probes on both listeners while clients load all workers of the server.

use std::{
    io,
    net::SocketAddr,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    bookings,
    load::Requests,
    options::{BenchResult, Options},
    practices::SUBDOMAIN,
    reads,
    report::{Aim, BenchReport, short},
    servers::{WORKERS, product::API_KEY},
};
use crate::harness::http_client::{Caller, Connection, api_request, request};

/// Pause between two probes of a connection.
const PAUSE: Duration = Duration::from_millis(2);

pub fn run(options: &Options, report: &mut BenchReport) -> BenchResult {
    report.section(
        "probes",
        format!(
            "two connections to each listener, {} s; first alone, then beside {} connections that read lists anew and register patients, all \
             on one machine; the server has {WORKERS} HTTP workers for clients",
            options.seconds, options.connections
        ),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let dir = tempfile::Builder::new().prefix("bench-probes").tempdir_in(&options.dir)?;
    runtime.block_on(measure(options, dir.path(), report))
}

async fn measure(options: &Options, dir: &Path, report: &mut BenchReport) -> BenchResult {
    let lists = reads::fill(options, dir).await?;
    let server = reads::server(dir)?;
    let operators = server.operators.ok_or("no listener of operators")?;
    let listeners = [("clients", server.address), ("operators", operators)];
    let length = options.length();
    let alone = tokio::task::spawn_blocking(move || all(listeners, length)).await??;
    report_times("alone", alone, None, report);

    let caller = Caller::sign_in(server.address, API_KEY).await?;
    let (_, providers) = caller.another(server.address).await?.get(&format!("/providers?{}", place())).await?;
    let (provider, authorization) = (providers["data"][0]["id"].clone(), caller.authorization().to_owned());
    let requests: Requests = Arc::new(move |number| {
        let list = &lists[number % lists.len()];
        Some(match number % 4 {
            0 => {
                let bio = json!({"date_of_birth": "1985-05-05", "phone_number": format!("+1 556 {number:07}")});
                let patient = json!({"first_name": "Ada", "last_name": format!("Probed{number}"), "email": "ada@example.com", "bio": bio});
                let body = json!({"provider": {"provider_id": provider}, "patient": patient}).to_string();
                api_request("POST", &format!("/patients?{}", place()), &authorization, body.as_bytes())
            }
            _ => api_request("GET", &list.path, &authorization, b""),
        })
    });
    let beside = tokio::task::spawn_blocking(move || {
        thread::sleep(Duration::from_millis(200));
        all(listeners, length)
    });
    let load = bookings::load(options).run(server.address, requests);
    let (load, beside) = tokio::join!(load, beside);
    report.note(format!("in addition to {:.0} lists a second", load?.per_second));
    report_times("under load", beside??, Some(Duration::from_millis(5)), report);
    Ok(())
}

fn place() -> String {
    format!("subdomain={SUBDOMAIN}&location_id=1")
}

/// The sorted times of each listener's probes.
type Times = Vec<(String, Vec<Duration>)>;

/// Runs each connection on its own thread, because the load generator's threads would delay it.
fn all(listeners: [(&'static str, SocketAddr); 2], length: Duration) -> io::Result<Times> {
    let of = |(name, address): (&'static str, SocketAddr)| {
        ["/healthz", "/readyz"]
            .map(|path| (format!("{name}, {path}"), thread::spawn(move || probe(address, path, length))))
    };
    let probing: Vec<_> = listeners.into_iter().flat_map(of).collect();
    let ended = probing.into_iter().map(|(name, thread)| {
        let times = thread.join().map_err(|_| io::Error::other("a prober panicked"))??;
        Ok((name, times))
    });
    ended.collect()
}

fn probe(address: SocketAddr, path: &str, length: Duration) -> io::Result<Vec<Duration>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let probing = async {
        let (mut connection, request) = (Connection::open(address).await?, request("GET", path, &[], b""));
        let (mut times, until) = (Vec::new(), Instant::now() + length);
        while times.is_empty() || Instant::now() < until {
            let sent = Instant::now();
            let answer = connection.send(&request).await?;
            times.push(sent.elapsed());
            if answer.status != 200 {
                return Err(io::Error::other(format!("{path}: {}", answer.status)));
            }
            tokio::time::sleep(PAUSE).await;
        }
        times.sort_unstable();
        Ok(times)
    };
    runtime.block_on(probing)
}

/// Reports the times. The aim applies to the operators' listener only, because clients' probes wait for clients.
fn report_times(when: &str, all: Times, aim: Option<Duration>, report: &mut BenchReport) {
    for (name, times) in all {
        let at = |per_cent: usize| times[(times.len() * per_cent / 100).min(times.len() - 1)];
        let aim = aim.filter(|_| name.starts_with("operators")).map_or(Aim::None, Aim::Below);
        report.time(&format!("{when}: {name}, 99 of 100 within"), at(99), aim);
        report.note(format!("  median {}, slowest {}, of {}", short(at(50)), short(at(100)), times.len()));
    }
}
