//! The rules for the fields of an entry, by their names: the contract gives a name one meaning in all records, with few exceptions.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use super::{
    check::{self, Broken, Checked, INSTANTS, Rule, require},
    limits::{LONG_TEXT_BYTES, REFERENCES, SHORT_TEXT_BYTES},
};

/// Digits of an amount of money, sign and point included.
const AMOUNT_BYTES: usize = 32;

enum FieldRule {
    /// A longer text is cut.
    Cut(usize),
    Text(Rule),
    Words(&'static [&'static str]),
    Number(RangeInclusive<i64>, &'static str),
}

use FieldRule::{Cut, Number, Text, Words};

fn rule(kind: &str, field: &str) -> FieldRule {
    match (kind, field) {
        ("charge", "procedure_code") => Cut(SHORT_TEXT_BYTES),
        ("procedure-code", "category") => Text(check::is_id),
        ("procedure", "status") => Words(&["planned", "scheduled", "completed", "inactive", "referred"]),
        ("treatment-plan", "status") => Words(&["not_applicable", "proposed", "accepted", "rejected", "completed"]),
        ("claim", "status") => Words(&["draft", "sent", "received", "canceled"]),
        (
            _,
            "id" | "patient" | "guarantor" | "provider" | "subscriber" | "plan" | "insurance_plan" | "primary_plan"
            | "secondary_plan" | "fee_schedule" | "item" | "form_schema" | "appointment" | "procedure" | "procedures"
            | "procedure_code" | "treatment_plans" | "recall_type" | "document_type" | "charge" | "claim"
            | "payment_plan" | "payment_type" | "adjustment_type",
        ) => Text(check::is_id),
        (_, "note" | "content" | "description") => Cut(LONG_TEXT_BYTES),
        (_, "messages_json") => Text(is_json_list),
        (_, "schema_json" | "answers_json") => Text(is_json_object),
        (
            _,
            "subscriber_date_of_birth"
            | "effective_date"
            | "expiration_date"
            | "start_date"
            | "end_date"
            | "date_due"
            | "charged_at"
            | "paid_at"
            | "adjusted_at"
            | "date_of_service"
            | "first_payment_due"
            | "created",
        ) => Text(check::is_date),
        (
            _,
            "disabled_at" | "occurred_at" | "submitted_at" | "entered_at" | "created_at" | "sent_at" | "received_at",
        ) => Number(INSTANTS, "must lie in the years 1 to 9999"),
        (_, "relation") => Words(&[
            "self",
            "spouse",
            "child",
            "employee",
            "handicap_dep",
            "signif_other",
            "injured_plaintiff",
            "life_partner",
            "dependent",
            "other",
        ]),
        (_, "insurance_type") => Words(&["dental", "medical", "vision"]),
        (_, "mode") => Words(&["none", "email", "mail", "phone", "in_person", "text"]),
        (_, "direction") => Words(&["sent", "received"]),
        (_, "action") => Words(&["credit", "debit", "unknown"]),
        (_, "interval_unit") => Words(&["day", "week", "month", "year"]),
        (_, "benefit_year_renewal_month") => Number(1..=12, "must be 1 to 12"),
        (_, "priority" | "interval_number") => Number(1..=1_000, "must be 1 to 1000"),
        _ => Cut(SHORT_TEXT_BYTES),
    }
}

/// Checks all fields of a record of this kind and takes out those that are not known.
pub(crate) fn check(kind: &str, fields: &mut Map<String, Value>) -> Checked<()> {
    fields.retain(|_, value| !value.is_null());
    for (name, value) in fields {
        match (name.as_str(), &*value) {
            ("extra", Value::Array(pairs)) => *value = extra(pairs)?,
            _ => field(kind, name, value)?,
        }
    }
    Ok(())
}

fn field(kind: &str, name: &str, value: &mut Value) -> Checked<()> {
    let broken = |rule| Broken { field: name.to_owned().into(), rule };
    match value {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::Number(number) => match rule(kind, name) {
            Number(range, rule) if !number.as_i64().is_some_and(|number| range.contains(&number)) => Err(broken(rule)),
            _ => Ok(()),
        },
        Value::String(text) => match rule(kind, name) {
            Cut(most) => {
                *text = check::cut(std::mem::take(text), most);
                Ok(())
            }
            Text(rule) => rule(text).map_err(broken),
            Words(words) if !words.contains(&text.as_str()) => Err(broken("must be one of the contract's words")),
            _ => Ok(()),
        },
        Value::Array(items) => {
            require(items.len() <= REFERENCES, name.to_owned(), "must have at most 1000 entries")?;
            items.iter_mut().try_for_each(|item| field(kind, name, item))
        }
        Value::Object(parts) => {
            if let (Some(Value::String(amount)), Some(Value::String(currency))) =
                (parts.get("amount"), parts.get("currency"))
            {
                return is_money(amount, currency).map_err(broken);
            }
            parts.retain(|_, part| !part.is_null());
            let inner = parts.iter_mut().try_for_each(|(part, value)| field(kind, part, value));
            inner.map_err(|broken| Broken { field: format!("{name}.{}", broken.field).into(), rule: broken.rule })
        }
    }
}

