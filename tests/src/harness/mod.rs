//! What tests and benchmarks stand on. A test takes the engine in its own process, or the product as a process of its own, and an EHR
//! beside it:
//!
//! ```text
//!  test ── in_process ──► engine ─┐                             ┌─► ehr_server   simulated, fake or real
//!   │                             ├──► flaky_proxy ─► loopback ─┤
//!   └───── process ────► product ─┘                             └─► workstation  lends the session of its staff
//!          http_client      └──► webhook_receiver
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `in_process/` | an engine in this process on an EHR with a small practice |
//! | `process.rs` | the product as its users run it: configuration, start, stop, `kill -9` |
//! | `ehr_server/` | EHRs on loopback |
//! | `workstation/` | workstations that can misbehave, and the product with an EHR that opens only through them |
//! | `chromium.rs` | a real browser with the real extension |
//! | `session_gate.rs` | the session of a workstation, without the workstation |
//! | `http_client.rs`, `webhook_receiver.rs` | the two ends of the product's HTTP |
//! | `trace_collector.rs` | what takes its traces |
//! | `fixtures.rs` | the demo's institution, locations and sources |
//! | `components.rs` | adapters, built when their sources changed |
//! | `javascript.rs` | adapters in JavaScript, built and tested by npm |
//! | `external.rs`, `packages.rs` | suites that need more than Rust, and what they install into `target/` |
//! | `random.rs` | random numbers that follow from a seed |

pub mod chromium;
pub mod components;
pub mod ehr_server;
pub mod external;
pub mod fixtures;
pub mod http_client;
pub mod in_process;
pub mod javascript;
pub mod packages;
pub mod process;
pub mod random;
pub mod session_gate;
pub mod trace_collector;
pub mod webhook_receiver;
pub mod workstation;
