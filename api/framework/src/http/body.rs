//! Bodies: read under limits, and JSON in one pass.

use std::time::Duration;

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
        row::{Given, Names, Row, StrictJson, TOO_DEEP},
    },
    values::{failures::Failure, limits::MAX_DEPTH},
};

pub(super) const NO_OBJECT: &str = "The body must be a JSON object.";
/// The first is the documented one, which generated clients use.
const COMPONENT_TYPES: [&str; 2] = ["application/octet-stream", "application/wasm"];
/// Minimum timeout for a component on a slow connection.
const COMPONENT_TIME: Duration = Duration::from_secs(120);

/// RFC 8259 allows readers to ignore it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[derive(Clone, Copy, Debug)]
pub struct BodyRules {
    pub max_bytes: usize,
    pub timeout: Duration,
}

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

/// Reads the bytes of a JSON body, which are empty if there is none.
pub async fn json(headers: &HeaderMap, payload: Payload, rules: BodyRules) -> Result<JsonBytes, ApiError> {
    let body = JsonBytes(collect(headers, payload, rules).await?);
    if !body.json().is_empty() {
        check_type(headers)?;
    }
    Ok(body)
}

/// Returns an error if the body is declared as something other than JSON in UTF-8.
fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let declared = declared.to_ascii_lowercase();
    if !is_json(&declared) {
        return Err(unsupported("The body must be JSON, sent with Content-Type: application/json."));
    }
    if !is_utf8(&declared) {
        return Err(unsupported("The body must be in UTF-8: send no other charset."));
    }
    Ok(())
}

/// A JSON body, which may begin with a byte order mark.
#[derive(Default)]
pub struct JsonBytes(pub(crate) Bytes);

impl JsonBytes {
    /// Returns the body without its byte order mark.
    pub fn into_json(self) -> Bytes {
        let skipped = self.0.len() - self.json().len();
        self.0.slice(skipped..)
    }

    fn json(&self) -> &[u8] {
        self.0.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.0)
    }

    /// Returns the whole body as a value; null if there is none or if it is not JSON.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(self.json()).unwrap_or_default()
    }

    /// Parses the body into the declared fields.
    pub(super) fn parse(&self, names: &'static Names) -> Result<Given, ApiError> {
        let bytes = self.json();
        if bytes.is_empty() {
            return Ok(Given::Object(Row::default()));
        }
        let skipped = self.0.len() - bytes.len();
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let parsed = StrictJson::body(names).deserialize(&mut deserializer);
        let error = match parsed.and_then(|given| deserializer.end().map(|()| given)) {
            Ok(Given::Value(Value::Null)) => return Err(ApiError::bad(NO_OBJECT)),
            Ok(given) => return Ok(given),
            Err(error) => error,
        };
        let reached = offset(bytes, error.line(), error.column());
        let problem = match reason(&error) {
            reason if reason == TOO_DEEP => {
                let bracket = bytes[..reached].iter().rposition(|byte| b"[{".contains(byte));
                let offset = skipped + bracket.unwrap_or(reached);
                return Err(ApiError::new(Failure::BodyTooDeep, &[&MAX_DEPTH, &offset]));
            }
            reason if error.is_data() => format!("The body {reason}."),
            reason => format!("The body is not valid JSON at byte {}: {reason}.", skipped + reached),
        };
        Err(ApiError::new(Failure::InvalidJson, &[&problem]))
    }
}

fn unsupported(why: &str) -> ApiError {
    ApiError::new(Failure::UnsupportedMediaType, &[&why])
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Returns `true` unless another charset than UTF-8 is declared.
fn is_utf8(kind: &str) -> bool {
    let mut charsets = kind.split(';').skip(1).filter_map(|parameter| parameter.trim().strip_prefix("charset="));
    charsets.all(|charset| ["utf-8", "utf8", "us-ascii"].contains(&charset.trim_matches('"')))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn parse(bytes: &[u8]) -> Result<Given, ApiError> {
        JsonBytes(bytes.to_vec().into()).parse(Names::NONE)
    }

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
        let body = JsonBytes(marked("{\"a\": \"\u{feff}\"}").into());
        assert_eq!(body.value(), serde_json::json!({"a": "\u{feff}"}));
        assert_eq!(body.into_json(), "{\"a\": \"\u{feff}\"}".as_bytes());
        assert!(parse(&marked(" {}")).is_ok());
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
    fn bodies_of_another_type_or_charset_are_refused() {
        let refusal = |declared: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(declared));
            check_type(&headers).err().map(|error| error.to_string())
        };
        for right in ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""] {
            assert_eq!(refusal(right), None, "{right}");
        }
        for wrong in ["application/json; charset=utf-16", "application/json; charset=latin1"] {
            assert!(refusal(wrong).is_some_and(|why| why.contains("UTF-8")), "{wrong}");
        }
        assert!(refusal("text/json").is_some_and(|why| why.contains("must be JSON")));
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
}
