//! Conversion of the application's records, with our field names, to the contract's.

use adapter_sdk::{
    Fault, Receipt, Record, Resource, json,
    records::{Appointment, HourKind, Weekday},
    streams::{self, Mapped, RowError},
    time::day_of,
};
use serde_json::{Map, Value, json};

use crate::{client::GatedCloud, faults};

pub const CONTRADICTS: &str = "it contradicts itself";

/// The application's words for the status of an appointment.
const STATUSES: [&str; 6] = ["scheduled", "confirmed", "arrived", "completed", "missed", "cancelled"];

pub struct Visit {
    pub shown: Appointment,
    /// The patient has arrived.
    pub came: bool,
}

impl Visit {
    pub fn receipt(&self) -> Receipt {
        Receipt { id: self.shown.id.clone(), version: self.shown.version.clone() }
    }
}

/// Converts a record with the contract's fields.
pub fn plain(_: &GatedCloud, resource: Resource, own: Value) -> Mapped {
    record(resource, own)
}

pub fn patient(_: &GatedCloud, resource: Resource, mut own: Value) -> Mapped {
    if own["gender"].as_str().is_some_and(|word| !["female", "male"].contains(&word)) {
        own["gender"] = "other".into();
    }
    own["version"] = Value::Null;
    json::forget_absent(&mut own["address"]);
    if own["address"].as_object().is_some_and(Map::is_empty) {
        own["address"] = Value::Null;
    }
    if own["date_of_birth"].as_str().is_some_and(|day| !day.trim().is_empty() && day_of(day).is_none()) {
        return Err("its date of birth is not a date".into());
    }
    record(resource, own)
}

pub fn operatory(_: &GatedCloud, resource: Resource, mut own: Value) -> Mapped {
    let open = !own["closed"].as_bool().ok_or_else(wrong_kind)?;
    (own["active"], own["bookable_online"]) = (open.into(), open.into());
    record(resource, own)
}

pub fn kind(_: &GatedCloud, resource: Resource, mut own: Value) -> Mapped {
    if !(1..=1_440).contains(&own["minutes"].as_u64().ok_or_else(wrong_kind)?) {
        return Err(CONTRADICTS.into());
    }
    own["bookable_online"] = true.into();
    record(resource, own)
}

pub fn hours(_: &GatedCloud, resource: Resource, mut own: Value) -> Mapped {
    let days = own["days"].as_array().ok_or_else(wrong_kind)?.iter();
    let days: Option<Vec<Weekday>> = days.map(|day| Weekday::from_word(day.as_str()?)).collect();
    let days = days.ok_or_else(wrong_kind)?;
    if days.is_empty() {
        return Err(CONTRADICTS.into());
    }
    (own["days"], own["kind"], own["active"]) = (json!(days), json!(HourKind::WorkingHour), true.into());
    record(resource, own)
}

pub fn appointment(_: &GatedCloud, _: Resource, own: Value) -> Mapped {
    match visit(own)? {
        Some(Visit { shown, .. }) => streams::one_record(Record::Appointment(shown)),
        None => Err(CONTRADICTS.into()),
    }
}

const TIMES: [&str; 4] = ["start", "end", "checkin_at", "checked_out_at"];

/// Converts an appointment; `None` if it ends before it begins. An unreadable time or word affects one record; another
/// type of value means another release.
pub fn visit(mut own: Value) -> Result<Option<Visit>, RowError> {
    if !TIMES.iter().all(|name| own[*name].is_string() || own[*name].is_null()) {
        return Err(wrong_kind().into());
    }
    json::instants(&mut own, &TIMES)?;
    if own["start"].is_null() || own["end"].is_null() {
        return Err("it has no time".into());
    }
    let status = own["status"].as_str().ok_or_else(wrong_kind)?.to_owned();
    if !STATUSES.contains(&status.as_str()) {
        return Err("its status is unknown".into());
    }
    let came = ["arrived", "completed"].contains(&status.as_str());
    // An arrived patient counts as confirmed.
    own["confirmed"] = (came || status == "confirmed").into();
    (own["cancelled"], own["patient_missed"]) = ((status == "cancelled").into(), (status == "missed").into());
    own["version"] = own["version"].as_u64().ok_or_else(wrong_kind)?.to_string().into();
    if let Some(reason) = own["cancel_reason"].as_str() {
        own["extra"] = json!([["cancel_reason", reason]]);
    }
    let Record::Appointment(shown) = typed(Resource::Appointments, own)? else { return Ok(None) };
    Ok((shown.end > shown.start).then_some(Visit { shown, came }))
}

fn record(resource: Resource, own: Value) -> Mapped {
    typed(resource, own).map(Into::into).map_err(RowError::Fault)
}

/// Converts a record. A field of another type means another release than declared, so the whole page is rejected.
fn typed(resource: Resource, own: Value) -> Result<Record, Fault> {
    let Value::Object(fields) = own else { return Err(wrong_kind()) };
    json::record(resource, fields).map_err(|_| wrong_kind())
}

fn wrong_kind() -> Fault {
    faults::wrong_field_type(true)
}
