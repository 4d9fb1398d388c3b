//! A fair semaphore for calls. Calls of all tenants share the host's permits; each data source and each EHR host has a
//! limit. The fewer permits are free, the fewer an EHR host may take, so a hanging EHR delays only its own calls. Among
//! waiting calls, those of the EHR host and data source with the fewest running calls are first. The last permits of an
//! EHR host are reserved for data sources without one, so a source with many locations does not block the others.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The purpose of a call. Within a data source, writes accepted from clients precede reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    Write,
    Describe,
    Pull,
}

/// The data source and EHR host to which a call is charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Payer {
    pub source: String,
    /// The address of the EHR. An outage there affects all data sources that it serves.
    pub host: String,
}

#[derive(Clone)]
pub(crate) struct CallPermits(Arc<PermitPool>);

struct PermitPool {
    per_source: u32,
    per_host: u32,
    lines: Mutex<PermitQueues>,
}

struct PermitQueues {
    free: u32,
    hosts: BTreeMap<String, HostQueue>,
    next_ticket: u64,
}

#[derive(Default)]
struct HostQueue {
    busy: u32,
    pulling: u32,
    sources: BTreeMap<String, SourceQueue>,
}

#[derive(Default)]
struct SourceQueue {
    busy: u32,
    pulling: u32,
    waiting: BTreeMap<Ticket, oneshot::Sender<CallPermit>>,
}

type Ticket = (Purpose, u64);

/// A permit, released on drop.
pub(crate) struct CallPermit {
    shared: Arc<PermitPool>,
    payer: Payer,
    purpose: Purpose,
}

impl CallPermits {
    pub(crate) fn new(places: u32, per_source: u32, per_host: u32) -> CallPermits {
        let lines = PermitQueues { free: places, hosts: BTreeMap::new(), next_ticket: 0 };
        CallPermits(Arc::new(PermitPool {
            per_source: per_source.max(1),
            per_host: per_host.max(1),
            lines: Mutex::new(lines),
        }))
    }

    /// Takes a permit, waiting up to `wait`. Returns `None` on timeout.
    pub(crate) async fn take(&self, payer: &Payer, purpose: Purpose, wait: Duration) -> Option<CallPermit> {
        let (sender, receiver) = oneshot::channel();
        let ticket = self.0.enter(payer, purpose, sender);
        // A cancelled caller leaves the queue.
        let _waiting = QueuedCall { shared: &self.0, payer, ticket };
        self.0.serve();
        tokio::time::timeout(wait, receiver).await.ok()?.ok()
    }
}

struct QueuedCall<'a> {
    shared: &'a PermitPool,
    payer: &'a Payer,
    ticket: Ticket,
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        let mut lines = self.shared.lines.lock();
        if let Some(source) = lines.source(self.payer) {
            source.waiting.remove(&self.ticket);
        }
        lines.forget(self.payer);
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.shared.lines.lock().release(&self.payer, self.purpose);
        self.shared.serve();
    }
}

impl PermitPool {
    fn enter(&self, payer: &Payer, purpose: Purpose, sender: oneshot::Sender<CallPermit>) -> Ticket {
        let mut lines = self.lines.lock();
        let ticket = (purpose, lines.next_ticket);
        lines.next_ticket += 1;
        let host = lines.hosts.entry(payer.host.clone()).or_default();
        host.sources.entry(payer.source.clone()).or_default().waiting.insert(ticket, sender);
        ticket
    }

    /// Gives free permits to waiting calls.
    fn serve(self: &Arc<Self>) {
        loop {
            let mut lines = self.lines.lock();
            let Some((payer, purpose, sender)) = lines.next(self) else { return };
            lines.occupy(&payer, purpose);
            drop(lines);
            // If the receiver is gone, the permit is released by its drop. No lock is held now.
            drop(sender.send(CallPermit { shared: self.clone(), payer, purpose }));
        }
    }

    fn host_may(&self, host: &HostQueue, free: u32) -> bool {
        // The last permits are reserved for hosts with few or no calls.
        host.busy < self.per_host && (host.busy == 0 || host.busy < free / 2)
    }

    fn source_may(&self, host: &HostQueue, source: &SourceQueue, purpose: Purpose) -> bool {
        // A quarter is reserved for writes: pages take long, and a client waits for its booking.
        let for_pulls = |all: u32| all - all / 4;
        let pulls = source.pulling < for_pulls(self.per_source) && host.pulling < for_pulls(self.per_host);
        // Few enough that a single source can still write while it pulls, in addition to the quarter above.
        let for_newcomers = self.per_host / 8;
        let first = source.busy == 0 || host.busy + for_newcomers < self.per_host;
        source.busy < self.per_source && first && (purpose != Purpose::Pull || pulls)
    }
}

