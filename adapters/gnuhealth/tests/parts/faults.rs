//! Faults of the EHR's refusals, without patient data.

use adapter_sdk::{Fault, RetryLater, http::Response};
use gnuhealth_adapter::faults::{Refusal, from_status};
use serde_json::{Value, json};

fn reason(text: &str, sent: Value) -> String {
    match Refusal::parse(&json!(["UserError", [text, "", null]])).fault(&sent) {
        Fault::Rejected(reason) => reason,
        other => panic!("not rejected: {other:?}"),
    }
}

/// All of these messages are from the real server.
#[test]
fn the_ehrs_reason_is_kept_without_the_patient() {
    let sent = json!([[{"name": "Zoë", "lastname": "R, Q", "comments": "latex allergy"}]]);
    for (text, expected) in [
        (
            r#"You are not allowed to access "Patient Conditions History"."#,
            "You are not allowed to access “Patient Conditions History”.",
        ),
        (
            r#"A value is required for field "Gender" in "R, Q" of "Party"."#,
            "A value is required for field “Gender” in … of “Party”.",
        ),
        (
            r#"A value is required for field "Reason for discontinuation" in "2" of "Patient Medication"."#,
            "A value is required for field “Reason for discontinuation” in … of “Patient Medication”.",
        ),
        (
            r#"The value "999999" for field "Patient" in "Patient Appointments" does not exist."#,
            "The value … for field “Patient” in “Patient Appointments” does not exist.",
        ),
        ("The Patient already exists !", "The Patient already exists !"),
        ("The PUID must be unique", "The PUID must be unique"),
        (
            r#"SM-CALENDAR-0004: The Appointment END date "2026-12-01 14:00:00" is BEFORE the start date "2026-12-01 15:00:00""#,
            "SM-CALENDAR-0004: … Appointment END date … is BEFORE the start date …",
        ),
        (
            r#"You cannot add a partial payment on invoice "1" with an amount greater than the amount to pay "$0.00"."#,
            "You cannot add a partial payment on invoice … with an amount greater than the amount to pay ….",
        ),
    ] {
        assert_eq!(reason(text, sent.clone()), expected);
    }
}

#[test]
fn names_and_numbers_are_removed_anywhere() {
    let sent = json!([[{"name": "Zoë", "lastname": "Łopata", "mobile": "+1 312 555 0100"}]]);
    let text = reason(
        "The patient Jane DOE (HHC601RXQ), born 1990-02-28, has latex allergy (Łopata) +1 312 555 0100 a@b.example محمد",
        sent,
    );
    for secret in ["Jane", "DOE", "HHC", "1990", "Łopata", "555", "0100", "a@b", "محمد"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert_eq!(reason("", json!([])), "the EHR refuses it");
    assert!(reason(&"word ".repeat(200), json!([])).chars().count() <= 241);
}

#[test]
fn every_refusal_has_its_fault() {
    let fault = |error: Value| Refusal::parse(&error).fault(&json!([]));
    let stale = json!(["ConcurrencyException", "Records were modified in the meanwhile"]);
    assert!(Refusal::parse(&stale).is_stale());
    assert!(matches!(fault(stale), Fault::RetryLater(_)));
    assert!(matches!(fault(json!(["'state'", ""])), Fault::RetryLater(_)));
    assert!(matches!(fault(json!(["database is locked", ""])), Fault::RetryLater(_)));
    assert!(matches!(fault(json!(["LoginException", ["password", ""]])), Fault::Unauthorized(_)));
    assert_eq!(Refusal::parse(&json!(["UserWarning", ["name,1", "Are you sure?", ""]])).message, "Are you sure?");
    let status = |status| Response { status, headers: Vec::new(), body: Vec::new() };
    assert!(matches!(from_status(&status(401), true), Fault::Unauthorized(_)));
    assert!(matches!(from_status(&status(403), true), Fault::Unsupported(_)));
    assert!(matches!(from_status(&status(404), false), Fault::RetryLater(_)));
    assert!(matches!(from_status(&status(429), false), Fault::RetryLater(RetryLater { seconds: Some(300), .. })));
    assert!(matches!(from_status(&status(500), false), Fault::Unknown(_)));
    assert!(matches!(from_status(&status(502), true), Fault::RetryLater(_)));
}
