//! What a list is read from: the records, an index, an order, or a few collected beforehand.

use std::collections::BTreeSet;

use location::time::{Span, Timestamp};
use records::{document::Document, index::OrderBy};
use store::{Direction, KeyRange, Store, StoreError, keys, secrets::Secrets};

use super::{
    filter::Criterion,
    merge::{Merge, READ_AT_ONCE},
    query::{Order, Position, Range, beyond},
};
use crate::index::{
    self, Facets,
    places::{self, Stays},
    words,
};

/// Records counted to learn which condition is the most selective.
const COUNTED: usize = 256;
/// Words with one beginning that are looked up one by one; with more of them most pages fill up quickly anyway.
const WORDS: usize = 256;
/// Words of one beginning by which records found otherwise are judged: to read a record costs more than to look up so many keys.
const JUDGED_BY: usize = 8;
/// Times of change read at a time. Tests come to the end of the credit, too.
const CHANGED_AT_ONCE: usize = if cfg!(test) { 4 } else { READ_AT_ONCE };
/// Times of change read in vain before what changed is collected instead, and how many more for each that was not: as many as collecting
/// costs where it is about as good, with five thousand of a million.
const CREDIT: usize = 2 * CHANGED_AT_ONCE;
const EARNED: usize = if cfg!(test) { 3 } else { 200 };
/// Records changed since a time that are collected. Tests come to both sides of it.
const COLLECTED: usize = if cfg!(test) { 50 } else { 20_000 };

/// The list of one owner, as it is read in one direction.
pub(super) struct List<'a> {
    pub store: &'a dyn Store,
    pub secrets: &'a Secrets,
    pub kind: u8,
    /// Of the records' own keys.
    pub scope: u32,
    pub listed_by_id: bool,
    pub owner: u32,
    pub order: Order,
    pub criteria: &'a [Criterion],
    pub as_of: Timestamp,
    pub direction: Direction,
}

/// Where positions come from.
enum Source {
    /// The records themselves.
    Records,
    /// The times the records changed last, as long as enough of them are late enough: `credit` is how many more may be read in vain.
    Changed {
        since: Timestamp,
        credit: usize,
    },
    /// Ids under one or several keys of the index, those that meet the other conditions too.
    Indexed {
        runs: Vec<KeyRange>,
        merge: Option<Merge>,
        also: Vec<Postings>,
    },
    /// Few enough to be collected and sorted; those that meet the other conditions too.
    Few {
        positions: Vec<Position>,
        also: Vec<Postings>,
    },
    Order(OrderBy),
}

/// A criterion the index knows: the records under any of these keys meet it.
struct Postings {
    runs: Vec<KeyRange>,
}

impl<'a> List<'a> {
    /// Up to so many records from a position on.
    pub(super) fn read<D: Document, R>(
        &self,
        range: Range,
        take: impl Fn(&[u8], Vec<u8>) -> Result<Option<R>, StoreError>,
    ) -> Result<Vec<(Position, R)>, StoreError> {
        let mut source = match self.order.by_time() {
            None => self.by_id()?,
            Some(order) => self.by_time::<D>(order)?,
        };
        let (mut rows, mut from) = (Vec::new(), range.from);
        while rows.len() < range.limit {
            let positions = self.next(&mut source, from, range.limit - rows.len())?;
            let Some(last) = positions.last() else { break };
            from = Some(*last);
            for position in positions {
                let key = keys::record(self.kind, self.scope, position.id);
                let Some(value) = self.store.get(&key)? else { continue };
                rows.extend(take(&key, value)?.map(|row| (position, row)));
            }
        }
        Ok(rows)
    }

    fn by_id(&self) -> Result<Source, StoreError> {
        let mut conditions = self.postings()?;
        if let Some(ids) = self.one_of() {
            return Ok(Source::Few { positions: ids.iter().copied().map(Position::id).collect(), also: conditions });
        }
        let since = self.updated_since();
        let best = match conditions.as_slice() {
            // Nothing to choose between.
            [_] if since.is_none() => Some((0, 0)),
            _ => self.most_selective(&conditions)?,
        };
        let few = match (best, since) {
            (None, Some(since)) if self.listed_by_id => return Ok(Source::Changed { since, credit: CREDIT }),
            (best, Some(since)) if best.is_none_or(|(_, count)| count > COUNTED) => self.updated(since)?,
            _ => None,
        };
        if let Some(positions) = few {
            return Ok(Source::Few { positions, also: conditions });
        }
        Ok(match best {
            Some((best, _)) => {
                let best = conditions.swap_remove(best);
                Source::Indexed { runs: best.runs, merge: None, also: conditions }
            }
            None => Source::Records,
        })
    }

