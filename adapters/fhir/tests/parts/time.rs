//! Dates and times in every unambiguous format.

use adapter_sdk::time::instant_of;
use fhir_adapter::{
    responses::Period,
    time::{date, instant, instant_or_date},
};
use serde_json::json;

use crate::parts::host;

#[test]
fn unambiguous_times_are_read() {
    let read = |text: &str| host().offset_seconds(-5 * 3_600).run(|| instant(text));
    let at = instant_of("2026-12-01T15:00:00Z");
    for text in [
        "2026-12-01T15:00:00Z",
        "2026-12-01T15:00Z",
        "2026-12-01T15Z",
        "2026-12-01T15:00:00.0000000z",
        "2026-12-01T15:00:00,5Z",
        "2026-12-01t15:00:00Z",
        "2026-12-01 15:00:00 UTC",
        "2026-12-01T10:00:00",
        "2026-12-01T10:00",
        "2026-12-01 10:00",
        "2026-12-01T10:00:00-05:00",
        "2026-12-01T10:00:00-0500",
        "2026-12-01T10:00:00.000-05",
        "2026-12-01T20:30:00+05:30",
        "2026-12-01T15:00:00+0000",
        "2026-12-01T10:00:00-05:00[America/New_York]",
        " 2026-12-01T15:00:00Z ",
        "2026/12/01 10:00",
        "2026-12-1T9:00:00-06:00",
        "20261201T150000Z",
        "20261201T1000",
    ] {
        assert_eq!(read(text), at, "{text}");
    }
    assert_eq!(read("2026-11-30T24:00:00Z"), instant_of("2026-12-01T00:00:00Z"));
    assert_eq!(read("2026-12-31T24:00"), instant_of("2027-01-01T05:00:00Z"));
    for text in [
        "",
        "soon",
        "2026",
        "2026-12",
        "2026-12-01",
        "2026-12-01T",
        "2026-12-01T10:00 PM",
        "12/01/2026 10:00",
        "26-12-01T10:00:00Z",
        "2026-02-30T10:00:00Z",
        "2026-12-01T25:00:00Z",
        "2026-12-01T24:01:00Z",
        "2026-12-01T10:60:00Z",
        "2026-12-01T10:00:00EST",
        "2026-12-01T10:00:00[America/New_York]",
        "2026-12-01T10:00:00+5",
        "2026-12-01T10:00:00+25:00",
        "2026-12-01T10:00:00Zulu",
        "2026121",
        "10:00",
        "1796000000",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn a_date_with_a_time_is_the_date_that_is_written() {
    for text in [
        "2001-11-30",
        "2001-11-30T00:00:00",
        "2001-11-30T00:00:00.000+0000",
        "2001-11-30T23:59:59-11:00",
        "2001-11-30 00:00",
        "2001/11/30",
        "20011130",
    ] {
        assert_eq!(date(text).as_deref(), Some("2001-11-30"), "{text}");
    }
    for text in ["", "2001-11", "2001-11-31", "11/30/2001", "30.11.2001", "2001-11-30Tx", "2001-11-301", "0000-01-01"] {
        assert_eq!(date(text), None, "{text}");
    }
    let day = |text: &str| host().offset_seconds(-5 * 3_600).run(|| instant_or_date(text));
    assert_eq!(day("2026-12-01"), instant_of("2026-12-01T05:00:00Z"));
    assert_eq!(day("2026-12-01T10:00"), instant_of("2026-12-01T15:00:00Z"));
}

#[test]
fn a_period_includes_its_bounds_as_precisely_as_they_are_given() {
    // 22 July 2020, 12:00 at the location.
    let now = instant_of("2020-07-22T17:00:00Z").unwrap();
    let current = |start: Option<&str>, end: Option<&str>| {
        let period: Period = serde_json::from_value(json!({"start": start, "end": end})).unwrap();
        host().at(now).offset_seconds(-5 * 3_600).run(|| period.is_current())
    };
    assert!(current(None, None));
    for bound in ["2020", "2020-07", "2020-07-22", "2020-07-22T17:00:00Z", "2020-07-22T12:00", "whenever"] {
        assert!(current(Some(bound), None) && current(None, Some(bound)), "{bound}");
    }
    for (before, after) in [
        ("2019", "2021"),
        ("2020-06", "2020-08"),
        ("2020-07-21", "2020-07-23"),
        ("2020-07-22T16:59:59Z", "2020-07-22T17:00:01Z"),
    ] {
        assert!(current(Some(before), Some(after)));
        assert!(!current(None, Some(before)) && !current(Some(after), None), "{before} {after}");
    }
}
