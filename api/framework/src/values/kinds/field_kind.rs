//! The kind of a declared field, built once for all requests.

use std::{any::Any, sync::OnceLock};

use super::Kind;

/// The kind of one field, whose type the place of use determines. `#[input]` declares one per field, and `shared` one
/// per kind.
#[derive(Default)]
pub struct FieldKind(OnceLock<Box<dyn Any + Send + Sync>>);

impl FieldKind {
    pub const fn new() -> FieldKind {
        FieldKind(OnceLock::new())
    }

    /// Returns the kind, which the first call builds.
    pub fn get<T: 'static>(&self, build: impl FnOnce() -> Kind<T>) -> Kind<T> {
        let kind = self.0.get_or_init(|| Box::new(build()));
        kind.downcast_ref::<Kind<T>>().expect("one field has one type").clone()
    }
}

impl<T> Clone for Kind<T> {
    fn clone(&self) -> Kind<T> {
        Kind { read: self.read.clone(), shape: self.shape.clone(), refers_to: self.refers_to }
    }
}
