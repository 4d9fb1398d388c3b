//! JSON bodies: read under limits, then field by field by path. Unread fields are ignored and reported; invalid ones
//! are refused with their path.

use std::{collections::BTreeSet, time::Duration};

use actix_web::{
    body::{BodyStream, to_bytes_limited},
    dev::Payload,
    http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap},
    web::Bytes,
};
use engine::adapter_host::COMPONENT_BYTES;
use serde::de::DeserializeSeed;
use serde_json::Value;

use crate::{
    http::{
        errors::ApiError,
        strict_json::{StrictJson, TOO_DEEP},
    },
    values::{
        expected::{Expected, Expects},
        failures::Failure,
        kinds::{Kind, echo, reference::Reference},
        limits::{MAX_ECHOED_NAMES, MAX_VALUES},
    },
};

const NO_OBJECT: &str = "The body must be a JSON object.";
/// The first is the documented one, which generated clients use.
const COMPONENT_TYPES: [&str; 2] = ["application/octet-stream", "application/wasm"];
/// Minimum timeout for a component on a slow connection.
const COMPONENT_TIME: Duration = Duration::from_secs(120);

/// RFC 8259 allows readers to ignore it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Limits for reading a body.
#[derive(Clone, Copy, Debug)]
pub struct BodyRules {
    pub max_bytes: usize,
    pub timeout: Duration,
}

/// Reads the raw body.
pub async fn collect(headers: &HeaderMap, payload: Payload, rules: BodyRules) -> Result<Bytes, ApiError> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(unsupported("Content-Encoding is not supported; send the body as it is."));
    }
    let too_large = || ApiError::new(Failure::BodyTooLarge, &[&rules.max_bytes]);
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > rules.max_bytes as u64) {
        return Err(too_large());
    }
    let collecting = to_bytes_limited(BodyStream::new(payload), rules.max_bytes);
    let collected = tokio::time::timeout(rules.timeout, collecting).await.map_err(|_| Failure::RequestTimeout)?;
    let complete = collected.map_err(|_| too_large())?;
    complete.map_err(|_| ApiError::bad("The body ended before it was complete."))
}

/// Reads an adapter component, under higher limits than other bodies.
pub async fn component(headers: &HeaderMap, payload: Payload, timeout: Duration) -> Result<Bytes, ApiError> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !COMPONENT_TYPES.iter().any(|it| kind.eq_ignore_ascii_case(it)) {
        return Err(unsupported(
            "The body must be a component, sent with Content-Type: application/octet-stream or application/wasm.",
        ));
    }
    let rules = BodyRules { max_bytes: COMPONENT_BYTES as usize, timeout: timeout.max(COMPONENT_TIME) };
    collect(headers, payload, rules).await
}

/// Reads a JSON body. Returns null for an empty body.
pub async fn read(headers: &HeaderMap, payload: Payload, rules: BodyRules) -> Result<Value, ApiError> {
    let bytes = collect(headers, payload, rules).await?;
    if bytes.is_empty() || *bytes == *BYTE_ORDER_MARK {
        return Ok(Value::Null);
    }
    if !is_json(headers) {
        return Err(unsupported("The body must be JSON, sent with Content-Type: application/json."));
    }
    if !is_utf8(headers) {
        return Err(unsupported("The body must be in UTF-8: send no other charset."));
    }
    parse(&bytes)
}

fn unsupported(why: &str) -> ApiError {
    ApiError::new(Failure::UnsupportedMediaType, &[&why])
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Returns `true` unless another charset than UTF-8 is declared.
fn is_utf8(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    let mut charsets = kind.split(';').skip(1).filter_map(|parameter| parameter.trim().strip_prefix("charset="));
    charsets.all(|charset| ["utf-8", "utf8", "us-ascii"].contains(&charset.trim_matches('"')))
}

fn parse(body: &[u8]) -> Result<Value, ApiError> {
    let bytes = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let skipped = body.len() - bytes.len();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = StrictJson::default().deserialize(&mut deserializer);
    match parsed.and_then(|value| deserializer.end().map(|()| value)) {
        // `read` returns null for a missing body, so a literal null is refused.
        Ok(Value::Null) => Err(ApiError::bad(NO_OBJECT)),
        Ok(body) => Ok(body),
        Err(error) => {
            let reached = offset(bytes, error.line(), error.column());
            let problem = match reason(&error) {
                reason if reason == TOO_DEEP => {
                    let bracket = bytes[..reached].iter().rposition(|byte| b"[{".contains(byte));
                    return Err(ApiError::too_deep(skipped + bracket.unwrap_or(reached)));
                }
                reason if error.is_data() => format!("The body {reason}."),
                reason => format!("The body is not valid JSON at byte {}: {reason}.", skipped + reached),
            };
            Err(ApiError::new(Failure::InvalidJson, &[&problem]))
        }
    }
}

fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let before: usize =
        bytes.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (before + column).min(bytes.len())
}

