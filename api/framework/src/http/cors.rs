//! Cross-origin requests (CORS), disabled unless the configuration lists origins.

use actix_web::{
    HttpResponse,
    dev::ServiceRequest,
    http::{
        Method,
        header::{
            ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
            ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap,
            HeaderName, HeaderValue, ORIGIN, VARY,
        },
    },
};

use super::compatibility::Compatibility;

/// Headers that a page may send and read.
const SENT: [&str; 9] = [
    "Authorization", "Content-Type", "Svc-Api-Version", "Idempotency-Key", "If-None-Match", "X-Request-Id",
    "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name",
];
const READ: HeaderValue = HeaderValue::from_static(
    "X-Request-Id, ETag, Retry-After, Idempotent-Replay, X-Ignored-Parameters, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset",
);
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PATCH, DELETE");
/// Seconds for which browsers cache the preflight.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");

/// Parses an origin as browsers send it: scheme, host and port only.
pub fn origin(text: &str) -> Result<HeaderValue, String> {
    let wrong = || "must be an origin such as \"https://app.example.com\"".to_owned();
    let url = reqwest::Url::parse(text).map_err(|_| wrong())?;
    let web = ["http", "https"].contains(&url.scheme()) && url.origin().ascii_serialization() == text;
    if web { HeaderValue::from_str(text).map_err(|_| wrong()) } else { Err(wrong()) }
}

/// Returns the origin of the request if it is allowed.
pub fn allowed(origins: &[HeaderValue], request: &ServiceRequest) -> Option<HeaderValue> {
    let from = request.headers().get(ORIGIN)?;
    origins.iter().find(|origin| *origin == from).cloned()
}

pub fn is_preflight(request: &ServiceRequest) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

pub fn preflight(rules: &Compatibility) -> HttpResponse {
    let sent = SENT.into_iter().chain(rules.version_headers.iter().map(HeaderName::as_str)).collect::<Vec<_>>();
    HttpResponse::NoContent()
        .insert_header((ACCESS_CONTROL_ALLOW_METHODS, METHODS))
        .insert_header((ACCESS_CONTROL_ALLOW_HEADERS, sent.join(", ")))
        .insert_header((ACCESS_CONTROL_MAX_AGE, REMEMBERED))
        .finish()
}

pub fn open(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_send_them() {
        for right in ["https://app.example.com", "http://localhost:3000"] {
            assert_eq!(origin(right).unwrap(), right);
        }
        for wrong in ["*", "null", "app.example.com", "https://app.example.com/", "https://App.example.com", "ftp://x"]
        {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }
}
