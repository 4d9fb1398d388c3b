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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeded_quota_returns_the_seconds_to_wait() {
        let mut quota = Quota::new(Some(2));
        assert_eq!((quota.take("a", 100), quota.take("a", 130)), (Ok(()), Ok(())));
        assert_eq!((quota.take("a", 150), quota.take("b", 150)), (Err(10), Ok(())));
        assert_eq!((quota.take("a", 160), quota.take("a", 161)), (Ok(()), Err(29)));
    }
}
