//! The calls: paths, headers, and what changes say, under own names.

use adapter_sdk::{
    http::{Header, Method, Request, encode},
    records::{Appointment, Gender, Patient},
    time::instant_text,
};
use serde_json::{Map, Value};

use crate::markup::Markup;

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

pub fn changes(kind: &str, mark: Option<&str>, limit: u32) -> String {
    let since = mark.map(|mark| format!("&since={}", encode(mark))).unwrap_or_default();
    format!("/api/changes?of={kind}{since}&limit={}", limit.clamp(1, MOST))
}

pub fn by_reference(kind: &str, key: &str) -> String {
    format!("/api/{kind}?reference={}", encode(key))
}

pub fn record(kind: &str, id: &str) -> String {
    format!("/api/{kind}/{}", encode(id))
}

/// The whole form: what is not known is emptied.
pub fn patient(p: &Patient) -> Map<String, Value> {
    let address = p.address.clone().unwrap_or_default();
    let street: Vec<String> = [address.line1, address.line2].into_iter().flatten().collect();
    let mobile = p.cell_phone.clone().or_else(|| p.primary_phone.clone());
    fields([
        ("first_name", text(&Some(p.first_name.clone()))),
        ("middle_name", text(&p.middle_name)),
        ("last_name", text(&Some(p.last_name.clone()))),
        ("born", text(&p.date_of_birth)),
        ("sex", p.gender.map_or(Value::Null, |gender| sex(gender).into())),
        ("email", text(&p.email)),
        ("mobile", text(&mobile)),
        ("home_phone", text(&p.home_phone)),
        ("work_phone", text(&p.work_phone)),
        ("street", text(&Some(street.join(", ")))),
        ("city", text(&address.city)),
        ("state", text(&address.region)),
        ("zip", text(&address.postal_code)),
        ("country", text(&address.country)),
        ("language", text(&p.preferred_language)),
        ("provider", text(&p.provider)),
        ("chart", text(&p.chart_id)),
        ("inactive", p.inactive.into()),
    ])
}

/// What the application's form has no field for, by name: said in the log, since it is lost.
pub fn unsupported(p: &Patient) -> Vec<&'static str> {
    [
        ("ssn", p.ssn.is_some()),
        ("work-phone-extension", p.work_phone_extension.is_some()),
        ("guarantor", p.guarantor.is_some()),
        ("billing-type", p.billing_type.is_some()),
        ("premedication", p.premedication.is_some()),
        ("non-patient", p.non_patient),
        ("unsubscribed-sms", p.unsubscribed_sms),
        ("unsubscribed-email", p.unsubscribed_email),
        ("extra", !p.extra.is_empty()),
    ]
    .into_iter()
    .filter_map(|(name, set)| set.then_some(name))
    .collect()
}

pub fn appointment(key: &str, a: &Appointment) -> Map<String, Value> {
    let mut all = place(a);
    all.extend(fields([
        ("patient", text(&a.patient)),
        ("kind", text(&a.appointment_type)),
        ("note", text(&a.note)),
        ("block", a.unavailable.into()),
        ("status", if a.confirmed { "confirmed" } else { "scheduled" }.into()),
        ("confirmed_by_patient", a.patient_confirmed.into()),
        ("reference", key.into()),
    ]));
    all
}

/// Where and when. It rests on the revision the engine knows, where it knows one.
pub fn moved(a: &Appointment) -> Map<String, Value> {
    let mut all = place(a);
    if let Some(revision) = a.version.as_ref().and_then(|version| version.parse::<u64>().ok()) {
        all.insert("revision".into(), revision.into());
    }
    if a.appointment_type.is_some() {
        all.insert("kind".into(), text(&a.appointment_type));
    }
    all
}

/// `status`: none leaves it as it is.
pub fn confirmed(a: &Appointment, status: Option<&str>) -> Map<String, Value> {
    let mut all = fields([("confirmed_by_patient", a.patient_confirmed.into())]);
    all.extend(status.map(|status| ("status".to_owned(), status.into())));
    all
}

pub fn arrived(at: i64) -> Map<String, Value> {
    fields([("status", "arrived".into()), ("arrived_at", instant_text(at).into())])
}

pub fn cancelled(reason: Option<&str>) -> Map<String, Value> {
    fields([("status", "cancelled".into()), ("cancel_reason", text(&reason.map(str::to_owned)))])
}

pub fn note(a: &Appointment) -> Map<String, Value> {
    fields([("note", text(&a.note))])
}

fn place(a: &Appointment) -> Map<String, Value> {
    let mut all = fields([("start", instant_text(a.start).into()), ("end", instant_text(a.end).into())]);
    for (name, id) in [("operatory", &a.operatory), ("provider", &a.provider)] {
        if id.is_some() {
            all.insert(name.into(), text(id));
        }
    }
    all
}

fn sex(gender: Gender) -> &'static str {
    match gender {
        Gender::Female => "female",
        Gender::Male => "male",
        Gender::Other => "other",
    }
}

/// As the application keeps it: what is blank is nothing.
fn text(text: &Option<String>) -> Value {
    text.as_deref().filter(|text| !text.trim().is_empty()).map_or(Value::Null, Value::from)
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
