//! Instants and intervals. The machine knows UTC only; `zone` translates at its edge.

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A length of time in milliseconds.
pub type Millis = i64;

/// A second in milliseconds.
pub const SECOND: Millis = 1_000;
/// A minute in milliseconds.
pub const MINUTE: Millis = 60 * SECOND;
/// An hour in milliseconds.
pub const HOUR: Millis = 60 * MINUTE;
/// A day in milliseconds.
pub const DAY: Millis = 24 * HOUR;

impl Timestamp {
    /// The earliest instant.
    pub const MIN: Timestamp = Timestamp(i64::MIN);
    /// The latest instant.
    pub const MAX: Timestamp = Timestamp(i64::MAX);

    /// The instant so much later.
    pub fn plus(self, length: Millis) -> Timestamp {
        Timestamp(self.0.saturating_add(length))
    }

    /// The instant so much earlier.
    pub fn minus(self, length: Millis) -> Timestamp {
        Timestamp(self.0.saturating_sub(length))
    }

    /// Time from `earlier` to `self`, negative when `self` is the earlier one.
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
    /// None unless `start` lies before `end`.
    pub fn new(start: Timestamp, end: Timestamp) -> Option<Span> {
        (start < end).then_some(Span { start, end })
    }

    /// Whether some instant belongs to both.
    pub fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether all of `other` belongs to it.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Its length in milliseconds.
    pub fn length(self) -> Millis {
        self.end.since(self.start)
    }
}
