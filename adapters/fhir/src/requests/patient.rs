//! Patients: new ones, and changes of the fields that differ from the patient as last pulled.

use adapter_sdk::{PatientChange, records};
use serde_json::{Value, json};

use super::{address, concept, given, key_identifier, push, reference, set, without};
use crate::{
    map::{self, EXTENSIONS, PHONE_EXTENSION, Unmapped},
    responses::{Address, ContactPoint, HumanName, Identifier, Reference},
    settings::Settings,
};

const SSN: &str = "http://hl7.org/fhir/sid/us-ssn";
pub(super) const IDENTIFIER_TYPES: &str = "http://terminology.hl7.org/CodeSystem/v2-0203";

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

/// Applies the changes. Values that are not pulled stay unchanged.
pub fn update(settings: &Settings, resource: &mut Value, wanted: &PatientChange) -> Result<(), Unmapped> {
    let mut shown = map::patient_record(resource.clone())?;
    // A reference to another server was not pulled as the practitioner.
    if let Some(provider) = wanted.before.as_ref().and_then(|before| before.provider.as_ref())
        && provider_at(resource, provider).is_some()
    {
        shown.provider = Some(provider.clone());
    }
    change(settings, resource, &shown, &wanted.onto(shown.clone()));
    Ok(())
}

/// Returns the names of fields that a Patient resource cannot contain, for the log.
pub fn unsupported(p: &records::Patient) -> Vec<String> {
    let alone = p.work_phone_extension.is_some() && p.work_phone.is_none();
    alone.then(|| "work-phone-extension".to_owned()).into_iter().collect()
}

fn change(settings: &Settings, resource: &mut Value, was: &records::Patient, p: &records::Patient) {
    let ssn = &p.ssn;
    let (was, p) = (&was.known(), &p.known());
    if (&was.first_name, &was.middle_name, &was.last_name) != (&p.first_name, &p.middle_name, &p.last_name) {
        name(resource, was, p);
    }
    for (usage, before, now) in [
        ("mobile", (&was.cell_phone, &None), (&p.cell_phone, &None)),
        ("home", (&was.home_phone, &None), (&p.home_phone, &None)),
        ("work", (&was.work_phone, &was.work_phone_extension), (&p.work_phone, &p.work_phone_extension)),
    ] {
        if before != now {
            let (number, extension) = now;
            contact(resource, ("phone", Some(usage)), before.0, number, extension);
        }
    }
    if was.primary_phone != p.primary_phone {
        contact(resource, ("phone", None), &was.primary_phone, &p.primary_phone, &None);
    }
    if was.email != p.email {
        contact(resource, ("email", None), &was.email, &p.email, &None);
    }
    if was.gender != p.gender {
        set(resource, "gender", json!(p.gender));
    }
    if was.date_of_birth != p.date_of_birth {
        set(resource, "birthDate", json!(p.date_of_birth));
        // The extension contains the time of birth and the previous date.
        set(resource, "_birthDate", Value::Null);
    }
    if was.address != p.address {
        main_address(resource, p.address.as_ref());
    }
    if was.preferred_language != p.preferred_language {
        let spoken = p.preferred_language.as_ref().map(|code| concept(Some("urn:ietf:bcp:47"), code, None));
        let at = map::language(&map::each(items(resource, "communication")));
        let new = json!({"language": spoken, "preferred": true});
        exchange(resource, "communication", at, spoken.map(|spoken| ("language", spoken, new)));
    }
    if was.provider != p.provider {
        let at = was.provider.as_ref().and_then(|id| provider_at(resource, id));
        let new = p.provider.as_ref().map(|id| reference("Practitioner", id));
        // The display contains the previous practitioner's name.
        match (at, new) {
            (Some(at), Some(new)) => resource["generalPractitioner"][at] = new,
            (None, Some(new)) => push(resource, "generalPractitioner", new),
            (at, None) => exchange(resource, "generalPractitioner", at, None),
        }
    }
    if was.inactive != p.inactive {
        resource["active"] = (!p.inactive).into();
    }
    if was.chart_id != p.chart_id {
        identifier(resource, "MR", settings.chart_system.as_deref(), p.chart_id.as_deref());
    }
    // The number is never pulled: `None` changes nothing, an empty text removes it.
    if let Some(ssn) = ssn {
        identifier(resource, "SS", Some(SSN), Some(ssn.as_str()).filter(|ssn| !ssn.trim().is_empty()));
    }
    beyond(resource, was, p);
}

/// Changes the fields that are stored in extensions.
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

/// Sets or removes one of our extensions.
pub fn extension(resource: &mut Value, record: &str, field: &str, kind: &str, value: Value) {
    let url = format!("{EXTENSIONS}:{record}:{field}");
    without(resource, "extension", |e| e["url"] == url.as_str());
    if !value.is_null() {
        push(resource, "extension", json!({"url": url, kind: value}));
    }
}

fn items<'a>(resource: &'a Value, field: &str) -> &'a [Value] {
    resource[field].as_array().map_or(&[], Vec::as_slice)
}

fn provider_at(resource: &Value, id: &str) -> Option<usize> {
    let practitioner = |one: &Value| Reference::from_value(one).id_of("Practitioner");
    items(resource, "generalPractitioner").iter().position(|one| practitioner(one).as_deref() == Some(id))
}

