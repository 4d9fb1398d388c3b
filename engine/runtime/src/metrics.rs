//! Counters for /metrics.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use location::{LocationId, Resource, SECOND, Timestamp};
use parking_lot::Mutex;
use prometheus::HistogramOpts;
pub use prometheus::{Histogram, HistogramVec, core::Collector, proto::MetricFamily as Family};

use crate::RecentErrors;

/// The prefix of all names in /metrics.
pub const NAMESPACE: &str = "practice_sync";

#[derive(Debug, Default)]
pub struct MetricCounter(AtomicU64);

impl MetricCounter {
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

/// Upper bounds of all histograms, in seconds: from a commit on a good disk to a hanging call of an EHR.
const BOUNDS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0];

pub fn durations_by(name: &str, help: &str, labels: &[&str]) -> HistogramVec {
    HistogramVec::new(durations(name, help), labels).expect("names and labels are words")
}

fn durations(name: &str, help: &str) -> HistogramOpts {
    HistogramOpts::new(name, help).namespace(NAMESPACE).buckets(BOUNDS.to_vec())
}

/// Durations of the engine's steps.
#[derive(Debug)]
pub struct Durations {
    /// Time from the start of a request's turn to its reply, and the part that waits for the store.
    pub turns: Histogram,
    pub commit_waits: Histogram,
    /// Time from the first byte of a message to its answer or timeout.
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

/// Counters of the running engine.
#[derive(Debug, Default)]
pub struct Metrics {
    pub locations_active: MetricCounter,
    pub commits: MetricCounter,
    pub commands: MetricCounter,
    pub durations: Durations,
    pub refused_busy: MetricCounter,
    pub adapter_calls: MetricCounter,
    pub adapter_faults: MetricCounter,
    /// Writes that ended without success, including withdrawn ones.
    pub writes_failed: MetricCounter,
    pub locations: Locations,
    pub recent_errors: RecentErrors,
    /// Institutions on this node, if there are several nodes.
    pub institutions_here: MetricCounter,
    /// Institutions that moved to this node, and away from it.
    pub institutions_came: MetricCounter,
    pub institutions_left: MetricCounter,
    pub webhooks_delivered: MetricCounter,
    pub webhooks_failed: MetricCounter,
}

/// The status of a location after its last turn, or after a load that found damage or another data source. Nothing else
/// changes it, so it stays valid when the location leaves memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LocationHealth {
    /// Unfinished writes.
    pub queued: u64,
    /// Blocked writes: an operator paused writing, the gate is shut, or the EHR failed too often.
    pub parked: u64,
    pub oldest_write: Option<Timestamp>,
    /// Time of the last read. `None` without EHR, or before the first read.
    pub last_read: Option<Timestamp>,
    /// Start of the last complete read of the appointments. `None` without EHR, or before the first read.
    pub schedule_as_of: Option<Timestamp>,
    /// The reason why reading or writing does not work, if any.
    pub read_problem: Option<String>,
    pub write_problem: Option<String>,
    /// The resource that `read_problem` concerns, if it is a single one.
    pub unread_resource: Option<Resource>,
    /// Records of the EHR that could not be read when last shown.
    pub skipped: u64,
    /// Time since which the location cannot be loaded: its records are damaged, or of another data source.
    pub unloadable_since: Option<Timestamp>,
}

/// The status of all locations that have been in memory.
#[derive(Debug, Default)]
pub struct Locations(Mutex<BTreeMap<LocationId, LocationHealth>>);

impl Locations {
    pub fn note(&self, location: LocationId, health: LocationHealth) {
        self.0.lock().insert(location, health);
    }

    /// Notes that a location cannot be loaded until an operator acts. Its last known numbers remain.
    pub fn note_unloadable(&self, location: LocationId, reason: &str, now: Timestamp) {
        let mut all = self.0.lock();
        let health = all.entry(location).or_default();
        health.unloadable_since = health.unloadable_since.or(Some(now));
        (health.read_problem, health.write_problem) = (Some(reason.to_owned()), Some(reason.to_owned()));
    }

    pub fn all(&self) -> BTreeMap<LocationId, LocationHealth> {
        self.0.lock().clone()
    }

    /// Returns the last known status of a location, or `None` if it was not in memory since the start.
    pub fn health(&self, location: LocationId) -> Option<LocationHealth> {
        self.0.lock().get(&location).cloned()
    }

    /// Returns the start of a location's last complete read of the appointments.
    pub fn schedule_as_of(&self, location: LocationId) -> Option<Timestamp> {
        self.0.lock().get(&location)?.schedule_as_of
    }

    fn retain(&self, keep: impl Fn(LocationId) -> bool) {
        self.0.lock().retain(|location, _| keep(*location));
    }

    /// Adds the locations' part of the numbers. An inactive location is not read, so only its writes count.
    fn add_to(&self, numbers: &mut Numbers, now: Timestamp, is_active: impl Fn(LocationId) -> bool) {
        let age = |since: Timestamp| u64::try_from(now.since(since) / SECOND).unwrap_or(0);
        for (location, health) in self.0.lock().iter() {
            numbers.writes_queued += health.queued;
            numbers.writes_parked += health.parked;
            numbers.oldest_write_seconds = numbers.oldest_write_seconds.max(health.oldest_write.map_or(0, age));
            if !is_active(*location) {
                continue;
            }
            let schedule_age = health.schedule_as_of.map_or(0, age);
            numbers.oldest_schedule_seconds = numbers.oldest_schedule_seconds.max(schedule_age);
            numbers.oldest_read_seconds = numbers.oldest_read_seconds.max(health.last_read.map_or(0, age));
            numbers.locations_not_reading += u64::from(health.read_problem.is_some());
            numbers.locations_not_writing += u64::from(health.write_problem.is_some());
            numbers.records_skipped += health.skipped;
        }
    }
}

