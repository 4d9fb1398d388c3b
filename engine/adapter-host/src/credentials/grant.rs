//! What a request for credentials may bring.

use std::time::Duration;

use setup::secret::Secret;

/// Longest answer to a request for credentials.
pub(super) const ANSWER_BYTES: usize = 64 * 1024;
/// Longest of them: a header's value.
pub(super) const TOKEN_BYTES: usize = 8 * 1024;
/// None are kept longer, whatever is said of them.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// The value of an `Authorization` header, and how long it is good for.
pub(super) struct Grant {
    pub(super) authorization: Secret,
    pub(super) life: Duration,
}

/// Why there are none.
pub(super) enum NoGrant {
    /// Whoever grants them does not accept us.
    Refused,
    /// They could not be asked, or could not answer.
    Later(String),
}
