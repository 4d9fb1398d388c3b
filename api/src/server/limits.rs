//! Limits that all listeners share.

use std::time::Duration;

/// Connections in the accept queue.
pub(super) const BACKLOG: u32 = 1_024;
/// Time during which the unread bytes of a closing connection are discarded. With less, a connection could stay open
/// forever, because actix's clock ticks every half second.
pub(super) const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Minimum time for the engine to stop.
pub(crate) const LAST_SECOND: Duration = Duration::from_secs(1);

/// Returns the shutdown time for requests in progress, without the engine's second and the one for the notice to
/// clients.
pub(super) fn for_requests(shutdown_timeout: Duration) -> Duration {
    shutdown_timeout.saturating_sub(2 * LAST_SECOND)
}
