//! Records other than the schedule's: rows with fields of the contract's names and meanings, and the validation by a
//! strict EHR.

use serde_json::{Map, Value};

use super::{
    SandboxEhr,
    records::{Filed, Record, Resource},
    refusals::{ValidationResult, invalid},
    wire::SandboxReply,
};

/// The fields of a write, separated by blanks. Resources without a form cannot be written from outside.
struct WritableFields {
    required: &'static str,
    optional: &'static str,
}

fn form(resource: Resource) -> Option<WritableFields> {
    let (required, optional) = match resource {
        Resource::InsurancePlans => (
            "name",
            "payer_id address group_number employer_name fee_schedule annual_max_individual benefit_year_renewal_month",
        ),
        Resource::Coverages => (
            "patient plan relation",
            "priority subscriber subscriber_name subscriber_date_of_birth subscriber_number effective_date \
             expiration_date insurance_type active",
        ),
        Resource::PatientHistoryItems => ("patient category item", "note active"),
        Resource::PatientAlerts => ("patient note", "disabled_at"),
        Resource::CommunicationLogs => ("patient note mode direction occurred_at", ""),
        Resource::FormResponses => ("patient form_schema answers_json submitted_at", ""),
        Resource::Payments => (
            "patient amount",
            "guarantor provider charge claim payment_plan insurance_plan payment_type paid_at transaction_id \
             description charge_splits provider_splits",
        ),
        Resource::Adjustments => (
            "patient amount",
            "guarantor provider charge claim adjustment_type adjusted_at transaction_id description charge_splits \
             provider_splits",
        ),
        _ => return None,
    };
    Some(WritableFields { required, optional })
}

/// Returns the resource that a field refers to.
fn target(resource: Resource, field: &str) -> Option<Resource> {
    Some(match field {
        "patient" | "guarantor" | "subscriber" => Resource::Patients,
        "provider" | "provider_splits.id" => Resource::Providers,
        "plan" | "insurance_plan" | "primary_plan" | "secondary_plan" => Resource::InsurancePlans,
        "fee_schedule" => Resource::FeeSchedules,
        "item" => Resource::HistoryItems,
        "form_schema" => Resource::FormSchemas,
        "appointment" => Resource::Appointments,
        "category" if resource == Resource::ProcedureCodes => Resource::ProcedureCodeCategories,
        "procedure_code" if resource == Resource::Fees => Resource::ProcedureCodes,
        "procedure" | "procedures" => Resource::Procedures,
        "treatment_plans" => Resource::TreatmentPlans,
        "recall_type" => Resource::RecallTypes,
        "document_type" => Resource::DocumentTypes,
        "charge" | "charge_splits.id" | "payouts.charge" => Resource::Charges,
        "claim" => Resource::Claims,
        "payment_plan" => Resource::PaymentPlans,
        "payment_type" => Resource::PaymentTypes,
        "adjustment_type" => Resource::AdjustmentTypes,
        _ => return None,
    })
}

/// Returns all references of a row as resource and id.
pub(super) fn references(resource: Resource, fields: &Map<String, Value>) -> Vec<(Resource, &str)> {
    fn collect<'a>(resource: Resource, field: &str, value: &'a Value, into: &mut Vec<(Resource, &'a str)>) {
        match value {
            Value::String(id) => into.extend(target(resource, field).map(|target| (target, id.as_str()))),
            Value::Array(items) => items.iter().for_each(|item| collect(resource, field, item, into)),
            Value::Object(parts) => {
                parts.iter().for_each(|(part, value)| collect(resource, &format!("{field}.{part}"), value, into));
            }
            _ => (),
        }
    }
    let mut found = Vec::new();
    fields.iter().for_each(|(field, value)| collect(resource, field, value, &mut found));
    found
}

/// Rejects a write with unknown fields.
pub(super) fn check_names(resource: Resource, fields: &Map<String, Value>) -> ValidationResult {
    let Some(WritableFields { required, optional }) = form(resource) else { return Ok(()) };
    let is_known =
        |name: &str| required.split_whitespace().chain(optional.split_whitespace()).any(|known| known == name);
    match fields.keys().find(|name| !is_known(name)) {
        Some(name) => Err(SandboxReply::error(400, "malformed", &format!("unknown field `{name}`"))),
        None => Ok(()),
    }
}

/// Validates a row like a strict EHR.
pub(super) fn check(ehr: &SandboxEhr, resource: Resource, row: &Filed) -> ValidationResult {
    let blank = |name: &&str| match row.fields.get(*name) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(_) => false,
    };
    if let Some(name) = form(resource).and_then(|form| form.required.split_whitespace().find(blank)) {
        return Err(invalid("missing_field", &format!("{name} is required")));
    }
    if let Some((target, _)) =
        references(resource, &row.fields).iter().find(|(target, id)| ehr.practice.get(*target, id).is_none())
    {
        return Err(invalid("unknown_reference", &format!("there is no such row in {target:?}")));
    }
    check_plan_name(ehr, resource, row)?;
    check_amount(row)?;
    check_in_use(ehr, row, "payment_type", Resource::PaymentTypes, "inactive_payment_type")?;
    check_in_use(ehr, row, "adjustment_type", Resource::AdjustmentTypes, "inactive_adjustment_type")
}

fn check_plan_name(ehr: &SandboxEhr, resource: Resource, row: &Filed) -> ValidationResult {
    let longest = ehr.behaviours.max_plan_name.unwrap_or(usize::MAX);
    let name = row.fields.get("name").and_then(Value::as_str).unwrap_or_default();
    if resource == Resource::InsurancePlans && name.chars().count() > longest {
        return Err(invalid("name_too_long", &format!("name has more than {longest} characters")));
    }
    Ok(())
}

fn check_amount(row: &Filed) -> ValidationResult {
    let Some(money) = row.fields.get("amount") else { return Ok(()) };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let decimal = |text: &str| {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, cents) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        digits(whole) && digits(cents)
    };
    match (money["amount"].as_str(), money["currency"].as_str()) {
        (Some(amount), Some(currency)) if decimal(amount) && currency.len() == 3 => Ok(()),
        _ => Err(invalid("bad_amount", "amount must have decimal digits and a currency")),
    }
}

fn check_in_use(ehr: &SandboxEhr, row: &Filed, field: &str, catalogue: Resource, code: &str) -> ValidationResult {
    let kind = row.fields.get(field).and_then(Value::as_str).and_then(|id| ehr.practice.get(catalogue, id));
    match kind {
        Some(Record::Filed(_, kind)) if kind.fields.get("active") == Some(&Value::Bool(false)) => {
            Err(invalid(code, "It may not be used any more"))
        }
        _ => Ok(()),
    }
}
