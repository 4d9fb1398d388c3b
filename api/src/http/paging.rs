//! Pages of a list: by cursor from v3.0.0 on, by number in v2.2.2. Reading is the same for all: records are fetched next to a
//! position, filtered, until the page is full.

use engine::{EngineError, lists::Stretch};
use location::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{
    http::query::Params,
    values::{
        cursor::{Position, QueryCursors},
        kinds::{Kind, integer},
        limits::{MAX_SKIPPED, PAGE_NUMBER, PER_PAGE, PER_PAGE_DEFAULT, READ_AHEAD, READ_BUDGET},
        versions::Version,
    },
};

pub(crate) const PARAMETERS: [&str; 4] = ["start_cursor", "end_cursor", "per_page", "page"];

/// Which page is asked for.
#[derive(Clone)]
pub(crate) struct Paging {
    per_page: usize,
    from: From,
    cursors: QueryCursors,
    as_of: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Start,
    After(Position),
    Before(Position),
    /// v2.2.2: so many records are skipped.
    Skip(usize),
    /// By number in a list of cursors: so many records are passed over, and cursors lead on from there.
    Jump(usize),
}

/// Where a page stands in its list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct PageInfo {
    pub has_previous_page: bool,
    /// A page may have fewer rows than asked for, or none, and more follow: a filter left few of the many records that were read.
    pub has_next_page: bool,
    /// Empty where the page is; so it names the first page.
    pub start_cursor: String,
    pub end_cursor: String,
}

#[derive(Debug)]
pub(crate) struct Page<T> {
    pub rows: Vec<T>,
    pub info: ListInfo,
}

impl<T> Page<T> {
    /// The same page with its records as they are shown.
    pub(crate) fn views<'a, V>(&'a self, view: impl FnMut(&'a T) -> V) -> Page<V> {
        Page { rows: self.rows.iter().map(view).collect(), info: self.info.clone() }
    }
}

impl ListInfo {
    pub(crate) fn more(&self) -> bool {
        matches!(self, ListInfo::Cursors(info) if info.has_next_page)
    }
}

/// What a page says about the list it is part of.
#[derive(Clone, Debug)]
pub(crate) enum ListInfo {
    Cursors(PageInfo),
    /// v2.2.2: how many records the list has.
    Count(usize),
}

impl Paging {
    pub(crate) fn read(q: &mut Params, version: Version, cursors: QueryCursors, now: Timestamp) -> Paging {
        let range = *PER_PAGE.start() as i64..=*PER_PAGE.end() as i64;
        let per_page = q.defaulted("per_page", integer(range), PER_PAGE_DEFAULT) as usize;
        let (from, as_of) =
            if version.is_v2() { (numbered(q, per_page), None) } else { between(q, &cursors, per_page) };
        Paging { per_page, from, cursors, as_of: as_of.unwrap_or(now) }
    }

    pub(crate) fn per_page(&self) -> usize {
        self.per_page
    }

    /// When the first page of this walk was asked for: what changed later must not make a list by time of change endless.
    pub(crate) fn as_of(&self) -> Timestamp {
        self.as_of
    }

    /// Whether no later page has to agree with this one: pages by number each show the list as it is.
    pub(crate) fn stands_alone(&self) -> bool {
        matches!(self.from, From::Skip(_) | From::Jump(_))
    }

    pub(crate) fn is_first(&self) -> bool {
        self.from == From::Start
    }

    /// `fetch(position, backwards, n)` gives up to `n` records on that side of the position, nearest first. `descending` shows the
    /// list in the opposite of its stored order.
    pub(crate) fn collect<T>(
        &self,
        descending: bool,
        fetch: impl Fn(Option<Position>, bool, usize) -> Result<Vec<T>, EngineError>,
        keep: impl Fn(&T) -> bool,
        position: impl Fn(&T) -> Position,
    ) -> Result<Page<T>, EngineError> {
        let mut walk = Walk { fetch, keep, position, at: None, backwards: descending, read: 0 };
        match self.from {
            From::Start => {
                let taken = walk.take(self.per_page)?;
                Ok(self.page(taken, false, &walk.position))
            }
            From::After(at) => {
                walk.at = Some(at);
                let taken = walk.take(self.per_page)?;
                Ok(self.page(taken, true, &walk.position))
            }
            From::Before(at) => {
                (walk.at, walk.backwards) = (Some(at), !descending);
                let taken = walk.take(self.per_page)?;
                Ok(self.page_before(taken, &walk.position))
            }
            From::Jump(skip) => {
                let mut left = skip;
                while left > 0 {
                    let Taken { rows, more, stopped } = walk.take(left.min(READ_AHEAD))?;
                    left -= rows.len();
                    if !more {
                        let nothing = Taken { rows: Vec::new(), more: false, stopped: None };
                        return Ok(self.page(nothing, true, &walk.position));
                    }
                    walk.at = stopped.or(rows.last().map(&walk.position));
                    // Passing over has a limit of its own.
                    walk.read = 0;
                }
                let taken = walk.take(self.per_page)?;
                Ok(self.page(taken, true, &walk.position))
            }
            From::Skip(skip) => {
                let (mut rows, mut count) = (Vec::new(), 0);
                while let Some(batch) = walk.next_batch(READ_AHEAD)? {
                    for row in batch {
                        if (skip..skip + self.per_page).contains(&count) {
                            rows.push(row);
                        }
                        count += 1;
                    }
                }
                Ok(Page { rows, info: ListInfo::Count(count) })
            }
        }
    }

