//! What a list is asked for, and where a walk through it stands.

use std::collections::BTreeSet;

use location::time::{SECOND, Span, Timestamp};
use records::{
    document::Document,
    index::{OrderBy, Term, words},
};
use store::{Direction, KeyRange, Store, StoreError, secrets::Secrets};

/// A commit may land a moment after the time it was decided at: a walk begins a little earlier than it is asked for.
pub const COMMITS_WITHIN: i64 = 5 * SECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Id,
    By(OrderBy),
}

/// A condition that narrows what is read. Not all of them need to hold for what a walk shows: the caller filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Narrow {
    Has(Term),
    /// One of its names has a word with this beginning.
    Begins(String),
    UpdatedSince(Timestamp),
    /// Found another way already.
    OneOf(BTreeSet<u64>),
}

impl Narrow {
    /// A name as someone types it: each of its words begins one of the record's.
    pub fn name(asked: &str) -> impl Iterator<Item = Narrow> {
        words::of(asked).into_iter().map(Narrow::Begins)
    }

    pub fn holds(&self, record: &impl Document) -> bool {
        match self {
            Narrow::Has(term) => record.terms().contains(term),
            Narrow::Begins(start) => {
                record.terms().iter().filter_map(Term::word).any(|word| word.starts_with(start.as_str()))
            }
            Narrow::UpdatedSince(since) => {
                let updated = record.places().into_iter().find(|(order, _)| *order == OrderBy::Updated);
                updated.is_some_and(|(_, at)| at >= *since)
            }
            Narrow::OneOf(ids) => ids.contains(&record.id()),
        }
    }
}

/// A list, as it is walked from page to page.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Institution, data source or location whose records it shows.
    pub owner: u32,
    pub order: Order,
    /// For an order by time: the part of it that is walked.
    pub within: Option<Span>,
    pub narrow: Vec<Narrow>,
    /// The moment its first page was asked for, which later pages carry on: `Walk::began`. `Timestamp::MAX` shows each page as of now.
    pub as_of: Timestamp,
}

impl Walk {
    pub fn new(owner: u32, order: Order) -> Walk {
        Walk { owner, order, within: None, narrow: Vec::new(), as_of: Timestamp::MAX }
    }

    /// The `as_of` of a walk, by when its first page was asked for.
    pub fn began(first_page: Timestamp) -> Timestamp {
        first_page.minus(COMMITS_WITHIN)
    }
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

/// The next part of a walk: up to `limit` records after a position, or before it when `direction` is backward, nearest first.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub from: Option<Position>,
    pub direction: Direction,
    pub limit: usize,
}

/// A stretch of a list: records after (or before) an id, in rising id order.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub after: Option<u64>,
    pub before: Option<u64>,
    pub limit: usize,
}

/// Lists of a store.
#[derive(Clone, Copy)]
pub struct Lists<'a> {
    pub store: &'a dyn Store,
    pub secrets: &'a Secrets,
}

pub(super) fn parsed<D: Document>(key: &[u8], value: &[u8]) -> Result<D, StoreError> {
    serde_json::from_slice(value).map_err(|_| StoreError::damaged(key, "a record that cannot be read"))
}

/// What is left of a range on the far side of a key.
pub(super) fn beyond(mut range: KeyRange, key: &[u8], direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward if range.start.as_slice() <= key => range.after(key),
        Direction::Backward if range.end.as_slice() > key => {
            range.end = key.to_vec();
            range
        }
        _ => range,
    }
}
