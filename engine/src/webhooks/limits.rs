//! Every limit of webhooks, with its reason.

use std::time::Duration;

use location::time::{DAY, HOUR, MINUTE, Millis, SECOND};

/// From connecting to the end of the answer; a receiver answers at once and works afterwards.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(15);
/// Leaves time for a second address when the first one is dead.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Of an answer only the status counts; more than this of its body is not read.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// Connections kept for the next message, per receiver, and for how long.
pub const IDLE_CONNECTIONS: usize = 2;
pub const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Longer addresses break proxies and logs.
pub const MAX_URL_BYTES: usize = 2_048;
/// Bounds what one customer makes us hold in memory.
pub const MAX_ENDPOINTS_PER_OWNER: usize = 100;
pub const MAX_SUBSCRIPTIONS_PER_ENDPOINT: usize = 1_000;

/// After this much failure in a row an endpoint is deactivated.
pub const DEACTIVATE_AFTER: Millis = 48 * HOUR;
/// How long a finished delivery stays readable. Pending ones end by themselves after two days.
pub const KEEP_FINISHED: Millis = 30 * DAY;

/// Messages under way at once. Far above what healthy endpoints need: waiting costs a task and a socket.
pub const CONCURRENCY: usize = 512;
/// Of those at most this many to endpoints that are failing, so that dead ones cannot use up all places.
pub const FAILING_CONCURRENCY: usize = CONCURRENCY / 2;
/// To one endpoint.
pub const ENDPOINT_CONCURRENCY: usize = 8;
/// To one endpoint whose last message failed.
pub const FAILING_ENDPOINT_CONCURRENCY: usize = 1;

/// Between two caught-up attempts to one endpoint.
pub const CATCH_UP_GAP: Millis = 20;
/// Endpoints begin to catch up at different moments within this time after the start.
pub const CATCH_UP_SPREAD: Millis = 2 * SECOND;

/// The longest sleep: clocks jump, and a lost wake-up must not cost more than this.
pub const MAX_SLEEP: Millis = MINUTE;
/// Before an outcome that the store refused is offered to it again.
pub const STORE_RETRY: Duration = Duration::from_secs(1);
/// Records that one commit closes or prunes.
pub const SWEEP: usize = 100;
/// How often old finished deliveries are looked for.
pub const PRUNE_EVERY: Millis = MINUTE;