impl PermitQueues {
    fn source(&mut self, payer: &Payer) -> Option<&mut SourceQueue> {
        self.hosts.get_mut(&payer.host)?.sources.get_mut(&payer.source)
    }

    /// Removes the next waiting call. Prefers the EHR host with the fewest running calls, then the data source with the
    /// fewest, then writes, then the earliest call.
    fn next(&mut self, rules: &PermitPool) -> Option<(Payer, Purpose, oneshot::Sender<CallPermit>)> {
        if self.free == 0 {
            return None;
        }
        let free = self.free;
        let open = self.hosts.iter().filter(|(_, host)| rules.host_may(host, free));
        let candidates = open.flat_map(|(name, host)| {
            host.sources.iter().filter_map(move |(source_name, source)| {
                let ticket = *source.waiting.keys().find(|(purpose, _)| rules.source_may(host, source, *purpose))?;
                Some(((host.busy, source.busy, ticket), (name, source_name)))
            })
        });
        let ((.., ticket), (host, source)) = candidates.min()?;
        let payer = Payer { source: source.clone(), host: host.clone() };
        let sender = self.source(&payer)?.waiting.remove(&ticket)?;
        Some((payer, ticket.0, sender))
    }

    fn occupy(&mut self, payer: &Payer, purpose: Purpose) {
        self.free -= 1;
        self.count(payer, purpose, |n| n + 1);
    }

    fn release(&mut self, payer: &Payer, purpose: Purpose) {
        self.free += 1;
        self.count(payer, purpose, |n| n.saturating_sub(1));
        self.forget(payer);
    }

    fn count(&mut self, payer: &Payer, purpose: Purpose, change: impl Fn(u32) -> u32) {
        let Some(host) = self.hosts.get_mut(&payer.host) else { return };
        host.busy = change(host.busy);
        if purpose == Purpose::Pull {
            host.pulling = change(host.pulling);
        }
        let Some(source) = host.sources.get_mut(&payer.source) else { return };
        source.busy = change(source.busy);
        if purpose == Purpose::Pull {
            source.pulling = change(source.pulling);
        }
    }

