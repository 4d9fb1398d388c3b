//! The simulated health record system of a small practice: one strict database for one or more locations, with its own
//! REST API. It is pure and deterministic: the state depends only on the seed, the requests and their times.
//! `adapters/sandbox` is the adapter for its API.

pub mod behaviours;
pub mod control;
pub mod profile;
pub mod records;
pub mod triggers;
pub mod wire;

mod calendar;
mod change;
mod ehr;
mod filed;
mod hours;
mod practice;
mod random;
mod refusals;
mod requests;
mod resources;
mod routes;
mod seed;
#[cfg(test)]
mod tests;
mod write_kinds;
mod writes;

pub use behaviours::{Behaviours, Down, HowDown};
pub use change::Change;
pub use control::{Control, ControlError};
pub use ehr::SandboxEhr;
pub use profile::{LocationProfile, OffsetFrom, Profile};
pub use wire::{Delivery, SandboxReply, SandboxRequest};
