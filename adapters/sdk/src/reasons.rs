//! What an EHR says of a refusal in sentences, on the way to a reason without patient data. Which words of a sentence are harmless is the
//! EHR's own matter; that nothing is repeated of what was sent, and that no reason grows long, is the same for all.
//!
//! ```
//! use adapter_sdk::reasons;
//! use serde_json::json;
//!
//! let sent = json!({"status": "booked", "name": [{"family": "Doe", "text": "Jo Doe"}]});
//! let values = reasons::texts(&sent).into_iter().filter(|(field, _)| *field != "status").map(|(_, text)| text);
//! assert_eq!(reasons::without("booked for Jo Doe, a \"Doe\"", values), "booked for …, a \"…\"");
//! assert_eq!(reasons::unquoted("no \"X\" here"), "no … here");
//! ```

use std::cmp::Reverse;

use serde_json::Value;

/// The longest reason, in characters.
const LONGEST: usize = 240;

/// Every text of what was sent, with the name of the field it stands in.
pub fn texts(sent: &Value) -> Vec<(&str, &str)> {
    fn collect<'a>(name: &'a str, value: &'a Value, into: &mut Vec<(&'a str, &'a str)>) {
        match value {
            Value::String(text) => into.push((name, text)),
            Value::Array(items) => items.iter().for_each(|item| collect(name, item, into)),
            Value::Object(fields) => fields.iter().for_each(|(name, field)| collect(name, field, into)),
            _ => (),
        }
    }
    let mut texts = Vec::new();
    collect("", sent, &mut texts);
    texts
}

/// A sentence without these values.
pub fn without<'a>(said: &str, values: impl IntoIterator<Item = &'a str>) -> String {
    let mut values: Vec<&str> = values.into_iter().collect();
    // The longest first: a name may be part of another.
    values.sort_by_key(|value| Reverse(value.len()));
    values.into_iter().fold(said.to_owned(), |said, value| said.replace(value, "…"))
}

/// A sentence without what stands in quotes.
pub fn unquoted(said: &str) -> String {
    said.split(['"', '“', '”']).enumerate().map(|(n, part)| if n % 2 == 0 { part } else { "…" }).collect()
}

/// A reason that is not too long.
pub fn shortened(reason: &str) -> String {
    match reason.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &reason[..at]),
        None => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_found_on_every_level() {
        let sent = json!({"a": ["x", {"b": "y"}], "n": 5, "c": null});
        assert_eq!(texts(&sent), [("a", "x"), ("b", "y")]);
    }

    #[test]
    fn what_is_long_is_cut_between_letters() {
        assert_eq!(shortened("ż"), "ż");
        assert_eq!(shortened(&"ż".repeat(300)).chars().count(), LONGEST + 1);
    }
}
