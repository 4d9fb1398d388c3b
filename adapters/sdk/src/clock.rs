//! Time and the location's zone. The sandbox has no other clock: `std::time` panics inside it.

pub use crate::bindings::practice_sync::ehr::clock::Local;
use crate::records::Instant;

/// The present, in seconds since 1970-01-01T00:00:00Z.
pub fn now() -> Instant {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::clock::now();
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::now()
}

/// The instants at which the location's clocks show `YYYY-MM-DDTHH:MM:SS`, earliest first: none in a daylight-saving gap or
/// for other text, two in an overlap.
pub fn to_instant(local: &str) -> Vec<Instant> {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::clock::to_instant(local);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::to_instant(local)
}

/// What the location's clocks show at an instant.
pub fn to_local(at: Instant) -> Local {
    #[cfg(target_arch = "wasm32")]
    return crate::bindings::practice_sync::ehr::clock::to_local(at);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::to_local(at)
}
