//! Where a pull goes on, within a pass and between passes.

use serde::{Deserialize, Serialize};

/// Clocks differ and transactions take time: a delta reaches back this many seconds before the pass before it began.
const OVERLAP: i64 = 300;

/// The same where nothing told the office's time: clocks of offices differ by less, even where the location's zone is wrong.
const MARGIN: i64 = 86_400;

/// The state of a pull, as JSON the engine's cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// This pass shows what changed since, by the office's clock; none: everything.
    pub since: Option<i64>,
    /// When this pass began; none: it is about to.
    pub started: Option<i64>,
    /// What the office's clock showed then, where something told it.
    #[serde(default)]
    pub told: Option<i64>,
    /// When the last whole pass began, by ours.
    pub whole_at: i64,
    /// Nothing can have been missed so far.
    pub steady: bool,
    /// A row of this pass could not be read: what it does not show is not gone.
    #[serde(default)]
    pub left_out: bool,
    /// There was no pass before.
    #[serde(default)]
    pub first: bool,
    /// Which list of those a resource consists of.
    #[serde(default)]
    pub part: usize,
    /// Rows, or days, of it that are done.
    #[serde(default)]
    pub offset: u32,
    /// The id of the last of them.
    #[serde(default)]
    pub last: u64,
    /// Records of the next row, or day, that were shown already.
    #[serde(default)]
    pub shown: usize,
    /// What stands for the ids of blockouts: of this pass so far, and of the pass before.
    #[serde(default)]
    pub ids: u64,
    #[serde(default)]
    pub ids_before: u64,
}

/// How often a pass over a resource shows everything there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Every pass does: it is small, and has nothing to search it by.
    Always,
    /// After so many minutes.
    After(i64),
    /// Never: deletions are not to be seen, or are told.
    Never,
}

impl Cursor {
    fn whole(now: i64) -> Cursor {
        Cursor { whole_at: now, steady: true, ..Cursor::default() }
    }

    /// Where this call begins: none for text that is no cursor. `delta`: the resource can be searched by time of change.
    pub fn parse(text: Option<&str>, now: i64, whole: Whole) -> Option<Cursor> {
        let Some(text) = text else { return Some(Cursor { first: true, ..Cursor::whole(now) }) };
        let cursor: Cursor = serde_json::from_str(text).ok()?;
        let due = match whole {
            Whole::Always => true,
            Whole::After(minutes) => now >= cursor.whole_at + minutes * 60,
            Whole::Never => false,
        };
        let begins = cursor.started.is_none();
        Some(if begins && (due || cursor.since.is_none()) {
            Cursor { ids_before: cursor.ids_before, ..Cursor::whole(now) }
        } else {
            cursor
        })
    }

    pub fn is_whole(&self) -> bool {
        self.since.is_none()
    }

    /// After `done` more rows of this part, the last of them `last`.
    pub fn further(self, done: u32, last: Option<u64>, shown: usize) -> Cursor {
        Cursor { offset: self.offset + done, last: last.unwrap_or(self.last), shown, ..self }
    }

    pub fn next_part(self) -> Cursor {
        Cursor { part: self.part + 1, offset: 0, last: 0, shown: 0, ..self }
    }

    /// After the last page. A pass that may have missed something is done again: the next one starts where this one did; so does one
    /// after a delta that told no time, for an office whose clock is slow would never be asked about the past again.
    pub fn finished(self) -> Cursor {
        let since = match self.told {
            _ if !self.steady => self.since,
            Some(at) => Some(at - OVERLAP),
            None => self.since.or(self.started.map(|at| at - MARGIN)),
        };
        // A blockout that is gone shows only by absence.
        let gone = !self.is_whole() && self.ids != self.ids_before;
        let whole_at = if gone { 0 } else { self.whole_at };
        Cursor { since, whole_at, steady: true, ids_before: self.ids, ..Cursor::default() }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOW: i64 = 1_000_000;
    const HOUR: Whole = Whole::After(60);

    fn again(cursor: &Cursor, now: i64, whole: Whole) -> Cursor {
        Cursor::parse(Some(&cursor.to_string()), now, whole).unwrap()
    }

    fn begun(cursor: Cursor, at: i64) -> Cursor {
        Cursor { started: Some(at), told: Some(at), ..cursor }
    }

    #[test]
    fn a_whole_pass_is_followed_by_deltas_that_overlap() {
        let first = begun(Cursor::parse(None, NOW, HOUR).unwrap(), NOW + 5).further(100, Some(7), 0);
        assert!(first.is_whole() && again(&first, NOW + 9, HOUR) == first);
        assert_eq!((first.offset, first.last), (100, 7));
        let done = first.next_part().finished();
        assert_eq!((done.since, done.started, done.offset, done.part), (Some(NOW + 5 - OVERLAP), None, 0, 0));
        assert_eq!(again(&done, NOW + 3_599, HOUR), done);
        assert!(again(&done, NOW + 3_600, HOUR).is_whole());
        assert!(again(&done, NOW + 1, Whole::Always).is_whole());
        assert!(!again(&done, NOW + 1_000_000, Whole::Never).is_whole());
    }

    #[test]
    fn a_pass_that_may_have_missed_something_is_done_again() {
        let whole = begun(Cursor::parse(None, NOW, HOUR).unwrap(), NOW);
        assert!(again(&Cursor { steady: false, ..whole }.finished(), NOW, HOUR).is_whole());
        let delta = Cursor { since: Some(7), started: Some(NOW), whole_at: NOW, steady: false, ..Cursor::default() };
        assert_eq!(delta.finished().since, Some(7));
    }

    /// An empty page has no row that tells the time: our own clock may be ahead of the office's.
    #[test]
    fn a_pass_that_told_no_time_moves_nothing_ahead() {
        let silent = |cursor: Cursor| Cursor { started: Some(NOW), ..cursor }.finished();
        let first = silent(Cursor::parse(None, NOW, HOUR).unwrap());
        assert_eq!(first.since, Some(NOW - MARGIN));
        assert_eq!(silent(first.clone()).since, first.since);
    }

    #[test]
    fn blockouts_that_went_make_the_next_pass_whole() {
        let whole = Cursor { ids: 5, ..begun(Cursor::parse(None, NOW, HOUR).unwrap(), NOW) }.finished();
        assert_eq!((whole.ids_before, whole.whole_at), (5, NOW));
        let same = Cursor { ids: 5, ..begun(whole.clone(), NOW + 60) }.finished();
        assert!(!again(&same, NOW + 60, HOUR).is_whole());
        let other = Cursor { ids: 4, ..begun(whole, NOW + 60) }.finished();
        assert!(again(&other, NOW + 60, HOUR).is_whole());
    }

    #[test]
    fn other_text_is_no_cursor() {
        for bad in ["", "{}", "delta:5", "null", "[1]", r#"{"whole_at":1,"steady":true,"more":1}"#] {
            assert_eq!(Cursor::parse(Some(bad), NOW, HOUR), None, "{bad}");
        }
    }
}
