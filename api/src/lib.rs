//! The HTTP API and what starts it. `routes` is the table of contents; `resources` holds one file per resource; the rest is what
//! they share. No rule about bookings lives here: handlers convert, ask the engine, and convert back.

/// Of the product and of all that measures it. A turn and a commit are mostly small allocations of one thread that another gives back,
/// which is where the C library's allocator is slowest: a quarter of the time of a pull.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub mod answered;
pub mod app;
pub mod audit;
pub mod body;
pub mod bounds;
pub mod cli;
pub mod config;
pub mod cors;
pub mod cursor;
pub mod demo;
pub mod describe;
pub mod directory;
pub mod envelope;
pub mod errors;
pub mod framed;
pub mod guard;
pub mod kept;
pub mod keys;
pub mod kinds;
pub mod limits;
pub mod listing;
pub mod logging;
pub mod noted;
pub mod once;
pub mod openapi;
pub mod pages;
pub mod proxies;
pub mod query;
pub mod reasons;
pub mod resources;
pub mod route;
pub mod routes;
pub mod saves;
pub mod scope;
pub mod secret;
pub mod server;
pub mod shapes;
pub mod slot_token;
pub mod socket;
pub mod strangers;
pub mod token;
pub mod versions;
pub mod views;
pub mod wire;
pub mod wire_uuid;
