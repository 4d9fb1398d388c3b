//! The last word of a run: which suites were left out, and how to run them. Cargo runs the tests of a crate in the order of their
//! names, so that this one comes last.

use tests::harness::external::{Suite, named, say, summary};

#[test]
fn suites_that_were_left_out_are_named() {
    let named = named();
    let left_out: Vec<Suite> = Suite::EVERY.into_iter().filter(|suite| !named.contains(suite)).collect();
    if !left_out.is_empty() {
        say(&summary(&left_out));
    }
}
