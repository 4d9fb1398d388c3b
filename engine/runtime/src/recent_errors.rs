//! Recent errors of each location, for operators. They are kept in memory only: persistent problems are reported by the
//! next attempt after a restart.

use std::collections::{BTreeMap, VecDeque};

use location::{LocationId, Resource, Timestamp, WriteId, WriteIntent};
use parking_lot::Mutex;

use crate::Origin;

/// Number of errors kept per location. Repetitions count as one.
const KEPT: usize = 30;

/// The part of a location with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorSource {
    Pull(Resource),
    Write(WriteId, WriteIntent),
    /// The adapter, before anything was read or written.
    Adapter,
    Gate,
    /// The location itself: its records, its commits.
    Location,
}

/// An error, and its repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentError {
    pub part: ErrorSource,
    /// A message for operators. Never contains patient data.
    pub reason: String,
    /// The id of the last request with the error.
    pub request: Option<String>,
    /// Times of the first and the last occurrence.
    pub first: Timestamp,
    pub at: Timestamp,
    pub times: u64,
}

impl RecentError {
    pub fn new(part: ErrorSource, reason: impl Into<String>, request: Option<Origin>, at: Timestamp) -> RecentError {
        let request = request.as_deref().map(str::to_owned);
        RecentError { part, reason: reason.into(), request, first: at, at, times: 1 }
    }
}

#[derive(Debug, Default)]
pub struct RecentErrors(Mutex<BTreeMap<LocationId, VecDeque<RecentError>>>);

impl RecentErrors {
    /// Adds an error, or another occurrence of a known one.
    pub fn note(&self, location: LocationId, mut error: RecentError) {
        let mut all = self.0.lock();
        let errors = all.entry(location).or_default();
        let same = errors.iter().position(|known| known.part == error.part && known.reason == error.reason);
        match same.and_then(|at| errors.remove(at)) {
            Some(known) => (error.first, error.times) = (known.first, known.times + 1),
            None => errors.truncate(KEPT - 1),
        }
        errors.push_front(error);
    }

    /// Returns the errors of a location, latest first.
    pub fn for_location(&self, location: LocationId) -> Vec<RecentError> {
        let all = self.0.lock();
        all.get(&location).into_iter().flatten().cloned().collect()
    }

    pub(crate) fn retain(&self, keep: impl Fn(LocationId) -> bool) {
        self.0.lock().retain(|location, _| keep(*location));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_error_is_counted_and_the_oldest_is_dropped() {
        let (errors, here) = (RecentErrors::default(), LocationId(1));
        let note =
            |reason: &str, at| errors.note(here, RecentError::new(ErrorSource::Adapter, reason, None, Timestamp(at)));
        note("it is down", 1);
        note("it is slow", 2);
        note("it is down", 3);
        let seen: Vec<_> =
            errors.for_location(here).into_iter().map(|it| (it.reason, it.first.0, it.at.0, it.times)).collect();
        assert_eq!(seen, [("it is down".to_owned(), 1, 3, 2), ("it is slow".to_owned(), 2, 2, 1)]);
        (10..100).for_each(|at| note(&at.to_string(), at));
        let seen = errors.for_location(here);
        assert_eq!((seen.len(), seen[0].reason.as_str()), (KEPT, "99"));
        assert_eq!(errors.for_location(LocationId(2)), []);
        errors.retain(|_| false);
        assert_eq!(errors.for_location(here), []);
    }
}
