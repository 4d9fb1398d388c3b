//! Results of a request for credentials.

use std::time::Duration;

use setup::secret::Secret;

/// Maximum length of the response.
pub(super) const ANSWER_BYTES: usize = 64 * 1024;
/// Maximum length of the credentials, which become a header's value.
pub(super) const TOKEN_BYTES: usize = 8 * 1024;
/// Maximum lifetime, even if the response specifies a longer one.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// The value of an `Authorization` header, and its lifetime.
pub(super) struct Grant {
    pub(super) authorization: Secret,
    pub(super) life: Duration,
}

/// The reason why no credentials were granted.
pub(super) enum NoGrant {
    /// The server rejects the client.
    Refused,
    /// The server is unreachable or could not grant credentials.
    Later(String),
}
