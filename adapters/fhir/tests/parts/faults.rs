//! Faults of a server's refusals, without patient data.

use adapter_sdk::{Fault, http::Response};
use fhir_adapter::faults::from_response;
use serde_json::{Value, json};

fn answer(status: u16, issue: Value) -> Response {
    let body = json!({"resourceType": "OperationOutcome", "issue": [issue]});
    Response { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

fn rejected(issue: Value, sent: Value) -> String {
    match from_response(&answer(422, issue), false, Some(&sent)) {
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
fn sent_values_are_removed_from_reasons() {
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
fn only_codes_are_kept_of_issues_not_about_the_form() {
    let issue = json!({"code": "duplicate", "diagnostics": "Zoë Łopata exists already",
        "details": {"text": "Zoë Łopata", "coding": [{"code": "MSG_DUPLICATE_ID"}]}});
    assert_eq!(rejected(issue, json!({})), "the server answered 422: duplicate MSG_DUPLICATE_ID");
    let long = rejected(json!({"code": "invalid", "details": {"text": "word ".repeat(200)}}), json!({}));
    assert!(long.chars().count() <= 241);
    let html = Response { status: 404, headers: Vec::new(), body: b"<html>Zoe</html>".to_vec() };
    assert_eq!(from_response(&html, true, None), Fault::rejected("the server answered 404"));
}

#[test]
fn a_page_of_an_intermediary_rejects_no_write() {
    let answer = |status, body: &str| Response { status, headers: Vec::new(), body: body.as_bytes().to_vec() };
    for status in [400, 403, 404, 405, 409, 410, 412, 422] {
        let fault = |body: &str| from_response(&answer(status, body), false, None);
        assert!(matches!(fault(" <html>Zoe</html>"), Fault::Unknown(why) if !why.contains("Zoe")), "{status}");
        let outcome = "<OperationOutcome xmlns=\"http://hl7.org/fhir\"/>";
        assert!(matches!(fault(outcome), Fault::Rejected(_)), "{status}");
        assert!(matches!(fault(""), Fault::Rejected(_)), "{status}");
    }
}

#[test]
fn statuses_become_faults() {
    let fault = |status, reads| from_response(&answer(status, json!({})), reads, None);
    for status in [400, 404, 409, 410, 412, 422] {
        assert!(matches!(fault(status, false), Fault::Rejected(_)), "{status}");
    }
    for reads in [true, false] {
        assert!(matches!(fault(401, reads), Fault::Unauthorized(_)));
    }
    // A missing permission affects only this read or write.
    let forbidden = json!({"code": "forbidden", "diagnostics": "Zoë Łopata: scope Communication.write is missing"});
    let reason = "the server answered 403: forbidden";
    assert_eq!(from_response(&answer(403, forbidden.clone()), true, None), Fault::unsupported(reason));
    assert_eq!(from_response(&answer(403, forbidden), false, None), Fault::rejected(reason));
    assert!(matches!(fault(429, false), Fault::RetryLater(_)));
    assert!(matches!(fault(500, false), Fault::Unknown(_)));
    assert!(matches!(fault(500, true), Fault::RetryLater(_)));
}
