//! The query of a list, and positions in a list.

use location::time::{SECOND, Timestamp};
use records::index::OrderBy;
use store::Direction;

use super::filter::Filter;

/// A commit may land a moment after its timestamp was taken, so a list begins slightly before its first
/// request.
pub const COMMITS_WITHIN: i64 = 5 * SECOND;

/// The owners, order and filters of a list.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// The institutions, data sources or locations whose records are listed.
    pub owners: Vec<u32>,
    pub order: Order,
    /// Filters that must all match.
    pub filters: Vec<Filter>,
}

impl ListQuery {
    pub fn new(owners: impl Into<Vec<u32>>, order: Order) -> ListQuery {
        ListQuery { owners: owners.into(), order, filters: Vec::new() }
    }

    pub fn filtered(mut self, filters: impl IntoIterator<Item = Filter>) -> ListQuery {
        self.filters.extend(filters);
        self
    }
}

/// The sort order of a list. Records with the same time are sorted by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Id,
    UpdatedAt,
    /// The start of calendar records.
    StartsAt,
}

impl Order {
    /// Returns the index order, or `None` for the order of ids.
    pub(super) fn by_time(self) -> Option<OrderBy> {
        match self {
            Order::Id => None,
            Order::UpdatedAt => Some(OrderBy::Updated),
            Order::StartsAt => Some(OrderBy::Start),
        }
    }
}

/// Returns the time when a list by time of change began, from the time of its first request.
pub fn begun(first_page: Timestamp) -> Timestamp {
    first_page.minus(COMMITS_WITHIN)
}

/// The position of a record in a list. `at` is 0 in lists by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub at: Timestamp,
    pub id: u64,
}

impl Position {
    pub fn id(id: u64) -> Position {
        Position { at: Timestamp(0), id }
    }
}

/// Up to `limit` records after a position, or before it if `direction` is backward, nearest first.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub from: Option<Position>,
    pub direction: Direction,
    pub limit: usize,
}

impl Range {
    /// Returns the range of the first records of a list.
    pub fn first(limit: usize) -> Range {
        Range { from: None, direction: Direction::Forward, limit }
    }

    /// Returns the range of the last records of a list, in descending order.
    pub fn last(limit: usize) -> Range {
        Range { direction: Direction::Backward, ..Range::first(limit) }
    }
}

/// A part of a list by time of change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// Exclusive lower bound of the time of change.
    pub after: Option<Timestamp>,
    /// Inclusive upper bound of the time of change.
    pub until: Option<Timestamp>,
}

impl Window {
    pub(super) fn has(self, at: Timestamp) -> bool {
        self.after.is_none_or(|after| at > after) && self.until.is_none_or(|until| at <= until)
    }
}

/// Returns the smallest key after an entry.
pub(super) fn beyond(mut entry: Vec<u8>) -> Vec<u8> {
    entry.push(0);
    entry
}
