//! Redaction of guests' texts for logs, operators and clients. The result is one line of plain characters, without data
//! of the patient at hand, credentials of the location, or anything that looks like either. A malicious guest could
//! still encode data differently; redaction is against bugs that quote a record.

use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{LazyLock, OnceLock},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::Datelike;
use records::{Write, demographics::phone, patient::FIRST_YEAR_OF_BIRTH};
use regex::Regex;
use runtime::clock;
use serde_json::Value;
use setup::secret::Secret;

use super::log_line::{cut, plain_char};

const HIDDEN: &str = "[redacted]";
/// Shorter values may be ordinary words.
const SHORTEST: usize = 4;
/// Longer values are also matched by parts of this length, because a guest may quote a truncated note.
const PART: usize = 12;
/// The length of text to search, as a multiple of the length to keep: redaction makes a text shorter.
const LOOKED_THROUGH: usize = 4;
/// A number with fewer digits is no telephone number.
const PHONE_DIGITS: usize = 7;
/// An older date is treated as a date of birth.
const YEARS: i32 = 2;

/// The values to redact in one call.
#[derive(Default)]
pub(crate) struct Redactor {
    secrets: Vec<Secret>,
    write: Option<Write>,
    /// Built for the first text: most calls log nothing.
    known: OnceLock<Known>,
}

impl Redactor {
    pub(crate) fn new(secrets: Vec<Secret>, write: Option<Write>) -> Redactor {
        Redactor { secrets, write, known: OnceLock::new() }
    }

    /// Redacts a text and truncates it to about `bytes` bytes. `passing` has the current temporary credentials.
    pub(crate) fn text(&self, text: &str, passing: &[Secret], bytes: usize) -> String {
        let longest = bytes.saturating_mul(LOOKED_THROUGH);
        let looked_through: String = text[..text.floor_char_boundary(longest)].chars().map(plain_char).collect();
        let known = self.known.get_or_init(|| Known::from_secrets(&self.secrets, self.write.as_ref()));
        let mut hidden = by_pattern(&looked_through);
        known.find(&looked_through, &mut hidden);
        if !passing.is_empty() {
            Known::from_secrets(passing, None).find(&looked_through, &mut hidden);
        }
        let mut shown = without(&looked_through, hidden);
        if text.len() > longest && shown.len() <= bytes {
            shown.push_str(" ...");
        }
        cut(&shown, bytes)
    }
}

/// Known values, folded for comparison.
#[derive(Default)]
struct Known {
    /// Whole words and phrases.
    phrases: BTreeSet<Vec<char>>,
    /// All parts of longer values.
    parts: BTreeSet<[char; PART]>,
    /// The last digits of numbers.
    numbers: BTreeSet<String>,
    /// Dates of birth: year, month, day.
    births: BTreeSet<(u32, u32, u32)>,
}

/// The kind of a record's field, determined by its name.
enum FieldKind {
    Name,
    Phone,
    Birth,
    /// Not about a patient: ids, words of the contract, days and times.
    Plain,
    Json,
    Text,
}

fn kind(field: &str) -> FieldKind {
    match field {
        _ if field.ends_with("date_of_birth") => FieldKind::Birth,
        _ if field.ends_with("phone") => FieldKind::Phone,
        _ if field.ends_with("_name") => FieldKind::Name,
        _ if field.ends_with("_json") => FieldKind::Json,
        _ if field.ends_with("_date") || field.ends_with("_at") || field.ends_with("_type") => FieldKind::Plain,
        "" | "id" | "resource" | "patient" | "guarantor" | "provider" | "operatory" | "appointment" | "plan"
        | "insurance_plan" | "subscriber" | "item" | "form_schema" | "procedure" | "procedures" | "procedure_code"
        | "charge" | "claim" | "category" | "status" | "relation" | "mode" | "direction" | "action" | "gender"
        | "region" | "country" | "preferred_language" | "version" | "write_key" | "currency" | "amount" | "created"
        | "kind" => FieldKind::Plain,
        _ => FieldKind::Text,
    }
}

