//! Command line of the benchmark.

use std::{error::Error, path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

pub(super) type BenchResult = Result<(), Box<dyn Error>>;

/// Prints figures with their aims. Runs all sections unless some are named.
#[derive(Clone, Parser)]
#[command(name = "bench")]
pub struct Options {
    #[arg(value_enum)]
    pub(super) sections: Vec<Section>,
    /// Folder for data. Figures of durable writes depend on its disk.
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    pub(super) dir: PathBuf,
    /// Length of a run under load, in seconds.
    #[arg(long, default_value_t = 10.0)]
    pub(super) seconds: f64,
    /// Warm-up before the run, which is not measured, in seconds.
    #[arg(long, default_value_t = 2)]
    pub(super) warm_up: u64,
    /// Maximum number of repetitions of a measured call. Each section has its own number.
    #[arg(long)]
    pub(super) repetitions: Option<usize>,
    #[arg(long, default_value_t = 64)]
    pub(super) connections: usize,
    /// Number of locations that get bookings.
    #[arg(long, default_value_t = 250)]
    pub(super) locations: usize,
    /// Maximum number of bookings prepared for a run.
    #[arg(long, default_value_t = 150_000)]
    pub(super) bookings: usize,
    /// Sessions of the PostgreSQL comparison.
    #[arg(long, default_value_t = 32)]
    pub(super) sessions: usize,
    /// Future appointments of the loaded location.
    #[arg(long, default_value_t = 5_000)]
    pub(super) appointments: usize,
    /// Journal records of the loaded location.
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) journal: usize,
    /// Number of idle locations.
    #[arg(long, default_value_t = 100_000)]
    pub(super) idle: u32,
    /// Number of locations whose days are simulated.
    #[arg(long, default_value_t = 200)]
    pub(super) simulated: u32,
    /// Simulated hours of each kind of day. Less than 24 are hours in which practices are open.
    #[arg(long, default_value_t = 24)]
    pub(super) hours: u32,
    /// Number of patients in the list.
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) patients: u32,
    /// Number of patients of the exported location.
    #[arg(long, default_value_t = 200_000)]
    pub(super) exported: u32,
    /// Patients of the pulled practice, which has four operatories per thousand patients.
    #[arg(long, default_value_t = 10_000)]
    pub(super) pulled: u32,
    /// Time between the start of the neighbours' load and the measurement, in seconds.
    #[arg(long, default_value_t = 4)]
    pub(super) lead: u64,
    /// Events sent to each webhook endpoint.
    #[arg(long, default_value_t = 100)]
    pub(super) events: usize,
    /// Number of connections that do not read their responses.
    #[arg(long, default_value_t = 10_000)]
    pub(super) readers: usize,
    /// Number of connected workstations.
    #[arg(long, default_value_t = 10_000)]
    pub(super) workstations: usize,
    /// Time for which connected workstations are observed, in seconds. The default is two heartbeats.
    #[arg(long, default_value_t = 40)]
    pub(super) watched: u64,
    /// Bookings that wait for a workstation's login, each with a patient and an appointment.
    #[arg(long, default_value_t = 250)]
    pub(super) gated: usize,
}

impl Options {
    /// Returns the length of a run under load.
    pub(super) fn length(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }

    /// Returns a section's own number of repetitions, or the option if it is lower.
    pub(super) fn repetitions_of(&self, section: usize) -> usize {
        self.repetitions.map_or(section, |most| most.min(section))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Section {
    /// The figures of the other named sections, or of all, also as a Markdown table with machine, date and commit.
    Report,
    /// Durable bookings per second over HTTP, compared with an echo server and PostgreSQL.
    Bookings,
    /// Cost of a booking's values in the store, one by one and as one frame.
    Frames,
    /// Cost of the audit trail and the access log per booking.
    Audit,
    /// Cost of booking rules per booking.
    Rules,
    /// Bookings on one node and on three, and the cost of forwarding a call.
    Nodes,
    /// Free slots of a month.
    Slots,
    /// Time to load a location into memory.
    Activation,
    /// Start with many idle locations.
    Idle,
    /// Days of many locations in virtual time: processor time, memory, commits.
    Day,
    /// Cost of an adapter's sandbox.
    Adapter,
    /// Pages of a long list.
    Lists,
    /// Lists over HTTP, compared with a server that sends the same bytes.
    Reads,
    /// Probes of the server, alone and under load by clients.
    Probes,
    /// Memory of connections that do not read their responses, and latency of others.
    SlowReaders,
    /// First pull of a practice, and later pulls with few changes.
    Pulls,
    /// Webhook deliveries per second, compared with a plain client.
    Webhooks,
    /// Bookings of a healthy practice next to overloaded neighbours.
    Fairness,
    /// Bookings during exports of a large location.
    Export,
    /// Bookings of an EHR that staff change meanwhile, with and without `fresh_within`.
    Freshness,
    /// Connected workstations, and the queue behind a gate that opens.
    Workstations,
}
