//! Bodies of changes, with our field names.

use adapter_sdk::{
    AppointmentChange,
    fields::Names,
    json::{forget_blanks, text},
    records::{Appointment, Patient},
    time::instant_text,
};
use serde_json::{Map, Value, json};

use crate::markup::PATIENTS;

/// Returns the complete form; unknown fields are empty.
pub fn patient(p: &Patient) -> Map<String, Value> {
    let mut sent = p.clone();
    sent.cell_phone = p.mobile().cloned();
    if let Some(address) = &mut sent.address {
        address.line1 = Some(address.street(", "));
    }
    // Our names are the same in all releases.
    let mut form = PATIENTS.names[0].form(&json!(sent));
    form.retain(|name, _| !["id", "write_key", "version"].contains(&name.as_str()));
    form.values_mut().for_each(forget_blanks);
    form
}

pub fn appointment(key: &str, a: &Appointment) -> Value {
    let mut all = place(a);
    for (name, value) in Names("patient appointment_type note unavailable patient_confirmed").form(&json!(a)) {
        all[name] = value;
    }
    all["status"] = if a.confirmed { "confirmed" } else { "scheduled" }.into();
    all["write_key"] = key.into();
    forget_blanks(&mut all);
    all
}

/// Returns time and place, and the expected revision if the engine knows one.
pub fn moved(AppointmentChange { appointment: a, .. }: &AppointmentChange) -> Value {
    let mut all = place(a);
    if let Some(revision) = a.version.as_ref().and_then(|version| version.parse::<u64>().ok()) {
        all["version"] = revision.into();
    }
    all
}

/// Returns the confirmation. `status`: `None` leaves it unchanged.
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
    let mut all = Names("operatory provider appointment_type").ours(&json!(a));
    (all["start"], all["end"]) = (instant_text(a.start).into(), instant_text(a.end).into());
    forget_blanks(&mut all);
    all
}
