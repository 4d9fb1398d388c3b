//! Faults for the refusals of a FHIR server.

use adapter_sdk::{
    Fault,
    http::{Response, fault_of_status},
    redact::{sentence, shortened, texts},
};
use serde_json::Value;

use crate::{
    map,
    responses::{Issue, OperationOutcome},
};

/// Fields whose texts describe the form of a resource and no person.
const FORM: [&str; 6] = ["resourceType", "status", "use", "system", "code", "reference"];

/// Maps a response outside 200 to 299 to a fault. `reads`: the request changed nothing. `sent`: the resource in the
/// request.
pub fn from_response(answer: &Response, reads: bool, sent: Option<&Value>) -> Fault {
    match answer.status {
        // From an intermediary, so it proves nothing about the write.
        400 | 403 | 404 | 405 | 409 | 410 | 412 | 422 if !reads && is_page(answer) => {
            Fault::unknown(format!("no explanation of the server's came with the answer {}", answer.status))
        }
        400 | 404 | 405 | 409 | 410 | 412 | 422 => Fault::rejected(reason(answer, sent)),
        // The credentials are valid, but lack this permission. Other requests must continue.
        403 if reads => Fault::unsupported(reason(answer, sent)),
        403 => Fault::rejected(reason(answer, sent)),
        _ => fault_of_status(answer, reads),
    }
}

/// Returns `true` for a page that is not the server's own outcome in XML.
fn is_page(answer: &Response) -> bool {
    let text = String::from_utf8_lossy(&answer.body);
    text.trim_start().starts_with('<') && !text.contains("OperationOutcome")
}

/// Formats the issues of the outcome without patient data. Validation messages are kept without the values that were
/// sent. Of other issues, which may contain names, only the codes are kept.
fn reason(answer: &Response, sent: Option<&Value>) -> String {
    let outcome: OperationOutcome = map::read(answer.json().unwrap_or_default()).unwrap_or_default();
    let issues: Vec<String> =
        outcome.issue.iter().map(|issue| describe_issue(issue, sent)).filter(|s| !s.is_empty()).collect();
    let details = if issues.is_empty() { String::new() } else { format!(": {}", issues.join("; ")) };
    shortened(&format!("the server answered {}{details}", answer.status))
}

fn describe_issue(issue: &Issue, sent: Option<&Value>) -> String {
    let code = plain(&issue.code);
    let about_form =
        matches!(code.as_str(), "structure" | "required" | "value" | "invariant" | "invalid" | "not-supported");
    let words = issue.details.coding.iter().filter_map(|coding| coding.code.as_deref()).map(plain);
    let words: Vec<String> = std::iter::once(code.clone()).chain(words).collect();
    let text = issue.details.text.as_deref().or(issue.diagnostics.as_deref()).filter(|_| about_form);
    let text = text.map(|text| format!(" {}", without_data(text, sent))).unwrap_or_default();
    let place = issue.expression.first().map(|path| format!(" ({})", plain(path))).unwrap_or_default();
    format!("{}{text}{place}", words.join(" "))
}

/// Keeps letters, digits and separators of a code or path, at most 80 characters.
fn plain(word: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    word.chars().filter(fits).take(80).collect()
}

/// Removes the sent values from a validation message. Names of constraints such as `app-3` keep their digits.
fn without_data(text: &str, sent: Option<&Value>) -> String {
    let tells = |(name, text): &(&str, &str)| !FORM.contains(name) && text.chars().count() >= 2;
    let values: Vec<&str> = sent.into_iter().flat_map(texts).filter(tells).map(|(_, text)| text).collect();
    sentence(text, &values, |_| false)
}
