//! Sources of a list: the records themselves, or positions from their times of change, an index order, the entries
//! of a condition, or a few collected records.

use std::collections::BTreeSet;

use location::time::{Span, Timestamp};
use records::{
    document::Document,
    index::{OrderBy, Term},
};
use store::{Direction, Key, SealedValue, Store, StoreError, keys, prefix_end};

use super::{
    by_id::{find_by_id, parsed, read_by_id},
    latest_first::Window,
    merge::Merge,
    page::{Position, Range},
    query::{Criterion, Order},
};
use crate::{
    index::{Cursor, PointLookup, ReadBudget, View, entry},
    stream::Entry,
};

/// Maximum number of records counted per condition to find the most selective one.
const COUNTED: usize = 256;
/// Minimum number of entries of a full block.
const LEAST_IN_BLOCK: usize = 100;
/// Estimated number of words for each one that begins a block. The others are between them.
const WORDS_PER_BLOCK: usize = 4;
/// Maximum number of words with a prefix for which other records are checked in the index. Reading a record
/// costs more than this number of lookups.
const JUDGED_BY: usize = 8;

/// The list of one owner, read in one direction.
pub(super) struct OwnerList<'a> {
    pub store: &'a dyn Store,
    pub view: &'a View,
    pub kind: u8,
    /// The scope in the keys of the records.
    pub scope: u32,
    pub listed_by_id: bool,
    pub owner: u32,
    pub order: Order,
    pub criteria: &'a [Criterion],
    pub window: Window,
    pub budget: ReadBudget,
    pub direction: Direction,
}

enum Source {
    /// The times of change in the order of ids, as long as enough of them match. `credit` is the number of
    /// further mismatches allowed.
    Changed {
        since: Timestamp,
        credit: usize,
        cursor: Cursor,
        from: Option<Position>,
    },
    /// Ids that meet one condition, filtered by the others.
    Indexed {
        merge: Merge,
        also: Vec<Condition>,
    },
    /// A few collected records in list order, filtered by the other conditions.
    Few {
        positions: std::vec::IntoIter<Position>,
        also: Vec<Condition>,
    },
    Order(Cursor),
}

/// A criterion as index entries.
enum Condition {
    /// Matching records have an entry with one of these prefixes.
    Under(Vec<Entry>),
    /// The matching records.
    Ids(BTreeSet<u64>),
}

impl<'a> OwnerList<'a> {
    /// Returns up to `range.limit` records from a position on.
    pub(super) fn read<D: Document, R>(
        &self,
        range: Range,
        take: impl Fn(Key, SealedValue) -> Result<Option<R>, StoreError>,
    ) -> Result<Vec<(Position, R)>, StoreError> {
        let source = match self.order.by_time() {
            None => self.by_id(range.from)?,
            Some(order) => Some(self.by_time::<D>(order, range.from)?),
        };
        let Some(mut source) = source else {
            return read_by_id(self.store, (self.kind, self.scope), range, take);
        };
        let (mut rows, mut lookup) = (Vec::new(), self.view.lookup());
        while rows.len() < range.limit {
            let positions = self.next(&mut source, &mut lookup, range.limit - rows.len())?;
            if positions.is_empty() {
                break;
            }
            let ids: Vec<u64> = positions.iter().map(|position| position.id).collect();
            let found = find_by_id(self.store, (self.kind, self.scope), &ids)?;
            for (position, found) in positions.into_iter().zip(found) {
                let Some((key, value)) = found else { continue };
                rows.extend(take(key, value)?.map(|row| (position, row)));
            }
        }
        Ok(rows)
    }

    /// Selects the source for the order of ids. Returns `None` for the records themselves.
    fn by_id(&self, from: Option<Position>) -> Result<Option<Source>, StoreError> {
        let mut conditions = self.conditions()?;
        if let Some(ids) = self.one_of() {
            return Ok(Some(self.few(ids.iter().copied().map(Position::id), from, conditions)));
        }
        let since = self.updated_since();
        let best = match conditions.as_slice() {
            // A single condition needs no comparison.
            [_] if since.is_none() => Some((0, 0)),
            _ => self.most_selective(&conditions)?,
        };
        let few = match (best, since) {
            (None, Some(since)) if self.listed_by_id => return Ok(Some(self.changed(since, from))),
            (best, Some(since)) if best.is_none_or(|(_, count)| count > COUNTED) => self.updated(since)?,
            _ => None,
        };
        if let Some(positions) = few {
            return Ok(Some(self.few(positions, from, conditions)));
        }
        let Some((best, _)) = best else { return Ok(None) };
        Ok(Some(match conditions.swap_remove(best) {
            Condition::Under(prefixes) => {
                let merge = Merge::new(self.view, &prefixes, self.direction, from);
                Source::Indexed { merge, also: conditions }
            }
            Condition::Ids(ids) => self.few(ids.into_iter().map(Position::id), from, conditions),
        }))
    }

