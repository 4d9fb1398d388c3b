//! Limits on everything that a guest can use, occupy or return.

use std::time::Duration;

use setup::guests::HostLimits;

pub(crate) const KIB: usize = 1024;
pub(crate) const MIB: usize = 1024 * KIB;

/// The interval at which a running guest yields and is metered.
pub(crate) const EPOCH_TICK: Duration = Duration::from_millis(10);
/// After a call that took less than this, the connection's next call of that kind begins on the caller's thread. A page
/// of 100 records takes twice as long.
pub(crate) const SHORT_CALL: Duration = Duration::from_millis(1);
/// A call that has computed for this long runs behind the semaphore for long calls. The longest legitimate call
/// measured, a page of 1,000 records in an interpreter, takes 150 ms.
pub(crate) const LONG_CALL: Duration = Duration::from_millis(30);
/// Timeout of connecting to the EHR's host.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// Idle connections per location, and their lifetime.
pub(crate) const IDLE_CONNECTIONS: usize = 4;
pub(crate) const IDLE_CONNECTION: Duration = Duration::from_secs(30);
/// The pause between a response and the location's next request. An unsolicited response is detected before the
/// connection is used again.
pub(crate) const SILENCE: Duration = Duration::from_millis(5);
/// TLS sessions that a location may resume.
pub(crate) const TLS_SESSIONS: usize = 4;
/// Bytes of an instance's memory and tables that are cleared instead of returned to the system after a call. Allocating
/// them again would cost every call a dozen page faults.
pub(crate) const KEPT_MEMORY: usize = 256 * KIB;
pub(crate) const KEPT_TABLE: usize = 16 * KIB;

/// Compiled components kept on disk.
pub(crate) const CACHED_COMPONENTS: usize = 64;
/// Core instances, tables and memories per component. A JavaScript guest uses 12 core instances, a Rust guest one.
pub(crate) const CORE_INSTANCES_PER_COMPONENT: u32 = 40;
pub(crate) const TABLES_PER_COMPONENT: u32 = 20;
pub(crate) const MEMORIES_PER_COMPONENT: u32 = 4;
pub(crate) const TABLE_ELEMENTS: usize = 100_000;

/// Limits of a guest's request, before the credentials are added.
pub(crate) const PATH_BYTES: usize = 8 * KIB;
pub(crate) const REQUEST_HEADERS: usize = 64;
pub(crate) const HEADER_NAME_BYTES: usize = 100;
pub(crate) const HEADER_VALUE_BYTES: usize = 8 * KIB;
/// Limit of a response.
pub(crate) const RESPONSE_HEADERS: usize = 200;

/// Length of a log line, and the burst and rate of a connection's lines.
pub(crate) const LOG_LINE_BYTES: usize = 2_000;
pub(crate) const LOG_LINES_AT_ONCE: f64 = 200.0;
pub(crate) const LOG_LINES_PER_SECOND: f64 = 20.0;

/// Limits of the values that a guest returns.
pub(crate) const ID_BYTES: usize = 200;
pub(crate) const CURSOR_BYTES: usize = 4 * KIB;
/// Limit of a version or a write key.
pub(crate) const EXACT_TEXT_BYTES: usize = 500;
/// Longer texts are truncated. The API's limit of a short text, 255 characters of at most four bytes, fits.
pub(crate) const SHORT_TEXT_BYTES: usize = KIB;
pub(crate) const LONG_TEXT_BYTES: usize = 64 * KIB;
pub(crate) const EXTRA_PAIRS: usize = 64;
pub(crate) const EXTRA_NAME_BYTES: usize = 200;
pub(crate) const EXTRA_VALUE_BYTES: usize = 4 * KIB;
pub(crate) const REFERENCES: usize = 1_000;
pub(crate) const DELETED_IDS: usize = 10_000;
pub(crate) const DESCRIBED: usize = 200;
/// A fault's reason; longer ones are truncated.
pub(crate) const REASON_BYTES: usize = 500;

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
        let host = HostLimits::default();
        GuestLimits {
            memory: 64 * MIB,
            call: Duration::from_secs(30),
            wait: host.wait,
            processor: host.processor,
            pull_processor: host.pull_processor,
            requests: 50,
            request_body: 8 * MIB,
            response_body: 8 * MIB,
        }
    }
}
