//! The EHR's rows as the contract's records, and what writes send: names of fields are tables, the rest is a few words.

use adapter_sdk::{
    Resource, json,
    records::{Appointment, Patient},
    streams::Mapped,
    time::{instant_of, instant_text},
};
use serde_json::{Map, Value, json};

use crate::Practice;

/// The EHR's names, and where they differ the contract's.
type Names = &'static str;

const PROVIDER: Names = "id first_name last_name email npi specialty=specialty_code retired=inactive";
const TYPE: Names = "id name minutes web_booking=bookable_online";
const OPERATORY: Names = "id name in_use=active web_booking=bookable_online types=appointment_types";
const PATIENT: Names = "id first_name middle_name last_name born=date_of_birth gender email cell=cell_phone home=home_phone \
    work=work_phone address guarantor provider chart=chart_id language=preferred_language inactive new=new_patient \
    no_texts=unsubscribed_sms no_emails=unsubscribed_email";
const ADDRESS: Names = "street=line1 street2=line2 city state=region zip=postal_code country";
const HOURS: Names = "id provider operatory begin=begin_time end=end_time date=specific_date days every=recurrence \
    types=appointment_types label active";
const EVERY: Names = "number unit from=reference";
const APPOINTMENT: Names = "id patient provider operatory type=appointment_type start end note blocked=unavailable \
    patient_confirmed arrived_at=checkin_at left_at=checked_out_at write_key";
const GENDERS: Names = "F=female M=male X=other";
const DAYS: Names = "mon=Monday tue=Tuesday wed=Wednesday thu=Thursday fri=Friday sat=Saturday sun=Sunday";

fn pairs(names: Names) -> impl Iterator<Item = (&'static str, &'static str)> {
    names.split_whitespace().map(|name| name.split_once('=').unwrap_or((name, name)))
}

/// What is known of a row, under the contract's names.
fn ours(names: Names, row: &Value) -> Map<String, Value> {
    let known = pairs(names).filter(|(theirs, _)| !row[theirs].is_null());
    known.map(|(theirs, ours)| (ours.to_owned(), row[theirs].clone())).collect()
}

/// What is known of a record, under the EHR's names.
fn theirs(names: Names, record: &Value) -> Map<String, Value> {
    let known = pairs(names).filter(|(_, ours)| !record[ours].is_null());
    known.map(|(theirs, ours)| (theirs.to_owned(), record[ours].clone())).collect()
}

/// A word of a closed list. None: the row cannot be read.
fn word(words: Names, theirs: &Value) -> Option<&'static str> {
    pairs(words).find(|(word, _)| theirs == word).map(|(_, ours)| ours)
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
        *gender = word(GENDERS, gender).unwrap_or("other").into();
    }
    if let Some(address) = fields.get_mut("address") {
        *address = ours(ADDRESS, address).into();
    }
    record(resource, fields)
}

/// On days of the week, on a date, or every so often: exactly one of them.
pub fn hours(_: &Practice, resource: Resource, row: Value) -> Mapped {
    let mut fields = ours(HOURS, &row);
    let days: Option<Vec<_>> = row["days"].as_array().into_iter().flatten().map(|day| word(DAYS, day)).collect();
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
    let mut fields = theirs(PATIENT, &json!(patient));
    fields.remove("id");
    if let Some(gender) = fields.get_mut("gender") {
        *gender = pairs(GENDERS).find(|(_, ours)| gender == ours).map(|(letter, _)| letter).into();
    }
    if let Some(address) = fields.get_mut("address") {
        *address = theirs(ADDRESS, address).into();
    }
    fields
}

pub fn new_appointment(location: &str, a: &Appointment) -> Map<String, Value> {
    let mut fields = theirs(APPOINTMENT, &json!(a));
    fields.extend(moved(a));
    fields.insert("location".into(), location.into());
    fields.insert("status".into(), if a.confirmed { "confirmed" } else { "scheduled" }.into());
    fields.remove("id");
    fields
}

/// Where and when.
pub fn moved(a: &Appointment) -> Map<String, Value> {
    let mut fields = theirs("operatory provider type=appointment_type", &json!(a));
    fields.insert("start".into(), instant_text(a.start).into());
    fields.insert("end".into(), instant_text(a.end).into());
    fields
}
