//! Writing patients.

use adapter_sdk::{Fault, PatientChange, Receipt, http::Method, records::Patient};
use serde_json::{Map, Value};

use crate::{
    client::GatedCloud,
    faults,
    map::{found, written},
    markup::PATIENTS,
    requests,
};

pub fn create(app: &GatedCloud, key: &str, p: &Patient) -> Result<Receipt, Fault> {
    let mut fields = requests::patient(p);
    fields.insert("write_key".into(), key.into());
    sent(app, Method::Post, "/api/patients", &fields)
}

pub fn find(app: &GatedCloud, key: &str) -> Result<Option<Receipt>, Fault> {
    app.by_reference(PATIENTS, key)?.map(found).transpose()
}

/// Sent twice it says the same.
pub fn update(app: &GatedCloud, _: &str, change: &PatientChange) -> Result<Receipt, Fault> {
    let path = requests::record(PATIENTS, &change.patient.id);
    sent(app, Method::Patch, &path, &change.fields(requests::patient))
}

/// None where some field is not yet as it was to be.
pub fn find_update(app: &GatedCloud, _: &str, change: &PatientChange) -> Result<Option<Receipt>, Fault> {
    let row = app.one(PATIENTS, &change.patient.id)?;
    let wanted = change.fields(requests::patient);
    row.filter(|row| wanted.iter().all(|(name, value)| row[name] == *value)).map(found).transpose()
}

fn sent(app: &GatedCloud, method: Method, path: &str, fields: &Map<String, Value>) -> Result<Receipt, Fault> {
    let row = app.change(method, path, PATIENTS, fields)?;
    written(row.map_err(|code| faults::of_refusal(&code))?)
}
