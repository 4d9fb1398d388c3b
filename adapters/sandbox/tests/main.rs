//! Native tests of the adapter: faults of its EHR, and stories with the simulated EHR.
#![allow(clippy::unwrap_used)]

mod against_the_ehr;
mod faults;
mod reading;
