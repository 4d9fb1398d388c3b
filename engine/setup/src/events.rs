//! Events that an EHR sends to the engine, and their authentication.

use crate::secret::Secret;

/// Authentication of the events of a data source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EhrEvents {
    pub secret: Secret,
    pub scheme: EventScheme,
    /// Name of the header, in lower case.
    pub header: String,
}

/// The contents of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventScheme {
    /// The secret itself.
    Header,
    /// HMAC-SHA256 of the body in hex or Base64, with or without `sha256=` before it.
    Hmac,
}
