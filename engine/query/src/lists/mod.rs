//! Pages of lists. The cost depends on the size of the page, not of the list. Records are read next to a
//! position, in the order of their ids or of a field that may change, using the most selective filter.
//!
//! ```text
//!  ListQuery, PageRequest ──► list (latest_first) ──► rows ──► source ──┬► store: the records (by_id)
//!        Filter ──► Criterion ──┴── holds ─────────────────────┘        └► index: conditions, orders
//! ```
//!
//! `list` decodes each record; `list_rows` only those whose version is not in memory (`crate::rows`).

mod by_id;
mod latest_first;
mod merge;
mod page;
mod query;
mod source;

use std::{borrow::Borrow, cell::Cell, collections::BTreeMap};

use by_id::{parsed, read_by_id};
use records::document::{Document, DocumentKind, Link};
use source::OwnerList;
use store::{Direction, Key, MAX_KEY_BYTES, SealedValue, Store, StoreError, keys};

use crate::{
    index::{Index, View},
    rows::Row,
    stream::Stream,
};

use self::{
    latest_first::{LatestFirst, Window},
    query::Criterion,
};
pub use self::{
    page::{Page, PageAt, PageRequest, Position, READ_AHEAD, Range},
    query::{Filter, ListQuery, Order, name_matches},
};

/// Maximum number of records sorted in memory.
pub const MAX_SORTED: usize = 20_000;

#[derive(Clone, Copy)]
pub struct Lists<'a> {
    pub store: &'a dyn Store,
    pub index: &'a Index,
}

#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Too many records start within the span.
    #[error("more than {MAX_SORTED} records cannot be put in the order of their ids")]
    TooManyToSort,
}

