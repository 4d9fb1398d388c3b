//! Patients: new ones, and those that are there changed where they are to be other than they are shown.

use adapter_sdk::records;
use serde_json::{Value, json};

use super::{address, key_identifier, list, object, optional, push, set, updated};
use crate::{
    map::{self, EXTENSIONS, PHONE_EXTENSION},
    responses::{Address, HumanName},
    settings::Settings,
};

const SSN: &str = "http://hl7.org/fhir/sid/us-ssn";
const IDENTIFIER_TYPES: &str = "http://terminology.hl7.org/CodeSystem/v2-0203";

/// A new patient.
pub fn patient(settings: &Settings, write_key: &str, p: &records::Patient) -> Value {
    let mut resource = json!({
        "resourceType": "Patient",
        "active": !p.inactive,
        "identifier": [key_identifier(settings, write_key, false)],
    });
    let nobody = records::Patient { inactive: p.inactive, ..records::Patient::default() };
    change(settings, &mut resource, &nobody, p);
    resource
}

/// The patient as they were read, changed where `wanted` says other than is shown. What is not shown is not touched.
pub fn changed(settings: &Settings, write_key: &str, read: &Value, wanted: &records::Patient) -> Result<Value, String> {
    let shown = map::patient_record(read.clone()).map_err(|why| why.to_string())?;
    let mut resource = updated(settings, write_key, read);
    change(settings, &mut resource, &shown, wanted);
    Ok(resource)
}

/// What a Patient resource has no place for, by name: said in the log, since it is lost.
pub fn unsupported(p: &records::Patient) -> Vec<&'static str> {
    let fields = [
        ("work-phone-extension", p.work_phone_extension.is_some() && p.work_phone.is_none()),
        ("extra", !p.extra.is_empty()),
    ];
    fields.into_iter().filter_map(|(name, set)| set.then_some(name)).collect()
}

fn change(settings: &Settings, resource: &mut Value, was: &records::Patient, p: &records::Patient) {
    if (&was.first_name, &was.middle_name, &was.last_name) != (&p.first_name, &p.middle_name, &p.last_name) {
        name(resource, p);
    }
    for (usage, before, number, extension) in [
        ("mobile", &was.cell_phone, &p.cell_phone, &None),
        ("home", &was.home_phone, &p.home_phone, &None),
        ("work", &was.work_phone, &p.work_phone, &p.work_phone_extension),
    ] {
        let same_extension = usage != "work" || was.work_phone_extension == p.work_phone_extension;
        if before != number || !same_extension {
            let extension = extension.as_ref().map(|text| json!([{"url": PHONE_EXTENSION, "valueString": text}]));
            contact(resource, "phone", Some(usage), number, extension);
        }
    }
    if was.primary_phone != p.primary_phone {
        contact(resource, "phone", None, &p.primary_phone, None);
    }
    if was.email != p.email {
        contact(resource, "email", None, &p.email, None);
    }
    if was.gender != p.gender {
        set(resource, "gender", p.gender.as_deref().map_or(Value::Null, gender));
    }
    if was.date_of_birth != p.date_of_birth {
        set(resource, "birthDate", optional(&p.date_of_birth));
    }
    if was.address != p.address {
        main_address(resource, p.address.as_ref());
    }
    if was.preferred_language != p.preferred_language {
        let spoken = p.preferred_language.as_ref().map(
            |code| json!({"language": {"coding": [{"system": "urn:ietf:bcp:47", "code": code}]}, "preferred": true}),
        );
        set(resource, "communication", list([spoken]));
    }
    if was.provider != p.provider {
        let provider = p.provider.as_ref().map(|id| json!({"reference": format!("Practitioner/{id}")}));
        set(resource, "generalPractitioner", list([provider]));
    }
    if was.inactive != p.inactive {
        resource["active"] = (!p.inactive).into();
    }
    if was.chart_id != p.chart_id {
        let system = settings.chart_system.as_deref().map_or(Value::Null, Value::from);
        identifier(resource, "MR", system, p.chart_id.as_deref());
    }
    if let Some(ssn) = &p.ssn {
        identifier(resource, "SS", SSN.into(), Some(ssn));
    }
    beyond(resource, was, p);
}

