//! Conversion of the EHR's records to the contract's.

use adapter_sdk::{
    PatientField, Resource,
    fields::Names,
    json,
    records::{Gender, HourKind, RecurrenceUnit, Weekday},
    streams::{Mapped, one_record},
};
use serde_json::{Value, json};

use crate::{
    client::Sandbox,
    requests::GENDERS,
    responses::{APPOINTMENT, APPOINTMENT_TYPE, HOURS, OPERATORY, PATIENT, PROVIDER, RECURRENCE, STATUSES},
};

/// serde's own message may quote a value.
const UNREADABLE: &str = "a field is missing or not as expected";
const CONTRADICTS: &str = "it contradicts itself";

fn to_contract_names(names: Names, row: &Value) -> Result<Value, &'static str> {
    names.all_ours(row).map_err(|_| UNREADABLE)
}

/// Returns a text; `None` if null.
fn text<'a>(own: &'a Value, name: &str) -> Result<Option<&'a str>, &'static str> {
    let value = &own[name];
    if value.is_null() { Ok(None) } else { value.as_str().map(Some).ok_or(UNREADABLE) }
}

fn version(own: &Value) -> Result<String, &'static str> {
    own["version"].as_u64().map(|version| version.to_string()).ok_or(UNREADABLE)
}

pub fn patient(ehr: &Sandbox, resource: Resource, row: Value) -> Mapped {
    let mut own = to_contract_names(PATIENT, &row)?;
    own["gender"] = json!(text(&own, "gender")?.map(|letter| GENDERS.meaning(letter).unwrap_or(Gender::Other)));
    own["extra"] = json!([["version", version(&own)?]]);
    filed(ehr, resource, own)
}

pub fn provider(ehr: &Sandbox, resource: Resource, row: Value) -> Mapped {
    let mut own = to_contract_names(PROVIDER, &row)?;
    let name = |part: &str| own[part].as_str().unwrap_or_default();
    let title = text(&own, "title")?.map(|title| format!("{} {}, {title}", name("first_name"), name("last_name")));
    own["display_name"] = json!(title);
    filed(ehr, resource, own)
}

pub fn operatory(ehr: &Sandbox, resource: Resource, row: Value) -> Mapped {
    filed(ehr, resource, to_contract_names(OPERATORY, &row)?)
}

pub fn appointment_type(ehr: &Sandbox, resource: Resource, row: Value) -> Mapped {
    filed(ehr, resource, to_contract_names(APPOINTMENT_TYPE, &row)?)
}

pub fn hours(ehr: &Sandbox, resource: Resource, row: Value) -> Mapped {
    let mut own = to_contract_names(HOURS, &row)?;
    let days = own.get("days").map_or(Some(Vec::new()), |days| {
        days.as_array()?.iter().map(|day| Weekday::from_word(day.as_str()?)).collect::<Option<Vec<_>>>()
    });
    let days = days.ok_or(UNREADABLE)?;
    // Exactly one of the three must be given.
    let given = [!days.is_empty(), !own["specific_date"].is_null(), !own["recurrence"].is_null()];
    if !own["recurrence"].is_null() {
        let mut every = to_contract_names(RECURRENCE, &own["recurrence"])?;
        every["unit"] = json!(text(&every, "unit")?.and_then(RecurrenceUnit::from_word));
        own["recurrence"] = every;
    }
    let block = own["block"].as_bool().ok_or(UNREADABLE)?;
    own["kind"] = json!(if block { HourKind::SchedulableBlock } else { HourKind::WorkingHour });
    own["days"] = json!(days);
    let mapped = filed(ehr, resource, own)?;
    if given.into_iter().filter(|given| *given).count() == 1 { Ok(mapped) } else { Err(CONTRADICTS.into()) }
}

pub fn appointment(ehr: &Sandbox, resource: Resource, row: Value) -> Mapped {
    let mut own = to_contract_names(APPOINTMENT, &row)?;
    json::instants(&mut own, &["start", "end", "checkin_at", "checked_out_at"])?;
    let status = own["status"].as_str().filter(|status| STATUSES.contains(status)).ok_or(UNREADABLE)?.to_owned();
    own["confirmed"] = ["confirmed", "arrived", "done"].contains(&status.as_str()).into();
    (own["cancelled"], own["patient_missed"]) = ((status == "cancelled").into(), (status == "missed").into());
    own["version"] = version(&own)?.into();
    if let Some(reason) = text(&own, "reason")? {
        own["extra"] = json!([["reason", reason]]);
    }
    match (own["start"].as_i64(), own["end"].as_i64()) {
        (Some(start), Some(end)) if start < end => filed(ehr, resource, own),
        _ => Err(CONTRADICTS.into()),
    }
}

/// Converts a record of another resource, which has the contract's names.
pub fn filed(_: &Sandbox, resource: Resource, row: Value) -> Mapped {
    let fields = serde_json::from_value(row).map_err(|_| UNREADABLE)?;
    one_record(json::record(resource, fields).map_err(|_| UNREADABLE)?)
}

/// Returns the field with the EHR's name. The names of people are always required.
pub fn field(name: &str) -> Option<PatientField> {
    Some(match name {
        "middle_name" => PatientField::MiddleName,
        "born" => PatientField::DateOfBirth,
        "gender" => PatientField::Gender,
        "email" => PatientField::Email,
        "cell" => PatientField::CellPhone,
        "home" => PatientField::HomePhone,
        "work" => PatientField::WorkPhone,
        "address" => PatientField::Address,
        "guarantor" => PatientField::Guarantor,
        "provider" => PatientField::Provider,
        "chart" => PatientField::ChartId,
        "language" => PatientField::PreferredLanguage,
        _ => return None,
    })
}
