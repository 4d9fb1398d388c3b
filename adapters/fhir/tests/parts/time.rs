//! Dates of FHIR.

use fhir_adapter::time::{instant_of, is_date, next_date};

#[test]
fn dates() {
    assert!(is_date("2024-02-29") && !is_date("2023-02-29") && !is_date("1969-10") && !is_date("1969"));
    assert!(is_date("0001-01-01") && !is_date("0000-01-01"));
    assert!(instant_of("9999-12-31T23:59:59Z").is_some() && instant_of("9999-12-31T23:59:59-05:00").is_none());
    assert_eq!(instant_of("0000-12-31T00:00:00Z"), None);
    assert_eq!(next_date("2026-12-31").unwrap(), "2027-01-01");
}
