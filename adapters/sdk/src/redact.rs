//! Removal of patient data from an EHR's messages.

use std::cmp::Reverse;

use serde_json::Value;

/// Maximum length of a reason.
const MAX_REASON: usize = 240;

/// Keeps letters, digits and separators of a short code, such as an EHR's reason code. Codes do not name a patient,
/// unlike sentences.
///
/// ```
/// assert_eq!(adapter_sdk::redact::word("slot_taken"), "slot_taken");
/// assert_eq!(adapter_sdk::redact::word("Zoë\n\"1990\""), "Zo1990");
/// ```
pub fn word(code: &str) -> String {
    code.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')).take(40).collect()
}

/// Returns the reason of a refusal: our sentence for a known code, else the code.
///
/// ```
/// let known = [("slot_taken", "the operatory is occupied at that time")];
/// assert_eq!(adapter_sdk::redact::refusal("slot_taken", &known), "the operatory is occupied at that time");
/// assert_eq!(adapter_sdk::redact::refusal("no_chair", &known), "the EHR refuses it: no_chair");
/// ```
pub fn refusal(code: &str, known: &[(&str, &str)]) -> String {
    let known = known.iter().find(|(word, _)| *word == code);
    known.map_or_else(|| format!("the EHR refuses it: {}", word(code)), |(_, why)| (*why).to_owned())
}

/// Removes from an EHR's sentence: sent values, quotations, mail addresses, numbers of more than three digits, and
/// words for which `hides` returns `true`. `hides` gets each word without surrounding punctuation.
///
/// ```
/// let text = "No Zoë Ash, \"Jane\", 1990-02-28, j@d.example for Op";
/// assert_eq!(adapter_sdk::redact::sentence(text, &["Zoë Ash"], |_| false), "No …, …, … … for Op");
/// assert_eq!(adapter_sdk::redact::sentence("Not for Jim", &[""; 0], |word| word == "Jim"), "Not for …");
/// ```
pub fn sentence(text: &str, sent: &[impl AsRef<str>], hides: impl Fn(&str) -> bool) -> String {
    let text = without(text, sent.iter().map(AsRef::as_ref));
    let unquoted = text.split(['"', '“', '”']).enumerate().map(|(n, part)| if n % 2 == 0 { part } else { "…" });
    let shown = |word: &str| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        if digits > 3 || word.contains('@') || hides(bare) { "…".to_owned() } else { word.to_owned() }
    };
    unquoted.collect::<String>().split_whitespace().map(shown).collect::<Vec<_>>().join(" ")
}

/// Removes the values from a sentence.
pub fn without<'a>(text: &str, values: impl IntoIterator<Item = &'a str>) -> String {
    let mut values: Vec<&str> = values.into_iter().filter(|value| !value.is_empty()).collect();
    // The longest first, because a name may be part of another.
    values.sort_by_key(|value| Reverse(value.len()));
    values.into_iter().fold(text.to_owned(), |text, value| text.replace(value, "…"))
}

/// Returns every text in a JSON value with the name of its field, for removal from a [`sentence`].
pub fn texts(json: &Value) -> Vec<(&str, &str)> {
    fn collect<'a>(value: &'a Value, name: &'a str, into: &mut Vec<(&'a str, &'a str)>) {
        match value {
            Value::String(text) => into.push((name, text)),
            Value::Array(items) => items.iter().for_each(|item| collect(item, name, into)),
            Value::Object(fields) => fields.iter().for_each(|(name, field)| collect(field, name, into)),
            _ => (),
        }
    }
    let mut texts = Vec::new();
    collect(json, "", &mut texts);
    texts
}

/// Shortens a reason to 240 characters.
pub fn shortened(reason: &str) -> String {
    match reason.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", &reason[..at]),
        None => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sent_values_are_removed_from_a_sentence() {
        let sent = json!({"name": [{"family": "Ash", "given": ["Zoë Ashley"]}], "born": 1990, "died": null});
        assert_eq!(texts(&sent), [("family", "Ash"), ("given", "Zoë Ashley")]);
        let values: Vec<&str> = texts(&sent).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            sentence("Zoë Ashley of the Ash family, +1 312 555 0100", &values, |_| false),
            "… of the … family, +1 312 555 …"
        );
    }

    #[test]
    fn reasons_are_short() {
        assert_eq!(shortened("ü").as_str(), "ü");
        assert_eq!(shortened(&"ü".repeat(300)).chars().count(), MAX_REASON + 1);
    }
}
