//! Pages of lists, at a cost that follows the page and not the list: records next to a position, in the order of their ids or of a field
//! that may change, found through the most selective of what is asked for.

use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use location::time::{SECOND, Span, Timestamp};

use crate::{
    actor::docs::Document,
    clock,
    engine::{Engine, EngineError},
    index::{
        Facets, Indexed, Term,
        places::{self, OrderBy, Stays},
        words,
    },
    reads::failed,
    secrets::Secrets,
    store::{Direction, KeyRange, Store, StoreError, keys},
};

/// A commit may land a moment after the time it was decided at: a walk begins a little earlier than it is asked for.
const COMMITS_WITHIN: i64 = 5 * SECOND;
/// Records counted to learn which condition is the most selective.
const COUNTED: usize = 256;
/// Words with one beginning that are looked up one by one; with more of them most pages fill up quickly anyway.
const WORDS: usize = 256;
/// Records changed since a time that are collected; with more of them every two hundredth record of a million is one.
const COLLECTED: usize = 5_000;
/// Ids read at first where only one key of the index is walked.
const ONE_RUN: usize = 32;
/// Entries of an order, or ids of a key, read at a time.
const READ_AT_ONCE: usize = 256;

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
}

impl Narrow {
    /// A name as someone types it: each of its words begins one of the record's.
    pub fn name(asked: &str) -> impl Iterator<Item = Narrow> {
        words::of(asked).into_iter().map(Narrow::Begins)
    }

    pub fn holds(&self, record: &impl Indexed) -> bool {
        match self {
            Narrow::Has(term) => record.terms().contains(term),
            Narrow::Begins(start) => {
                record.terms().iter().filter_map(Term::word).any(|word| word.starts_with(start.as_str()))
            }
            Narrow::UpdatedSince(since) => {
                let updated = record.places().into_iter().find(|(order, _)| *order == OrderBy::Updated);
                updated.is_some_and(|(_, at)| at >= *since)
            }
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

impl Engine {
    pub fn walk<D: Document>(&self, walk: &Walk, part: Part) -> Result<Vec<(Position, D)>, EngineError> {
        self.walkable(walk)?;
        self.lists().walk(walk, part).map_err(failed)
    }

    /// The records as JSON, as the store keeps them.
    pub fn walk_raw<D: Document>(&self, walk: &Walk, part: Part) -> Result<Vec<(Position, Vec<u8>)>, EngineError> {
        self.walkable(walk)?;
        self.lists().walk_raw::<D>(walk, part).map_err(failed)
    }

    fn lists(&self) -> Lists<'_> {
        Lists { store: &*self.env().store, secrets: &self.env().secrets }
    }

    /// Places older than that are forgotten, so the walk could skip records.
    fn walkable(&self, walk: &Walk) -> Result<(), EngineError> {
        match walk.order {
            Order::By(_) if walk.as_of < clock::now().minus(places::KEPT) => Err(EngineError::Expired),
            _ => Ok(()),
        }
    }
}

/// Lists of a store.
#[derive(Clone, Copy)]
pub struct Lists<'a> {
    pub store: &'a dyn Store,
    pub secrets: &'a Secrets,
}

impl Lists<'_> {
    pub fn walk<D: Document>(&self, walk: &Walk, part: Part) -> Result<Vec<(Position, D)>, StoreError> {
        self.rows::<D, _>(walk, part, |key, value| {
            let record: D = parsed(key, &value)?;
            Ok((record.owner() == walk.owner).then_some(record))
        })
    }

    pub fn walk_raw<D: Document>(&self, walk: &Walk, part: Part) -> Result<Vec<(Position, Vec<u8>)>, StoreError> {
        self.rows::<D, _>(walk, part, |key, value| {
            let apart = D::scope_of(walk.owner) == walk.owner;
            let ours = apart || parsed::<D>(key, &value)?.owner() == walk.owner;
            Ok(ours.then_some(value))
        })
    }

    fn rows<D: Document, R>(
        &self,
        walk: &Walk,
        part: Part,
        take: impl Fn(&[u8], Vec<u8>) -> Result<Option<R>, StoreError>,
    ) -> Result<Vec<(Position, R)>, StoreError> {
        let (kind, scope) = (D::KIND.byte(), D::scope_of(walk.owner));
        let list = List { lists: *self, kind, scope, walk, direction: part.direction };
        let mut source = match walk.order {
            Order::Id => list.by_id()?,
            Order::By(order) => list.by_time::<D>(order)?,
        };
        let (mut rows, mut from) = (Vec::new(), part.from);
        while rows.len() < part.limit {
            let positions = list.next(&mut source, from, part.limit - rows.len())?;
            let Some(last) = positions.last() else { break };
            from = Some(*last);
            for position in positions {
                let key = keys::record(kind, scope, position.id);
                let Some(value) = self.store.get(&key)? else { continue };
                rows.extend(take(&key, value)?.map(|row| (position, row)));
            }
        }
        Ok(rows)
    }
}

