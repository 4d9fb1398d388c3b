//! Requests that wait for a read of the appointments.

use location::{Timestamp, pull::Freshness};

use super::job::Reply;

/// Maximum number of requests of a location that wait for a read. Further ones are answered at once.
const MAX_WAITERS: usize = 1_000;

/// A request that waits until the EHR's changes before `since` are known.
pub(super) struct Waiter {
    pub since: Timestamp,
    pub until: Timestamp,
    pub reply: Reply<Freshness>,
}

/// The waiting requests of a location.
#[derive(Default)]
pub(super) struct Waiters(Vec<Waiter>);

impl Waiters {
    /// Returns `true` if there is no room for another waiter. Removes those that no longer wait first, because no turn
    /// may end while the EHR does not answer.
    pub(super) fn is_full(&mut self) -> bool {
        if self.0.len() >= MAX_WAITERS {
            self.0.retain(|waiter| !waiter.reply.is_closed());
        }
        self.0.len() >= MAX_WAITERS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, waiter: Waiter) {
        self.0.push(waiter);
    }

    /// Removes the waiters that are answered or no longer wait.
    pub(super) fn answer(&mut self, freshness: impl Fn(Timestamp, Timestamp) -> Freshness) {
        for waiter in std::mem::take(&mut self.0) {
            match freshness(waiter.since, waiter.until) {
                _ if waiter.reply.is_closed() => {}
                Freshness::Waiting => self.0.push(waiter),
                known => drop(waiter.reply.send(Ok(known))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn requests_that_no_longer_wait_leave_room_for_others() {
        let (mut waiters, mut open) = (Waiters::default(), Vec::new());
        for index in 0..MAX_WAITERS {
            let (reply, answer) = oneshot::channel();
            waiters.0.push(Waiter { since: Timestamp(0), until: Timestamp(1), reply });
            open.extend((index > 0).then_some(answer));
        }
        assert!(!waiters.is_full());
        assert_eq!(waiters.0.len(), MAX_WAITERS - 1);
        let (reply, answer) = oneshot::channel();
        waiters.0.push(Waiter { since: Timestamp(0), until: Timestamp(1), reply });
        open.push(answer);
        assert!(waiters.is_full());
    }
}
