//! Who was shown or changed which record: one line for each access, in a log that no level silences (`logging`).

use std::sync::{Arc, Mutex, PoisonError};

use super::keys::ApiKey;

/// The target of these lines, for `logging`.
pub(crate) const TARGET: &str = "audit";

/// What was done to one record, and nothing of what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub what: &'static str,
    pub record: &'static str,
    pub id: u64,
}

impl Access {
    pub(crate) fn log(&self, key: &ApiKey) {
        let Access { what, record, id } = *self;
        tracing::info!(target: TARGET, key = %key.name, what, record, id);
    }
}

/// What one call was shown, so that a cached answer leaves the same lines each time it is given.
#[derive(Clone, Default)]
pub struct Trail(Arc<Mutex<Vec<Access>>>);

impl Trail {
    pub(crate) fn add(&self, access: Access) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(access);
    }

    pub(crate) fn take(&self) -> Vec<Access> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
