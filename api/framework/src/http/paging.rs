//! Page requests and page positions: by cursor from v3.0.0 on, by number in v2.2.2. The engine reads the pages.

use engine::{
    EngineError,
    lists::{self, PageAt, PageRequest, Position, Range},
};
use location::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{
    http::query::Params,
    values::{
        cursor::QueryCursors,
        kinds::{Kind, integer},
        limits::{MAX_SKIPPED, PAGE_NUMBER, PER_PAGE, PER_PAGE_DEFAULT, READ_BUDGET},
        versions::Version,
    },
};

pub const PARAMETERS: [&str; 4] = ["start_cursor", "end_cursor", "per_page", "page"];

#[derive(Clone)]
pub struct Paging {
    request: PageRequest,
    cursors: QueryCursors,
}

/// The position of a page in its list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PageInfo {
    /// `true` if there are records before this page; always false in `GET /changes`.
    pub has_previous_page: bool,
    /// `true` if more records follow. A page may have fewer rows than requested, or none, even if more records follow,
    /// because a filter may exclude most of the records that were read.
    pub has_next_page: bool,
    /// Cursor of the previous page: send it as `start_cursor`. May be empty if the page is empty; an empty cursor
    /// requests the first page. In `GET /changes`, the `since` of the request.
    pub start_cursor: String,
    /// Cursor of the next page: send it as `end_cursor`, or as `since` to `GET /changes`. May be empty if the page is
    /// empty.
    pub end_cursor: String,
}

#[derive(Debug)]
pub struct ListPage<T> {
    pub rows: Vec<T>,
    pub info: ListInfo,
}

impl<T> ListPage<T> {
    pub fn views<'a, V>(&'a self, view: impl FnMut(&'a T) -> V) -> ListPage<V> {
        ListPage { rows: self.rows.iter().map(view).collect(), info: self.info.clone() }
    }
}

/// Position or size information of a page.
#[derive(Clone, Debug)]
pub enum ListInfo {
    Cursors(PageInfo),
    /// v2.2.2: total number of records.
    Count(usize),
}

impl Paging {
    pub fn read(q: &mut Params, version: Version, cursors: QueryCursors, now: Timestamp) -> Paging {
        let range = *PER_PAGE.start() as i64..=*PER_PAGE.end() as i64;
        let per_page =
            q.defaulted("per_page", integer(range).about("Number of records per page."), PER_PAGE_DEFAULT) as usize;
        let (at, first_asked) =
            if version.is_v2() { (numbered(q, per_page), None) } else { between(q, &cursors, per_page) };
        let first_asked = first_asked.unwrap_or(now);
        let request = PageRequest { at, size: per_page, descending: false, first_asked, budget: READ_BUDGET };
        Paging { request, cursors }
    }

    /// Returns the request for the engine. `descending` reverses the stored order.
    pub fn request(&self, descending: bool) -> PageRequest {
        PageRequest { descending, ..self.request }
    }

    /// Reads a page of a list other than records, where `fetch` returns a range of its entries.
    pub fn collect<T>(
        &self,
        descending: bool,
        fetch: impl Fn(Range) -> Result<Vec<T>, EngineError>,
        keep: impl Fn(&T) -> bool,
        position: impl Fn(&T) -> Position,
    ) -> Result<ListPage<T>, EngineError> {
        Ok(self.with_cursors(self.request(descending).collect(fetch, keep, position)?, false))
    }

    /// Adds cursors to a page. Only cursors of a list that changes during paging contain its start time (`timed`). All
    /// others are constant, and so is their page.
    pub(crate) fn with_cursors<T>(&self, page: lists::Page<T>, timed: bool) -> ListPage<T> {
        let begun = if timed { self.request.first_asked } else { Timestamp(0) };
        let cursor = |at: Option<Position>| at.map_or_else(String::new, |at| self.cursors.seal(at, begun));
        let info = match page.count {
            Some(count) => ListInfo::Count(count),
            None => ListInfo::Cursors(PageInfo {
                has_previous_page: page.has_previous,
                has_next_page: page.has_next,
                start_cursor: cursor(page.start),
                end_cursor: cursor(page.end),
            }),
        };
        ListPage { rows: page.rows, info }
    }
}

