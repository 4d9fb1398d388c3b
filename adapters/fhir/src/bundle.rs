//! Atomic transactions: an appointment together with its slots.

use adapter_sdk::{Fault, Receipt, http};
use serde_json::{Value, json};

use crate::{
    client::{self, Updated, call, carrying, judged, located, receipt_of, text, version},
    requests,
    settings::Settings,
};

/// Creates a resource unless one with this write key exists, and updates the resources in `others`.
pub fn create(settings: &Settings, resource: &Value, write_key: &str, others: &[Value]) -> Result<Receipt, Fault> {
    let resource_type = text(resource, "resourceType");
    let create = json!({
        "fullUrl": "urn:uuid:6f8a1c9e-2b7d-4e3a-9c51-0d4f7b2e8a36",
        "resource": resource,
        "request": {"method": "POST", "url": resource_type, "ifNoneExist": requests::condition(settings, write_key)},
    });
    match send(create, resource, others)? {
        Updated::Written(receipt) => Ok(receipt),
        Updated::Stale => Err(Fault::retry_later("a slot was changed in the EHR meanwhile", None)),
    }
}

/// Updates a resource if it still has the version that was read, and the resources in `others`.
pub fn update(resource: &Value, others: &[Value]) -> Result<Updated, Fault> {
    send(put(resource), resource, others)
}

fn put(resource: &Value) -> Value {
    let url = format!("{}/{}", text(resource, "resourceType"), text(resource, "id"));
    let mut request = json!({"method": "PUT", "url": url});
    if let Some(version) = version(resource) {
        request["ifMatch"] = format!("W/\"{version}\"").into();
    }
    json!({"resource": resource, "request": request})
}

/// Sends the transaction. The entries of the response are in the order of the request; the first is the main resource.
fn send(first: Value, resource: &Value, others: &[Value]) -> Result<Updated, Fault> {
    let entries: Vec<Value> = std::iter::once(first).chain(others.iter().map(put)).collect();
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": entries});
    let answer = call(carrying(http::post("/"), &bundle)?)?;
    if matches!(answer.status, 409 | 412) {
        return Ok(Updated::Stale);
    }
    let body: Value = judged(answer, false, Some(&bundle))?.written_json()?;
    let (written, resource_type) = (&body["entry"][0], text(resource, "resourceType"));
    if written["resource"]["resourceType"] == resource_type {
        return Ok(Updated::Written(receipt_of(&written["resource"])));
    }
    let response = &written["response"];
    let location = response["location"].as_str().unwrap_or_default();
    let receipt = located(location, response["etag"].as_str(), resource_type);
    // The response to an update may contain only an `etag`.
    let known = || {
        let id = client::text(resource, "id");
        let version = response["etag"].as_str()?.trim_start_matches("W/").trim_matches('"').to_owned();
        (!id.is_empty()).then(|| Receipt { id: id.to_owned(), version: Some(version) })
    };
    let receipt = receipt.or_else(known);
    receipt.map(Updated::Written).ok_or_else(|| Fault::unknown("the server does not say what it has written"))
}