    /// In an order by time a condition helps only if it leaves so few records that they can be sorted.
    fn by_time<D: Document>(&self, order: OrderBy) -> Result<Source, StoreError> {
        let mut conditions = self.postings()?;
        if let Some(ids) = self.one_of() {
            let positions = self.positions::<D>(order, ids.iter().copied().map(Ok))?;
            return Ok(Source::Few { positions, also: conditions });
        }
        let Some((best, _)) = self.most_selective(&conditions)?.filter(|(_, count)| *count <= COUNTED) else {
            return Ok(Source::Order(order));
        };
        let best = conditions.swap_remove(best);
        let mut merge = Merge::new(best.runs, Direction::Forward, None);
        let ids = std::iter::from_fn(|| merge.next(self.store).transpose());
        Ok(Source::Few { positions: self.positions::<D>(order, ids)?, also: conditions })
    }

    /// Where few records stood in an order when the list began, sorted.
    fn positions<D: Document>(
        &self,
        order: OrderBy,
        ids: impl Iterator<Item = Result<u64, StoreError>>,
    ) -> Result<Vec<Position>, StoreError> {
        let mut positions = BTreeSet::new();
        for id in ids {
            positions.extend(self.position::<D>(order, id?)?.filter(|position| self.in_range(*position)));
        }
        Ok(positions.into_iter().collect())
    }

    /// Where a record stood in an order when the list began.
    fn position<D: Document>(&self, order: OrderBy, id: u64) -> Result<Option<Position>, StoreError> {
        let store = self.store;
        let key = keys::record(self.kind, self.scope, id);
        let Some(value) = store.get(&key)? else { return Ok(None) };
        let record: D = parsed(&key, &value)?;
        let Some(today) = Facets::of(&record).place(order).filter(|_| record.owner() == self.owner) else {
            return Ok(None);
        };
        let place = places::at_time(store, today, self.as_of)?;
        Ok(place.map(|place| Position { at: Timestamp(place.at), id }))
    }

    fn in_range(&self, position: Position) -> bool {
        self.starting().is_none_or(|span| span.start <= position.at && position.at < span.end)
    }

