//! Page requests and page positions: by cursor from v3.0.0 on, by number in v2.2.2. The engine reads the pages. Cursors
//! are signed here, also those of the feed of changes and of exports.

use std::{collections::BTreeMap, ops::Bound};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use engine::{
    EngineError,
    lists::{self, PageAt, PageRequest, Position, Range},
    store::Direction,
};
use location::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{
    http::query::Params,
    values::{
        kinds::{Kind, integer},
        limits::{MAX_SKIPPED, PAGE_NUMBER, PER_PAGE, PER_PAGE_DEFAULT, READ_BUDGET},
        secret::{MacKey, Secret, joined},
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

    /// Reads a page of a list in memory, in the order of its ids.
    pub fn collect_by_id<'l, T>(&self, list: &'l BTreeMap<u64, T>) -> Result<ListPage<&'l T>, EngineError> {
        let fetch = |Range { from, direction, limit }: Range| {
            let beyond = from.map_or(Bound::Unbounded, |from| Bound::Excluded(from.id));
            Ok(match direction {
                Direction::Forward => list.range((beyond, Bound::Unbounded)).take(limit).collect::<Vec<_>>(),
                Direction::Backward => list.range((Bound::Unbounded, beyond)).rev().take(limit).collect(),
            })
        };
        let page = self.collect(false, fetch, |_| true, |it| Position::id(*it.0))?;
        Ok(ListPage { rows: page.rows.into_iter().map(|(_, row)| row).collect(), info: page.info })
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

/// Bytes of the tag of a cursor.
const TAG: usize = 16;

/// Cursors: the position at which a page begins or ends. Opaque to clients, and bound to the query that returned them.
pub struct Cursors(MacKey);

impl Cursors {
    pub fn new(secret: &Secret) -> Cursors {
        Cursors(secret.key("cursor"))
    }

    /// Returns the cursors of one query: its path and all parameters except those of paging, in any order.
    pub fn bound_to(&self, path: &str, mut parameters: Vec<(&str, &str)>) -> QueryCursors {
        parameters.sort_unstable();
        let texts = [("", path)].into_iter().chain(parameters).flat_map(|(name, value)| [name, value]);
        QueryCursors { key: self.0.clone(), query: joined(texts.map(str::as_bytes)) }
    }
}

/// Encoder and decoder for the cursors of one query. The cursor of a list contains position, id, and the time of the
/// walk's first page.
#[derive(Clone)]
pub struct QueryCursors {
    key: MacKey,
    query: Vec<u8>,
}

impl QueryCursors {
    /// Returns the tag of the query. Most calls have no cursors and never compute it.
    fn query_tag(&self) -> [u8; 32] {
        self.key.tag(&[&self.query])
    }

    pub fn seal(&self, position: Position, as_of: Timestamp) -> String {
        self.seal_numbers([position.at.0 as u64, position.id, as_of.0 as u64])
    }

    pub fn open(&self, cursor: &str) -> Option<(Position, Timestamp)> {
        let [at, id, as_of] = self.open_numbers(cursor)?;
        Some((Position { at: Timestamp(at as i64), id }, Timestamp(as_of as i64)))
    }

    pub fn seal_numbers<const N: usize>(&self, numbers: [u64; N]) -> String {
        let mut bytes = numbers.map(u64::to_be_bytes).concat();
        let tag = self.key.tag(&[&self.query_tag(), &bytes]);
        bytes.extend_from_slice(&tag[..TAG]);
        BASE64.encode(bytes)
    }

    pub fn open_numbers<const N: usize>(&self, cursor: &str) -> Option<[u64; N]> {
        let bytes = BASE64.decode(cursor).ok().filter(|bytes| bytes.len() == 8 * N + TAG)?;
        let (content, tag) = bytes.split_at(8 * N);
        if !self.key.verifies(&[&self.query_tag(), content], tag) {
            return None;
        }
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(content.chunks_exact(8)) {
            *number = u64::from_be_bytes(bytes.try_into().ok()?);
        }
        Some(numbers)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use engine::lists::READ_AHEAD;

    use super::*;

    fn cursors() -> Cursors {
        Cursors::new(&Secret::from_bytes([1; 32]))
    }

    fn bound() -> QueryCursors {
        cursors().bound_to("/x", vec![])
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

    #[test]
    fn a_cursor_opens_to_the_sealed_position() {
        let bound = cursors().bound_to("/providers", vec![("subdomain", "a"), ("inactive", "true")]);
        for position in [Position::id(0), Position::id(u64::MAX), Position { at: Timestamp(i64::MIN), id: 7 }] {
            let as_of = Timestamp(77);
            assert_eq!(bound.open(&bound.seal(position, as_of)), Some((position, as_of)));
        }
        let reordered = cursors().bound_to("/providers", vec![("inactive", "true"), ("subdomain", "a")]);
        let cursor = bound.seal(Position::id(3), Timestamp(0));
        assert_eq!(reordered.open(&cursor), Some((Position::id(3), Timestamp(0))));
    }

    #[test]
    fn a_cursor_opens_for_its_own_query_only() {
        let cursor = cursors().bound_to("/providers", vec![("subdomain", "a")]).seal(Position::id(3), Timestamp(0));
        let others = [
            ("/operatories", vec![("subdomain", "a")]),
            ("/providers", vec![("subdomain", "b")]),
            ("/providers", vec![("subdomain", "a"), ("inactive", "true")]),
            ("/providers", vec![("subdomai", "na")]),
            ("/providers", vec![]),
        ];
        for (path, parameters) in others {
            assert_eq!(cursors().bound_to(path, parameters.clone()).open(&cursor), None, "{path} {parameters:?}");
        }
        let elsewhere = Cursors::new(&Secret::from_bytes([2; 32])).bound_to("/providers", vec![("subdomain", "a")]);
        assert_eq!(elsewhere.open(&cursor), None);
    }

    #[test]
    fn altered_cursors_are_refused() {
        let bound = cursors().bound_to("/providers", vec![]);
        let cursor = bound.seal(Position::id(3), Timestamp(0));
        for at in 0..cursor.len() {
            let mut altered = cursor.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(bound.open(&String::from_utf8(altered).unwrap()), None, "byte {at}");
        }
        for wrong in ["", "x", "=", "é", &cursor[1..], &cursor.repeat(2)] {
            assert_eq!(bound.open(wrong), None);
        }
    }
}
