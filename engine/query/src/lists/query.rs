//! What a list is asked for, and where reading stands in it.

use location::time::{SECOND, Timestamp};
use records::index::OrderBy;
use store::Direction;

use super::filter::Filter;

/// A commit may land a moment after the time it was decided at: a list begins a little earlier than it is asked for.
pub const COMMITS_WITHIN: i64 = 5 * SECOND;

/// Which records, and in which order.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Institutions, data sources or locations whose records it shows.
    pub owners: Vec<u32>,
    pub order: Order,
    /// All of them hold.
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

/// By what a list is ordered; records with the same time by their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Id,
    UpdatedAt,
    /// When it begins, for what is in a calendar.
    StartsAt,
}

impl Order {
    /// The order of the index; none for the records' own.
    pub(super) fn by_time(self) -> Option<OrderBy> {
        match self {
            Order::Id => None,
            Order::UpdatedAt => Some(OrderBy::Updated),
            Order::StartsAt => Some(OrderBy::Start),
        }
    }
}

/// When a list by time of change began, by when its first page was asked for.
pub fn begun(first_page: Timestamp) -> Timestamp {
    first_page.minus(COMMITS_WITHIN)
}

/// A record's place in a list: lists in the order of ids have `at` 0.
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

/// Up to `limit` records after a position, or before it when `direction` is backward, nearest first.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub from: Option<Position>,
    pub direction: Direction,
    pub limit: usize,
}

impl Range {
    /// The first ones of a list.
    pub fn first(limit: usize) -> Range {
        Range { from: None, direction: Direction::Forward, limit }
    }

    /// The last ones of a list, the last first.
    pub fn last(limit: usize) -> Range {
        Range { direction: Direction::Backward, ..Range::first(limit) }
    }
}

/// The part of a list by time of change that is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// Not changed at this time or earlier.
    pub after: Option<Timestamp>,
    /// Not changed later.
    pub until: Option<Timestamp>,
}

impl Window {
    pub(super) fn has(self, at: Timestamp) -> bool {
        self.after.is_none_or(|after| at > after) && self.until.is_none_or(|until| at <= until)
    }
}

/// The first of what comes after an entry.
pub(super) fn beyond(mut entry: Vec<u8>) -> Vec<u8> {
    entry.push(0);
    entry
}
