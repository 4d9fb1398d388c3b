//! Pages of lists, at a cost that follows the page and not the list: records next to a position, in the order of their ids or of a field
//! that may change, found through the most selective of what they are filtered by.
//!
//! ```text
//!  ListQuery, PageRequest ──► list ──► scan ──► source (records, index, order) ──► store
//!        Filter ──► Criterion ──┴── holds ────────┘ index terms
//! ```

mod filter;
mod merge;
mod page;
mod query;
mod source;

use std::collections::BTreeMap;

use location::time::Timestamp;
use records::document::{Document, Kind, Link};
use source::{List, parsed};
use store::{Direction, MAX_KEY_BYTES, Store, StoreError, keys, secrets::Secrets};

use crate::index::places;

use self::filter::Criterion;
pub use self::{
    filter::{Filter, name_matches},
    page::{Page, PageAt, PageRequest, READ_AHEAD},
    query::{COMMITS_WITHIN, ListQuery, Order, Position, Range, as_of},
};

/// Records that are put in order in memory.
pub const MAX_SORTED: usize = 20_000;

/// Lists of a store.
#[derive(Clone, Copy)]
pub struct Lists<'a> {
    pub store: &'a dyn Store,
    pub secrets: &'a Secrets,
}

#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Where records stood then is forgotten, so that some could be skipped.
    #[error("the list began too long ago")]
    Expired,
    /// Of what starts within a time.
    #[error("more than {MAX_SORTED} records cannot be put in the order of their ids")]
    TooManyToSort,
}

