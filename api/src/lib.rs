//! The service and its commands.
//!
//! ```text
//!  framework ◄ endpoints ◄─┬─ console ◄──────┬── server ◄── service ◄── demo ◄── cli
//!                          ├─ configuration ◄┤
//!                          └─ commands ◄─┘
//! ```
//!
//! `audit_trail` and `service_manager` (systemd) serve the commands. Items are public only for the binary and for tests
//! of the whole service.

#![warn(unreachable_pub)]

pub mod cli;
#[cfg(feature = "demo")]
mod demo;
pub mod reload;
pub mod server;
pub mod service;
mod service_manager;
