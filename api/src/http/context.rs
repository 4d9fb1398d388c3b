//! What is learnt of a request on its way, for those around it.

use std::cell::{Cell, OnceCell};

use actix_web::http::header::{HeaderName, HeaderValue};

use super::rate_limit::RateLimitState;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// In the extensions of each request.
#[derive(Default)]
pub(crate) struct RequestContext {
    /// None: there is no endpoint at that path, or it was never looked for.
    pub endpoint: Cell<Option<EndpointLabel>>,
    /// The request's id, its client's own or a new one.
    pub id: OnceCell<HeaderValue>,
    /// The name of its API key, once that is known.
    pub key: OnceCell<String>,
    /// Within the rate limits of its key.
    pub standing: Cell<Option<RateLimitState>>,
}

/// Data of the app that serves the operators' own listener.
#[derive(Clone, Copy)]
pub(crate) struct OperatorsListener;

/// An endpoint as logs and metrics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndpointLabel {
    pub method: &'static str,
    /// As the table of routes has it.
    pub path: &'static str,
}
