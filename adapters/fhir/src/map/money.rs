//! Payments: a PaymentNotice about a patient with a contained PaymentReconciliation.

use adapter_sdk::{Record, records};
use serde_json::Value;

use super::{Unmapped, amount, read};
use crate::{responses::filed::PaymentNotice, settings::Settings, time::date};

pub fn payment(resource: Value, settings: &Settings) -> Result<Record, Unmapped> {
    let p: PaymentNotice = read(resource)?;
    if matches!(p.status.as_str(), "entered-in-error" | "draft" | "cancelled") {
        return Err(Unmapped::by_status(&p.status));
    }
    let inside = p.contained.iter().find(|c| c["resourceType"] == "PaymentReconciliation").unwrap_or(&Value::Null);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let paid_at = p.payment_date.clone().or(text(&inside["paymentDate"]));
    Ok(Record::Payment(records::Payment {
        patient: p.request.id_of("Patient"),
        provider: p.provider.id_of("Practitioner"),
        claim: p.request.id_of("Claim"),
        amount: amount(&p.amount, settings).ok_or("it has no amount that can be read")?,
        paid_at: paid_at.as_deref().and_then(date),
        transaction_id: text(&inside["paymentIdentifier"]["value"]),
        description: text(&inside["processNote"][0]["text"]),
        id: p.id,
        ..records::Payment::default()
    }))
}
