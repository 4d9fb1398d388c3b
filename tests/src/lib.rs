//! What tests and benchmarks share: the harness they stand on, the suites that are told of more than one EHR, and the benchmarks.
// Rows of the fake of Open Dental are JSON literals of up to 80 fields.
#![recursion_limit = "256"]

pub mod bench;
pub mod conformance;
pub mod harness;
pub mod main_story;
