//! The circuit breaker of a location's writes. It opens after failed writes, a closed gate or refused credentials.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Millis, Timestamp, WriteId, WriteRules};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitBreaker {
    /// Distinct writes that failed since the last success. A single failing write never opens the breaker.
    failing: BTreeSet<WriteId>,
    pub blocked: Option<Block>,
    /// Consecutive blocks, for exponential backoff.
    blocks: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub why: Blocked,
    pub since: Timestamp,
    pub until: Timestamp,
}

/// The reason why no writes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocked {
    /// The circuit breaker is open.
    Breaker,
    GateClosed,
    /// The EHR does not accept the credentials.
    Unauthorized,
}

impl CircuitBreaker {
    /// Returns the number of writes that may be in flight: none while blocked, one as a probe after a block, otherwise
    /// all.
    pub fn concurrency(&self, rules: &WriteRules, now: Timestamp) -> usize {
        match self.blocked {
            Some(block) if now < block.until => 0,
            Some(_) => 1,
            None => usize::from(rules.concurrency.max(1)),
        }
    }

    /// Returns `true` if a failure of this write opens the breaker. Any failure of a probe does.
    pub fn opens(&self, rules: &WriteRules, write: WriteId) -> bool {
        let others = self.failing.iter().filter(|id| **id != write).count();
        self.blocked.is_some() || others + 1 >= usize::from(rules.breaker_threshold.max(1))
    }

    pub fn pause(&self, rules: &WriteRules) -> Millis {
        let doubled = rules.breaker_pause.saturating_mul(1_i64 << self.blocks.min(20));
        doubled.min(rules.breaker_pause_cap)
    }

    pub fn failed(&mut self, write: WriteId) {
        self.failing.insert(write);
    }

    pub fn block(&mut self, why: Blocked, since: Timestamp, until: Timestamp) {
        let since = self.blocked.map_or(since, |block| block.since);
        self.blocked = Some(Block { why, since, until });
        self.blocks = self.blocks.saturating_add(1);
    }

    /// Moves due times back by `by` and caps start times at `at`, after a backward step of the clock.
    pub fn set_back(&mut self, at: Timestamp, by: Millis) {
        if let Some(block) = &mut self.blocked {
            block.since = block.since.min(at);
            block.until = block.until.minus(by);
        }
    }

    /// Closes the breaker after a successful call.
    pub fn clear(&mut self) {
        *self = CircuitBreaker::default();
    }

    pub fn is_clear(&self) -> bool {
        self.failing.is_empty() && self.blocked.is_none()
    }

    /// Removes a finished write from the failing ones.
    pub fn forget(&mut self, write: WriteId) {
        self.failing.remove(&write);
    }
}
