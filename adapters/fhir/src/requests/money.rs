//! A payment: a notice about a patient, with the payment itself inside.

use adapter_sdk::records;
use serde_json::{Number, Value, json};

use super::{given, key_identifier, reference};
use crate::{settings::Settings, time::instant_text};

/// `now` dates the notice, and the payment where nothing else does. None: the amount is no number.
pub fn payment(settings: &Settings, write_key: &str, p: &records::Payment, payee: &str, now: i64) -> Option<Value> {
    let amount = money(&p.amount)?;
    let today = instant_text(now);
    let paid_at = p.paid_at.clone().unwrap_or_else(|| today[..10].to_owned());
    let inside = json!({
        "resourceType": "PaymentReconciliation",
        "id": "payment",
        "status": "active",
        "created": today,
        "paymentDate": paid_at,
        "paymentAmount": amount,
        "paymentIdentifier": {"value": p.transaction_id},
        "processNote": p.description.as_ref().map(|text| json!([{"type": "display", "text": text}])),
    });
    Some(given(json!({
        "resourceType": "PaymentNotice",
        "contained": [inside],
        "identifier": [key_identifier(settings, write_key)],
        "status": "active",
        "request": p.patient.as_ref().map(|id| reference("Patient", id)),
        "created": today,
        "provider": p.provider.as_ref().map(|id| reference("Practitioner", id)),
        "payment": {"reference": "#payment"},
        "paymentDate": paid_at,
        "recipient": reference("Organization", payee),
        "amount": amount,
    })))
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