impl Known {
    fn from_secrets(secrets: &[Secret], write: Option<&Write>) -> Known {
        let mut known = Known::default();
        for secret in secrets {
            known.secret(secret.expose());
        }
        // Working hours are not about a patient.
        let hours = matches!(
            write,
            Some(Write::CreateWorkingHour(_) | Write::UpdateWorkingHour(_) | Write::DeleteWorkingHour(_))
        );
        if let Some(Ok(json)) = write.filter(|_| !hours).map(serde_json::to_value) {
            known.record("", &json);
        }
        known
    }

    /// Adds a credential: the whole value, the value without its scheme, and the password in it.
    fn secret(&mut self, secret: &str) {
        self.text(secret);
        let Some((_, value)) = secret.split_once(' ') else { return };
        self.text(value);
        let pair = STANDARD.decode(value.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some((_, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
            self.text(password);
        }
    }

    fn record(&mut self, field: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.record(name, value));
                self.names(fields);
            }
            // Pairs of a name and a text.
            Value::Array(pairs) if field == "extra" => {
                pairs.iter().filter_map(|pair| pair.get(1)).for_each(|value| self.record("value", value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.record(field, item)),
            Value::String(text) => self.field(field, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Adds full names. A short name alone may be an ordinary word, but first and last name together identify a person.
    fn names(&mut self, fields: &serde_json::Map<String, Value>) {
        let name =
            |field: &str| fields.get(field).and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
        if let (Some(first), Some(last)) = (name("first_name"), name("last_name")) {
            [format!("{first} {last}"), format!("{last} {first}"), format!("{last}, {first}")]
                .iter()
                .for_each(|both| self.text(both));
        }
    }

    fn field(&mut self, field: &str, text: &str) {
        match kind(field) {
            FieldKind::Plain => {}
            FieldKind::Birth => self.births.extend(date_of(text.split('-'))),
            FieldKind::Phone => self.number(text),
            FieldKind::Name => {
                self.text(text);
                text.split([' ', '-']).for_each(|word| self.text(word));
            }
            FieldKind::Json => match serde_json::from_str::<Value>(text) {
                // All values, whatever the names of the fields.
                Ok(json) => self.leaves(&json),
                Err(_) => self.text(text),
            },
            FieldKind::Text if !text.chars().any(char::is_alphabetic) => {
                self.number(text);
                self.text(text);
            }
            FieldKind::Text => self.text(text),
        }
    }

    fn leaves(&mut self, json: &Value) {
        match json {
            Value::Object(fields) => fields.values().for_each(|value| self.leaves(value)),
            Value::Array(items) => items.iter().for_each(|item| self.leaves(item)),
            Value::String(text) => self.field("value", text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn number(&mut self, text: &str) {
        let all: String = text.chars().filter(char::is_ascii_digit).collect();
        for digits in phone::digits(text).into_iter().chain([all]) {
            // With or without the country code.
            let from = digits.len().saturating_sub(PHONE_DIGITS + 2);
            if digits.len() >= PHONE_DIGITS {
                self.numbers.insert(digits[from..].to_owned());
            }
        }
    }

    fn text(&mut self, text: &str) {
        let folded: Vec<char> = text.trim().chars().map(plain_char).map(fold).collect();
        if folded.len() >= PART {
            self.parts.extend(folded.windows(PART).filter_map(|part| <[char; PART]>::try_from(part).ok()));
        } else if folded.len() >= SHORTEST {
            self.phrases.insert(folded);
        }
    }

    fn find(&self, text: &str, hidden: &mut Vec<Range<usize>>) {
        self.find_texts(text, hidden);
        if self.numbers.is_empty() && self.births.is_empty() {
            return;
        }
        for run in NUMBERS.find_iter(text) {
            let digits: String = run.as_str().chars().filter(char::is_ascii_digit).collect();
            if self.numbers.iter().any(|number| digits.contains(number.as_str())) {
                hidden.push(run.range());
            }
            self.find_births(run, hidden);
        }
    }

    fn find_texts(&self, text: &str, hidden: &mut Vec<Range<usize>>) {
        let (places, folded): (Vec<usize>, Vec<char>) = text.char_indices().map(|(at, c)| (at, fold(c))).unzip();
        let range = |from: usize, to: usize| places[from]..places.get(to).copied().unwrap_or(text.len());
        for (from, part) in folded.windows(PART).enumerate() {
            if !self.parts.is_empty() && self.parts.contains(part) {
                hidden.push(range(from, from + PART));
            }
        }
        for phrase in &self.phrases {
            let word = |at: Option<&char>| at.is_some_and(|c| c.is_alphanumeric());
            for (from, _) in folded.windows(phrase.len()).enumerate().filter(|(_, found)| *found == phrase.as_slice()) {
                let to = from + phrase.len();
                let begins = !(word(phrase.first()) && from > 0 && word(folded.get(from - 1)));
                let ends = !(word(phrase.last()) && word(folded.get(to)));
                if begins && ends {
                    hidden.push(range(from, to));
                }
            }
        }
    }

    /// Finds dates of birth in any order, with any separator or none.
    fn find_births(&self, run: regex::Match<'_>, hidden: &mut Vec<Range<usize>>) {
        let groups: Vec<regex::Match<'_>> = DIGITS.find_iter(run.as_str()).collect();
        let place = |from: usize, to: usize| run.start() + from..run.start() + to;
        for three in groups.windows(3) {
            let [a, b, c] = [0, 1, 2].map(|at| three[at].as_str());
            let orders = [[a, b, c], [c, b, a], [c, a, b]];
            if orders.into_iter().filter_map(|order| date_of(order.into_iter())).any(|day| self.births.contains(&day)) {
                hidden.push(place(three[0].start(), three[2].end()));
            }
        }
        for group in groups.iter().filter(|group| group.len() == 8) {
            let text = group.as_str();
            let orders = [
                [&text[..4], &text[4..6], &text[6..]],
                [&text[4..], &text[..2], &text[2..4]],
                [&text[4..], &text[2..4], &text[..2]],
            ];
            if orders.into_iter().filter_map(|order| date_of(order.into_iter())).any(|day| self.births.contains(&day)) {
                hidden.push(place(group.start(), group.end()));
            }
        }
    }
}

fn fold(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Parses year, month and day.
fn date_of<'a>(mut parts: impl Iterator<Item = &'a str>) -> Option<(u32, u32, u32)> {
    let mut next = || parts.next()?.parse().ok();
    let date: (u32, u32, u32) = (next()?, next()?, next()?);
    (date.0 > 1_000).then_some(date)
}

/// Digits with separators between them.
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d(?:[ ()./+-]{0,2}\d)+"));
static DIGITS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d+"));

/// Texts that look like a patient's data or a credential. If a pattern has a group, only the group is redacted.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // E-mail addresses.
        r#"[^\s<>()\[\]"'=:;,@]+@[^\s<>()\[\]"'=:;,@]+\.[\w-]{2,}"#,
        // Social security numbers.
        r"\b\d{3}-\d{2}-\d{4}\b",
        r"(?i)\bssn\W{0,4}(\d[\d -]{4,12})",
        // Telephone numbers: North American, and international.
        r"(?:\+\d{1,3}[ .-]?)?(?:\(\d{3}\) ?|\b\d{3}[ .-])\d{3}[ .-]\d{4}\b",
        r"\+\d(?:[ ().-]{0,2}\d){7,14}\b",
        r"(?i)\b(?:phone|tel|mobile|cell|fax)\w*\W{0,4}(\d[\d ().-]{5,18}\d)",
        // Labelled dates of birth.
        r"(?i)(?:birth|born|dob)\w*\W{0,6}(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{8}\b)",
        // Fields of records, as code prints them.
        r#"(?i)(?:\b(?:first|middle|last|family|given|full|patient|maiden|preferred|subscriber)_?-?name|\b(?:family|given|surname|ssn|e?mail|street|line_?[12]|city|postal_?code|zip|phone|note|premedication))\\?"?\s*[:=]\s*(?:Some\()?\[?\\?"((?:[^"\\]|\\[^"])*)"#,
        // Query strings of requests.
        r"/[\w/.%~-]*\?([^\s?]+)",
        // Credentials.
        r"(?i)\b(?:bearer|basic|session)\s+([A-Za-z0-9+/_.~=-]{8,})",
        r"\beyJ[\w-]+\.[\w-]+\.[\w-]*",
        r#"(?i)(?:token|secret|password|passwd|api[_-]?key|authorization|cookie)"?\s*=\s*"?([^\s"&;,]{4,})"#,
    ]
    .into_iter()
    .map(pattern)
    .collect()
});

/// Dates with a year of four digits.
static DAYS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:(\d{4})-\d{1,2}-\d{1,2}|\d{1,2}[/.-]\d{1,2}[/.-](\d{4}))(?:\b|T)"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file")
}

fn by_pattern(text: &str) -> Vec<Range<usize>> {
    let mut hidden = Vec::new();
    for pattern in &*PATTERNS {
        let found = pattern.captures_iter(text).filter_map(|found| found.get(1).or_else(|| found.get(0)));
        hidden.extend(found.map(|found| found.range()));
    }
    let this_year = chrono::DateTime::from_timestamp_millis(clock::now().0).map_or(0, |now| now.year());
    let days = DAYS.captures_iter(text).filter_map(|day| {
        let year: i32 = day.get(1).or_else(|| day.get(2))?.as_str().parse().ok()?;
        (FIRST_YEAR_OF_BIRTH..=this_year - YEARS).contains(&year).then(|| day.get(0).map(|found| found.range()))?
    });
    hidden.extend(days);
    hidden
}

/// Replaces the ranges. Merges ranges that overlap or touch, and keeps blanks at their ends.
fn without(text: &str, mut hidden: Vec<Range<usize>>) -> String {
    hidden.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in hidden {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    let (mut shown, mut at) = (String::with_capacity(text.len()), 0);
    for range in merged {
        let found = &text[range.clone()];
        let start = range.start + (found.len() - found.trim_start().len());
        shown.push_str(&text[at..start]);
        shown.push_str(HIDDEN);
        at = start + found.trim().len();
    }
    shown.push_str(&text[at..]);
    shown
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use records::{Address, EhrAppointment, EhrPatient, EhrRecord, Operation, Resource};

    use super::*;

    fn redact(write: Option<Write>, text: &str) -> String {
        Redactor::new(vec![Secret::new("Bearer s3cr3t-t0ken"), Secret::new("Basic YWRtaW46aHVudGVyMg==")], write).text(
            text,
            &[Secret::new("Session passing.by")],
            1_000,
        )
    }

    fn somebody() -> EhrPatient {
        let text = |text: &str| Some(text.to_owned());
        EhrPatient {
            id: "P-1712".into(),
            first_name: "Ann".into(),
            last_name: "Fairweather-Li".into(),
            date_of_birth: text("2025-03-07"),
            email: text("ann@mail.example"),
            cell_phone: text("+1 312 555 0142 ext. 77"),
            ssn: text("123-45-6789"),
            address: Some(Address {
                line1: text("12 Maple St"),
                region: text("IL"),
                postal_code: text("60601"),
                ..Address::default()
            }),
            ..EhrPatient::default()
        }
    }

    #[test]
    fn values_of_the_written_record_are_redacted_in_any_notation() {
        let before = EhrPatient { first_name: "Annabel".into(), ..somebody() };
        let write = Write::UpdatePatient(somebody(), Some(Box::new(before)));
        for (text, expected) in [
            ("no FAIRWEATHER here", "no [redacted] here"),
            ("Ann Fairweather-Li exists", "[redacted] exists"),
            ("Fairweather-Li, Ann exists", "[redacted] exists"),
            ("annabel exists", "[redacted] exists"),
            ("born 20250307", "born [redacted]"),
            ("b. 03/07/2025 or 7.3.2025", "b. [redacted] or [redacted]"),
            ("call 3125550142 now", "call [redacted] now"),
            ("call (312) 555-0142 now", "call [redacted] now"),
            ("id 123456789!", "id [redacted]!"),
            ("at 12 maple st, IL 60601", "at [redacted], IL [redacted]"),
        ] {
            assert_eq!(redact(Some(write.clone()), text), expected);
        }
    }

    #[test]
    fn texts_without_patient_data_are_unchanged() {
        let write = Write::CreatePatient(somebody());
        for text in [
            "patient P-1712: field gender is not one of M, F (status 422, request 7f0c6a52-91d1-4d5c-8a55-0ca1f6b0c1de)",
            "the slot 2026-11-23T10:30:00Z..2026-11-23T11:00:00Z at 10.0.0.17:8080 is taken, 1793511000",
            "Anna's adapter 1.4.0: the answer was 17 bytes, an answer of 2048 was due; error 40012",
            "panicked at src/lib.rs:120",
        ] {
            assert_eq!(redact(Some(write.clone()), text), text);
        }
    }

    #[test]
    fn parts_of_a_note_are_redacted() {
        let note = "She says that her jaw hurts since Monday".to_owned();
        let write = Write::CreateAppointment(EhrAppointment { note: Some(note), ..EhrAppointment::default() });
        let shown = redact(Some(write), "note too long: \"her JAW hurts since\\n\"");
        assert_eq!(shown, "note too long: \"[redacted]\\n\"");
        let answers = serde_json::json!({
            "patient": "P-1", "form_schema": "intake", "answers_json": "{\"a1\": [\"penicillin\"]}", "submitted_at": 0
        });
        let entry = EhrRecord::from_fields(Resource::FormResponses, "", answers).unwrap();
        assert_eq!(redact(Some(Write::Record(Operation::Create, entry)), "intake: penicillin?"), "intake: [redacted]?");
    }

    #[test]
    fn credentials_are_redacted_from_every_source() {
        for text in [
            "s3cr3t-t0ken",
            "Bearer s3cr3t-t0ken",
            "hunter2",
            "YWRtaW46aHVudGVyMg==",
            "bearer other.token_of/it",
            "passing.by",
        ] {
            let shown = redact(None, &format!("the EHR echoed {text}"));
            assert!(shown.ends_with("[redacted]") && !shown.contains(text), "{shown}");
        }
        assert_eq!(redact(None, "login?token=abcdef: 401"), "login?token=[redacted] 401");
    }

    #[test]
    fn texts_that_look_like_patient_data_are_redacted() {
        for (text, expected) in [
            ("mail zoë.o-brien@mail.example!", "mail [redacted]!"),
            ("ssn 123-45-6789, SSN: 123456789.", "ssn [redacted], SSN: [redacted]."),
            ("(312) 555-0142 / 312.555.0142 / +49 30 901820", "[redacted] / [redacted] / [redacted]"),
            ("1984-03-07 and 3/7/1984", "[redacted] and [redacted]"),
            (
                r#"Patient { first_name: "Ada", id: "7", family: Some("King") }"#,
                r#"Patient { first_name: "[redacted]", id: "7", family: Some("[redacted]") }"#,
            ),
            (r#"{"given": ["Ada"], "city":"Ely"}"#, r#"{"given": ["[redacted]"], "city":"[redacted]"}"#),
            ("GET /Patient?family=King&x=1 answered 500", "GET /Patient?[redacted] answered 500"),
        ] {
            assert_eq!(redact(None, text), expected);
        }
    }

    #[test]
    fn a_text_is_one_line_of_bounded_length() {
        assert_eq!(redact(None, "a\u{2028}b\u{202e}c\u{1b}[2Jd"), "a b c [2Jd");
        let long = redact(None, &"x".repeat(50_000));
        assert_eq!((long.len(), long.ends_with(" ...")), (1_004, true));
        assert!(redact(None, &"312-555-0142 ".repeat(5_000)).len() <= 1_004);
    }
}
