//! Writing patients.

use adapter_sdk::{Fault, PatientChange, Receipt, http::Method, records::Patient as Wanted, warn};
use serde_json::{Map, Value};

use crate::{
    client::Client,
    faults,
    map::PATIENTS,
    requests,
    responses::{Patient, typed},
};

pub fn create(client: &Client, key: &str, p: &Wanted) -> Result<Receipt, Fault> {
    if let Some(earlier) = find(client, key)? {
        return Ok(earlier);
    }
    say_what_is_lost(p);
    let mut fields = requests::patient(p);
    fields.insert("reference".into(), key.into());
    sent(client, Method::Post, &format!("/api/{}", PATIENTS.name), &fields)
}

/// Sent twice it says the same.
pub fn update(client: &Client, change: &PatientChange) -> Result<Receipt, Fault> {
    say_what_is_lost(&change.patient);
    let fields = change.fields(requests::patient);
    sent(client, Method::Patch, &requests::record(PATIENTS.name, &change.patient.id), &fields)
}

pub fn find(client: &Client, key: &str) -> Result<Option<Receipt>, Fault> {
    for row in client.by_reference(PATIENTS, key)? {
        let row: Patient = typed(row).map_err(|why| Fault::retry_later(why, None))?;
        if row.reference.as_deref() == Some(key) {
            return Ok(Some(receipt(&row)));
        }
    }
    Ok(None)
}

/// None where some field is not yet as it was to be.
pub fn find_update(client: &Client, change: &PatientChange) -> Result<Option<Receipt>, Fault> {
    let Some(row) = client.one(PATIENTS, &change.patient.id)? else { return Ok(None) };
    let so = change.fields(requests::patient).iter().all(|(name, value)| row[name] == *value);
    let held: Patient = typed(row).map_err(|why| Fault::retry_later(why, None))?;
    Ok(so.then(|| receipt(&held)))
}

fn say_what_is_lost(p: &Wanted) {
    let lost = requests::unsupported(p);
    if !lost.is_empty() {
        warn!("the EHR's form has no field for {}", lost.join(", "));
    }
}

fn sent(client: &Client, method: Method, path: &str, fields: &Map<String, Value>) -> Result<Receipt, Fault> {
    let row = client.change(method, path, PATIENTS.names, fields)?;
    let held: Patient = typed(row.map_err(|code| faults::of_refusal(&code))?).map_err(Fault::unknown)?;
    Ok(receipt(&held))
}

fn receipt(held: &Patient) -> Receipt {
    Receipt { id: held.id.clone(), version: Some(held.revision.to_string()) }
}
