//! A payment: a notice about a patient, with the payment itself inside.

use adapter_sdk::records;
use serde_json::{Number, Value, json};

use super::{key_identifier, object, optional};
use crate::{settings::Settings, time::instant_text};

/// `now` dates the notice, and the payment where nothing else does. None: the amount is no number.
pub fn payment(settings: &Settings, write_key: &str, p: &records::Payment, payee: &str, now: i64) -> Option<Value> {
    let amount = money(&p.amount)?;
    let today = instant_text(now);
    let paid_at = p.paid_at.clone().unwrap_or_else(|| today[..10].to_owned());
    let transaction = p.transaction_id.as_ref().map_or(Value::Null, |id| json!({"value": id}));
    let description = p.description.as_ref().map_or(Value::Null, |text| json!([{"type": "display", "text": text}]));
    let inside = object([
        ("resourceType", "PaymentReconciliation".into()),
        ("id", "payment".into()),
        ("status", "active".into()),
        ("created", today.as_str().into()),
        ("paymentDate", paid_at.as_str().into()),
        ("paymentAmount", amount.clone()),
        ("paymentIdentifier", transaction),
        ("processNote", description),
    ]);
    let patient = optional(&p.patient.as_ref().map(|id| format!("Patient/{id}")));
    let provider = p.provider.as_ref().map_or(Value::Null, |id| json!({"reference": format!("Practitioner/{id}")}));
    Some(object([
        ("resourceType", "PaymentNotice".into()),
        ("contained", json!([inside])),
        ("identifier", json!([key_identifier(settings, write_key, false)])),
        ("status", "active".into()),
        ("request", if patient.is_null() { Value::Null } else { json!({"reference": patient}) }),
        ("created", today.into()),
        ("provider", provider),
        ("payment", json!({"reference": "#payment"})),
        ("paymentDate", paid_at.into()),
        ("recipient", json!({"reference": format!("Organization/{payee}")})),
        ("amount", amount),
    ]))
}

/// What a notice has no place for, by name.
pub fn unsupported(p: &records::Payment) -> Vec<&'static str> {
    let fields = [
        ("guarantor", p.guarantor.is_some()),
        ("charge", p.charge.is_some()),
        ("claim", p.claim.is_some()),
        ("payment-plan", p.payment_plan.is_some()),
        ("insurance-plan", p.insurance_plan.is_some()),
        ("payment-type", p.payment_type.is_some()),
        ("charge-splits", !p.charge_splits.is_empty()),
        ("provider-splits", !p.provider_splits.is_empty()),
        ("extra", !p.extra.is_empty()),
    ];
    fields.into_iter().filter_map(|(name, set)| set.then_some(name)).collect()
}

pub fn money(money: &records::Money) -> Option<Value> {
    let value: Number = serde_json::from_str(&money.amount).ok()?;
    Some(json!({"value": value, "currency": money.currency}))
}
