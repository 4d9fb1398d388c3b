//! Where a pull goes on, within a pass and between passes.

use serde::{Deserialize, Serialize};

/// Transactions take time: a delta reaches back this many seconds before the pass before it began.
const OVERLAP: i64 = 300;

/// The state of a pull, as JSON the engine's cursor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// This pass shows what changed since, by the EHR's clock; none: everything.
    pub since: Option<i64>,
    /// When this pass began, by the EHR's clock; none: it is about to.
    pub started: Option<i64>,
    /// When the last whole pass began, by ours.
    pub whole_at: i64,
    /// Which of the resource's models is being read, and the id after which it goes on. Ids grow: what comes or goes meanwhile shifts
    /// nothing.
    pub part: usize,
    pub after: i64,
    /// A row of this pass could not be read: what it does not show is not gone.
    #[serde(default)]
    pub left_out: bool,
}

impl Cursor {
    fn whole(now: i64) -> Cursor {
        Cursor { since: None, started: None, whole_at: now, part: 0, after: 0, left_out: false }
    }

    /// None for text that is no cursor. A pass is whole where there is no cursor, where deltas are not possible, and once every
    /// `whole_minutes`.
    pub fn parse(text: Option<&str>, now: i64, delta: bool, whole_minutes: i64) -> Option<Cursor> {
        let Some(text) = text else { return Some(Cursor::whole(now)) };
        let cursor: Cursor = serde_json::from_str(text).ok()?;
        let due = !delta || cursor.since.is_none() || now >= cursor.whole_at + whole_minutes * 60;
        Some(if cursor.started.is_none() && due { Cursor::whole(now) } else { cursor })
    }

    pub fn is_whole(&self) -> bool {
        self.since.is_none()
    }

    pub fn is_first_page(&self) -> bool {
        self.started.is_none()
    }

    /// After a page of this pass, by the EHR's clock `now` when it was the first one. `next`: part and id it goes on from.
    pub fn after(self, next: Option<(usize, i64)>, now: i64) -> Cursor {
        let started = self.started.unwrap_or(now);
        match next {
            Some((part, after)) => Cursor { started: Some(started), part, after, ..self },
            None => Cursor { since: Some(started - OVERLAP), ..Cursor::whole(self.whole_at) },
        }
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

    #[test]
    fn a_whole_pass_is_followed_by_deltas_that_overlap() {
        let parse = |cursor: &Cursor, now, delta| Cursor::parse(Some(&cursor.to_string()), now, delta, 60).unwrap();
        let first = Cursor::parse(None, NOW, true, 60).unwrap();
        assert!(first.is_whole() && first.is_first_page());
        let middle = first.after(Some((1, 77)), NOW + 5);
        assert!(middle.is_whole() && !middle.is_first_page() && parse(&middle, NOW + 9_999, false) == middle);
        let done = middle.after(None, NOW + 60);
        // The first page's time counts: what changed while the pass ran is shown again.
        assert_eq!((done.since, done.started, done.part, done.after), (Some(NOW + 5 - OVERLAP), None, 0, 0));
        assert_eq!(parse(&done, NOW + 3_599, true), done);
        assert!(parse(&done, NOW + 3_600, true).is_whole());
        assert!(parse(&done, NOW + 1, false).is_whole());
    }

    #[test]
    fn other_text_is_no_cursor() {
        for bad in ["", "{}", "delta:5", "null", "[1]"] {
            assert_eq!(Cursor::parse(Some(bad), NOW, true, 60), None, "{bad}");
        }
    }
}
