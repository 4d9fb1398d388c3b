//! R4 requests: searches, and the resources of writes; appointments here, others in submodules. Updates change only the
//! intended parts of the resource as read.

pub mod communications;
pub mod forms;
pub mod history;
pub mod insurance;
pub mod money;
pub mod patient;

use adapter_sdk::{
    http::{self, encode},
    records,
    time::instant_text,
};
use serde_json::{Value, json};

use crate::{
    absent::{is_given, stripped as given},
    settings::Settings,
};

pub const MEDIA_TYPE: &str = "application/fhir+json";
/// Maximum duration of an appointment in seconds; limits the search for overlaps.
const LONGEST: i64 = 24 * 3_600;

pub fn read(resource_type: &str, id: &str) -> String {
    format!("/{resource_type}/{}", encode(id))
}

/// Returns a search as path and query.
pub fn search(resource_type: &str, parameters: &[(&str, String)]) -> String {
    format!("/{resource_type}?{}", http::form(parameters))
}

pub fn rooms(site: Option<&str>) -> String {
    let parameters = site.map(|site| ("partof", format!("Location/{site}")));
    search("Location", parameters.as_slice())
}

/// Searches for resources with an actor among these rooms and practitioners (`Location/5`).
pub fn with_actors(resource_type: &str, actors: &[String]) -> String {
    search(resource_type, &[("actor", actors.join(","))])
}

/// Restricts a search to appointments that start within bounds.
pub fn dated(search: &str, from: Option<i64>, until: Option<i64>) -> String {
    let bound = |prefix: &str, at| ("date", format!("{prefix}{}", instant_text(at)));
    let bounds: Vec<_> = from.map(|at| bound("ge", at)).into_iter().chain(until.map(|at| bound("lt", at))).collect();
    let and = if search.ends_with('?') { "" } else { "&" };
    format!("{search}{and}{}", http::form(&bounds))
}

/// Restricts a search to records changed since.
pub fn since(search: &str, at: i64) -> String {
    let and = if search.ends_with('?') { "" } else { "&" };
    format!("{search}{and}_lastUpdated={}", encode(&format!("ge{}", instant_text(at))))
}

pub fn by_key(resource_type: &str, settings: &Settings, write_key: &str) -> String {
    search(resource_type, &[("identifier", settings.token(write_key)), ("_count", "2".into())])
}

/// Returns the value of `If-None-Exist`.
pub fn condition(settings: &Settings, write_key: &str) -> String {
    http::form(&[("identifier", settings.token(write_key))])
}

/// Searches for slots of schedules that start within `from..until`.
pub fn slots(schedules: &[String], from: i64, until: i64) -> String {
    let any = schedules.iter().map(|id| format!("Schedule/{id}")).collect::<Vec<_>>().join(",");
    let bound = |prefix: &str, at| ("start", format!("{prefix}{}", instant_text(at)));
    search("Slot", &[("schedule", any), bound("ge", from), bound("lt", until)])
}

/// Searches for slots that may overlap a time span.
pub fn slots_near(schedules: &[String], start: i64, end: i64) -> String {
    slots(schedules, start - LONGEST, end)
}

/// Searches for appointments of practitioners and rooms (`Location/5`) that may overlap a time span.
pub fn appointments_near(actors: &[String], start: i64, end: i64) -> String {
    dated(&with_actors("Appointment", actors), Some(start - LONGEST), Some(end))
}

/// Searches for resources about a coded concept.
pub fn about(resource_type: &str, system: &str, code: &str) -> String {
    search(resource_type, &[("code", format!("{system}|{code}"))])
}

/// Searches for appointments that name a slot.
pub fn appointments_on(slot: &str) -> String {
    search("Appointment", &[("slot", format!("Slot/{slot}"))])
}

pub fn new_appointment(settings: &Settings, write_key: &str, a: &records::Appointment, slots: &[String]) -> Value {
    let visitor = if a.patient_confirmed { "accepted" } else { "needs-action" };
    given(json!({
        "resourceType": "Appointment",
        "status": "booked",
        "identifier": [key_identifier(settings, write_key)],
        "appointmentType": a.appointment_type.as_ref().map(|id| appointment_type(settings, id)),
        "start": instant_text(a.start),
        "end": instant_text(a.end),
        "minutesDuration": (a.end - a.start) / 60,
        "comment": a.note,
        "slot": references("Slot", slots),
        "participant": [
            a.patient.as_ref().map(|id| participant("Patient", id, visitor)),
            a.provider.as_ref().map(|id| participant("Practitioner", id, "accepted")),
            a.operatory.as_ref().map(|id| participant("Location", id, "accepted")),
        ],
    }))
}

/// Sets time and place.
pub fn reschedule(settings: &Settings, moved: &mut Value, a: &records::Appointment, slots: &[String]) {
    moved["start"] = instant_text(a.start).into();
    moved["end"] = instant_text(a.end).into();
    moved["minutesDuration"] = Value::from((a.end - a.start) / 60);
    if let Some(id) = &a.appointment_type {
        moved["appointmentType"] = appointment_type(settings, id);
    }
    for (resource_type, id) in [("Practitioner", &a.provider), ("Location", &a.operatory)] {
        if let Some(id) = id {
            replace_participant(moved, resource_type, id);
        }
    }
    set(moved, "slot", references("Slot", slots));
}

pub fn cancel(off: &mut Value, reason: Option<&str>) {
    off["status"] = "cancelled".into();
    if let Some(reason) = reason.filter(|text| !text.trim().is_empty()) {
        off["cancelationReason"] = json!({"text": reason});
    }
}

