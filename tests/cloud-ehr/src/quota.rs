//! The limit of a user's calls in any sixty seconds.

use std::collections::{BTreeMap, VecDeque};

const WINDOW: i64 = 60;

#[derive(Clone, Debug, Default)]
pub struct Quota {
    pub per_minute: Option<u32>,
    made: BTreeMap<String, VecDeque<i64>>,
}

impl Quota {
    pub fn new(per_minute: Option<u32>) -> Quota {
        Quota { per_minute, ..Quota::default() }
    }

    /// Counts a call. The error is the number of seconds until the next permitted call.
    pub fn take(&mut self, user: &str, now: i64) -> Result<(), i64> {
        let Some(allowed) = self.per_minute else { return Ok(()) };
        let made = self.made.entry(user.to_owned()).or_default();
        while made.front().is_some_and(|at| now - at >= WINDOW) {
            made.pop_front();
        }
        if made.len() >= allowed as usize {
            let frees = made.front().map_or(now, |at| at + WINDOW);
            return Err((frees - now).max(1));
        }
        made.push_back(now);
        Ok(())
    }
}
