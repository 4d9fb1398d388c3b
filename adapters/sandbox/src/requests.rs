//! The EHR's requests: paths, and bodies of writes.

use adapter_sdk::{
    http::encode,
    json::object,
    records::{Address, Appointment, Gender, HourKind, Patient, WorkingHour},
    time::instant_text,
    vocabulary::Vocabulary,
};
use serde_json::{Map, Value, json};

use crate::responses::PATIENT;

pub const GENDERS: Vocabulary<Gender> = Vocabulary(&[("F", Gender::Female), ("M", Gender::Male), ("X", Gender::Other)]);

pub const ABOUT: &str = "/v1/about";

/// Returns the path of a list after a revision. Shared records have no location.
pub fn list(name: &str, location: Option<&str>, since: u64, limit: u32) -> String {
    let location = location.map(|key| format!("location={}&", encode(key))).unwrap_or_default();
    format!("/v1/{name}?{location}since={since}&limit={}", limit.clamp(1, 1_000))
}

pub fn written(write_key: &str) -> String {
    format!("/v1/writes/{}", encode(write_key))
}

pub fn record(name: &str, id: &str) -> String {
    format!("/v1/{name}/{}", encode(id))
}

/// Returns the fields of a patient without unknown ones.
pub fn patient(patient: &Patient) -> Map<String, Value> {
    let Value::Object(mut fields) = PATIENT.theirs(&json!(patient)) else { return Map::new() };
    fields.remove("id");
    fields.insert("gender".to_owned(), json!(patient.gender.and_then(|gender| GENDERS.word(gender))));
    fields.insert("cell".to_owned(), json!(patient.mobile()));
    fields.insert("address".to_owned(), json!(patient.address.as_ref().map(address)));
    fields.retain(|_, value| !value.is_null());
    fields
}

pub fn with_key(write_key: &str, mut fields: Map<String, Value>) -> Value {
    fields.insert("write_key".to_owned(), write_key.into());
    Value::Object(fields)
}

pub fn new_appointment(write_key: &str, location: &str, a: &Appointment) -> Value {
    Value::Object(object([
        ("write_key", write_key.into()),
        ("location", location.into()),
        ("patient", json!(a.patient)),
        ("provider", json!(a.provider)),
        ("operatory", json!(a.operatory)),
        ("type", json!(a.appointment_type)),
        ("start", instant_text(a.start).into()),
        ("end", instant_text(a.end).into()),
        ("note", json!(a.note)),
        ("blocked", a.unavailable.into()),
        ("status", if a.confirmed { "confirmed" } else { "scheduled" }.into()),
        ("patient_confirmed", a.patient_confirmed.into()),
    ]))
}

pub fn reschedule(write_key: &str, a: &Appointment) -> Value {
    change(
        write_key,
        a,
        [
            ("start", instant_text(a.start).into()),
            ("end", instant_text(a.end).into()),
            ("operatory", json!(a.operatory)),
            ("provider", json!(a.provider)),
            ("type", json!(a.appointment_type)),
        ],
    )
}

pub fn cancel(write_key: &str, a: &Appointment, reason: Option<&str>) -> Value {
    change(write_key, a, [("status", "cancelled".into()), ("reason", json!(reason))])
}

pub fn confirm(write_key: &str, a: &Appointment) -> Value {
    change(
        write_key,
        a,
        [("status", json!(a.confirmed.then_some("confirmed"))), ("patient_confirmed", a.patient_confirmed.into())],
    )
}

pub fn check_in(write_key: &str, a: &Appointment) -> Value {
    let arrived_at = json!(a.checkin_at.map(instant_text));
    change(write_key, a, [("status", "arrived".into()), ("arrived_at", arrived_at)])
}

pub fn note(write_key: &str, a: &Appointment) -> Value {
    change(write_key, a, [("note", a.note.as_deref().unwrap_or_default().into())])
}

pub fn new_hours(write_key: &str, location: &str, hour: &WorkingHour) -> Value {
    let mut all = hours(write_key, hour);
    all["location"] = location.into();
    all
}

/// Returns all fields of hours; null removes the fields that no longer apply.
pub fn hours(write_key: &str, hour: &WorkingHour) -> Value {
    let every = hour
        .recurrence
        .as_ref()
        .map(|every| json!({"number": every.number, "unit": every.unit.word(), "from": every.reference}));
    json!({
        "write_key": write_key,
        "provider": hour.provider,
        "operatory": hour.operatory,
        "begin": hour.begin_time,
        "end": hour.end_time,
        "days": hour.days.iter().map(|day| day.word()).collect::<Vec<_>>(),
        "date": hour.specific_date,
        "every": every,
        "block": hour.kind == HourKind::SchedulableBlock,
        "types": hour.appointment_types,
        "label": hour.label,
        "active": hour.active,
    })
}

/// Returns a row with the contract's fields, except `extra`, which the EHR cannot store.
pub fn row(write_key: &str, mut fields: Map<String, Value>) -> Value {
    fields.remove("id");
    fields.remove("extra");
    fields.insert("write_key".into(), write_key.into());
    Value::Object(fields)
}

pub fn disabled(write_key: &str, at: i64) -> Value {
    json!({"write_key": write_key, "disabled_at": at})
}

/// Returns the body of a deletion.
pub fn keyed(write_key: &str) -> Value {
    json!({"write_key": write_key})
}

/// Returns the body of an update, with the expected version if the engine knows one.
fn change<const N: usize>(write_key: &str, a: &Appointment, fields: [(&str, Value); N]) -> Value {
    let mut all = Value::Object(object(fields));
    all["write_key"] = write_key.into();
    if let Some(version) = a.version.as_ref().and_then(|version| version.parse::<u64>().ok()) {
        all["version"] = version.into();
    }
    all
}

fn address(address: &Address) -> Map<String, Value> {
    object([
        ("street", json!(address.line1)),
        ("street2", json!(address.line2)),
        ("city", json!(address.city)),
        ("state", json!(address.region)),
        ("zip", json!(address.postal_code)),
        ("country", json!(address.country)),
    ])
}
