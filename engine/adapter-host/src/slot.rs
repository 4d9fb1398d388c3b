//! The place of an adapter's current version, by the name that the operator gave it.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::adapter::Adapter;

/// How an adapter stands that the operator named.
#[derive(Clone)]
pub enum Standing {
    /// It is being compiled.
    Preparing,
    Ready(Arc<Adapter>),
    /// It cannot be used, and why: its locations are closed until the operator mends it.
    Refused(Arc<str>),
}

/// The place of the current version. Calls in flight keep the version they started with alive.
pub(super) struct Slot(pub(super) watch::Sender<Standing>);

/// Finds the slot of the version that a location runs.
pub(super) type FindSlot = Arc<dyn Fn(&str) -> Arc<Slot> + Send + Sync>;

/// Why there is no adapter for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoAdapter {
    Preparing,
    Refused(Arc<str>),
}

impl Slot {
    pub(crate) fn new(standing: Standing) -> Slot {
        Slot(watch::Sender::new(standing))
    }

    pub(crate) fn standing(&self) -> Standing {
        self.0.borrow().clone()
    }

    pub(crate) fn current(&self) -> Option<Arc<Adapter>> {
        match self.standing() {
            Standing::Ready(adapter) => Some(adapter),
            Standing::Preparing | Standing::Refused(_) => None,
        }
    }

    /// The current version, waited for at most so long while it is being prepared.
    pub(crate) async fn ready(&self, wait: Duration) -> Result<Arc<Adapter>, NoAdapter> {
        let mut standing = self.0.subscribe();
        let settled = standing.wait_for(|standing| !matches!(standing, Standing::Preparing));
        let settled = tokio::time::timeout(wait, settled).await;
        // The sender lives as long as the slot, so waiting ends with an answer or with the time.
        match settled.ok().and_then(Result::ok).as_deref() {
            Some(Standing::Ready(adapter)) => Ok(adapter.clone()),
            Some(Standing::Refused(reason)) => Err(NoAdapter::Refused(reason.clone())),
            Some(Standing::Preparing) | None => Err(NoAdapter::Preparing),
        }
    }
}
