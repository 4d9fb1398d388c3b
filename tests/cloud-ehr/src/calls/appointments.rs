//! Calls that read and write appointments.

use serde_json::{Value, json};

use super::{
    form::{self, Form},
    result::CallResult,
};
use crate::{
    AppointmentStatus, CloudAppointment, CloudPractice, FormRefusal, application::Application, markup::APPOINTMENT,
    table::RevisedRow,
};

pub fn show(application: &Application, id: &str) -> CallResult {
    let row = application.practice.appointments.row(id).ok_or_else(|| FormRefusal::not_found("appointment"))?;
    Ok(json!({"item": application.markup.render(APPOINTMENT, &object(&application.practice, row))}))
}

pub fn create(application: &mut Application, sent: &Value) -> CallResult {
    let form = application.markup.read(APPOINTMENT, sent);
    let (start, end) = (form::instant(&form, "start")?, form::instant(&form, "end")?);
    if start.is_none() || end.is_none() {
        return Err(FormRefusal::missing("begin and end"));
    }
    let id = application.practice.book(filled(CloudAppointment::default(), &form)?)?;
    show(application, &id)
}

/// Changes an appointment. If `revision` is given, it must be the current one.
pub fn change(application: &mut Application, id: &str, sent: &Value) -> CallResult {
    let held = application.practice.appointment(id).cloned().ok_or_else(|| FormRefusal::not_found("appointment"))?;
    let form = application.markup.read(APPOINTMENT, sent);
    let known = form.get("revision").and_then(Value::as_u64);
    application.practice.change(filled(held, &form)?, known)?;
    show(application, id)
}

pub fn object(practice: &CloudPractice, row: &RevisedRow<CloudAppointment>) -> Value {
    let a = &row.record;
    let at = |at: i64| practice.local(at).to_rfc3339();
    json!({
        "id": a.id, "patient": a.patient, "provider": a.provider, "operatory": a.operatory, "kind": a.kind,
        "start": at(a.start), "end": at(a.end), "note": a.note, "status": a.status.word(),
        "confirmedByPatient": a.confirmed_by_patient, "arrivedAt": a.arrived_at.map(at), "leftAt": a.left_at.map(at),
        "cancelReason": a.cancel_reason, "block": a.block, "reference": a.reference, "revision": row.revision,
    })
}

fn filled(mut a: CloudAppointment, form: &Form) -> Result<CloudAppointment, FormRefusal> {
    form::needed(form, "operatory", &mut a.operatory)?;
    for (field, held) in [
        ("patient", &mut a.patient),
        ("provider", &mut a.provider),
        ("kind", &mut a.kind),
        ("note", &mut a.note),
        ("cancelReason", &mut a.cancel_reason),
        ("reference", &mut a.reference),
    ] {
        form::text(form, field, held)?;
    }
    form::flag(form, "confirmedByPatient", &mut a.confirmed_by_patient)?;
    form::flag(form, "block", &mut a.block)?;
    a.start = form::instant(form, "start")?.unwrap_or(a.start);
    a.end = form::instant(form, "end")?.unwrap_or(a.end);
    a.arrived_at = form::instant(form, "arrivedAt")?.or(a.arrived_at);
    a.left_at = form::instant(form, "leftAt")?.or(a.left_at);
    match form.get("status") {
        None | Some(Value::Null) => (),
        Some(word) => {
            let status = word.as_str().and_then(AppointmentStatus::from_word);
            a.status = status.ok_or_else(|| FormRefusal::wrong("status"))?;
        }
    }
    Ok(a)
}
