//! Conversion of the EHR's rows to the contract's records, and the bodies of writes. Most field names are mapped by
//! tables.

use adapter_sdk::{
    Resource,
    fields::Names,
    json,
    records::{Appointment, Gender, Patient, Weekday},
    streams::Mapped,
    time::{instant_of, instant_text},
    vocabulary::Vocabulary,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::Practice;

const PROVIDER: Names = Names("id first_name last_name email npi specialty_code=specialty inactive=retired");
const TYPE: Names = Names("id name minutes bookable_online=web_booking");
const OPERATORY: Names = Names("id name active=in_use bookable_online=web_booking appointment_types=types");
const PATIENT: Names = Names(
    "id first_name middle_name last_name date_of_birth=born gender email cell_phone=cell home_phone=home work_phone=work \
     address/line1=address/street address/line2=address/street2 address/city=address/city address/region=address/state \
     address/postal_code=address/zip address/country=address/country guarantor provider chart_id=chart \
     preferred_language=language inactive new_patient=new unsubscribed_sms=no_texts unsubscribed_email=no_emails",
);
const HOURS: Names = Names(
    "id provider operatory begin_time=begin end_time=end specific_date=date days recurrence=every \
     appointment_types=types label active",
);
const EVERY: Names = Names("number unit reference=from");
const APPOINTMENT: Names = Names(
    "id patient provider operatory appointment_type=type start end note unavailable=blocked patient_confirmed \
     checkin_at=arrived_at checked_out_at=left_at write_key",
);
const PLACE: Names = Names("provider operatory appointment_type=type");
const GENDERS: Vocabulary<Gender> = Vocabulary(&[("F", Gender::Female), ("M", Gender::Male), ("X", Gender::Other)]);
const DAYS: Vocabulary<Weekday> = Vocabulary(&[
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
]);

/// Returns the known fields of a row under the contract's names.
fn ours(names: Names, row: &Value) -> Map<String, Value> {
    known(names.ours(row))
}

/// Returns the known fields of a record under the EHR's names.
fn theirs(names: Names, record: &impl Serialize) -> Map<String, Value> {
    known(names.theirs(&json!(record)))
}

/// Returns the fields of an object that are not null.
fn known(object: Value) -> Map<String, Value> {
    let Value::Object(fields) = object else { return Map::new() };
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// serde's own message may quote a value.
fn record(resource: Resource, fields: Map<String, Value>) -> Mapped {
    Ok(json::record(resource, fields).map_err(|_| "a field is missing or not as expected")?.into())
}

pub fn provider(_: &Practice, resource: Resource, row: Value) -> Mapped {
    record(resource, ours(PROVIDER, &row))
}

pub fn appointment_type(_: &Practice, resource: Resource, row: Value) -> Mapped {
    record(resource, ours(TYPE, &row))
}

pub fn operatory(_: &Practice, resource: Resource, row: Value) -> Mapped {
    record(resource, ours(OPERATORY, &row))
}

pub fn patient(_: &Practice, resource: Resource, row: Value) -> Mapped {
    let mut fields = ours(PATIENT, &row);
    if let Some(gender) = fields.get_mut("gender") {
        *gender = json!(gender.as_str().and_then(|letter| GENDERS.meaning(letter)).unwrap_or(Gender::Other));
    }
    record(resource, fields)
}

/// Converts hours on weekdays, on a date, or with a recurrence: exactly one of them.
pub fn hours(_: &Practice, resource: Resource, row: Value) -> Mapped {
    let mut fields = ours(HOURS, &row);
    let days = row["days"].as_array().into_iter().flatten();
    let days: Option<Vec<_>> = days.map(|day| DAYS.meaning(day.as_str()?)).collect();
    let days = days.ok_or("a day of the week is none")?;
    let rules = [!days.is_empty(), fields.contains_key("specific_date"), fields.contains_key("recurrence")];
    if rules.into_iter().filter(|applies| *applies).count() != 1 {
        return Err("it contradicts itself".into());
    }
    if let Some(every) = fields.get_mut("recurrence") {
        *every = ours(EVERY, every).into();
    }
    fields.insert("days".into(), json!(days));
    fields.insert("kind".into(), if row["block"] == true { "SchedulableBlock" } else { "WorkingHour" }.into());
    record(resource, fields)
}

pub fn appointment(_: &Practice, resource: Resource, row: Value) -> Mapped {
    let mut fields = ours(APPOINTMENT, &row);
    for name in ["start", "end", "checkin_at", "checked_out_at"] {
        if let Some(at) = fields.get_mut(name) {
            *at = at.as_str().and_then(instant_of).ok_or("a time is none")?.into();
        }
    }
    let status = row["status"].as_str().ok_or("it has no status")?;
    fields.insert("cancelled".into(), (status == "cancelled").into());
    fields.insert("confirmed".into(), ["confirmed", "arrived", "done"].contains(&status).into());
    fields.insert("patient_missed".into(), (status == "missed").into());
    fields.insert("version".into(), row["version"].to_string().into());
    record(resource, fields)
}

pub fn new_patient(patient: &Patient) -> Map<String, Value> {
    let mut fields = theirs(PATIENT, patient);
    fields.remove("id");
    if let Some(gender) = patient.gender {
        fields.insert("gender".into(), GENDERS.word(gender).into());
    }
    fields
}

pub fn new_appointment(location: &str, a: &Appointment) -> Map<String, Value> {
    let mut fields = theirs(APPOINTMENT, a);
    fields.extend(moved(a));
    fields.insert("location".into(), location.into());
    fields.insert("status".into(), if a.confirmed { "confirmed" } else { "scheduled" }.into());
    fields.remove("id");
    fields
}

/// Returns time and place.
pub fn moved(a: &Appointment) -> Map<String, Value> {
    let mut fields = theirs(PLACE, a);
    fields.insert("start".into(), instant_text(a.start).into());
    fields.insert("end".into(), instant_text(a.end).into());
    fields
}