/// What only extensions hold.
fn beyond(resource: &mut Value, was: &records::Patient, p: &records::Patient) {
    if was.guarantor != p.guarantor {
        let reference = p.guarantor.as_ref().map(|id| json!({"reference": format!("Patient/{id}")}));
        extension(resource, "patient", "guarantor", "valueReference", reference);
    }
    for (field, before, now) in
        [("billing-type", &was.billing_type, &p.billing_type), ("premedication", &was.premedication, &p.premedication)]
    {
        if before != now {
            extension(resource, "patient", field, "valueString", now.as_deref().map(Value::from));
        }
    }
    for (field, before, now) in [
        ("non-patient", was.non_patient, p.non_patient),
        ("unsubscribed-sms", was.unsubscribed_sms, p.unsubscribed_sms),
        ("unsubscribed-email", was.unsubscribed_email, p.unsubscribed_email),
    ] {
        if before != now {
            extension(resource, "patient", field, "valueBoolean", Some(now.into()));
        }
    }
}

/// Sets an extension of ours, or takes it away.
pub fn extension(resource: &mut Value, record: &str, field: &str, kind: &str, value: Option<Value>) {
    let url = format!("{EXTENSIONS}:{record}:{field}");
    without(resource, "extension", |e| e["url"] == url.as_str());
    if let Some(value) = value {
        push(resource, "extension", json!({"url": url, kind: value}));
    }
}

/// The name that is shown, in its place; everything else of it stays.
fn name(resource: &mut Value, p: &records::Patient) {
    let names: Vec<HumanName> = serde_json::from_value(resource["name"].clone()).unwrap_or_default();
    let given = [Some(p.first_name.as_str()), p.middle_name.as_deref()].into_iter().flatten();
    let given = given.filter(|name| !name.is_empty()).map(|name| Some(Value::from(name)));
    let at = match map::main_name(&names) {
        Some(at) => at,
        None => {
            push(resource, "name", json!({"use": "official"}));
            0
        }
    };
    let name = &mut resource["name"][at];
    set(name, "family", optional(&Some(p.last_name.clone())));
    set(name, "given", list(given));
    // It would contradict the new parts.
    set(name, "text", Value::Null);
}

/// Exchanges the contacts of a kind for one, or for none. Without a use: those that have none, of mail all that are not old.
fn contact(resource: &mut Value, system: &str, usage: Option<&str>, value: &Option<String>, extension: Option<Value>) {
    without(resource, "telecom", |point| {
        let of = point["use"].as_str();
        let sms = system == "phone" && usage == Some("mobile") && point["system"] == "sms";
        let same = if system == "email" { of != Some("old") } else { of == usage };
        sms || (point["system"] == system && same)
    });
    if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
        let usage = usage.map_or(Value::Null, Value::from);
        let extension = extension.unwrap_or(Value::Null);
        push(
            resource,
            "telecom",
            object([("extension", extension), ("system", system.into()), ("use", usage), ("value", value.into())]),
        );
    }
}

fn main_address(resource: &mut Value, wanted: Option<&records::Address>) {
    let held: Vec<Address> = serde_json::from_value(resource["address"].clone()).unwrap_or_default();
    match (map::main_address(&held), wanted.map(address)) {
        (Some(at), Some(wanted)) => resource["address"][at] = wanted,
        (None, Some(wanted)) => push(resource, "address", wanted),
        (Some(at), None) => {
            let mut left: Vec<Value> = resource["address"].as_array().cloned().unwrap_or_default();
            left.remove(at);
            set(resource, "address", if left.is_empty() { Value::Null } else { left.into() });
        }
        (None, None) => (),
    }
}

fn identifier(resource: &mut Value, code: &str, system: Value, value: Option<&str>) {
    without(resource, "identifier", |i| {
        let coded = i["type"]["coding"].as_array().is_some_and(|all| all.iter().any(|coding| coding["code"] == code));
        coded || (!system.is_null() && i["system"] == system)
    });
    if let Some(value) = value {
        let kind = json!({"coding": [{"system": IDENTIFIER_TYPES, "code": code}]});
        push(resource, "identifier", object([("type", kind), ("system", system), ("value", value.into())]));
    }
}

