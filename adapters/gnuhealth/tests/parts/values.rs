//! Values without a JSON type.

use gnuhealth_adapter::values::{Date, DateTime, Flag};
use serde::Deserialize;
use serde_json::json;

#[test]
fn times_and_dates_round_trip() {
    let there = json!({"__class__": "datetime", "year": 2026, "month": 11, "day": 20, "hour": 22, "minute": 15,
        "second": 42, "microsecond": 0});
    assert_eq!(serde_json::to_value(DateTime::at(1_795_212_942)).unwrap(), there);
    let mut fraction = there;
    fraction["microsecond"] = 999_999.into();
    let back: DateTime = serde_json::from_value(fraction).unwrap();
    assert_eq!(back.instant(), Some(1_795_212_942));
    for at in [0, -1, 951_782_400, 4_102_444_799] {
        assert_eq!(DateTime::at(at).instant(), Some(at));
    }
    let leap = Date::parse("2024-02-29").unwrap();
    assert_eq!(serde_json::to_value(leap).unwrap(), json!({"__class__": "date", "year": 2024, "month": 2, "day": 29}));
    assert_eq!(leap.text(), "2024-02-29");
    assert_eq!(Date::parse("2023-02-29"), None);
}

#[test]
fn booleans_of_both_databases() {
    #[derive(Deserialize)]
    struct FlagRow {
        #[serde(default)]
        active: Flag,
    }
    for (value, expected) in [(json!(1), true), (json!(true), true), (json!(0), false), (json!(null), false)] {
        assert_eq!(serde_json::from_value::<FlagRow>(json!({"active": value})).unwrap().active.0, expected);
    }
    assert!(!serde_json::from_value::<FlagRow>(json!({})).unwrap().active.0);
}
