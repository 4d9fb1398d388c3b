//! Where a pull goes on. A pass shows every record of a resource, or what has changed since the pass before; the cursor of its last page
//! begins the next pass.
//!
//! [`Pass`] is for an EHR that is asked for what changed since a time: a whole pass, then deltas that overlap, and now and then a whole
//! pass again, so that deletions come to light. [`Marks`] is for one that numbers or marks its changes and reports deletions.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Fault, records::Instant};

/// Transactions take time: a delta reaches back so many seconds before the pass before it began.
const OVERLAP: Instant = 300;

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

/// The state of a pull by time; as JSON the engine's cursor. `At` is a place within the pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass<At> {
    /// This pass shows what changed since, by the EHR's clock; none: everything.
    pub since: Option<Instant>,
    /// When this pass began, by the EHR's clock; none: it is about to.
    pub started: Option<Instant>,
    /// When the last whole pass began, by ours.
    pub whole_at: Instant,
    /// Where the next page begins.
    pub at: At,
    /// Something of this pass could not be read or named: what it does not show is not gone.
    #[serde(default)]
    pub left_out: bool,
}

impl<At: Default + Serialize + DeserializeOwned> Pass<At> {
    fn new(since: Option<Instant>, whole_at: Instant) -> Pass<At> {
        Pass { since, started: None, whole_at, at: At::default(), left_out: false }
    }

    /// The pass that a cursor goes on with; without one a first, whole pass. `now`: our clock.
    pub fn of(cursor: Option<&str>, now: Instant, whole: Whole) -> Result<Pass<At>, Fault> {
        let Some(text) = cursor else { return Ok(Pass::new(None, now)) };
        let pass: Pass<At> = serde_json::from_str(text).map_err(|_| foreign())?;
        let due = pass.since.is_none()
            || match whole {
                Whole::Always => true,
                Whole::After(minutes) => now >= pass.whole_at + minutes * 60,
                Whole::Never => false,
            };
        Ok(if pass.started.is_none() && due { Pass::new(None, now) } else { pass })
    }

    /// It shows every record.
    pub fn is_whole(&self) -> bool {
        self.since.is_none()
    }

    /// Nothing of it was shown yet.
    pub fn begins(&self) -> bool {
        self.started.is_none()
    }

    /// After a page: where the next one begins, none after the last. `now`: the EHR's clock, which counts on the first page.
    pub fn after(self, next: Option<At>, now: Instant) -> Pass<At> {
        let started = self.started.unwrap_or(now);
        match next {
            Some(at) => Pass { started: Some(started), at, ..self },
            None => Pass::new(Some(started - OVERLAP), self.whole_at),
        }
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

    #[test]
    fn a_whole_pass_is_followed_by_deltas_that_overlap() {
        let again = |pass: &Pass<(usize, i64)>, now, whole| Pass::of(Some(&pass.to_string()), now, whole).unwrap();
        let first: Pass<(usize, i64)> = Pass::of(None, NOW, HOUR).unwrap();
        assert!(first.is_whole() && first.begins());
        let middle = first.after(Some((1, 77)), NOW + 5);
        assert!(middle.is_whole() && !middle.begins() && again(&middle, NOW + 9_999, Whole::Always) == middle);
        let done = middle.after(None, NOW + 60);
        // The first page's time counts: what changed while the pass ran is shown again.
        assert_eq!((done.since, done.started, done.at), (Some(NOW + 5 - OVERLAP), None, (0, 0)));
        assert_eq!(again(&done, NOW + 3_599, HOUR), done);
        assert!(again(&done, NOW + 3_600, HOUR).is_whole());
        assert!(again(&done, NOW + 1, Whole::Always).is_whole());
        assert!(!again(&done, NOW + 1_000_000, Whole::Never).is_whole());
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