/// Replaces a part of the item at an index and leaves the rest of the item unchanged. Without an index the new item is
/// appended. `None` removes the item.
fn exchange(resource: &mut Value, field: &str, at: Option<usize>, value: Option<(&str, Value, Value)>) {
    match (at, value) {
        (Some(at), Some((part, value, _))) => {
            let item = &mut resource[field][at];
            set(item, part, value);
            set(item, &format!("_{part}"), Value::Null);
        }
        (None, Some((_, _, new))) => push(resource, field, given(new)),
        (Some(at), None) => {
            let mut place = 0..;
            without(resource, field, |_| place.next() == Some(at));
        }
        (None, None) => (),
    }
}

/// Changes the first text of a list, and the rest of the list, if they differ from the pulled values.
fn exchange_texts(item: &mut Value, field: &str, was: [&Option<String>; 2], now: [&Option<String>; 2]) {
    let is_text = |text: &Value| text.as_str().is_some_and(|text| !text.trim().is_empty());
    let first = items(item, field).iter().position(is_text);
    match (first, now[0]) {
        _ if was == now => (),
        (Some(first), Some(text)) if was[1] == now[1] && !text.is_empty() => item[field][first] = text.as_str().into(),
        _ => {
            set(item, field, json!(now));
            set(item, &format!("_{field}"), Value::Null);
        }
    }
}

/// Changes the pulled name in place; its other parts stay.
fn name(resource: &mut Value, was: &records::Patient, p: &records::Patient) {
    let names: Vec<HumanName> = map::each(items(resource, "name"));
    let at = match map::main_name(&names) {
        Some(at) => at,
        None => {
            push(resource, "name", json!({"use": "official"}));
            items(resource, "name").len() - 1
        }
    };
    let in_parts = names.get(at).is_some_and(|name| name.family.is_some());
    let name = &mut resource["name"][at];
    if was.last_name != p.last_name || !in_parts {
        set(name, "family", json!(p.last_name));
        set(name, "_family", Value::Null);
    }
    let (before, now) = (Some(was.first_name.clone()), Some(p.first_name.clone()));
    let before = if in_parts { before } else { None };
    exchange_texts(name, "given", [&before, &was.middle_name], [&now, &p.middle_name]);
    // The text would contradict the new parts.
    set(name, "text", Value::Null);
}

/// Replaces the pulled contact in place, or removes it. Other contacts stay.
fn contact(
    resource: &mut Value,
    (system, usage): (&str, Option<&str>),
    shown: &Option<String>,
    value: &Option<String>,
    extension: &Option<String>,
) {
    let points: Vec<ContactPoint> = map::each(items(resource, "telecom"));
    let at = match (system, usage) {
        ("phone", Some("mobile")) => map::cell(&points),
        _ => map::point(&points, system, usage.as_slice()),
    };
    let at = at.filter(|_| shown.is_some());
    let value = value.as_deref().filter(|value| !value.is_empty());
    let at = match value.is_some() {
        true => at,
        false => return exchange(resource, "telecom", at, None),
    };
    let at = at.unwrap_or_else(|| {
        push(resource, "telecom", given(json!({"system": system, "use": usage})));
        items(resource, "telecom").len() - 1
    });
    let point = &mut resource["telecom"][at];
    if point["value"] != json!(value) {
        set(point, "value", json!(value));
        set(point, "_value", Value::Null);
    }
    if usage == Some("work") {
        without(point, "extension", |e| e["url"] == PHONE_EXTENSION);
        if let Some(text) = extension {
            push(point, "extension", json!({"url": PHONE_EXTENSION, "valueString": text}));
        }
    }
}

fn main_address(resource: &mut Value, wanted: Option<&records::Address>) {
    let held: Vec<Address> = map::each(items(resource, "address"));
    match (map::main_address(&held), wanted) {
        (Some(at), Some(wanted)) => {
            let (shown, new) = (map::address(&held[at]), address(wanted));
            let was = address(&shown);
            let place = &mut resource["address"][at];
            exchange_texts(place, "line", [&shown.line1, &shown.line2], [&wanted.line1, &wanted.line2]);
            // A country that is not a two-letter code is not pulled.
            for field in ["city", "state", "postalCode", "country"] {
                if was[field] != new[field] {
                    set(place, field, new[field].clone());
                    set(place, &format!("_{field}"), Value::Null);
                }
            }
            // The text would contradict the new parts.
            set(place, "text", Value::Null);
        }
        (None, Some(wanted)) => push(resource, "address", address(wanted)),
        (at, None) => exchange(resource, "address", at, None),
    }
}

/// Replaces the value of the pulled identifier of a kind. Social security numbers are never pulled; when cleared, all
/// are removed.
fn identifier(resource: &mut Value, code: &str, system: Option<&str>, value: Option<&str>) {
    let coded = |i: &Identifier| map::has_code(i, code);
    let of_system = |i: &Identifier| system.is_some() && i.system.as_deref() == system;
    let all: Vec<Identifier> = map::each(items(resource, "identifier"));
    if code == "SS" && value.is_none() {
        let mut each = all.iter();
        return without(resource, "identifier", |_| each.next().is_some_and(|i| coded(i) || of_system(i)));
    }
    let at = map::identifier(&all, coded).or_else(|| map::identifier(&all, of_system));
    let kind = concept(Some(IDENTIFIER_TYPES), code, None);
    let value = value.map(|text| ("value", json!(text), json!({"type": kind, "system": system, "value": text})));
    exchange(resource, "identifier", at, value);
}
