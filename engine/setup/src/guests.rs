//! What guests may take, as far as an operator may change it.

use std::time::Duration;

const MIB: usize = 1024 * 1024;

/// What one call of one connection may take. The adapter's manifest narrows it further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// Bytes of guest memory.
    pub memory: usize,
    /// Wall clock of a call, waiting for the EHR included.
    pub call: Duration,
    /// How long a call waits for a place before it begins.
    pub wait: Duration,
    /// Processor time of a call, and of one that reads a page.
    pub processor: Duration,
    pub pull_processor: Duration,
    /// HTTP requests in a call.
    pub requests: u32,
    /// Bytes of a request's body.
    pub request_body: usize,
    /// Bytes of an answer's body: what is longer is cut off and counts as no answer.
    pub response_body: usize,
}

impl Default for GuestLimits {
    fn default() -> GuestLimits {
        GuestLimits {
            memory: 64 * MIB,
            call: Duration::from_secs(30),
            wait: Duration::from_secs(5),
            processor: Duration::from_secs(2),
            pull_processor: Duration::from_secs(10),
            requests: 50,
            request_body: 8 * MIB,
            response_body: 8 * MIB,
        }
    }
}

/// What all guests of the process share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// Calls running at once, of all data sources; the next ones wait for a place.
    pub calls: u32,
    /// Of them, those of one data source.
    pub calls_per_source: u32,
    /// Of them, those to one EHR host: one that hangs must not keep others' calls waiting.
    pub calls_per_host: u32,
    /// How long a component may take to be compiled.
    pub compile: Duration,
    /// Threads that run guests.
    pub threads: usize,
    /// Most memory any connection may grant a guest.
    pub memory: usize,
    /// Ed25519 public keys. Where there are any, only components that one of them has signed are used.
    pub signers: Vec<[u8; 32]>,
}

impl Default for HostLimits {
    fn default() -> HostLimits {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        HostLimits {
            calls: 128,
            calls_per_source: 16,
            calls_per_host: 16,
            compile: Duration::from_secs(120),
            threads: cores.min(8),
            memory: 1024 * MIB,
            signers: Vec::new(),
        }
    }
}
