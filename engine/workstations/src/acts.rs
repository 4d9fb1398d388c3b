//! Acts of workstations, for the audit trail. Excludes pings and requests that only read.

use std::{net::IpAddr, sync::OnceLock};

use location::{LocationId, Timestamp};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use uuid::Uuid;

/// An act of a workstation, or the end of its permission to act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    pub at: Timestamp,
    pub location: LocationId,
    pub workstation: Uuid,
    pub client: Option<IpAddr>,
    pub what: &'static str,
    /// The write requests that the act is about.
    pub writes: Vec<u64>,
    /// The outcome of the act.
    pub status: String,
}

/// The channel of acts. Unbounded, so the listener must keep up. Without a listener, acts are dropped.
#[derive(Default)]
pub(crate) struct Acts(OnceLock<UnboundedSender<Act>>);

impl Acts {
    pub(crate) fn record(&self, act: Act) {
        // The listener ends with the process.
        if let Some(to) = self.0.get() {
            drop(to.send(act));
        }
    }

    /// Returns the receiver of all later acts. Only the first call has an effect.
    pub(crate) fn listen(&self) -> UnboundedReceiver<Act> {
        let (to, acts) = mpsc::unbounded_channel();
        drop(self.0.set(to));
        acts
    }
}

/// Returns the write request of a write key, which contains location and number (`location`, `commands/booking.rs`).
pub(crate) fn write_request(key: &str) -> Option<u64> {
    key.strip_prefix("ps-")?.split('-').nth(1)?.parse().ok()
}
