//! Inputs that an endpoint expects, recorded by the code that reads them.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::values::expected::Expected;

#[derive(Debug, Default)]
pub struct Described {
    pub path: Vec<Expected>,
    pub query: Vec<Expected>,
    pub body: Vec<Expected>,
    /// `true` if the reading reached the end of parameters and body.
    pub read: bool,
}

/// Record shared between a describing call and the documentation.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Described>>);

impl Notes {
    pub fn add(&self, note: impl FnOnce(&mut Described)) {
        note(&mut self.0.lock());
    }

    pub fn take(&self) -> Described {
        std::mem::take(&mut self.0.lock())
    }
}
