//! Allergies, conditions and medications. FHIR has no catalogues, so the codes in a practice's records are the
//! catalogue, together with the setting `history_items`.

use adapter_sdk::{
    Record, limits,
    records::{self, HistoryCategory},
};
use serde_json::Value;

use super::{Unmapped, patient_of, read};
use crate::{
    responses::{CodeableConcept, filed::History},
    settings::{HistoryItem, Settings},
};

/// The types of a patient's medical history.
pub const TYPES: [&str; 4] = ["AllergyIntolerance", "Condition", "MedicationStatement", "MedicationRequest"];
/// Maximum bytes of a name used as a code.
const NAME_BYTES: usize = 150;

pub fn category(resource_type: &str) -> HistoryCategory {
    match resource_type {
        "AllergyIntolerance" => HistoryCategory::Allergies,
        "Condition" => HistoryCategory::Conditions,
        _ => HistoryCategory::Medications,
    }
}

/// Returns the type of new entries of a category.
pub fn resource_type(category: HistoryCategory) -> &'static str {
    match category {
        HistoryCategory::Allergies => "AllergyIntolerance",
        HistoryCategory::Conditions => "Condition",
        HistoryCategory::Medications => "MedicationStatement",
    }
}

/// Returns the type of an existing entry and its id.
pub fn parse_id(category_of: HistoryCategory, id: &str) -> Option<(&'static str, &str)> {
    let (kind, id) = id.split_once('/')?;
    let kind = TYPES.into_iter().find(|name| *name == kind && category(name) == category_of)?;
    Some((kind, id))
}

pub fn patient_item(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let resource_type = resource["resourceType"].as_str().unwrap_or_default().to_owned();
    let h: History = read(resource)?;
    let code = |concept: &CodeableConcept| concept.main_code().unwrap_or_default().to_owned();
    if code(&h.verification_status) == "entered-in-error" || h.status.as_deref() == Some("entered-in-error") {
        return Err(Unmapped::by_status("entered-in-error"));
    }
    if resource_type == "MedicationRequest" && !is_prescribed(&h) {
        return Err(Unmapped::NoRecord("it prescribes nothing".into()));
    }
    let category = category(&resource_type);
    let (item, _) = about(category, &h)?;
    let clinical = code(&h.clinical_status);
    let active = match resource_type.as_str() {
        "MedicationStatement" | "MedicationRequest" => {
            h.status.as_deref().is_none_or(|s| matches!(s, "active" | "intended" | "unknown"))
        }
        _ => matches!(clinical.as_str(), "" | "active" | "recurrence" | "relapse"),
    };
    let note: Vec<&str> = h.note.iter().map(|note| note.text.as_str()).filter(|text| !text.is_empty()).collect();
    Ok(Record::PatientHistoryItem(records::PatientHistoryItem {
        patient: patient_of(&h.patient)?,
        id: format!("{resource_type}/{}", h.id),
        category,
        item,
        note: (!note.is_empty()).then(|| limits::long(note.join("\n"))),
        active,
        extra: Vec::new(),
    }))
}

/// Returns `true` if the request prescribes. It may also be a draft, a proposal, or advice not to take a medication.
fn is_prescribed(request: &History) -> bool {
    let is_draft = request.status.as_deref() == Some("draft");
    let is_proposed = matches!(request.intent.as_deref(), Some("proposal" | "option"));
    !(is_draft || is_proposed || request.do_not_perform)
}

pub fn catalogue_entry(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let category = category(resource["resourceType"].as_str().unwrap_or_default());
    let h: History = read(resource)?;
    let (id, name) = about(category, &h)?;
    Ok(Record::HistoryItem(records::HistoryItem { id, category, name, extra: Vec::new() }))
}

fn about(category: HistoryCategory, h: &History) -> Result<(String, String), Unmapped> {
    let points = h.medication_reference.as_ref().is_some_and(|pointer| pointer.reference.is_some());
    let lacking = if points { "its medication is not to be found" } else { "it has neither a code nor a text" };
    item(category, &h.code).ok_or_else(|| lacking.into())
}

/// Returns id and name of the catalogue item of a concept.
pub fn item(category: HistoryCategory, concept: &CodeableConcept) -> Option<(String, String)> {
    let coding = concept.main_coding();
    let text = concept.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    match coding {
        Some(coding) => {
            let code = coding.code.as_deref().unwrap_or_default();
            // The display of a code is the same for all patients; a text is individual.
            let name = coding.display.as_deref().or(text).unwrap_or(code);
            let id = id_of(category, coding.system.as_deref().unwrap_or_default(), code);
            // A code too long for an identifier is replaced by its name.
            let id = if limits::is_id(&id) { id } else { named(category, name) };
            Some((id, short(name).to_owned()))
        }
        None => text.map(|text| (named(category, text), short(text).to_owned())),
    }
}

/// Returns an item of the setting `history_items`.
pub fn configured(item: &HistoryItem) -> records::HistoryItem {
    let id = match &item.code {
        Some(code) => id_of(item.category, item.system.as_deref().unwrap_or_default(), code),
        None => named(item.category, &item.name),
    };
    records::HistoryItem { id, category: item.category, name: short(&item.name).to_owned(), extra: Vec::new() }
}

/// Splits an id into category, code system and code. Without a system the code is a name.
pub fn parts(id: &str) -> Option<(HistoryCategory, Option<&str>, &str)> {
    let (word, rest) = id.split_once(':')?;
    let category = HistoryCategory::from_word(word)?;
    match rest.strip_prefix("text|") {
        Some(name) => Some((category, None, name)),
        None => rest.rsplit_once('|').map(|(system, code)| (category, Some(system), code)),
    }
}

fn id_of(category: HistoryCategory, system: &str, code: &str) -> String {
    format!("{}:{system}|{code}", category.word())
}

fn named(category: HistoryCategory, text: &str) -> String {
    let line = short(text).replace(char::is_control, " ");
    format!("{}:text|{line}", category.word())
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES)]
}