impl Lists<'_> {
    /// Returns a page of the records that match the filters and `keep`, which checks conditions without a filter.
    ///
    /// If records change between two pages, a list by id contains each record that matched throughout exactly
    /// once. A list by time of change repeats changed records at their new position. A list by start may miss or
    /// repeat moved records.
    pub fn list<D: Document>(
        &self,
        query: &ListQuery,
        page: &PageRequest,
        keep: impl Fn(&D) -> bool,
    ) -> Result<Page<D>, ListError> {
        self.read_page::<D, D>(query, page, keep, |key, value| self.decoded(&key, value))
    }

    /// Like `list`, with rows that stay in memory for later lists.
    pub fn list_rows<D: Document>(
        &self,
        query: &ListQuery,
        page: &PageRequest,
        keep: impl Fn(&D) -> bool,
    ) -> Result<Page<Row<D>>, ListError> {
        let rows = self.index.rows();
        let read = |key, value| rows.row(key, value, |key, value| self.decoded_with_size(key, value));
        self.read_page::<D, Row<D>>(query, page, keep, read)
    }

    fn decoded<D: Document>(&self, key: &[u8], value: SealedValue) -> Result<D, StoreError> {
        self.decoded_with_size(key, value).map(|(record, _)| record)
    }

    /// Returns a record and the size of its JSON.
    fn decoded_with_size<D: Document>(&self, key: &[u8], value: SealedValue) -> Result<(D, usize), StoreError> {
        let json = self.store.unseal(key, value)?;
        Ok((parsed(key, &json)?, json.len()))
    }

    fn read_page<D: Document, R: Borrow<D>>(
        &self,
        query: &ListQuery,
        page: &PageRequest,
        keep: impl Fn(&D) -> bool,
        read: impl Fn(Key, SealedValue) -> Result<R, StoreError>,
    ) -> Result<Page<R>, ListError> {
        let criteria = self.criteria::<D>(query)?;
        let matches_all = |row: &R| {
            let record: &D = row.borrow();
            criteria.iter().all(|it| it.holds(record)) && keep(record)
        };
        if query.order == Order::Id && criteria.iter().any(|it| matches!(it, Criterion::Starting(_))) {
            return self.page_by_id::<D, R>(query, &criteria, page, matches_all, &read);
        }
        let page_of = |fetch: &dyn Fn(Range) -> Result<Vec<(Position, R)>, StoreError>| -> Result<Page<R>, ListError> {
            // The last record of the list, once a read has returned fewer records than requested.
            let end: Cell<Option<Position>> = Cell::new(None);
            let fetch = |range: Range| {
                if range.from.is_some() && range.from == end.get() {
                    return Ok(Vec::new());
                }
                let rows = fetch(range)?;
                if rows.len() < range.limit {
                    end.set(rows.last().map(|(position, _)| *position));
                }
                Ok::<_, StoreError>(rows)
            };
            let page = page.collect(fetch, |(_, row)| matches_all(row), |(position, _)| *position)?;
            Ok(page.with_rows(|rows| rows.into_iter().map(|(_, row)| row).collect()))
        };
        let as_it_is = |range| self.records::<D, R>(query, &criteria, Window::ALL, range, &read);
        // Changed records move out of the walk only in descending order of change.
        if query.order != Order::UpdatedAt || !page.descending || page.at.is_independent() {
            return page_of(&as_it_is);
        }
        // A list that fits on one page needs no appended part.
        if page.at == PageAt::Start {
            let whole = page_of(&as_it_is)?;
            if !whole.has_next {
                return Ok(whole);
            }
        }
        let order = LatestFirst::new(page.first_asked);
        page_of(&|range| {
            order.fetch(range, |window, range| self.records::<D, R>(query, &criteria, window, range, &read))
        })
    }

    /// Returns a page in the order of ids of records that start within a span. They are found by their start, and
    /// sorted in memory.
    fn page_by_id<D: Document, R: Borrow<D>>(
        &self,
        query: &ListQuery,
        criteria: &[Criterion],
        page: &PageRequest,
        matches_all: impl Fn(&R) -> bool,
        read: &impl Fn(Key, SealedValue) -> Result<R, StoreError>,
    ) -> Result<Page<R>, ListError> {
        let mut found: BTreeMap<u64, R> = BTreeMap::new();
        for owner in &query.owners {
            let by_start = ListQuery::new([*owner], Order::StartsAt);
            let range = Range::first(MAX_SORTED + 1);
            let records = self.records::<D, R>(&by_start, criteria, Window::ALL, range, read)?;
            found.extend(records.into_iter().map(|(position, row)| (position.id, row)));
            if found.len() > MAX_SORTED {
                return Err(ListError::TooManyToSort);
            }
        }
        found.retain(|_, row| matches_all(row));
        let fetch = |range: Range| -> Result<Vec<u64>, ListError> {
            use std::ops::Bound::{Excluded, Unbounded};
            let from = range.from.map_or(Unbounded, |from| Excluded(from.id));
            Ok(match range.direction {
                Direction::Forward => found.range((from, Unbounded)).take(range.limit).map(|(id, _)| *id).collect(),
                Direction::Backward => {
                    found.range((Unbounded, from)).rev().take(range.limit).map(|(id, _)| *id).collect()
                }
            })
        };
        let ids = page.collect(fetch, |_| true, |id| Position::id(*id))?;
        Ok(ids.with_rows(|ids| ids.iter().filter_map(|id| found.remove(id)).collect()))
    }

    /// Returns records in a range that may match the filters. The caller must check them, because not all filters
    /// narrow the range.
    pub fn scan<D: Document>(&self, query: &ListQuery, range: Range) -> Result<Vec<(Position, D)>, StoreError> {
        let decode = |key: Key, value| self.decoded(&key, value);
        self.records::<D, D>(query, &self.criteria::<D>(query)?, Window::ALL, range, &decode)
    }

    /// Like `scan`, with the records as stored JSON.
    pub fn scan_raw<D: Document>(
        &self,
        query: &ListQuery,
        range: Range,
    ) -> Result<Vec<(Position, Vec<u8>)>, StoreError> {
        self.rows::<D, _>(query, &self.criteria::<D>(query)?, Window::ALL, range, |owner, key, value| {
            let value = self.store.unseal(&key, value)?;
            let apart = D::scope_of(owner) == owner;
            let ours = apart || parsed::<D>(&key, &value)?.owner() == owner;
            Ok(ours.then_some(value))
        })
    }

    /// Returns the internal id of a record with this foreign id in the data source.
    pub fn id_of_foreign(&self, source: u32, kind: DocumentKind, foreign_id: &str) -> Result<Option<u64>, StoreError> {
        let key = keys::link(source, kind.byte(), foreign_id.as_bytes());
        // A foreign id too long for a key was never linked.
        if key.len() > MAX_KEY_BYTES {
            return Ok(None);
        }
        self.store.get(&key)?.map(|value| linked_id(&key, &value)).transpose()
    }

    fn criteria<D: Document>(&self, query: &ListQuery) -> Result<Vec<Criterion>, StoreError> {
        let linked = |sources: &[u32], foreign_ids: &[String]| {
            let names = foreign_ids.iter().flat_map(|name| sources.iter().map(move |source| (*source, name)));
            let keys = names.map(|(source, name)| keys::link(source, D::BYTE, name.as_bytes()));
            let keys: Vec<Key> = keys.filter(|key| key.len() <= MAX_KEY_BYTES).collect();
            let found = keys.iter().zip(self.store.get_many(&keys)?);
            found.filter_map(|(key, found)| Some(linked_id(key, &found?))).collect()
        };
        let mut criteria = Vec::new();
        for filter in &query.filters {
            criteria.extend(filter.criteria(linked)?);
        }
        Ok(criteria)
    }

    fn records<D: Document, R: Borrow<D>>(
        &self,
        query: &ListQuery,
        criteria: &[Criterion],
        window: Window,
        range: Range,
        read: &impl Fn(Key, SealedValue) -> Result<R, StoreError>,
    ) -> Result<Vec<(Position, R)>, StoreError> {
        self.rows::<D, R>(query, criteria, window, range, |owner, key, value| {
            let row = read(key, value)?;
            let record: &D = row.borrow();
            Ok((record.owner() == owner).then_some(row))
        })
    }

    /// Returns the rows of all owners in one order. The order of ids needs the index only if a criterion finds records.
    fn rows<D: Document, R>(
        &self,
        query: &ListQuery,
        criteria: &[Criterion],
        window: Window,
        range: Range,
        take: impl Fn(u32, Key, SealedValue) -> Result<Option<R>, StoreError>,
    ) -> Result<Vec<(Position, R)>, StoreError> {
        let (mut rows, kind) = (Vec::new(), D::BYTE);
        let needs_index = query.order != Order::Id || criteria.iter().any(Criterion::finds);
        for owner in &query.owners {
            let (scope, take) = (D::scope_of(*owner), |key, value| take(*owner, key, value));
            if !needs_index {
                rows.extend(read_by_id(self.store, (kind, scope), range, take)?);
                continue;
            }
            let read = |view: &View| {
                let list = OwnerList {
                    store: self.store,
                    view,
                    kind,
                    scope,
                    listed_by_id: D::LISTED_BY_ID,
                    owner: *owner,
                    order: query.order,
                    criteria,
                    window,
                    budget: self.index.budget,
                    direction: range.direction,
                };
                list.read::<D, R>(range, take)
            };
            rows.extend(self.index.read(self.store, Stream::for_documents::<D>(*owner), read)?);
        }
        if query.owners.len() > 1 {
            rows.sort_by_key(|(position, _)| *position);
            if range.direction == Direction::Backward {
                rows.reverse();
            }
            // Rows beyond the range covered for one owner may be incomplete for another.
            rows.truncate(range.limit);
        }
        Ok(rows)
    }
}

fn linked_id(key: &[u8], value: &[u8]) -> Result<u64, StoreError> {
    let link = Link::from_bytes(value).ok_or_else(|| StoreError::damaged(key, "a link that cannot be read"))?;
    Ok(link.id)
}
