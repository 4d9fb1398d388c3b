//! R4 requests: searches, and the resources of writes. Updates change the resource as it was read and nothing else in it.

use adapter_sdk::{http::encode, records};
use serde_json::{Map, Value, json};

use crate::{settings::Settings, time::instant_text};

pub const MEDIA_TYPE: &str = "application/fhir+json";
const SSN: &str = "http://hl7.org/fhir/sid/us-ssn";
/// No appointment is longer, in seconds: bounds the search for what overlaps.
const LONGEST: i64 = 24 * 3_600;

pub fn read(resource_type: &str, id: &str) -> String {
    format!("/{resource_type}/{}", encode(id))
}

/// A search: a path with its query.
pub fn search(resource_type: &str, parameters: &[(&str, String)]) -> String {
    let pairs: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    format!("/{resource_type}?{}", pairs.join("&"))
}

pub fn rooms(site: Option<&str>) -> String {
    let parameters = site.map(|site| ("partof", format!("Location/{site}")));
    search("Location", parameters.as_slice())
}

/// Of resources with an actor: those of the rooms. None: all.
pub fn in_rooms(resource_type: &str, rooms: Option<&[String]>) -> String {
    let any = |ids: &[String]| ids.iter().map(|id| format!("Location/{id}")).collect::<Vec<_>>().join(",");
    let parameters = rooms.map(|ids| ("actor", any(ids)));
    search(resource_type, parameters.as_slice())
}

/// The records that changed since.
pub fn since(search: &str, at: i64) -> String {
    let and = if search.ends_with('?') { "" } else { "&" };
    format!("{search}{and}_lastUpdated={}", encode(&format!("ge{}", instant_text(at))))
}

pub fn by_key(resource_type: &str, settings: &Settings, write_key: &str) -> String {
    search(resource_type, &[("identifier", settings.token(write_key)), ("_count", "2".into())])
}

/// For `If-None-Exist`.
pub fn condition(settings: &Settings, write_key: &str) -> String {
    format!("identifier={}", encode(&settings.token(write_key)))
}

/// The slots of schedules that start from `from` on and before `until`.
pub fn slots(schedules: &[String], from: i64, until: i64) -> String {
    let any = schedules.iter().map(|id| format!("Schedule/{id}")).collect::<Vec<_>>().join(",");
    let bound = |prefix: &str, at| ("start", format!("{prefix}{}", instant_text(at)));
    search("Slot", &[("schedule", any), bound("ge", from), bound("lt", until)])
}

/// The slots that may overlap a stretch of time.
pub fn slots_near(schedules: &[String], start: i64, end: i64) -> String {
    slots(schedules, start - LONGEST, end)
}

/// The appointments in a room that may overlap a stretch of time.
pub fn appointments_near(room: &str, start: i64, end: i64) -> String {
    let bound = |prefix: &str, at| ("date", format!("{prefix}{}", instant_text(at)));
    search("Appointment", &[("actor", format!("Location/{room}")), bound("ge", start - LONGEST), bound("lt", end)])
}

/// The appointments that name a slot.
pub fn appointments_on(slot: &str) -> String {
    search("Appointment", &[("slot", format!("Slot/{slot}"))])
}

pub fn patient(settings: &Settings, write_key: &str, p: &records::Patient) -> Value {
    let given: Vec<&str> = [Some(p.first_name.as_str()), p.middle_name.as_deref()].into_iter().flatten().collect();
    let given = given.into_iter().filter(|name| !name.is_empty()).map(Value::from);
    let phone = |usage: &str, number: &Option<String>| {
        number.as_ref().map(|value| json!({"system": "phone", "use": usage, "value": value}))
    };
    let telecom = [
        phone("mobile", &p.cell_phone),
        phone("home", &p.home_phone),
        phone("work", &p.work_phone),
        p.primary_phone.as_ref().map(|value| json!({"system": "phone", "value": value})),
        p.email.as_ref().map(|value| json!({"system": "email", "value": value})),
    ];
    let ssn = p.ssn.as_ref().map(|value| json!({"system": SSN, "value": value}));
    let language = p
        .preferred_language
        .as_ref()
        .map(|code| json!({"language": {"coding": [{"system": "urn:ietf:bcp:47", "code": code}]}, "preferred": true}));
    object([
        ("resourceType", "Patient".into()),
        ("active", Value::from(!p.inactive)),
        ("identifier", list([Some(key_identifier(settings, write_key, false)), ssn])),
        (
            "name",
            json!([object([
                ("use", "official".into()),
                ("family", p.last_name.as_str().into()),
                ("given", given.collect())
            ])]),
        ),
        ("telecom", list(telecom)),
        ("gender", p.gender.as_deref().map_or(Value::Null, gender)),
        ("birthDate", optional(&p.date_of_birth)),
        ("address", list([p.address.as_ref().map(address)])),
        ("communication", list([language])),
        (
            "generalPractitioner",
            list([p.provider.as_ref().map(|id| json!({"reference": format!("Practitioner/{id}")}))]),
        ),
    ])
}

