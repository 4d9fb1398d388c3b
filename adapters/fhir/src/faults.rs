//! What a FHIR server's refusals mean for the engine.

use adapter_sdk::{
    Fault,
    http::{Response, fault_of_status},
};
use serde_json::Value;

use crate::responses::{Issue, OperationOutcome};

/// The longest reason.
const MAX_REASON: usize = 240;

/// The fault of an answer outside 200 to 299. `reads`: the request changed nothing. `sent`: the resource it carried.
pub fn of_answer(answer: &Response, reads: bool, sent: Option<&Value>) -> Fault {
    match answer.status {
        400 | 404 | 405 | 409 | 410 | 412 | 422 => Fault::rejected(reason(answer, sent)),
        // The credentials are good, only not for this: no reason to hold back everything else.
        403 if reads => Fault::unsupported(reason(answer, sent)),
        403 => Fault::rejected(reason(answer, sent)),
        _ => fault_of_status(answer, reads),
    }
}

/// The outcome's issues, without patient data: what validators say of the form of a resource, with every value that was sent taken
/// out; of other issues, which may name anybody, their codes.
fn reason(answer: &Response, sent: Option<&Value>) -> String {
    let outcome: OperationOutcome = answer.json().unwrap_or_default();
    let issues: Vec<String> = outcome.issue.iter().map(|issue| said(issue, sent)).filter(|s| !s.is_empty()).collect();
    let said = if issues.is_empty() { String::new() } else { format!(": {}", issues.join("; ")) };
    let reason = format!("the server answered {}{said}", answer.status);
    match reason.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", &reason[..at]),
        None => reason,
    }
}

fn said(issue: &Issue, sent: Option<&Value>) -> String {
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

/// A word of a vocabulary or a path: letters, digits and separators, and short.
fn plain(word: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    word.chars().filter(fits).take(80).collect()
}

/// A validator's text without the values that were sent, anything quoted, addresses of mail, and digits.
fn without_data(text: &str, sent: Option<&Value>) -> String {
    let mut values = Vec::new();
    if let Some(sent) = sent {
        collect(sent, "", &mut values);
    }
    // The longest first: a name may be part of another.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    let mut text = text.to_owned();
    for value in values {
        text = text.replace(value, "…");
    }
    let unquoted = text.split(['"', '“', '”']).enumerate().map(|(n, part)| if n % 2 == 0 { part } else { "…" });
    let words: Vec<String> = unquoted.collect::<String>().split_whitespace().map(masked).collect();
    words.join(" ")
}

/// Names of constraints such as `app-3` keep their digits.
fn masked(word: &str) -> String {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    if digits > 3 || word.contains('@') { "…".into() } else { word.to_owned() }
}

/// Every text of a resource that can tell something of a person. Short codes and what names the form stay.
fn collect<'a>(value: &'a Value, name: &str, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => {
            let form = matches!(name, "resourceType" | "status" | "use" | "system" | "code" | "reference");
            if !form && text.chars().count() >= 2 {
                into.push(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, name, into)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| collect(field, name, into)),
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, issue: Value) -> Response {
        let body = json!({"resourceType": "OperationOutcome", "issue": [issue]});
        Response { status, headers: Vec::new(), body: body.to_string().into_bytes() }
    }

    fn rejected(issue: Value, sent: Value) -> String {
        match of_answer(&answer(422, issue), false, Some(&sent)) {
            Fault::Rejected(reason) => reason,
            other => panic!("not rejected: {other:?}"),
        }
    }

    #[test]
    fn a_validators_text_is_kept() {
        let issue = json!({"severity": "error", "code": "invariant", "expression": ["Appointment"],
            "details": {"text": "Constraint app-2 not met: Either start and end are specified, or neither"}});
        assert_eq!(
            rejected(issue, json!({})),
            "the server answered 422: invariant Constraint app-2 not met: Either start and end are specified, or neither (Appointment)"
        );
    }

    #[test]
    fn what_was_sent_is_taken_out() {
        let sent = json!({"resourceType": "Patient", "birthDate": "1990-02-28", "gender": "female",
            "name": [{"family": "Łopata", "given": ["Zoë"]}], "telecom": [{"system": "phone", "value": "+1 312 555 0100"}]});
        let text = "Invalid value Łopata or Zoë for \"Jane Doe\" with 1990-02-28, +1 312 555 0100 and a@b.example";
        let reason = rejected(json!({"code": "value", "details": {"text": text}}), sent);
        for secret in ["Łopata", "Zoë", "Jane", "1990", "555", "a@b"] {
            assert!(!reason.contains(secret), "{secret} in {reason}");
        }
        assert!(reason.contains("value Invalid value"), "{reason}");
    }

    #[test]
    fn of_what_is_not_about_the_form_only_codes_are_kept() {
        let issue = json!({"code": "duplicate", "diagnostics": "Zoë Łopata exists already",
            "details": {"text": "Zoë Łopata", "coding": [{"code": "MSG_DUPLICATE_ID"}]}});
        assert_eq!(rejected(issue, json!({})), "the server answered 422: duplicate MSG_DUPLICATE_ID");
        let long = rejected(json!({"code": "invalid", "details": {"text": "word ".repeat(200)}}), json!({}));
        assert!(long.chars().count() <= MAX_REASON + 1);
        let html = Response { status: 404, headers: Vec::new(), body: b"<html>Zoe</html>".to_vec() };
        assert_eq!(of_answer(&html, true, None), Fault::rejected("the server answered 404"));
    }

    #[test]
    fn statuses_become_faults() {
        let fault = |status, reads| of_answer(&answer(status, json!({})), reads, None);
        for status in [400, 404, 409, 410, 412, 422] {
            assert!(matches!(fault(status, false), Fault::Rejected(_)), "{status}");
        }
        for reads in [true, false] {
            assert!(matches!(fault(401, reads), Fault::Unauthorized(_)));
        }
        // One right is missing: this cannot be read, or not be written, and everything else goes on.
        let forbidden = json!({"code": "forbidden", "diagnostics": "Zoë Łopata: scope Communication.write is missing"});
        let said = "the server answered 403: forbidden";
        assert_eq!(of_answer(&answer(403, forbidden.clone()), true, None), Fault::unsupported(said));
        assert_eq!(of_answer(&answer(403, forbidden), false, None), Fault::rejected(said));
        assert!(matches!(fault(429, false), Fault::RetryLater(_)));
        assert!(matches!(fault(500, false), Fault::Unknown(_)));
        assert!(matches!(fault(500, true), Fault::RetryLater(_)));
    }
}
