//! Records that the engine keeps as fields: between the contract's types and [`EhrEntry`], through JSON in both directions.

use records::ehr::{EhrEntry, Fault, Operation, Resource};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    bindings::exports::practice_sync::ehr::ehr as wit,
    check::{self, Broken, Checked},
    fields,
};

/// Lists of the contract's records: absent means empty in ours, never in the contract's.
const LISTS: [&str; 7] =
    ["extra", "teeth", "treatment_plans", "procedures", "charge_splits", "provider_splits", "payouts"];

/// What a guest shows of a record: its fields without those that are not known. `kind` is the contract's name of it.
pub(crate) fn read<T: Serialize>(kind: &'static str, resource: Resource, from: &T) -> Checked<EhrEntry> {
    let mut fields = match serde_json::to_value(from) {
        Ok(Value::Object(fields)) => fields,
        _ => return Err(Broken { field: kind.into(), rule: "must be a record" }),
    };
    lower_category(resource, &mut fields);
    let id = match fields.remove("id") {
        Some(Value::String(id)) => check::id("id", id)?,
        _ => return Err(Broken { field: "id".into(), rule: "must be there" }),
    };
    fields::check(kind, &mut fields)?;
    Ok(EhrEntry { resource, id, fields })
}

/// The contract's case for a write; most resources are never written.
pub(crate) fn write(verb: Operation, entry: EhrEntry) -> Result<wit::Write, Fault> {
    Ok(match (entry.resource, verb) {
        (Resource::InsurancePlans, Operation::Create) => wit::Write::CreateInsurancePlan(typed(entry)?),
        (Resource::Coverages, Operation::Create) => wit::Write::CreateCoverage(typed(entry)?),
        (Resource::Coverages, Operation::Delete) => wit::Write::DeleteCoverage(entry.id),
        (Resource::PatientHistoryItems, Operation::Create | Operation::Update) => {
            wit::Write::SavePatientHistoryItem(typed(entry)?)
        }
        (Resource::PatientAlerts, Operation::Create) => wit::Write::CreatePatientAlert(typed(entry)?),
        (Resource::PatientAlerts, Operation::Update) => wit::Write::DisablePatientAlert(typed(entry)?),
        (Resource::CommunicationLogs, Operation::Create) => wit::Write::CreateCommunicationLog(typed(entry)?),
        (Resource::FormResponses, Operation::Create) => wit::Write::CreateFormResponse(typed(entry)?),
        (Resource::Payments, Operation::Create) => wit::Write::CreatePayment(typed(entry)?),
        (Resource::Adjustments, Operation::Create) => wit::Write::CreateAdjustment(typed(entry)?),
        (resource, verb) => {
            return Err(Fault::Unsupported(format!("the contract has no write for {verb:?} of {resource:?}")));
        }
    })
}

/// The contract's record of an entry. What it lacks is named; what is wrong in it may be patient data and is not.
fn typed<T: DeserializeOwned>(entry: EhrEntry) -> Result<T, Fault> {
    let EhrEntry { resource, id, mut fields } = entry;
    fields.insert("id".into(), id.into());
    for list in LISTS {
        fields.entry(list).or_insert_with(|| json!([]));
    }
    upper_category(resource, &mut fields);
    serde_json::from_value(Value::Object(fields)).map_err(|error| {
        let said = error.to_string();
        let reason =
            if said.starts_with("missing field") { said.as_str() } else { "a field is not as the contract has it" };
        Fault::Rejected(format!("{resource:?} cannot be written: {reason}"))
    })
}

/// The one enum in these records, `history-category`: the generated type spells it `Allergies`, we `allergies`.
fn lower_category(resource: Resource, fields: &mut Map<String, Value>) {
    spell_category(resource, fields, |text| text.to_ascii_lowercase());
}

fn upper_category(resource: Resource, fields: &mut Map<String, Value>) {
    spell_category(resource, fields, |text| {
        text.get(..1).map_or_else(String::new, |first| first.to_ascii_uppercase() + &text[1..])
    });
}

fn spell_category(resource: Resource, fields: &mut Map<String, Value>, spelt: impl Fn(&str) -> String) {
    if !matches!(resource, Resource::HistoryItems | Resource::PatientHistoryItems) {
        return;
    }
    if let Some(Value::String(text)) = fields.get_mut("category") {
        *text = spelt(text);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn entry(resource: Resource, fields: Value) -> EhrEntry {
        let Value::Object(fields) = fields else { panic!("an object") };
        EhrEntry { resource, id: String::new(), fields }
    }

    #[test]
    fn a_write_becomes_the_contracts_case() {
        let payment = json!({"patient": "P-1", "amount": {"amount": "12.50", "currency": "USD"},
            "charge_splits": [{"id": "C-1", "amount": {"amount": "12.50", "currency": "USD"}}]});
        let wit::Write::CreatePayment(payment) = write(Operation::Create, entry(Resource::Payments, payment)).unwrap()
        else {
            panic!("a payment")
        };
        assert_eq!((payment.amount.amount.as_str(), payment.charge_splits[0].id.as_str()), ("12.50", "C-1"));
        assert!(payment.extra.is_empty() && payment.provider_splits.is_empty());
        let item = json!({"patient": "P-1", "category": "medications", "item": "M-1", "active": true});
        let wit::Write::SavePatientHistoryItem(item) =
            write(Operation::Update, entry(Resource::PatientHistoryItems, item)).unwrap()
        else {
            panic!("an item")
        };
        assert!(matches!(
            item.category,
            super::super::bindings::practice_sync::ehr::types::HistoryCategory::Medications
        ));
        let gone = EhrEntry { id: "V-1".into(), ..entry(Resource::Coverages, json!({})) };
        assert!(matches!(write(Operation::Delete, gone), Ok(wit::Write::DeleteCoverage(id)) if id == "V-1"));
    }

    #[test]
    fn what_cannot_be_written_is_a_fault_without_its_value() {
        for (resource, verb) in [(Resource::Claims, Operation::Create), (Resource::Coverages, Operation::Update)] {
            assert!(matches!(write(verb, entry(resource, json!({}))), Err(Fault::Unsupported(_))));
        }
        let Err(Fault::Rejected(reason)) =
            write(Operation::Create, entry(Resource::PatientAlerts, json!({"patient": "P"})))
        else {
            panic!("an alert without its note")
        };
        assert!(reason.contains("`note`"), "{reason}");
        let sly = json!({"patient": "P", "note": "n", "disabled_at": "Zoë Łopata"});
        let Err(Fault::Rejected(reason)) = write(Operation::Create, entry(Resource::PatientAlerts, sly)) else {
            panic!()
        };
        assert!(!reason.contains("Zo"), "{reason}");
        let odd = json!({"patient": "P", "category": "ä", "item": "M", "active": true});
        assert!(matches!(write(Operation::Create, entry(Resource::PatientHistoryItems, odd)), Err(Fault::Rejected(_))));
    }
}
