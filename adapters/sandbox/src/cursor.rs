//! Where a pull goes on: the revision seen last, and whether this pass shows every record.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub whole: bool,
    pub revision: u64,
}

impl Cursor {
    /// No cursor starts a whole pass.
    pub fn parse(text: Option<&str>) -> Option<Cursor> {
        let Some(text) = text else { return Some(Cursor { whole: true, revision: 0 }) };
        let (kind, revision) = text.split_once(':')?;
        let whole = match kind {
            "whole" => true,
            "delta" => false,
            _ => return None,
        };
        Some(Cursor { whole, revision: revision.parse().ok()? })
    }

    /// After a page that ends at `revision`: this pass goes on, or the next one is a delta.
    pub fn next(self, revision: u64, more: bool) -> Cursor {
        Cursor { whole: self.whole && more, revision }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", if self.whole { "whole" } else { "delta" }, self.revision)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn cursors_go_there_and_back() {
        let first = Cursor::parse(None).unwrap();
        assert_eq!(first.next(5, true).to_string(), "whole:5");
        let after = first.next(9, false);
        assert_eq!(after.to_string(), "delta:9");
        assert_eq!(Cursor::parse(Some("delta:9")), Some(after));
        for bad in ["", "9", "delta:", "delta:-1", "other:1", "delta:1:2"] {
            assert_eq!(Cursor::parse(Some(bad)), None, "{bad}");
        }
    }
}
