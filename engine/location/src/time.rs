//! Instants and intervals in UTC. Module `zone` converts from and to local time.

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A length of time in milliseconds.
pub type Millis = i64;

pub const SECOND: Millis = 1_000;
pub const MINUTE: Millis = 60 * SECOND;
pub const HOUR: Millis = 60 * MINUTE;
pub const DAY: Millis = 24 * HOUR;

impl Timestamp {
    pub const MIN: Timestamp = Timestamp(i64::MIN);
    pub const MAX: Timestamp = Timestamp(i64::MAX);

    /// Returns the instant `length` later.
    pub fn plus(self, length: Millis) -> Timestamp {
        Timestamp(self.0.saturating_add(length))
    }

    /// Returns the instant `length` earlier.
    pub fn minus(self, length: Millis) -> Timestamp {
        Timestamp(self.0.saturating_sub(length))
    }

    /// Returns the time from `earlier` to `self`, negative if `self` is earlier.
    pub fn since(self, earlier: Timestamp) -> Millis {
        self.0.saturating_sub(earlier.0)
    }
}

/// A half-open interval: `start` belongs to it, `end` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first instant.
    pub start: Timestamp,
    /// The first instant after it.
    pub end: Timestamp,
}

impl Span {
    /// Returns `None` unless `start` is before `end`.
    pub fn new(start: Timestamp, end: Timestamp) -> Option<Span> {
        (start < end).then_some(Span { start, end })
    }

    /// Returns `true` if the spans have an instant in common.
    pub fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns `true` if all of `other` is within the span.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    pub fn length(self) -> Millis {
        self.end.since(self.start)
    }
}
