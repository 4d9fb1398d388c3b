//! Tests across crates, one suite per module: `cargo test --workspace --test suites kill9::` runs one. The suites
//! share one executable, because each executable links the whole product, and share all cores.
#![allow(clippy::unwrap_used)]

mod adapter_author;
mod adapter_rollout;
mod adapter_settings;
mod adapter_tool;
mod agents;
mod audit;
mod backup;
mod benchmark;
mod browser;
mod canary;
mod check_client;
mod clients;
mod conformance;
mod contention;
mod damaged_location;
mod demo_cloud;
mod external;
mod fhir_server;
mod gnuhealth;
mod installed;
mod javascript_adapter;
mod kill9;
mod main_job;
mod main_story;
mod nodes;
mod open_dental;
mod operation;
mod postgres;
mod reconfigure;
mod recorded;
mod rehearsal;
mod revival;
mod schemathesis;
mod sessions;
mod simulation;
mod traces;
mod webhook_receivers;
mod workstations;
mod zz_left_out;