impl Lists<'_> {
    /// A page of what meets the filters, and `keep`, which judges what no filter says.
    pub fn list<D: Document>(
        &self,
        query: &ListQuery,
        page: &PageRequest,
        now: Timestamp,
        keep: impl Fn(&D) -> bool,
    ) -> Result<Page<D>, ListError> {
        let criteria = self.criteria::<D>(query)?;
        let judged = |it: &&Criterion| match it {
            // By start, a list shows where records stood when it began.
            Criterion::Starting(_) => query.order != Order::StartsAt,
            _ => true,
        };
        let judged: Vec<&Criterion> = criteria.iter().filter(judged).collect();
        let shown = |record: &D| judged.iter().all(|it| it.holds(record)) && keep(record);
        if query.order == Order::Id && criteria.iter().any(|it| matches!(it, Criterion::Starting(_))) {
            return self.page_by_id(query, &criteria, page, shown);
        }
        let page_as_of = |as_of: Timestamp| -> Result<Page<D>, ListError> {
            let fetch = |range| self.records::<D>(query, &criteria, as_of, range);
            let page = page.collect(fetch, |(_, record)| shown(record), |(position, _)| *position)?;
            Ok(page.with_rows(|rows| rows.into_iter().map(|(_, record)| record).collect()))
        };
        if query.order == Order::Id || page.at.stands_alone() {
            return page_as_of(Timestamp::MAX);
        }
        // A list by time begins a little in the past, so that its pages agree. One of a single page is shown as it is now.
        if page.at == PageAt::Start {
            let whole = page_as_of(Timestamp::MAX)?;
            if !whole.has_next {
                return Ok(whole);
            }
        }
        let as_of = query::as_of(page.first_asked);
        if as_of < now.minus(places::KEPT) {
            return Err(ListError::Expired);
        }
        page_as_of(as_of)
    }

    /// What starts within a time is found by its start; in the order of ids it is read as a whole.
    fn page_by_id<D: Document>(
        &self,
        query: &ListQuery,
        criteria: &[Criterion],
        page: &PageRequest,
        shown: impl Fn(&D) -> bool,
    ) -> Result<Page<D>, ListError> {
        let mut found: BTreeMap<u64, D> = BTreeMap::new();
        for owner in &query.owners {
            let by_start = ListQuery::new([*owner], Order::StartsAt);
            let records = self.records::<D>(&by_start, criteria, Timestamp::MAX, Range::first(MAX_SORTED + 1))?;
            found.extend(records.into_iter().map(|(position, record)| (position.id, record)));
            if found.len() > MAX_SORTED {
                return Err(ListError::TooManyToSort);
            }
        }
        found.retain(|_, record| shown(record));
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

    /// Records in a range that may meet the filters, as the list stood at a time (`Timestamp::MAX`: as it is now). Who calls judges
    /// them: not all filters narrow what is read.
    pub fn scan<D: Document>(
        &self,
        query: &ListQuery,
        as_of: Timestamp,
        range: Range,
    ) -> Result<Vec<(Position, D)>, StoreError> {
        self.records(query, &self.criteria::<D>(query)?, as_of, range)
    }

    /// The same as JSON, as the store keeps it.
    pub fn scan_raw<D: Document>(
        &self,
        query: &ListQuery,
        as_of: Timestamp,
        range: Range,
    ) -> Result<Vec<(Position, Vec<u8>)>, StoreError> {
        self.rows::<D, _>(query, &self.criteria::<D>(query)?, as_of, range, |owner, key, value| {
            let apart = D::scope_of(owner) == owner;
            let ours = apart || parsed::<D>(key, &value)?.owner() == owner;
            Ok(ours.then_some(value))
        })
    }

    /// Our id of what a data source calls so.
    pub fn id_of_foreign(&self, source: u32, kind: Kind, foreign_id: &str) -> Result<Option<u64>, StoreError> {
        let key = keys::link(source, kind.byte(), foreign_id.as_bytes());
        // A foreign id too long for a key was never linked.
        if key.len() > MAX_KEY_BYTES {
            return Ok(None);
        }
        let Some(value) = self.store.get(&key)? else { return Ok(None) };
        let link = Link::from_bytes(&value).ok_or_else(|| StoreError::damaged(&key, "a link that cannot be read"))?;
        Ok(Some(link.id))
    }

    fn criteria<D: Document>(&self, query: &ListQuery) -> Result<Vec<Criterion>, StoreError> {
        let linked = |sources: &[u32], foreign_id: &str| {
            let ids = sources.iter().map(|source| self.id_of_foreign(*source, D::KIND, foreign_id));
            ids.filter_map(Result::transpose).collect()
        };
        let mut criteria = Vec::new();
        for filter in &query.filters {
            criteria.extend(filter.criteria(linked)?);
        }
        Ok(criteria)
    }

    fn records<D: Document>(
        &self,
        query: &ListQuery,
        criteria: &[Criterion],
        as_of: Timestamp,
        range: Range,
    ) -> Result<Vec<(Position, D)>, StoreError> {
        self.rows::<D, _>(query, criteria, as_of, range, |owner, key, value| {
            let record: D = parsed(key, &value)?;
            Ok((record.owner() == owner).then_some(record))
        })
    }

    /// Of all owners, in one order.
    fn rows<D: Document, R>(
        &self,
        query: &ListQuery,
        criteria: &[Criterion],
        as_of: Timestamp,
        range: Range,
        take: impl Fn(u32, &[u8], Vec<u8>) -> Result<Option<R>, StoreError>,
    ) -> Result<Vec<(Position, R)>, StoreError> {
        let mut rows = Vec::new();
        for owner in &query.owners {
            let list = List {
                store: self.store,
                secrets: self.secrets,
                kind: D::KIND.byte(),
                scope: D::scope_of(*owner),
                listed_by_id: D::LISTED_BY_ID,
                owner: *owner,
                order: query.order,
                criteria,
                as_of,
                direction: range.direction,
            };
            rows.extend(list.read::<D, R>(range, |key, value| take(*owner, key, value))?);
        }
        if query.owners.len() > 1 {
            rows.sort_by_key(|(position, _)| *position);
            if range.direction == Direction::Backward {
                rows.reverse();
            }
            // Beyond what one owner gave in full, another's records may be missing.
            rows.truncate(range.limit);
        }
        Ok(rows)
    }
}
