//! The HTTP API and what starts it. No rule about bookings lives here: handlers convert, ask the engine, and convert back.
//!
//! Folders are layers; each knows those to its left only:
//!
//! ```text
//!  values ◄── http ◄── access ◄── records ◄┐                    ┌── openapi ◄── server ◄── service ◄── demo ◄── cli
//!     ▲                                    ├ resources ◄ routes ┤                             │
//!     └── views ◄──────────────────────────┘                    └── config ◄──────────────────┘
//! ```
//!
//! `routes::table` is the table of contents; `resources` holds one file per resource. `terminal` and `logging` are for the commands.

/// Of the product and of all that measures it. A turn and a commit are mostly small allocations of one thread that another gives back,
/// which is where the C library's allocator is slowest: a quarter of the time of a pull.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub mod access;
pub mod cli;
pub mod config;
pub mod demo;
pub mod http;
pub mod logging;
pub mod openapi;
pub mod records;
pub mod resources;
pub mod routes;
pub mod server;
pub mod service;
pub mod terminal;
pub mod values;
pub mod views;
