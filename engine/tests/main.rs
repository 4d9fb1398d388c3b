//! The engine as the API uses it.
#![allow(clippy::unwrap_used)]

mod reconfigure;
mod workstations;
