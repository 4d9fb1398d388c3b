//! The records an EHR and the engine exchange.

pub use crate::bindings::practice_sync::ehr::types::*;
