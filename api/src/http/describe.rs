//! What an endpoint expects of its callers, told by the code that reads it: see `openapi::describe`.

use std::sync::{Arc, Mutex, PoisonError};

use crate::values::expected::Expected;

/// What the arguments of a handler told.
#[derive(Debug, Default)]
pub(crate) struct Described {
    pub path: Vec<Expected>,
    pub query: Vec<Expected>,
    pub body: Vec<Expected>,
    /// Whether parameters and body were read.
    pub read: bool,
}

/// Shared between a describing call and whoever listens to it.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Described>>);

impl Notes {
    pub(crate) fn add(&self, note: impl FnOnce(&mut Described)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn take(&self) -> Described {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
