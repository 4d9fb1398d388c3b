//! The adapter at a workstation that responds from a list.
#![allow(clippy::unwrap_used)]

mod desk;
mod names;
mod reading;
mod writing;
