//! Where a pull goes on. A pass shows every record of a resource, or what has changed since the pass before; the cursor of its last page
//! begins the next pass.
//!
//! [`Pass`] is for an EHR that is asked for what changed since a time: a whole pass, then deltas that overlap, and now and then a whole
//! pass again, so that deletions come to light. [`Marks`] is for one that numbers or marks its changes and reports deletions.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Fault, records::Instant};

/// Transactions take time: a delta reaches back so many seconds before the pass before it began.
pub const OVERLAP: Instant = 300;
/// The same where nothing told the EHR's time: clocks differ by less, even where the location's zone is wrong.
const MARGIN: Instant = 86_400;

/// When a pass shows everything again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Each pass does: the EHR cannot tell what changed.
    Always,
    /// So many minutes after the last one that did.
    After(i64),
    /// Only the first one: the EHR reports deletions.
    Never,
}

/// The state of a pull by time; as JSON the engine's cursor. `At` is a place within the pass; without one the pass goes on from its
/// beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass<At> {
    /// This pass shows what changed since, by the EHR's clock; none: everything.
    pub since: Option<Instant>,
    /// When this pass began, by the EHR's clock, or by ours where nothing told it; none: it is about to.
    pub started: Option<Instant>,
    /// What the EHR's clock showed then, where something told it.
    #[serde(default)]
    pub told: Option<Instant>,
    /// When the last whole pass began, by ours.
    pub whole_at: Instant,
    /// Where the next page begins.
    #[serde(default)]
    pub at: At,
    /// Something of this pass could not be read or named: what it does not show is not gone.
    #[serde(default)]
    pub left_out: bool,
    /// Records may have been missed: the next pass begins where this one did.
    #[serde(default)]
    pub missed: bool,
    /// What stands for the records of lists that every pass shows to the end: of this pass so far, and of the pass before.
    #[serde(default)]
    pub ids: u64,
    /// See [`ids`](Self::ids).
    #[serde(default)]
    pub ids_before: u64,
}

impl<At: Default + Serialize + DeserializeOwned> Pass<At> {
    fn whole(now: Instant) -> Pass<At> {
        Pass { whole_at: now, ..Pass::default() }
    }

    /// The pass that a cursor goes on with; without one a first, whole pass. `now`: our clock.
    pub fn of(cursor: Option<&str>, now: Instant, whole: Whole) -> Result<Pass<At>, Fault> {
        let Some(text) = cursor else { return Ok(Pass::whole(now)) };
        let pass: Pass<At> = serde_json::from_str(text).map_err(|_| foreign())?;
        let due = pass.since.is_none()
            || match whole {
                Whole::Always => true,
                Whole::After(minutes) => now >= pass.whole_at + minutes * 60,
                Whole::Never => false,
            };
        Ok(if pass.started.is_none() && due { Pass { ids_before: pass.ids_before, ..Pass::whole(now) } } else { pass })
    }

    /// It shows every record.
    pub fn is_whole(&self) -> bool {
        self.since.is_none()
    }

    /// Nothing of it was shown yet.
    pub fn begins(&self) -> bool {
        self.started.is_none()
    }

    /// After a page: where the next one begins, none after the last. `told`: what the EHR's clock shows, which counts on the first page;
    /// `now`: our clock.
    pub fn after(self, next: Option<At>, told: Option<Instant>, now: Instant) -> Pass<At> {
        let (started, told) = self.started.map_or((told.unwrap_or(now), told), |started| (started, self.told));
        let pass = Pass { started: Some(started), told, ..self };
        match next {
            Some(at) => Pass { at, ..pass },
            None => pass.finished(started),
        }
    }

