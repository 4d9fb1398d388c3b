//! What a process has besides its data: the wall clock and randomness (`clock`, the only place that reads them), wake-ups (`doorbell`),
//! counters (`metrics`), what went wrong lately (`recent_errors`), whose request it works for (`origin`) and turns on the processors (`turns`). It knows no record, no store and no EHR.
//!
//! Everything else gets the time and random numbers as arguments, so that tests and the simulation can choose them.

#![warn(unreachable_pub)]

pub mod clock;
pub mod doorbell;
pub mod metrics;
pub mod origin;
pub mod recent_errors;
pub mod turns;
