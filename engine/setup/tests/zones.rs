//! Zones of the IANA database as data.

use location::time::Timestamp;
use setup::zones::zone;

#[test]
fn new_york_changes_to_daylight_time_in_march_2026() {
    let zone = zone(chrono_tz::America::New_York);
    let winter = Timestamp(1_767_225_600_000); // 2026-01-01T00:00:00Z
    assert_eq!((zone.offset_at(winter).offset_seconds, zone.offset_at(winter).abbreviation.as_str()), (-18_000, "EST"));
    let change = Timestamp(1_772_953_200_000); // 2026-03-08T07:00:00Z
    assert_eq!(zone.offset_at(change).abbreviation, "EDT");
    assert_eq!(zone.offset_at(change.minus(1)).abbreviation, "EST");
}

#[test]
fn utc_has_no_changes() {
    assert_eq!(zone(chrono_tz::UTC).changes().len(), 1);
}
