//! Messages of the Model Context Protocol: JSON-RPC 2.0, one message per request, and batches in version 2025-03-26.
//! Until version 2025-11-25, a client negotiates the version with `initialize` and then sends it in a header. Since
//! 2026-07-28, every request contains its version, and headers repeat the method and the name of the tool.

use actix_web::{
    Error, HttpResponse,
    http::{StatusCode, header::HeaderMap},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use framework::{http::errors::ApiError, values::kinds::echo};
use serde_json::{Map, Value, json};

/// The version without a negotiation.
pub(super) const STATELESS: &str = "2026-07-28";
/// The version with batches, and the only one whose requests may lack the header with the version.
const BATCHED: &str = "2025-03-26";
/// The versions with `initialize`, newest first.
pub(super) const NEGOTIATED: [&str; 3] = ["2025-11-25", "2025-06-18", BATCHED];
/// Maximum number of messages in a batch. Its calls run one after the other.
const MAX_BATCH: usize = 20;

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const METHOD_NOT_FOUND: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;
const HEADER_MISMATCH: i32 = -32_020;
const UNSUPPORTED_VERSION: i32 = -32_022;
/// For refusals without a code in the protocol.
const REFUSED: i32 = -32_000;

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// Time for which a client may keep the list of tools: a reload can change it.
const CACHED_MILLISECONDS: u32 = 60_000;

pub(super) const CALL: &str = "tools/call";
/// Negotiates the version, so it must be the only message of a request.
pub(super) const INITIALIZE: &str = "initialize";

/// The messages of a body. A notification or a response is `None` and needs no answer.
pub(super) struct Incoming {
    pub(super) messages: Vec<Result<Option<Message>, RpcError>>,
    pub(super) is_batch: bool,
}

/// A request.
pub(super) struct Message {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
    /// The request has the form of `STATELESS`.
    pub(super) is_stateless: bool,
}

/// An error of the protocol. Refusals of a tool are results, so that a model can repair its arguments.
pub(super) struct RpcError {
    status: StatusCode,
    pub(super) id: Option<Value>,
    code: i32,
    message: String,
    data: Option<Value>,
}

/// Returns the supported versions, newest first.
pub(super) fn supported() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(NEGOTIATED).collect()
}

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> RpcError {
        RpcError { status: StatusCode::BAD_REQUEST, id: None, code, message: message.into(), data: None }
    }

    /// Refuses a page of an origin that the configuration does not allow.
    pub(super) fn of_origin() -> RpcError {
        let message = "Pages of this origin are refused: the operator must add it to `cors_origins`.";
        RpcError { status: StatusCode::FORBIDDEN, ..RpcError::new(REFUSED, message) }
    }

    /// Converts the HTTP error of one message of a batch.
    pub(super) fn of_failure(id: Option<Value>, error: &Error) -> RpcError {
        let seconds = error.as_error::<ApiError>().and_then(ApiError::retry_after);
        let data = seconds.map(|seconds| json!({"retry_after_seconds": seconds}));
        RpcError { id, data, ..RpcError::new(REFUSED, error.to_string()) }
    }

    fn of_header(name: &str) -> RpcError {
        RpcError::new(HEADER_MISMATCH, format!("The header {name} is missing or differs from the body."))
    }

    fn of_version(requested: &str) -> RpcError {
        let requested = echo(requested);
        let message = format!("The protocol version {requested} is not supported.");
        let data = Some(json!({"supported": supported(), "requested": requested}));
        RpcError { data, ..RpcError::new(UNSUPPORTED_VERSION, message) }
    }

    pub(super) fn into_response(self) -> HttpResponse {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = self.data {
            error["data"] = data;
        }
        HttpResponse::build(self.status).json(json!({"jsonrpc": "2.0", "id": self.id, "error": error}))
    }
}

impl Incoming {
    /// Parses a body.
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Incoming {
        let one = |message| Incoming { messages: vec![message], is_batch: false };
        let parsed = serde_json::from_slice(body).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            RpcError::new(PARSE_ERROR, format!("The body is not valid JSON at {place}."))
        });
        let batch = match parsed {
            Ok(Value::Array(batch)) => batch,
            Ok(message) => return one(Message::read(headers, message)),
            Err(error) => return one(Err(error)),
        };
        if headers.get(VERSION_HEADER).is_some_and(|version| version != BATCHED) {
            return one(Err(invalid("The body must be one JSON-RPC message: only version 2025-03-26 has batches.")));
        }
        if !(1..=MAX_BATCH).contains(&batch.len()) {
            return one(Err(invalid(&format!("A batch must have 1 to {MAX_BATCH} messages."))));
        }
        let read = |message| match Message::read(headers, message) {
            Ok(Some(Message { id, method, .. })) if method == INITIALIZE => {
                Err(RpcError { id, ..invalid("initialize must not be part of a batch.") })
            }
            other => other,
        };
        Incoming { messages: batch.into_iter().map(read).collect(), is_batch: true }
    }
}