/// What a Patient resource has no place for in this first cut, by name: said in the log, since it is lost.
pub fn unsupported(p: &records::Patient) -> Vec<&'static str> {
    let fields = [
        ("work-phone-extension", p.work_phone_extension.is_some()),
        ("guarantor", p.guarantor.is_some()),
        ("billing-type", p.billing_type.is_some()),
        ("chart-id", p.chart_id.is_some()),
        ("premedication", p.premedication.is_some()),
        ("non-patient", p.non_patient),
        ("unsubscribed-sms", p.unsubscribed_sms),
        ("unsubscribed-email", p.unsubscribed_email),
        ("extra", !p.extra.is_empty()),
    ];
    fields.into_iter().filter_map(|(name, set)| set.then_some(name)).collect()
}

pub fn new_appointment(settings: &Settings, write_key: &str, a: &records::Appointment, slots: &[String]) -> Value {
    let patient = a
        .patient
        .as_ref()
        .map(|id| participant("Patient", id, if a.patient_confirmed { "accepted" } else { "needs-action" }));
    let provider = a.provider.as_ref().map(|id| participant("Practitioner", id, "accepted"));
    let room = a.operatory.as_ref().map(|id| participant("Location", id, "accepted"));
    object([
        ("resourceType", "Appointment".into()),
        ("status", "booked".into()),
        ("identifier", json!([key_identifier(settings, write_key, false)])),
        ("appointmentType", a.appointment_type.as_ref().map_or(Value::Null, |id| appointment_type(settings, id))),
        ("start", instant_text(a.start).into()),
        ("end", instant_text(a.end).into()),
        ("minutesDuration", Value::from((a.end - a.start) / 60)),
        ("comment", optional(&a.note)),
        ("slot", references(slots)),
        ("participant", list([patient, provider, room])),
    ])
}

/// The appointment as it was read, at its new time and place.
pub fn reschedule(
    settings: &Settings,
    write_key: &str,
    read: &Value,
    a: &records::Appointment,
    slots: &[String],
) -> Value {
    let mut moved = updated(settings, write_key, read);
    moved["start"] = instant_text(a.start).into();
    moved["end"] = instant_text(a.end).into();
    moved["minutesDuration"] = Value::from((a.end - a.start) / 60);
    if let Some(id) = &a.appointment_type {
        moved["appointmentType"] = appointment_type(settings, id);
    }
    for (resource_type, id) in [("Practitioner", &a.provider), ("Location", &a.operatory)] {
        if let Some(id) = id {
            replace_participant(&mut moved, resource_type, id);
        }
    }
    set(&mut moved, "slot", references(slots));
    moved
}

/// The appointment as it was read, cancelled.
pub fn cancel(settings: &Settings, write_key: &str, read: &Value, reason: Option<&str>) -> Value {
    let mut off = updated(settings, write_key, read);
    off["status"] = "cancelled".into();
    if let Some(reason) = reason.filter(|text| !text.trim().is_empty()) {
        off["cancelationReason"] = json!({"text": reason});
    }
    off
}

/// The slot as it was read, taken by a write of ours.
pub fn claimed(settings: &Settings, write_key: &str, slot: &Value) -> Value {
    let mut slot = slot.clone();
    without_keys(settings, &mut slot, |_| true);
    push(&mut slot, "identifier", key_identifier(settings, write_key, false));
    slot["status"] = "busy".into();
    slot
}

