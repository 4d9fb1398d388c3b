//! The HTTP API and what starts it. No rule about bookings lives here: handlers convert, ask the engine, and convert back.
//!
//! Folders are layers; each knows those to its left only:
//!
//! ```text
//!  values ◄── http ◄── nodes ◄── access ◄── records ◄┐                    ┌── openapi ◄── server ◄── service ◄── demo ◄── cli
//!     ▲                                              ├ resources ◄ routes ┤              │              │
//!     └── views ◄────────────────────────────────────┘     ▲              └── config ◄───┼──────────────┘
//!                                                          └── console ◄─────────────────┘
//! ```
//!
//! `routes::table` is the table of contents; `resources` holds one file per resource. `terminal`, `logging` with `traces`, `memory`,
//! `audit_trail` and `service_manager` (systemd) are for the commands; `/metrics` asks `memory` too. Public is what
//! the binary and the tests that measure the whole service use; everything else is the crate's own.

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
