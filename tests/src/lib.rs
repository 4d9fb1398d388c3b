//! What tests and benchmarks share: adapters built once, setups, and an engine to run them on.

pub mod adapters;
pub mod practice;
