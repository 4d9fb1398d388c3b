//! Limits of guests that an operator may change.

use std::time::Duration;

const MIB: usize = 1024 * 1024;

/// Limits of a single call of a connection. The manifest of the adapter narrows them further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// Bytes of guest memory.
    pub memory: usize,
    /// Wall-clock time of a call, including waits for the EHR.
    pub call: Duration,
    /// Maximum wait of a call for a place before it begins.
    pub wait: Duration,
    /// Processor time of a call, and of a call that reads a page.
    pub processor: Duration,
    pub pull_processor: Duration,
    /// HTTP requests per call.
    pub requests: u32,
    /// Maximum size of a request body, in bytes.
    pub request_body: usize,
    /// Maximum size of a response body, in bytes. A longer one is cut off and counts as no response.
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

/// Limits shared by all guests of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// Concurrent calls of all data sources. Further ones wait for a place.
    pub calls: u32,
    /// Concurrent calls of one data source.
    pub calls_per_source: u32,
    /// Concurrent calls to one EHR host, so that a hanging one does not delay calls to others.
    pub calls_per_host: u32,
    /// Time limit for compiling a component.
    pub compile: Duration,
    /// Threads that run guests.
    pub threads: usize,
    /// Maximum memory, in bytes, that any connection may grant a guest.
    pub memory: usize,
    /// Ed25519 public keys. If there are any, components must be signed with one of them.
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
