//! Shared code of tests and benchmarks: the harness, suites for several EHRs, and the benchmarks.
// Rows of the fake of Open Dental are JSON literals of up to 80 fields.
#![recursion_limit = "256"]

pub mod bench;
pub mod conformance;
pub mod harness;
pub mod main_story;
