//! The adapter natively: faults of its dialect, and stories on the simulated EHR.
#![allow(clippy::unwrap_used)]

mod against_the_ehr;
mod faults;
mod reading;
