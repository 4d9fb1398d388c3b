//! The harness of tests and benchmarks. A test uses an in-process engine or the product as a process, together with
//! an EHR:
//!
//! ```text
//!  test ── in_process ──► engine ─┐                             ┌─► ehr_server   simulated, fake or real
//!   │                             ├──► flaky_proxy ─► loopback ─┤
//!   └───── process ────► product ─┘                             └─► workstation  lends the session of its staff
//!          http_client      └──► webhook_receiver
//! ```
//!
//! | file | content |
//! |---|---|
//! | `in_process/` | an in-process engine on an EHR with a small practice |
//! | `process.rs` | the product as a process: configuration, start, stop, `kill -9` |
//! | `ehr_server/` | EHRs on loopback |
//! | `workstation/` | workstations that can misbehave, and the product with an EHR behind them |
//! | `chromium.rs` | a real browser with the real extension |
//! | `session_gate.rs` | the session of a workstation, without the workstation |
//! | `http_client.rs`, `webhook_receiver.rs` | the two ends of the product's HTTP |
//! | `intents.rs` | requests of the booking intents, and the visits in the calendar and in the simulated EHR |
//! | `trace_collector.rs` | a receiver of its traces |
//! | `fixtures.rs` | the demo's institution, locations and sources |
//! | `components.rs` | adapters, built when their sources changed |
//! | `javascript.rs` | adapters in JavaScript, built and tested by npm |
//! | `clients.rs` | the typed clients, built as packages and installed into empty projects |
//! | `external.rs`, `packages.rs` | suites with requirements beyond Rust, and their packages in `target/` |
//! | `random.rs` | random numbers derived from a seed |

pub mod chromium;
pub mod clients;
pub mod components;
pub mod ehr_server;
pub mod external;
pub mod fixtures;
pub mod http_client;
pub mod in_process;
pub mod intents;
pub mod javascript;
pub mod packages;
pub mod process;
pub mod random;
pub mod session_gate;
pub mod trace_collector;
pub mod webhook_receiver;
pub mod workstation;
