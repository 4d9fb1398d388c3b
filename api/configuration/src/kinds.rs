//! Kinds of values: their notation in files, their checks, and their descriptions in the reference.

use std::{fmt::Display, ops::RangeInclusive};

use location::{keys::not_empty, time::Millis};
use toml::de::DeValue;

use framework::values::{limits::INT32, words::WireEnum};

/// The placeholder for an arbitrary text.
const TEXT: &str = "\"...\"";

const UNITS: [(&str, Millis); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a value. The error continues a sentence that begins with the key.
type Parse<'k, T> = Box<dyn Fn(&DeValue<'_>) -> Result<T, String> + 'k>;

/// The values accepted for a key.
pub(super) struct KeyKind<'k, T> {
    /// The accepted values, in the reference.
    pub range: String,
    /// A sample value for a key without a default, as TOML.
    pub example: String,
    /// `true` if only a hash of the value is recorded.
    pub is_credential: bool,
    pub parse: Parse<'k, T>,
}

impl<'k, T> KeyKind<'k, T> {
    fn new(
        range: impl Into<String>,
        example: impl Into<String>,
        parse: impl Fn(&DeValue<'_>) -> Result<T, String> + 'k,
    ) -> KeyKind<'k, T> {
        KeyKind { range: range.into(), example: example.into(), is_credential: false, parse: Box::new(parse) }
    }

    /// Replaces the description in the reference.
    pub(crate) fn described(self, range: &str, example: &str) -> KeyKind<'k, T> {
        KeyKind { range: range.into(), example: example.into(), ..self }
    }

    /// Formats a value as TOML. `shown` is the value without quotes.
    pub(crate) fn toml(&self, shown: &str) -> String {
        if self.example.starts_with('"') { quoted(shown) } else { shown.to_owned() }
    }
}

pub(crate) fn integer<T: TryFrom<i64>>(range: RangeInclusive<i64>) -> KeyKind<'static, T> {
    KeyKind::new(span(&range), range.start().to_string(), move |value| within(value, &range))
}

/// One of the known integers.
pub(crate) fn one_of(known: &[u16]) -> KeyKind<'_, u16> {
    let numbers: Vec<String> = known.iter().map(u16::to_string).collect();
    let range = numbers.join(", ");
    let wrong = format!("must be one of {range}");
    KeyKind::new(range, "1", move |value| {
        let number = within::<u16>(value, &(0..=u16::MAX.into())).ok();
        number.filter(|number| known.contains(number)).ok_or_else(|| wrong.clone())
    })
}

/// A value, or `"none"`. The example is `"none"`.
pub(crate) fn or_none<'k, T: 'k>(kind: KeyKind<'k, T>) -> KeyKind<'k, Option<T>> {
    let KeyKind { range, parse, .. } = kind;
    KeyKind::new(format!("{range}, or `none`"), "\"none\"", move |value| match value.as_str() {
        Some("none") => Ok(None),
        _ => parse(value).map(Some).map_err(|problem| format!("{problem}, or \"none\"")),
    })
}

pub(crate) fn number(range: RangeInclusive<f64>) -> KeyKind<'static, f64> {
    let span = format!("{} to {}", range.start(), range.end());
    KeyKind::new(span, "0.0", move |value| {
        let digits = value.as_float().map(|n| n.as_str()).or_else(|| value.as_integer().map(|n| n.as_str()));
        let number = digits.and_then(|digits| digits.parse::<f64>().ok()).ok_or("must be a number")?;
        let inside = range.contains(&number);
        if inside { Ok(number) } else { Err(format!("must be between {} and {}", range.start(), range.end())) }
    })
}

pub(crate) fn flag() -> KeyKind<'static, bool> {
    KeyKind::new("true or false", "true", |value| value.as_bool().ok_or("must be true or false".into()))
}

/// A string that is not empty.
pub(crate) fn text() -> KeyKind<'static, String> {
    parsed(not_empty)
}

