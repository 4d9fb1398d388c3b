//! Patients: new ones, and those that are there changed where they are to be other than they are shown.

use adapter_sdk::{PatientChange, records};
use serde_json::{Value, json};

use super::{address, concept, given, is_of_type, key_identifier, push, reference, set, without};
use crate::{
    map::{self, EXTENSIONS, PHONE_EXTENSION, Unmapped},
    responses::{Address, HumanName},
    settings::Settings,
};

const SSN: &str = "http://hl7.org/fhir/sid/us-ssn";
pub(super) const IDENTIFIER_TYPES: &str = "http://terminology.hl7.org/CodeSystem/v2-0203";

/// A new patient.
pub fn patient(settings: &Settings, write_key: &str, p: &records::Patient) -> Value {
    let mut resource = json!({
        "resourceType": "Patient",
        "active": !p.inactive,
        "identifier": [key_identifier(settings, write_key)],
    });
    let nobody = records::Patient { inactive: p.inactive, ..records::Patient::default() };
    change(settings, &mut resource, &nobody, p);
    resource
}

/// What is to be changed. What is not shown is not touched.
pub fn update(settings: &Settings, resource: &mut Value, wanted: &PatientChange) -> Result<(), Unmapped> {
    let shown = map::patient_record(resource.clone())?;
    change(settings, resource, &shown, &wanted.onto(shown.clone()));
    Ok(())
}

/// What a Patient resource has no place for, by name: said in the log, since it is lost.
pub fn unsupported(p: &records::Patient) -> Vec<String> {
    let alone = p.work_phone_extension.is_some() && p.work_phone.is_none();
    alone.then(|| "work-phone-extension".to_owned()).into_iter().collect()
}

