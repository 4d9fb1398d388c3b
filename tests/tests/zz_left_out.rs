//! The last test of a run reports the suites that were skipped and how to run them. The test harness starts tests in
//! the order of their names.

use tests::harness::external::{Suite, named, say, summary};

#[test]
fn suites_that_were_left_out_are_named() {
    let named = named();
    let left_out: Vec<Suite> = Suite::EVERY.into_iter().filter(|suite| !named.contains(suite)).collect();
    if !left_out.is_empty() {
        say(&summary(&left_out));
    }
}
