//! The dialect's requests: paths, and bodies of writes.

use adapter_sdk::{
    http::encode,
    records::{Address, Appointment, Gender, HourKind, Patient, RecurrenceUnit, Weekday, WorkingHour},
    time::instant_text,
};
use serde_json::{Map, Value, json};

pub const ABOUT: &str = "/v1/about";

/// The next records of a list after a revision. Shared records are not asked for by location.
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

/// The fields of a patient; what is not known is not named.
pub fn patient(patient: &Patient) -> Map<String, Value> {
    fields([
        ("first_name", patient.first_name.as_str().into()),
        ("middle_name", optional(&patient.middle_name)),
        ("last_name", patient.last_name.as_str().into()),
        ("born", optional(&patient.date_of_birth)),
        ("gender", patient.gender.map_or(Value::Null, gender)),
        ("email", optional(&patient.email)),
        ("cell", optional(&patient.cell_phone.clone().or_else(|| patient.primary_phone.clone()))),
        ("home", optional(&patient.home_phone)),
        ("work", optional(&patient.work_phone)),
        ("address", patient.address.as_ref().map_or(Value::Null, address)),
        ("guarantor", optional(&patient.guarantor)),
        ("provider", optional(&patient.provider)),
        ("chart", optional(&patient.chart_id)),
        ("language", optional(&patient.preferred_language)),
        ("inactive", patient.inactive.into()),
        ("new", patient.new_patient.into()),
        ("no_texts", patient.unsubscribed_sms.into()),
        ("no_emails", patient.unsubscribed_email.into()),
    ])
}

pub fn with_key(write_key: &str, mut fields: Map<String, Value>) -> Value {
    fields.insert("write_key".to_owned(), write_key.into());
    Value::Object(fields)
}

pub fn new_appointment(write_key: &str, location: &str, a: &Appointment) -> Value {
    object([
        ("write_key", write_key.into()),
        ("location", location.into()),
        ("patient", optional(&a.patient)),
        ("provider", optional(&a.provider)),
        ("operatory", optional(&a.operatory)),
        ("type", optional(&a.appointment_type)),
        ("start", instant_text(a.start).into()),
        ("end", instant_text(a.end).into()),
        ("note", optional(&a.note)),
        ("blocked", a.unavailable.into()),
        ("status", if a.confirmed { "confirmed" } else { "scheduled" }.into()),
        ("patient_confirmed", a.patient_confirmed.into()),
    ])
}

pub fn reschedule(write_key: &str, a: &Appointment) -> Value {
    change(
        write_key,
        a,
        [
            ("start", instant_text(a.start).into()),
            ("end", instant_text(a.end).into()),
            ("operatory", optional(&a.operatory)),
            ("provider", optional(&a.provider)),
            ("type", optional(&a.appointment_type)),
        ],
    )
}

pub fn cancel(write_key: &str, a: &Appointment, reason: Option<&str>) -> Value {
    change(write_key, a, [("status", "cancelled".into()), ("reason", reason.map_or(Value::Null, Value::from))])
}

pub fn confirm(write_key: &str, a: &Appointment) -> Value {
    let status = if a.confirmed { "confirmed".into() } else { Value::Null };
    change(write_key, a, [("status", status), ("patient_confirmed", a.patient_confirmed.into())])
}

pub fn check_in(write_key: &str, a: &Appointment) -> Value {
    let arrived_at = a.checkin_at.map_or(Value::Null, |at| instant_text(at).into());
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

/// Hours as they should be: null takes away what no longer says when they apply.
pub fn hours(write_key: &str, hour: &WorkingHour) -> Value {
    let every = hour.recurrence.as_ref().map(|every| {
        let unit = match every.unit {
            RecurrenceUnit::Day => "day",
            RecurrenceUnit::Week => "week",
            RecurrenceUnit::Month => "month",
        };
        json!({"number": every.number, "unit": unit, "from": every.reference})
    });
    json!({
        "write_key": write_key,
        "provider": hour.provider,
        "operatory": hour.operatory,
        "begin": hour.begin_time,
        "end": hour.end_time,
        "days": hour.days.iter().map(|day| weekday(*day)).collect::<Vec<_>>(),
        "date": hour.specific_date,
        "every": every,
        "block": hour.kind == HourKind::SchedulableBlock,
        "types": hour.appointment_types,
        "label": hour.label,
        "active": hour.active,
    })
}

fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "mon",
        Weekday::Tuesday => "tue",
        Weekday::Wednesday => "wed",
        Weekday::Thursday => "thu",
        Weekday::Friday => "fri",
        Weekday::Saturday => "sat",
        Weekday::Sunday => "sun",
    }
}

/// A row with the contract's fields; what is beyond them has no place in the EHR.
pub fn row(write_key: &str, mut fields: Map<String, Value>) -> Value {
    fields.remove("id");
    fields.remove("extra");
    fields.insert("write_key".into(), write_key.into());
    Value::Object(fields)
}

pub fn disabled(write_key: &str, at: i64) -> Value {
    json!({"write_key": write_key, "disabled_at": at})
}

/// What a deletion says.
pub fn keyed(write_key: &str) -> Value {
    json!({"write_key": write_key})
}

/// An update: it rests on the version the engine knows, where it knows one.
fn change<const N: usize>(write_key: &str, a: &Appointment, fields: [(&str, Value); N]) -> Value {
    let mut all = object(fields);
    all["write_key"] = write_key.into();
    if let Some(version) = a.version.as_ref().and_then(|version| version.parse::<u64>().ok()) {
        all["version"] = version.into();
    }
    all
}

fn address(address: &Address) -> Value {
    object([
        ("street", optional(&address.line1)),
        ("street2", optional(&address.line2)),
        ("city", optional(&address.city)),
        ("state", optional(&address.region)),
        ("zip", optional(&address.postal_code)),
        ("country", optional(&address.country)),
    ])
}

fn gender(gender: Gender) -> Value {
    match gender {
        Gender::Female => json!("F"),
        Gender::Male => json!("M"),
        Gender::Other => json!("X"),
    }
}

fn optional(text: &Option<String>) -> Value {
    text.as_deref().map_or(Value::Null, Value::from)
}

/// An object without the fields that are null: null would take a field away.
fn object<const N: usize>(all: [(&str, Value); N]) -> Value {
    Value::Object(fields(all))
}

fn fields<const N: usize>(all: [(&str, Value); N]) -> Map<String, Value> {
    let some = all.into_iter().filter(|(_, value)| !value.is_null());
    some.map(|(name, value)| (name.to_owned(), value)).collect()
}
