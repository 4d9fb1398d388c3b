//! Calendar days in UTC, used in file names and for retention.

use std::fmt;

use chrono::{DateTime, Days, NaiveDate, NaiveTime};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The last millisecond of the year 9999; a file name has four digits for the year.
const LAST_MILLISECOND: i64 = 253_402_300_799_999;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(NaiveDate);

impl Day {
    pub(crate) fn from_millis(at: i64) -> Option<Self> {
        let known = (0..=LAST_MILLISECOND).contains(&at);
        DateTime::from_timestamp_millis(at).filter(|_| known).map(|time| Self(time.date_naive()))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let eight = text.len() == 8 && text.bytes().all(|digit| digit.is_ascii_digit());
        NaiveDate::parse_from_str(text, "%Y%m%d").ok().filter(|_| eight).map(Self)
    }

    /// Returns the day that is `days` earlier, or `None` if that is before the start of the calendar.
    pub(crate) fn before(self, days: u32) -> Option<Self> {
        self.0.checked_sub_days(Days::new(days.into())).map(Self)
    }

    /// Returns the first millisecond of the day.
    pub(crate) fn start(self) -> i64 {
        self.0.and_time(NaiveTime::MIN).and_utc().timestamp_millis()
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.format("%Y%m%d"))
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("a day is YYYYMMDD"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_day_begins_and_ends_at_midnight_utc() {
        let day = Day::from_millis(1_795_564_800_000).unwrap();
        assert_eq!(day.to_string(), "20261125");
        assert_eq!(Day::parse("20261125"), Some(day));
        assert_eq!(Day::from_millis(day.start()), Some(day));
        assert_eq!(Day::from_millis(day.start() - 1), day.before(1));
        assert!(day.before(1) < Some(day));
    }

    #[test]
    fn times_and_names_outside_the_calendar_are_none() {
        assert_eq!(
            (Day::from_millis(-1), Day::from_millis(LAST_MILLISECOND + 1), Day::from_millis(i64::MAX)),
            (None, None, None)
        );
        assert_eq!(Day::from_millis(LAST_MILLISECOND).unwrap().to_string(), "99991231");
        assert_eq!((Day::parse("20261301"), Day::parse("2026112"), Day::parse("+2026112")), (None, None, None));
    }
}
