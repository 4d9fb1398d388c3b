//! Patients: new ones, and those that are there changed where they are to be other than they are shown.

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
    let mut shown = map::patient_record(resource.clone())?;
    // A reference to another server was not shown as the practitioner.
    if let Some(provider) = wanted.before.as_ref().and_then(|before| before.provider.as_ref())
        && provider_at(resource, provider).is_some()
    {
        shown.provider = Some(provider.clone());
    }
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
        // The time of a birth has its date in it.
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
        // A display would name the practitioner before.
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

fn items<'a>(resource: &'a Value, field: &str) -> &'a [Value] {
    resource[field].as_array().map_or(&[], Vec::as_slice)
}

fn provider_at(resource: &Value, id: &str) -> Option<usize> {
    let practitioner = |one: &Value| Reference::of(one).id_of("Practitioner");
    items(resource, "generalPractitioner").iter().position(|one| practitioner(one).as_deref() == Some(id))
}

/// Sets a part of the item at a place to another value and leaves the rest of the item; without a place the new item is
/// added. `None` takes the item away.
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

/// Sets the first text of a list and the rest of it where they are to be other than they are shown.
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

/// The name that is shown, in its place; everything else of it stays.
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
    // It would contradict the new parts.
    set(name, "text", Value::Null);
}

/// Exchanges the contact that is shown for another, in its place and with what else it has, or takes it away. Others
/// stay.
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
            // A country that is no code of two letters is not shown.
            for field in ["city", "state", "postalCode", "country"] {
                if was[field] != new[field] {
                    set(place, field, new[field].clone());
                    set(place, &format!("_{field}"), Value::Null);
                }
            }
            // It would contradict the new parts.
            set(place, "text", Value::Null);
        }
        (None, Some(wanted)) => push(resource, "address", address(wanted)),
        (at, None) => exchange(resource, "address", at, None),
    }
}

/// Exchanges the value of the identifier of a kind that is shown. A social security number is never shown: cleared,
/// all of them go.
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
