//! Optimistic updates of existing resources: read, decide, write if the version is unchanged.

use adapter_sdk::{Fault, Receipt};
use serde_json::Value;

use crate::{
    bundle,
    client::{self, Updated},
    requests,
    settings::Settings,
};

/// Resources to write atomically with the updated one. `None` if nothing has to be written at all.
pub type BundleEntries = Option<Vec<Value>>;

/// Reads a resource, lets `decide` change it, and writes it if the version is unchanged. `decide` gets the resource as
/// read, and a copy with the key of this write to modify. A resource that contains the key was already written. One
/// concurrent change is retried, unless `decide` rejects it.
pub fn revise(
    settings: &Settings,
    key: &str,
    (resource_type, id): (&str, &str),
    decide: impl Fn(&Value, &mut Value) -> Result<BundleEntries, Fault>,
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