fn invalid(why: &str) -> RpcError {
    RpcError::new(INVALID_REQUEST, why)
}

impl Message {
    /// Reads a message. Returns `None` for a notification or a response.
    fn read(headers: &HeaderMap, message: Value) -> Result<Option<Message>, RpcError> {
        let Value::Object(mut fields) = message else {
            return Err(invalid("A JSON-RPC message must be an object."));
        };
        if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
            return Err(invalid("jsonrpc must be \"2.0\"."));
        }
        if !fields.contains_key("method") && (fields.contains_key("result") || fields.contains_key("error")) {
            return Ok(None);
        }
        let id = fields.remove("id");
        if id.as_ref().is_some_and(|id| !(id.is_string() || id.is_i64() || id.is_u64())) {
            return Err(invalid("id must be a text or a whole number."));
        }
        let of_request = |error: RpcError| RpcError { id: id.clone(), ..error };
        let Some(Value::String(method)) = fields.remove("method") else {
            return Err(of_request(invalid("method must be a text.")));
        };
        let params = match fields.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(of_request(RpcError::new(INVALID_PARAMS, "params must be an object."))),
        };
        let is_request = id.is_some();
        let is_stateless = is_stateless(headers, is_request, &method, &params).map_err(of_request)?;
        Ok(is_request.then_some(Message { id, method, params, is_stateless }))
    }

    /// Returns a text of the parameters.
    pub(super) fn text(&self, name: &str) -> Result<&str, RpcError> {
        let text = self.params.get(name).and_then(Value::as_str);
        text.ok_or_else(|| self.invalid(&format!("params.{name} is missing or not a text.")))
    }

    pub(super) fn invalid(&self, why: &str) -> RpcError {
        RpcError { status: StatusCode::OK, id: self.id.clone(), ..RpcError::new(INVALID_PARAMS, why) }
    }

    pub(super) fn unknown_method(&self) -> RpcError {
        let status = if self.is_stateless { StatusCode::NOT_FOUND } else { StatusCode::OK };
        let message = format!("The method {} does not exist.", echo(&self.method));
        RpcError { status, id: self.id.clone(), ..RpcError::new(METHOD_NOT_FOUND, message) }
    }

    pub(super) fn result(&self, mut result: Value) -> HttpResponse {
        if self.is_stateless {
            result["resultType"] = json!("complete");
            result["_meta"] = json!({(SERVER_KEY): server_info()});
        }
        HttpResponse::Ok().json(json!({"jsonrpc": "2.0", "id": self.id, "result": result}))
    }

    /// Responds with a result that depends only on the caller's permissions.
    pub(super) fn cacheable_result(&self, mut result: Value) -> HttpResponse {
        if self.is_stateless {
            result["ttlMs"] = json!(CACHED_MILLISECONDS);
            result["cacheScope"] = json!("private");
        }
        self.result(result)
    }
}