/// The values of all counters at a point in time.
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
    /// Age of the oldest unfinished write.
    pub oldest_write_seconds: u64,
    /// The longest time since an active location's last successful read cycle.
    pub oldest_read_seconds: u64,
    /// The longest time since the start of an active location's last complete read of its appointments.
    pub oldest_schedule_seconds: u64,
    /// Active locations that cannot read, and those that cannot write.
    pub locations_not_reading: u64,
    pub locations_not_writing: u64,
    pub records_skipped: u64,
    pub webhooks_delivered: u64,
    pub webhooks_failed: u64,
    pub webhooks_waiting: u64,
    pub webhooks_overflowed: u64,
    pub webhook_endpoints_failing: u64,
    /// Changes whose webhook messages are not enqueued yet, and the age of the oldest one.
    pub webhook_changes_waiting: u64,
    pub webhook_oldest_change_seconds: u64,
    pub store_free_bytes: u64,
    /// Duration of the last group of commits in microseconds, and the number of batches waiting for the next.
    pub store_commit_micros: u64,
    pub store_batches_waiting: u64,
    pub institutions_here: u64,
    pub institutions_came: u64,
    pub institutions_left: u64,
    /// 1 if values are known to be lost or damaged.
    pub store_damaged: u64,
    pub workstations_connected: u64,
    /// Locations whose workstation gate is open.
    pub gates_open: u64,
    /// Rejected answers of workstations.
    pub workstation_answers_refused: u64,
}

impl Metrics {
    /// Drops the locations that are on other nodes.
    pub fn retain(&self, keep: impl Fn(LocationId) -> bool) {
        self.locations.retain(&keep);
        self.recent_errors.retain(&keep);
    }

    /// Returns the current values. Those counted elsewhere are 0.
    pub fn numbers(&self, now: Timestamp, is_active: impl Fn(LocationId) -> bool) -> Numbers {
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
        self.locations.add_to(&mut numbers, now, is_active);
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
        metrics.locations.note(LocationId(1), LocationHealth { queued: 9, ..LocationHealth::default() });
        let read =
            LocationHealth { last_read: at(90), schedule_as_of: at(95), skipped: 4, ..LocationHealth::default() };
        metrics.locations.note(LocationId(1), LocationHealth { queued: 2, oldest_write: at(40), ..read });
        let shut = LocationHealth { last_read: at(70), schedule_as_of: at(80), ..LocationHealth::default() };
        let shut = LocationHealth { write_problem: why(), ..shut };
        let shut = LocationHealth { queued: 3, parked: 3, oldest_write: at(10), ..shut };
        metrics.locations.note(LocationId(2), shut);
        metrics
            .locations
            .note(LocationId(3), LocationHealth { read_problem: why(), skipped: 3, ..LocationHealth::default() });
        let numbers = metrics.numbers(Timestamp(100 * SECOND), |_| true);
        assert_eq!((numbers.writes_queued, numbers.writes_parked), (5, 3));
        assert_eq!((numbers.oldest_write_seconds, numbers.oldest_read_seconds), (90, 30));
        assert_eq!(numbers.oldest_schedule_seconds, 20);
        assert_eq!((numbers.locations_not_reading, numbers.locations_not_writing), (1, 1));
        assert_eq!(numbers.records_skipped, 7);
        metrics.retain(|location| location == LocationId(1));
        assert_eq!(metrics.numbers(Timestamp(100 * SECOND), |_| true).writes_queued, 2);
    }

    #[test]
    fn unloadable_locations_are_red_since_the_first_failed_load_and_keep_their_numbers() {
        let metrics = Metrics::default();
        metrics.locations.note(LocationId(1), LocationHealth { queued: 2, ..LocationHealth::default() });
        for at in [1, 2] {
            metrics.locations.note_unloadable(LocationId(1), "it is damaged", Timestamp(at));
        }
        let numbers = metrics.numbers(Timestamp(3), |_| true);
        assert_eq!((numbers.locations_not_reading, numbers.locations_not_writing, numbers.writes_queued), (1, 1, 2));
        let health = metrics.locations.health(LocationId(1));
        assert_eq!(health.and_then(|health| health.unloadable_since), Some(Timestamp(1)));
        metrics.locations.note(LocationId(1), LocationHealth::default());
        assert_eq!(metrics.numbers(Timestamp(3), |_| true).locations_not_reading, 0);
    }

    #[test]
    fn only_the_writes_of_inactive_locations_count() {
        let metrics = Metrics::default();
        let (why, at) = (Some("it is down".to_owned()), Some(Timestamp(0)));
        let (read_problem, write_problem) = (why.clone(), why);
        let health =
            LocationHealth { queued: 2, parked: 1, oldest_write: at, last_read: at, ..LocationHealth::default() };
        let health = LocationHealth { schedule_as_of: at, read_problem, write_problem, skipped: 3, ..health };
        metrics.locations.note(LocationId(1), health);
        let numbers = metrics.numbers(Timestamp(100 * SECOND), |_| false);
        assert_eq!((numbers.writes_queued, numbers.writes_parked, numbers.oldest_write_seconds), (2, 1, 100));
        assert_eq!((numbers.locations_not_reading, numbers.locations_not_writing, numbers.records_skipped), (0, 0, 0));
        assert_eq!((numbers.oldest_read_seconds, numbers.oldest_schedule_seconds), (0, 0));
    }
}