    fn page<T>(&self, taken: Taken<T>, previous: bool, position: impl Fn(&T) -> Position) -> Page<T> {
        let Taken { rows, more, stopped } = taken;
        let info = PageInfo {
            has_previous_page: previous,
            has_next_page: more,
            start_cursor: self.cursor(rows.first().map(&position).or(stopped)),
            end_cursor: self.cursor(stopped.or(rows.last().map(&position))),
        };
        Page { rows, info: ListInfo::Cursors(info) }
    }

    /// One that was read backwards.
    fn page_before<T>(&self, taken: Taken<T>, position: impl Fn(&T) -> Position) -> Page<T> {
        let Taken { mut rows, more, stopped } = taken;
        rows.reverse();
        let info = PageInfo {
            has_previous_page: more,
            has_next_page: true,
            start_cursor: self.cursor(stopped.or(rows.first().map(&position))),
            end_cursor: self.cursor(rows.last().map(&position).or(stopped)),
        };
        Page { rows, info: ListInfo::Cursors(info) }
    }

    fn cursor(&self, at: Option<Position>) -> String {
        at.map_or_else(String::new, |at| self.cursors.seal(at, self.as_of))
    }
}

fn between(q: &mut Params, cursors: &QueryCursors, per_page: usize) -> (From, Option<Timestamp>) {
    let (from, as_of) = cursor_of(q, cursors);
    let range = *PAGE_NUMBER.start() as i64..=*PAGE_NUMBER.end() as i64;
    let skip = (q.defaulted("page", integer(range), 1) as usize - 1) * per_page;
    if skip > MAX_SKIPPED {
        q.problem(format!("page is beyond the first {MAX_SKIPPED} records: continue with page_info.end_cursor."));
    } else if skip > 0 && from == From::Start {
        return (From::Jump(skip), None);
    } else if skip > 0 {
        // The cursor says where the page is.
        q.without_effect("page");
    }
    (from, as_of)
}

fn cursor_of(q: &mut Params, cursors: &QueryCursors) -> (From, Option<Timestamp>) {
    match (q.optional("end_cursor", cursor(cursors)), q.optional("start_cursor", cursor(cursors))) {
        (Some(_), Some(_)) => {
            q.problem(
                "end_cursor asks for the next page and start_cursor for the previous one: send only one of them.",
            );
            (From::Start, None)
        }
        (Some((at, as_of)), None) => (From::After(at), Some(as_of)),
        (None, Some((at, as_of))) => (From::Before(at), Some(as_of)),
        (None, None) => (From::Start, None),
    }
}

fn cursor(cursors: &QueryCursors) -> Kind<(Position, Timestamp)> {
    let cursors = cursors.clone();
    // The documentation's own example is the empty one, the first page.
    Kind::of_text(
        || json!({"type": "string"}),
        "",
        move |cursor| {
            let foreign = || "does not belong to this query; leave it empty to start from the first page".to_owned();
            cursors.open(cursor).ok_or_else(foreign)
        },
    )
}

fn numbered(q: &mut Params, per_page: usize) -> From {
    let range = *PAGE_NUMBER.start() as i64..=*PAGE_NUMBER.end() as i64;
    let page = q.defaulted("page", integer(range), 1);
    From::Skip((page as usize - 1) * per_page)
}

/// The engine's stretches of lists in id order.
pub(crate) fn stretch(at: Option<Position>, backwards: bool, limit: usize) -> Stretch {
    let id = at.map(|at| at.id);
    match backwards {
        false => Stretch { after: id, before: None, limit },
        true => Stretch { after: None, before: Some(id.unwrap_or(u64::MAX)), limit },
    }
}

