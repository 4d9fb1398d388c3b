//! The modules of the adapter, tested separately.

mod faults;
mod ledger;
mod map;
mod values;
