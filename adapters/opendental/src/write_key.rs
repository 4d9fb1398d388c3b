//! Where write keys are kept: at the end of a note, in brackets. The API has no field for them, and without them a reply that was lost
//! cannot be told from an entry staff made. They are taken out of whatever is shown.

use adapter_sdk::http::encode;

const OPEN: &str = "[ref:";
const TRANSACTION: &str = " tx:";

/// A note of a row, without what we wrote behind it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Note {
    pub text: Option<String>,
    pub key: Option<String>,
    /// Identifier of a payment's transaction at its processor.
    pub transaction: Option<String>,
}

/// A note with its key behind it.
pub fn written(text: Option<&str>, key: &str, transaction: Option<&str>) -> String {
    let transaction = transaction.map(|id| format!("{TRANSACTION}{}", encode(id))).unwrap_or_default();
    let text = text.map(str::trim).filter(|text| !text.is_empty()).map(|text| format!("{text} ")).unwrap_or_default();
    format!("{text}{OPEN}{}{transaction}]", encode(key))
}

/// The EHR gives line breaks back as spaces, and staff may write on behind our brackets.
pub fn read(note: &str) -> Note {
    let Some((before, rest)) = note.rsplit_once(OPEN) else { return Note { text: some(note), ..Note::default() } };
    let Some((mark, after)) = rest.split_once(']') else { return Note { text: some(note), ..Note::default() } };
    let (key, transaction) = match mark.split_once(TRANSACTION) {
        Some((key, id)) => (key, Some(decode(id))),
        None => (mark, None),
    };
    let parts = [before.trim(), after.trim()];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    Note { text: some(&text), key: Some(decode(key)), transaction }
}

pub fn carries(note: &str, key: &str) -> bool {
    read(note).key.as_deref() == Some(key)
}

/// The same words: the EHR changes white space.
pub fn same_text(one: Option<&str>, other: Option<&str>) -> bool {
    let words = |text: Option<&str>| text.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    words(one) == words(other)
}

fn some(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(escaped) => {
                decoded.push(escaped);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: Option<&str>, key: &str, transaction: Option<&str>) -> Note {
        Note { text: text.map(str::to_owned), key: Some(key.into()), transaction: transaction.map(str::to_owned) }
    }

    #[test]
    fn notes_go_there_and_back() {
        let key = "ps-7-12-00ff00ff00ff00ff";
        assert_eq!(written(Some("Checkup – läuft"), key, None), "Checkup – läuft [ref:ps-7-12-00ff00ff00ff00ff]");
        for text in [None, Some("Asked [for] a [ref"), Some("a\nb")] {
            assert_eq!(read(&written(text, key, None)), note(text, key, None), "{text:?}");
            let paid = written(text, "k ]1", Some("tx:] 9"));
            assert_eq!(read(&paid), note(text, "k ]1", Some("tx:] 9")), "{text:?}");
        }
        assert_eq!(read("Called [ref:k-1]\r\nwants later"), note(Some("Called\nwants later"), "k-1", None));
    }

    #[test]
    fn other_notes_are_left_alone() {
        for text in ["", "  ", "by telephone", "[ref:", "see [ref 5]"] {
            assert_eq!(read(text), Note { text: some(text), ..Note::default() }, "{text}");
        }
        assert!(carries("x [ref:k-1]", "k-1") && !carries("x [ref:k-1]", "k-11") && !carries("k-1", "k-1"));
        assert!(
            same_text(Some("a  b\r\nc"), Some("a b c")) && same_text(None, Some(" ")) && !same_text(None, Some("a"))
        );
    }
}
