//! The notation of values in files, messages and the reference.

use std::{fmt::Display, ops::RangeInclusive};

use toml::de::DeValue;

use crate::values::limits::INT32;

/// The placeholder for an arbitrary text.
pub(super) const TEXT: &str = "\"...\"";

/// Returns the text as a TOML string.
pub(super) fn quoted(text: impl Display) -> String {
    toml::Value::String(text.to_string()).to_string()
}

pub(super) fn listed<T>(words: &[(&str, T)]) -> String {
    words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the value of a word.
pub(super) fn chosen<T: Copy>(words: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let (last, rest) = words.split_last().map_or(("", words), |((last, _), rest)| (*last, rest));
        let rest: Vec<String> = rest.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        format!("must be {} or \"{last}\"", rest.join(", "))
    })
}

/// Formats a value on one line for messages.
pub(super) fn display_value(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.escape_debug().to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(all) => {
            let all: Vec<String> = all.iter().map(|element| display_value(element.get_ref())).collect();
            format!("[{}]", all.join(", "))
        }
        DeValue::Table(_) => "(a table)".to_owned(),
    }
}

/// Formats a range, with commas in large numbers.
pub(super) fn span(range: &RangeInclusive<i64>) -> String {
    if (range.start(), range.end()) == (INT32.start(), INT32.end()) {
        return "an id".to_owned();
    }
    let grouped = |number: &i64| {
        let digits = number.to_string();
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
        groups.join(",")
    };
    format!("{} to {}", grouped(range.start()), grouped(range.end()))
}

pub(super) fn within(value: &DeValue<'_>, range: &RangeInclusive<i64>) -> Result<i64, String> {
    let integer = value.as_integer().ok_or("must be an integer")?;
    let digits = integer.as_str().replace('_', "");
    let number = i64::from_str_radix(&digits, integer.radix()).ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("must be between {} and {}", range.start(), range.end()))
}
