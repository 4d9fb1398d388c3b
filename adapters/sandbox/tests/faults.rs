//! Faults of the EHR's refusals.

use adapter_sdk::{
    Fault, RetryLater,
    http::{Header, Response},
};
use sandbox_adapter::faults::from_response;

fn answer(status: u16, body: &str, headers: &[(&str, &str)]) -> Response {
    let headers = headers.iter().map(|(name, value)| Header::new(*name, *value)).collect();
    Response { status, headers, body: body.as_bytes().to_vec() }
}

#[test]
fn every_outcome_has_its_fault() {
    let fault = |status, reads| from_response(&answer(status, r#"{"error":"e","message":"m"}"#, &[]), reads);
    for status in [400, 404, 409, 422] {
        assert_eq!(fault(status, false), Fault::rejected("the EHR refuses it: e"));
    }
    for status in [401, 403] {
        assert!(matches!(fault(status, false), Fault::Unauthorized(_)));
    }
    for status in [500, 502, 504] {
        assert!(matches!(fault(status, false), Fault::Unknown(_)), "{status}");
        assert!(matches!(fault(status, true), Fault::RetryLater(_)), "{status}");
    }
    assert!(matches!(fault(503, false), Fault::RetryLater(RetryLater { seconds: None, .. })));
    let throttled = from_response(&answer(429, "", &[("retry-after", "17")]), false);
    assert!(matches!(throttled, Fault::RetryLater(RetryLater { seconds: Some(17), .. })));
}

#[test]
fn a_reason_never_contains_the_ehrs_message() {
    let body = r#"{"error":"duplicate_patient","message":"Zoë Łopata, 1990-02-28 is on file already"}"#;
    assert_eq!(
        from_response(&answer(409, body, &[]), false),
        Fault::rejected("the EHR has a patient with this name and date of birth")
    );
    let sly = r#"{"error":"Łopata\n\"Zoë\"; cell=+1 (312) 555"}"#;
    let Fault::Rejected(reason) = from_response(&answer(422, sly, &[]), false) else { panic!("a refusal") };
    assert!(!reason.contains('Ł') && !reason.contains('\n') && !reason.contains('('), "{reason}");
    assert_eq!(from_response(&answer(409, "<html>", &[]), false), Fault::rejected("the EHR answered 409"));
}
