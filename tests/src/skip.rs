//! Tests that need something a machine may lack. They fail where it is missing, unless `PRACTICE_SYNC_SKIP`, names separated by
//! commas, says that they may be left out; then they say so.

use std::io::Write;

const VARIABLE: &str = "PRACTICE_SYNC_SKIP";

/// Whether the test that needs `name` is to be left out.
pub fn skips(name: &str) -> bool {
    let skipped = is_listed(&std::env::var(VARIABLE).unwrap_or_default(), name);
    if skipped {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        // Not `eprintln!`: the test harness keeps that to itself when a test does not fail.
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {VARIABLE} names {name}");
    }
    skipped
}

/// Fails the test because what it needs is not there.
pub fn missing(name: &str, why: &str, install: &str) -> ! {
    panic!("{why}\nThis test needs {install}. To leave it out set {VARIABLE}={name}.")
}

fn is_listed(list: &str, name: &str) -> bool {
    list.split(',').any(|listed| listed.trim() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_whole() {
        assert!(is_listed("fhir-server", "fhir-server") && is_listed("postgres, fhir-server ,x", "fhir-server"));
        assert!(!is_listed("", "fhir-server") && !is_listed("fhir", "fhir-server") && !is_listed("all", "fhir-server"));
    }
}
