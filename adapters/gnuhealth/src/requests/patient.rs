//! Patients: new ones, and what has to change of those that are there.

use adapter_sdk::{json, records::Patient};
use serde_json::{Map, Value, json};

use super::{Place, address, identifier, number, object};
use crate::{
    conventions::{Contact, GENDERS, KEY, MIDDLE},
    map,
    responses::PatientRow,
    values::Date,
};

/// A new patient: one call makes the person and, since `create_target` says so, the patient.
pub fn person(key: &str, patient: &Patient, place: &Place) -> Value {
    let mut person = facts(patient);
    person.extend(object(json!({
        "is_person": true, "is_patient": true, "create_target": true, "fed_country": null,
        "alternative_ids": [["create", [identifier(key, KEY)]]],
    })));
    person.entry("gender").or_insert("u".into());
    let contacts: Vec<Value> = contacts(patient).into_iter().map(|(_, contact)| contact).collect();
    if !contacts.is_empty() {
        person.insert("contact_mechanisms".into(), json!([["create", contacts]]));
    }
    if let Some(address) = patient.address.as_ref().map(|address| self::address(address, place)) {
        person.insert("addresses".into(), json!([["create", [address]]]));
    }
    if let Some(language) = place.language {
        person.insert("lang".into(), language.into());
    }
    Value::Object(person)
}

pub type Fields = Map<String, Value>;

/// What of the person has to change, and what of the patient: where they read otherwise than they should. What they have no more is taken
/// away, but for the number the EHR itself gave them.
pub fn changes(row: &PatientRow, patient: &Patient, place: &Place) -> (Fields, Fields) {
    let shown = map::person(row);
    let (mut person, held) = (facts(patient), facts(&shown));
    person.retain(|name, value| held.get(name) != Some(value));
    if patient.gender.is_none() && shown.gender.is_some() {
        person.insert("gender".into(), "u".into());
    }
    if patient.date_of_birth.is_none() && shown.date_of_birth.is_some() {
        person.insert("dob".into(), Value::Null);
    }
    let commands = contact_changes(row, patient);
    if !commands.is_empty() {
        person.insert("contact_mechanisms".into(), Value::Array(commands));
    }
    // One that reads as it is to be stays as staff wrote it.
    if patient.address != shown.address {
        let address = address(&patient.address.clone().unwrap_or_default(), place);
        match row.party.address() {
            Some(there) if there.values() == address => (),
            Some(there) => drop(person.insert("addresses".into(), json!([["write", [there.id], address]]))),
            None => drop(person.insert("addresses".into(), json!([["create", [address]]]))),
        }
    }
    if patient.preferred_language != shown.preferred_language {
        let ids: Vec<i64> = row.party.langs.iter().map(|row| row.id).collect();
        let command = match place.language {
            Some(language) if ids.is_empty() => Some(json!(["create", [{"lang": language}]])),
            Some(language) => Some(json!(["write", ids, {"lang": language}])),
            None if patient.preferred_language.is_none() => Some(json!(["delete", ids])),
            // The EHR has no such language.
            None => None,
        };
        person.extend(command.map(|command| ("langs".to_owned(), json!([command]))));
    }
    let mut own = own_of_new(row, patient);
    if patient.provider.is_none() && row.primary_care_doctor.is_some() {
        own.insert("primary_care_doctor".into(), Value::Null);
    }
    (person, own)
}

/// What of a new patient stands with the patient and not with the person. Whatever else staff have added since is theirs.
pub fn own_of_new(row: &PatientRow, patient: &Patient) -> Fields {
    let mut own = Map::new();
    if let Some(provider) = number(&patient.provider).filter(|provider| Some(*provider) != row.primary_care_doctor) {
        own.insert("primary_care_doctor".into(), provider.into());
    }
    if patient.inactive != map::person(row).inactive {
        own.insert("active".into(), (!patient.inactive).into());
    }
    own
}

/// Whoever is not to be reached in a way is not to be reached by any entry of its kind: they are taken out of use, as staff would do.
fn contact_changes(row: &PatientRow, patient: &Patient) -> Vec<Value> {
    let wanted = contacts(patient);
    let mut commands = Vec::new();
    for (kind, contact) in &wanted {
        match row.party.contacts.iter().find(|contact| contact.kind() == Some(*kind)) {
            Some(there) if there.value.as_deref().unwrap_or_default() == contact["value"] => (),
            Some(there) => commands.push(json!(["write", [there.id], {"value": contact["value"]}])),
            None => commands.push(json!(["create", [contact]])),
        }
    }
    let gone = |kind: Contact| wanted.iter().all(|(held, _)| *held != kind);
    let gone = row.party.contacts.iter().filter(|contact| contact.kind().is_some_and(gone));
    let gone: Vec<i64> = gone.map(|contact| contact.id).collect();
    if !gone.is_empty() {
        commands.push(json!(["write", gone, {"active": false}]));
    }
    commands
}

fn facts(patient: &Patient) -> Map<String, Value> {
    let name = match &patient.middle_name {
        Some(middle) => format!("{}{MIDDLE}{middle}", patient.first_name),
        None => patient.first_name.clone(),
    };
    json::object([
        ("name", name.into()),
        ("lastname", patient.last_name.as_str().into()),
        ("gender", json!(patient.gender.and_then(|gender| GENDERS.word(gender)))),
        ("ref", json!(patient.chart_id)),
        ("dob", json!(patient.date_of_birth.as_deref().and_then(Date::of))),
    ])
}

fn contacts(patient: &Patient) -> Vec<(Contact, Value)> {
    let all = [
        (Contact::Mobile, patient.mobile(), json!({"type": "mobile"})),
        (Contact::Home, patient.home_phone.as_ref(), json!({"type": "phone"})),
        (Contact::Work, patient.work_phone.as_ref(), json!({"type": "phone", "name": "Work"})),
        (Contact::Email, patient.email.as_ref(), json!({"type": "email"})),
    ];
    let known = all.into_iter().filter_map(|(kind, value, contact)| Some((kind, value?, contact)));
    known
        .map(|(kind, value, mut contact)| {
            contact["value"] = value.as_str().into();
            (kind, contact)
        })
        .collect()
}
