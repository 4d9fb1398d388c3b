//! The calls: paths, headers, and what changes say, under own names.

use adapter_sdk::{
    http::{Header, Method, Request, encode},
    records::{Appointment, Patient},
    streams::Ask,
    time::instant_text,
};
use serde_json::{Map, Value, json};

use crate::markup::{Kind, Markup, PATIENTS};

pub const SESSION: &str = "/api/session";
/// Rows of a page the application shows at most.
const MOST: u32 = 200;

/// What is on the page that sends a change.
#[derive(Clone, Debug)]
pub struct Form {
    pub markup: Markup,
    pub csrf: String,
}

pub fn read(path: &str) -> Request {
    let headers = vec![Header::new("accept", "application/json")];
    Request { method: Method::Get, path: path.into(), headers, body: None }
}

pub fn change(method: Method, path: &str, form: &Form, body: &Value) -> Request {
    let headers = [
        ("accept", "application/json"),
        ("content-type", "application/json"),
        ("x-csrf-token", &form.csrf),
        ("x-markup", form.markup.word()),
    ];
    let headers = headers.map(|(name, value)| Header::new(name, value)).to_vec();
    Request { method, path: path.into(), headers, body: Some(body.to_string().into_bytes()) }
}

pub fn changes(kind: Kind, asked: &Ask) -> String {
    let since = asked.at.map(|mark| format!("&since={}", encode(mark))).unwrap_or_default();
    format!("/api/changes?of={}{since}&limit={}", kind.name, asked.limit.min(MOST))
}

pub fn by_reference(kind: Kind, key: &str) -> String {
    format!("/api/{}?reference={}", kind.name, encode(key))
}

pub fn record(kind: Kind, id: &str) -> String {
    format!("/api/{}/{}", kind.name, encode(id))
}

/// The whole form: what is not known is emptied.
pub fn patient(p: &Patient) -> Map<String, Value> {
    let mut said = p.clone();
    said.cell_phone = said.cell_phone.or(said.primary_phone.take());
    if let Some(address) = &mut said.address {
        let street: Vec<String> = [&address.line1, &address.line2].into_iter().flatten().cloned().collect();
        address.line1 = Some(street.join(", "));
    }
    let said = json!(said);
    let fields =
        PATIENTS.names.iter().map(|(name, ..)| *name).filter(|name| !["id", "write_key", "version"].contains(name));
    fields.map(|name| (name.to_owned(), kept(name.split('/').fold(&said, |at, part| &at[part])))).collect()
}

pub fn appointment(key: &str, a: &Appointment) -> Map<String, Value> {
    let status = if a.confirmed { "confirmed" } else { "scheduled" };
    let mut all = place(a);
    all.extend(fields(
        json!({"patient": text(&a.patient), "appointment_type": text(&a.appointment_type), "note": text(&a.note),
        "unavailable": a.unavailable, "status": status, "patient_confirmed": a.patient_confirmed, "write_key": key}),
    ));
    all
}

/// Where and when. It rests on the revision the engine knows, where it knows one.
pub fn moved(a: &Appointment) -> Map<String, Value> {
    let mut all = place(a);
    let revision = a.version.as_ref().and_then(|version| version.parse::<u64>().ok());
    all.extend(revision.map(|revision| ("version".to_owned(), revision.into())));
    all.extend(a.appointment_type.as_ref().map(|_| ("appointment_type".to_owned(), text(&a.appointment_type))));
    all
}

/// `status`: none leaves it as it is.
pub fn confirmed(a: &Appointment, status: Option<&str>) -> Map<String, Value> {
    let mut all = fields(json!({"patient_confirmed": a.patient_confirmed}));
    all.extend(status.map(|status| ("status".to_owned(), status.into())));
    all
}

pub fn arrived(at: i64) -> Map<String, Value> {
    fields(json!({"status": "arrived", "checkin_at": instant_text(at)}))
}

pub fn cancelled(reason: Option<&str>) -> Map<String, Value> {
    fields(json!({"status": "cancelled", "cancel_reason": text(&reason.map(str::to_owned))}))
}

pub fn note(a: &Appointment) -> Map<String, Value> {
    fields(json!({"note": text(&a.note)}))
}

fn place(a: &Appointment) -> Map<String, Value> {
    let mut all = fields(json!({"start": instant_text(a.start), "end": instant_text(a.end)}));
    for (name, id) in [("operatory", &a.operatory), ("provider", &a.provider)] {
        all.extend(id.as_ref().map(|_| (name.to_owned(), text(id))));
    }
    all
}

fn text(text: &Option<String>) -> Value {
    kept(&json!(text))
}

/// As the application keeps it: what is blank is nothing.
fn kept(value: &Value) -> Value {
    value.as_str().filter(|text| text.trim().is_empty()).map_or_else(|| value.clone(), |_| Value::Null)
}

fn fields(fields: Value) -> Map<String, Value> {
    if let Value::Object(fields) = fields { fields } else { Map::new() }
}
