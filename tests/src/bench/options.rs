//! What can be asked of the benchmark.

use std::{error::Error, path::PathBuf};

use clap::{Parser, ValueEnum};

pub(super) type Outcome = Result<(), Box<dyn Error>>;

/// Prints figures with their aims. Without names: all sections.
#[derive(Clone, Parser)]
#[command(name = "bench")]
pub struct Options {
    #[arg(value_enum)]
    pub(super) sections: Vec<Section>,
    /// Where data goes; durable figures depend on its disk.
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    pub(super) dir: PathBuf,
    /// Length of a run under load, in seconds.
    #[arg(long, default_value_t = 10)]
    pub(super) seconds: u64,
    /// What comes before it and does not count.
    #[arg(long, default_value_t = 2)]
    pub(super) warm_up: u64,
    #[arg(long, default_value_t = 64)]
    pub(super) connections: usize,
    /// Locations the bookings are spread over.
    #[arg(long, default_value_t = 250)]
    pub(super) locations: usize,
    /// Bookings prepared for a run, at most.
    #[arg(long, default_value_t = 150_000)]
    pub(super) bookings: usize,
    /// Sessions of the PostgreSQL comparison.
    #[arg(long, default_value_t = 32)]
    pub(super) sessions: usize,
    /// Future appointments of the location that is activated.
    #[arg(long, default_value_t = 5_000)]
    pub(super) appointments: usize,
    /// Records of its journal.
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) journal: usize,
    /// Locations that are asleep.
    #[arg(long, default_value_t = 100_000)]
    pub(super) idle: u32,
    /// Patients of the list that is read.
    #[arg(long, default_value_t = 1_000_000)]
    pub(super) patients: u32,
    /// Patients of the practice that is pulled; it has four operatories for each thousand of them.
    #[arg(long, default_value_t = 10_000)]
    pub(super) pulled: u32,
    /// How long the neighbours of a practice are in trouble before its bookings count, in seconds.
    #[arg(long, default_value_t = 4)]
    pub(super) lead: u64,
    /// Events that are sent to every webhook endpoint.
    #[arg(long, default_value_t = 100)]
    pub(super) events: usize,
    /// Workstations that are connected at one time.
    #[arg(long, default_value_t = 10_000)]
    pub(super) workstations: usize,
    /// How long they are watched, in seconds: two heartbeats.
    #[arg(long, default_value_t = 40)]
    pub(super) watched: u64,
    /// Bookings that wait until a workstation logs in, each a patient and a visit.
    #[arg(long, default_value_t = 250)]
    pub(super) gated: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Section {
    /// Durable bookings per second over HTTP, beside an echo and PostgreSQL.
    Bookings,
    /// The same on one node and on three, and what it costs to hand a call on.
    Nodes,
    /// Free slots of a month.
    Slots,
    /// Bringing a location into memory.
    Activation,
    /// A start with many locations that have nothing to do.
    Idle,
    /// What the sandbox of an adapter costs.
    Adapter,
    /// Pages of a long list.
    Lists,
    /// Lists over HTTP, beside the same bytes sent bare.
    Reads,
    /// Probes of the server, alone and while clients load it.
    Probes,
    /// The first pull of a practice, and one with few changes.
    Pulls,
    /// Webhook deliveries per second, beside a bare client.
    Webhooks,
    /// Bookings of a healthy practice beside neighbours in trouble.
    Fairness,
    /// Workstations connected, and the queue behind a gate that opens.
    Workstations,
}
