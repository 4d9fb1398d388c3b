//! The location's settings for this adapter.

use crate::Fault;

/// Returns the value of a setting, or `None` if it is not configured. `location` is the location's foreign id,
/// `time-zone` its IANA zone.
pub fn get(name: &str) -> Option<String> {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::config::get(name);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::config(name)
}

/// Returns a setting that the adapter requires, or [`Fault::Unsupported`].
pub fn require(name: &str) -> Result<String, Fault> {
    get(name).ok_or_else(|| Fault::unsupported(format!("the setting `{name}` is missing")))
}