fn between(q: &mut Params, cursors: &QueryCursors, per_page: usize) -> (PageAt, Option<Timestamp>) {
    let (at, first_asked) = cursor_of(q, cursors);
    let skip = (q.defaulted("page", page_number(), 1) as usize - 1) * per_page;
    if skip > MAX_SKIPPED {
        q.problem(format!("page is beyond the first {MAX_SKIPPED} records: continue with page_info.end_cursor."));
    } else if skip > 0 && at == PageAt::Start {
        return (PageAt::Skip(skip), None);
    } else if skip > 0 {
        // The cursor determines the position.
        q.without_effect("page");
    }
    (at, first_asked)
}

fn cursor_of(q: &mut Params, cursors: &QueryCursors) -> (PageAt, Option<Timestamp>) {
    let next = "Cursor of the next page: the `page_info.end_cursor` of the current page. An empty cursor selects the \
        first page.";
    let previous = "Cursor of the previous page: the `page_info.start_cursor` of the current page. An empty cursor \
        selects the first page.";
    let (end, start) = (cursor(cursors).about(next), cursor(cursors).about(previous));
    match (q.optional("end_cursor", end), q.optional("start_cursor", start)) {
        (Some(_), Some(_)) => {
            q.problem(
                "end_cursor asks for the next page and start_cursor for the previous one: send only one of them.",
            );
            (PageAt::Start, None)
        }
        (Some((at, first_asked)), None) => (PageAt::After(at), Some(first_asked)),
        (None, Some((at, first_asked))) => (PageAt::Before(at), Some(first_asked)),
        (None, None) => (PageAt::Start, None),
    }
}

fn cursor(cursors: &QueryCursors) -> Kind<(Position, Timestamp)> {
    let cursors = cursors.clone();
    // The documented example is the empty cursor, the first page.
    Kind::for_text(
        || json!({"type": "string"}),
        "",
        move |cursor| {
            let foreign = || "does not belong to this query; leave it empty to start from the first page".to_owned();
            cursors.open(cursor).ok_or_else(foreign)
        },
    )
}

fn page_number() -> Kind<i64> {
    let range = *PAGE_NUMBER.start() as i64..=*PAGE_NUMBER.end() as i64;
    integer(range).about("The page number. From v3.0.0 on, prefer cursors: they neither skip nor repeat records.")
}

fn numbered(q: &mut Params, per_page: usize) -> PageAt {
    let page = q.defaulted("page", page_number(), 1);
    PageAt::Counted((page as usize - 1) * per_page)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use engine::{lists::READ_AHEAD, store::Direction};

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
    fn rows(query: &str, last: u64, descending: bool) -> ListPage<u64> {
        let (paging, problems) = read(query, Version::V3_0_0);
        assert!(problems.is_empty(), "{problems:?}");
        collect(&paging, last, descending)
    }

    fn collect(paging: &Paging, last: u64, descending: bool) -> ListPage<u64> {
        let fetch = |Range { from, direction, limit }: Range| {
            let at = from.map(|at| at.id);
            Ok(match direction {
                Direction::Forward => (1..=last).filter(|id| at.is_none_or(|at| *id > at)).take(limit).collect(),
                Direction::Backward => (1..=last).rev().filter(|id| at.is_none_or(|at| *id < at)).take(limit).collect(),
            })
        };
        paging.collect(descending, fetch, |id| id % 3 != 0, |id| Position::id(*id)).unwrap()
    }

    fn info(page: &ListPage<u64>) -> &PageInfo {
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
    fn a_page_ends_at_the_read_budget() {
        let (last, kept) = (5 * READ_BUDGET as u64, |id: &u64| [2_500, 2_501, 4_999].contains(id));
        let page = |query: &str| {
            let read_in_all = std::cell::Cell::new(0);
            let fetch = |Range { from, direction, limit }: Range| {
                read_in_all.set(read_in_all.get() + limit);
                let at = from.map(|at| at.id);
                Ok(match direction {
                    Direction::Forward => (at.map_or(1, |at| at + 1)..=last).take(limit).collect(),
                    Direction::Backward => (1..at.unwrap_or(last + 1)).rev().take(limit).collect(),
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
    fn pages_by_number_equal_pages_by_cursor() {
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
    fn wrong_paging_parameters_are_reported() {
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