    /// Removes the entries of a payer without running or waiting calls.
    fn forget(&mut self, payer: &Payer) {
        let Some(host) = self.hosts.get_mut(&payer.host) else { return };
        if host.sources.get(&payer.source).is_some_and(|source| source.busy == 0 && source.waiting.is_empty()) {
            host.sources.remove(&payer.source);
        }
        if host.sources.is_empty() {
            self.hosts.remove(&payer.host);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::VecDeque;

    use tokio::{sync::mpsc, task::JoinHandle, time::Instant};

    use super::*;

    const WAIT: Duration = Duration::from_millis(400);
    const NOT_AT_ALL: Duration = Duration::ZERO;
    /// Longer than any test.
    const LONG: Duration = Duration::from_secs(600);

    fn payer(source: usize, host: usize) -> Payer {
        Payer { source: format!("source {source}"), host: format!("host {host}") }
    }

    async fn now(places: &CallPermits, payer: &Payer, purpose: Purpose) -> Option<CallPermit> {
        places.take(payer, purpose, NOT_AT_ALL).await
    }

    #[tokio::test]
    async fn a_source_and_a_host_are_limited_to_their_share() {
        let places = CallPermits::new(128, 3, 5);
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(now(&places, &payer(1, 1), Purpose::Write).await.unwrap());
        }
        assert!(now(&places, &payer(1, 1), Purpose::Write).await.is_none(), "the source has its three");
        for _ in 0..2 {
            held.push(now(&places, &payer(2, 1), Purpose::Write).await.unwrap());
        }
        assert!(now(&places, &payer(2, 1), Purpose::Write).await.is_none(), "the host has its five");
        assert!(now(&places, &payer(3, 2), Purpose::Write).await.is_some());
        held.pop();
        assert!(now(&places, &payer(2, 1), Purpose::Write).await.is_some());
        held.clear();
        assert!(places.0.lines.lock().hosts.is_empty(), "nothing is kept of who has gone");
        assert_eq!(places.0.lines.lock().free, 128);
    }

    #[tokio::test]
    async fn many_busy_hosts_leave_a_permit_for_another_host() {
        let places = CallPermits::new(128, 16, 16);
        let mut held = Vec::new();
        for round in 0..40 {
            for host in 0..60 {
                held.extend(now(&places, &payer(host, host), Purpose::Write).await);
            }
            assert!(now(&places, &payer(99, 99), Purpose::Write).await.is_some(), "round {round}");
        }
        assert!(held.len() > 100, "{}", held.len());
    }

    /// Starts calls that wait for a permit. Each sends its source and its permit once it runs.
    async fn wait_in_line(
        places: &CallPermits,
        payer: Payer,
        calls: usize,
        began: &mpsc::UnboundedSender<(String, CallPermit)>,
    ) -> Vec<JoinHandle<()>> {
        let waiting = || places.0.lines.lock().source(&payer).map_or(0, |source| source.waiting.len());
        let before = waiting();
        let calls = (0..calls).map(|_| {
            let (places, payer, began) = (places.clone(), payer.clone(), began.clone());
            tokio::spawn(async move {
                let place = places.take(&payer, Purpose::Write, LONG).await.unwrap();
                drop(began.send((payer.source, place)));
            })
        });
        let calls: Vec<_> = calls.collect();
        while waiting() < before + calls.len() {
            tokio::task::yield_now().await;
        }
        calls
    }

    #[tokio::test]
    async fn a_source_with_many_locations_does_not_block_other_sources() {
        let places = CallPermits::new(128, 16, 16);
        let mut held = Vec::new();
        while let Some(place) = now(&places, &payer(1, 1), Purpose::Write).await {
            held.push(place);
        }
        assert_eq!(held.len(), 14, "all it may have while others could come");
        let (began, mut begins) = mpsc::unbounded_channel();
        let calls = wait_in_line(&places, payer(1, 1), 128, &began).await;
        for (source, host) in [(2, 1), (3, 1), (4, 2), (5, 3)] {
            held.push(now(&places, &payer(source, host), Purpose::Write).await.unwrap());
        }
        assert!(begins.try_recv().is_err(), "nothing came free for its 128 others");
        calls.iter().for_each(JoinHandle::abort);
    }

    #[tokio::test]
    async fn waiting_sources_are_served_fairly() {
        let places = CallPermits::new(128, 4, 4);
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(now(&places, &payer(1, 1), Purpose::Write).await.unwrap());
        }
        let (began, mut begins) = mpsc::unbounded_channel();
        for source in [1, 2, 3] {
            // The permits are released one by one below.
            wait_in_line(&places, payer(source, 1), 3, &began).await;
        }
        // The first source came first and holds all permits. Sources without permits precede it; afterwards all are
        // served alike.
        let (mut order, mut under_way) = (Vec::new(), VecDeque::from(held));
        while order.len() < 9 {
            drop(under_way.pop_front());
            let (source, place) = begins.recv().await.unwrap();
            order.push(source.replace("source ", ""));
            under_way.push_back(place);
        }
        assert_eq!(order.concat(), "231123123");
        drop(under_way);
        assert!(places.0.lines.lock().hosts.is_empty());
    }

    #[tokio::test]
    async fn pulls_leave_a_quarter_to_writes_and_writes_are_served_first() {
        let places = CallPermits::new(128, 4, 16);
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(now(&places, &payer(1, 1), Purpose::Pull).await.unwrap());
        }
        assert!(now(&places, &payer(1, 1), Purpose::Pull).await.is_none());
        held.push(now(&places, &payer(1, 1), Purpose::Write).await.unwrap());
        let waits = |purpose| {
            let (places, since) = (places.clone(), Instant::now());
            tokio::spawn(async move {
                let place = places.take(&payer(1, 1), purpose, WAIT).await;
                let took = since.elapsed();
                tokio::time::sleep(Duration::from_millis(50)).await;
                (place.is_some(), took)
            })
        };
        let pull = waits(Purpose::Pull);
        tokio::time::sleep(Duration::from_millis(10)).await;
        let write = waits(Purpose::Write);
        tokio::time::sleep(Duration::from_millis(10)).await;
        held.remove(0);
        let ((wrote, write), (pulled, pull)) = (write.await.unwrap(), pull.await.unwrap());
        assert!(wrote && pulled && pull > write + Duration::from_millis(20), "{write:?} {pull:?}");
    }

    #[tokio::test]
    async fn a_cancelled_waiter_leaves_the_queue() {
        let places = CallPermits::new(8, 1, 1);
        let held = now(&places, &payer(1, 1), Purpose::Pull).await.unwrap();
        let since = Instant::now();
        assert!(places.take(&payer(1, 1), Purpose::Write, WAIT).await.is_none());
        assert!(since.elapsed() >= WAIT);
        let gone = tokio::spawn({
            let places = places.clone();
            async move { places.take(&payer(1, 1), Purpose::Write, WAIT).await.is_some() }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        gone.abort();
        let _ = gone.await;
        drop(held);
        assert!(places.0.lines.lock().hosts.is_empty());
        assert!(now(&places, &payer(1, 1), Purpose::Write).await.is_some());
    }
}
