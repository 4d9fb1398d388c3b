//! What tests and benchmarks share: the harness they stand on, the suites that are told of more than one EHR, and the benchmarks.

pub mod bench;
pub mod conformance;
pub mod harness;
pub mod main_story;
