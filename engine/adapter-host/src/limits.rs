//! A limit on everything a guest can take, keep busy or hand over.

use std::time::Duration;

pub const KIB: usize = 1024;
pub const MIB: usize = 1024 * KIB;

/// How often a running guest lets others run, and is looked at.
pub const EPOCH_TICK: Duration = Duration::from_millis(10);
/// A call that has computed for so long takes turns with others of its kind. The longest honest call measured, a page of 1,000 records
/// in an interpreter, takes 150 ms.
pub const LONG_CALL: Duration = Duration::from_millis(30);
/// Time to reach the EHR's host.
pub const CONNECT: Duration = Duration::from_secs(10);
/// Connections a location keeps open for its next request, and how long.
pub const IDLE_CONNECTIONS: usize = 4;
pub const IDLE_CONNECTION: Duration = Duration::from_secs(30);
/// Between an answer and the location's next request: an answer nobody asked for comes to light before a connection is used again.
pub const SILENCE: Duration = Duration::from_millis(5);
/// TLS sessions a location may resume.
pub const TLS_SESSIONS: usize = 4;
/// Bytes of an instance's memory and tables that are cleared rather than given back to the system after a call: taking them anew
/// would cost every call a dozen page faults.
pub const KEPT_MEMORY: usize = 256 * KIB;
pub const KEPT_TABLE: usize = 16 * KIB;

/// Compiled components kept on disk.
pub const CACHED_COMPONENTS: usize = 64;
/// Core instances, tables and memories of one component: a JavaScript guest takes 12 instances, a Rust guest one.
pub const CORE_INSTANCES_PER_COMPONENT: u32 = 40;
pub const TABLES_PER_COMPONENT: u32 = 20;
pub const MEMORIES_PER_COMPONENT: u32 = 4;
pub const TABLE_ELEMENTS: usize = 100_000;

/// Of a request: what comes from the guest, before the credentials are added.
pub const PATH_BYTES: usize = 8 * KIB;
pub const REQUEST_HEADERS: usize = 64;
pub const HEADER_NAME_BYTES: usize = 100;
pub const HEADER_VALUE_BYTES: usize = 8 * KIB;
/// Of an answer.
pub const RESPONSE_HEADERS: usize = 200;

/// A line in the log, and lines of one connection: at once, and each second after that.
pub const LOG_LINE_BYTES: usize = 2_000;
pub const LOG_LINES_AT_ONCE: f64 = 200.0;
pub const LOG_LINES_PER_SECOND: f64 = 20.0;

/// Of what a guest returns.
pub const ID_BYTES: usize = 200;
pub const CURSOR_BYTES: usize = 4 * KIB;
/// Of a version or a write key.
pub const EXACT_TEXT_BYTES: usize = 500;
/// Longer texts are cut. What the API takes of a short one, 255 characters of at most four bytes, fits.
pub const SHORT_TEXT_BYTES: usize = KIB;
pub const LONG_TEXT_BYTES: usize = 64 * KIB;
pub const EXTRA_PAIRS: usize = 64;
pub const EXTRA_NAME_BYTES: usize = 200;
pub const EXTRA_VALUE_BYTES: usize = 4 * KIB;
pub const REFERENCES: usize = 1_000;
pub const DELETED_IDS: usize = 10_000;
pub const DESCRIBED: usize = 200;
/// A fault's reason; longer ones are cut.
pub const REASON_BYTES: usize = 500;
