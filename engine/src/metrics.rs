//! Counters for /metrics.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn subtract(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the engine counts while it runs.
#[derive(Debug, Default)]
pub struct Metrics {
    pub locations_active: Counter,
    pub commits: Counter,
    pub commands: Counter,
    pub refused_busy: Counter,
    pub adapter_calls: Counter,
    pub adapter_faults: Counter,
    /// Unfinished writes of the locations in memory.
    pub writes_queued: Counter,
    pub webhooks_delivered: Counter,
    pub webhooks_failed: Counter,
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
    pub webhooks_delivered: u64,
    pub webhooks_failed: u64,
    pub webhooks_waiting: u64,
    pub webhooks_overflowed: u64,
    pub webhook_endpoints_failing: u64,
    pub store_free_bytes: u64,
    pub workstations_connected: u64,
    /// Locations whose workstation gate is open.
    pub gates_open: u64,
    /// Answers of workstations that were not believed.
    pub workstation_answers_refused: u64,
}

impl Metrics {
    /// What others know better stays 0.
    pub fn numbers(&self) -> Numbers {
        Numbers {
            locations_active: self.locations_active.get(),
            commits: self.commits.get(),
            commands: self.commands.get(),
            refused_busy: self.refused_busy.get(),
            adapter_calls: self.adapter_calls.get(),
            adapter_faults: self.adapter_faults.get(),
            writes_queued: self.writes_queued.get(),
            webhooks_delivered: self.webhooks_delivered.get(),
            webhooks_failed: self.webhooks_failed.get(),
            ..Numbers::default()
        }
    }
}
