//! What changes say, under own names.

use adapter_sdk::{
    AppointmentChange,
    json::text,
    records::{Appointment, Patient},
    time::instant_text,
};
use serde_json::{Map, Value, json};

use crate::markup::{Markup, PATIENTS};

/// The whole form: what is not known is emptied.
pub fn patient(p: &Patient) -> Map<String, Value> {
    let mut said = p.clone();
    said.cell_phone = said.cell_phone.or(said.primary_phone.take());
    if let Some(address) = &mut said.address {
        let street: Vec<String> = [&address.line1, &address.line2].into_iter().flatten().cloned().collect();
        address.line1 = Some(street.join(", "));
    }
    // All releases have the same own names.
    let mut form = Markup::V3.names(PATIENTS.names).form(&json!(said));
    form.retain(|name, _| !["id", "write_key", "version"].contains(&name.as_str()));
    form.values_mut().for_each(keep);
    form
}

/// As the application keeps it: what is blank is nothing.
fn keep(value: &mut Value) {
    match value {
        Value::String(text) if text.trim().is_empty() => *value = Value::Null,
        Value::Object(fields) => fields.values_mut().for_each(keep),
        _ => (),
    }
}

pub fn appointment(key: &str, a: &Appointment) -> Value {
    let mut all = place(a);
    (all["patient"], all["appointment_type"]) = (text(&a.patient), text(&a.appointment_type));
    (all["note"], all["unavailable"]) = (text(&a.note), a.unavailable.into());
    all["status"] = if a.confirmed { "confirmed" } else { "scheduled" }.into();
    (all["patient_confirmed"], all["write_key"]) = (a.patient_confirmed.into(), key.into());
    all
}

/// Where and when. It rests on the revision the engine knows, where it knows one.
pub fn moved(change: &AppointmentChange) -> Value {
    let a = &change.appointment;
    let mut all = place(a);
    if let Some(revision) = a.version.as_ref().and_then(|version| version.parse::<u64>().ok()) {
        all["version"] = revision.into();
    }
    if a.appointment_type.is_some() {
        all["appointment_type"] = text(&a.appointment_type);
    }
    all
}

/// `status`: none leaves it as it is.
pub fn confirmed(a: &Appointment, status: Option<&str>) -> Value {
    let mut all = json!({"patient_confirmed": a.patient_confirmed});
    if let Some(status) = status {
        all["status"] = status.into();
    }
    all
}

pub fn arrived(at: i64) -> Value {
    json!({"status": "arrived", "checkin_at": instant_text(at)})
}

pub fn cancelled(reason: &Option<String>) -> Value {
    json!({"status": "cancelled", "cancel_reason": text(reason)})
}

pub fn noted(change: &AppointmentChange) -> Value {
    json!({"note": text(&change.appointment.note)})
}

fn place(a: &Appointment) -> Value {
    let mut all = json!({"start": instant_text(a.start), "end": instant_text(a.end)});
    for (name, id) in [("operatory", &a.operatory), ("provider", &a.provider)] {
        if id.is_some() {
            all[name] = text(id);
        }
    }
    all
}