    /// A delta that told no time moves nothing ahead: an EHR whose clock is slow would never be asked about the past again.
    fn finished(self, started: Instant) -> Pass<At> {
        let since = match self.told {
            _ if self.missed => self.since,
            Some(at) => Some(at - OVERLAP),
            None => self.since.or(Some(started - MARGIN)),
        };
        // What went from a list that a delta shows to the end is told by absence alone.
        let gone = !self.is_whole() && self.ids != self.ids_before;
        Pass { since, whole_at: if gone { 0 } else { self.whole_at }, ids_before: self.ids, ..Pass::default() }
    }
}

/// The cursor's text.
impl<At: Serialize> fmt::Display for Pass<At> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// A cursor that no page of this adapter had.
pub fn foreign() -> Fault {
    Fault::rejected("not a cursor of this adapter")
}

/// Longer than any mark an EHR gives.
const MAX_MARK: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Whole,
    /// Shows every record of other books than those it began with: what its first pages showed may be gone. Another whole pass follows.
    Torn,
    Delta,
}

const KINDS: [(Kind, &str); 3] = [(Kind::Whole, "whole"), (Kind::Torn, "torn"), (Kind::Delta, "delta")];

/// The state of a pull by the EHR's own marks of what changed: `whole:e.5`, `delta:17`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    kind: Kind,
    mark: Option<String>,
}

impl Marks {
    /// What a cursor goes on with; without one a first, whole pass.
    pub fn of(cursor: Option<&str>) -> Result<Marks, Fault> {
        let Some(text) = cursor else { return Ok(Marks { kind: Kind::Whole, mark: None }) };
        let (word, mark) = text.split_once(':').ok_or_else(foreign)?;
        let (kind, _) = KINDS.into_iter().find(|(_, held)| *held == word).ok_or_else(foreign)?;
        let plain = mark.len() <= MAX_MARK && mark.bytes().all(|b| b.is_ascii_graphic());
        // Only a whole pass begins without a mark.
        let begins = mark.is_empty() && kind == Kind::Whole;
        match plain && (begins || !mark.is_empty()) {
            true => Ok(Marks { kind, mark: Some(mark.to_owned()).filter(|mark| !mark.is_empty()) }),
            false => Err(foreign()),
        }
    }

    /// What changed after it is asked for; none: everything.
    pub fn mark(&self) -> Option<&str> {
        self.mark.as_deref()
    }

    /// The pass shows every record.
    pub fn is_whole(&self) -> bool {
        self.kind != Kind::Delta
    }

    /// The pass from its beginning, after the mark turned out to be of other books.
    pub fn started_over(self) -> Marks {
        let kind = if self.kind == Kind::Delta { Kind::Whole } else { Kind::Torn };
        Marks { kind, mark: None }
    }

    /// After a page that ends at `mark`.
    pub fn after(self, mark: &str, more: bool) -> Marks {
        let mark = Some(mark.to_owned());
        match (self.kind, more) {
            (kind, true) => Marks { kind, mark },
            (Kind::Torn, false) => Marks { kind: Kind::Whole, mark: None },
            (_, false) => Marks { kind: Kind::Delta, mark },
        }
    }
}

