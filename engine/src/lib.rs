//! Location actors, store, adapter host and webhooks. `engine` is what the API layer sees of it.

pub mod actor;
pub mod adapter_host;
pub mod clock;
mod connections;
mod data_dir;
mod directory;
mod doorbell;
pub mod ehr;
pub mod engine;
pub mod entries;
pub mod feed;
pub mod files;
pub mod forms;
pub mod index;
pub mod known;
pub mod lists;
pub mod metrics;
pub mod once;
pub mod open;
mod reads;
pub mod records;
pub mod sandbox_ehr;
pub mod sandbox_host;
pub mod saving;
pub mod secrets;
mod settings;
pub mod setup;
pub mod stamps;
pub mod store;
mod sync_state;
mod upkeep;
pub mod webhooks;
pub mod workstations;
pub mod write_requests;
mod zones;

pub use crate::data_dir::{Incomplete, salvage_data};
pub use crate::engine::{
    BookRequest, Booked, Engine, EngineError, FreeSlots, Offer, PatientDetails, Refused, Stretch, SyncState,
};
pub use crate::open::{Opened, open};