fn change(settings: &Settings, resource: &mut Value, was: &records::Patient, p: &records::Patient) {
    let ssn = &p.ssn;
    let (was, p) = (&was.known(), &p.known());
    if (&was.first_name, &was.middle_name, &was.last_name) != (&p.first_name, &p.middle_name, &p.last_name) {
        name(resource, p);
    }
    for (usage, before, now) in [
        ("mobile", (&was.cell_phone, &None), (&p.cell_phone, &None)),
        ("home", (&was.home_phone, &None), (&p.home_phone, &None)),
        ("work", (&was.work_phone, &was.work_phone_extension), (&p.work_phone, &p.work_phone_extension)),
    ] {
        if before != now {
            let (number, extension) = now;
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
        set(resource, "gender", json!(p.gender));
    }
    if was.date_of_birth != p.date_of_birth {
        set(resource, "birthDate", json!(p.date_of_birth));
        // The time of a birth has its date in it.
        set(resource, "_birthDate", Value::Null);
    }
    if was.address != p.address {
        main_address(resource, p.address.as_ref());
    }
    if was.preferred_language != p.preferred_language {
        let spoken = p
            .preferred_language
            .as_ref()
            .map(|code| json!([{"language": concept(Some("urn:ietf:bcp:47"), code, None), "preferred": true}]));
        set(resource, "communication", json!(spoken));
    }
    if was.provider != p.provider {
        without(resource, "generalPractitioner", |practitioner| is_of_type(practitioner, "Practitioner"));
        if let Some(id) = &p.provider {
            push(resource, "generalPractitioner", reference("Practitioner", id));
        }
    }
    if was.inactive != p.inactive {
        resource["active"] = (!p.inactive).into();
    }
    if was.chart_id != p.chart_id {
        identifier(resource, "MR", settings.chart_system.as_deref(), p.chart_id.as_deref());
    }
    // It is never shown: absent says nothing, an empty one takes it away.
    if let Some(ssn) = ssn {
        identifier(resource, "SS", Some(SSN), Some(ssn.as_str()).filter(|ssn| !ssn.trim().is_empty()));
    }
    beyond(resource, was, p);
}

/// What only extensions hold.
fn beyond(resource: &mut Value, was: &records::Patient, p: &records::Patient) {
    let guarantor = |p: &records::Patient| json!(p.guarantor.as_ref().map(|id| reference("Patient", id)));
    for (field, kind, before, now) in [
        ("guarantor", "valueReference", guarantor(was), guarantor(p)),
        ("billing-type", "valueString", json!(was.billing_type), json!(p.billing_type)),
        ("premedication", "valueString", json!(was.premedication), json!(p.premedication)),
        ("non-patient", "valueBoolean", json!(was.non_patient), json!(p.non_patient)),
        ("unsubscribed-sms", "valueBoolean", json!(was.unsubscribed_sms), json!(p.unsubscribed_sms)),
        ("unsubscribed-email", "valueBoolean", json!(was.unsubscribed_email), json!(p.unsubscribed_email)),
    ] {
        if before != now {
            extension(resource, "patient", field, kind, now);
        }
    }
}

/// Sets an extension of ours, or takes it away.
pub fn extension(resource: &mut Value, record: &str, field: &str, kind: &str, value: Value) {
    let url = format!("{EXTENSIONS}:{record}:{field}");
    without(resource, "extension", |e| e["url"] == url.as_str());
    if !value.is_null() {
        push(resource, "extension", json!({"url": url, kind: value}));
    }
}

/// The name that is shown, in its place; everything else of it stays.
fn name(resource: &mut Value, p: &records::Patient) {
    let names: Vec<HumanName> = serde_json::from_value(resource["name"].clone()).unwrap_or_default();
    let at = match map::main_name(&names) {
        Some(at) => at,
        None => {
            push(resource, "name", json!({"use": "official"}));
            0
        }
    };
    let name = &mut resource["name"][at];
    set(name, "family", json!(p.last_name));
    set(name, "given", json!([p.first_name, p.middle_name]));
    // They would contradict the new parts.
    for other in ["text", "_family", "_given"] {
        set(name, other, Value::Null);
    }
}

/// Exchanges the contacts of a kind for one, or for none. Without a use: those of no use that is shown by itself, of mail all that are
/// not old.
fn contact(resource: &mut Value, system: &str, usage: Option<&str>, value: &Option<String>, extension: Option<Value>) {
    without(resource, "telecom", |point| {
        let of = point["use"].as_str();
        let sms = system == "phone" && usage == Some("mobile") && point["system"] == "sms";
        let same = match usage {
            Some(_) => of == usage,
            None if system == "email" => of != Some("old"),
            None => !matches!(of, Some("old" | "mobile" | "home" | "work")),
        };
        sms || (point["system"] == system && same)
    });
    if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
        let point = json!({"extension": extension, "system": system, "use": usage, "value": value});
        push(resource, "telecom", given(point));
    }
}

fn main_address(resource: &mut Value, wanted: Option<&records::Address>) {
    let held: Vec<Address> = serde_json::from_value(resource["address"].clone()).unwrap_or_default();
    match (map::main_address(&held), wanted.map(address)) {
        (Some(at), Some(new)) => {
            let shown = map::address(&held[at]);
            let place = &mut resource["address"][at];
            for field in ["line", "city", "state", "postalCode"] {
                set(place, field, new[field].clone());
            }
            // One that is no code of two letters is not shown.
            if wanted.is_some_and(|wanted| wanted.country != shown.country) {
                set(place, "country", new["country"].clone());
            }
            // They would contradict the new parts.
            for other in ["text", "_line"] {
                set(place, other, Value::Null);
            }
        }
        (None, Some(wanted)) => push(resource, "address", wanted),
        // Another one of the same use would take its place.
        (Some(at), None) => {
            let usage = resource["address"][at]["use"].clone();
            without(resource, "address", |address| address["use"] == usage);
        }
        (None, None) => (),
    }
}

fn identifier(resource: &mut Value, code: &str, system: Option<&str>, value: Option<&str>) {
    without(resource, "identifier", |i| {
        let coded = i["type"]["coding"].as_array().is_some_and(|all| all.iter().any(|coding| coding["code"] == code));
        coded || system.is_some_and(|system| i["system"] == system)
    });
    if let Some(value) = value {
        let kind = concept(Some(IDENTIFIER_TYPES), code, None);
        push(resource, "identifier", given(json!({"type": kind, "system": system, "value": value})));
    }
}
