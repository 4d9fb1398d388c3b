//! Lines for the operator. Never put patient data into them.
//!
//! `adapter_sdk::log::info(..)` takes a string, `adapter_sdk::info!("page {n}")` formats one.

pub use crate::bindings::practice_sync::ehr::log::Level;

/// Writes one line of at most 2,000 bytes; the host cuts longer ones.
pub fn write(level: Level, message: &str) {
    #[cfg(target_arch = "wasm32")]
    crate::bindings::practice_sync::ehr::log::write(level, message);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::log(level, message);
}

/// Logs details for debugging the adapter.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// Logs information for the operator.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// Logs a condition that the adapter could handle but an operator should check.
pub fn warn(message: &str) {
    write(Level::Warn, message);
}

/// Logs a condition that prevents the adapter from working.
pub fn error(message: &str) {
    write(Level::Error, message);
}

/// Formats a line at level debug.
#[macro_export]
macro_rules! debug {
    ($($part:tt)*) => { $crate::log::debug(&format!($($part)*)) };
}

/// Formats a line at level info.
#[macro_export]
macro_rules! info {
    ($($part:tt)*) => { $crate::log::info(&format!($($part)*)) };
}

/// Formats a line at level warn.
#[macro_export]
macro_rules! warn {
    ($($part:tt)*) => { $crate::log::warn(&format!($($part)*)) };
}

/// Formats a line at level error.
#[macro_export]
macro_rules! error {
    ($($part:tt)*) => { $crate::log::error(&format!($($part)*)) };
}
