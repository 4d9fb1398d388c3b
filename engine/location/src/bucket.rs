//! The quota of the location's EHR as a value: a token bucket that replays like any other state.

use serde::{Deserialize, Serialize};

use crate::{
    settings::Quota,
    time::{MINUTE, Millis, Timestamp},
};

/// Spent calls, draining at the quota's rate. Counting what is spent instead of what is left lets the quota change by
/// configuration without touching state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Spent calls times `MINUTE`, as of `at`: integers only, so that replay is exact.
    spent: i64,
    at: Timestamp,
}

impl Bucket {
    fn spent_at(&self, quota: Quota, now: Timestamp) -> i64 {
        let drained = now.since(self.at).max(0).saturating_mul(i64::from(quota.per_minute));
        self.spent.saturating_sub(drained).max(0)
    }

    /// Whole calls that may start now.
    pub fn available(&self, quota: Quota, now: Timestamp) -> u32 {
        let free = i64::from(quota.burst) * MINUTE - self.spent_at(quota, now);
        u32::try_from((free / MINUTE).max(0)).unwrap_or(u32::MAX)
    }

    /// When the next call may start.
    pub fn next_at(&self, quota: Quota, now: Timestamp) -> Timestamp {
        let lacking = self.spent_at(quota, now) + MINUTE - i64::from(quota.burst) * MINUTE;
        if lacking <= 0 {
            return now;
        }
        let rate = i64::from(quota.per_minute.max(1));
        let wait: Millis = (lacking + rate - 1) / rate;
        now.plus(wait)
    }

    pub fn take(&mut self, quota: Quota, now: Timestamp) {
        self.spent = self.spent_at(quota, now) + MINUTE;
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;

    #[test]
    fn a_burst_then_the_rate() {
        let quota = Quota { per_minute: 60, burst: 3 };
        let mut bucket = Bucket::default();
        let start = Timestamp(1_000_000);
        for left in (0..3).rev() {
            bucket.take(quota, start);
            assert_eq!(bucket.available(quota, start), left);
        }
        assert_eq!(bucket.next_at(quota, start), start.plus(SECOND));
        assert_eq!(bucket.available(quota, start.plus(SECOND - 1)), 0);
        assert_eq!(bucket.available(quota, start.plus(SECOND)), 1);
        assert_eq!(bucket.available(quota, start.plus(3 * SECOND)), 3);
        assert_eq!(bucket.available(quota, start.plus(MINUTE)), 3, "never more than the burst");
    }
}
