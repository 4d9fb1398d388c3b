//! One actor per location: decide, commit, evolve, act. `location` decides. This crate turns requests into commands and
//! events into records, and waits for the store, the EHR and the clock. It knows no HTTP, adapter host,
//! workstation or webhook.
//!
//! ```text
//!  actor ── job ──► turn ──► request (commands, ingest) ──► location: decide ──► decision + reply
//!    ▲                │          └─► unit of work ◄── projections ◄── events
//!    │                └─► log of changes ──► pending commit ──► store
//!    └── calls: push payload, pulls ◄── evolve ◄────────────── durable
//! ```

#![warn(unreachable_pub)]

pub mod actor;
pub mod call_changes;
pub mod call_queue;
pub mod change_counter;
mod change_log;
mod clock_set_back;
pub mod commands;
pub mod disk_share;
pub mod ehr_site;
pub mod error;
mod facts;
pub mod history;
pub mod id_pool;
mod identity;
pub mod ingest;
mod journal_record;
mod location_health;
pub mod long_work;
pub mod machine_settings;
pub mod note_keys;
mod pass;
pub mod patients;
pub mod precondition;
pub mod processor;
mod projections;
pub mod push_payload;
mod queue_status;
pub mod reply;
pub mod request;
mod restored;
mod sweep;
#[cfg(test)]
mod testing;
pub mod turn;
pub mod unit_of_work;
#[cfg(test)]
mod webhook_tests;
pub mod write_history;
pub mod write_requests;

pub use crate::{
    actor::LocationMessage,
    error::{EngineError, LoadError, Prepared, Reject},
    id_pool::Pool,
    patients::PatientDetails,
    processor::{Deps, Processor},
    reply::{FreeGroups, FreeSlots, Saved},
    request::Request,
    unit_of_work::{TurnContext, UnitOfWork},
};
