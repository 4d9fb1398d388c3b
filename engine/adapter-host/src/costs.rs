//! Costs of adapter calls, by adapter, location and call, since the start of the process.
//!
//! Processor time is used instead of fuel. Guests are stopped by epochs, because counting fuel slows every instruction
//! down, and processor time is the resource that calls compete for. Validation of the answer is not included. Memory is
//! the maximum of the guest's linear memories.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use runtime::metrics::{HistogramVec, durations_by};

/// The costs of calls of one kind. Calls that did not begin, for lack of a permit or an adapter, are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallCosts {
    /// Calls that the adapter answered without a fault.
    pub answered: u64,
    /// Calls that the adapter answered with a fault.
    pub faults: u64,
    /// Calls without an answer: the guest trapped or exceeded its time.
    pub lost: u64,
    /// From the first instruction to the end, including the wait for the EHR.
    pub time: Duration,
    pub processor: Duration,
    /// Requests that reached the EHR, or may have.
    pub requests: u64,
    /// Total size of request bodies, in bytes.
    pub sent: u64,
    /// Total size of response bodies, in bytes.
    pub received: u64,
    /// Maximum memory of a single call, in bytes.
    pub memory: u64,
}

impl CallCosts {
    fn add(&mut self, other: &CallCosts) {
        self.answered += other.answered;
        self.faults += other.faults;
        self.lost += other.lost;
        self.time += other.time;
        self.processor += other.processor;
        self.requests += other.requests;
        self.sent += other.sent;
        self.received += other.received;
        self.memory = self.memory.max(other.memory);
    }
}

pub type CostsByCall = BTreeMap<&'static str, CallCosts>;

pub(crate) struct Costs {
    /// By adapter and location. Bounded by the configuration.
    of_calls: Mutex<BTreeMap<String, BTreeMap<String, CostsByCall>>>,
    /// By adapter and call.
    pub durations: HistogramVec,
}

impl Default for Costs {
    fn default() -> Costs {
        let durations = durations_by("adapter_call_seconds", "Duration of calls in seconds.", &["adapter", "call"]);
        Costs { of_calls: Mutex::default(), durations }
    }
}

impl Costs {
    pub(crate) fn note(&self, adapter: &str, location: &str, call: &'static str, costs: &CallCosts) {
        self.durations.with_label_values(&[adapter, call]).observe(costs.time.as_secs_f64());
        let mut all = self.of_calls.lock();
        let locations = all.entry(adapter.to_owned()).or_default();
        locations.entry(location.to_owned()).or_default().entry(call).or_default().add(costs);
    }

    pub(crate) fn by_adapter(&self) -> BTreeMap<String, CostsByCall> {
        let all = self.of_calls.lock();
        all.iter().map(|(adapter, locations)| (adapter.clone(), sum(locations.values()))).collect()
    }

    pub(crate) fn at(&self, location: &str) -> CostsByCall {
        let all = self.of_calls.lock();
        sum(all.values().filter_map(|locations| locations.get(location)))
    }
}

fn sum<'a>(costs: impl Iterator<Item = &'a CostsByCall>) -> CostsByCall {
    costs.flatten().fold(CostsByCall::new(), |mut sum, (call, costs)| {
        sum.entry(call).or_default().add(costs);
        sum
    })
}

/// The costs of a call so far, available however the call ends.
#[derive(Default)]
pub(crate) struct Spending {
    processor_nanos: AtomicU64,
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    memory: AtomicU64,
}

impl Spending {
    /// Sets the total processor time.
    pub(crate) fn processor(&self, used: Duration) {
        self.processor_nanos.store(u64::try_from(used.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts a request that may have reached the EHR.
    pub(crate) fn request(&self, body: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.sent.fetch_add(body as u64, Ordering::Relaxed);
    }

    pub(crate) fn answer(&self, body: usize) {
        self.received.fetch_add(body as u64, Ordering::Relaxed);
    }

    /// Adds memory growth; the guest's memories never shrink.
    pub(crate) fn more_memory(&self, bytes: usize) {
        self.memory.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns the costs, without the outcome of the call.
    pub(crate) fn costs(&self, took: Duration) -> CallCosts {
        CallCosts {
            time: took,
            processor: Duration::from_nanos(self.processor_nanos.load(Ordering::Relaxed)),
            requests: self.requests.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            memory: self.memory.load(Ordering::Relaxed),
            ..CallCosts::default()
        }
    }
}