fn extra(pairs: &[Value]) -> Checked<Value> {
    let text = |pair: &Value, at: usize| pair.get(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let pairs = check::extra(pairs.iter().map(|pair| (text(pair, 0), text(pair, 1))).collect())?;
    Ok(pairs.into_iter().map(|(name, content)| json!([name, content])).collect())
}

fn is_money(amount: &str, currency: &str) -> Result<(), &'static str> {
    let digits = amount.strip_prefix(['-', '+']).unwrap_or(amount);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let decimal = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if amount.len() > AMOUNT_BYTES || !decimal(whole) || !decimal(fraction) {
        return Err("must be an amount in decimal digits");
    }
    if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err("must have a currency of three letters");
    }
    Ok(())
}

fn is_json_list(text: &str) -> Result<(), &'static str> {
    is_json(text, '[', "must be a JSON array of at most 65536 bytes")
}

fn is_json_object(text: &str) -> Result<(), &'static str> {
    is_json(text, '{', "must be a JSON object of at most 65536 bytes")
}

fn is_json(text: &str, begins: char, rule: &'static str) -> Result<(), &'static str> {
    let valid = || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let holds = text.len() <= LONG_TEXT_BYTES && text.trim_start().starts_with(begins) && valid();
    if holds { Ok(()) } else { Err(rule) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn broken(kind: &str, fields: Value) -> String {
        let Value::Object(mut fields) = fields else { panic!("an object") };
        check(kind, &mut fields).err().map_or_else(String::new, |broken| broken.to_string())
    }

    #[test]
    fn each_rule_names_its_field_and_never_the_value() {
        let money = |amount: &str, currency: &str| json!({"amount": {"amount": amount, "currency": currency}});
        for (kind, fields, expected) in [
            ("coverage", json!({"patient": ""}), "field patient: must have 1 to 200 bytes"),
            ("coverage", json!({"relation": "friend"}), "field relation: must be one of the contract's words"),
            ("coverage", json!({"effective_date": "2026-02-30"}), "field effective_date: must be a date, YYYY-MM-DD"),
            ("patient-alert", json!({"disabled_at": i64::MAX}), "field disabled_at: must lie in the years 1 to 9999"),
            ("payment", money("1e3", "USD"), "field amount: must be an amount in decimal digits"),
            ("payment", money("--1", "USD"), "field amount: must be an amount in decimal digits"),
            ("payment", money("1.", "USD"), "field amount: must be an amount in decimal digits"),
            ("payment", money("1", "usd"), "field amount: must have a currency of three letters"),
            ("claim", json!({"totals": {"paid": {"amount": "", "currency": "USD"}}}), "field totals.paid: must be an"),
            ("claim", json!({"payouts": [{"charge": ""}]}), "field payouts.charge: must have 1 to 200 bytes"),
            ("claim", json!({"status": "planned"}), "field status: must be one"),
            (
                "procedure",
                json!({"treatment_plans": vec!["t"; 1_001]}),
                "field treatment_plans: must have at most 1000",
            ),
            ("form-schema", json!({"schema_json": "[]"}), "field schema_json: must be a JSON object"),
            ("conversation", json!({"messages_json": "[{]"}), "field messages_json: must be a JSON array"),
            (
                "insurance-plan",
                json!({"benefit_year_renewal_month": 13}),
                "field benefit_year_renewal_month: must be 1",
            ),
            ("fee", json!({"extra": vec![["a", "b"]; 65]}), "field extra: must have at most 64 pairs"),
        ] {
            let said = broken(kind, fields);
            assert!(said.starts_with(expected), "{kind}: {said}, not {expected}");
        }
    }

    #[test]
    fn what_is_right_stays_and_what_is_not_known_goes() {
        let Value::Object(mut fields) = json!({
            "patient": "P-1", "procedure_code": "", "fee": {"amount": "-0.50", "currency": "EUR"}, "provider": null,
            "totals": {"paid": null, "billed": {"amount": "10", "currency": "USD"}}, "extra": [["a", ""]],
        }) else {
            panic!("an object")
        };
        check("charge", &mut fields).expect("all rules hold");
        assert!(!fields.contains_key("provider") && fields["totals"].get("paid").is_none());
        assert_eq!(fields["totals"]["billed"]["amount"], "10");
        assert!(broken("fee", json!({"procedure_code": ""})).starts_with("field procedure_code"));
    }
}