/// The cursor's text.
impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, word)| word);
        write!(f, "{word}:{}", self.mark.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOW: Instant = 1_000_000;
    const HOUR: Whole = Whole::After(60);

    type ById = Pass<(usize, i64)>;

    fn again(pass: &ById, now: Instant, whole: Whole) -> ById {
        Pass::of(Some(&pass.to_string()), now, whole).unwrap()
    }

    fn first() -> ById {
        Pass::of(None, NOW, HOUR).unwrap()
    }

    #[test]
    fn a_whole_pass_is_followed_by_deltas_that_overlap() {
        assert!(first().is_whole() && first().begins());
        let middle = first().after(Some((1, 77)), Some(NOW + 5), NOW);
        assert!(middle.is_whole() && !middle.begins() && again(&middle, NOW + 9_999, Whole::Always) == middle);
        let done = middle.after(None, Some(NOW + 60), NOW);
        // The first page's time counts: what changed while the pass ran is shown again.
        assert_eq!((done.since, done.started, done.at), (Some(NOW + 5 - OVERLAP), None, (0, 0)));
        assert_eq!(again(&done, NOW + 3_599, HOUR), done);
        assert!(again(&done, NOW + 3_600, HOUR).is_whole());
        assert!(again(&done, NOW + 1, Whole::Always).is_whole());
        assert!(!again(&done, NOW + 1_000_000, Whole::Never).is_whole());
    }

    #[test]
    fn a_pass_that_may_have_missed_something_is_done_again() {
        let whole = Pass { missed: true, ..first().after(Some((1, 7)), Some(NOW), NOW) };
        assert!(again(&whole.after(None, None, NOW), NOW, HOUR).is_whole());
        let delta = ById { since: Some(7), started: Some(NOW), whole_at: NOW, missed: true, ..Pass::default() };
        assert_eq!(delta.after(None, None, NOW).since, Some(7));
    }

    /// An empty page has no row that tells the time: our own clock may be ahead of the EHR's.
    #[test]
    fn a_pass_that_told_no_time_moves_nothing_ahead() {
        let silent = first().after(None, None, NOW);
        assert_eq!(silent.since, Some(NOW - MARGIN));
        assert_eq!(silent.clone().after(None, None, NOW + 60).since, silent.since);
    }

    #[test]
    fn what_went_from_a_list_that_is_shown_to_the_end_makes_the_next_pass_whole() {
        let shown = |ids: u64, pass: &ById| Pass { ids, ..pass.clone() }.after(None, Some(NOW), NOW);
        let whole = shown(5, &first());
        assert_eq!((whole.ids_before, whole.whole_at), (5, NOW));
        assert!(!again(&shown(5, &whole), NOW + 60, HOUR).is_whole());
        assert!(again(&shown(4, &whole), NOW + 60, HOUR).is_whole());
    }

    /// Cursors outlive releases of an adapter: one that says no place begins its pass again.
    #[test]
    fn a_cursor_without_a_place_goes_on_from_the_beginning_of_its_pass() {
        let held: ById = Pass::of(Some(r#"{"since":5,"started":null,"whole_at":1000000}"#), NOW, HOUR).unwrap();
        assert_eq!((held.since, held.at), (Some(5), (0, 0)));
    }

    #[test]
    fn other_text_is_no_cursor() {
        for bad in ["", "{}", "delta:5", "null", "[1]"] {
            assert_eq!(Pass::<u32>::of(Some(bad), NOW, HOUR), Err(foreign()), "{bad}");
        }
    }

    #[test]
    fn marks_go_there_and_back() {
        let first = Marks::of(None).unwrap();
        assert_eq!(first.clone().after("e.5", true).to_string(), "whole:e.5");
        let after = first.after("e.9", false);
        assert_eq!(after.to_string(), "delta:e.9");
        assert_eq!(Marks::of(Some("delta:e.9")), Ok(after));
        for bad in ["", "9", "delta:", "torn:", "other:1", "delta:1 2", "no cursor of anybody"] {
            assert_eq!(Marks::of(Some(bad)), Err(foreign()), "{bad}");
        }
        assert_eq!(Marks::of(Some("whole:")).unwrap().mark(), None);
    }

    #[test]
    fn other_books_in_the_middle_of_a_whole_pass_ask_for_another() {
        let torn = Marks::of(Some("whole:e.5")).unwrap().started_over();
        assert!(torn.is_whole());
        let on = Marks::of(Some(&torn.after("f.3", true).to_string())).unwrap();
        assert_eq!((on.to_string().as_str(), on.is_whole()), ("torn:f.3", true));
        assert_eq!(on.after("f.9", false).to_string(), "whole:");
        let delta = Marks::of(Some("delta:e.5")).unwrap().started_over();
        assert_eq!(delta.after("f.9", false).to_string(), "delta:f.9");
    }
}