/// A string, parsed by `parse`.
pub(crate) fn parsed<'k, T>(parse: impl Fn(&str) -> Result<T, String> + 'k) -> KeyKind<'k, T> {
    KeyKind::new("text", TEXT, move |value| parse(value.as_str().ok_or("must be a string")?))
}

/// A credential or `env:NAME`, the name of its environment variable.
pub(crate) fn credential<'k, T>(parse: impl Fn(String) -> Result<T, String> + 'k) -> KeyKind<'k, T> {
    let kind = parsed(move |text| parse(from_environment(text)?));
    KeyKind { is_credential: true, ..kind }.described("a credential, or `env:NAME`", "\"env:NAME\"")
}

pub(crate) fn duration(range: RangeInclusive<Millis>) -> KeyKind<'static, Millis> {
    let [least, most] = [range.start(), range.end()].map(|length| show_duration(*length));
    let span = format!("{least} to {most}");
    let parse = move |text: &str| {
        let length = parse_duration(text).ok_or("must be a duration such as \"30s\", \"5m\" or \"72h\"")?;
        if range.contains(&length) { Ok(length) } else { Err(format!("must be between {least} and {most}")) }
    };
    parsed(parse).described(&span, TEXT)
}

/// One of the given words.
pub(super) fn choice<'k, T: Copy>(words: &'k [(&'static str, T)]) -> KeyKind<'k, T> {
    let listed: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
    let example = quoted(words.first().map_or("", |(word, _)| word));
    parsed(move |text| chosen(words, text)).described(&listed.join(", "), &example)
}

/// Returns the words of a closed list with their values.
pub(crate) fn words<T: WireEnum>() -> Vec<(&'static str, T)> {
    T::ALL.iter().map(|value| (value.word(), *value)).collect()
}

fn chosen<T: Copy>(words: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let (last, rest) = words.split_last().map_or(("", words), |((last, _), rest)| (*last, rest));
        let rest: Vec<String> = rest.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        format!("must be {} or \"{last}\"", rest.join(", "))
    })
}

/// Returns the text, or for `env:NAME` the value of the environment variable.
pub(super) fn from_environment(text: &str) -> Result<String, String> {
    match text.strip_prefix("env:") {
        Some(variable) => {
            std::env::var(variable).map_err(|_| format!("names the environment variable {variable}, which is not set"))
        }
        None => Ok(text.to_owned()),
    }
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

/// Parses a duration such as `90s`, `1h30m` or `500ms`.
pub(super) fn parse_duration(text: &str) -> Option<Millis> {
    let (mut rest, mut sum) = (text.trim(), 0_i64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit_and_rest) = rest.split_at(digits);
        let unit = unit_and_rest.find(|c: char| c.is_ascii_digit()).unwrap_or(unit_and_rest.len());
        let (unit, after) = unit_and_rest.split_at(unit);
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
        sum = sum.checked_add(number.parse::<i64>().ok()?.checked_mul(*length)?)?;
        rest = after;
    }
    (!text.trim().is_empty()).then_some(sum)
}

pub(super) fn show_duration(length: Millis) -> String {
    let unit = UNITS.iter().find(|(_, unit)| length != 0 && length % unit == 0);
    unit.map_or_else(|| "0s".to_owned(), |(name, unit)| format!("{}{name}", length / unit))
}

/// Returns the text as a TOML string.
fn quoted(text: impl Display) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// Formats a range, with commas in large numbers.
pub(crate) fn span(range: &RangeInclusive<i64>) -> String {
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

fn within<T: TryFrom<i64>>(value: &DeValue<'_>, range: &RangeInclusive<i64>) -> Result<T, String> {
    let integer = value.as_integer().ok_or("must be an integer")?;
    let digits = integer.as_str().replace('_', "");
    let number = i64::from_str_radix(&digits, integer.radix()).ok().filter(|number| range.contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("must be between {} and {}", range.start(), range.end()))
}
