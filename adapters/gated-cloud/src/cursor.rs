//! Where a pull goes on: the application's mark, and what kind of pass this is.

use std::fmt;

/// Longer than any mark the application gives.
const MAX_MARK: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Shows every record.
    Whole,
    /// Shows every record of other books than those it began with: what its first pages showed may be gone. Another whole pass follows.
    Torn,
    /// Shows what changed.
    Delta,
}

const PASSES: [(Pass, &str); 3] = [(Pass::Whole, "whole"), (Pass::Torn, "torn"), (Pass::Delta, "delta")];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pass: Pass,
    mark: Option<String>,
}

impl Cursor {
    /// No cursor starts a whole pass.
    pub fn parse(text: Option<&str>) -> Option<Cursor> {
        let Some(text) = text else { return Some(Cursor { pass: Pass::Whole, mark: None }) };
        let (word, mark) = text.split_once(':')?;
        let (pass, _) = PASSES.into_iter().find(|(_, held)| *held == word)?;
        let plain = mark.len() <= MAX_MARK && mark.bytes().all(|b| b.is_ascii_graphic());
        // Only a whole pass begins without a mark.
        let begins = mark.is_empty() && pass == Pass::Whole;
        (plain && (begins || !mark.is_empty()))
            .then(|| Cursor { pass, mark: Some(mark.to_owned()).filter(|mark| !mark.is_empty()) })
    }

    pub fn mark(&self) -> Option<&str> {
        self.mark.as_deref()
    }

    pub fn whole(&self) -> bool {
        self.pass != Pass::Delta
    }

    /// The pass from its beginning, after the mark turned out to be of other books.
    pub fn started_over(self) -> Cursor {
        let pass = if self.pass == Pass::Delta { Pass::Whole } else { Pass::Torn };
        Cursor { pass, mark: None }
    }

    /// After a page that ends at `mark`.
    pub fn next(self, mark: &str, more: bool) -> Cursor {
        let mark = Some(mark.to_owned());
        match (self.pass, more) {
            (pass, true) => Cursor { pass, mark },
            (Pass::Torn, false) => Cursor { pass: Pass::Whole, mark: None },
            (_, false) => Cursor { pass: Pass::Delta, mark },
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = PASSES.iter().find(|(pass, _)| *pass == self.pass).map_or("", |(_, word)| word);
        write!(f, "{word}:{}", self.mark.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn cursors_go_there_and_back() {
        let first = Cursor::parse(None).unwrap();
        assert_eq!(first.clone().next("e.5", true).to_string(), "whole:e.5");
        let after = first.next("e.9", false);
        assert_eq!(after.to_string(), "delta:e.9");
        assert_eq!(Cursor::parse(Some("delta:e.9")), Some(after));
        for bad in ["", "9", "delta:", "torn:", "other:1", "delta:1 2", "no cursor of anybody"] {
            assert_eq!(Cursor::parse(Some(bad)), None, "{bad}");
        }
        assert_eq!(Cursor::parse(Some("whole:")).unwrap().mark(), None);
    }

    #[test]
    fn other_books_in_the_middle_of_a_whole_pass_ask_for_another() {
        let torn = Cursor::parse(Some("whole:e.5")).unwrap().started_over();
        assert!(torn.whole());
        let on = Cursor::parse(Some(&torn.next("f.3", true).to_string())).unwrap();
        assert_eq!((on.to_string().as_str(), on.whole()), ("torn:f.3", true));
        assert_eq!(on.next("f.9", false).to_string(), "whole:");
        let delta = Cursor::parse(Some("delta:e.5")).unwrap().started_over();
        assert_eq!(delta.next("f.9", false).to_string(), "delta:f.9");
    }
}
