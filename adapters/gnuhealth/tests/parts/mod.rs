//! The parts of the adapter, each by itself.

mod faults;
mod ledger;
mod map;
mod values;
