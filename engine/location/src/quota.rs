//! The request quota of a location's EHR: a token bucket that replays like any other state.

use serde::{Deserialize, Serialize};

use crate::{MINUTE, Millis, Quota, Timestamp};

/// Spent requests, draining at the rate of the quota. The bucket stores spent requests, so that a configured quota can
/// change without changing state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Spent requests times `MINUTE` at time `at`; an integer, so that replay is exact.
    spent: i64,
    at: Timestamp,
}

impl Bucket {
    /// Returns the requests per minute, at least one, so that a quota of 0 cannot stop the location forever.
    fn rate(quota: Quota) -> i64 {
        i64::from(quota.per_minute.max(1))
    }

    fn most(quota: Quota) -> i64 {
        i64::from(quota.burst.max(1)) * MINUTE
    }

    fn used_at(&self, quota: Quota, now: Timestamp) -> i64 {
        let drained = now.since(self.at).max(0).saturating_mul(Bucket::rate(quota));
        self.spent.saturating_sub(drained).max(0)
    }

    /// Returns the number of calls that may start now.
    pub fn available(&self, quota: Quota, now: Timestamp) -> u32 {
        let free = Bucket::most(quota) - self.used_at(quota, now);
        u32::try_from((free / MINUTE).max(0)).unwrap_or(u32::MAX)
    }

    /// Returns the earliest time at which a call due at `due` may start. Nothing drains before `at`.
    pub fn next_at(&self, quota: Quota, due: Timestamp) -> Timestamp {
        let from = due.max(self.at);
        let lacking = self.used_at(quota, from) + MINUTE - Bucket::most(quota);
        if lacking <= 0 {
            return due;
        }
        let rate = Bucket::rate(quota);
        let wait: Millis = (lacking + rate - 1) / rate;
        from.plus(wait)
    }

    /// Moves the bucket back by `by` after a backward step of the clock.
    pub fn set_back(&mut self, by: Millis) {
        self.at = self.at.minus(by);
    }

    pub fn take(&mut self, quota: Quota, now: Timestamp) {
        self.take_many(quota, now, 1);
    }

    /// Counts requests, even beyond the quota; later calls wait until the excess has drained.
    pub fn take_many(&mut self, quota: Quota, now: Timestamp, requests: u32) {
        self.spent = self.used_at(quota, now).saturating_add(i64::from(requests) * MINUTE);
        self.at = now;
    }
}
