//! The HTTP API and its commands. Booking rules are in the engine: handlers convert requests, call the engine and
//! convert the results.
//!
//! Folders are layers, and each depends only on those to its left:
//!
//! ```text
//!  values ◄ http ◄ nodes ◄ access ◄ records ◄┐                    ┌── openapi ◄── server ◄── service ◄── demo ◄── cli
//!     ▲                                      ├ resources ◄ routes ┤              │              │
//!     └── views ◄────────────────────────────┘     ▲              └── config ◄───┼──────────────┘
//!                                                  └── console ◄─────────────────┘
//! ```
//!
//! `routes::table` lists all endpoints; `resources` has one file per resource. `terminal`, `logging` with `traces`,
//! `memory`, `audit_trail` and `service_manager` (systemd) serve the commands; `/metrics` uses `memory` too. Items are
//! public only for the binary and for tests of the whole service.

#![warn(unreachable_pub)]

pub mod access;
mod audit_trail;
pub mod cli;
pub mod config;
mod console;
#[cfg(feature = "demo")]
mod demo;
pub mod http;
mod logging;
mod memory;
pub mod nodes;
pub mod openapi;
mod records;
pub mod reload;
mod resources;
pub mod routes;
pub mod server;
pub mod service;
mod service_manager;
mod terminal;
mod traces;
pub mod values;
pub mod views;