/// Confirms for the practice, and for the patient if confirmed by the patient.
pub fn confirm(confirmed: &mut Value, a: &records::Appointment) {
    if a.confirmed && matches!(confirmed["status"].as_str(), Some("proposed" | "pending" | "waitlist")) {
        confirmed["status"] = "booked".into();
    }
    if a.patient_confirmed {
        visitor(confirmed, |visitor| visitor["status"] = "accepted".into());
    }
}

/// Sets the arrival of the patient.
pub fn check_in(arrived: &mut Value, at: i64) {
    arrived["status"] = "checked-in".into();
    visitor(arrived, |visitor| {
        visitor["status"] = "accepted".into();
        visitor["period"]["start"] = instant_text(at).into();
    });
}

pub fn note(noted: &mut Value, text: Option<&str>) {
    // Pulls read the description as the note if there is no comment.
    if text.is_none_or(str::is_empty) && noted["comment"].is_null() {
        set(noted, "description", Value::Null);
    }
    set(noted, "comment", json!(text));
}

fn visitor(appointment: &mut Value, change: impl Fn(&mut Value)) {
    let participants = appointment["participant"].as_array_mut();
    participants.into_iter().flatten().filter(|p| is_of_type(&p["actor"], "Patient")).for_each(change);
}

/// Returns the slot marked busy with our write key.
pub fn claimed(settings: &Settings, write_key: &str, slot: &Value) -> Value {
    let mut slot = slot.clone();
    without_keys(settings, &mut slot, |_| true);
    push(&mut slot, "identifier", key_identifier(settings, write_key));
    slot["status"] = "busy".into();
    slot
}

/// Returns the slot without our keys, free again.
pub fn released(settings: &Settings, slot: &Value) -> Value {
    let mut slot = slot.clone();
    without_keys(settings, &mut slot, |_| true);
    slot["status"] = "free".into();
    slot
}

/// Returns the resource with the key of the last update replaced by this one's; the key of the creation stays.
pub fn updated(settings: &Settings, write_key: &str, read: &Value) -> Value {
    let mut resource = read.clone();
    without_keys(settings, &mut resource, |identifier| identifier["use"] == "secondary");
    let mut key = key_identifier(settings, write_key);
    key["use"] = "secondary".into();
    push(&mut resource, "identifier", key);
    resource
}

fn without_keys(settings: &Settings, resource: &mut Value, which: impl Fn(&Value) -> bool) {
    without(resource, "identifier", |i| i["system"] == settings.key_system.as_str() && which(i));
}

fn replace_participant(appointment: &mut Value, resource_type: &str, id: &str) {
    // A role represents its practitioner.
    let role = (resource_type == "Practitioner").then_some("PractitionerRole");
    let replaced = |actor: &Value| is_of_type(actor, resource_type) || role.is_some_and(|role| is_of_type(actor, role));
    without(appointment, "participant", |participant| replaced(&participant["actor"]));
    push(appointment, "participant", participant(resource_type, id, "accepted"));
}

fn is_of_type(reference: &Value, resource_type: &str) -> bool {
    let path = reference["reference"].as_str().unwrap_or_default();
    format!("/{path}").contains(&format!("/{resource_type}/"))
}

fn participant(resource_type: &str, id: &str, status: &str) -> Value {
    json!({"actor": reference(resource_type, id), "status": status})
}

fn appointment_type(settings: &Settings, id: &str) -> Value {
    let configured = settings.types.iter().find(|kind| kind.id == id);
    let system = configured.and_then(|kind| kind.system.as_deref());
    concept(system, id, configured.map(|kind| kind.name.as_str()))
}

pub fn concept(system: Option<&str>, code: &str, display: Option<&str>) -> Value {
    given(json!({"coding": [{"system": system, "code": code, "display": display}]}))
}

fn key_identifier(settings: &Settings, write_key: &str) -> Value {
    json!({"system": settings.key_system, "value": write_key})
}

fn reference(resource_type: &str, id: &str) -> Value {
    json!({"reference": format!("{resource_type}/{id}")})
}

fn references<'a>(resource_type: &str, ids: impl IntoIterator<Item = &'a String>) -> Value {
    ids.into_iter().map(|id| reference(resource_type, id)).collect()
}

fn address(a: &records::Address) -> Value {
    given(json!({
        "use": "home",
        "line": [a.line1, a.line2],
        "city": a.city,
        "state": a.region,
        "postalCode": a.postal_code,
        "country": a.country,
    }))
}

/// Appends an item to a list, which may not exist.
pub fn push(resource: &mut Value, name: &str, item: Value) {
    match resource[name].as_array_mut() {
        Some(items) => items.push(item),
        None => resource[name] = json!([item]),
    }
}

/// Removes items from a list, and the list itself if it becomes empty.
fn without(resource: &mut Value, field: &str, mut which: impl FnMut(&Value) -> bool) {
    let Some(items) = resource.get_mut(field).and_then(Value::as_array_mut) else { return };
    items.retain(|item| !which(item));
    if items.is_empty() {
        set(resource, field, Value::Null);
    }
}

/// Sets a field, or removes it if the value is empty.
fn set(resource: &mut Value, name: &str, value: Value) {
    match (resource, given(value)) {
        (Value::Object(fields), value) if !is_given(&value) => drop(fields.remove(name)),
        (other, value) => other[name] = value,
    }
}
