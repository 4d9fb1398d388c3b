//! The load generator for all servers. Each connection sends the next request as soon as the previous one is
//! answered.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::harness::http_client::Connection;

/// Requests by number; `None` when they are used up.
pub type Requests = Arc<dyn Fn(usize) -> Option<Vec<u8>> + Send + Sync>;

#[derive(Clone, Copy)]
pub struct Load {
    pub connections: usize,
    pub warm_up: Duration,
    pub length: Duration,
}

/// Results after the warm-up.
pub struct LoadOutcome {
    pub per_second: f64,
    /// Including the warm-up.
    pub answered: u64,
    /// Responses other than 200 by status, over the whole run.
    pub refused: BTreeMap<u16, u64>,
    pub median: Duration,
    pub slow: Duration,
    /// The requests were used up before the end.
    pub short_of_requests: bool,
}

#[derive(Default)]
struct Tally {
    answered: u64,
    times: Vec<Duration>,
    refused: BTreeMap<u16, u64>,
    last: Option<Instant>,
    ran_out: bool,
}

impl Load {
    pub async fn run(self, address: SocketAddr, requests: Requests) -> io::Result<LoadOutcome> {
        let (next, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Tally::default())));
        let begin = Instant::now() + self.warm_up;
        let end = begin + self.length;
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            let connection = Connection::open(address).await?;
            clients.push(tokio::spawn(client(connection, requests.clone(), next.clone(), begin, end, all.clone())));
        }
        for client in clients {
            client.await.map_err(io::Error::other)??;
        }
        let tally = std::mem::take(&mut *all.lock());
        Ok(outcome(tally, begin))
    }
}

fn outcome(mut tally: Tally, begin: Instant) -> LoadOutcome {
    tally.times.sort_unstable();
    let at = |per_cent: usize| tally.times.get(tally.times.len() * per_cent / 100).copied().unwrap_or_default();
    let took = tally.last.map_or(Duration::ZERO, |last| last.duration_since(begin));
    LoadOutcome {
        per_second: tally.times.len() as f64 / took.as_secs_f64().max(1e-9),
        answered: tally.answered,
        median: at(50),
        slow: at(99),
        refused: tally.refused,
        short_of_requests: tally.ran_out,
    }
}

async fn client(
    mut connection: Connection,
    requests: Requests,
    next: Arc<AtomicUsize>,
    begin: Instant,
    end: Instant,
    all: Arc<Mutex<Tally>>,
) -> io::Result<()> {
    let mut own = Tally::default();
    while Instant::now() < end {
        let Some(request) = requests(next.fetch_add(1, Ordering::Relaxed)) else {
            own.ran_out = true;
            break;
        };
        let sent = Instant::now();
        let answer = connection.send(&request).await?;
        let answered = Instant::now();
        if answer.status != 200 {
            *own.refused.entry(answer.status).or_default() += 1;
            continue;
        }
        own.answered += 1;
        if answered >= begin {
            own.times.push(answered - sent);
            own.last = Some(answered);
        }
    }
    let mut all = all.lock();
    all.answered += own.answered;
    all.times.append(&mut own.times);
    all.ran_out |= own.ran_out;
    all.last = all.last.max(own.last);
    own.refused.into_iter().for_each(|(status, count)| *all.refused.entry(status).or_default() += count);
    Ok(())
}
