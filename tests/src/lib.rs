//! What tests and benchmarks share: adapters built once, setups, an engine to run them on, the product as a process, an EHR as a
//! server, and one HTTP client.

pub mod adapters;
pub mod bench;
pub mod ehr_server;
pub mod http;
pub mod practice;
pub mod site;
