//! Calls and responses as text. The suite's own records are shown in full; of the EHR's records only identifiers and
//! numbers are shown.

use records::ehr::{Page, Receipt, Resource, Write};
use serde_json::{Map, Value};

use crate::effect::{deleted_id, left};

/// Returns the contract's name, such as `working_hours`.
pub fn name(resource: Resource) -> String {
    let name = serde_json::to_value(resource).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

pub fn write(write: &Write) -> String {
    let what = match deleted_id(write) {
        Some(id) => id.to_owned(),
        None => Value::Object(without_empty_fields(left(write).1.unwrap_or_default())).to_string(),
    };
    format!("{} {what}", write.kind())
}

/// Removes fields with null, `false` or an empty list.
fn without_empty_fields(fields: Map<String, Value>) -> Map<String, Value> {
    let silent = |value: &Value| value.is_null() || *value == Value::Bool(false) || *value == Value::Array(Vec::new());
    fields.into_iter().filter(|(_, value)| !silent(value)).collect()
}

pub fn page(page: &Page) -> String {
    let kind = if page.whole { "whole" } else { "changes" };
    let end = if page.last { "last" } else { "more to come" };
    let (records, skipped, deleted) = (page.records.len(), page.skipped.len(), page.deleted.len());
    format!("{records} records, {skipped} skipped, {deleted} deleted; {kind}, {end}; cursor {}", page.cursor)
}

pub fn receipt(receipt: &Receipt) -> String {
    format!("a receipt for {}", receipt.id)
}

pub fn found(found: &Option<Receipt>) -> String {
    found.as_ref().map_or_else(|| "none: certainly not written".to_owned(), receipt)
}

/// Formats a value that the EHR returned for a written field. Text that was not written by the suite may be a
/// patient's, so only its shape is shown.
pub fn beside(written: &Map<String, Value>, value: &Value) -> String {
    match value {
        Value::String(text) if !written.values().any(|own| holds(own, text)) => Value::from(masked(text)).to_string(),
        Value::Object(fields) => {
            let all: Vec<String> =
                fields.iter().map(|(name, part)| format!("{name}: {}", beside(written, part))).collect();
            format!("{{{}}}", all.join(", "))
        }
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(|part| beside(written, part)).collect();
            format!("[{}]", all.join(", "))
        }
        other => other.to_string(),
    }
}

fn holds(own: &Value, text: &str) -> bool {
    match own {
        Value::String(own) => own.contains(text),
        Value::Array(all) => all.iter().any(|part| holds(part, text)),
        Value::Object(fields) => fields.values().any(|part| holds(part, text)),
        _ => false,
    }
}

/// Replaces each letter by `x` and each digit by `0`.
pub fn masked(text: &str) -> String {
    let mask = |c: char| match c {
        c if c.is_numeric() => '0',
        c if c.is_uppercase() => 'X',
        c if c.is_alphanumeric() => 'x',
        c => c,
    };
    text.chars().map(mask).collect()
}
