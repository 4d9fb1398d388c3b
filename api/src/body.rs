//! JSON bodies: read under limits, then field by field by path. Unknown fields are ignored; wrong ones are named with their path.

use std::time::Duration;

use actix_web::{
    body::{BodyStream, to_bytes_limited},
    dev::Payload,
    http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap},
};
use serde_json::Value;

use crate::{
    bounds::{MAX_DEPTH, MAX_VALUES},
    describe::{Expected, Expects},
    errors::ApiError,
    kinds::Kind,
};

const NO_OBJECT: &str = "The body must be a JSON object.";

/// How much of a body is read, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct BodyRules {
    pub max_bytes: usize,
    pub timeout: Duration,
}

/// The body, or null when there is none.
pub async fn read(headers: &HeaderMap, payload: Payload, rules: BodyRules) -> Result<Value, ApiError> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(ApiError::MediaType("Content-Encoding is not supported; send the body as it is.".into()));
    }
    let too_large = || ApiError::TooLarge { limit: rules.max_bytes };
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > rules.max_bytes as u64) {
        return Err(too_large());
    }
    let collecting = to_bytes_limited(BodyStream::new(payload), rules.max_bytes);
    let collected = tokio::time::timeout(rules.timeout, collecting).await.map_err(|_| ApiError::Timeout)?;
    let complete = collected.map_err(|_| too_large())?;
    let bytes = complete.map_err(|_| ApiError::bad("The body ended before it was complete."))?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if !is_json(headers) {
        return Err(ApiError::MediaType("The body must be JSON, sent with Content-Type: application/json.".into()));
    }
    parse(&bytes)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

fn parse(bytes: &[u8]) -> Result<Value, ApiError> {
    if let Some(offset) = too_deep(bytes) {
        return Err(ApiError::too_deep(offset));
    }
    match serde_json::from_slice(bytes) {
        // Only a body that is not there is none.
        Ok(Value::Null) => Err(ApiError::bad(NO_OBJECT)),
        Ok(body) => Ok(body),
        Err(error) => {
            let offset = offset(bytes, error.line(), error.column());
            Err(ApiError::bad(format!("The body is not valid JSON at byte {offset}: {}.", reason(&error))))
        }
    }
}

/// Where the nesting passes the limit. Told apart from brackets inside strings; whether it is JSON at all is not judged here.
fn too_deep(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(offset);
        }
    }
    None
}

fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let before: usize =
        bytes.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (before + column).min(bytes.len())
}

/// The message without serde's own position.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// A body read field by field. Paths are written with dots: `patient.first_name`.
#[derive(Debug, Default)]
pub struct Fields {
    body: Value,
    /// Where this object stands in the whole body: `allergies[2].`
    prefix: String,
    problems: Vec<String>,
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

    /// Takes nothing in: notes what is asked for, and answers with examples.
    pub fn describing() -> Fields {
        Fields { expects: Expects::noting(), ..Fields::default() }
    }

    /// What was asked for.
    pub fn expected(&mut self) -> Vec<Expected> {
        self.expects.take()
    }

