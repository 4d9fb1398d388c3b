//! Which way a walk goes: through the records, an index, an order, or a few collected beforehand.

use std::collections::BTreeSet;

use location::time::Timestamp;

use super::{
    Lists, Narrow, Position, Walk, beyond,
    merge::{Merge, READ_AT_ONCE},
    parsed,
};
use crate::{
    actor::docs::Document,
    index::{
        Facets, Term,
        places::{self, OrderBy, Stays},
        words,
    },
    store::{Direction, KeyRange, StoreError, keys},
};

/// Records counted to learn which condition is the most selective.
const COUNTED: usize = 256;
/// Words with one beginning that are looked up one by one; with more of them most pages fill up quickly anyway.
const WORDS: usize = 256;
/// Records changed since a time that are collected; with more of them every two hundredth record of a million is one.
const COLLECTED: usize = 5_000;
/// One call of a walk.
pub(super) struct List<'a> {
    pub lists: Lists<'a>,
    pub kind: u8,
    /// Of the records' own keys.
    pub scope: u32,
    pub walk: &'a Walk,
    pub direction: Direction,
}

/// Where positions come from.
pub(super) enum Source<'a> {
    /// The records themselves.
    Records,
    /// Ids under one or several keys of the index, those that have the terms too.
    Indexed {
        runs: Vec<KeyRange>,
        merge: Option<Merge>,
        also: Vec<&'a Term>,
    },
    /// Few enough to be collected and sorted; those that have the terms too.
    Few {
        positions: Vec<Position>,
        also: Vec<&'a Term>,
    },
    Order(OrderBy),
}

/// A condition that can be walked by itself, with how many records it has, as far as they were counted.
struct Candidate<'a> {
    runs: Vec<KeyRange>,
    term: Option<&'a Term>,
    count: usize,
}