/// The slot as it was read, free again.
pub fn released(settings: &Settings, slot: &Value) -> Value {
    let mut slot = slot.clone();
    without_keys(settings, &mut slot, |_| true);
    slot["status"] = "free".into();
    slot
}

/// Exchanges the key of the last update for this one's; the key of the creation stays.
fn updated(settings: &Settings, write_key: &str, read: &Value) -> Value {
    let mut resource = read.clone();
    without_keys(settings, &mut resource, |identifier| identifier["use"] == "secondary");
    push(&mut resource, "identifier", key_identifier(settings, write_key, true));
    resource
}

fn without_keys(settings: &Settings, resource: &mut Value, which: impl Fn(&Value) -> bool) {
    if let Some(identifiers) = resource["identifier"].as_array_mut() {
        identifiers.retain(|i| i["system"] != settings.key_system.as_str() || !which(i));
        if identifiers.is_empty() {
            set(resource, "identifier", Value::Null);
        }
    }
}

fn replace_participant(appointment: &mut Value, resource_type: &str, id: &str) {
    let is_of_type = |p: &Value| {
        let reference = p["actor"]["reference"].as_str().unwrap_or_default();
        reference.starts_with(&format!("{resource_type}/")) || reference.contains(&format!("/{resource_type}/"))
    };
    if let Some(participants) = appointment["participant"].as_array_mut() {
        participants.retain(|p| !is_of_type(p));
    }
    push(appointment, "participant", participant(resource_type, id, "accepted"));
}

fn participant(resource_type: &str, id: &str, status: &str) -> Value {
    json!({"actor": {"reference": format!("{resource_type}/{id}")}, "status": status})
}

fn appointment_type(settings: &Settings, id: &str) -> Value {
    let configured = settings.types.iter().find(|kind| kind.id == id);
    let system = configured.and_then(|kind| kind.system.as_deref()).map_or(Value::Null, Value::from);
    let name = configured.map_or(Value::Null, |kind| kind.name.as_str().into());
    json!({"coding": [object([("system", system), ("code", id.into()), ("display", name)])]})
}

fn key_identifier(settings: &Settings, write_key: &str, of_update: bool) -> Value {
    let usage = if of_update { "secondary".into() } else { Value::Null };
    object([("use", usage), ("system", settings.key_system.as_str().into()), ("value", write_key.into())])
}

fn references(ids: &[String]) -> Value {
    list(ids.iter().map(|id| Some(json!({"reference": format!("Slot/{id}")}))))
}

fn address(a: &records::Address) -> Value {
    let line: Vec<Value> = [&a.line1, &a.line2].into_iter().flatten().map(|line| line.as_str().into()).collect();
    object([
        ("use", "home".into()),
        ("line", if line.is_empty() { Value::Null } else { line.into() }),
        ("city", optional(&a.city)),
        ("state", optional(&a.region)),
        ("postalCode", optional(&a.postal_code)),
        ("country", optional(&a.country)),
    ])
}

fn gender(name: &str) -> Value {
    match name {
        "Male" => "male".into(),
        "Female" => "female".into(),
        "Other" => "other".into(),
        _ => Value::Null,
    }
}

fn optional(text: &Option<String>) -> Value {
    text.as_deref().filter(|text| !text.is_empty()).map_or(Value::Null, Value::from)
}

/// Null instead of an empty list: FHIR knows none.
fn list(items: impl IntoIterator<Item = Option<Value>>) -> Value {
    let items: Vec<Value> = items.into_iter().flatten().collect();
    if items.is_empty() { Value::Null } else { items.into() }
}

fn push(resource: &mut Value, name: &str, item: Value) {
    match resource[name].as_array_mut() {
        Some(items) => items.push(item),
        None => resource[name] = json!([item]),
    }
}

/// Sets a field, or takes it away: FHIR knows no null.
fn set(resource: &mut Value, name: &str, value: Value) {
    match resource {
        Value::Object(fields) if value.is_null() => {
            fields.remove(name);
        }
        other => other[name] = value,
    }
}

/// An object without the fields that are null or empty.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let some = fields.into_iter().filter(|(_, value)| {
        !value.is_null() && value.as_str() != Some("") && !value.as_array().is_some_and(Vec::is_empty)
    });
    Value::Object(some.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}
