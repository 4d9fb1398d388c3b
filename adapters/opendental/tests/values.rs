//! Values as the API writes them.

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
    assert!(from_value::<Num>(json!(1.5)).is_err() && from_value::<Num>(json!("x")).is_err());
    let flags = [json!("true"), json!("False"), json!(true), json!("")];
    assert_eq!(flags.map(|v| from_value::<Flag>(v).unwrap().0), [true, false, true, false]);
    assert!(from_value::<Flag>(json!("yes")).is_err());
    assert_eq!(from_value::<Text>(json!(90011)).unwrap().some().as_deref(), Some("90011"));
}

#[test]
fn times_of_rows_are_the_offices() {
    Host::new().offset_seconds(-5 * 3_600).run(|| {
        assert_eq!(time::instant("2026-12-01 09:00:00"), instant_of("2026-12-01T14:00:00Z"));
        for none in ["0001-01-01 00:00:00", "0001-01-01", "12/1/2026 9:00:00 AM"] {
            assert_eq!(time::instant(none), None, "{none}");
        }
        assert_eq!(time::text(1_796_133_600), "2026-12-01 09:00:00");
    });
}

#[test]
fn dates_of_rows() {
    assert_eq!(time::day("2026-02-28").as_deref(), Some("2026-02-28"));
    assert_eq!(time::day("2026-02-28 10:00:00").as_deref(), Some("2026-02-28"));
    for none in ["", "0001-01-01", "0001-01-01 00:00:00", "2026-02-30", "soon"] {
        assert_eq!(time::day(none), None, "{none}");
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
