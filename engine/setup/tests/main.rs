//! Differences between setups, and zones.

mod changes;
mod zones;