    /// Selects the source for an order by time. A condition helps only if it leaves few enough records to sort.
    fn by_time<D: Document>(&self, order: OrderBy, from: Option<Position>) -> Result<Source, StoreError> {
        let mut conditions = self.conditions()?;
        if let Some(ids) = self.one_of() {
            let positions = self.positions::<D>(order, ids.iter().copied())?;
            return Ok(self.few(positions, from, conditions));
        }
        let Some((best, _)) = self.most_selective(&conditions)?.filter(|(_, count)| *count <= COUNTED) else {
            return Ok(Source::Order(self.order(order, from)));
        };
        let ids = match conditions.swap_remove(best) {
            Condition::Under(prefixes) => {
                let mut merge = Merge::new(self.view, &prefixes, Direction::Forward, None);
                std::iter::from_fn(|| merge.next(self.store).transpose()).collect::<Result<_, _>>()?
            }
            Condition::Ids(ids) => ids,
        };
        Ok(self.few(self.positions::<D>(order, ids)?, from, conditions))
    }

    /// Returns a source of the positions after `from`, in list order.
    fn few(
        &self,
        positions: impl IntoIterator<Item = Position>,
        from: Option<Position>,
        also: Vec<Condition>,
    ) -> Source {
        let mut positions: Vec<Position> = match (from, self.direction) {
            (None, _) => positions.into_iter().collect(),
            (Some(from), Direction::Forward) => positions.into_iter().filter(|it| *it > from).collect(),
            (Some(from), Direction::Backward) => positions.into_iter().filter(|it| *it < from).collect(),
        };
        positions.sort_unstable();
        if self.direction == Direction::Backward {
            positions.reverse();
        }
        Source::Few { positions: positions.into_iter(), also }
    }

    fn changed(&self, since: Timestamp, from: Option<Position>) -> Source {
        let (mut start, mut end) = (entry::changed(self.kind), prefix_end(&entry::changed(self.kind)));
        match (from, self.direction) {
            (Some(from), Direction::Forward) => {
                start = entry::beyond(entry::changed_at(self.kind, from.id, Timestamp::MAX))
            }
            (Some(from), Direction::Backward) => end = entry::changed_at(self.kind, from.id, Timestamp::MIN),
            (None, _) => {}
        }
        let cursor = self.view.cursor(start, end, self.direction);
        Source::Changed { since, credit: self.budget.credit, cursor, from }
    }

    /// Returns a cursor over the requested part of an order.
    fn order(&self, order: OrderBy, from: Option<Position>) -> Cursor {
        let place = |at, id| entry::place(self.kind, order, at, id);
        let (mut start, mut end) = (entry::order(self.kind, order), prefix_end(&entry::order(self.kind, order)));
        if let Some(span) = self.starting() {
            (start, end) = (place(span.start, 0), place(span.end, 0));
        }
        if order == OrderBy::Updated {
            let since = self.window.after.map(|after| place(after.plus(1), 0));
            let since = since.into_iter().chain(self.updated_since().map(|since| place(since, 0)));
            start = since.fold(start, Ord::max);
            let until = self.window.until.map(|until| place(until.plus(1), 0));
            end = until.into_iter().fold(end, Ord::min);
        }
        match (from, self.direction) {
            (Some(from), Direction::Forward) => start = start.max(entry::beyond(place(from.at, from.id))),
            (Some(from), Direction::Backward) => end = end.min(place(from.at, from.id)),
            (None, _) => {}
        }
        self.view.cursor(start, end, self.direction)
    }

    /// Returns the positions of the given records in an order.
    fn positions<D: Document>(
        &self,
        order: OrderBy,
        ids: impl IntoIterator<Item = u64>,
    ) -> Result<Vec<Position>, StoreError> {
        let mut positions = Vec::new();
        for id in ids {
            let key = keys::record(self.kind, self.scope, id);
            let Some(value) = self.store.get(&key)? else { continue };
            let record: D = parsed(&key, &value)?;
            let at =
                record.sort_keys().into_iter().find(|(of, _)| *of == order).filter(|_| record.owner() == self.owner);
            positions.extend(at.map(|(_, at)| Position { at, id }).filter(|position| self.in_range(*position)));
        }
        Ok(positions)
    }

