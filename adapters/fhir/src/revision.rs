//! Changes of a resource that is there: read, decided, written over the version that was read.

use adapter_sdk::{Fault, Receipt};
use serde_json::Value;

use crate::{
    bundle,
    client::{self, Updated},
    requests,
    settings::Settings,
};

/// What is to be written with a resource, all or nothing. None: nothing is left to do, not even the resource.
pub type Beside = Option<Vec<Value>>;

/// Reads a resource, lets `decide` make of it what it should be (it gets the resource as it was read, and again with the key of this
/// write, to be changed), and writes that over the version that was read. A resource that carries the key was written before. One change by
/// others in between is no hindrance, unless `decide` says so.
pub fn revise(
    settings: &Settings,
    key: &str,
    (resource_type, id): (&str, &str),
    decide: impl Fn(&Value, &mut Value) -> Result<Beside, Fault>,
) -> Result<Receipt, Fault> {
    for _ in 0..2 {
        let resource =
            client::read(resource_type, id)?.ok_or_else(|| Fault::rejected("the EHR no longer has the record"))?;
        if client::carries(settings, &resource, key) {
            return Ok(client::receipt_of(&resource));
        }
        let mut revised = requests::updated(settings, key, &resource);
        let Some(beside) = decide(&resource, &mut revised)? else { return Ok(client::receipt_of(&resource)) };
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
