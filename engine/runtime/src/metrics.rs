//! Counters for /metrics.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use location::{
    ids::LocationId,
    time::{SECOND, Timestamp},
};
use prometheus::HistogramOpts;
pub use prometheus::{Histogram, HistogramVec, core::Collector, proto::MetricFamily as Family};

use crate::recent_errors::RecentErrors;

/// What every name in /metrics begins with.
pub const NAMESPACE: &str = "practice_sync";

#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn subtract(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper bounds of all histograms, in seconds: from a commit on a good disk to a call that an EHR lets hang.
const BOUNDS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0];

/// How long something took, each time, by labels.
pub fn durations_by(name: &str, help: &str, labels: &[&str]) -> HistogramVec {
    HistogramVec::new(durations(name, help), labels).expect("names and labels are words")
}

fn durations(name: &str, help: &str) -> HistogramOpts {
    HistogramOpts::new(name, help).namespace(NAMESPACE).buckets(BOUNDS.to_vec())
}

/// How long the engine's steps take.
#[derive(Debug)]
pub struct Durations {
    /// From the moment a location takes up a request until it is answered, and the part of it that waits for the store.
    pub turns: Histogram,
    pub commit_waits: Histogram,
    /// From the first byte of a message to its answer, or to the end of the time it has.
    pub webhook_sends: Histogram,
}

impl Default for Durations {
    fn default() -> Durations {
        let of = |name, help| Histogram::with_opts(durations(name, help)).expect("names are words");
        Durations {
            turns: of("turn_seconds", "From a location taking up a request until it is answered."),
            commit_waits: of("commit_wait_seconds", "The part of a turn that waits for its commit."),
            webhook_sends: of("webhook_send_seconds", "From sending a webhook message until its answer."),
        }
    }
}

impl Durations {
    pub fn collect(&self) -> Vec<Family> {
        [&self.turns, &self.commit_waits, &self.webhook_sends].into_iter().flat_map(Collector::collect).collect()
    }
}

/// What the engine counts while it runs.
#[derive(Debug, Default)]
pub struct Metrics {
    pub locations_active: Counter,
    pub commits: Counter,
    pub commands: Counter,
    pub durations: Durations,
    pub refused_busy: Counter,
    pub adapter_calls: Counter,
    pub adapter_faults: Counter,
    /// Writes that ended without the EHR having them.
    pub writes_failed: Counter,
    pub locations: Locations,
    pub recent_errors: RecentErrors,
    /// Institutions that live on this node, where there are several.
    pub institutions_here: Counter,
    /// Those that moved to this node, and away from it.
    pub institutions_came: Counter,
    pub institutions_left: Counter,
    pub webhooks_delivered: Counter,
    pub webhooks_failed: Counter,
}

/// How a location stood after its last turn. Whatever changes it is a turn, so it stays true when the location leaves memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Standing {
    /// Unfinished writes.
    pub queued: u64,
    /// Of them, those that nothing is done about: the gate is shut, or the EHR failed too often.
    pub parked: u64,
    pub oldest_write: Option<Timestamp>,
    /// Of a location with an EHR that has been read.
    pub last_read: Option<Timestamp>,
    /// Why reading, or writing, does not work; none where it does.
    pub read_problem: Option<String>,
    pub write_problem: Option<String>,
    /// Records of the EHR that could not be read when they were last shown.
    pub skipped: u64,
}

/// All locations that have been in memory.
#[derive(Debug, Default)]
pub struct Locations(Mutex<BTreeMap<LocationId, Standing>>);

