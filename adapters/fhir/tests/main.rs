//! Native tests of the adapter: its modules, recorded responses, and stories on small servers.
#![allow(clippy::unwrap_used)]

mod asking;
mod atomic;
mod atomic_server;
mod files;
mod lenient;
mod open_time;
mod parts;
mod reading;
mod server;
mod stories;
mod whose;

// `atomic_server` also serves the conformance suite, which has no SDK and defines a module of this name.
use adapter_sdk::time as adapter_time;
