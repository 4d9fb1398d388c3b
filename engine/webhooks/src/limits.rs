//! Every limit of webhooks, with its reason; those an operator may change are `WebhookRules`.

use std::time::Duration;

use location::time::{DAY, HOUR, MINUTE, Millis, SECOND};

/// From connecting to the end of the answer; a receiver answers at once and works afterwards.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(15);
/// Leaves time for a second address when the first one is dead.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Of an answer only the status counts; more than this of its body is not read.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// For the rest of an answer whose status is known: enough for a connection to be used again.
pub const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);
/// Connections kept for the next message: as many as one host had at once, because one host may receive for many endpoints. For less
/// time than common servers keep them (Node.js five seconds), so that a message seldom meets one that is just being closed.
pub const IDLE_CONNECTIONS: usize = CONCURRENCY;
pub const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(4);

/// How often a message may meet a connection that was closed before it could be sent.
pub const UNSENT_TRIES: usize = 32;

/// Longer addresses break proxies and logs.
pub const MAX_URL_BYTES: usize = 2_048;
/// Bounds what one customer makes us hold in memory.
pub const MAX_ENDPOINTS_PER_OWNER: usize = 100;
pub const MAX_SUBSCRIPTIONS_PER_ENDPOINT: usize = 1_000;

/// After this much failure in a row an endpoint is deactivated.
pub const DEACTIVATE_AFTER: Millis = 48 * HOUR;
/// Failures further apart than this are not in a row: some time beyond the longest between two retries of a message.
pub const LONGEST_SILENCE: Millis = 26 * HOUR;
/// How often an endpoint that goes on failing is written for it.
pub const FAILURE_NOTED_EVERY: Millis = HOUR;
/// Failed attempts that a message tells of: those of three full schedules, for one that was sent again by hand.
pub const MAX_ERRORS_TOLD: usize = 33;
/// The longest time in which both secrets of a rotation sign.
pub const MAX_SECRET_OVERLAP: Millis = 7 * DAY;
/// Deliveries that one replay sends again; its answer says where to go on.
pub const MAX_REPLAY: usize = 10_000;
/// Deliveries that one commit of a replay changes.
pub const REPLAY_STEP: usize = 200;

/// Messages under way at once. Far above what healthy endpoints need: waiting costs a task and a socket.
pub const CONCURRENCY: usize = 512;
/// Of those at most this many to endpoints that are failing, so that dead ones cannot use up all places.
pub const FAILING_CONCURRENCY: usize = CONCURRENCY / 2;
/// To one endpoint.
pub const ENDPOINT_CONCURRENCY: usize = 8;
/// To one endpoint whose last message failed.
pub const FAILING_ENDPOINT_CONCURRENCY: usize = 1;

/// How far beyond what is under way a look at what is due to an endpoint goes: several times what it takes at once, so that one look
/// serves several turns, and a message is found whose record has none under way.
pub const LOOK_AHEAD: usize = 4 * ENDPOINT_CONCURRENCY;
/// Outcomes that one commit makes durable: as many as fill a commit of the store well, and few enough that none waits long for the others.
pub const OUTCOMES: usize = 256;
/// Threads that send. Signing and sealing is work for a processor; waiting needs no thread.
pub const MOST_THREADS: usize = 4;

/// Between two caught-up attempts to one endpoint.
pub const CATCH_UP_GAP: Millis = 20;
/// Endpoints begin to catch up at different moments within this time after the start.
pub const CATCH_UP_SPREAD: Millis = 2 * SECOND;

/// The longest sleep: clocks jump, and a lost wake-up must not cost more than this.
pub const MAX_SLEEP: Millis = MINUTE;
/// Before an outcome that the store refused is offered to it again.
pub const STORE_RETRY: Duration = Duration::from_secs(1);
/// What a message to an endpoint that moves to another node may still take, before it is cut off.
pub const LET_GO: Duration = Duration::from_secs(1);
/// How long letting go waits for all of them.
pub const LET_GO_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a node looks for what others have changed, and have left for its endpoints.
pub const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How far the clocks of nodes may be apart with messages about a record still in order when it moves; a message waits so long at most
/// because of that.
pub const MOST_CLOCKS_APART: Millis = 2 * MINUTE;
/// Records that one commit closes or prunes.
pub const SWEEP: usize = 100;
/// How often old finished deliveries are looked for.
pub const PRUNE_EVERY: Millis = MINUTE;
