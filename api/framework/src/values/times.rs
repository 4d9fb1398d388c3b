//! Formats of times: UTC with Z, local with offset, and for people.

use std::borrow::Cow;

use chrono::{DateTime, Datelike, Offset, SecondsFormat, TimeZone, Timelike, Utc};
use chrono_tz::Tz;
use location::{Date, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A time as shown by the API: `2026-12-01T14:30:00.000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At(pub Timestamp);

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&utc(self.0))
    }
}

impl JsonSchema for At {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "At".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

pub fn utc(t: Timestamp) -> String {
    instant(t).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Formats as `2026-12-01T09:30:00.000-05:00`.
pub fn with_zone(t: Timestamp, zone: Tz) -> String {
    instant(t).with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Millis, false)
}

/// Returns the zone's offset at that instant: `-05:00`.
pub fn offset(t: Timestamp, zone: Tz) -> String {
    instant(t).with_timezone(&zone).format("%:z").to_string()
}

/// Formats as `Tue, Dec 1 2026, 9:30 AM EST`.
pub fn for_people(t: Timestamp, zone: Tz) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let at = instant(t).with_timezone(&zone);
    let (weekday, month) = (at.weekday(), MONTHS[at.month0() as usize]);
    let ((afternoon, hour), minute) = (at.hour12(), at.minute());
    let half = if afternoon { "PM" } else { "AM" };
    format!("{weekday}, {month} {} {:04}, {hour}:{minute:02} {half} {}", at.day(), at.year(), at.offset())
}

/// Returns the local date and the minutes since midnight on the local clock.
pub fn local(t: Timestamp, zone: Tz) -> (Date, i64) {
    let offset = zone.offset_from_utc_datetime(&instant(t).naive_utc()).fix().local_minus_utc();
    let seconds = instant(t).timestamp() + i64::from(offset);
    // The calendar's days fit into an i32 many times over.
    let days = seconds.div_euclid(86_400).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    (Date(days), seconds.rem_euclid(86_400) / 60)
}

/// Converts a time. Times beyond the calendar become its first or last instant.
fn instant(t: Timestamp) -> DateTime<Utc> {
    let end = if t.0 < 0 { DateTime::<Utc>::MIN_UTC } else { DateTime::<Utc>::MAX_UTC };
    DateTime::from_timestamp_millis(t.0).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis())
    }

    #[test]
    fn times_are_formatted_with_the_offset_of_their_instant() {
        let zone: Tz = "America/New_York".parse().unwrap();
        let winter = at("2026-12-01T14:30:00Z");
        assert_eq!(utc(winter), "2026-12-01T14:30:00.000Z");
        assert_eq!(with_zone(winter, zone), "2026-12-01T09:30:00.000-05:00");
        assert_eq!(offset(at("2026-07-01T14:30:00Z"), zone), "-04:00");
        assert_eq!(with_zone(winter, Tz::UTC), "2026-12-01T14:30:00.000+00:00");
        assert_eq!(for_people(winter, zone), "Tue, Dec 1 2026, 9:30 AM EST");
        let (date, minutes) = local(winter, zone);
        assert_eq!((date.to_string().as_str(), minutes), ("2026-12-01", 9 * 60 + 30));
    }

    #[test]
    fn both_passes_of_a_clock_overlap_are_distinguished() {
        let zone: Tz = "America/New_York".parse().unwrap();
        assert_eq!(for_people(at("2026-11-01T05:30:00Z"), zone), "Sun, Nov 1 2026, 1:30 AM EDT");
        assert_eq!(for_people(at("2026-11-01T06:30:00Z"), zone), "Sun, Nov 1 2026, 1:30 AM EST");
    }

    #[test]
    fn times_for_people_follow_their_pattern() {
        for zone in [Tz::America__New_York, Tz::Australia__Lord_Howe, Tz::UTC] {
            for hour in 0..9_000 {
                let t = Timestamp(1_700_000_000_000 + hour * 3_700_000);
                let pattern = instant(t).with_timezone(&zone).format("%a, %b %-d %Y, %-I:%M %p %Z");
                assert_eq!(for_people(t, zone), pattern.to_string());
            }
        }
    }

    #[test]
    fn impossible_times_do_not_panic() {
        for t in [Timestamp::MIN, Timestamp::MAX] {
            let zone: Tz = "UTC".parse().unwrap();
            assert!(!utc(t).is_empty() && !for_people(t, zone).is_empty());
            assert!((0..1_440).contains(&local(t, zone).1));
        }
    }
}
