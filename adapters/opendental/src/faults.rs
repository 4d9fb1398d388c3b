//! What the API's refusals mean for the engine. They are plain text for people.

use adapter_sdk::{
    Fault,
    http::{Response, fault_of_status},
    redact,
};
use serde_json::Value;

use crate::values;

/// What a 400 says when it is not about the request: the office could not be reached, or not in time.
const UNREACHED: [&str; 7] =
    ["econnector", "timed out", "timeout", "time-out", "could not connect", "unable to connect", "not reachable"];

/// The fault of an answer outside 200 to 299. `reads`: the request changed nothing. `sent`: the body it carried.
pub fn of_answer(answer: &Response, reads: bool, sent: Option<&Value>) -> Fault {
    let said = explanation(answer);
    let lower = said.to_lowercase();
    match answer.status {
        400 if UNREACHED.iter().any(|words| lower.contains(words)) => {
            let reason = "the office's Open Dental could not be reached";
            if reads { Fault::retry_later(reason, None) } else { Fault::unknown(reason) }
        }
        // One status for wrong keys and for methods the developer key may not use.
        401 if lower.contains("permission") => {
            Fault::unsupported("the developer key has no permission for this method")
        }
        410 => Fault::unsupported("this version of Open Dental has the method no more"),
        // Somebody in between, who says nothing about the record.
        400 | 404 | 405 | 409 | 415 | 422 if !explains(answer) => {
            let reason = format!("no explanation of Open Dental's came with the answer {}", answer.status);
            if reads { Fault::retry_later(reason, None) } else { Fault::unknown(reason) }
        }
        400 | 404 | 405 | 409 | 415 | 422 => Fault::rejected(reason(&said, answer.status, sent)),
        _ => fault_of_status(answer, reads),
    }
}

/// The API explains itself in plain text. Pages and objects are of somebody in between.
pub fn explains(answer: &Response) -> bool {
    !matches!(answer.body.trim_ascii_start().first(), None | Some(b'<' | b'{'))
}

/// Plain text, or a JSON string of it. Pages of a proxy in between explain nothing.
fn explanation(answer: &Response) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let text = serde_json::from_str::<String>(text.trim()).unwrap_or_else(|_| text.into_owned());
    if text.trim_start().starts_with('<') { String::new() } else { text }
}

/// Words of explanations, resources and fields beside those of a request.
const VOCABULARY: &str = "A AdjType Adjustment Allergy AllergyDef An API Appointment AppointmentType AptNum AptStatus Bad Broken BadRequest \
    Can't Cannot Carrier Clinic Commlog Complete Content-Type Dental Definition DefNum Disease DiseaseDef FeeSched \
    Future-dated Guarantor I InsPlan InsSub Invalid JSON Medication Missing No Not NotFound Note Only Op Open Operatory \
    PatNum PatPlan PatPlans Patient Pattern PayPlan Payment Planned Procedure ProcNum Provider ProvNum Relationship \
    Scheduled The This Unable UnschedList";

/// The explanation without patient data. It may name people we did not: every value that was sent is taken out, and every word with a capital or
/// a letter beyond ASCII that is not of the API's own vocabulary.
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

/// What was sent that can tell something of a person: texts other than statuses, of two letters at least.
fn telling(sent: &Value) -> Vec<String> {
    let form =
        |name: &str| name.ends_with("Status") || matches!(name, "Mode_" | "SentOrReceived" | "Relationship" | "Gender");
    let texts = redact::texts(sent)
        .into_iter()
        .filter(|(name, text)| !form(name) && text.chars().count() >= 2 && !matches!(*text, "true" | "false"));
    // The key behind a note is ours; the note alone may be quoted.
    texts.flat_map(|(_, text)| [Some(text.to_owned()), values::note(text).text]).flatten().collect()
}
