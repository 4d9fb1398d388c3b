//! Fault injection and rate limiting.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Response,
    /// Processed, but the reply is lost.
    ReplyLost,
    /// Never arrives; the sender cannot distinguish this from a lost reply.
    RequestLost,
}

/// Faults of the fake.
#[derive(Default)]
pub struct Switches {
    /// Number of requests since the switches were set.
    pub asked: u64,
    /// Fates by the number of the request, from 0.
    pub fates: BTreeMap<u64, Fate>,
    /// Response to every request.
    pub out: Option<(u16, &'static str)>,
    /// Maximum requests per second; more are answered with 429.
    pub per_second: Option<u32>,
    /// Delay of each answer.
    pub delay: Duration,
    /// Arrival times of the last second's requests.
    pub recent: Vec<Instant>,
}

impl Switches {
    /// Sets a fate for the n-th request from now on.
    pub fn at(n: u64, fate: Fate) -> Switches {
        Switches { fates: BTreeMap::from([(n, fate)]), ..Switches::default() }
    }

    pub(super) fn next(&mut self) -> Fate {
        let fate = self.fates.remove(&self.asked).unwrap_or(Fate::Response);
        self.asked += 1;
        fate
    }

    /// Returns `true` if the limit of the last second is exceeded.
    pub(super) fn too_many(&mut self, now: Instant) -> bool {
        let Some(limit) = self.per_second else { return false };
        self.recent.retain(|at| now.duration_since(*at) < Duration::from_secs(1));
        let over = self.recent.len() >= limit as usize;
        if !over {
            self.recent.push(now);
        }
        over
    }
}
