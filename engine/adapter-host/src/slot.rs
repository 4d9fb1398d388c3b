//! The current version of an adapter, under the name that the operator gave it.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::adapter::Adapter;

/// The state of an adapter named by the operator.
#[derive(Clone)]
pub enum Standing {
    /// Being compiled.
    Preparing,
    Ready(Arc<Adapter>),
    /// Unusable, with the reason: its locations are closed until the operator replaces the adapter.
    Refused(Arc<str>),
}

/// A cell with the current version. Calls in flight keep the version they started with alive.
pub(super) struct Slot(pub(super) watch::Sender<Standing>);

/// Finds the slot of the version that a location runs.
pub(super) type FindSlot = Arc<dyn Fn(&str) -> Arc<Slot> + Send + Sync>;

/// The reason why a call has no adapter.
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

    /// Returns the current version. Waits up to `wait` while the adapter is being prepared.
    pub(crate) async fn ready(&self, wait: Duration) -> Result<Arc<Adapter>, NoAdapter> {
        let mut standing = self.0.subscribe();
        let settled = standing.wait_for(|standing| !matches!(standing, Standing::Preparing));
        let settled = tokio::time::timeout(wait, settled).await;
        // The sender lives as long as the slot, so the wait ends with a state or the timeout.
        match settled.ok().and_then(Result::ok).as_deref() {
            Some(Standing::Ready(adapter)) => Ok(adapter.clone()),
            Some(Standing::Refused(reason)) => Err(NoAdapter::Refused(reason.clone())),
            Some(Standing::Preparing) | None => Err(NoAdapter::Preparing),
        }
    }
}
