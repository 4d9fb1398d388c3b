//! Lookups of referenced resources, for a whole page at once. The results are added to the JSON, so that the mapping
//! needs no further requests: practitioners of roles, specialties of practitioners, forms of canonical addresses,
//! medications of references.

use std::collections::{BTreeMap, BTreeSet};

use adapter_sdk::{Fault, warn};
use serde_json::{Value, json};

use crate::{
    client::{self, text},
    requests,
    responses::{Period, Reference},
    settings::Settings,
    time::instant,
};

/// Ids per search, to limit the length of the query.
const AT_ONCE: usize = 80;

pub fn enrich(settings: &Settings, resource_type: &str, resources: &mut [Value]) -> Result<(), Fault> {
    match resource_type {
        "Appointment" => {
            slots_of(settings, resources)?;
            roles_of(settings, resources)
        }
        "Practitioner" => practitioners(settings, resources),
        "QuestionnaireResponse" => responses(settings, resources),
        "MedicationStatement" | "MedicationRequest" => medications(settings, resources),
        _ => Ok(()),
    }
}

/// Adds missing times, practitioners and rooms to appointments from their slots and schedules.
pub fn slots_of(settings: &Settings, appointments: &mut [Value]) -> Result<(), Fault> {
    let lacks_end = |a: &Value| a["end"].is_null() && a["minutesDuration"].is_null();
    let lacking = |a: &Value| {
        let nobody = actor(a, "Practitioner").or_else(|| actor(a, "PractitionerRole")).is_none();
        a["start"].is_null() || lacks_end(a) || nobody || actor(a, "Location").is_none()
    };
    let named = |a: &Value| -> Vec<String> {
        let slots = a["slot"].as_array().filter(|_| settings.slots && lacking(a));
        slots.into_iter().flatten().filter_map(|slot| Reference::from_value(slot).id_of("Slot")).collect()
    };
    let ids: BTreeSet<String> = appointments.iter().flat_map(named).collect();
    let slots = by_id(settings, "Slot", ids)?;
    let schedule = |slot: &Value| Reference::from_value(&slot["schedule"]).id_of("Schedule");
    let schedules = by_id(settings, "Schedule", slots.values().filter_map(schedule).collect())?;
    for appointment in appointments {
        let held: Vec<&Value> = named(appointment).iter().filter_map(|id| slots.get(id)).collect();
        let first = held.iter().min_by_key(|slot| instant(text(slot, "start")));
        let last = held.iter().max_by_key(|slot| instant(text(slot, "end")));
        if let (Some(first), Some(last)) = (first, last) {
            let whole = appointment["start"].is_null();
            if whole {
                appointment["start"] = first["start"].clone();
            }
            if whole || lacks_end(appointment) {
                appointment["end"] = last["end"].clone();
            }
        }
        let actors: Vec<Value> = held
            .iter()
            .filter_map(|slot| schedules.get(&schedule(slot)?)?["actor"].as_array())
            .flatten()
            .cloned()
            .collect();
        for kind in ["Practitioner", "Location"] {
            let there = actor(appointment, kind).is_some()
                || (kind == "Practitioner" && actor(appointment, "PractitionerRole").is_some());
            let found = actors.iter().find_map(|actor| Reference::from_value(actor).id_of(kind)).filter(|_| !there);
            if let Some(id) = found {
                let participant = json!({"actor": {"reference": format!("{kind}/{id}")}, "status": "accepted"});
                requests::push(appointment, "participant", participant);
            }
        }
    }
    Ok(())
}

/// Reads resources by id. Those that the server does not return are omitted.
fn by_id(settings: &Settings, resource_type: &str, ids: BTreeSet<String>) -> Result<BTreeMap<String, Value>, Fault> {
    let found = find_by_ids(settings, resource_type, "_id", ids.into_iter().collect());
    let unread = format!("{resource_type} resources that are referred to cannot be read");
    let found = client::unless_refused(found, &unread)?;
    Ok(found.into_iter().map(|resource| (text(&resource, "id").to_owned(), resource)).collect())
}

