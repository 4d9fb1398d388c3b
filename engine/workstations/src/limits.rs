//! Limits on everything that a workstation can send, keep waiting or guess.

use std::time::Duration;

use location::{MINUTE, Millis, Quota};

/// One frame of an extension: 8 MiB of body in base64, and its headers.
pub const FRAME_BYTES: usize = 12 << 20;
/// 50 a second on average: after a network interruption, frames may arrive in a burst.
pub const FRAMES: u32 = 500;
pub const FRAMES_WITHIN: Duration = Duration::from_secs(10);
/// Timeout from the opening of a connection to its `hello`.
pub const HELLO: Duration = Duration::from_secs(10);
/// The interval of pings to a workstation: shorter than the 30 seconds after which a browser suspends a service worker.
pub const HEARTBEAT: Duration = Duration::from_secs(20);
/// A workstation is disconnected after sending nothing for this long.
pub const SILENCE: Duration = Duration::from_secs(25);
/// The minimum interval of `queue` messages.
pub const QUEUE_EVERY: Duration = Duration::from_secs(2);
/// Messages waiting for one workstation's socket.
pub const MESSAGES: usize = 32;
/// Waiting requests of one location.
pub const WAITING: usize = 100;

/// A code for one workstation.
pub const CODE_CHARACTERS: usize = 8;
pub const CODE_LIFETIME: Millis = 10 * MINUTE;
/// A code for a roll-out: long, because it is valid for long.
pub const ENROLMENT_CHARACTERS: usize = 26;
pub const ENROLMENT_USES: u32 = 1_000;
pub const ENROLMENT_HOURS: u32 = 30 * 24;
/// Valid codes of a location, and workstations paired with it.
pub const CODES: usize = 20;
pub const WORKSTATIONS: usize = 500;

/// Wrong codes of one address, and of all. With 30^8 codes and these limits, a code that is valid for ten minutes
/// cannot be guessed.
pub const GUESSES_OF_ONE: Quota = Quota { per_minute: 1, burst: 10 };
pub const GUESSES_OF_ALL: Quota = Quota { per_minute: 60, burst: 300 };
/// Addresses whose wrong codes are counted separately.
pub const GUESSERS: usize = 10_000;

pub const NAME_BYTES: usize = 100;
pub const VERSION_BYTES: usize = 50;
/// A reason from a workstation; longer ones are truncated.
pub const REASON_BYTES: usize = 300;
/// Headers of an answer.
pub const HEADERS: usize = 200;
/// Writes listed in a `queue` message.
pub const LAST_WRITES: usize = 5;