    fn in_range(&self, position: Position) -> bool {
        let window = self.order != Order::UpdatedAt || self.window.has(position.at);
        window && self.starting().is_none_or(|span| span.start <= position.at && position.at < span.end)
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

    /// Returns the requested span of an order by start.
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

    /// Returns the criteria that the index supports.
    fn conditions(&self) -> Result<Vec<Condition>, StoreError> {
        let mut found = Vec::new();
        for criterion in self.criteria {
            found.extend(match criterion {
                Criterion::HasOneOf(terms) => Some(self.having_one_of(terms)),
                Criterion::HasAny(terms) => Some(self.having_any(terms)?),
                Criterion::NameBegins { frequent_in, .. } if frequent_in.borrow().contains(&self.owner) => None,
                Criterion::NameBegins { starts, frequent_in } => {
                    let named = self.named(starts)?;
                    if named.is_none() {
                        frequent_in.borrow_mut().insert(self.owner);
                    }
                    named
                }
                Criterion::Lacks(_)
                | Criterion::UpdatedSince(_)
                | Criterion::Starting(_)
                | Criterion::NotDeleted
                | Criterion::OneOf(_) => None,
            });
        }
        Ok(found)
    }

    fn having_one_of(&self, terms: &[Term]) -> Condition {
        Condition::Under(terms.iter().map(|term| entry::term(self.kind, term)).collect())
    }

    /// Returns the records with any of the terms. One cursor collects them and reads a block shared by several terms
    /// once; too many records are merged instead.
    fn having_any(&self, terms: &BTreeSet<Term>) -> Result<Condition, StoreError> {
        let prefixes: Vec<Entry> = terms.iter().map(|term| entry::term(self.kind, term)).collect();
        let end = prefixes.iter().max().map_or_else(Entry::new, |last| prefix_end(last));
        let mut cursor = self.view.cursor(Entry::new(), end, Direction::Forward);
        let mut ids = BTreeSet::new();
        for prefix in &prefixes {
            cursor.seek(self.store, prefix)?;
            while let Some(entry) = cursor.next(self.store)?.filter(|entry| entry.starts_with(prefix)) {
                if ids.len() == self.budget.with_terms {
                    return Ok(Condition::Under(prefixes));
                }
                ids.insert(entry::id(&entry));
            }
        }
        Ok(Condition::Ids(ids))
    }

    /// Returns the records with a word of one of these prefixes as ids if there are few records, or as words if
    /// there are few words.
    fn named(&self, starts: &[String]) -> Result<Option<Condition>, StoreError> {
        for start in starts {
            let prefix = entry::beginning(self.kind, start);
            let (full_blocks, words) = self.view.stored_blocks(&prefix, &prefix_end(&prefix));
            if words > self.budget.words / WORDS_PER_BLOCK {
                return Ok(None);
            }
            if full_blocks * LEAST_IN_BLOCK > self.budget.named {
                return self.words(starts);
            }
        }
        let mut ids = BTreeSet::new();
        for start in starts {
            let mut cursor = self.beginning(start);
            while let Some(entry) = cursor.next(self.store)? {
                if ids.len() == self.budget.named {
                    return self.words(starts);
                }
                ids.insert(entry::id(&entry));
            }
        }
        Ok(Some(Condition::Ids(ids)))
    }

    /// Returns the words with one of these prefixes if there are few.
    fn words(&self, starts: &[String]) -> Result<Option<Condition>, StoreError> {
        let mut words = BTreeSet::new();
        for start in starts {
            let mut cursor = self.beginning(start);
            while let Some(entry) = cursor.next(self.store)? {
                let word = entry::with_word(&entry);
                words.insert(word.to_vec());
                if words.len() > self.budget.words {
                    return Ok(None);
                }
                cursor.seek(self.store, &prefix_end(word))?;
            }
        }
        Ok(Some(Condition::Under(words.into_iter().collect())))
    }

    fn beginning(&self, start: &str) -> Cursor {
        let prefix = entry::beginning(self.kind, start);
        self.view.cursor(prefix.clone(), prefix_end(&prefix), Direction::Forward)
    }

    /// Returns the condition with the fewest records and their count, which is limited to `COUNTED + 1`.
    fn most_selective(&self, conditions: &[Condition]) -> Result<Option<(usize, usize)>, StoreError> {
        let counted = conditions.iter().enumerate().map(|(index, condition)| Ok((index, self.count(condition)?)));
        let counted = counted.collect::<Result<Vec<_>, StoreError>>()?;
        Ok(counted.into_iter().min_by_key(|(_, count)| *count))
    }

    fn count(&self, condition: &Condition) -> Result<usize, StoreError> {
        match condition {
            Condition::Ids(ids) => Ok(ids.len()),
            Condition::Under(prefixes) => {
                let mut merge = Merge::new(self.view, prefixes, Direction::Forward, None);
                let mut count = 0;
                while count <= COUNTED && merge.next(self.store)?.is_some() {
                    count += 1;
                }
                Ok(count)
            }
        }
    }

    /// Returns the records changed since a time, or `None` if there are too many.
    fn updated(&self, since: Timestamp) -> Result<Option<Vec<Position>>, StoreError> {
        let start = entry::place(self.kind, OrderBy::Updated, since, 0);
        let end = prefix_end(&entry::order(self.kind, OrderBy::Updated));
        let mut cursor = self.view.cursor(start, end, Direction::Forward);
        let mut found = Vec::new();
        while let Some(entry) = cursor.next(self.store)? {
            if found.len() == self.budget.changed {
                return Ok(None);
            }
            found.push(Position::id(entry::id(&entry)));
        }
        Ok(Some(found))
    }

    /// Returns the next positions of a source, or none at its end.
    fn next(&self, source: &mut Source, lookup: &mut PointLookup, limit: usize) -> Result<Vec<Position>, StoreError> {
        match source {
            Source::Changed { since, credit, cursor, from } => {
                if let Some(found) = self.next_changed(*since, credit, cursor, limit)? {
                    *from = found.last().copied().or(*from);
                    return Ok(found);
                }
                let (since, from) = (*since, *from);
                *source = match self.updated(since)? {
                    Some(positions) => self.few(positions, from, Vec::new()),
                    None => match self.changed(since, from) {
                        Source::Changed { cursor, .. } => Source::Changed { since, credit: usize::MAX, cursor, from },
                        other => other,
                    },
                };
                self.next(source, lookup, limit)
            }
            Source::Indexed { merge, also } => {
                let ids = std::iter::from_fn(|| merge.next(self.store).transpose());
                self.having(also, lookup, ids.map(|id| id.map(Position::id)), limit)
            }
            Source::Few { positions, also } => self.having(also, lookup, positions.map(Ok), limit),
            Source::Order(cursor) => {
                let mut found = Vec::new();
                while found.len() < limit
                    && let Some(entry) = cursor.next(self.store)?
                {
                    found.extend(entry::parse_place(&entry).map(|(at, id)| Position { at, id }));
                }
                Ok(found)
            }
        }
    }

    /// Returns the first positions of records that meet the conditions.
    fn having(
        &self,
        conditions: &[Condition],
        lookup: &mut PointLookup,
        positions: impl Iterator<Item = Result<Position, StoreError>>,
        limit: usize,
    ) -> Result<Vec<Position>, StoreError> {
        let mut found = Vec::new();
        for position in positions {
            let position = position?;
            if self.meets_all(conditions, lookup, position.id)? {
                found.push(position);
            }
            if found.len() == limit {
                break;
            }
        }
        Ok(found)
    }

    /// Returns `None` if the credit is exhausted.
    fn next_changed(
        &self,
        since: Timestamp,
        credit: &mut usize,
        cursor: &mut Cursor,
        limit: usize,
    ) -> Result<Option<Vec<Position>>, StoreError> {
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(entry) = cursor.next(self.store)?
        {
            if *credit == 0 {
                return Ok(None);
            }
            let late = entry::parse_changed(&entry).filter(|(_, at)| *at >= since);
            *credit = if late.is_some() { credit.saturating_add(self.budget.earned) } else { credit.saturating_sub(1) };
            found.extend(late.map(|(id, _)| Position::id(id)));
        }
        Ok(Some(found))
    }

    /// Returns `false` only if the record does not meet a condition. Conditions that are too expensive to look up
    /// are left to the caller.
    fn meets_all(&self, conditions: &[Condition], lookup: &mut PointLookup, id: u64) -> Result<bool, StoreError> {
        for condition in conditions {
            let met = match condition {
                Condition::Ids(ids) => ids.contains(&id),
                Condition::Under(prefixes) if prefixes.len() > JUDGED_BY => true,
                Condition::Under(prefixes) => {
                    let mut met = false;
                    for prefix in prefixes {
                        met = met || lookup.has(self.store, &entry::with_id(prefix, id))?;
                    }
                    met
                }
            };
            if !met {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
