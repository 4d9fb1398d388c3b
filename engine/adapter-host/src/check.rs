//! Validation of the values that guests return. An error names the field and the rule, never the value, which may be
//! patient data.

use std::{borrow::Cow, cell::Cell, fmt, ops::RangeInclusive};

use location::Date;
use records::{ehr::Extra, schema::Limit};

use super::{
    bindings::practice_sync::ehr::types::ExtraValue,
    limits::{EXACT_TEXT_BYTES, EXTRA_NAME_BYTES, EXTRA_PAIRS, EXTRA_VALUE_BYTES, ID_BYTES, SHORT_TEXT_BYTES},
};

/// 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
pub(crate) const INSTANTS: RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// A field that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContractViolation {
    pub field: Cow<'static, str>,
    pub rule: &'static str,
}

impl fmt::Display for ContractViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field {}: {}", self.field, self.rule)
    }
}

impl ContractViolation {
    /// Adds the part of the record to the field's name. `part` is empty for fields of the record itself.
    pub(crate) fn within(self, part: &str) -> ContractViolation {
        if part.is_empty() {
            return self;
        }
        ContractViolation { field: format!("{part}.{}", self.field).into(), rule: self.rule }
    }
}

pub(crate) type Checked<T> = Result<T, ContractViolation>;

pub(crate) fn require(holds: bool, field: impl Into<Cow<'static, str>>, rule: &'static str) -> Checked<()> {
    if holds { Ok(()) } else { Err(ContractViolation { field: field.into(), rule }) }
}

/// A conversion between the contract's type and the engine's.
pub(crate) trait Convert<W>: Sized {
    /// Converts a guest's value of a field, or returns the rule it breaks.
    fn read(from: W, field: &'static str, limit: Limit) -> Checked<Self>;
    fn write(self) -> W;
}

/// A rule for texts, which returns its description as the error.
pub(crate) type Rule = fn(&str) -> Result<(), &'static str>;

fn must(holds: bool, rule: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(rule) }
}

pub(crate) fn is_id(value: &str) -> Result<(), &'static str> {
    must((1..=ID_BYTES).contains(&value.len()), "must have 1 to 200 bytes")?;
    must(!value.chars().any(char::is_control), "must hold no control characters")
}

/// Checks the length of a value that is compared. Never truncates it: half a version or write key is a different one.
pub(crate) fn is_exact(value: &str) -> Result<(), &'static str> {
    must(value.len() <= EXACT_TEXT_BYTES, "must have at most 500 bytes")
}

thread_local! {
    /// The number of texts truncated on this thread. Thread-local, because the checks are nested deep inside records.
    static CUT: Cell<u32> = const { Cell::new(0) };
}

/// Runs the checks, and counts the truncated texts.
pub(crate) fn counting_cuts<T>(checks: impl FnOnce() -> T) -> (T, u32) {
    let before = CUT.get();
    let checked = checks();
    (checked, CUT.get() - before)
}

/// Truncates a longer text: one value of an EHR must not make the other records of a page unreadable.
pub(crate) fn cut(mut value: String, most: usize) -> String {
    if value.len() > most {
        CUT.set(CUT.get() + 1);
        value.truncate(value.floor_char_boundary(most));
    }
    value
}

fn is_date(value: &str) -> Result<(), &'static str> {
    must(value.parse::<Date>().is_ok(), "must be a date, YYYY-MM-DD")
}

fn kept(field: &'static str, value: String, rule: Rule) -> Checked<String> {
    rule(&value).map_err(|rule| ContractViolation { field: field.into(), rule })?;
    Ok(value)
}

pub(crate) fn id(field: &'static str, value: String) -> Checked<String> {
    kept(field, value, is_id)
}

pub(crate) fn text(value: String) -> String {
    cut(value, SHORT_TEXT_BYTES)
}

pub(crate) fn exact(field: &'static str, value: String) -> Checked<String> {
    kept(field, value, is_exact)
}

pub(crate) fn optional_exact(field: &'static str, value: Option<String>) -> Checked<Option<String>> {
    value.map(|value| exact(field, value)).transpose()
}

pub(crate) fn date(field: &'static str, value: String) -> Checked<String> {
    kept(field, value, is_date)
}

/// `HH:MM`; with `end`, `24:00` too.
pub(crate) fn time_of_day(field: &'static str, value: String, end: bool) -> Checked<String> {
    let number = |from: usize, to: usize| {
        value.get(from..to).filter(|part| part.bytes().all(|b| b.is_ascii_digit()))?.parse::<u32>().ok()
    };
    let minute = match (value.len(), value.as_bytes().get(2), number(0, 2), number(3, 5)) {
        (5, Some(b':'), Some(hour), Some(minute)) if minute < 60 => Some(hour * 60 + minute),
        _ => None,
    };
    let last = if end { 24 * 60 } else { 24 * 60 - 1 };
    require(minute.is_some_and(|minute| minute <= last), field, "must be a time of day, HH:MM")?;
    Ok(value)
}

pub(crate) fn instant(field: &'static str, value: i64) -> Checked<i64> {
    require(INSTANTS.contains(&value), field, "must be in the years 1 to 9999")?;
    Ok(value)
}

pub(crate) fn extra(value: Vec<ExtraValue>) -> Checked<Extra> {
    require(value.len() <= EXTRA_PAIRS, "extra", "must have at most 64 values")?;
    let pair = |ExtraValue { name, value }: ExtraValue| {
        require((1..=EXTRA_NAME_BYTES).contains(&name.len()), "extra", "names must have 1 to 200 bytes")?;
        Ok((name, cut(value, EXTRA_VALUE_BYTES)))
    };
    value.into_iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_rejects_invalid_values() {
        let s = |text: &str| text.to_string();
        assert!(id("id", s("")).is_err() && id("id", "x".repeat(201)).is_err() && id("id", s("a\nb")).is_err());
        assert!(id("id", "x".repeat(200)).is_ok());
        assert!(optional_exact("version", Some("x".repeat(501))).is_err());
        assert!(optional_exact("version", Some("x".repeat(500))).is_ok());
        assert_eq!(text("x".repeat(1_025)), "x".repeat(1_024));
        assert_eq!(text(format!("{}é", "x".repeat(1_023))), "x".repeat(1_023));
        for bad in ["2026-02-29", "2026-1-01", "26-01-01", "0000-01-01", "2026-01-01T", "+026-01-01", "2026/01/01", ""]
        {
            assert!(date("date", s(bad)).is_err(), "{bad}");
        }
        assert!(date("date", s("2024-02-29")).is_ok() && date("date", s("9999-12-31")).is_ok());
        for bad in ["24:01", "9:00", "09:60", "25:00", "09-00", "09:00:00", "+9:00", "ü9:0", ""] {
            assert!(time_of_day("time", s(bad), true).is_err(), "{bad}");
        }
        assert!(time_of_day("time", s("24:00"), true).is_ok() && time_of_day("time", s("24:00"), false).is_err());
        assert!(instant("start", i64::MAX).is_err() && instant("start", 0).is_ok());
        let one = |name: &str, value: &str| ExtraValue { name: s(name), value: s(value) };
        assert!(extra(vec![one("n", "v"); 65]).is_err() && extra(vec![one("", "v")]).is_err());
        assert_eq!(extra(vec![one("n", &"v".repeat(4_097))]), Ok(vec![(s("n"), "v".repeat(4_096))]));
        assert_eq!(
            instant("start", i64::MIN).map_err(|e| e.to_string()),
            Err(s("field start: must be in the years 1 to 9999"))
        );
    }
}
