//! Tests of the engine through the interface that the API uses.
#![allow(clippy::unwrap_used)]

mod reconfigure;
mod workstations;
