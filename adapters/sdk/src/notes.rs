//! Write keys in notes, for an EHR without a field for them. A mark in brackets after the staff's text contains the key
//! of the write that created the record, and values that have no field in the EHR. Staff see the mark, may write after
//! it and may delete it.
//!
//! ```
//! use adapter_sdk::notes::{Note, Style};
//!
//! const STYLE: Style = Style { gap: " ", begin: "[ref:", between: " ", equals: ":" };
//!
//! let note = Note::new(Some("Called twice"), "ps-7-12").with("tx", Some("a 1"));
//! assert_eq!(STYLE.written(&note), "Called twice [ref:ps-7-12 tx:a%201]");
//! let read = STYLE.read("Called twice [ref:ps-7-12 tx:a%201] wants later");
//! assert_eq!((read.text.as_deref(), read.key.as_deref()), (Some("Called twice\nwants later"), Some("ps-7-12")));
//! assert_eq!(read.get("tx"), Some("a 1"));
//! ```

use crate::{
    http::{decode, encode},
    limits,
};

/// The format of a mark, which always ends with `]`: after the text, or on a separate line, such as
/// `[practice-sync ps-7-12; mode=phone]`. Keys and values in it are percent-encoded.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Separator between the text and the mark.
    pub gap: &'static str,
    /// Start of the mark, which staff would not type: `[ref:`.
    pub begin: &'static str,
    /// Separator before the name of each further value.
    pub between: &'static str,
    /// Separator between name and value.
    pub equals: &'static str,
}

/// A parsed note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The text by staff.
    pub text: Option<String>,
    /// The key of the write that created the record.
    pub key: Option<String>,
    /// Further values by name.
    pub pairs: Vec<(String, String)>,
}

/// Placeholder for a missing key.
const NO_KEY: &str = "-";

impl Style {
    /// Parses a note: the text before and after the last mark, and the mark's contents. A note without a mark is all
    /// text.
    pub fn read(&self, note: &str) -> Note {
        let last = |(at, begin): (usize, &str)| Some((&note[..at], note[at + begin.len()..].split_once(']')?));
        let Some((before, (mark, after))) = note.rmatch_indices(self.begin).find_map(last) else {
            return Note { text: some(note), ..Note::default() };
        };
        let parts: Vec<&str> = mark.split(self.between).collect();
        let first = parts.iter().skip(1).position(|part| part.contains(self.equals)).map_or(parts.len(), |n| n + 1);
        let (key, pairs) = (parts[..first].join(self.between), &parts[first..]);
        let pairs = pairs.iter().filter_map(|part| part.split_once(self.equals));
        let around = [before.trim_end(), after.trim()].into_iter().filter(|part| !part.is_empty());
        Note {
            text: some(&around.collect::<Vec<_>>().join("\n")),
            key: Some(key).filter(|key| key != NO_KEY).map(|key| decode(&key)),
            pairs: pairs.map(|(name, value)| (name.to_owned(), decode(value))).collect(),
        }
    }

    /// Formats the note for the EHR. Without key and values it is the text alone.
    pub fn written(&self, note: &Note) -> String {
        let text = note.text.as_deref().filter(|text| !text.trim().is_empty());
        let mark = match (&note.key, note.pairs.as_slice()) {
            (None, []) => return text.unwrap_or_default().to_owned(),
            (key, pairs) => {
                let pair = |(name, value): &(String, String)| {
                    format!("{}{name}{}{}", self.between, self.equals, encode(value))
                };
                let key = key.as_deref().map_or_else(|| NO_KEY.to_owned(), encode);
                format!("{}{key}{}]", self.begin, pairs.iter().map(pair).collect::<String>())
            }
        };
        text.map_or_else(|| mark.clone(), |text| format!("{text}{}{mark}", self.gap))
    }

    /// Returns `true` if the write with this key created the record.
    pub fn carries(&self, note: &str, key: &str) -> bool {
        self.read(note).carries(key)
    }

    /// Returns texts to search for. Each note with this key contains one of them; few other notes do.
    pub fn searches(&self, key: &str) -> [String; 2] {
        let goes_on = self.between.chars().take(1).collect();
        ["]".to_owned(), goes_on].map(|end| format!("{}{}{end}", self.begin, encode(key)))
    }
}

impl Note {
    /// Creates a note with its key.
    pub fn new(text: Option<&str>, key: &str) -> Note {
        Note { text: text.map(str::to_owned), key: Some(key.to_owned()), pairs: Vec::new() }
    }

    /// Sets or removes a value.
    pub fn with(mut self, name: &str, value: Option<&str>) -> Note {
        self.set(name, value);
        self
    }

    /// Sets or removes a value in place.
    pub fn set(&mut self, name: &str, value: Option<&str>) {
        self.pairs.retain(|(held, _)| held != name);
        self.pairs.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }

    /// Returns `true` if the write with this key created the record.
    pub fn carries(&self, key: &str) -> bool {
        self.key.as_deref() == Some(key)
    }

    /// Returns the value of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of this name if it is a valid id, because staff can edit the mark.
    pub fn id(&self, name: &str) -> Option<String> {
        self.get(name).filter(|id| limits::is_id(id)).map(str::to_owned)
    }
}

/// Compares two texts without regard to white space, because EHRs change it.
pub fn same_text(one: Option<&str>, other: Option<&str>) -> bool {
    one.unwrap_or_default().split_whitespace().eq(other.unwrap_or_default().split_whitespace())
}

fn some(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Style = Style { gap: " ", begin: "[ref:", between: " ", equals: ":" };
    const LINE: Style = Style { gap: "\n\n", begin: "[practice-sync ", between: "; ", equals: "=" };

    #[test]
    fn notes_round_trip() {
        let key = "ps-7-12-00ff00ff00ff00ff";
        let plain = SHORT.written(&Note::new(Some("Checkup – läuft"), key));
        assert_eq!(plain, "Checkup – läuft [ref:ps-7-12-00ff00ff00ff00ff]");
        for style in [SHORT, LINE] {
            for text in
                [None, Some("Asked [for] a [ref"), Some("a\nb"), Some("Łopata; a=b]"), Some("[practice-sync is")]
            {
                for note in [Note::new(text, key), Note::new(text, "k ]1").with("tx", Some("tx:] 9;\n100%"))] {
                    assert_eq!(style.read(&style.written(&note)), note, "{text:?}");
                }
            }
        }
        let keyless = Note { key: None, ..Note::default() }.with("mode", Some("mail"));
        assert_eq!(LINE.written(&keyless), "[practice-sync -; mode=mail]");
        assert_eq!(LINE.read("[practice-sync -; mode=mail]"), keyless);
        assert_eq!(LINE.written(&keyless.with("mode", None)), "");
        let at = Note::new(Some("note"), "ps-7-12").with("at", Some("2026-12-01T10:00:00Z"));
        assert_eq!(LINE.written(&at), "note\n\n[practice-sync ps-7-12; at=2026-12-01T10%3A00%3A00Z]");
        let replaced =
            LINE.read("[practice-sync ps-1; slot=yes; mode=text]").with("slot", None).with("mode", Some("mail"));
        assert_eq!(LINE.written(&replaced), "[practice-sync ps-1; mode=mail]");
        assert_eq!(LINE.written(&Note::new(None, "a b%")), "[practice-sync a%20b%25]");
    }

    #[test]
    fn text_by_staff_is_preserved() {
        for text in ["", "  ", "by telephone", "[ref:", "see [ref 5]"] {
            assert_eq!(SHORT.read(text), Note { text: some(text), ..Note::default() }, "{text}");
        }
        let below = LINE.read("above\n\n[practice-sync ps-1]\nbelow");
        assert_eq!((below.text.as_deref(), below.key.as_deref()), (Some("above\nbelow"), Some("ps-1")));
        assert_eq!(SHORT.read("Called [ref:k-1]\r\nwants later").text.as_deref(), Some("Called\nwants later"));
        let line = LINE.read("by card [practice-sync ps-1]");
        assert_eq!((line.text.as_deref(), line.key.as_deref()), (Some("by card"), Some("ps-1")));
        // A mark that staff begin but do not close hides no earlier mark.
        let begun = LINE.read("[practice-sync ps-1]\nsee [practice-sync ");
        assert_eq!((begun.text.as_deref(), begun.key.as_deref()), (Some("see [practice-sync"), Some("ps-1")));
        assert_eq!(LINE.read("[practice-sync ps-1"), Note { text: some("[practice-sync ps-1"), ..Note::default() });
        // A mark with a space in its key was written by staff and is read unchanged.
        assert_eq!(SHORT.read("[ref: invoice 12]").key.as_deref(), Some(" invoice 12"));
    }

    #[test]
    fn a_key_does_not_match_a_longer_one() {
        for (note, carries) in
            [("x [ref:k-1]", true), ("x [ref:k-1 tx:5]", true), ("x [ref:k-11]", false), ("k-1", false)]
        {
            assert_eq!(SHORT.carries(note, "k-1"), carries, "{note}");
            assert_eq!(SHORT.searches("k-1").iter().any(|text| note.contains(text)), carries, "{note}");
        }
        assert_eq!(LINE.searches("k-1"), ["[practice-sync k-1]", "[practice-sync k-1;"]);
        assert!(
            same_text(Some("a  b\r\nc"), Some("a b c")) && same_text(None, Some(" ")) && !same_text(None, Some("a"))
        );
    }
}
