//! What the API's refusals mean for the engine. They are plain text for people.

use adapter_sdk::{
    Fault,
    http::{Response, fault_of_status},
};
use serde_json::Value;

/// The longest reason.
const MAX_REASON: usize = 240;
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

/// The explanation without patient data. It may name people we did not: every value that was sent is taken out, whatever is quoted, mail
/// addresses, numbers, and every word with a capital or a letter beyond ASCII that is not of the API's own vocabulary.
fn reason(said: &str, status: u16, sent: Option<&Value>) -> String {
    let (mut values, mut fields) = (Vec::new(), Vec::new());
    if let Some(sent) = sent {
        collect(sent, "", &mut values, &mut fields);
    }
    // The longest first: a name may be part of another.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    let mut text = said.to_owned();
    for value in &values {
        text = text.replace(value.as_str(), "…");
    }
    let unquoted = text.split(['"', '“', '”']).enumerate().map(|(n, part)| if n % 2 == 0 { part } else { "…" });
    let words: Vec<String> =
        unquoted.collect::<String>().split_whitespace().map(|word| masked(word, &fields)).collect();
    let said = words.join(" ");
    let reason =
        if said.is_empty() { format!("Open Dental answered {status}") } else { format!("Open Dental: {said}") };
    match reason.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", &reason[..at]),
        None => reason,
    }
}

/// Words of explanations, resources and fields beside those of a request.
const VOCABULARY: [&str; 62] = [
    "A",
    "AdjType",
    "Adjustment",
    "Allergy",
    "AllergyDef",
    "An",
    "API",
    "Appointment",
    "AppointmentType",
    "AptNum",
    "AptStatus",
    "Bad",
    "Broken",
    "BadRequest",
    "Can't",
    "Cannot",
    "Carrier",
    "Clinic",
    "Commlog",
    "Complete",
    "Content-Type",
    "Dental",
    "Definition",
    "DefNum",
    "Disease",
    "DiseaseDef",
    "FeeSched",
    "Future-dated",
    "Guarantor",
    "I",
    "InsPlan",
    "InsSub",
    "Invalid",
    "JSON",
    "Medication",
    "Missing",
    "No",
    "Not",
    "NotFound",
    "Note",
    "Only",
    "Op",
    "Open",
    "Operatory",
    "PatNum",
    "PatPlan",
    "PatPlans",
    "Patient",
    "Pattern",
    "PayPlan",
    "Payment",
    "Planned",
    "Procedure",
    "ProcNum",
    "Provider",
    "ProvNum",
    "Relationship",
    "Scheduled",
    "The",
    "This",
    "Unable",
    "UnschedList",
];

fn masked(word: &str, fields: &[String]) -> String {
    let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
    let capital = bare.chars().any(|c| c.is_uppercase());
    let known = VOCABULARY.contains(&bare) || fields.iter().any(|field| field == bare);
    let digits = word.chars().filter(char::is_ascii_digit).count();
    if digits > 3 || word.contains('@') || !bare.is_ascii() || (capital && !known) {
        return "…".into();
    }
    word.to_owned()
}

/// What was sent that can tell something of a person: texts other than statuses, of two letters at least.
fn collect(value: &Value, name: &str, into: &mut Vec<String>, fields: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let form =
                name.ends_with("Status") || matches!(name, "Mode_" | "SentOrReceived" | "Relationship" | "Gender");
            if !form && text.chars().count() >= 2 && !matches!(text.as_str(), "true" | "false") {
                into.push(text.clone());
                // The key behind a note is ours; the note alone may be quoted.
                into.extend(crate::write_key::read(text).text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, name, into, fields)),
        Value::Object(sent) => sent.iter().for_each(|(name, field)| {
            fields.push(name.clone());
            collect(field, name, into, fields);
        }),
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use adapter_sdk::RetryLater;
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: &str) -> Response {
        Response { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
    }

    #[test]
    fn an_explanation_is_kept_without_the_patient() {
        let sent =
            json!({"LName": "Łopata", "FName": "Zoë", "Birthdate": "1990-02-28", "WirelessPhone": "+1 312 555 0100"});
        let body =
            "\"A patient named Zoë Łopata, born 1990-02-28, \\\"Jane Doe\\\" j@d.example 3125550100 exists already\"";
        let Fault::Rejected(reason) = of_answer(&answer(400, body), false, Some(&sent)) else { panic!("a rejection") };
        for secret in ["Łopata", "Zoë", "1990", "Jane", "j@d", "312"] {
            assert!(!reason.contains(secret), "{secret} in {reason}");
        }
        assert!(reason.starts_with("Open Dental: A patient named") && reason.ends_with("exists already"), "{reason}");
        // Somebody who was not sent, and words that are fields of the request.
        let sent = json!({"AdjAmt": "12.50", "PatNum": 15});
        let body = "AdjAmt of Jane O'Neill (王秀英) must be negative for this AdjType.";
        let said = of_answer(&answer(400, body), false, Some(&sent));
        assert_eq!(said, Fault::rejected("Open Dental: AdjAmt of … … … must be negative for this AdjType."));
        let plain = of_answer(&answer(404, "Operatory not found"), false, None);
        assert_eq!(plain, Fault::rejected("Open Dental: Operatory not found"));
        // A proxy's page and an empty answer are nobody's refusal.
        for unexplained in ["<html>Zoë", "", " {\"message\": \"Zoë\"}"] {
            let Fault::RetryLater(RetryLater { reason: why, seconds: None }) =
                of_answer(&answer(404, unexplained), true, None)
            else {
                panic!()
            };
            assert!(!why.contains("Zoë"), "{why}");
            assert!(matches!(of_answer(&answer(400, unexplained), false, None), Fault::Unknown(_)));
        }
    }

    #[test]
    fn statuses_become_faults() {
        let fault = |status, body, reads| of_answer(&answer(status, body), reads, None);
        assert!(matches!(fault(401, "Invalid credentials", true), Fault::Unauthorized(_)));
        assert!(matches!(fault(401, "Missing permission ApiComm", false), Fault::Unsupported(_)));
        assert!(matches!(fault(400, "The eConnector is not running", true), Fault::RetryLater(_)));
        assert!(matches!(fault(400, "Request timed out", false), Fault::Unknown(_)));
        assert!(matches!(fault(410, "Gone", false), Fault::Unsupported(_)));
        assert!(matches!(fault(429, "", false), Fault::RetryLater(_)));
        assert!(matches!(fault(504, "", false), Fault::Unknown(_)));
        assert!(matches!(fault(504, "", true), Fault::RetryLater(_)));
    }
}
