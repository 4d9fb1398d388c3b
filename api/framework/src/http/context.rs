//! Request data collected on the way, for logging, metrics and headers.

use std::{
    cell::{Cell, OnceCell},
    net::IpAddr,
};

use actix_web::{
    HttpMessage, HttpRequest,
    http::header::{HeaderName, HeaderValue},
};

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

/// Properties of a call that another node forwarded, stored in its extensions.
#[derive(Clone, Copy)]
pub struct FromNode {
    /// Address of the original client.
    pub client: Option<IpAddr>,
    /// `true` for part of a call that already counted against the rate limits.
    pub counted: bool,
    /// `true` if the sender does not know the placement.
    pub unplaced: bool,
}

/// Returns `None` for a call from a client.
pub fn from_node(request: &HttpRequest) -> Option<FromNode> {
    request.extensions().get::<FromNode>().copied()
}

/// Marker in the app data of the operators' listener.
#[derive(Clone, Copy)]
pub struct OperatorsListener;

/// Marker in the app data of the internal listener, where only other nodes call.
#[derive(Clone, Copy)]
pub struct InternalListener;

/// Endpoint label for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointLabel {
    pub method: &'static str,
    /// Path pattern of the table of routes.
    pub path: &'static str,
}
