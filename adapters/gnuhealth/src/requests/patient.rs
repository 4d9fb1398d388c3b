//! Patients: new ones, and the changes of existing ones.

use adapter_sdk::{
    PatientChange, json,
    records::{Address, Patient},
};
use serde_json::{Map, Value, json};

use super::{Place, address, identifier, number, object};
use crate::{
    conventions::{Contact, GENDERS, KEY, MIDDLE},
    map,
    responses::{ContactMechanism, PatientRow},
    values::Date,
};

/// Builds a new patient. With `create_target`, one call creates the person and the patient.
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

/// Returns the changes of the person and of the patient. Cleared fields are removed, except the number assigned by the
/// EHR.
pub fn changes(row: &PatientRow, change: &PatientChange, patient: &Patient, place: &Place) -> (Fields, Fields) {
    let shown = map::person(row);
    let (mut person, held) = (facts(patient), facts(&shown));
    person.retain(|name, value| held.get(name) != Some(value));
    if patient.gender.is_none() && shown.gender.is_some() {
        person.insert("gender".into(), "u".into());
    }
    if patient.date_of_birth.is_none() && shown.date_of_birth.is_some() {
        person.insert("dob".into(), Value::Null);
    }
    let commands = contact_changes(row, change);
    if !commands.is_empty() {
        person.insert("contact_mechanisms".into(), Value::Array(commands));
    }
    let address = address_changes(row, change, patient, place);
    if !address.is_empty() {
        let command = match row.party.address() {
            Some(there) => json!(["write", [there.id], address]),
            None => json!(["create", [address]]),
        };
        person.insert("addresses".into(), json!([command]));
    }
    if let Some(command) = language_change(row, change, place) {
        person.insert("langs".into(), json!([command]));
    }
    let mut own = own_of_new(row, patient);
    if patient.provider.is_none() && row.primary_care_doctor.is_some() {
        own.insert("primary_care_doctor".into(), Value::Null);
    }
    (person, own)
}

/// Returns the fields of the patient, as opposed to the person. Other fields added by staff stay unchanged.
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

/// Returns the change of the language. A party has one per company: the one that the client saw is changed, or else the
/// pulled one.
fn language_change(row: &PatientRow, change: &PatientChange, place: &Place) -> Option<Value> {
    let (shown, wanted) = (map::person(row).preferred_language, &change.patient.preferred_language);
    let before = change.before.as_ref().map_or(&shown, |before| &before.preferred_language);
    let seen = row.party.langs.iter().find(|row| before.is_some() && map::language_of(row) == *before);
    match (wanted, place.language, row.party.language().or(row.party.langs.first())) {
        _ if wanted == before => None,
        (None, ..) => seen.map(|seen| json!(["delete", [seen.id]])),
        _ if *wanted == shown => None,
        (_, Some(language), None) => Some(json!(["create", [{"lang": language}]])),
        (_, Some(language), Some(there)) => Some(json!(["write", [seen.unwrap_or(there).id], {"lang": language}])),
        // The EHR does not have this language.
        (_, None, _) => None,
    }
}

/// Returns the changed fields of the pulled address. Its other fields stay as staff wrote them, and only fields that
/// the client saw are cleared.
fn address_changes(row: &PatientRow, change: &PatientChange, patient: &Patient, place: &Place) -> Fields {
    let held = row.party.address().map(|address| address.values()).unwrap_or_default();
    let lines = |patient: &Patient| patient.address.clone().unwrap_or_default();
    let (was, is) = (lines(&map::person(row)), lines(patient));
    let seen = change.before.as_ref().map_or_else(|| was.clone(), lines);
    let differs = |of: fn(&Address) -> [&Option<String>; 2]| {
        of(&was) != of(&is) && (of(&is) != [&None; 2] || of(&was) == of(&seen))
    };
    let mut fields = object(address(&is, place));
    fields.retain(|name, value| {
        *value != held[name.as_str()]
            && match name.as_str() {
                "street" => differs(|address| [&address.line1, &address.line2]),
                "city" => differs(|address| [&address.city, &None]),
                "postal_code" => differs(|address| [&address.postal_code, &None]),
                "country" => differs(|address| [&address.country, &None]),
                _ => differs(|address| [&address.region, &address.country]),
            }
    });
    fields
}

/// Returns the changes of contacts. The contact that the client saw is overwritten or deactivated, as staff would do;
/// others of its kind stay. Without `before`, the change covers the whole patient, so all contacts of kinds it does not
/// contain are deactivated.
fn contact_changes(row: &PatientRow, change: &PatientChange) -> Vec<Value> {
    let wanted = contacts(&change.patient);
    let value = |all: &[(Contact, Value)], kind: Contact| {
        all.iter().find(|(of, _)| *of == kind).map(|(_, contact)| contact["value"].clone())
    };
    let before = change.before.as_ref().map(contacts);
    let (mut commands, mut gone) = (Vec::new(), Vec::new());
    for kind in [Contact::Mobile, Contact::Home, Contact::Work, Contact::Email] {
        let held: Vec<_> =
            row.party.contacts.iter().filter(|held| held.kind() == Some(kind) && held.value.is_some()).collect();
        let is = |held: &&&ContactMechanism, desired: &Option<Value>| {
            desired.as_ref().is_some_and(|desired| *desired == json!(held.value))
        };
        let (desired, seen) = (value(&wanted, kind), before.as_ref().map(|before| value(before, kind)));
        let there = seen.as_ref().and_then(|seen| held.iter().find(|held| is(held, seen)));
        match (&desired, &seen) {
            (desired, Some(seen)) if desired == seen => (),
            (None, Some(_)) => gone.extend(there.map(|there| there.id)),
            (None, None) => gone.extend(held.iter().map(|held| held.id)),
            // Already written: the previous value is gone.
            (Some(_), _) if there.is_none() && held.iter().any(|held| is(&held, &desired)) => (),
            (Some(desired), _) => match there.or(held.first()) {
                Some(there) => commands.push(json!(["write", [there.id], {"value": desired}])),
                None => commands
                    .extend(wanted.iter().filter(|(of, _)| *of == kind).map(|(_, new)| json!(["create", [new]]))),
            },
        }
    }
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
        ("dob", json!(patient.date_of_birth.as_deref().and_then(Date::parse))),
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
