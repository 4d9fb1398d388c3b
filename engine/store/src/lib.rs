//! The store, seen by the rest of the engine: ordered keys, values, and one way to write, a batch that happens durably and whole or
//! not at all.
//!
//! ```text
//! contract (Store, Batch, KeyRange, errors) ◄── memory       for tests and the simulation
//!                                            ◄── sled_store ──► committer ──► sled ──► disk
//!                                                    │  shared: what readers and the committer see
//!                                                    │  envelope: sealed values · sled_guard: panics become errors
//!                                                    └─ integrity: is everything there? (watermark, audit)
//! on any store: keys (the table of contents), journal, counters, due, secrets · damaged: salvage, mend
//! ```

#![warn(unreachable_pub)]

mod audit;
mod batch;
mod committer;
mod contract;
pub mod counters;
mod directory;
mod disk;
pub mod due;
mod envelope;
mod error;
pub mod files;
mod integrity;
pub mod journal;
pub mod keys;
pub mod memory;
mod mend;
mod range;
pub mod salvage;
pub mod secrets;
mod shared;
mod sled_guard;
mod sled_store;
mod version;
mod watermark;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod sled_tests;

pub use batch::{Append, Batch, Expect, MAX_BATCH_BYTES, MAX_BATCH_KEYS, MAX_KEY_BYTES, MAX_VALUE_BYTES};
pub use contract::{CommitFuture, Health, Store, feed_end};
pub use disk::{Disk, RealDisk};
pub use envelope::StoreKey;
pub use error::{CommitError, StoreError};
pub use memory::MemoryStore;
pub use mend::Mended;
pub use range::{Direction, FIRST_RESERVED, Key, KeyRange, prefix_end};
pub use sled_store::{SledConfig, SledStore};
pub use version::{Version, Versioned};