    /// None when it is missing or null, or wrong, which is then among the problems.
    pub fn optional<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::of(path, &kind)) {
            return kind.example();
        }
        self.read(path, &kind)
    }

    fn read<T: 'static>(&mut self, path: &str, kind: &Kind<T>) -> Option<T> {
        let read = kind.json(self.at(path)?);
        read.map_err(|problem| self.told(path, &problem)).ok()
    }

    /// None is always among the problems.
    pub fn required<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::of(path, &kind).required()) {
            return kind.example();
        }
        if self.at(path).is_none() {
            self.told(path, "is missing");
            return None;
        }
        self.read(path, &kind)
    }

    /// Required where the object `parent` is there.
    pub fn required_in<T: 'static>(&mut self, parent: &str, path: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::of(path, &kind).required()) {
            return kind.example();
        }
        self.at(parent)?;
        self.required(path, kind)
    }

    /// The default stands for a missing field or null.
    pub fn defaulted<T: 'static>(&mut self, path: &str, kind: Kind<T>, default: impl Into<Value>) -> T {
        let default = default.into();
        if !self.expects.note(|| Expected::of(path, &kind).defaulted(&default))
            && let Some(value) = self.read(path, &kind)
        {
            return value;
        }
        kind.json(&default).expect("a default is one of its kind's values; describing every route in a test shows it")
    }

    /// An empty text says as little as a field that is not there.
    pub fn unless_empty<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::of(path, &kind)) {
            return kind.example();
        }
        let empty = self.at(path).and_then(Value::as_str).is_some_and(|text| text.trim().is_empty());
        if empty { None } else { self.read(path, &kind) }
    }

    /// For changes: None when the field is not there and nothing is to change, Some(None) when it is null and to be emptied.
    pub fn clearable<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<Option<T>> {
        if self.expects.note(|| Expected::of(path, &kind)) {
            return Some(kind.example());
        }
        let null = self.found(path)?.is_null();
        if null { Some(None) } else { self.read(path, &kind).map(Some) }
    }

    /// For changes of what cannot be emptied: null is wrong.
    pub fn kept<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::of(path, &kind).never_null()) {
            return kind.example();
        }
        if self.found(path).is_some_and(Value::is_null) {
            self.told(path, "must not be empty");
        }
        self.read(path, &kind)
    }

    /// Each element is named when it is wrong: `provider_ids[3]`.
    pub fn list<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Vec<T> {
        if self.expects.note(|| Expected::of(path, &kind).list()) {
            return kind.example().into_iter().collect();
        }
        let mut values = Vec::new();
        for (index, element) in self.elements(path).iter().enumerate() {
            match kind.json(element) {
                Ok(value) => values.push(value),
                Err(problem) => self.told(&format!("{path}[{index}]"), &problem),
            }
        }
        values
    }

    /// For changes: None when the list is not there and nothing is to change.
    pub fn optional_list<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<Vec<T>> {
        let there = self.at(path).is_some();
        Some(self.list(path, kind)).filter(|_| there)
    }

    /// A list of objects, each read by `read` with paths of its own. None of `read` leaves one out; its problems are told.
    pub fn objects<T>(&mut self, path: &str, mut read: impl FnMut(&mut Fields) -> Option<T>) -> Vec<T> {
        if self.expects.note(|| Expected::objects(path)) {
            let mut one = Fields::describing();
            let value = read(&mut one);
            self.expects.add(one.expected().into_iter().map(|it| it.below(&format!("{path}[]"))));
            return value.into_iter().collect();
        }
        let mut values = Vec::new();
        for (index, element) in self.elements(path).into_iter().enumerate() {
            if !element.is_object() {
                self.told(&format!("{path}[{index}]"), "must be an object");
                continue;
            }
            let prefix = format!("{}{path}[{index}].", self.prefix);
            let mut one = Fields { body: element, prefix, ..Fields::default() };
            values.extend(read(&mut one));
            self.problems.extend(one.take_problems());
        }
        values
    }

    /// Lets clients send what is in the object `name` without it.
    pub fn may_be_unwrapped(&mut self, name: &str) {
        if self.body.is_object() && self.body.get(name).is_none() {
            self.body = Value::Object([(name.to_owned(), self.body.take())].into_iter().collect());
        }
    }

    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// So that a reader of several fields knows whether one of them was wrong.
    pub fn problem_count(&self) -> usize {
        self.problems.len()
    }

    pub fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// The whole body, for what is bound to it.
    pub fn whole(&self) -> &Value {
        &self.body
    }

    fn told(&mut self, path: &str, problem: &str) {
        self.problems.push(format!("{}{path} {problem}.", self.prefix));
    }

    fn elements(&mut self, path: &str) -> Vec<Value> {
        match self.at(path).cloned() {
            None => Vec::new(),
            Some(Value::Array(elements)) if elements.len() <= MAX_VALUES => elements,
            Some(Value::Array(_)) => {
                self.told(path, &format!("holds more than {MAX_VALUES} values"));
                Vec::new()
            }
            Some(_) => {
                self.told(path, "must be an array");
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
    use crate::kinds::{boolean, date, filled, id, integer, long_id, object, text};

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
    fn null_is_a_body_that_is_no_object() {
        assert_eq!(problem(b" null "), NO_OBJECT);
    }

    #[test]
    fn deep_nesting_is_refused_before_it_is_parsed() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(
            problem(&nested(MAX_DEPTH + 1)),
            format!("The body is nested deeper than 64 levels at byte {MAX_DEPTH}.")
        );
        assert!(problem(&vec![b'{'; 1_000_000]).contains("deeper"));
        let quoted = format!("[\"{}\\\"[\"]", "[".repeat(500));
        assert!(parse(quoted.as_bytes()).is_ok());
    }

    #[test]
    fn fields_are_named_with_their_path() {
        let body = json!({
            "patient": {"first_name": 7, "date_of_birth": "0000-01-01", "last_name": " Lee "},
            "provider_ids": [1, "2", -3, 4.5, 5.0],
            "days": "7", "limit": 0, "big": u64::MAX, "note": null, "extra": {"ignored": true},
            "flag": 1, "operatory_ids": 3
        });
        let mut fields = Fields::new(body);
        assert_eq!(fields.required("patient", object()), Some(()));
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
            "patient.date_of_birth must be a date in the form YYYY-MM-DD.",
            "provider_ids[1] must be an integer.",
            "provider_ids[2] must lie between 1 and 2147483647.",
            "provider_ids[3] must be an integer.",
            "days must be an integer.",
            "limit must lie between 1 and 100.",
            "big must lie between 1 and 100.",
            "flag must be true or false.",
            "operatory_ids must be an array.",
            "slot_token is missing.",
            "patient.first_name.deeper is missing.",
        ];
        assert_eq!(fields.take_problems(), expected);
    }

    #[test]
    fn a_body_is_an_object() {
        for body in [json!([]), json!("x"), json!(1)] {
            assert_eq!(Fields::new(body).take_problems(), ["The body must be a JSON object."]);
        }
        assert!(Fields::new(Value::Null).take_problems().is_empty());
    }
}
