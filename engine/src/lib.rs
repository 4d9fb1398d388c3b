//! The engine as the API sees it: start and stop, requests and replies, reads. All rules live behind it, in the crates beside this folder.
//!
//! ```text
//!  api ──► engine ──► processor ──► location, records, query, webhooks (outbox), store
//!             ├─────► query, webhooks, workstations, adapter-host
//!             └─────► setup, runtime
//! ```

#![warn(unreachable_pub)]

mod config_history;
mod connections;
mod copy_data;
mod data_dir;
mod directory;
mod engine;
mod gate_news;
mod open;
mod reads;
pub mod simulated;
#[cfg(test)]
mod tests;
mod write_request_calls;

pub use ::{adapter_host, records, setup, store, webhooks, workstations};
pub use processor::{
    commands,
    error::EngineError,
    patients::PatientDetails,
    reply::{FreeSlots, Saved},
    request::Request,
    unmet::Unmet,
    write_requests,
};
pub use query::{feed, idempotency, lists};
pub use runtime::{clock, metrics};

pub use crate::{
    config_history::SetUp,
    copy_data::{CopyStep, copy_data},
    data_dir::{Incomplete, salvage_data},
    engine::{Engine, Parts, StartError},
    open::{OpenError, Opened, open},
    reads::Shown,
};
