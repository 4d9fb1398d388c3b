//! A temporary PostgreSQL server (`Cluster`) from Debian's binaries, a faulty network to it (`Proxy`), and ports for
//! restarted processes (`free_port`). For tests and benchmarks; independent of the store.

#![warn(unreachable_pub)]

mod cluster;
mod port;
mod proxy;

pub use cluster::{Cluster, Durability, missing};
pub use port::free_port;
pub use proxy::{Commits, Proxy};

use std::io::Write;

/// Selects suites with requirements beyond a Rust toolchain. All of them are in `tests/src/harness/external.rs`.
const VARIABLE: &str = "PRACTICE_SYNC_EXTERNAL";
const SUITE: &str = "postgres";

/// Returns whether tests with PostgreSQL are skipped, and prints a message if so. Panics if they are selected and
/// PostgreSQL is not installed.
pub fn is_skipped() -> bool {
    let named = std::env::var(VARIABLE).unwrap_or_default();
    let wanted = named.split(',').map(str::trim).any(|name| [SUITE, "all"].contains(&name));
    if !wanted {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        // To standard error directly, because the test harness captures `eprintln!`.
        let _ = writeln!(std::io::stderr(), "LEFT OUT {test}: {VARIABLE} does not name {SUITE}");
        return true;
    }
    if let Some(missing) = missing() {
        panic!("{missing}\nThe suite {SUITE}, which {VARIABLE} names, needs it.");
    }
    false
}
