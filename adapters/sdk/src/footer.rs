//! The last line of a free text in an EHR that has no field for what must be found again: the write key, and what its form has no place
//! for. `[practice-sync ps-7-12; mode=phone]`. Staff see it and may delete it; the rest of the text is theirs.
//!
//! ```
//! use adapter_sdk::footer::Text;
//!
//! let written = Text::new(Some("called back"), "ps-7-12").with("mode", Some("phone")).to_string();
//! assert_eq!(written, "called back\n\n[practice-sync ps-7-12; mode=phone]");
//! // Staff have gone on writing below.
//! let read = Text::of(Some(&format!("{written}\nand again")));
//! assert_eq!(read.note.as_deref(), Some("called back\nand again"));
//! assert!(read.carries("ps-7-12") && read.footer.get("mode") == Some("phone"));
//! ```

use std::fmt;

use crate::{http::encode, limits};

const BEGIN: &str = "[practice-sync ";

/// A free text, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// What people wrote.
    pub note: Option<String>,
    /// What we did.
    pub footer: Footer,
}

/// Our line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footer {
    /// The key of the write that made the text.
    pub key: Option<String>,
    /// What the EHR's form has no place for: names and values.
    pub pairs: Vec<(String, String)>,
}

impl Text {
    /// What stands in front of our line and behind it: staff may have gone on writing below it.
    pub fn of(text: Option<&str>) -> Text {
        let lines: Vec<&str> = text.unwrap_or_default().lines().collect();
        let found = lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, Footer::at_end(line)?)));
        let Some((at, (same_line, footer))) = found else {
            return Text { note: text.filter(|t| !t.trim().is_empty()).map(str::to_owned), footer: Footer::default() };
        };
        let (before, after) = (lines[..at].join("\n"), lines[at + 1..].join("\n"));
        let parts = [before.trim_end(), same_line, after.trim()].into_iter().filter(|part| !part.is_empty());
        let note = Some(parts.collect::<Vec<_>>().join("\n")).filter(|note| !note.is_empty());
        Text { note, footer }
    }

    /// A new text with its write key.
    pub fn new(note: Option<&str>, key: &str) -> Text {
        let note = note.filter(|note| !note.trim().is_empty()).map(str::to_owned);
        Text { note, footer: Footer { key: Some(key.to_owned()), pairs: Vec::new() } }
    }

    /// The text with one more value; none takes it away.
    pub fn with(mut self, name: &str, value: Option<&str>) -> Text {
        self.footer.set(name, value);
        self
    }

    /// Whether the write of this key made it.
    pub fn carries(&self, key: &str) -> bool {
        self.footer.key.as_deref() == Some(key)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let footer = self.footer.to_string();
        match &self.note {
            Some(note) if footer.is_empty() => f.write_str(note),
            Some(note) => write!(f, "{note}\n\n{footer}"),
            None => f.write_str(&footer),
        }
    }
}

impl Footer {
    /// What a line says before its footer, and that. A field of one line has both in it.
    fn at_end(line: &str) -> Option<(&str, Footer)> {
        let (before, inner) = line.trim().strip_suffix(']')?.rsplit_once(BEGIN)?;
        Some((before.trim_end(), Footer::parse(inner)))
    }

    fn parse(inner: &str) -> Footer {
        let mut parts = inner.split("; ");
        let key = parts.next().filter(|key| *key != "-").map(decode);
        let pairs = parts.filter_map(|part| part.split_once('=')).map(|(name, value)| (name.to_owned(), decode(value)));
        Footer { key, pairs: pairs.collect() }
    }

    /// A value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }

    /// A value that can be an id.
    pub fn id(&self, name: &str) -> Option<String> {
        self.get(name).filter(|id| limits::is_id(id)).map(str::to_owned)
    }

    /// Sets a value, or takes it away.
    pub fn set(&mut self, name: &str, value: Option<&str>) {
        self.pairs.retain(|(held, _)| held != name);
        self.pairs.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }
}

/// Empty for an empty footer.
impl fmt::Display for Footer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_none() && self.pairs.is_empty() {
            return Ok(());
        }
        write!(f, "{BEGIN}{}", self.key.as_deref().map_or("-".to_owned(), encode))?;
        for (name, value) in &self.pairs {
            write!(f, "; {name}={}", encode(value))?;
        }
        f.write_str("]")
    }
}

/// Patterns for SQL's `LIKE`: every text with this write key matches one of them, and hardly any other does.
pub fn patterns(key: &str) -> [String; 2] {
    [']', ';'].map(|end| format!("%{BEGIN}{}{end}%", encode(key)))
}

/// The inverse of the SDK's `encode`; what was not encoded by it stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let pair = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_go_there_and_back() {
        for note in [None, Some("Łopata; a=b]"), Some("two\nlines\n\nand more"), Some("[practice-sync is our engine")]
        {
            let text = Text::new(note, "ps-7-12").with("mode", Some("in person; by [phone]\n100%")).with("x", None);
            assert_eq!(Text::of(Some(&text.to_string())), text);
        }
        let text = Text::new(Some("note"), "ps-7-12").with("at", Some("2026-12-01T10:00:00Z"));
        assert_eq!(text.to_string(), "note\n\n[practice-sync ps-7-12; at=2026-12-01T10%3A00%3A00Z]");
        assert_eq!(Text::new(None, "a b%").to_string(), "[practice-sync a%20b%25]");
    }

    #[test]
    fn what_staff_write_is_theirs() {
        assert_eq!(Text::of(None), Text::default());
        assert_eq!(Text::of(Some("  \n")), Text::default());
        let plain = Text::of(Some("no line of ours"));
        assert_eq!((plain.note.as_deref(), plain.to_string().as_str()), (Some("no line of ours"), "no line of ours"));
        let below = Text::of(Some("above\n\n[practice-sync ps-1]\nbelow"));
        assert_eq!((below.note.as_deref(), below.footer.key.as_deref()), (Some("above\nbelow"), Some("ps-1")));
        let line = Text::of(Some("by card [practice-sync ps-1]"));
        assert_eq!((line.note.as_deref(), line.footer.key.as_deref()), (Some("by card"), Some("ps-1")));
        let half = Text::of(Some("[practice-sync ps-1"));
        assert_eq!(half.footer, Footer::default());
    }

    #[test]
    fn a_pair_is_replaced() {
        let text =
            Text::of(Some("[practice-sync ps-1; slot=yes; mode=text]")).with("slot", None).with("mode", Some("mail"));
        assert_eq!(text.to_string(), "[practice-sync ps-1; mode=mail]");
        let keyless = Text { note: None, footer: Footer { key: None, pairs: vec![("a".into(), "b".into())] } };
        assert_eq!(Text::of(Some(&keyless.to_string())), keyless);
        let [alone, followed] = patterns("ps-1");
        assert_eq!((alone.as_str(), followed.as_str()), ("%[practice-sync ps-1]%", "%[practice-sync ps-1;%"));
    }
}
