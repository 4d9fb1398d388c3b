//! Limits that all listeners share.

use std::time::Duration;

use actix_web::http::KeepAlive;

use crate::http::rules::HttpRules;

/// Connections that wait to be accepted.
pub(super) const BACKLOG: u32 = 1_024;
/// How long a connection that is to be closed may still send bytes that are not read. actix's clock ticks every half second: with
/// less than that a connection could stay open for good.
pub(super) const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time that a stop leaves to the engine at least.
pub(crate) const LAST_SECOND: Duration = Duration::from_secs(1);

/// Time that a stop leaves to requests in progress: without the engine's second and the one in which clients are notified.
pub(super) fn for_requests(shutdown_timeout: Duration) -> Duration {
    shutdown_timeout.saturating_sub(2 * LAST_SECOND)
}

/// How long idle connections stay open.
pub(super) fn keep_alive(rules: &HttpRules) -> KeepAlive {
    if rules.keep_alive.is_zero() { KeepAlive::Disabled } else { KeepAlive::Timeout(rules.keep_alive) }
}