    fn one_of(&self) -> Option<&'a BTreeSet<u64>> {
        self.criteria.iter().find_map(|criterion| match criterion {
            Criterion::OneOf(ids) => Some(ids),
            _ => None,
        })
    }

    fn updated_since(&self) -> Option<Timestamp> {
        let since = self.criteria.iter().filter_map(|criterion| match criterion {
            Criterion::UpdatedSince(since) => Some(*since),
            _ => None,
        });
        since.max()
    }

    /// The part of an order by start that is read.
    fn starting(&self) -> Option<Span> {
        let spans = self.criteria.iter().filter_map(|criterion| match criterion {
            Criterion::Starting(span) if self.order == Order::StartsAt => Some(*span),
            _ => None,
        });
        spans.reduce(|one, other| {
            let start = one.start.max(other.start);
            Span { start, end: one.end.min(other.end).max(start) }
        })
    }

    /// What is asked for, as far as the index knows it.
    fn postings(&self) -> Result<Vec<Postings>, StoreError> {
        let (store, secrets) = (self.store, self.secrets);
        let (owner, kind) = (self.owner, self.kind);
        let mut found = Vec::new();
        for criterion in self.criteria {
            let runs = match criterion {
                Criterion::Has(term) => Some(vec![index::terms::records(term, secrets, owner, kind)]),
                Criterion::NameBegins(start) => words::beginning(store, secrets, (owner, kind), start, WORDS)?,
                Criterion::Lacks(_)
                | Criterion::UpdatedSince(_)
                | Criterion::Starting(_)
                | Criterion::NotDeleted
                | Criterion::OneOf(_) => None,
            };
            found.extend(runs.map(|runs| Postings { runs }));
        }
        Ok(found)
    }

    /// Which condition has the fewest records, and how many, as far as they are counted.
    fn most_selective(&self, conditions: &[Postings]) -> Result<Option<(usize, usize)>, StoreError> {
        let counted = conditions.iter().enumerate().map(|(index, condition)| Ok((index, self.count(condition)?)));
        let counted = counted.collect::<Result<Vec<_>, StoreError>>()?;
        Ok(counted.into_iter().min_by_key(|(_, count)| *count))
    }

    fn count(&self, condition: &Postings) -> Result<usize, StoreError> {
        let mut count = 0;
        for run in &condition.runs {
            count += self.store.scan_keys(run.clone(), Direction::Forward, COUNTED + 1 - count)?.len();
            if count > COUNTED {
                break;
            }
        }
        Ok(count)
    }

    /// All records changed since a time, if they are few, in the order of ids.
    fn updated(&self, since: Timestamp) -> Result<Option<Vec<Position>>, StoreError> {
        let place = |at, id| keys::place(self.owner, self.kind, OrderBy::Updated as u8, at, id);
        let range = KeyRange::new(place(since.0, 0), place(i64::MAX, u64::MAX));
        let found = self.store.scan_keys(range, Direction::Forward, COLLECTED + 1)?;
        if found.len() > COLLECTED {
            return Ok(None);
        }
        // A place that was left is kept for a while: a record may have several.
        let ids: BTreeSet<u64> = found.iter().filter_map(|key| keys::parse_place(key)).map(|(.., id)| id).collect();
        Ok(Some(ids.into_iter().map(Position::id).collect()))
    }

    /// The next positions of a source; none at its end.
    fn next(&self, source: &mut Source, from: Option<Position>, limit: usize) -> Result<Vec<Position>, StoreError> {
        match source {
            Source::Records => self.next_records(from, limit),
            Source::Changed { since, credit } => {
                if let Some(found) = self.next_changed(*since, credit, from, limit)? {
                    return Ok(found);
                }
                match self.updated(*since)? {
                    Some(positions) => *source = Source::Few { positions, also: Vec::new() },
                    None => *credit = usize::MAX,
                }
                self.next(source, from, limit)
            }
            Source::Indexed { runs, merge, also } => {
                let start = || Merge::new(std::mem::take(runs), self.direction, from);
                let merge = merge.get_or_insert_with(start);
                let ids = std::iter::from_fn(|| merge.next(self.store).transpose());
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

    /// The first positions of records that meet the conditions.
    fn having(
        &self,
        conditions: &[Postings],
        positions: impl Iterator<Item = Result<Position, StoreError>>,
        limit: usize,
    ) -> Result<Vec<Position>, StoreError> {
        let mut found = Vec::new();
        for position in positions {
            let position = position?;
            if self.meets_all(conditions, position.id)? {
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
        let found = self.store.scan_keys(range, self.direction, limit)?;
        Ok(found.iter().filter_map(|key| keys::parse_record(key)).map(|(.., id)| Position::id(id)).collect())
    }

    /// None: the credit is used up.
    fn next_changed(
        &self,
        since: Timestamp,
        credit: &mut usize,
        from: Option<Position>,
        limit: usize,
    ) -> Result<Option<Vec<Position>>, StoreError> {
        let mut range = keys::changed_of(self.owner, self.kind);
        if let Some(from) = from {
            let at = if self.direction == Direction::Forward { i64::MAX } else { i64::MIN };
            range = beyond(range, &keys::changed(self.owner, self.kind, from.id, at), self.direction);
        }
        let mut found = Vec::new();
        while found.len() < limit {
            let changed = self.store.scan_keys(range.clone(), self.direction, CHANGED_AT_ONCE)?;
            let Some(last) = changed.last() else { break };
            if *credit == 0 {
                return Ok(None);
            }
            range = beyond(range, last, self.direction);
            let late = changed.iter().filter_map(|key| keys::parse_changed(key)).filter(|(.., at)| *at >= since.0);
            let before = found.len();
            found.extend(late.map(|(_, _, id, _)| Position::id(id)));
            *credit = credit.saturating_sub(changed.len()).saturating_add(EARNED * (found.len() - before));
        }
        found.truncate(limit);
        Ok(Some(found))
    }

    /// False only if a record does not meet a condition; what is too much to look up the caller judges.
    fn meets_all(&self, conditions: &[Postings], id: u64) -> Result<bool, StoreError> {
        for condition in conditions.iter().filter(|condition| condition.runs.len() <= JUDGED_BY) {
            let mut met = false;
            for run in &condition.runs {
                let key = [run.start.as_slice(), &id.to_be_bytes()].concat();
                met = met || self.store.get(&key)?.is_some();
            }
            if !met {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn next_places(&self, order: OrderBy, from: Option<Position>, limit: usize) -> Result<Vec<Position>, StoreError> {
        let place = |at: Timestamp, id| keys::place(self.owner, self.kind, order as u8, at.0, id);
        let mut range = match self.starting() {
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
            let entries = self.store.scan(range.clone(), self.direction, limit.max(READ_AT_ONCE))?;
            let Some((last, _)) = entries.last() else { break };
            range = beyond(range, last, self.direction);
            for (key, value) in &entries {
                let Some((.., at, id)) = keys::parse_place(key) else { continue };
                if Stays::parse(key, value)?.seen_at(self.as_of) {
                    found.push(Position { at: Timestamp(at), id });
                }
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}

pub(super) fn parsed<D: Document>(key: &[u8], value: &[u8]) -> Result<D, StoreError> {
    serde_json::from_slice(value).map_err(|_| StoreError::damaged(key, "a record that cannot be read"))
}