/// Adds the practitioners of the roles among the participants of appointments.
pub fn roles_of(settings: &Settings, appointments: &mut [Value]) -> Result<(), Fault> {
    let roles = |a: &Value| -> Vec<(String, Value)> {
        let all = a["participant"].as_array().into_iter().flatten();
        all.filter_map(|p| Some((Reference::from_value(&p["actor"]).id_of("PractitionerRole")?, p.clone()))).collect()
    };
    let ids = appointments.iter().flat_map(roles).map(|(role, _)| role).collect();
    let practitioners = by_role(settings, ids, false)?;
    for appointment in appointments {
        for (role, mut participant) in roles(appointment) {
            if let Some(id) = practitioners.get(&role) {
                participant["actor"] = json!({"reference": format!("Practitioner/{id}")});
                requests::push(appointment, "participant", participant);
            }
        }
    }
    Ok(())
}

/// Removes inactive practitioners; unknown ones stay.
pub fn active(settings: &Settings, practitioners: Vec<String>) -> Result<Vec<String>, Fault> {
    let known = by_id(settings, "Practitioner", practitioners.iter().cloned().collect())?;
    let is_active = |id: &String| known.get(id).is_none_or(|practitioner| practitioner["active"] != false);
    Ok(practitioners.into_iter().filter(is_active).collect())
}

fn is_current(role: &Value) -> bool {
    role["active"] != false && period(role).is_current()
}

/// Returns the practitioner of each role; with `held`, only of current roles.
pub fn by_role(settings: &Settings, roles: BTreeSet<String>, held: bool) -> Result<BTreeMap<String, String>, Fault> {
    let mut practitioners = BTreeMap::new();
    let all = find_by_ids(settings, "PractitionerRole", "_id", roles.into_iter().collect())?;
    for role in all.into_iter().filter(|role| !held || is_current(role)) {
        if let Some(id) = Reference::from_value(&role["practitioner"]).id_of("Practitioner") {
            practitioners.insert(text(&role, "id").to_owned(), id);
        }
    }
    Ok(practitioners)
}

/// Adds to practitioners the code of their first specialty in an active role.
fn practitioners(settings: &Settings, practitioners: &mut [Value]) -> Result<(), Fault> {
    if settings.resources.as_ref().is_some_and(|names| !names.contains("PractitionerRole")) {
        return Ok(());
    }
    let ids = practitioners.iter().map(|p| text(p, "id").to_owned()).collect();
    let mut specialties: BTreeMap<String, String> = BTreeMap::new();
    let roles = match find_by_ids(settings, "PractitionerRole", "practitioner", ids) {
        // The server has no roles, or does not permit reading them.
        Err(Fault::Rejected(_) | Fault::Unsupported(_)) => return Ok(()),
        roles => roles?,
    };
    for role in roles.iter().filter(|role| is_current(role)) {
        let code = role["specialty"][0]["coding"][0]["code"].as_str();
        if let (Some(id), Some(code)) = (Reference::from_value(&role["practitioner"]).id_of("Practitioner"), code) {
            // The smallest code, so that the result does not depend on the server's order.
            let held = specialties.entry(id).or_insert_with(|| code.to_owned());
            if code < held.as_str() {
                *held = code.to_owned();
            }
        }
    }
    for practitioner in practitioners {
        if let Some(code) = specialties.get(text(practitioner, "id")) {
            practitioner["_specialty"] = code.as_str().into();
        }
    }
    Ok(())
}

