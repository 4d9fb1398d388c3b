//! Calls that read and write patients.

use serde_json::{Value, json};

use super::{
    form::{self, Form},
    result::CallResult,
};
use crate::{CloudPatient, FormRefusal, application::Application, markup::PATIENT, table::RevisedRow};

pub fn show(application: &Application, id: &str) -> CallResult {
    let row = application.practice.patients.row(id).ok_or_else(|| FormRefusal::not_found("patient"))?;
    Ok(json!({"item": application.markup.render(PATIENT, &object(row))}))
}

pub fn create(application: &mut Application, sent: &Value) -> CallResult {
    let form = application.markup.read(PATIENT, sent);
    let id = application.practice.add_patient(filled(CloudPatient::default(), &form)?)?;
    show(application, &id)
}

pub fn change(application: &mut Application, id: &str, sent: &Value) -> CallResult {
    let held = application.practice.patient(id).cloned().ok_or_else(|| FormRefusal::not_found("patient"))?;
    let form = application.markup.read(PATIENT, sent);
    application.practice.save_patient(filled(held, &form)?)?;
    show(application, id)
}

pub fn object(row: &RevisedRow<CloudPatient>) -> Value {
    let p = &row.record;
    json!({
        "id": p.id, "firstName": p.first_name, "middleName": p.middle_name, "lastName": p.last_name, "born": p.born,
        "sex": p.sex, "email": p.email, "mobile": p.mobile, "homePhone": p.home_phone, "workPhone": p.work_phone,
        "street": p.street, "city": p.city, "state": p.state, "zip": p.zip, "country": p.country,
        "language": p.language, "provider": p.provider, "chart": p.chart, "inactive": p.inactive,
        "reference": p.reference, "revision": row.revision,
    })
}

/// Returns whether name, chart number or a telephone number contains the search text.
pub fn fits(p: &CloudPatient, letters: &str) -> bool {
    let wanted = letters.trim().to_lowercase();
    let held = [Some(p.name()), p.chart.clone(), p.mobile.clone(), p.home_phone.clone()];
    held.into_iter().flatten().any(|text| text.to_lowercase().contains(&wanted))
}

fn filled(mut p: CloudPatient, form: &Form) -> Result<CloudPatient, FormRefusal> {
    form::needed(form, "firstName", &mut p.first_name)?;
    form::needed(form, "lastName", &mut p.last_name)?;
    for (field, held) in [
        ("middleName", &mut p.middle_name),
        ("born", &mut p.born),
        ("sex", &mut p.sex),
        ("email", &mut p.email),
        ("mobile", &mut p.mobile),
        ("homePhone", &mut p.home_phone),
        ("workPhone", &mut p.work_phone),
        ("street", &mut p.street),
        ("city", &mut p.city),
        ("state", &mut p.state),
        ("zip", &mut p.zip),
        ("country", &mut p.country),
        ("language", &mut p.language),
        ("provider", &mut p.provider),
        ("chart", &mut p.chart),
        ("reference", &mut p.reference),
    ] {
        form::text(form, field, held)?;
    }
    form::flag(form, "inactive", &mut p.inactive)?;
    Ok(p)
}
