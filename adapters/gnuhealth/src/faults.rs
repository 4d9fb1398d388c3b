//! What the EHR's refusals mean for the engine. It answers 200 to everything it understood: a refusal is an `error` in the body, and its
//! transaction is undone.

use std::iter;

use adapter_sdk::{
    Fault, RetryLater,
    http::{Response, fault_of_status},
    redact::{shortened, texts, without},
};
use serde_json::Value;

/// Attempts with a wrong password are counted for as long as a session lasts, five minutes by default.
const LOCKED_SECONDS: u32 = 300;
/// What stands before the name of a field or a model, which is no patient's.
const BEFORE_LABELS: [&str; 4] = ["field", "of", "access", "in"];
/// Words with a capital letter in the EHR's own messages that name nobody.
const VOCABULARY: &str = "Patient Appointment Health Institution Professional Federation Account Official Page PUID ID CODE LICENSE END IS BEFORE";

/// What the EHR says instead of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The class of the exception, or, for one that is none of the EHR's own, its text.
    pub kind: String,
    pub message: String,
}

impl Refusal {
    /// `["UserError", ["text", "description", domain]]`, `["UserWarning", ["name", "text", ...]]`, `["ConcurrencyException", "text"]`,
    /// `["'key'", "traceback"]`.
    pub fn of(error: &Value) -> Refusal {
        let kind = error[0].as_str().unwrap_or_default().to_owned();
        let texts = error[1].as_array();
        let at = usize::from(kind == "UserWarning");
        let message = texts.and_then(|texts| texts.get(at)?.as_str()).or(error[1].as_str()).unwrap_or_default();
        Refusal { kind, message: message.to_owned() }
    }

    /// The records were changed since their `_timestamp` was read.
    pub fn is_stale(&self) -> bool {
        self.kind == "ConcurrencyException"
    }

    /// `sent`: the parameters of the call.
    pub fn fault(&self, sent: &Value) -> Fault {
        match self.kind.as_str() {
            "UserError" | "UserWarning" => Fault::rejected(reason(&self.message, sent)),
            "ConcurrencyException" => Fault::retry_later("the record was changed in the EHR meanwhile", None),
            "LoginException" => Fault::unauthorized("the EHR asks for another way to log in"),
            // A fault inside the EHR: a database that is busy, or one that does not know our call. Nothing was written.
            _ => Fault::retry_later("the EHR failed at it", None),
        }
    }
}

/// The fault of an answer other than 200. `reads`: the call changed nothing.
pub fn of_status(answer: &Response, reads: bool) -> Fault {
    match answer.status {
        401 => Fault::unauthorized("the EHR does not accept the user name or the password"),
        403 => Fault::unsupported("the EHR does not offer this call: a module is missing"),
        404 => Fault::retry_later("the base URL names no database of the EHR", None),
        429 => match fault_of_status(answer, reads) {
            // The EHR itself names no time.
            Fault::RetryLater(RetryLater { reason, seconds }) => {
                Fault::retry_later(reason, seconds.or(Some(LOCKED_SECONDS)))
            }
            other => other,
        },
        _ => fault_of_status(answer, reads),
    }
}

fn reason(message: &str, sent: &Value) -> String {
    match shortened(without_data(message, sent).trim()) {
        said if said.is_empty() => "the EHR refuses it".into(),
        said => said,
    }
}

/// The EHR's text without anything that may tell of a person: the values that were sent, what is quoted and no name of a field or a
/// model, long numbers, addresses of mail, words in other scripts, and capitalised words inside a sentence.
fn without_data(text: &str, sent: &Value) -> String {
    let texts = texts(sent).into_iter().map(|(_, text)| text);
    let values: Vec<&str> =
        texts.flat_map(|text| iter::once(text).chain(text.split_whitespace())).filter(|text| tells(text)).collect();
    let mut said = String::new();
    let mut parts = text.split('"').enumerate().peekable();
    while let Some((n, part)) = parts.next() {
        if n % 2 == 0 {
            let free = without(part, values.iter().copied());
            let begins = n == 0;
            let words = free.split_whitespace().enumerate().map(|(w, word)| masked(word, begins && w == 0));
            let words: Vec<String> = words.collect();
            let gap = if said.is_empty() || part.starts_with(['.', ',', ')', ':']) { "" } else { " " };
            said = format!("{said}{gap}{}", words.join(" "));
        } else {
            // `in "Doe, Jo" of "Party"` names a record, `in "Party".` a model.
            let record = parts.peek().is_some_and(|(_, next)| next.starts_with(" of"));
            let before = said.rsplit(' ').next().unwrap_or_default();
            let label = BEFORE_LABELS.contains(&before) && !(before == "in" && record);
            said = format!("{said} {}", if label { format!("“{part}”") } else { "…".into() });
        }
    }
    said
}

fn masked(word: &str, first: bool) -> String {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
    // `SM-CORE-0007` is the EHR's own number of a message.
    let code = bare.starts_with("SM-") && bare.is_ascii();
    let capital = bare.chars().next().is_some_and(char::is_uppercase) && !code;
    let starts = first || VOCABULARY.split_whitespace().any(|known| known == bare);
    let hides = (digits > 3 && !code) || word.contains('@') || (!word.is_ascii() && word != "…");
    if hides || (capital && !starts && bare.len() > 1) { "…".into() } else { word.to_owned() }
}

/// Of a text that was sent: it can tell something of a person. What is short or a word of the protocol would only tear holes into the EHR's
/// sentence.
fn tells(text: &str) -> bool {
    text.chars().count() > 2 && !text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}
