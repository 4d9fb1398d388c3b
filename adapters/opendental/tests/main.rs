//! Native tests of the adapter with responses as documented by Open Dental.
#![allow(clippy::unwrap_used)]

mod bodies;
mod hours;
mod reading;
mod refusals;
mod unreadable;
mod values;
mod writing;
