//! The setup in force, which an operator may replace while it is served.

use std::sync::{Arc, PoisonError, RwLock};

use crate::Setup;

/// The setup in force. Callers keep the version that they have read for the duration of an operation.
pub struct Current(RwLock<Arc<Setup>>);

impl Current {
    pub fn new(setup: impl Into<Arc<Setup>>) -> Arc<Current> {
        Arc::new(Current(RwLock::new(setup.into())))
    }

    pub fn now(&self) -> Arc<Setup> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn replace(&self, setup: Arc<Setup>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = setup;
    }
}
