//! Limits of webhooks, with their reasons. `WebhookRules` has the configurable ones.

use std::time::Duration;

use location::time::{HOUR, MINUTE, Millis, SECOND};

/// From connecting to the end of the response. Receivers are expected to respond first and to process the message
/// afterwards.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(15);
/// Leaves time for a second address when the first one is dead.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Only the status of a response counts; more than this of its body is not read.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// For the rest of a response whose status is known: enough to make a connection reusable.
pub const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);
/// Idle connections per host. As many as one host had concurrently, because one host may receive for many endpoints.
pub const IDLE_CONNECTIONS: usize = CONCURRENCY;
/// Shorter than in common servers (Node.js: five seconds), so that a message seldom meets a closed connection.
pub const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(4);

/// The number of times a message is sent again because its connection was closed before anything was sent.
pub const UNSENT_TRIES: usize = 32;

/// Longer URLs break proxies and logs.
pub const MAX_URL_BYTES: usize = 2_048;
/// Bounds the memory that a single customer can use.
pub const MAX_ENDPOINTS_PER_OWNER: usize = 100;
pub const MAX_SUBSCRIPTIONS_PER_ENDPOINT: usize = 1_000;

/// An endpoint is deactivated after a failure streak of this length.
pub const DEACTIVATE_AFTER: Millis = 48 * HOUR;
/// Failures further apart than this are not one streak: somewhat more than the longest time between two retries of a
/// message.
pub const LONGEST_SILENCE: Millis = 26 * HOUR;
/// The interval at which the last failure of a failing endpoint is stored.
pub const FAILURE_NOTED_EVERY: Millis = HOUR;
/// Failed attempts listed in a message: those of three full schedules, for a message that was sent again manually.
pub const MAX_REPORTED_ERRORS: usize = 33;
/// The longest overlap of a rotation, in which both secrets sign.
pub const MAX_SECRET_OVERLAP: Millis = setup::MAX_SECRET_OVERLAP;
/// Deliveries per replay; the response contains the start of the next one.
pub const MAX_REPLAY: usize = 10_000;
/// Deliveries per commit of a replay.
pub const REPLAY_STEP: usize = 200;

/// Concurrent attempts. Far more than healthy endpoints need: waiting costs a task and a socket.
pub const CONCURRENCY: usize = 512;
/// The share of `CONCURRENCY` for failing endpoints, so that dead ones cannot use up all of it.
pub const FAILING_CONCURRENCY: usize = CONCURRENCY / 2;
/// Concurrent attempts to one endpoint.
pub const ENDPOINT_CONCURRENCY: usize = 8;
/// Concurrent attempts to an endpoint whose last message failed.
pub const FAILING_ENDPOINT_CONCURRENCY: usize = 1;

/// Due deliveries of an endpoint in memory, beyond those in flight. Several times the concurrency of an endpoint, so
/// that one read serves several turns, and finds messages about records that have none in flight.
pub const LOOK_AHEAD: usize = 4 * ENDPOINT_CONCURRENCY;
/// Size of the new events that are kept in memory for their first attempts: those of some thousand messages. Their
/// bodies, built with the first attempt of an event, take up to two and a half times as much.
pub const NEW_EVENT_BYTES: usize = 16 << 20;
/// Outcomes per commit: enough to fill a commit of the store, and few enough that none waits long for the others.
pub const OUTCOMES: usize = 256;
/// Sending threads. Signing and encryption use the CPU; waiting needs no thread.
pub const MOST_THREADS: usize = 4;

/// The pause between two catch-up attempts to one endpoint.
pub const CATCH_UP_GAP: Millis = 20;
/// Endpoints begin to catch up at different times within this time after the start.
pub const CATCH_UP_SPREAD: Millis = 2 * SECOND;

/// The longest sleep. Bounds the cost of clock jumps and lost wake-ups.
pub const MAX_SLEEP: Millis = MINUTE;
/// The pause before a refused commit is retried.
pub const STORE_RETRY: Duration = Duration::from_secs(1);
/// The time that attempts to an endpoint of another node may still take before they are aborted.
pub const RELEASE_GRACE: Duration = Duration::from_secs(1);
/// The longest wait for all of these attempts.
pub const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which a node looks for changes of other nodes, and for deliveries that they left for its endpoints.
pub const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// Deliveries per commit when the clock was set back and, with the rest of a group that ended together, per pruning.
pub const SWEEP: usize = 100;
/// The interval at which old finished deliveries are pruned.
pub const PRUNE_EVERY: Millis = MINUTE;
