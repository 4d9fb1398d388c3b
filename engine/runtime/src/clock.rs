//! The only place that reads the clock and draws random numbers. All other code gets them as arguments.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use location::{DecisionContext, Millis, SECOND, Timestamp};

pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The smallest step that is detected. Shorter ones are adjustments of the clock.
const NOTICED: Millis = SECOND;

/// Detects that the clock was set back. A wait until a clock time would take longer by that amount, so the caller moves
/// its times back.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    seen: Timestamp,
    at: Instant,
}

impl Watch {
    /// Creates a watch for a clock that has shown `seen` before, perhaps in an earlier process.
    pub fn since(seen: Timestamp) -> Watch {
        Watch { seen, at: Instant::now() }
    }

    /// Returns the amount by which the clock was set back since the last call, or 0.
    pub fn set_back(&mut self, now: Timestamp) -> Millis {
        let passed = i64::try_from(self.at.elapsed().as_millis()).unwrap_or(i64::MAX);
        let back = self.seen.plus(passed).since(now);
        *self = Watch::since(now);
        if back >= NOTICED { back } else { 0 }
    }
}

pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides random numbers");
    bytes
}

pub fn random_u64() -> u64 {
    u64::from_be_bytes(random())
}

/// Returns the time and randomness of a decision.
pub fn cx() -> DecisionContext {
    DecisionContext { now: now(), random: random_u64() }
}

#[cfg(test)]
mod tests {
    use location::HOUR;

    use super::*;

    #[test]
    fn only_a_set_back_is_detected_and_only_once() {
        let start = Timestamp(1_000 * HOUR);
        let mut watch = Watch::since(start);
        assert_eq!(watch.set_back(start.plus(5)), 0);
        assert_eq!(watch.set_back(start.minus(200)), 0, "trimmed");
        assert_eq!(watch.set_back(start.plus(HOUR)), 0, "set forward");
        let back = watch.set_back(start);
        assert!((HOUR..HOUR + SECOND).contains(&back), "{back}");
        assert_eq!(watch.set_back(start), 0);
        assert_eq!(Watch::since(start).set_back(start.minus(HOUR)) / SECOND, HOUR / SECOND, "in an earlier life");
    }
}
