//! The service and its commands.
//!
//! ```text
//!  framework ◄ endpoints ◄─┬─ console ◄──────┬── server ◄── service ◄── demo ◄── cli
//!                          ├─ configuration ◄┤
//!                          └─ commands ◄─┘
//! ```
//!
//! `service_manager` notifies systemd. Items are public only for the binary and for tests of the whole service.

#![warn(unreachable_pub)]

pub mod cli;
#[cfg(feature = "demo")]
mod demo;
pub mod reload;
pub mod server;
pub mod service;
mod service_manager;