pub(super) fn server_info() -> Value {
    json!({"name": "practice-sync", "title": "practice-sync", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns `true` for a message in the form of `STATELESS`, and checks its version and headers.
fn is_stateless(
    headers: &HeaderMap,
    is_request: bool,
    method: &str,
    params: &Map<String, Value>,
) -> Result<bool, RpcError> {
    let sent = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let meta = params.get("_meta").and_then(Value::as_object);
    let Some(version) = meta.and_then(|meta| meta.get(VERSION_KEY)) else {
        return match sent(VERSION_HEADER) {
            Some(STATELESS) if is_request => {
                Err(RpcError::new(INVALID_PARAMS, format!("params._meta must have {VERSION_KEY}.")))
            }
            Some(STATELESS) => Ok(true),
            Some(other) if !NEGOTIATED.contains(&other) => Err(RpcError::of_version(other)),
            _ => Ok(false),
        };
    };
    let version =
        version.as_str().ok_or_else(|| RpcError::new(INVALID_PARAMS, format!("{VERSION_KEY} must be a text.")))?;
    if sent(VERSION_HEADER).is_some_and(|named| named != version) {
        return Err(RpcError::of_header("MCP-Protocol-Version"));
    }
    if version != STATELESS {
        return Err(RpcError::of_version(version));
    }
    if !is_request {
        return Ok(true);
    }
    if !meta.and_then(|meta| meta.get(CAPABILITIES_KEY)).is_some_and(Value::is_object) {
        let message = format!("params._meta must have {CAPABILITIES_KEY}, an object.");
        return Err(RpcError::new(INVALID_PARAMS, message));
    }
    if sent(VERSION_HEADER).is_none() {
        return Err(RpcError::of_header("MCP-Protocol-Version"));
    }
    if sent(METHOD_HEADER) != Some(method) {
        return Err(RpcError::of_header("Mcp-Method"));
    }
    let name = params.get("name").and_then(Value::as_str);
    if method == CALL && name.is_some() && sent(NAME_HEADER).and_then(decoded).as_deref() != name {
        return Err(RpcError::of_header("Mcp-Name"));
    }
    Ok(true)
}

/// Decodes a header value, which is in Base64 if it has characters that a header cannot have.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(BASE64.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn incoming(headers: &[(&'static str, &'static str)], body: &str) -> Incoming {
        let pairs =
            headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        Incoming::read(&HeaderMap::from_iter(pairs), body.as_bytes())
    }

    fn read(headers: &[(&'static str, &'static str)], body: &Value) -> Result<Option<Message>, i32> {
        only(incoming(headers, &body.to_string()))
    }

    /// Returns the message of a body that is no batch.
    fn only(Incoming { mut messages, is_batch }: Incoming) -> Result<Option<Message>, i32> {
        assert_eq!((messages.len(), is_batch), (1, false));
        messages.remove(0).map_err(|error| error.code)
    }

    fn stateless(version: &str, method: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {
            "name": "book", "_meta": {(VERSION_KEY): version, (CAPABILITIES_KEY): {}}}})
    }

    #[test]
    fn requests_of_both_forms_are_read() {
        let plain = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"});
        for headers in [&[][..], &[("mcp-protocol-version", "2025-11-25")]] {
            let message = read(headers, &plain).unwrap().unwrap();
            assert!(!message.is_stateless && message.method == "tools/list");
        }
        let headers =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "=?base64?Ym9vaw==?=")];
        assert!(read(&headers, &stateless(STATELESS, CALL)).unwrap().unwrap().is_stateless);
    }

    #[test]
    fn notifications_and_responses_need_no_answer() {
        for body in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        ] {
            assert!(read(&[], &body).unwrap().is_none(), "{body}");
        }
    }

    #[test]
    fn headers_must_agree_with_the_body() {
        let (version, method, name) =
            (("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "book"));
        let earlier = ("mcp-protocol-version", "2025-11-25");
        let (other_method, other_name) = (("mcp-method", "tools/list"), ("mcp-name", "hold_time"));
        for headers in [
            &[][..],
            &[version],
            &[version, method],
            &[method, name],
            &[earlier, method, name],
            &[version, other_method, name],
            &[version, method, other_name],
        ] {
            assert_eq!(read(headers, &stateless(STATELESS, CALL)).err(), Some(HEADER_MISMATCH), "{headers:?}");
        }
        assert!(read(&[version, method, name], &stateless(STATELESS, CALL)).is_ok());
    }

    #[test]
    fn unknown_versions_are_refused() {
        let future = [("mcp-protocol-version", "2031-01-01")];
        let plain = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        assert_eq!(read(&future, &plain).err(), Some(UNSUPPORTED_VERSION));
        assert_eq!(read(&[], &stateless("2031-01-01", CALL)).err(), Some(UNSUPPORTED_VERSION));
        let unnamed = [("mcp-protocol-version", "2026-07-28")];
        assert_eq!(read(&unnamed, &plain).err(), Some(INVALID_PARAMS), "a request without its version");
    }

    #[test]
    fn bodies_that_are_no_message_are_refused() {
        for (body, code) in [
            ("", PARSE_ERROR),
            ("{\"jsonrpc\":", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"jsonrpc": "1.0", "id": 1, "method": "ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc": "2.0", "id": 1, "method": 7}"#, INVALID_REQUEST),
            (r#"{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}"#, INVALID_PARAMS),
        ] {
            assert_eq!(only(incoming(&[], body)).err(), Some(code), "{body}");
        }
    }

    #[test]
    fn a_batch_has_few_messages_and_is_of_one_version() {
        let batch = |count: usize| Value::from(vec![json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}); count]);
        for headers in [&[][..], &[("mcp-protocol-version", "2025-03-26")]] {
            let Incoming { messages, is_batch } = incoming(headers, &batch(MAX_BATCH).to_string());
            assert!(is_batch && messages.len() == MAX_BATCH && messages.iter().all(Result::is_ok));
        }
        assert_eq!(read(&[], &batch(MAX_BATCH + 1)).err(), Some(INVALID_REQUEST));
        assert_eq!(read(&[], &batch(0)).err(), Some(INVALID_REQUEST));
        assert_eq!(read(&[("mcp-protocol-version", "2025-06-18")], &batch(1)).err(), Some(INVALID_REQUEST));
    }

    #[test]
    fn a_batch_cannot_negotiate_the_version() {
        let message = |id: u32, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method});
        let batch = json!([message(1, INITIALIZE), message(2, "ping")]);
        let Incoming { messages, .. } = incoming(&[], &batch.to_string());
        let [Err(refused), Ok(Some(ping))] = messages.as_slice() else { panic!("{} messages", messages.len()) };
        assert_eq!((refused.code, &refused.id), (INVALID_REQUEST, &Some(json!(1))));
        assert_eq!((ping.method.as_str(), &ping.id), ("ping", &Some(json!(2))));
    }
}
