//! The application's records, under own names, as the contract's.

use adapter_sdk::{
    Fault, Receipt, Record, Resource, json,
    records::{Appointment, HourKind, Weekday},
    streams::{Mapped, Trouble},
    time::instant_of,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{client::GatedCloud, faults};

pub const CONTRADICTS: &str = "it contradicts itself";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Scheduled,
    Confirmed,
    Arrived,
    Completed,
    Missed,
    Cancelled,
}

impl Status {
    /// The patient is in the house, or was.
    pub fn came(self) -> bool {
        matches!(self, Status::Arrived | Status::Completed)
    }
}

/// An appointment with the application's own word for how it stands.
pub struct Visit {
    pub shown: Appointment,
    pub status: Status,
}

impl Visit {
    pub fn receipt(&self) -> Receipt {
        Receipt { id: self.shown.id.clone(), version: self.shown.version.clone() }
    }
}

/// What has the contract's fields as they are.
pub fn plain(_: &GatedCloud, resource: Resource, own: Value) -> Mapped {
    record(resource, own)
}

pub fn patient(_: &GatedCloud, resource: Resource, mut own: Value) -> Mapped {
    if own["gender"].as_str().is_some_and(|word| !["female", "male"].contains(&word)) {
        own["gender"] = "other".into();
    }
    own["version"] = Value::Null;
    if own["address"].as_object().is_some_and(|lines| lines.values().all(Value::is_null)) {
        own["address"] = Value::Null;
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
    let days: Option<Vec<Weekday>> = days.map(|day| weekday(day.as_str()?)).collect();
    let days = days.ok_or_else(wrong_kind)?;
    if days.is_empty() {
        return Err(CONTRADICTS.into());
    }
    (own["days"], own["kind"], own["active"]) = (json!(days), json!(HourKind::WorkingHour), true.into());
    record(resource, own)
}

fn weekday(word: &str) -> Option<Weekday> {
    use Weekday::*;
    let all = [Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday];
    let at = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].iter().position(|known| *known == word)?;
    Some(all[at])
}

pub fn appointment(_: &GatedCloud, _: Resource, own: Value) -> Mapped {
    match visit(own)? {
        Some(Visit { shown, .. }) => Ok(Record::Appointment(shown).into()),
        None => Err(CONTRADICTS.into()),
    }
}

/// None for one that ends before it begins.
pub fn visit(mut own: Value) -> Result<Option<Visit>, Fault> {
    for name in ["start", "end", "checkin_at", "checked_out_at"] {
        let at = &own[name];
        own[name] = match at.as_str().and_then(instant_of) {
            Some(at) => at.into(),
            None if at.is_null() => Value::Null,
            None => return Err(wrong_kind()),
        };
    }
    let status = Status::deserialize(&own["status"]).map_err(|_| wrong_kind())?;
    // Who came was expected.
    own["confirmed"] = (status == Status::Confirmed || status.came()).into();
    (own["cancelled"], own["patient_missed"]) =
        ((status == Status::Cancelled).into(), (status == Status::Missed).into());
    own["version"] = own["version"].as_u64().ok_or_else(wrong_kind)?.to_string().into();
    if let Some(reason) = own["cancel_reason"].as_str() {
        own["extra"] = json!([["cancel_reason", reason]]);
    }
    let Record::Appointment(shown) = typed(Resource::Appointments, own)? else { return Ok(None) };
    Ok((shown.end > shown.start).then_some(Visit { shown, status }))
}

/// Of a row that was looked for, or of what was written: an answer that cannot be understood proves nothing.
pub fn receipt(row: &Value, reads: bool) -> Result<Receipt, Fault> {
    let (id, version) = (row["id"].as_str(), row["version"].as_u64());
    let known = id.zip(version).map(|(id, version)| Receipt { id: id.to_owned(), version: Some(version.to_string()) });
    known.ok_or_else(|| faults::of_wrong_kind(reads))
}

fn record(resource: Resource, own: Value) -> Mapped {
    typed(resource, own).map(Into::into).map_err(Trouble::Fault)
}

/// A field of another kind is another release than the application says: nothing of the page is believed.
fn typed(resource: Resource, own: Value) -> Result<Record, Fault> {
    let Value::Object(fields) = own else { return Err(wrong_kind()) };
    json::record(resource, fields).map_err(|_| wrong_kind())
}

fn wrong_kind() -> Fault {
    faults::of_wrong_kind(true)
}
