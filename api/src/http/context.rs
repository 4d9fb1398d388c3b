//! What is learnt of a request on its way, for those around it.

use std::cell::Cell;

use super::rate_limit::RateLimitState;

/// In the extensions of each request.
#[derive(Default)]
pub(crate) struct RequestContext {
    /// None: there is no endpoint at that path, or it was never looked for.
    pub endpoint: Cell<Option<EndpointLabel>>,
    /// Within the rate limits of its key.
    pub standing: Cell<Option<RateLimitState>>,
}

/// An endpoint as logs and metrics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndpointLabel {
    pub method: &'static str,
    /// As the table of routes has it.
    pub path: &'static str,
}
