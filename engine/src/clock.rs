//! The one place that reads the clock and draws randomness; everything else gets them as arguments.

use std::time::{SystemTime, UNIX_EPOCH};

use location::{command::Cx, time::Timestamp};

pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes
}

pub fn random_u64() -> u64 {
    u64::from_be_bytes(random())
}

/// The present moment of a decision.
pub fn cx() -> Cx {
    Cx { now: now(), random: random_u64() }
}
