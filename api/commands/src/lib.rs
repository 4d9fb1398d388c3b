//! The commands that do not start the service: for operators, and for authors of adapters and clients. Commands and the
//! service share the log, the export of traces and the opening of the audit trail.
//!
//! ```text
//!  terminal, word ◄── table, server ◄─┬─ operate ◄── webhooks, workstations, doctor, adapter     a running server
//!                                     ├─ check_client                                            requests of a client
//!                                     └─ config, backup, store ◄── store_keys, audit             files
//!           key_entries ◄── key_file ◄── keys, operators, backup, store, audit                   the key file
//!  tracing_export ◄── logging; audit_trail                                                       the process
//! ```

#![warn(unreachable_pub)]

#[cfg(feature = "adapters")]
pub mod adapter;
pub mod audit;
pub mod audit_trail;
pub mod backup;
pub mod check_client;
pub mod config;
pub mod doctor;
pub mod key_entries;
mod key_file;
pub mod keys;
pub mod logging;
pub mod operate;
pub mod operators;
pub mod server;
pub mod store;
pub mod store_keys;
pub mod table;
pub mod terminal;
pub mod tracing_export;
pub mod webhooks;
pub mod word;
pub mod workstations;
