//! The current version of an adapter, under the name that the operator gave it.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::Adapter;

/// The state of an adapter named by the operator.
#[derive(Clone)]
pub enum LoadState {
    /// Being compiled.
    Preparing,
    Ready(Arc<Adapter>),
    /// Unusable, with the reason: its locations are closed until the operator replaces the adapter.
    Refused(Arc<str>),
}

/// A cell with the current version. Calls in flight keep the version they started with alive.
pub(super) struct AdapterSlot(pub(super) watch::Sender<LoadState>);

/// Finds the slot of the version that a location runs.
pub(super) type FindSlot = Arc<dyn Fn(&str) -> Arc<AdapterSlot> + Send + Sync>;

/// The reason why a call has no adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoAdapter {
    Preparing,
    Refused(Arc<str>),
}

impl AdapterSlot {
    pub(crate) fn new(load_state: LoadState) -> AdapterSlot {
        AdapterSlot(watch::Sender::new(load_state))
    }

    pub(crate) fn load_state(&self) -> LoadState {
        self.0.borrow().clone()
    }

    pub(crate) fn current(&self) -> Option<Arc<Adapter>> {
        match self.load_state() {
            LoadState::Ready(adapter) => Some(adapter),
            LoadState::Preparing | LoadState::Refused(_) => None,
        }
    }

    /// Returns the current version. Waits up to `wait` while the adapter is being prepared.
    pub(crate) async fn ready(&self, wait: Duration) -> Result<Arc<Adapter>, NoAdapter> {
        let mut load_state = self.0.subscribe();
        let settled = load_state.wait_for(|load_state| !matches!(load_state, LoadState::Preparing));
        let settled = tokio::time::timeout(wait, settled).await;
        // The sender lives as long as the slot, so the wait ends with a state or the timeout.
        match settled.ok().and_then(Result::ok).as_deref() {
            Some(LoadState::Ready(adapter)) => Ok(adapter.clone()),
            Some(LoadState::Refused(reason)) => Err(NoAdapter::Refused(reason.clone())),
            Some(LoadState::Preparing) | None => Err(NoAdapter::Preparing),
        }
    }
}
