//! The engine as seen by the API: start and stop, requests and replies, reads. All rules are behind it, in the other
//! crates of this folder.
//!
//! ```text
//!  api ──► engine ──► processor ──► location, records, query, store
//!             ├─────► query, webhooks, workstations, adapter-host
//!             └─────► setup, runtime
//! ```

#![warn(unreachable_pub)]

mod adapter_calls;
mod adapter_versions;
mod audit_follower;
mod backup_calls;
mod backups;
pub mod changes;
mod cluster;
mod config_history;
mod connections;
mod copy_data;
mod data_dir;
mod database;
mod directory;
mod ehr_hints;
mod engine;
mod fence;
mod fleet;
mod freshness;
mod gate_reports;
mod handover;
mod hint_pace;
mod local_institutions;
mod migrate_store;
mod node_calls;
mod open;
mod provider_names;
mod reads;
mod reconfigure;
mod restore;
mod resume;
mod rotation;
pub mod simulated;
mod slot_calls;
mod store_key_calls;
mod store_keys;
mod subscriber_ids;
#[cfg(test)]
mod tests;
mod token_uses;
mod write_request_calls;

pub use ::{adapter_host, records, setup, store, webhooks, workstations};
pub use membership::Place;
pub use processor::{
    EngineError, FreeGroups, FreeSlots, PatientDetails, Request, Saved, call_changes, commands,
    precondition::PreconditionError,
    write_history::{self, WriteHistory},
    write_requests,
};
pub use query::{feed, idempotency, lists, rows};
pub use runtime::{clock, metrics, origin, recent_errors, turns, zones};

pub use crate::{
    adapter_versions::{AdapterVersion, RolledOut, Tried, VersionError},
    audit_follower::{AuditBatch, AuditFollower},
    backups::{BackupEnded, BackupError, BackupFile, BackupsNow, backup_files},
    cluster::Nodes,
    config_history::SetUp,
    copy_data::{CopyStep, copy_data, copy_from_database, copy_to_database},
    data_dir::{Incomplete, compact_data, salvage_data},
    database::{OwnersOfSetup, check_database, migrate_database, owners_of},
    engine::{CLUSTER_WIDE, Engine, Parts, StartError},
    migrate_store::{Migrated, migrate_store},
    open::{OpenError, Opened, open},
    reads::Shown,
    reconfigure::{NotReconfigurable, Reconfigured},
    restore::{check_backup, restore_data},
    rotation::KeysNow,
    store_keys::{KeyError, drop_key, rotate_key},
};
