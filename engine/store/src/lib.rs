//! The store interface of the engine: ordered keys, values, and a single way to write. A write is a batch
//! that is applied durably and atomically, or not at all.
//!
//! ```text
//! contract (Store, Batch, KeyRange, Version, errors) ◄── memory       for tests and the simulation
//!                         ◄── embedded ──► committer ──► engine (interface of embedded engines)
//!                                │             │            ◄── sled/ ──► disk
//!                                │             │            ◄── fjall/ ──► disk
//!                                │             ├─ jobs, group: queued batches and their preconditions (postgres/ too)
//!                                │             ├─ recent_versions: versions known without a lookup in the engine
//!                                │             └─ watermark, integrity, audit: detection of lost values
//!                                ├─ compact, weight: disk space recovery
//!                                ├─ envelope, store_keys: sealing ──► compression (of JSON documents)
//!                                └─ layout: engine, format · guard: panics to errors
//!                         ◄── postgres/ ──► database         several processes on one store
//! on any store: keys (all key spaces), key_owner, journal, counters, due, secrets, copy, backup,
//! rotation (of keys) · after damage: sled/salvage, sled/repair
//! ```
//!
//! README.md describes the format on disk and the purpose of each engine.

#![warn(unreachable_pub)]

mod audit;
pub mod backup;
mod batch;
mod committer;
mod compact;
mod compression;
mod config;
mod contract;
pub mod copy;
pub mod counters;
mod directory;
mod disk;
pub mod due;
mod embedded;
mod engine;
mod engine_kind;
mod envelope;
mod error;
pub mod files;
mod fjall;
mod group;
mod guard;
mod integrity;
mod jobs;
pub mod journal;
mod key_id;
pub mod key_owner;
pub mod keys;
mod layout;
pub mod memory;
pub mod postgres;
mod range;
mod recent_versions;
pub mod rotation;
pub mod secrets;
mod shared;
mod sled;
mod store_keys;
mod version;
mod watermark;
mod weight;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod suites;
#[cfg(test)]
mod testing;

pub use self::sled::{Repaired, salvage};
pub use batch::{Append, Batch, Expect, MAX_BATCH_BYTES, MAX_BATCH_KEYS, MAX_KEY_BYTES, MAX_VALUE_BYTES};
pub use compact::{Compacted, compact};
pub use config::StoreConfig;
pub use contract::{BackedUp, CommitFuture, Health, Store};
pub use directory::DirectoryLock;
pub use disk::{Disk, RealDisk, free_bytes};
pub use embedded::EmbeddedStore;
pub use engine_kind::EngineKind;
pub use error::{CommitError, LayoutProblem, StoreError};
pub use key_id::KeyId;
pub use layout::{engine_of, is_made};
pub use memory::MemoryStore;
pub use range::{Direction, FIRST_RESERVED, Key, KeyRange, prefix_end};
pub use rotation::Sealed;
pub use store_keys::{StoreKey, StoreKeys};
pub use version::{SealedValue, Version, Versioned};
