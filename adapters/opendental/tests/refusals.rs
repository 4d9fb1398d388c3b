//! Faults of the API's refusals.

use adapter_sdk::{Fault, RetryLater, http::Response};
use opendental_adapter::faults::from_response;
use serde_json::json;

fn answer(status: u16, body: &str) -> Response {
    Response { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
}

#[test]
fn an_explanation_is_kept_without_the_patient() {
    let sent =
        json!({"LName": "Łopata", "FName": "Zoë", "Birthdate": "1990-02-28", "WirelessPhone": "+1 312 555 0100"});
    let body =
        "\"A patient named Zoë Łopata, born 1990-02-28, \\\"Jane Doe\\\" j@d.example 3125550100 exists already\"";
    let Fault::Rejected(reason) = from_response(&answer(400, body), false, Some(&sent)) else { panic!("a rejection") };
    for secret in ["Łopata", "Zoë", "1990", "Jane", "j@d", "312"] {
        assert!(!reason.contains(secret), "{secret} in {reason}");
    }
    assert!(reason.starts_with("Open Dental: A patient named") && reason.ends_with("exists already"), "{reason}");
    // A person's name outside the request, and words that are fields of the request.
    let sent = json!({"AdjAmt": "12.50", "PatNum": 15});
    let body = "AdjAmt of Jane O'Neill (王秀英) must be negative for this AdjType.";
    let fault = from_response(&answer(400, body), false, Some(&sent));
    assert_eq!(fault, Fault::rejected("Open Dental: AdjAmt of … … … must be negative for this AdjType."));
    let plain = from_response(&answer(404, "Operatory not found"), false, None);
    assert_eq!(plain, Fault::rejected("Open Dental: Operatory not found"));
    // A proxy's page and an empty response are not refusals by Open Dental.
    for unexplained in ["<html>Zoë", "", " {\"message\": \"Zoë\"}"] {
        let Fault::RetryLater(RetryLater { reason: why, seconds: None }) =
            from_response(&answer(404, unexplained), true, None)
        else {
            panic!()
        };
        assert!(!why.contains("Zoë"), "{why}");
        assert!(matches!(from_response(&answer(400, unexplained), false, None), Fault::Unknown(_)));
    }
}

#[test]
fn statuses_become_faults() {
    let fault = |status, body, reads| from_response(&answer(status, body), reads, None);
    assert!(matches!(fault(401, "Invalid credentials", true), Fault::Unauthorized(_)));
    assert!(matches!(fault(401, "Missing permission ApiComm", false), Fault::Unsupported(_)));
    assert!(matches!(fault(400, "The eConnector is not running", true), Fault::RetryLater(_)));
    assert!(matches!(fault(400, "Request timed out", false), Fault::Unknown(_)));
    assert!(matches!(fault(410, "Gone", false), Fault::Unsupported(_)));
    assert!(matches!(fault(429, "", false), Fault::RetryLater(_)));
    assert!(matches!(fault(504, "", false), Fault::Unknown(_)));
    assert!(matches!(fault(504, "", true), Fault::RetryLater(_)));
}
