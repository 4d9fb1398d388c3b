//! Time zones of the IANA database as plain data for the machine.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use chrono::{DateTime, Offset, TimeZone, Utc};
use chrono_tz::{OffsetName, Tz};
use location::{
    time::{DAY, SECOND, Timestamp},
    zone::{Zone, ZoneChange},
};
use parking_lot::Mutex;

/// Years in which changes are computed. The first and last offsets apply before and after.
const YEARS: std::ops::Range<i32> = 1970..2100;

static ZONES: LazyLock<Mutex<HashMap<Tz, Arc<Zone>>>> = LazyLock::new(Mutex::default);

/// Returns a zone as data. It is computed once per process, which takes some milliseconds.
pub fn zone(tz: Tz) -> Arc<Zone> {
    let mut zones = ZONES.lock();
    zones.entry(tz).or_insert_with(|| Arc::new(compute(tz))).clone()
}

fn compute(tz: Tz) -> Zone {
    let at = |year| Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).single().map_or(0, |time| time.timestamp_millis());
    let (start, end) = (at(YEARS.start), at(YEARS.end));
    let mut changes = vec![change(tz, Timestamp::MIN, start)];
    let mut day = start;
    while day < end {
        let next = day + DAY;
        if seen(tz, day) != seen(tz, next) {
            let exact = bisect(tz, day, next);
            changes.push(change(tz, Timestamp(exact), exact));
        }
        day = next;
    }
    Zone::new(tz.name().to_owned(), changes).expect("changes come in order")
}

/// Returns the first second in `(before, after]` with the offset of `after`.
fn bisect(tz: Tz, before: i64, after: i64) -> i64 {
    let (mut low, mut high) = (before / SECOND, after / SECOND);
    let target = seen(tz, after);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if seen(tz, middle * SECOND) == target { high = middle } else { low = middle }
    }
    high * SECOND
}

fn seen(tz: Tz, millis: i64) -> (i32, Option<String>) {
    let utc = DateTime::from_timestamp_millis(millis).unwrap_or_default().naive_utc();
    let offset = tz.offset_from_utc_datetime(&utc);
    (offset.fix().local_minus_utc(), offset.abbreviation().map(str::to_owned))
}

fn change(tz: Tz, at: Timestamp, millis: i64) -> ZoneChange {
    let (offset_seconds, abbreviation) = seen(tz, millis);
    ZoneChange { at, offset_seconds, abbreviation: abbreviation.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_york_changes_to_daylight_time_in_march_2026() {
        let zone = zone(chrono_tz::America::New_York);
        let winter = Timestamp(1_767_225_600_000); // 2026-01-01T00:00:00Z
        assert_eq!(
            (zone.offset_at(winter).offset_seconds, zone.offset_at(winter).abbreviation.as_str()),
            (-18_000, "EST")
        );
        let change = Timestamp(1_772_953_200_000); // 2026-03-08T07:00:00Z
        assert_eq!(zone.offset_at(change).abbreviation, "EDT");
        assert_eq!(zone.offset_at(change.minus(1)).abbreviation, "EST");
    }

    #[test]
    fn utc_has_no_changes() {
        assert_eq!(zone(chrono_tz::UTC).changes().len(), 1);
    }
}