impl Locations {
    pub fn note(&self, location: LocationId, standing: Standing) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(location, standing);
    }

    pub fn all(&self) -> BTreeMap<LocationId, Standing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn retain(&self, keep: impl Fn(LocationId) -> bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|location, _| keep(*location));
    }

    /// Their part of the numbers.
    fn add_to(&self, numbers: &mut Numbers, now: Timestamp) {
        let age = |since: Timestamp| u64::try_from(now.since(since) / SECOND).unwrap_or(0);
        for standing in self.0.lock().unwrap_or_else(PoisonError::into_inner).values() {
            numbers.writes_queued += standing.queued;
            numbers.writes_parked += standing.parked;
            numbers.oldest_write_seconds = numbers.oldest_write_seconds.max(standing.oldest_write.map_or(0, age));
            numbers.oldest_read_seconds = numbers.oldest_read_seconds.max(standing.last_read.map_or(0, age));
            numbers.locations_not_reading += u64::from(standing.read_problem.is_some());
            numbers.locations_not_writing += u64::from(standing.write_problem.is_some());
            numbers.records_skipped += standing.skipped;
        }
    }
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    pub locations_active: u64,
    pub commits: u64,
    pub commands: u64,
    pub refused_busy: u64,
    pub adapter_calls: u64,
    pub adapter_faults: u64,
    pub writes_queued: u64,
    pub writes_parked: u64,
    pub writes_failed: u64,
    /// How long the write that has waited longest has waited.
    pub oldest_write_seconds: u64,
    /// How long ago the last read cycle succeeded where that is longest ago.
    pub oldest_read_seconds: u64,
    /// Locations that are red.
    pub locations_not_reading: u64,
    pub locations_not_writing: u64,
    pub records_skipped: u64,
    pub webhooks_delivered: u64,
    pub webhooks_failed: u64,
    pub webhooks_waiting: u64,
    pub webhooks_overflowed: u64,
    pub webhook_endpoints_failing: u64,
    pub store_free_bytes: u64,
    /// How long the last group of commits took, in microseconds, and what waits for the next.
    pub store_commit_micros: u64,
    pub store_batches_waiting: u64,
    pub institutions_here: u64,
    pub institutions_came: u64,
    pub institutions_left: u64,
    /// 1 when values are known to be lost or damaged.
    pub store_damaged: u64,
    pub workstations_connected: u64,
    /// Locations whose workstation gate is open.
    pub gates_open: u64,
    /// Answers of workstations that were not believed.
    pub workstation_answers_refused: u64,
}

impl Metrics {
    /// Forgets the locations that another process knows better.
    pub fn retain(&self, keep: impl Fn(LocationId) -> bool) {
        self.locations.retain(&keep);
        self.recent_errors.retain(&keep);
    }

    /// What others know better stays 0.
    pub fn numbers(&self, now: Timestamp) -> Numbers {
        let mut numbers = Numbers {
            locations_active: self.locations_active.get(),
            commits: self.commits.get(),
            commands: self.commands.get(),
            refused_busy: self.refused_busy.get(),
            adapter_calls: self.adapter_calls.get(),
            adapter_faults: self.adapter_faults.get(),
            writes_failed: self.writes_failed.get(),
            institutions_here: self.institutions_here.get(),
            institutions_came: self.institutions_came.get(),
            institutions_left: self.institutions_left.get(),
            webhooks_delivered: self.webhooks_delivered.get(),
            webhooks_failed: self.webhooks_failed.get(),
            ..Numbers::default()
        };
        self.locations.add_to(&mut numbers, now);
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_summed_up_and_the_oldest_counts() {
        let metrics = Metrics::default();
        let why = || Some("it is down".to_owned());
        let at = |seconds: i64| Some(Timestamp(seconds * SECOND));
        metrics.locations.note(LocationId(1), Standing { queued: 9, ..Standing::default() });
        let read = Standing { last_read: at(90), skipped: 4, ..Standing::default() };
        metrics.locations.note(LocationId(1), Standing { queued: 2, oldest_write: at(40), ..read });
        let shut = Standing { last_read: at(70), write_problem: why(), ..Standing::default() };
        let shut = Standing { queued: 3, parked: 3, oldest_write: at(10), ..shut };
        metrics.locations.note(LocationId(2), shut);
        metrics.locations.note(LocationId(3), Standing { read_problem: why(), skipped: 3, ..Standing::default() });
        let numbers = metrics.numbers(Timestamp(100 * SECOND));
        assert_eq!((numbers.writes_queued, numbers.writes_parked), (5, 3));
        assert_eq!((numbers.oldest_write_seconds, numbers.oldest_read_seconds), (90, 30));
        assert_eq!((numbers.locations_not_reading, numbers.locations_not_writing), (1, 1));
        assert_eq!(numbers.records_skipped, 7);
        metrics.retain(|location| location == LocationId(1));
        assert_eq!(metrics.numbers(Timestamp(100 * SECOND)).writes_queued, 2);
    }
}
