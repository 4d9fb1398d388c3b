//! The endpoints of the API: handlers convert requests, call the engine and convert the results. Booking rules are in
//! the engine.
//!
//! ```text
//!  views ◄ resources ◄ routes ◄ openapi
//! ```
//!
//! `routes::table` lists all endpoints; `resources` is grouped like the table. `prelude` has the imports that most
//! handlers and views share. `memory` is for `/metrics` and the commands.

#![warn(unreachable_pub)]

pub mod memory;
pub mod openapi;
mod prelude;
pub mod resources;
pub mod routes;
pub mod views;
