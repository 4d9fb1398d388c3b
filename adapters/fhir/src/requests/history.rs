//! Entries of a patient's medical history: new ones and changes.

use adapter_sdk::records;
use serde_json::{Value, json};

use super::{concept, given, key_identifier, reference, set};
use crate::{map::history, settings::Settings};

/// Builds a new entry about a concept.
pub fn item(settings: &Settings, write_key: &str, item: &records::PatientHistoryItem, about: Value) -> Value {
    let resource_type = history::resource_type(item.category);
    let (subject, code) = match resource_type {
        "AllergyIntolerance" => ("patient", "code"),
        "Condition" => ("subject", "code"),
        _ => ("subject", "medicationCodeableConcept"),
    };
    let mut resource = given(json!({
        "resourceType": resource_type,
        "identifier": [key_identifier(settings, write_key)],
        subject: reference("Patient", &item.patient),
        code: about,
        "note": note(item.note.as_deref()),
    }));
    if resource_type == "Condition" {
        let system = "http://terminology.hl7.org/CodeSystem/condition-category";
        resource["category"] = json!([concept(Some(system), "problem-list-item", None)]);
    }
    state(&mut resource, resource_type, item.active);
    resource
}

/// Changes the fields that differ from the entry as last pulled.
pub fn change(resource: &mut Value, shown: &records::PatientHistoryItem, wanted: &records::PatientHistoryItem) {
    if shown.note != wanted.note {
        set(resource, "note", note(wanted.note.as_deref()));
    }
    if shown.active != wanted.active {
        state(resource, history::resource_type(shown.category), wanted.active);
    }
}

fn state(resource: &mut Value, resource_type: &str, active: bool) {
    let clinical = |system: &str| {
        let code = if active { "active" } else { "inactive" };
        concept(Some(&format!("http://terminology.hl7.org/CodeSystem/{system}")), code, None)
    };
    match resource_type {
        "AllergyIntolerance" => resource["clinicalStatus"] = clinical("allergyintolerance-clinical"),
        "Condition" => resource["clinicalStatus"] = clinical("condition-clinical"),
        _ => resource["status"] = if active { "active" } else { "stopped" }.into(),
    }
}

fn note(text: Option<&str>) -> Value {
    json!([{"text": text.filter(|text| !text.trim().is_empty())}])
}
