//! The parts of the adapter, each by itself.
#![allow(clippy::unwrap_used)]

mod faults;
mod ledger;
mod map;
mod values;
