//! Request data collected on the way, for logging, metrics and headers.

use std::cell::{Cell, OnceCell};

use actix_web::http::header::{HeaderName, HeaderValue};

use super::rate_limit::RateLimitState;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Name of the agents' tool that became the request. The guard removes the header from requests of clients.
pub const TOOL: HeaderName = HeaderName::from_static("x-node-tool");

/// Stored in the extensions of each request.
#[derive(Default)]
pub struct RequestContext {
    /// `None` if no endpoint exists at the path, or routing was not reached.
    pub endpoint: Cell<Option<EndpointLabel>>,
    /// Request id, sent by the client or generated.
    pub id: OnceCell<HeaderValue>,
    /// Name of the API key after authentication.
    pub key: OnceCell<String>,
    /// State of the tightest rate limit.
    pub limit_state: Cell<Option<RateLimitState>>,
}

impl RequestContext {
    /// Returns the request id, or an empty text without one.
    pub fn request_id(&self) -> &str {
        self.id.get().and_then(|id| id.to_str().ok()).unwrap_or_default()
    }
}

/// Marker in the app data of the operators' listener.
#[derive(Clone, Copy)]
pub struct OperatorsListener;

/// Endpoint label for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointLabel {
    pub method: &'static str,
    /// Path pattern of the table of routes.
    pub path: &'static str,
}
