//! What tests and benchmarks share: adapters built once, setups, an engine to run them on, servers, and the benchmark itself.

pub mod adapters;
pub mod bench;
pub mod browser;
pub mod clinic;
pub mod conformance;
pub mod door;
pub mod ehr_server;
pub mod gnuhealth;
pub mod harness;
pub mod hook;
pub mod http;
pub mod lent_session;
pub mod loopback;
pub mod main_story;
pub mod medplum;
pub mod open_dental;
pub mod practice;
pub mod site;
pub mod tools;
pub mod wait;
pub mod workstation;
