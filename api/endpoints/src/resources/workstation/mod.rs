//! Workstations with the browser extension.

pub mod workstation_socket;
pub mod workstations;
