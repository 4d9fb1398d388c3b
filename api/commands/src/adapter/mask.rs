//! Records printed on an author's terminal, with patient data masked and the format of values kept.

use adapter_conformance::masked;
use engine::records::{EhrRecord, Resource, Resource::*};
use serde_json::{Map, Value};

/// Resources that contain data of the practice, not of patients.
const CATALOGUES: [Resource; 16] = [
    Providers, Operatories, AppointmentTypes, AppointmentDescriptors, WorkingHours, InsurancePlans, HistoryItems,
    FormSchemas, ProcedureCodes, ProcedureCodeCategories, RecallTypes, DocumentTypes, FeeSchedules, Fees, PaymentTypes,
    AdjustmentTypes,
];

/// Identifiers, references, enumerated values and schedule times, which an author needs and which identify no patient.
pub(super) const SHOWN: [&str; 30] = [
    "id", "patient", "provider", "operatory", "appointment_type", "plan", "subscriber", "guarantor", "charge", "claim",
    "payment_plan", "insurance_plan", "payment_type", "adjustment_type", "procedure", "appointment", "item",
    "form_schema", "recall_type", "document_type", "treatment_plans", "procedures", "write_key", "version", "status",
    "relation", "category", "mode", "direction", "currency",
];

/// Returns the record as JSON. `hide` masks patient data: each letter becomes x and each digit 0.
pub(super) fn render(record: &EhrRecord, hide: bool) -> Value {
    let value = serde_json::to_value(record).unwrap_or_default();
    let fields = match value {
        Value::Object(tagged) => tagged.into_iter().next().map(|(_, fields)| fields).unwrap_or_default(),
        other => other,
    };
    match (hide && !CATALOGUES.contains(&record.resource()), fields) {
        (true, Value::Object(fields)) => Value::Object(fields.into_iter().map(field).collect::<Map<String, Value>>()),
        (_, fields) => fields,
    }
}

fn field((name, value): (String, Value)) -> (String, Value) {
    let value = if SHOWN.contains(&name.as_str()) { value } else { mask(value) };
    (name, value)
}

fn mask(value: Value) -> Value {
    match value {
        Value::String(text) => masked(&text).into(),
        Value::Array(all) => all.into_iter().map(mask).collect(),
        Value::Object(fields) => Value::Object(fields.into_iter().map(field).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use engine::records::{EhrPatient, EhrProvider};
    use serde_json::json;

    use super::*;

    #[test]
    fn patient_data_is_masked_and_identifiers_are_shown() {
        let patient = EhrPatient {
            id: "P-17".into(),
            first_name: "Zoë".into(),
            last_name: "O'Neill".into(),
            email: Some("zoe@mail.example".into()),
            provider: Some("D-1".into()),
            extra: vec![("nickname".into(), "Zo".into())],
            ..EhrPatient::default()
        };
        let record = EhrRecord::Patient(patient);
        let masked = render(&record, true);
        assert_eq!(masked["id"], "P-17");
        assert_eq!((&masked["first_name"], &masked["last_name"]), (&json!("Xxx"), &json!("X'Xxxxx")));
        assert_eq!((&masked["email"], &masked["provider"]), (&json!("xxx@xxxx.xxxxxxx"), &json!("D-1")));
        let text = masked.to_string();
        assert!(["Zo", "Neill", "example"].iter().all(|word| !text.contains(word)), "{text}");
        assert_eq!(render(&record, false)["first_name"], "Zoë");
        let provider = EhrProvider { id: "D-1".into(), last_name: "Abara".into(), ..EhrProvider::default() };
        assert_eq!(render(&EhrRecord::Provider(provider), true)["last_name"], "Abara");
    }
}
