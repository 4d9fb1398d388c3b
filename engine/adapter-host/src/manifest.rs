//! What an adapter asks for, as its component's manifest says it, under what the operator grants.

use std::time::Duration;

pub(crate) use adapter_component::{Asks, IDENTITY_HEADERS};
pub use adapter_component::{CONTRACT_PACKAGE, CONTRACT_VERSION, Manifest};

use setup::guests::GuestLimits;

use crate::limits::MIB;

/// What every adapter exports.
pub(crate) const EHR_INTERFACE: &str = "practice-sync:ehr/ehr@1.0.0";

/// What both the operator grants and the adapter asks for.
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
