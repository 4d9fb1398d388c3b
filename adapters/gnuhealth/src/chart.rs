//! Writes of a patient's chart: history, coverage, notes.

use adapter_sdk::{
    Fault, Receipt,
    notes::Note,
    records::{CommunicationLog, Coverage, HistoryCategory, InsurancePlan, PatientHistoryItem},
    warn,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    client,
    conventions::note,
    patients,
    requests::{self, Place},
    responses::{Named, PartyOf, PlanCompany},
    settings::Settings,
    values::Flag,
};

const CONDITION: &str = "gnuhealth.patient.disease";
const MEDICATION: &str = "gnuhealth.patient.medication";
const INSURANCE: &str = "gnuhealth.insurance";
const NOTE: &str = "ir.note";

/// A model with write keys in one of its text fields.
pub struct Keyed {
    model: &'static str,
    field: &'static str,
    fields: &'static [&'static str],
}

const CONDITIONS: Keyed = Keyed { model: CONDITION, field: "extra_info", fields: &["extra_info", "is_active"] };
const MEDICATIONS: Keyed = Keyed { model: MEDICATION, field: "notes", fields: &["notes", "is_active"] };
pub const INSURANCES: Keyed = Keyed { model: INSURANCE, field: "notes", fields: &["notes"] };
pub const NOTES: Keyed = Keyed { model: NOTE, field: "message", fields: &["message"] };

impl Keyed {
    fn find(&self, key: &str) -> Result<Option<i64>, Fault> {
        let rows = client::rows(&requests::by_key(self.model, self.field, key), &self.fields)?.rows;
        let ours = rows.iter().find(|row| note(row[self.field].as_str()).carries(key));
        Ok(ours.and_then(|row| row["id"].as_i64()))
    }

    pub fn find_receipt(&self, key: &str) -> Result<Option<Receipt>, Fault> {
        Ok(self.find(key)?.map(Receipt::new))
    }

    fn read(&self, id: i64) -> Result<Option<Value>, Fault> {
        Ok(client::rows(&requests::by_id(self.model, id), &self.fields)?.rows.pop())
    }
}

pub fn create_note(_: &Settings, key: &str, log: &CommunicationLog) -> Result<Receipt, Fault> {
    client::create(NOTE, &requests::note(key, log)?).map(Receipt::new)
}

pub fn create_plan(settings: &Settings, key: &str, plan: &InsurancePlan) -> Result<Receipt, Fault> {
    let place =
        plan.address.as_ref().map_or(Ok(Place::default()), |address| patients::place_of_address(settings, address))?;
    if plan.fee_schedule.is_some() || plan.annual_max_individual.is_some() || plan.benefit_year_renewal_month.is_some()
    {
        warn!("the EHR has no field for fee-schedule, annual-max-individual, benefit-year-renewal-month");
    }
    client::create("party.party", &requests::insurer(key, plan, &place)).map(plan_receipt)
}

pub fn find_plan(key: &str) -> Result<Option<Receipt>, Fault> {
    let found = client::first::<Named>(&requests::by_identifier("party.party", "", key))?;
    Ok(found.map(|row| plan_receipt(row.id)))
}

fn plan_receipt(id: i64) -> Receipt {
    Receipt::new(format!("party.party,{id}"))
}

pub fn create_coverage(_: &Settings, key: &str, coverage: &Coverage) -> Result<Receipt, Fault> {
    let party = party_of(&coverage.patient)?;
    let unknown = || Fault::rejected("the EHR has no such insurance plan");
    let (company, plan) = match requests::reference(&coverage.plan).ok_or_else(unknown)? {
        ("gnuhealth.insurance.plan", plan) => {
            let held = client::first::<PlanCompany>(&requests::by_id("gnuhealth.insurance.plan", plan))?;
            (held.ok_or_else(unknown)?.company, Some(plan))
        }
        ("party.party", company) => (company, None),
        _ => return Err(unknown()),
    };
    client::create(INSURANCE, &requests::insurance(key, coverage, party, company, plan)?).map(Receipt::new)
}

/// Deletes a coverage. One already deleted by staff counts as deleted by this write.
pub fn delete_coverage(id: &str) -> Result<Receipt, Fault> {
    let number = requests::existing(id, "coverage")?;
    client::write(&requests::delete(INSURANCE, &[number])).map(|_| Receipt::new(number))
}

pub fn find_deleted_coverage(id: &str) -> Result<Option<Receipt>, Fault> {
    let number = requests::existing(id, "coverage")?;
    Ok(INSURANCES.read(number)?.is_none().then(|| Receipt::new(number)))
}

/// Creates or changes an entry of the history.
pub fn save_history(_: &Settings, key: &str, item: &PatientHistoryItem) -> Result<Receipt, Fault> {
    let keyed = keyed_of(item.category);
    let entry = requests::reference(&item.item).filter(|(model, _)| *model == catalogue_of(item.category));
    let (_, entry) = entry.ok_or_else(|| Fault::rejected("the EHR has no such entry in this catalogue"))?;
    let Some(id) = existing_id(item)? else {
        let values = requests::new_history(item, entry, &Note::new(item.note.as_deref(), key))?;
        return client::create(keyed.model, &values).map(|id| history_receipt(keyed.model, id));
    };
    let row = keyed.read(id)?.ok_or_else(|| Fault::rejected("the EHR no longer has the entry"))?;
    // The key of the creation stays.
    let text = Note { text: item.note.clone(), ..note(row[keyed.field].as_str()) };
    let values = requests::changed_history(item, is_active(&row), keyed.field, &text);
    client::write(&requests::write(keyed.model, id, None, &values)).map(|_| history_receipt(keyed.model, id))
}

/// Returns the entry created with this key; for a change, the entry if it has the wanted state.
pub fn find_history(_: &Settings, key: &str, item: &PatientHistoryItem) -> Result<Option<Receipt>, Fault> {
    let keyed = keyed_of(item.category);
    let Some(id) = existing_id(item)? else {
        return Ok(keyed.find(key)?.map(|id| history_receipt(keyed.model, id)));
    };
    let Some(row) = keyed.read(id)? else { return Ok(None) };
    let same = is_active(&row) == item.active && note(row[keyed.field].as_str()).text == item.note;
    Ok(same.then(|| history_receipt(keyed.model, id)))
}

fn is_active(row: &Value) -> bool {
    Flag::deserialize(&row["is_active"]).unwrap_or_default().0
}

/// Returns `None` for a new entry.
fn existing_id(item: &PatientHistoryItem) -> Result<Option<i64>, Fault> {
    if item.id.is_empty() {
        return Ok(None);
    }
    let own = requests::reference(&item.id).filter(|(model, _)| *model == keyed_of(item.category).model);
    own.map(|(_, id)| Some(id)).ok_or_else(|| Fault::rejected("the EHR has no such entry in the history"))
}

fn keyed_of(category: HistoryCategory) -> Keyed {
    if category == HistoryCategory::Medications { MEDICATIONS } else { CONDITIONS }
}

fn catalogue_of(category: HistoryCategory) -> &'static str {
    if category == HistoryCategory::Medications { "gnuhealth.medicament" } else { "gnuhealth.pathology" }
}

fn history_receipt(model: &str, id: i64) -> Receipt {
    Receipt::new(format!("{model},{id}"))
}

pub fn party_of(patient: &str) -> Result<i64, Fault> {
    let search = requests::by_id("gnuhealth.patient", requests::existing(patient, "patient")?);
    let row = client::first::<PartyOf>(&search)?.and_then(|row| row.party);
    row.ok_or_else(|| Fault::rejected("the EHR has no such patient"))
}
