//! Faults for the API's refusals, which are plain text.

use adapter_sdk::{
    Fault,
    http::{Response, fault_of_status},
    redact,
};
use serde_json::Value;

use crate::values;

/// Words of a 400 that is not about the request: the office could not be reached, or not in time.
const UNREACHED: [&str; 7] =
    ["econnector", "timed out", "timeout", "time-out", "could not connect", "unable to connect", "not reachable"];

/// Maps a response outside 200 to 299 to a fault. `reads`: the request changed nothing. `sent`: its body.
pub fn from_response(answer: &Response, reads: bool, sent: Option<&Value>) -> Fault {
    let said = explanation(answer);
    let lower = said.to_lowercase();
    match answer.status {
        400 if UNREACHED.iter().any(|words| lower.contains(words)) => {
            let reason = "the office's Open Dental could not be reached";
            if reads { Fault::retry_later(reason, None) } else { Fault::unknown(reason) }
        }
        // The same status for invalid keys and for methods without permission.
        401 if lower.contains("permission") => {
            Fault::unsupported("the developer key has no permission for this method")
        }
        410 => Fault::unsupported("this version of Open Dental has the method no more"),
        // From an intermediary, so it proves nothing about the record.
        400 | 404 | 405 | 409 | 415 | 422 if !explains(answer) => {
            let reason = format!("no explanation of Open Dental's came with the answer {}", answer.status);
            if reads { Fault::retry_later(reason, None) } else { Fault::unknown(reason) }
        }
        400 | 404 | 405 | 409 | 415 | 422 => Fault::rejected(reason(&said, answer.status, sent)),
        _ => fault_of_status(answer, reads),
    }
}

/// Returns `true` for an HTML page, which is from an intermediary.
pub fn is_page(answer: &Response) -> bool {
    answer.body.trim_ascii_start().first() == Some(&b'<')
}

/// Returns `true` for an explanation by the API, which is plain text. HTML pages and objects are from an intermediary.
pub fn explains(answer: &Response) -> bool {
    !matches!(answer.body.trim_ascii_start().first(), None | Some(b'<' | b'{'))
}

/// Returns the plain text, also from a JSON string. HTML pages of a proxy are no explanation.
fn explanation(answer: &Response) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let text = serde_json::from_str::<String>(text.trim()).unwrap_or_else(|_| text.into_owned());
    if text.trim_start().starts_with('<') { String::new() } else { text }
}

/// Known words of explanations, resources and fields, in addition to those of the request.
const VOCABULARY: &str = "A AdjType Adjustment Allergy AllergyDef An API Appointment AppointmentType AptNum AptStatus Bad Broken BadRequest \
    Can't Cannot Carrier Clinic Commlog Complete Content-Type Dental Definition DefNum Disease DiseaseDef FeeSched \
    Future-dated Guarantor I InsPlan InsSub Invalid JSON Medication Missing No Not NotFound Note Only Op Open Operatory \
    PatNum PatPlan PatPlans Patient Pattern PayPlan Payment Planned Procedure ProcNum Provider ProvNum Relationship \
    Scheduled The This Unable UnschedList";

/// Returns the explanation without patient data. It may contain names of other people, so every sent value is removed,
/// and every word with a capital or a non-ASCII letter outside the API's vocabulary.
fn reason(said: &str, status: u16, sent: Option<&Value>) -> String {
    let values: Vec<String> = sent.map(telling).unwrap_or_default();
    let is_field = |word: &str| sent.is_some_and(|sent| sent.get(word).is_some());
    let is_known = |word: &str| VOCABULARY.split_whitespace().any(|known| known == word) || is_field(word);
    let hides = |word: &str| !word.is_ascii() || (word.chars().any(char::is_uppercase) && !is_known(word));
    match redact::sentence(said, &values, hides) {
        none if none.is_empty() => format!("Open Dental answered {status}"),
        said => redact::shortened(&format!("Open Dental: {said}")),
    }
}

/// Returns the sent texts that may describe a person: at least two letters, except statuses.
fn telling(sent: &Value) -> Vec<String> {
    let form =
        |name: &str| name.ends_with("Status") || matches!(name, "Mode_" | "SentOrReceived" | "Relationship" | "Gender");
    let texts = redact::texts(sent)
        .into_iter()
        .filter(|(name, text)| !form(name) && text.chars().count() >= 2 && !matches!(*text, "true" | "false"));
    // The key after a note is ours; the note may be quoted without it.
    texts.flat_map(|(_, text)| [Some(text.to_owned()), values::note(text).text]).flatten().collect()
}
