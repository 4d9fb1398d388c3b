//! What goes wrong on the way, and how often may be asked.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Response,
    /// It is done, and its reply is lost.
    ReplyLost,
    /// It never arrives, which its sender cannot know.
    RequestLost,
}

/// How the fake is made unpleasant.
#[derive(Default)]
pub struct Switches {
    /// Requests counted since the switches were set.
    pub asked: u64,
    /// By the number of a request, from 0.
    pub fates: BTreeMap<u64, Fate>,
    /// Every request is answered with this.
    pub out: Option<(u16, &'static str)>,
    /// Requests a second; more are answered with 429.
    pub per_second: Option<u32>,
    /// How long each answer takes.
    pub delay: Duration,
    /// When the requests of the last second came.
    pub recent: Vec<Instant>,
}

impl Switches {
    /// The n-th request from now on meets this.
    pub fn at(n: u64, fate: Fate) -> Switches {
        Switches { fates: BTreeMap::from([(n, fate)]), ..Switches::default() }
    }

    pub(super) fn next(&mut self) -> Fate {
        let fate = self.fates.remove(&self.asked).unwrap_or(Fate::Response);
        self.asked += 1;
        fate
    }

    /// True where there were too many within the last second.
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
