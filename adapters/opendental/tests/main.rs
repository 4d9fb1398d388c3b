//! The adapter natively, on answers as Open Dental documents them.
#![allow(clippy::unwrap_used)]

mod bodies;
mod hours;
mod reading;
mod refusals;
mod unreadable;
mod values;
mod writing;
