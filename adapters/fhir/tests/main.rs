//! Native tests of the adapter: its modules, recorded responses, and stories on small servers.
#![allow(clippy::unwrap_used)]

mod atomic;
mod atomic_server;
mod files;
mod lenient;
mod open_time;
mod ownership;
mod parts;
mod reading;
mod restrictions;
mod server;
mod stories;

// `atomic_server` also serves the conformance suite, which has no SDK and defines a module of this name.
use adapter_sdk::time as adapter_time;
