//! Pages of a list: records next to a position are read and filtered until the page is full, or enough was read for it.

use location::time::Timestamp;
use store::Direction;

use super::query::{Position, Range};

/// Records read at a time while a list is filtered.
pub const READ_AHEAD: usize = 200;

/// Which page of a list is asked for.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest {
    pub at: PageAt,
    /// Records of the page.
    pub size: usize,
    /// The list is shown in the opposite of its stored order.
    pub descending: bool,
    /// When the list's first page was asked for: with the latest change first, what changed since comes at the end.
    pub first_asked: Timestamp,
    /// Records read for the page, whatever the filters leave of them.
    pub budget: usize,
}

impl PageRequest {
    /// Not a page: all there is up to a limit, which bounds what is read, too.
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
    /// So many records are passed over, and cursors lead on from there.
    Skip(usize),
    /// So many records are passed over, and all of the list are counted.
    Counted(usize),
    Whole,
}

impl PageAt {
    /// Whether no later page has to agree with this one: pages by number each show the list as it is.
    pub(super) fn stands_alone(self) -> bool {
        matches!(self, PageAt::Skip(_) | PageAt::Counted(_) | PageAt::Whole)
    }
}

#[derive(Debug)]
pub struct Page<T> {
    pub rows: Vec<T>,
    pub has_previous: bool,
    /// A page may have fewer rows than asked for, or none, and more follow: the filters left few of the many records that were read.
    pub has_next: bool,
    /// Where the page begins and ends, if it is anywhere.
    pub start: Option<Position>,
    pub end: Option<Position>,
    /// Of the whole list, where that was asked for.
    pub count: Option<usize>,
}

impl<T> Page<T> {
    /// The same page, its rows as something else.
    pub fn with_rows<U>(self, rows: impl FnOnce(Vec<T>) -> Vec<U>) -> Page<U> {
        let Page { has_previous, has_next, start, end, count, .. } = self;
        Page { rows: rows(self.rows), has_previous, has_next, start, end, count }
    }
}

impl PageRequest {
    /// `fetch` gives what stands in a range.
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
            PageAt::Start => {
                let taken = reader.take(self.size)?;
                Ok(taken.page(false, &reader.position))
            }
            PageAt::After(at) => {
                reader.at = Some(at);
                let taken = reader.take(self.size)?;
                Ok(taken.page(true, &reader.position))
            }
            PageAt::Before(at) => {
                reader.at = Some(at);
                let taken = reader.take(self.size)?;
                Ok(taken.page_before(&reader.position))
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
                    // Passing over has a limit of its own.
                    reader.read = 0;
                }
                let taken = reader.take(self.size)?;
                Ok(taken.page(true, &reader.position))
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

/// Reads on from where it stands.
struct Reader<F, K, P> {
    fetch: F,
    keep: K,
    position: P,
    at: Option<Position>,
    direction: Direction,
    /// Records read so far.
    read: usize,
    budget: usize,
}

/// Rows of one page, nearest first.
struct Taken<T> {
    rows: Vec<T>,
    more: bool,
    /// Where reading stopped before the page was full.
    stopped: Option<Position>,
}

impl<T> Taken<T> {
    fn page(self, has_previous: bool, position: impl Fn(&T) -> Position) -> Page<T> {
        let Taken { rows, more, stopped } = self;
        let start = rows.first().map(&position).or(stopped);
        let end = stopped.or(rows.last().map(&position));
        Page { rows, has_previous, has_next: more, start, end, count: None }
    }

    /// One that was read backwards.
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
            // Most filters leave all that was read. Where one leaves little, more is read at a time.
            ahead = READ_AHEAD.min(2 * read);
        }
        let more = rows.len() > count;
        rows.truncate(count);
        Ok(Taken { rows, more, stopped: None })
    }

    /// None at the end; an empty batch when all of it was filtered out.
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
