//! Faults for the EHR's refusals. The EHR answers 200 to every valid call. A refusal is an `error` in the body, and its
//! transaction is rolled back.

use std::iter;

use adapter_sdk::{
    Fault, RetryLater,
    http::{Response, fault_of_status},
    redact::{shortened, texts, without},
};
use serde_json::Value;

/// Failed logins are counted for the lifetime of a session, five minutes by default.
const LOCKED_SECONDS: u32 = 300;
/// Words before the quoted name of a field or a model, which contains no patient data.
const BEFORE_LABELS: [&str; 4] = ["field", "of", "access", "in"];
/// Capitalised words in the EHR's own messages that are not names.
const VOCABULARY: &str = "Patient Appointment Health Institution Professional Federation Account Official Page PUID ID CODE LICENSE END IS BEFORE";

/// An error of the EHR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The class of the exception, or the text of an exception that is not the EHR's own.
    pub kind: String,
    pub message: String,
}

impl Refusal {
    /// Parses `["UserError", ["text", "description", domain]]`, `["UserWarning", ["name", "text", ...]]`,
    /// `["ConcurrencyException", "text"]`, `["'key'", "traceback"]`.
    pub fn parse(error: &Value) -> Refusal {
        let kind = error[0].as_str().unwrap_or_default().to_owned();
        let texts = error[1].as_array();
        let at = usize::from(kind == "UserWarning");
        let message = texts.and_then(|texts| texts.get(at)?.as_str()).or(error[1].as_str()).unwrap_or_default();
        Refusal { kind, message: message.to_owned() }
    }

    /// Returns `true` if the records were changed since their `_timestamp` was read.
    pub fn is_stale(&self) -> bool {
        self.kind == "ConcurrencyException"
    }

    /// Maps the refusal to a fault. `sent`: the parameters of the call.
    pub fn fault(&self, sent: &Value) -> Fault {
        match self.kind.as_str() {
            "UserError" | "UserWarning" => Fault::rejected(reason(&self.message, sent)),
            "ConcurrencyException" => Fault::retry_later("the record was changed in the EHR meanwhile", None),
            "LoginException" => Fault::unauthorized("the EHR asks for another way to log in"),
            // An internal error: a busy database, or one that does not support the call. Nothing was written.
            _ => Fault::retry_later("the EHR failed at it", None),
        }
    }
}

/// Maps a status other than 200 to a fault. `reads`: the call changed nothing.
pub fn from_status(answer: &Response, reads: bool) -> Fault {
    match answer.status {
        401 => Fault::unauthorized("the EHR does not accept the user name or the password"),
        403 => Fault::unsupported("the EHR does not offer this call: a module is missing"),
        404 => Fault::retry_later("the base URL names no database of the EHR", None),
        429 => match fault_of_status(answer, reads) {
            // The EHR itself sends no delay.
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
        reason if reason.is_empty() => "the EHR refuses it".into(),
        reason => reason,
    }
}

/// Removes patient data from the EHR's message: sent values, quotations other than names of fields or models, long
/// numbers, mail addresses, non-ASCII words, and capitalised words within a sentence.
fn without_data(text: &str, sent: &Value) -> String {
    let texts = texts(sent).into_iter().map(|(_, text)| text);
    let values: Vec<&str> = texts
        .flat_map(|text| iter::once(text).chain(text.split_whitespace()))
        .filter(|text| may_describe_person(text))
        .collect();
    let mut reason = String::new();
    let mut parts = text.split('"').enumerate().peekable();
    while let Some((n, part)) = parts.next() {
        if n % 2 == 0 {
            let free = without(part, values.iter().copied());
            let begins = n == 0;
            let words = free.split_whitespace().enumerate().map(|(w, word)| masked(word, begins && w == 0));
            let words: Vec<String> = words.collect();
            let gap = if reason.is_empty() || part.starts_with(['.', ',', ')', ':']) { "" } else { " " };
            reason = format!("{reason}{gap}{}", words.join(" "));
        } else {
            // `in "Doe, Jo" of "Party"` names a record, `in "Party".` a model.
            let record = parts.peek().is_some_and(|(_, next)| next.starts_with(" of"));
            let before = reason.rsplit(' ').next().unwrap_or_default();
            let label = BEFORE_LABELS.contains(&before) && !(before == "in" && record);
            reason = format!("{reason} {}", if label { format!("“{part}”") } else { "…".into() });
        }
    }
    reason
}

fn masked(word: &str, first: bool) -> String {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
    // `SM-CORE-0007` is the number of a message of the EHR.
    let code = bare.starts_with("SM-") && bare.is_ascii();
    let capital = bare.chars().next().is_some_and(char::is_uppercase) && !code;
    let starts = first || VOCABULARY.split_whitespace().any(|known| known == bare);
    let hides = (digits > 3 && !code) || word.contains('@') || (!word.is_ascii() && word != "…");
    if hides || (capital && !starts && bare.len() > 1) { "…".into() } else { word.to_owned() }
}

/// Returns `true` if a sent text may describe a person. Removing short texts and protocol words would only make the
/// message unreadable.
fn may_describe_person(text: &str) -> bool {
    text.chars().count() > 2 && !text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}
