//! Values in the API's formats.

use adapter_sdk::{testing::Host, time::instant_of};
use opendental_adapter::{
    pattern::{length, resized, second, seconds},
    time,
    values::{Flag, Num, Text},
};
use serde_json::{from_value, json};

#[test]
fn values_of_every_writing() {
    assert_eq!([json!(7), json!("7"), json!("")].map(|v| from_value::<Num>(v).unwrap().0), [7, 7, 0]);
    assert_eq!(from_value::<Num>(json!(-1)).unwrap().id(), None);
    assert_eq!([json!(7.0), json!(null), json!(" ")].map(|v| from_value::<Num>(v).unwrap().0), [7, 0, 0]);
    assert!(from_value::<Num>(json!(1.5)).is_err() && from_value::<Num>(json!("x")).is_err());
    let flags =
        [json!("true"), json!("False"), json!(true), json!(""), json!(null), json!(1), json!("0"), json!(" TRUE ")];
    assert_eq!(flags.map(|v| from_value::<Flag>(v).unwrap().0), [true, false, true, false, false, true, false, true]);
    assert!(from_value::<Flag>(json!("yes")).is_err() && from_value::<Flag>(json!(2)).is_err());
    assert_eq!(from_value::<Text>(json!(90011)).unwrap().some().as_deref(), Some("90011"));
}

#[test]
fn times_of_rows_are_the_offices() {
    Host::new().offset_seconds(-5 * 3_600).run(|| {
        assert_eq!(time::instant("2026-12-01 09:00:00"), Ok(instant_of("2026-12-01T14:00:00Z")));
        for none in ["0001-01-01 00:00:00", "0001-01-01", "", "0000-00-00 00:00:00"] {
            assert_eq!(time::instant(none), Ok(None), "{none}");
        }
        for unreadable in ["12/1/2026 9:00:00 AM", "2026-12-01", "soon"] {
            assert!(time::instant(unreadable).is_err(), "{unreadable}");
        }
        assert_eq!(time::text(1_796_133_600), "2026-12-01 09:00:00");
    });
}

#[test]
fn dates_of_rows() {
    for day in ["2026-02-28", "2026-02-28 10:00:00", "2026-02-28T10:00:00Z"] {
        assert_eq!(time::day(day), Ok(Some("2026-02-28".into())));
    }
    for none in ["", "0001-01-01", "0001-01-01 00:00:00"] {
        assert_eq!(time::day(none), Ok(None), "{none}");
    }
    for unreadable in ["2026-02-30", "soon", "2026-02-28x"] {
        assert!(time::day(unreadable).is_err(), "{unreadable}");
    }
}

#[test]
fn another_mail_address_leaves_those_next_to_it() {
    use opendental_adapter::values::{mails, with_mail};
    assert_eq!(mails(" a@x.example; b@y.example ,").collect::<Vec<_>>(), ["a@x.example", "b@y.example"]);
    for (field, seen, wanted, written) in [
        ("a@x.example, b@y.example", Some("a@x.example"), "c@z.example", "c@z.example,b@y.example"),
        ("b@y.example; a@x.example", Some("a@x.example"), "c@z.example", "b@y.example,c@z.example"),
        ("a@x.example,b@y.example", Some("a@x.example"), "", "b@y.example"),
        // Writing it again has no effect.
        ("b@y.example", Some("a@x.example"), "", "b@y.example"),
        ("c@z.example,b@y.example", Some("a@x.example"), "c@z.example", "c@z.example,b@y.example"),
        ("", None, "c@z.example", "c@z.example"),
        ("a@x.example", Some("a@x.example"), "", ""),
    ] {
        assert_eq!(with_mail(field, seen, wanted), written);
    }
}

#[test]
fn patterns_are_spans() {
    assert_eq!(length(0, 1_800), Ok(6));
    assert_eq!(seconds("//XX//"), Some(1_800));
    assert_eq!(seconds(&"X".repeat(length(600, 33_000).unwrap_or(0))), Some(32_400));
    for (start, end) in [(0, 32_700), (0, 0), (0, -300), (0, 1_000), (60, 360)] {
        assert!(length(start, end).is_err(), "{start} {end}");
    }
    for none in ["", "XX?", "xx"] {
        assert_eq!(seconds(none), None);
    }
}

#[test]
fn a_new_length_keeps_the_ends() {
    assert_eq!(resized("//XX/", 8), "//XXXXX/");
    assert_eq!(resized("//XX/", 4), "//X/");
    assert_eq!(resized("//XX/", 3), "XXX");
    assert_eq!(resized("////", 3), "XXX");
    assert_eq!(resized("", 2), "XX");
    assert_eq!((second("/X", 4).as_str(), second("/XX/", 2).as_str()), ("/X//", "/X"));
}
