//! The Idempotency-Key header of requests that create records. Repeating key and request returns the first response
//! again.

use actix_web::{
    HttpRequest,
    http::header::{HeaderMap, HeaderName},
};
use engine::idempotency::IdempotencyKey;
use location::LocationId;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    access::keys::ApiKey,
    http::{body::JsonBytes, errors::ApiError, query::Params},
    values::{limits::MAX_IDEMPOTENCY_KEY, secret::joined},
};

pub const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Reads the header. Returns only hashes; the key itself is not passed to the engine.
pub fn read(
    key: &ApiKey,
    request: &HttpRequest,
    query: &Params,
    body: &JsonBytes,
) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(given) = given(request.headers())? else { return Ok(None) };
    let method = request.method().as_str();
    let key_digest = digest([key.id().as_bytes(), method.as_bytes(), request.path().as_bytes(), given.as_bytes()]);
    let mut pairs = query.pairs_except(&[]);
    pairs.sort_unstable();
    let mut texts: Vec<String> = pairs.iter().flat_map(|(name, value)| [*name, *value]).map(str::to_owned).collect();
    // The fingerprint covers all fields, also those that the input does not declare.
    texts.push(canonical(&body.value()));
    Ok(Some(IdempotencyKey { key: key_digest, fingerprint: digest(texts.iter().map(String::as_bytes)) }))
}

/// Returns the key of a record that the client numbers, where each number is unique per location. `content` is the
/// data that must match for two requests to mean the same record.
pub fn numbered(location: LocationId, record: &str, number: &str, content: &Value) -> IdempotencyKey {
    let at = location.0.to_be_bytes();
    let key = digest([&at[..], record.as_bytes(), number.as_bytes()]);
    IdempotencyKey { key, fingerprint: digest([canonical(content).as_bytes()]) }
}

/// Derives the key of one of several records that a request creates.
pub fn nth(once: IdempotencyKey, n: usize) -> IdempotencyKey {
    let mut key = Sha256::new();
    key.update(once.key);
    key.update((n as u64).to_be_bytes());
    IdempotencyKey { key: key.finalize().into(), ..once }
}

fn given(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut all = headers.get_all(KEY);
    let Some(first) = all.next() else { return Ok(None) };
    let visible = first.as_bytes().iter().all(u8::is_ascii_graphic);
    let sane = visible && (1..=MAX_IDEMPOTENCY_KEY).contains(&first.len()) && all.next().is_none();
    let text = first.to_str().ok().filter(|_| sane);
    let wrong = || ApiError::bad("Idempotency-Key must hold 1 to 255 visible ASCII characters, and be given once.");
    text.map(|text| Some(text.to_owned())).ok_or_else(wrong)
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
    Sha256::digest(joined(parts)).into()
}

/// Returns the same text for equal JSON, regardless of its formatting. Body parsing has limited the depth.
fn canonical(value: &Value) -> String {
    match value {
        Value::Array(elements) => format!("[{}]", elements.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(object) => {
            let mut fields: Vec<(&String, &Value)> = object.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            let fields =
                fields.into_iter().map(|(name, value)| format!("{}:{}", Value::String(name.clone()), canonical(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use actix_web::test::TestRequest;
    use serde_json::json;

    use super::*;
    use crate::access::authentication::anonymous_key;

    fn key(hash: u8) -> ApiKey {
        ApiKey { hash: [hash; 32], ..anonymous_key() }
    }

    fn once(hash: u8, path: &str, query: &str, given: &[u8], body: Value) -> Result<Option<IdempotencyKey>, ApiError> {
        let value = actix_web::http::header::HeaderValue::from_bytes(given).unwrap();
        let request = TestRequest::post().uri(path).insert_header((KEY, value)).to_http_request();
        read(&key(hash), &request, &Params::parse(query).unwrap(), &JsonBytes(body.to_string().into()))
    }

    #[test]
    fn a_key_belongs_to_one_api_key_and_path() {
        let first = once(1, "/payments", "", b"k-1", json!({})).unwrap().unwrap();
        assert_eq!(once(1, "/payments", "", b"k-1", json!({})).unwrap(), Some(first));
        for other in [
            once(2, "/payments", "", b"k-1", json!({})),
            once(1, "/adjustments", "", b"k-1", json!({})),
            once(1, "/payments", "", b"k-2", json!({})),
        ] {
            let other = other.unwrap().unwrap();
            assert_ne!(other.key, first.key);
            assert_eq!(other.fingerprint, first.fingerprint);
        }
    }

    #[test]
    fn fingerprint_ignores_parameter_order_and_json_formatting() {
        let print = |query: &str, body: &str| {
            once(1, "/payments", query, b"k", serde_json::from_str(body).unwrap()).unwrap().unwrap().fingerprint
        };
        let first = print("a=1&b=2", r#"{"x": {"p": 1, "q": [1, 2]}, "y": "é"}"#);
        assert_eq!(print("b=2&a=1", r#"{"y":"\u00e9","x":{"q":[1,2],"p":1}}"#), first);
        assert_ne!(print("a=1&b=3", r#"{"x": {"p": 1, "q": [1, 2]}, "y": "é"}"#), first);
        assert_ne!(print("a=1&b=2", r#"{"x": {"p": 1, "q": [2, 1]}, "y": "é"}"#), first);
    }

    #[test]
    fn idempotency_keys_with_invisible_or_too_many_characters_are_refused() {
        let request = TestRequest::post().to_http_request();
        assert_eq!(read(&key(1), &request, &Params::default(), &JsonBytes::default()), Ok(None));
        for wrong in [&b""[..], b"a b", "é".as_bytes(), &[b'x'; 256]] {
            assert!(once(1, "/payments", "", wrong, json!({})).is_err());
        }
        assert!(once(1, "/payments", "", &[b'x'; 255], json!({})).is_ok());
    }
}
