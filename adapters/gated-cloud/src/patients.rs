//! Writes of patients.

use adapter_sdk::{Fault, PatientChange, Receipt, fields::holds, json::forget_blanks, records::Patient};

use crate::{client::GatedCloud, markup::PATIENTS, requests, responses::receipt};

pub fn create(app: &GatedCloud, key: &str, p: &Patient) -> Result<Receipt, Fault> {
    let mut fields = requests::patient(p);
    fields.insert("write_key".into(), key.into());
    app.create(PATIENTS, &fields.into())
}

/// Updates a patient. A repeated update has no effect.
pub fn update(app: &GatedCloud, _: &str, change: &PatientChange) -> Result<Receipt, Fault> {
    app.update(PATIENTS, &change.patient.id, &change.fields(requests::patient).into())
}

/// Returns a receipt if all fields have the wanted values.
pub fn find_update(app: &GatedCloud, _: &str, change: &PatientChange) -> Result<Option<Receipt>, Fault> {
    let wanted = change.fields(requests::patient).into();
    let Some(mut row) = app.one(PATIENTS, &change.patient.id)? else { return Ok(None) };
    forget_blanks(&mut row);
    holds(&row, &wanted).then(|| receipt(&row, true)).transpose()
}