impl<'a> List<'a> {
    pub fn by_id(&self) -> Result<Source<'a>, StoreError> {
        let best = self.most_selective()?;
        if best.as_ref().is_none_or(|best| best.count > COUNTED)
            && let Some(since) = self.updated_since()
            && let Some(ids) = self.updated(since)?
        {
            let positions = ids.into_iter().map(Position::id).collect();
            return Ok(Source::Few { positions, also: self.terms().collect() });
        }
        Ok(match best {
            Some(Candidate { runs, term, .. }) => {
                let also = self.terms().filter(|other| Some(*other) != term).collect();
                Source::Indexed { runs, merge: None, also }
            }
            None => Source::Records,
        })
    }

    /// In an order by time a condition helps only if it leaves so few records that they can be sorted.
    pub fn by_time<D: Document>(&self, order: OrderBy) -> Result<Source<'a>, StoreError> {
        let Some(best) = self.most_selective()?.filter(|best| best.count <= COUNTED) else {
            return Ok(Source::Order(order));
        };
        let also = self.terms().filter(|other| Some(*other) != best.term).collect();
        let mut positions = BTreeSet::new();
        let mut merge = Merge::new(best.runs, Direction::Forward, None);
        while let Some(id) = merge.next(self.lists.store)? {
            positions.extend(self.position::<D>(order, id)?.filter(|position| self.in_range(*position)));
        }
        Ok(Source::Few { positions: positions.into_iter().collect(), also })
    }

    /// Where a record stood in an order when the walk began.
    fn position<D: Document>(&self, order: OrderBy, id: u64) -> Result<Option<Position>, StoreError> {
        let store = self.lists.store;
        let key = keys::record(self.kind, self.scope, id);
        let Some(value) = store.get(&key)? else { return Ok(None) };
        let record: D = parsed(&key, &value)?;
        let Some(today) = Facets::of(&record).place(order).filter(|_| record.owner() == self.walk.owner) else {
            return Ok(None);
        };
        let place = places::at_time(store, today, self.walk.as_of)?;
        Ok(place.map(|place| Position { at: Timestamp(place.at), id }))
    }

    fn in_range(&self, position: Position) -> bool {
        self.walk.within.is_none_or(|span| span.start <= position.at && position.at < span.end)
    }

    fn terms(&self) -> impl Iterator<Item = &'a Term> + use<'a> {
        self.walk.narrow.iter().filter_map(|narrow| match narrow {
            Narrow::Has(term) => Some(term),
            _ => None,
        })
    }

    fn updated_since(&self) -> Option<Timestamp> {
        let since = self.walk.narrow.iter().filter_map(|narrow| match narrow {
            Narrow::UpdatedSince(since) => Some(*since),
            _ => None,
        });
        since.max()
    }

    fn most_selective(&self) -> Result<Option<Candidate<'a>>, StoreError> {
        let Lists { store, secrets } = self.lists;
        let mut best: Option<Candidate<'a>> = None;
        for narrow in &self.walk.narrow {
            let (runs, term) = match narrow {
                Narrow::Has(term) => (vec![term.records(secrets, self.walk.owner, self.kind)], Some(term)),
                Narrow::Begins(start) => {
                    match words::beginning(store, secrets, (self.walk.owner, self.kind), start, WORDS)? {
                        Some(runs) => (runs, None),
                        None => continue,
                    }
                }
                Narrow::UpdatedSince(_) => continue,
            };
            let mut count = 0;
            for run in &runs {
                count += store.scan_keys(run.clone(), Direction::Forward, COUNTED + 1 - count)?.len();
                if count > COUNTED {
                    break;
                }
            }
            if best.as_ref().is_none_or(|best| count < best.count) {
                best = Some(Candidate { runs, term, count });
            }
        }
        Ok(best)
    }

    /// Ids of all records changed since a time, if they are few.
    fn updated(&self, since: Timestamp) -> Result<Option<BTreeSet<u64>>, StoreError> {
        let place = |at, id| keys::place(self.walk.owner, self.kind, OrderBy::Updated as u8, at, id);
        let range = KeyRange::new(place(since.0, 0), place(i64::MAX, u64::MAX));
        let found = self.lists.store.scan_keys(range, Direction::Forward, COLLECTED + 1)?;
        let ids = || found.iter().filter_map(|key| keys::parse_place(key)).map(|(.., id)| id).collect();
        Ok((found.len() <= COLLECTED).then(ids))
    }

    /// The next positions of a source; none at its end.
    pub fn next(
        &self,
        source: &mut Source<'_>,
        from: Option<Position>,
        limit: usize,
    ) -> Result<Vec<Position>, StoreError> {
        match source {
            Source::Records => self.next_records(from, limit),
            Source::Indexed { runs, merge, also } => {
                let start = || Merge::new(std::mem::take(runs), self.direction, from);
                let merge = merge.get_or_insert_with(start);
                let ids = std::iter::from_fn(|| merge.next(self.lists.store).transpose());
                self.having(also, ids.map(|id| id.map(Position::id)), limit)
            }
            Source::Few { positions, also } => match self.direction {
                Direction::Forward => {
                    let start = from.map_or(0, |from| positions.partition_point(|position| *position <= from));
                    self.having(also, positions[start..].iter().copied().map(Ok), limit)
                }
                Direction::Backward => {
                    let end =
                        from.map_or(positions.len(), |from| positions.partition_point(|position| *position < from));
                    self.having(also, positions[..end].iter().rev().copied().map(Ok), limit)
                }
            },
            Source::Order(order) => self.next_places(*order, from, limit),
        }
    }

    /// The first positions of records that have all the terms.
    fn having(
        &self,
        terms: &[&Term],
        positions: impl Iterator<Item = Result<Position, StoreError>>,
        limit: usize,
    ) -> Result<Vec<Position>, StoreError> {
        let mut found = Vec::new();
        for position in positions {
            let position = position?;
            if self.has_all(terms, position.id)? {
                found.push(position);
            }
            if found.len() == limit {
                break;
            }
        }
        Ok(found)
    }

    fn next_records(&self, from: Option<Position>, limit: usize) -> Result<Vec<Position>, StoreError> {
        let mut range = keys::records(self.kind, self.scope);
        if let Some(from) = from {
            range = beyond(range, &keys::record(self.kind, self.scope, from.id), self.direction);
        }
        let found = self.lists.store.scan_keys(range, self.direction, limit)?;
        Ok(found.iter().filter_map(|key| keys::parse_record(key)).map(|(.., id)| Position::id(id)).collect())
    }

    fn has_all(&self, terms: &[&Term], id: u64) -> Result<bool, StoreError> {
        let Lists { store, secrets } = self.lists;
        for term in terms {
            if store.get(&term.key(secrets, self.walk.owner, self.kind, id))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn next_places(&self, order: OrderBy, from: Option<Position>, limit: usize) -> Result<Vec<Position>, StoreError> {
        let place = |at: Timestamp, id| keys::place(self.walk.owner, self.kind, order as u8, at.0, id);
        let mut range = match self.walk.within {
            Some(span) => KeyRange::new(place(span.start, 0), place(span.end, 0)),
            None => KeyRange::new(place(Timestamp::MIN, 0), place(Timestamp::MAX, u64::MAX)),
        };
        if let (OrderBy::Updated, Some(since)) = (order, self.updated_since()) {
            range.start = range.start.max(place(since, 0));
        }
        if let Some(from) = from {
            range = beyond(range, &place(from.at, from.id), self.direction);
        }
        let mut found = Vec::new();
        while found.len() < limit {
            let entries = self.lists.store.scan(range.clone(), self.direction, limit.max(READ_AT_ONCE))?;
            let Some((last, _)) = entries.last() else { break };
            range = beyond(range, last, self.direction);
            for (key, value) in &entries {
                let Some((.., at, id)) = keys::parse_place(key) else { continue };
                if Stays::parse(key, value)?.seen_at(self.walk.as_of) {
                    found.push(Position { at: Timestamp(at), id });
                }
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}
