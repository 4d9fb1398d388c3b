//! A PostgreSQL of a test's own (`Cluster`), made and started from Debian's binaries, and a network to it that fails (`Proxy`); ports for
//! processes that are started again and again (`free_port`). For tests and benchmarks; nothing here knows the store.

#![warn(unreachable_pub)]

mod cluster;
mod port;
mod proxy;

pub use cluster::{Cluster, Durability, missing};
pub use port::free_port;
pub use proxy::{Commits, Proxy};

use std::io::Write;

/// What names suites that need more than a Rust toolchain; `tests/src/harness/external.rs` has them all.
const VARIABLE: &str = "PRACTICE_SYNC_EXTERNAL";
const SUITE: &str = "postgres";

/// Whether tests with PostgreSQL are left out of this run. If so, it says so; if not, and PostgreSQL is not installed, it fails.
pub fn is_left_out() -> bool {
    let named = std::env::var(VARIABLE).unwrap_or_default();
    let wanted = named.split(',').map(str::trim).any(|name| [SUITE, "all"].contains(&name));
    if !wanted {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        // To standard error itself: the test harness keeps what `eprintln!` writes.
        let _ = writeln!(std::io::stderr(), "LEFT OUT {test}: {VARIABLE} does not name {SUITE}");
        return true;
    }
    if let Some(missing) = missing() {
        panic!("{missing}\nThe suite {SUITE}, which {VARIABLE} names, needs it.");
    }
    false
}
