//! The lag of the follower, kept in memory so that metrics read no store.

use std::collections::HashMap;

use location::{
    ids::InstitutionId,
    time::{SECOND, Timestamp},
};
use parking_lot::Mutex;
use query::log::LoggedCommit;

/// Changes that are not followed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag {
    /// Numbers of the log at the last look. On a store with one sequence for all institutions, this includes numbers
    /// of other institutions between the changes.
    pub changes: u64,
    pub oldest: Timestamp,
}

impl Lag {
    /// Returns the age of the oldest change.
    pub fn seconds(self, now: Timestamp) -> u64 {
        u64::try_from(now.since(self.oldest) / SECOND).unwrap_or(0)
    }

    /// Returns the lag of a follower that has reached a number, or `None` if it has followed all commits. `end` is the
    /// last number of the log.
    pub(super) fn new<'c>(reached: u64, end: u64, commits: impl IntoIterator<Item = &'c LoggedCommit>) -> Option<Lag> {
        let next = commits.into_iter().find(|commit| commit.last > reached)?;
        Some(Lag { changes: end.saturating_sub(reached), oldest: next.header.at })
    }
}

/// The lag of each institution with changes to follow.
#[derive(Default)]
pub(super) struct Lags(Mutex<HashMap<InstitutionId, Lag>>);

impl Lags {
    /// Records that an institution has a new change. Its lag is then visible even if the follower never looks.
    pub(super) fn begin(&self, institution: InstitutionId, at: Timestamp) {
        self.0.lock().entry(institution).or_insert(Lag { changes: 1, oldest: at });
    }

    pub(super) fn set(&self, institution: InstitutionId, lag: Option<Lag>) {
        let mut lags = self.0.lock();
        match lag {
            Some(lag) => lags.insert(institution, lag),
            None => lags.remove(&institution),
        };
    }

    /// Returns the lag of all institutions for which `is_included` returns `true`, or `None` if they have none.
    pub(super) fn total(&self, is_included: impl Fn(InstitutionId) -> bool) -> Option<Lag> {
        let lags = self.0.lock().clone();
        let included = lags.into_iter().filter(|(institution, _)| is_included(*institution)).map(|(_, lag)| lag);
        included.reduce(|all, lag| Lag { changes: all.changes + lag.changes, oldest: all.oldest.min(lag.oldest) })
    }
}
