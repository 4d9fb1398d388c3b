//! Differences between setups, and country codes.

mod changes;
mod country;
