//! The HTTP API and what starts it. `routes` is the table of contents; `resources` holds one file per resource; the rest is what
//! they share. No rule about bookings lives here: handlers convert, ask the engine, and convert back.

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
pub mod values;
pub mod views;
