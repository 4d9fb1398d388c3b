//! Differences between setups, country codes, and zones.

mod changes;
mod country;
mod zones;
