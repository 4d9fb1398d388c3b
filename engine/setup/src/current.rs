//! The setup in force, which an operator may replace while it is served.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::Setup;

/// The setup in force. Callers keep the version that they have read for the duration of an operation.
pub struct Current(ArcSwap<Setup>);

impl Current {
    pub fn new(setup: impl Into<Arc<Setup>>) -> Arc<Current> {
        Arc::new(Current(ArcSwap::new(setup.into())))
    }

    pub fn now(&self) -> Arc<Setup> {
        self.0.load_full()
    }

    pub fn replace(&self, setup: Arc<Setup>) {
        self.0.store(setup);
    }
}
