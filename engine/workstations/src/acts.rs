//! What workstations do, for whoever keeps the audit trail. Pings, and requests that only read, are none of it.

use std::{net::IpAddr, sync::OnceLock};

use location::{ids::LocationId, time::Timestamp};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use uuid::Uuid;

/// One thing a workstation did, or that ended what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    pub at: Timestamp,
    pub location: LocationId,
    pub workstation: Uuid,
    pub client: Option<IpAddr>,
    pub what: &'static str,
    /// The write requests it is about.
    pub writes: Vec<u64>,
    /// What became of it.
    pub status: String,
}

/// Where they go. Whoever listens takes them as fast as they come; without anybody nothing is kept.
#[derive(Default)]
pub(crate) struct Acts(OnceLock<UnboundedSender<Act>>);

impl Acts {
    pub(crate) fn tell(&self, act: Act) {
        // Who listened is gone when the process ends.
        if let Some(to) = self.0.get() {
            drop(to.send(act));
        }
    }

    /// There is one who listens: the first.
    pub(crate) fn listen(&self) -> UnboundedReceiver<Act> {
        let (to, acts) = mpsc::unbounded_channel();
        drop(self.0.set(to));
        acts
    }
}

/// The write request of a write key, which names location and number (`location`, `commands/booking.rs`).
pub(crate) fn write_request(key: &str) -> Option<u64> {
    key.strip_prefix("ps-")?.split('-').nth(1)?.parse().ok()
}
