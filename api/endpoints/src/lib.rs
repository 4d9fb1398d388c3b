//! The endpoints of the API: handlers convert requests, call the engine and convert the results. Booking rules are in
//! the engine.
//!
//! ```text
//!  views ◄ resources ◄ routes ◄ openapi
//! ```
//!
//! `routes::table` lists all endpoints; `resources` is grouped like the table. `memory` is for `/metrics` and the
//! commands.

#![warn(unreachable_pub)]

pub mod memory;
pub mod openapi;
pub mod resources;
pub mod routes;
pub mod views;