/// Returns the message without serde's position.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Body read field by field. Paths use dots: `patient.first_name`.
#[derive(Debug, Default)]
pub struct Fields {
    body: Value,
    /// Path of this object within the body: `allergies[2].`
    prefix: String,
    problems: Vec<String>,
    /// Paths that were read.
    known: BTreeSet<String>,
    /// Unread fields of list elements, which have separate readers.
    ignored_inside: Vec<String>,
    /// Records that the fields reference.
    pub references: Vec<Reference>,
    expects: Expects,
}

impl Fields {
    pub fn new(body: Value) -> Fields {
        let problems = match body {
            Value::Null | Value::Object(_) => Vec::new(),
            _ => vec![NO_OBJECT.to_owned()],
        };
        Fields { body, problems, ..Fields::default() }
    }

    /// Creates a reader without input, which records the requested fields and returns examples.
    pub fn describing() -> Fields {
        Fields { expects: Expects::noting(), ..Fields::default() }
    }

    /// Returns the recorded fields.
    pub fn expected(&mut self) -> Vec<Expected> {
        self.expects.take()
    }

    /// Reads an optional field. Returns `None` for missing, null and invalid values, and reports the latter.
    pub fn optional<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        self.known.insert(path.to_owned());
        if self.expects.note(|| Expected::new(path, &kind)) {
            return kind.example();
        }
        self.read(path, &kind)
    }

    fn read<T: 'static>(&mut self, path: &str, kind: &Kind<T>) -> Option<T> {
        let read = kind.json(self.at(path)?);
        let read = read.map_err(|problem| self.add_problem(path, &problem)).ok();
        self.references.extend(read.as_ref().and_then(|value| kind.reference(value)));
        read
    }

    /// Reads a required field. If it is missing or invalid, reports it and returns an example.
    pub fn required<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> T {
        self.needed(path, &kind).unwrap_or_else(|| kind.placeholder())
    }

    /// Like `required`, but returns `None`, for fields that are compared with others.
    pub fn required_or_none<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        self.needed(path, &kind)
    }

    fn needed<T: 'static>(&mut self, path: &str, kind: &Kind<T>) -> Option<T> {
        self.known.insert(path.to_owned());
        if self.expects.note(|| Expected::new(path, kind).required()) {
            return kind.example();
        }
        if self.at(path).is_none() {
            if !self.inside_missing(path) {
                self.add_problem(path, "is missing");
            }
            return None;
        }
        self.read(path, kind)
    }

    /// Reads a field that is required if the object `parent` exists. Returns an example otherwise.
    pub fn required_in<T: 'static>(&mut self, parent: &str, name: &str, kind: Kind<T>) -> T {
        let path = format!("{parent}.{name}");
        self.known.insert(path.clone());
        if self.expects.note(|| Expected::new(&path, &kind).required()) || self.at(parent).is_none() {
            return kind.placeholder();
        }
        self.required(&path, kind)
    }

    /// Reads a field with a default for missing and null.
    pub fn defaulted<T: 'static>(&mut self, path: &str, kind: Kind<T>, default: impl Into<Value>) -> T {
        self.known.insert(path.to_owned());
        let default = default.into();
        if !self.expects.note(|| Expected::new(path, &kind).defaulted(&default))
            && let Some(value) = self.read(path, &kind)
        {
            return value;
        }
        kind.json(&default)
            .expect("a default is a valid value of its kind, as the test that describes every route checks")
    }

    /// Reads an optional field, where an empty string counts as missing.
    pub fn optional_nonempty<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        self.known.insert(path.to_owned());
        if self.expects.note(|| Expected::new(path, &kind)) {
            return kind.example();
        }
        let empty = self.at(path).and_then(Value::as_str).is_some_and(|text| text.trim().is_empty());
        if empty { None } else { self.read(path, &kind) }
    }

    /// Reads a field of a change: `None` leaves it unchanged, `Some(None)` (null) clears it.
    pub fn clearable<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<Option<T>> {
        self.known.insert(path.to_owned());
        if self.expects.note(|| Expected::new(path, &kind)) {
            return Some(kind.example());
        }
        let null = self.found(path)?.is_null();
        if null { Some(None) } else { self.read(path, &kind).map(Some) }
    }

    /// Like `clearable`, for text that null sets to the empty string.
    pub fn clearable_text<T: Default + 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        self.clearable(path, kind).map(Option::unwrap_or_default)
    }

    /// Reads a field of a change that cannot be cleared; null is refused.
    pub fn optional_not_null<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        self.known.insert(path.to_owned());
        if self.expects.note(|| Expected::new(path, &kind).never_null()) {
            return kind.example();
        }
        if self.found(path).is_some_and(Value::is_null) {
            self.add_problem(path, "must not be empty");
        }
        self.read(path, &kind)
    }

    /// Reads a list. Problems name the element: `provider_ids[3]`.
    pub fn list<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Vec<T> {
        self.known.insert(path.to_owned());
        if self.expects.note(|| Expected::new(path, &kind).list(MAX_VALUES)) {
            return kind.example().into_iter().collect();
        }
        let mut values = Vec::new();
        for (index, element) in self.elements(path).iter().enumerate() {
            match kind.json(element) {
                Ok(value) => {
                    self.references.extend(kind.reference(&value));
                    values.push(value);
                }
                Err(problem) => self.add_problem(&format!("{path}[{index}]"), &problem),
            }
        }
        values
    }

    /// Reads a list of a change; `None` leaves it unchanged.
    pub fn optional_list<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<Vec<T>> {
        let there = self.at(path).is_some();
        Some(self.list(path, kind)).filter(|_| there)
    }

    /// Reads a list of objects, each with relative paths. Elements with problems are reported and omitted.
    pub fn objects<T>(&mut self, path: &str, about: &'static str, mut read: impl FnMut(&mut Fields) -> T) -> Vec<T> {
        self.known.insert(path.to_owned());
        if self.expects.note(|| Expected::objects(path, about)) {
            let mut one = Fields::describing();
            let value = read(&mut one);
            self.expects.add(one.expected().into_iter().map(|it| it.below(&format!("{path}[]"))));
            return vec![value];
        }
        let mut values = Vec::new();
        for (index, element) in self.elements(path).into_iter().enumerate() {
            if !element.is_object() {
                self.add_problem(&format!("{path}[{index}]"), "must be an object");
                continue;
            }
            let prefix = format!("{}{path}[{index}].", self.prefix);
            let mut one = Fields { body: element, prefix, ..Fields::default() };
            let value = read(&mut one);
            let problems = one.take_problems();
            values.extend(problems.is_empty().then_some(value));
            self.problems.extend(problems);
            self.references.append(&mut one.references);
            let room = MAX_ECHOED_NAMES.saturating_sub(self.ignored_inside.len());
            self.ignored_inside.extend(one.ignored().into_iter().take(room));
        }
        values
    }

    /// Documents an object whose fields are read separately.
    pub fn container(&mut self, path: &str, about: &'static str) {
        self.expects.note(|| Expected::container(path, about));
    }

    /// Accepts another name for the object `name`.
    pub fn accept_alias(&mut self, name: &str, other: &str) {
        if let Some(object) = self.body.as_object_mut()
            && !object.contains_key(name)
            && let Some(value) = object.remove(other)
        {
            object.insert(name.to_owned(), value);
        }
    }

    /// Accepts the content of the object `name` without the wrapper.
    pub fn accept_unwrapped(&mut self, name: &str) {
        if self.body.is_object() && self.body.get(name).is_none() {
            self.body = Value::Object([(name.to_owned(), self.body.take())].into_iter().collect());
        }
    }

    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// Returns the number of problems, so that a reader of several fields can detect new ones.
    pub fn problem_count(&self) -> usize {
        self.problems.len()
    }

    pub fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// Returns the paths of unread fields. The content of a field that was read as a whole is not inspected.
    pub fn ignored(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.unknown(&self.body, "", &mut names);
        names.extend(self.ignored_inside.iter().cloned());
        names.truncate(MAX_ECHOED_NAMES);
        names
    }

    fn unknown(&self, object: &Value, path: &str, names: &mut Vec<String>) {
        for (name, value) in object.as_object().into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let inside = format!("{path}.");
            let parent = self.known.range(inside.clone()..).next().is_some_and(|known| known.starts_with(&inside));
            match value {
                _ if names.len() >= MAX_ECHOED_NAMES => return,
                Value::Object(_) if parent => self.unknown(value, &path, names),
                _ if parent || self.known.contains(&path) => {}
                _ => names.push(format!("{}{}", self.prefix, echo(&path))),
            }
        }
    }

    /// Returns the whole body.
    pub fn whole(&self) -> &Value {
        &self.body
    }

    /// Returns `true` if an enclosing object was reported as missing, which makes further problems redundant.
    fn inside_missing(&self, path: &str) -> bool {
        let parents = path.match_indices('.').map(|(at, _)| &path[..at]);
        let told = |parent: &str| self.problems.contains(&format!("{}{parent} is missing.", self.prefix));
        parents.into_iter().any(told)
    }

    fn add_problem(&mut self, path: &str, problem: &str) {
        self.problems.push(format!("{}{path} {problem}.", self.prefix));
    }

    fn elements(&mut self, path: &str) -> Vec<Value> {
        match self.at(path).cloned() {
            None => Vec::new(),
            Some(Value::Array(elements)) if elements.len() <= MAX_VALUES => elements,
            Some(Value::Array(_)) => {
                self.add_problem(path, &format!("holds more than {MAX_VALUES} values"));
                Vec::new()
            }
            Some(_) => {
                self.add_problem(path, "must be an array");
                Vec::new()
            }
        }
    }

    fn found(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&self.body, |value, name| value.get(name))
    }

    fn at(&self, path: &str) -> Option<&Value> {
        self.found(path).filter(|value| !value.is_null())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::values::{
        kinds::{boolean, filled, id, integer, long_id, object, text, times::date},
        limits::MAX_DEPTH,
    };

    fn problem(bytes: &[u8]) -> String {
        parse(bytes).unwrap_err().to_string()
    }

    #[test]
    fn broken_json_is_answered_with_the_byte() {
        assert!(problem(b"{\"a\": }").starts_with("The body is not valid JSON at byte 7: expected value"));
        assert!(problem(b"{\n\"a\": 1,\n}").contains("at byte 11"), "{}", problem(b"{\n\"a\": 1,\n}"));
        assert!(problem(b"{").contains("at byte 1: EOF"));
        assert!(problem(b"{\"a\":1} x").contains("trailing"));
        assert!(problem(b"\"\xff\"").contains("at byte"));
        assert!(problem(b"{\"a\":1e999}").contains("number out of range"));
    }

    #[test]
    fn a_byte_order_mark_before_the_json_is_skipped() {
        let marked = |json: &str| format!("\u{feff}{json}").into_bytes();
        assert_eq!(parse(&marked("{\"a\": \"\u{feff}\"}")).unwrap(), json!({"a": "\u{feff}"}));
        assert_eq!(parse(&marked(" {}")).unwrap(), json!({}));
        assert!(problem(&marked("{\"a\": }")).contains("at byte 10"), "counted from the first byte of the body");
        assert!(problem(&marked("\u{feff}{}")).contains("at byte 4"), "one mark and no more");
        assert!(problem(b"\xfe\xff\0{").contains("at byte 1"), "of UTF-16");
        assert_eq!(problem(&marked("null")), NO_OBJECT);
    }

    #[test]
    fn duplicate_keys_in_a_body_are_refused() {
        assert_eq!(
            problem(br#"{"a": 1, "b": {"c": [{"d": 1, "e": 2, "d": 3}]}}"#),
            "The body holds the key \"d\" twice."
        );
        assert_eq!(problem(br#"{"a": 1, "\u0061": 1}"#), "The body holds the key \"a\" twice.");
        assert!(parse(br#"{"a": {"a": [null, true, -1, 1.5, "a"]}, "b": {"a": 18446744073709551615}}"#).is_ok());
    }

    #[test]
    fn bodies_with_another_charset_than_utf_8_are_refused() {
        let with = |kind: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, actix_web::http::header::HeaderValue::from_static(kind));
            is_json(&headers) && is_utf8(&headers)
        };
        for right in ["application/json", "application/json; charset=UTF-8", "application/json;charset=\"utf-8\""] {
            assert!(with(right), "{right}");
        }
        for wrong in ["application/json; charset=utf-16", "application/json; charset=latin1"] {
            assert!(!with(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_missing_object_hides_problems_of_its_fields() {
        let mut fields = Fields::new(json!({"name": "x"}));
        fields.accept_alias("working_hour", "availability");
        fields.required("working_hour", object(""));
        fields.required("working_hour.days", id());
        assert_eq!(fields.take_problems(), ["working_hour is missing."]);
        assert_eq!(fields.ignored(), ["name"]);
        let mut fields = Fields::new(json!({"availability": {"days": 1}}));
        fields.accept_alias("working_hour", "availability");
        assert_eq!(fields.required("working_hour.days", id()), 1);
        assert!(fields.ignored().is_empty());
    }

    #[test]
    fn wrong_fields_yield_examples_and_do_not_end_the_reading() {
        let mut fields = Fields::new(json!({"days": 99, "items": [{"id": "x"}, {"id": 2}]}));
        assert_eq!(fields.required("days", integer(1..=60)), 1);
        assert_eq!(fields.required_or_none("name", text(10)), None);
        assert_eq!(fields.objects("items", "", |one| one.required("id", id())), [2]);
        assert_eq!(fields.required_in("parent", "name", text(10)), "text");
        let expected = ["days must be between 1 and 60.", "name is missing.", "items[0].id must be an integer."];
        assert_eq!(fields.take_problems(), expected);
    }

    #[test]
    fn a_body_of_null_is_refused() {
        assert_eq!(problem(b" null "), NO_OBJECT);
    }

    #[test]
    fn deep_nesting_is_refused() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(
            problem(&nested(MAX_DEPTH + 1)),
            format!("The body is nested deeper than 64 levels at byte {MAX_DEPTH}.")
        );
        assert!(problem("{\"a\":".repeat(100_000).as_bytes()).contains("deeper"));
        assert!(problem(&vec![b'['; 1_000_000]).contains("deeper"));
        let quoted = format!("[\"{}\\\"[\"]", "[".repeat(500));
        assert!(parse(quoted.as_bytes()).is_ok());
    }

    #[test]
    fn problems_of_fields_contain_their_path() {
        let body = json!({
            "patient": {"first_name": 7, "date_of_birth": "0000-01-01", "last_name": " Lee "},
            "provider_ids": [1, "2x", -3, 4.5, 5.0],
            "days": "seven", "limit": 0, "big": u64::MAX, "note": null, "extra": {"ignored": true},
            "flag": 1, "operatory_ids": 3
        });
        let mut fields = Fields::new(body);
        fields.required("patient", object(""));
        assert_eq!(fields.optional("patient.last_name", filled(text(10))), Some("Lee".into()));
        assert_eq!(fields.optional("note", text(10)), None);
        fields.optional("patient.first_name", text(10));
        fields.optional("patient.date_of_birth", date());
        assert_eq!(fields.list("provider_ids", id()), vec![1, 5]);
        fields.optional("days", integer(1..=60));
        fields.optional("limit", integer(1..=100));
        fields.optional("big", integer(1..=100));
        fields.optional("flag", boolean());
        fields.list("operatory_ids", long_id());
        fields.required("slot_token", text(10));
        fields.required("patient.first_name.deeper", text(10));
        let expected = [
            "patient.first_name must be a string.",
            "patient.date_of_birth must be between the years 1900 and 2199.",
            "provider_ids[1] must be an integer.",
            "provider_ids[2] must be between 1 and 2147483647.",
            "provider_ids[3] must be an integer.",
            "days must be an integer.",
            "limit must be between 1 and 100.",
            "big must be between 1 and 100.",
            "flag must be true or false.",
            "operatory_ids must be an array.",
            "slot_token is missing.",
            "patient.first_name.deeper is missing.",
        ];
        assert_eq!(fields.take_problems(), expected);
    }

    #[test]
    fn unread_fields_are_reported_with_their_path() {
        let mut fields = Fields::new(json!({
            "patient": {"first_name": "Pat", "frist_name": "x", "bio": {"gendr": 1}, "more": {"deep": 1}},
            "free": {"any": {"thing": 1}}, "items": [{"id": 1, "nte": "x"}, {"id": 2}], "foo": null,
        }));
        fields.required("patient", object(""));
        fields.optional("patient.first_name", text(10));
        fields.optional("patient.bio.gender", text(10));
        fields.optional("free", crate::values::kinds::json_object());
        fields.objects("items", "", |one| one.required("id", id()));
        assert!(fields.take_problems().is_empty());
        assert_eq!(
            fields.ignored(),
            ["foo", "patient.bio.gendr", "patient.frist_name", "patient.more", "items[0].nte"]
        );
        let many: serde_json::Map<String, Value> = (0..1_000).map(|n| (format!("f{n}"), json!(n))).collect();
        assert_eq!(Fields::new(Value::Object(many)).ignored().len(), MAX_ECHOED_NAMES);
    }

    #[test]
    fn a_body_other_than_an_object_is_refused() {
        for body in [json!([]), json!("x"), json!(1)] {
            assert_eq!(Fields::new(body).take_problems(), ["The body must be a JSON object."]);
        }
        assert!(Fields::new(Value::Null).take_problems().is_empty());
    }
}
