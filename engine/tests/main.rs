//! Tests of the engine through the interface that the API uses.
#![allow(clippy::unwrap_used)]

mod changes;
mod reconfigure;
mod workstations;
