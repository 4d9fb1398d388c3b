//! Pages of a list: records next to a position are read and filtered until the page is full or the read
//! budget is exhausted.

use location::time::Timestamp;
use store::Direction;

/// Maximum number of records per read while a list is filtered.
pub const READ_AHEAD: usize = 200;

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

/// The requested page of a list.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest {
    pub at: PageAt,
    /// Number of records on the page.
    pub size: usize,
    /// Selects the descending order of the list.
    pub descending: bool,
    /// When the first page of the list was requested. With the latest change first, later changes are appended at
    /// the end.
    pub first_asked: Timestamp,
    /// Maximum number of records read for the page, before filtering.
    pub budget: usize,
}

impl PageRequest {
    /// Requests all records up to a limit, which also bounds the number of records read.
    pub fn whole(limit: usize) -> PageRequest {
        PageRequest {
            at: PageAt::Whole,
            size: limit,
            descending: false,
            first_asked: Timestamp::MAX,
            budget: usize::MAX,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageAt {
    Start,
    After(Position),
    Before(Position),
    /// Skips this number of records. The result has cursors.
    Skip(usize),
    /// Skips this number of records and counts the whole list.
    Counted(usize),
    Whole,
}

impl PageAt {
    /// Returns whether the page is independent of other pages. Pages by number show the current list.
    pub(super) fn is_independent(self) -> bool {
        matches!(self, PageAt::Skip(_) | PageAt::Counted(_) | PageAt::Whole)
    }
}

#[derive(Debug)]
pub struct Page<T> {
    pub rows: Vec<T>,
    pub has_previous: bool,
    /// `true` if more records follow. A page may have fewer rows than requested, even none, if the filters removed
    /// most of the records read.
    pub has_next: bool,
    /// The positions of the first and last row, if known.
    pub start: Option<Position>,
    pub end: Option<Position>,
    /// Number of records in the whole list, if requested.
    pub count: Option<usize>,
}

impl<T> Page<T> {
    pub fn with_rows<U>(self, rows: impl FnOnce(Vec<T>) -> Vec<U>) -> Page<U> {
        let Page { has_previous, has_next, start, end, count, .. } = self;
        Page { rows: rows(self.rows), has_previous, has_next, start, end, count }
    }
}

impl PageRequest {
    /// Collects the page. `fetch` returns the rows of a range.
    pub fn collect<T, E>(
        &self,
        fetch: impl Fn(Range) -> Result<Vec<T>, E>,
        keep: impl Fn(&T) -> bool,
        position: impl Fn(&T) -> Position,
    ) -> Result<Page<T>, E> {
        let backwards = self.descending != matches!(self.at, PageAt::Before(_));
        let direction = if backwards { Direction::Backward } else { Direction::Forward };
        let mut reader = Reader { fetch, keep, position, at: None, direction, read: 0, budget: self.budget };
        match self.at {
            PageAt::Start => Ok(reader.take(self.size)?.page(false, &reader.position)),
            PageAt::After(at) => {
                reader.at = Some(at);
                Ok(reader.take(self.size)?.page(true, &reader.position))
            }
            PageAt::Before(at) => {
                reader.at = Some(at);
                Ok(reader.take(self.size)?.page_before(&reader.position))
            }
            PageAt::Skip(skip) => {
                let mut left = skip;
                while left > 0 {
                    let Taken { rows, more, stopped } = reader.take(left.min(READ_AHEAD))?;
                    left -= rows.len();
                    if !more {
                        let nothing = Taken { rows: Vec::new(), more: false, stopped: None };
                        return Ok(nothing.page(true, &reader.position));
                    }
                    reader.at = stopped.or(rows.last().map(&reader.position));
                    // Skipping has its own budget.
                    reader.read = 0;
                }
                Ok(reader.take(self.size)?.page(true, &reader.position))
            }
            PageAt::Counted(skip) => {
                let (mut rows, mut count) = (Vec::new(), 0);
                while let Some(batch) = reader.next_batch(READ_AHEAD)? {
                    for row in batch {
                        if (skip..skip + self.size).contains(&count) {
                            rows.push(row);
                        }
                        count += 1;
                    }
                }
                let taken = Taken { rows, more: skip + self.size < count, stopped: None };
                Ok(Page { count: Some(count), ..taken.page(skip > 0, &reader.position) })
            }
            PageAt::Whole => {
                let mut rows = (reader.fetch)(Range { from: None, direction, limit: self.size + 1 })?;
                let more = rows.len() > self.size;
                rows.truncate(self.size);
                rows.retain(|row| (reader.keep)(row));
                Ok(Taken { rows, more, stopped: None }.page(false, &reader.position))
            }
        }
    }
}

/// Reads and filters rows from the current position.
struct Reader<F, K, P> {
    fetch: F,
    keep: K,
    position: P,
    at: Option<Position>,
    direction: Direction,
    /// Number of records read so far.
    read: usize,
    budget: usize,
}

/// The rows of one page, nearest first.
struct Taken<T> {
    rows: Vec<T>,
    more: bool,
    /// The position at which the budget was exhausted before the page was full.
    stopped: Option<Position>,
}

impl<T> Taken<T> {
    fn page(self, has_previous: bool, position: impl Fn(&T) -> Position) -> Page<T> {
        let Taken { rows, more, stopped } = self;
        let start = rows.first().map(&position).or(stopped);
        let end = stopped.or(rows.last().map(&position));
        Page { rows, has_previous, has_next: more, start, end, count: None }
    }

    /// Returns the page of a backward read.
    fn page_before(self, position: impl Fn(&T) -> Position) -> Page<T> {
        let Taken { mut rows, more, stopped } = self;
        rows.reverse();
        let start = stopped.or(rows.first().map(&position));
        let end = rows.last().map(&position).or(stopped);
        Page { rows, has_previous: more, has_next: true, start, end, count: None }
    }
}

impl<F, K, P> Reader<F, K, P> {
    fn take<T, E>(&mut self, count: usize) -> Result<Taken<T>, E>
    where
        F: Fn(Range) -> Result<Vec<T>, E>,
        K: Fn(&T) -> bool,
        P: Fn(&T) -> Position,
    {
        let (mut rows, mut ahead) = (Vec::new(), 0);
        while rows.len() <= count {
            if self.read >= self.budget {
                return Ok(Taken { rows, more: true, stopped: self.at });
            }
            let read = ahead.max(count + 1 - rows.len());
            let Some(batch) = self.next_batch(read)? else { break };
            rows.extend(batch);
            // Most filters keep all records. If few remain, the next read is larger.
            ahead = READ_AHEAD.min(2 * read);
        }
        let more = rows.len() > count;
        rows.truncate(count);
        Ok(Taken { rows, more, stopped: None })
    }

    /// Returns the next batch, or `None` at the end. A batch is empty if all of its records were filtered out.
    fn next_batch<T, E>(&mut self, limit: usize) -> Result<Option<Vec<T>>, E>
    where
        F: Fn(Range) -> Result<Vec<T>, E>,
        K: Fn(&T) -> bool,
        P: Fn(&T) -> Position,
    {
        let mut batch = (self.fetch)(Range { from: self.at, direction: self.direction, limit })?;
        self.read += batch.len();
        batch.sort_by_key(|row| (self.position)(row));
        if self.direction == Direction::Backward {
            batch.reverse();
        }
        let Some(last) = batch.last() else { return Ok(None) };
        self.at = Some((self.position)(last));
        batch.retain(|row| (self.keep)(row));
        Ok(Some(batch))
    }
}
