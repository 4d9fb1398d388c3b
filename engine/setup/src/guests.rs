//! Limits of guests that an operator may change.

use std::{thread::available_parallelism, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use location::time::{HOUR, MINUTE, SECOND};

const MIB: usize = 1024 * 1024;

location::settings! {
    /// Limits of the adapter host: those shared by all guests of the process, and those of a call.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HostLimits("guests") {
        calls: u32 = 128, integer(4..=1_000) => restart, "Maximum number of concurrent adapter calls.";
        calls_per_source: u32 = 16, integer(1..=1_000) =>
            restart, "Maximum number of concurrent calls per data source.";
        /// A hanging EHR does not delay calls to others.
        calls_per_host: u32 = 16, integer(1..=1_000) =>
            restart, "The same for one EHR's address. The last eighth is reserved for data sources without a call to \
                      it.";
        wait: Duration = Duration::from_secs(5), std_duration(0..=5 * MINUTE) =>
            reload, "How long a call waits for a free slot. After that it is postponed, without counting as an EHR \
                     failure.";
        compile: Duration = Duration::from_secs(120), std_duration(SECOND..=HOUR) =>
            restart, "How long compiling one component may take.";
        processor: Duration = Duration::from_secs(2), std_duration(50..=MINUTE) =>
            reload, "Processor time of a call.";
        signers: Vec<[u8; 32]> = Vec::new(), texts(signer) =>
            restart, "Public keys, in the form that `practice-sync adapter new-key` prints. If set, only components \
                      signed with one of them are used.";
        pull_processor: Duration = Duration::from_secs(10), std_duration(50..=5 * MINUTE) =>
            reload, "Processor time of a call that reads a page.";
        /// Threads that run guests.
        threads: usize = available_parallelism().map_or(1, usize::from).min(8) => restart "guests.threads";
        /// Maximum memory, in bytes, that any connection may grant a guest.
        memory: usize = 1024 * MIB => restart "guests.memory";
    }
}

/// Parses the Ed25519 public key of a signer.
fn signer(text: &str) -> Result<[u8; 32], String> {
    let key = BASE64_STANDARD.decode(text).ok().and_then(|key| key.try_into().ok());
    key.ok_or_else(|| {
        "must be a public key as `practice-sync adapter new-key` shows it: 44 characters of base64".to_owned()
    })
}
