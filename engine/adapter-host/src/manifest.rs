//! The limits of an adapter: those of its manifest, within those granted by the operator.

use std::time::Duration;

pub use adapter_component::{CONTRACT_PACKAGE, CONTRACT_VERSION, Manifest};
pub(crate) use adapter_component::{IDENTITY_HEADERS, RequestedAccess};

use crate::limits::{GuestLimits, MIB};

/// The interface that every adapter exports.
pub(crate) const EHR_INTERFACE: &str = "practice-sync:ehr/ehr@1.0.0";

/// Returns the lower of the operator's limits and the adapter's.
pub(crate) fn narrow(manifest: &Manifest, granted: &GuestLimits) -> GuestLimits {
    let at_most = |granted: Duration, asked: Option<u32>| {
        asked.map_or(granted, |asked| granted.min(Duration::from_millis(asked.into())))
    };
    GuestLimits {
        memory: granted.memory.min(manifest.memory_mib as usize * MIB),
        call: granted.call.min(Duration::from_secs(manifest.call_seconds.into())),
        processor: at_most(granted.processor, manifest.processor_ms),
        pull_processor: at_most(granted.pull_processor, manifest.pull_processor_ms),
        requests: granted.requests.min(manifest.requests_per_call),
        ..*granted
    }
}
