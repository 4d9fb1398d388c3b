//! Changes of a resource that is there: read, decided, written over the version that was read.

use adapter_sdk::{Fault, Receipt};
use serde_json::Value;

use crate::{
    bundle,
    client::{self, Updated},
    settings::Settings,
};

/// Reads a resource, lets `decide` make of it what it should be, and writes that over the version that was read. `None`: nothing is left
/// to do. A resource that carries the key was written before. One change by others in between is no hindrance, unless `decide` says so.
pub fn revise(
    settings: &Settings,
    key: &str,
    (resource_type, id): (&str, &str),
    decide: impl Fn(&Value) -> Result<Option<Revision>, Fault>,
) -> Result<Receipt, Fault> {
    for _ in 0..2 {
        let resource =
            client::read(resource_type, id)?.ok_or_else(|| Fault::rejected("the EHR no longer has the record"))?;
        if client::carries(settings, &resource, key) {
            return Ok(client::receipt_of(&resource));
        }
        let Some(Revision { resource: revised, beside }) = decide(&resource)? else {
            return Ok(client::receipt_of(&resource));
        };
        let updated = match beside.is_empty() {
            true => client::update(&revised)?,
            false => bundle::update(&revised, &beside)?,
        };
        if let Updated::Written(receipt) = updated {
            return Ok(receipt);
        }
    }
    Err(Fault::retry_later("the record keeps changing in the EHR", None))
}

/// A resource as it should be.
pub struct Revision {
    pub resource: Value,
    /// What is to be written with it, all or nothing.
    pub beside: Vec<Value>,
}

impl From<Value> for Revision {
    fn from(resource: Value) -> Revision {
        Revision { resource, beside: Vec::new() }
    }
}
