//! A payment: a notice about a patient with a contained payment.

use adapter_sdk::{json, records, time::instant_text};
use serde_json::{Number, Value, json};

use super::{given, key_identifier, reference};
use crate::settings::Settings;

/// The fields of a payment that a notice can contain.
const KEPT: [&str; 7] = ["id", "patient", "provider", "amount", "paid_at", "transaction_id", "description"];

/// Builds the notice. `now` dates the notice, and the payment if it has no date. Returns `None` if the amount is not a
/// number.
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

/// Returns the names of fields that a notice cannot contain.
pub fn unsupported(p: &records::Payment) -> Vec<String> {
    let fields = json::fields(p).unwrap_or_default().into_iter().map(|(name, _)| name);
    fields.filter(|name| !KEPT.contains(&name.as_str())).map(|name| name.replace('_', "-")).collect()
}

pub fn money(money: &records::Money) -> Option<Value> {
    let value: Number = serde_json::from_str(&money.amount).ok()?;
    Some(json!({"value": value, "currency": money.currency}))
}