/// Reads on from where it stands.
struct Walk<F, K, P> {
    fetch: F,
    keep: K,
    position: P,
    at: Option<Position>,
    backwards: bool,
    /// Records read so far.
    read: usize,
}

/// Rows of one page, nearest first.
struct Taken<T> {
    rows: Vec<T>,
    more: bool,
    /// Where reading stopped before the page was full.
    stopped: Option<Position>,
}

impl<F, K, P> Walk<F, K, P> {
    fn take<T>(&mut self, count: usize) -> Result<Taken<T>, EngineError>
    where
        F: Fn(Option<Position>, bool, usize) -> Result<Vec<T>, EngineError>,
        K: Fn(&T) -> bool,
        P: Fn(&T) -> Position,
    {
        let (mut rows, mut ahead) = (Vec::new(), 0);
        while rows.len() <= count {
            if self.read >= READ_BUDGET {
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
    fn next_batch<T>(&mut self, count: usize) -> Result<Option<Vec<T>>, EngineError>
    where
        F: Fn(Option<Position>, bool, usize) -> Result<Vec<T>, EngineError>,
        K: Fn(&T) -> bool,
        P: Fn(&T) -> Position,
    {
        let mut batch = (self.fetch)(self.at, self.backwards, count)?;
        self.read += batch.len();
        batch.sort_by_key(|row| (self.position)(row));
        if self.backwards {
            batch.reverse();
        }
        let Some(last) = batch.last() else { return Ok(None) };
        self.at = Some((self.position)(last));
        batch.retain(|row| (self.keep)(row));
        Ok(Some(batch))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::values::{cursor::Cursors, secret::Secret};

    fn bound() -> QueryCursors {
        Cursors::new(&Secret::from_bytes([1; 32])).bound_to("/x", vec![])
    }

    fn read(query: &str, version: Version) -> (Paging, Vec<String>) {
        let mut q = Params::parse(query).unwrap();
        let paging = Paging::read(&mut q, version, bound(), Timestamp(9));
        (paging, q.take_problems())
    }

    /// The list 1..=`last` without multiples of 3.
    fn rows(query: &str, last: u64, descending: bool) -> Page<u64> {
        let (paging, problems) = read(query, Version::V3_0_0);
        assert!(problems.is_empty(), "{problems:?}");
        collect(&paging, last, descending)
    }

    fn collect(paging: &Paging, last: u64, descending: bool) -> Page<u64> {
        let fetch = |at: Option<Position>, backwards: bool, n: usize| {
            let at = at.map(|at| at.id);
            Ok(match backwards {
                false => (1..=last).filter(|id| at.is_none_or(|at| *id > at)).take(n).collect(),
                true => (1..=last).rev().filter(|id| at.is_none_or(|at| *id < at)).take(n).collect(),
            })
        };
        paging.collect(descending, fetch, |id| id % 3 != 0, |id| Position::id(*id)).unwrap()
    }

    fn info(page: &Page<u64>) -> &PageInfo {
        match &page.info {
            ListInfo::Cursors(info) => info,
            ListInfo::Count(_) => panic!("a page by number"),
        }
    }

    #[test]
    fn walking_forwards_and_back_shows_each_record_once() {
        for descending in [false, true] {
            for size in [1, 2, 3, 7, 100] {
                let mut expected: Vec<u64> = (1..=20).filter(|id| id % 3 != 0).collect();
                if descending {
                    expected.reverse();
                }
                let mut seen: Vec<u64> = Vec::new();
                let mut page = rows(&format!("per_page={size}"), 20, descending);
                assert!(!info(&page).has_previous_page);
                loop {
                    seen.extend(&page.rows);
                    if !info(&page).has_next_page {
                        break;
                    }
                    let cursor = info(&page).end_cursor.clone();
                    page = rows(&format!("per_page={size}&end_cursor={cursor}&start_cursor="), 20, descending);
                    assert!(info(&page).has_previous_page);
                }
                assert_eq!(seen, expected, "by {size}");

                let mut back = page.rows.clone();
                while info(&page).has_previous_page {
                    let cursor = info(&page).start_cursor.clone();
                    page = rows(&format!("per_page={size}&start_cursor={cursor}"), 20, descending);
                    assert!(info(&page).has_next_page);
                    back.splice(0..0, page.rows.clone());
                }
                assert_eq!(back, expected, "back by {size}");
            }
        }
    }

    /// Forwards and back over a list of which a filter leaves next to nothing.
    #[test]
    fn a_page_ends_where_enough_was_read() {
        let (last, kept) = (5 * READ_BUDGET as u64, |id: &u64| [2_500, 2_501, 4_999].contains(id));
        let page = |query: &str| {
            let read_in_all = std::cell::Cell::new(0);
            let fetch = |at: Option<Position>, backwards: bool, n: usize| {
                read_in_all.set(read_in_all.get() + n);
                let at = at.map(|at| at.id);
                Ok(match backwards {
                    false => (at.map_or(1, |at| at + 1)..=last).take(n).collect(),
                    true => (1..at.unwrap_or(last + 1)).rev().take(n).collect(),
                })
            };
            let (paging, problems) = read(query, Version::V3_0_0);
            assert!(problems.is_empty(), "{problems:?}");
            let page = paging.collect(false, fetch, kept, |id| Position::id(*id)).unwrap();
            assert!(read_in_all.get() <= READ_BUDGET + READ_AHEAD, "{query}: {} were read", read_in_all.get());
            page
        };
        let (mut seen, mut here) = (Vec::new(), page(""));
        seen.extend(here.rows.clone());
        while info(&here).has_next_page {
            here = page(&format!("end_cursor={}", info(&here).end_cursor));
            seen.extend(here.rows.clone());
        }
        assert_eq!(seen, [2_500, 2_501, 4_999]);
        let mut back = here.rows.clone();
        while info(&here).has_previous_page {
            here = page(&format!("start_cursor={}", info(&here).start_cursor));
            back.splice(0..0, here.rows.clone());
        }
        assert_eq!(back, [2_500, 2_501, 4_999]);
    }

    #[test]
    fn an_empty_list_has_no_cursors() {
        let page = rows("", 0, false);
        assert!(page.rows.is_empty());
        let none = PageInfo {
            has_previous_page: false,
            has_next_page: false,
            start_cursor: String::new(),
            end_cursor: String::new(),
        };
        assert_eq!(info(&page), &none);
    }

    #[test]
    fn a_page_by_number_lies_where_cursors_lead() {
        for (size, last) in [(1, 20), (3, 20), (7, 20), (100, 20), (3, 2_000), (300, 2_000)] {
            let mut page = rows(&format!("per_page={size}"), last, false);
            let mut number = 1;
            while info(&page).has_next_page {
                number += 1;
                let cursor = info(&page).end_cursor.clone();
                page = rows(&format!("per_page={size}&end_cursor={cursor}"), last, false);
                let numbered = rows(&format!("per_page={size}&page={number}"), last, false);
                assert_eq!(numbered.rows, page.rows, "page {number} by {size}");
                assert_eq!(info(&numbered).has_next_page, info(&page).has_next_page, "page {number} by {size}");
                assert!(info(&numbered).has_previous_page);
            }
            let beyond = rows(&format!("per_page={size}&page={}", number + 1), last, false);
            assert!(beyond.rows.is_empty() && !info(&beyond).has_next_page, "by {size}");
        }
    }

    #[test]
    fn pages_by_number_count_the_list() {
        let (paging, problems) = read("page=2&per_page=5", Version::V2_2_2);
        assert!(problems.is_empty());
        let page = collect(&paging, 20, false);
        assert_eq!(page.rows, [8, 10, 11, 13, 14]);
        assert!(matches!(page.info, ListInfo::Count(14)));
        let (paging, _) = read("page=99", Version::V2_2_2);
        assert!(collect(&paging, 20, false).rows.is_empty());
    }

    #[test]
    fn wrong_paging_is_named() {
        let first = |query: &str, version| read(query, version).1.first().cloned().unwrap_or_default();
        for per_page in ["0", "1001", "-5", "99999999999999999999"] {
            let problem = first(&format!("per_page={per_page}"), Version::V3_0_0);
            assert_eq!(problem, "per_page must be between 1 and 1000.");
        }
        assert!(first("end_cursor=abc", Version::V3_0_0).starts_with("end_cursor does not belong to this query"));
        let cursor = bound().seal(Position::id(1), Timestamp(0));
        assert!(
            first(&format!("end_cursor={cursor}&start_cursor={cursor}"), Version::V3_0_0).contains("only one of them")
        );
        assert_eq!(first("page=0", Version::V2_2_2), "page must be between 1 and 100000.");
        assert!(first("page=4001", Version::V3_0_0).is_empty());
        assert_eq!(
            first("page=4002", Version::V3_0_0),
            "page is beyond the first 20000 records: continue with page_info.end_cursor."
        );
    }
}
