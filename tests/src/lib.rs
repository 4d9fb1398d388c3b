//! What tests and benchmarks share: adapters built once, setups, servers to run against, and an engine to run them on.

pub mod adapters;
pub mod clinic;
pub mod door;
pub mod medplum;
pub mod practice;
pub mod skip;
pub mod wait;