fn parsed<D: Document>(key: &[u8], value: &[u8]) -> Result<D, StoreError> {
    serde_json::from_slice(value).map_err(|_| StoreError::damaged(key, "a record that cannot be read"))
}

/// One call of a walk.
struct List<'a> {
    lists: Lists<'a>,
    kind: u8,
    /// Of the records' own keys.
    scope: u32,
    walk: &'a Walk,
    direction: Direction,
}

/// Where positions come from.
enum Source<'a> {
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
    fn by_id(&self) -> Result<Source<'a>, StoreError> {
        let mut best = self.most_selective()?;
        if best.as_ref().is_none_or(|best| best.count > COUNTED)
            && let Some(since) = self.updated_since()
        {
            if let Some(ids) = self.updated(since)? {
                let positions = ids.into_iter().map(Position::id).collect();
                return Ok(Source::Few { positions, also: self.terms().collect() });
            }
        }
        Ok(match best.take() {
            Some(Candidate { runs, term, .. }) => {
                let also = self.terms().filter(|other| Some(*other) != term).collect();
                Source::Indexed { runs, merge: None, also }
            }
            None => Source::Records,
        })
    }

    /// In an order by time a condition helps only if it leaves so few records that they can be sorted.
    fn by_time<D: Document>(&self, order: OrderBy) -> Result<Source<'a>, StoreError> {
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
    fn next(&self, source: &mut Source<'_>, from: Option<Position>, limit: usize) -> Result<Vec<Position>, StoreError> {
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

/// What is left of a range on the far side of a key.
fn beyond(mut range: KeyRange, key: &[u8], direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward if range.start.as_slice() <= key => range.after(key),
        Direction::Backward if range.end.as_slice() > key => {
            range.end = key.to_vec();
            range
        }
        _ => range,
    }
}

/// Ids under several keys of the index as one rising or falling sequence, each once.
struct Merge {
    runs: Vec<Run>,
    /// The next id of each run, as `rank`, and which run.
    heads: BinaryHeap<(u64, usize)>,
    direction: Direction,
    last: Option<u64>,
    begun: bool,
}

struct Run {
    rest: KeyRange,
    ahead: VecDeque<u64>,
    /// Keys to read the next time: most runs give one or two ids to a page, few give all of it.
    chunk: usize,
}

impl Merge {
    fn new(runs: Vec<KeyRange>, direction: Direction, from: Option<Position>) -> Merge {
        let rest = |range: KeyRange| match from {
            Some(from) => {
                let key = [range.start.as_slice(), &from.id.to_be_bytes()].concat();
                beyond(range, &key, direction)
            }
            None => range,
        };
        let chunk = if runs.len() == 1 { ONE_RUN } else { 1 };
        let runs = runs.into_iter().map(|range| Run { rest: rest(range), ahead: VecDeque::new(), chunk }).collect();
        Merge { runs, heads: BinaryHeap::new(), direction, last: None, begun: false }
    }

    fn next(&mut self, store: &dyn Store) -> Result<Option<u64>, StoreError> {
        if !self.begun {
            self.begun = true;
            for run in 0..self.runs.len() {
                self.advance(store, run)?;
            }
        }
        while let Some((rank, run)) = self.heads.pop() {
            self.advance(store, run)?;
            let id = self.rank(rank);
            if self.last != Some(id) {
                self.last = Some(id);
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn advance(&mut self, store: &dyn Store, index: usize) -> Result<(), StoreError> {
        let run = &mut self.runs[index];
        if run.ahead.is_empty() {
            let found = store.scan_keys(run.rest.clone(), self.direction, run.chunk)?;
            if let Some(last) = found.last() {
                let rest = std::mem::replace(&mut run.rest, KeyRange::new(Vec::new(), Vec::new()));
                run.rest = beyond(rest, last, self.direction);
            }
            run.ahead.extend(found.iter().filter_map(|key| keys::parse_indexed(key)));
            run.chunk = (run.chunk * 2).min(READ_AT_ONCE);
        }
        if let Some(id) = run.ahead.pop_front() {
            let rank = self.rank(id);
            self.heads.push((rank, index));
        }
        Ok(())
    }

    /// What comes first has the highest rank. Its own inverse.
    fn rank(&self, id: u64) -> u64 {
        match self.direction {
            Direction::Forward => !id,
            Direction::Backward => id,
        }
    }
}
