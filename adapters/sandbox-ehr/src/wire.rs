//! Requests to the simulated EHR and its replies, independent of any HTTP library.

use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::{Value, json};

use super::change::Change;

#[derive(Clone, Debug, Default)]
pub struct SandboxRequest {
    /// `GET`, `POST`, `PATCH`, ...
    pub method: String,
    /// Path without query, still percent-encoded.
    pub path: String,
    /// Query without `?`, still percent-encoded; empty if absent.
    pub query: String,
    /// Names in any case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl SandboxRequest {
    pub fn is_write(&self) -> bool {
        self.method != "GET"
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns the first value of a query parameter, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = self.query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(n, _)| percent_decoded(n) == name).map(|(_, value)| percent_decoded(value))
    }
}

/// Delivery of a reply by the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    #[default]
    Answered,
    /// The caller waits until its deadline, or its connection breaks. The request may have been executed.
    Lost,
    /// The connection is refused.
    Refused,
}

#[derive(Clone, Debug, Default)]
pub struct SandboxReply {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub delay_ms: u64,
    pub delivery: Delivery,
    /// Changes by this request, to be stored before the reply is delivered, also if the reply is lost.
    pub changes: Vec<Change>,
}

impl SandboxReply {
    pub(super) fn json(status: u16, body: &impl Serialize) -> SandboxReply {
        let body = serde_json::to_vec(body).expect("records and errors have string keys and serialise");
        let headers = vec![("content-type".into(), "application/json".into())];
        SandboxReply { status, headers, body, ..SandboxReply::default() }
    }

    pub(super) fn error(status: u16, code: &str, message: &str) -> SandboxReply {
        SandboxReply::json(status, &json!({"error": code, "message": message}))
    }

    pub(super) fn with_header(mut self, name: &str, value: &str) -> SandboxReply {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(super) fn lost(self) -> SandboxReply {
        SandboxReply { delivery: Delivery::Lost, ..self }
    }

    /// Parses the body as JSON; null if it is not JSON.
    pub fn json_body(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Decodes `%41` and `+`; invalid escapes are unchanged.
pub(super) fn percent_decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}