/// Replaces the canonical address of a form in responses by the form's id.
fn responses(settings: &Settings, responses: &mut [Value]) -> Result<(), Fault> {
    let mut forms: BTreeMap<String, Option<String>> = BTreeMap::new();
    for response in responses {
        let canonical = text(response, "questionnaire").split('|').next().unwrap_or_default().to_owned();
        if canonical.is_empty() {
            continue;
        }
        let id = match forms.get(&canonical) {
            Some(id) => id.clone(),
            None => {
                let id = form(settings, &canonical)?;
                forms.insert(canonical, id.clone());
                id
            }
        };
        response["questionnaire"] = id.map_or(Value::Null, Value::from);
    }
    Ok(())
}

/// Returns the id of a form. `Questionnaire/5` contains the id; other addresses are looked up.
fn form(settings: &Settings, canonical: &str) -> Result<Option<String>, Fault> {
    if let Some(id) = canonical.strip_prefix("Questionnaire/") {
        return Ok(Some(id.to_owned()));
    }
    let search = requests::search("Questionnaire", &[("url", canonical.to_owned())]);
    let found = client::first(settings, "Questionnaire", &search, 10)?;
    let form = found.iter().find(|form| form["url"] == canonical).map(|form| text(form, "id").to_owned());
    let by_id = Reference { reference: Some(canonical.to_owned()) }.id_of("Questionnaire");
    if form.is_none() && by_id.is_none() {
        warn!("responses to a form that the server does not have are skipped");
    }
    Ok(form.or(by_id))
}

/// Adds the concept of a referenced medication to statements and prescriptions: from the contained or referenced
/// Medication, else from the display of the reference. A reference without either is unchanged.
fn medications(settings: &Settings, statements: &mut [Value]) -> Result<(), Fault> {
    let wanting = |s: &Value| s["medicationCodeableConcept"].is_null();
    let referred = |s: &Value| Reference::from_value(&s["medicationReference"]).id_of("Medication");
    let ids: BTreeSet<String> = statements.iter().filter(|s| wanting(s)).filter_map(referred).collect();
    let found = find_by_ids(settings, "Medication", "_id", ids.into_iter().collect());
    let found = client::unless_refused(found, "medications behind references are known by their display only")?;
    let concepts: BTreeMap<&str, &Value> = found.iter().map(|m| (text(m, "id"), &m["code"])).collect();
    for statement in statements.iter_mut().filter(|s| wanting(s)) {
        let pointer = &statement["medicationReference"];
        let inside = text(pointer, "reference").strip_prefix('#').and_then(|id| {
            let contained = statement["contained"].as_array()?;
            contained.iter().find(|resource| text(resource, "id") == id).map(|medication| &medication["code"])
        });
        let concept = inside.or_else(|| concepts.get(referred(statement)?.as_str()).copied());
        let concept = concept.filter(|code| code["coding"][0]["code"].is_string() || code["text"].is_string()).cloned();
        let shown = pointer["display"].as_str().map(|display| json!({"text": display}));
        if let Some(concept) = concept.or(shown) {
            statement["medicationCodeableConcept"] = concept;
        }
    }
    Ok(())
}

fn find_by_ids(
    settings: &Settings,
    resource_type: &str,
    parameter: &str,
    ids: Vec<String>,
) -> Result<Vec<Value>, Fault> {
    let mut found = Vec::new();
    for some in ids.chunks(AT_ONCE) {
        let search = requests::search(resource_type, &[(parameter, some.join(","))]);
        // A server that does not support the search parameter returns arbitrary resources.
        let asked = |resource: &Value| parameter != "_id" || some.iter().any(|id| resource["id"] == id.as_str());
        found.extend(client::all(settings, resource_type, &search)?.into_iter().filter(asked));
    }
    Ok(found)
}

fn actor(appointment: &Value, resource_type: &str) -> Option<String> {
    let participants = appointment["participant"].as_array()?;
    let there = participants.iter().filter(|participant| participant["status"] != "declined");
    there.into_iter().find_map(|participant| Reference::from_value(&participant["actor"]).id_of(resource_type))
}

fn period(resource: &Value) -> Period {
    serde_json::from_value(resource["period"].clone()).unwrap_or_default()
}