/// Takes items out of a list, and the list away with the last.
fn without(resource: &mut Value, field: &str, which: impl Fn(&Value) -> bool) {
    let Some(items) = resource.get_mut(field).and_then(Value::as_array_mut) else { return };
    items.retain(|item| !which(item));
    if items.is_empty() {
        set(resource, field, Value::Null);
    }
}

fn gender(name: &str) -> Value {
    match name {
        "Male" => "male".into(),
        "Female" => "female".into(),
        "Other" => "other".into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use adapter_sdk::testing::Host;

    use super::*;

    fn settings() -> Settings {
        Host::new().config("location", "L").run(Settings::read).unwrap()
    }

    fn somebody() -> records::Patient {
        records::Patient {
            first_name: "Zoë".into(),
            middle_name: Some("Ann".into()),
            last_name: "Łopata".into(),
            date_of_birth: Some("1990-02-28".into()),
            gender: Some("Female".into()),
            email: Some("z@mail.example".into()),
            cell_phone: Some("1".into()),
            work_phone: Some("2".into()),
            work_phone_extension: Some("17".into()),
            address: Some(records::Address { city: Some("Bern".into()), ..records::Address::default() }),
            guarantor: Some("g".into()),
            provider: Some("d".into()),
            billing_type: Some("cash".into()),
            chart_id: Some("C-1".into()),
            preferred_language: Some("fr".into()),
            premedication: Some("amoxicillin".into()),
            non_patient: true,
            unsubscribed_sms: true,
            ..records::Patient::default()
        }
    }

    #[test]
    fn every_field_is_written_and_read_back() {
        let mut created = patient(&settings(), "k", &somebody());
        created["id"] = "p".into();
        let read = map::patient_record(created).unwrap();
        assert_eq!(read, records::Patient { id: "p".into(), ..somebody() });
    }

    #[test]
    fn a_change_touches_what_it_changes_and_nothing_else() {
        let theirs = json!({"resourceType": "Patient", "id": "p", "active": true, "birthDate": "1969-10",
            "name": [{"use": "old", "family": "Before"}, {"use": "official", "family": "Łopata", "given": ["Zoë"],
                "prefix": ["Dr."], "text": "Dr. Zoë Łopata"}],
            "telecom": [{"system": "phone", "use": "old", "value": "0"}, {"system": "phone", "use": "home", "value": "1"},
                {"system": "fax", "value": "9"}],
            "communication": [{"language": {"coding": [{"code": "fr-CA"}]}}],
            "maritalStatus": {"text": "M"}, "contact": [{"name": {"text": "Mother"}}]});
        let wanted = map::patient_record(theirs.clone()).unwrap();
        let same = changed(&settings(), "k", &theirs, &wanted).unwrap();
        let mut expected = theirs.clone();
        expected["identifier"] = json!([{"use": "secondary", "system": "urn:practice-sync:write-key", "value": "k"}]);
        assert_eq!(same, expected, "nothing but the key");
        let moved =
            records::Patient {
                last_name: "Ångström".into(), home_phone: None, cell_phone: Some("2".into()), ..wanted
            };
        let moved = changed(&settings(), "k", &theirs, &moved).unwrap();
        assert_eq!(
            moved["name"][1],
            json!({"use": "official", "family": "Ångström", "given": ["Zoë"], "prefix": ["Dr."]})
        );
        assert_eq!(
            moved["telecom"],
            json!([{"system": "phone", "use": "old", "value": "0"},
            {"system": "fax", "value": "9"}, {"system": "phone", "use": "mobile", "value": "2"}])
        );
        for untouched in ["birthDate", "communication", "maritalStatus", "contact"] {
            assert_eq!(moved[untouched], theirs[untouched], "{untouched}");
        }
        assert_eq!(moved["name"][0], theirs["name"][0]);
    }
}
