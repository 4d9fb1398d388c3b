//! Dates and the time zone of a location: conversion between local time and UTC without a zone database.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{DAY, MINUTE, Millis, SECOND, Span, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// All weekdays, Monday first.
    pub const ALL: [Weekday; 7] = {
        use Weekday::*;
        [Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday]
    };
}

/// A calendar date as days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Date(pub i32);

/// The error of parsing a date: the text is not in the form `YYYY-MM-DD`, from 0001-01-01 to 9999-12-31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotADate;

impl Date {
    /// 0001-01-01
    pub const MIN: Date = Date(-719_162);
    /// 9999-12-31
    pub const MAX: Date = Date(2_932_896);

    /// Returns `None` if the day does not exist or its year is not in 1 to 9999.
    pub fn from_ymd(year: i32, month: u32, day: u32) -> Option<Date> {
        let valid = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        if !valid {
            return None;
        }
        // Years start in March, so that the leap day is the last day of its year.
        let (month, day) = (month as i32, day as i32);
        let year_from_march = if month > 2 { year } else { year - 1 };
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let leap_days = year_from_march / 4 - year_from_march / 100 + year_from_march / 400;
        let date = Date(year_from_march * 365 + leap_days + day_of_year - 719_468);
        // The 31st of a shorter month has become a day of the next month.
        (date.ymd() == (year, month as u32, day as u32)).then_some(date)
    }

    /// Returns year, month and day in the proleptic Gregorian calendar.
    pub fn ymd(self) -> (i32, u32, u32) {
        const DAYS_OF_400_YEARS: i64 = 146_097;
        let days = i64::from(self.0) + 719_468; // since 0000-03-01
        let era = days.div_euclid(DAYS_OF_400_YEARS);
        let day_of_era = days.rem_euclid(DAYS_OF_400_YEARS);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (year as i32, month as u32, day as u32)
    }

    pub fn weekday(self) -> Weekday {
        // 1970-01-01 was a Thursday.
        Weekday::ALL[(i64::from(self.0) + 3).rem_euclid(7) as usize]
    }

    /// Returns the date `days` later, or earlier if `days` is negative.
    pub fn add_days(self, days: i32) -> Date {
        Date(self.0.saturating_add(days))
    }

    /// Returns the days from `earlier` to `self`, negative if `self` is earlier.
    pub fn days_since(self, earlier: Date) -> i64 {
        i64::from(self.0) - i64::from(earlier.0)
    }

    /// Returns the months from the month of `earlier` to that of `self`, ignoring the days.
    pub fn months_since(self, earlier: Date) -> i64 {
        let months = |date: Date| {
            let (year, month, _) = date.ymd();
            i64::from(year) * 12 + i64::from(month)
        };
        months(self) - months(earlier)
    }

    /// Returns local midnight as if it were UTC.
    fn label(self) -> Millis {
        i64::from(self.0) * DAY
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.ymd();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl FromStr for Date {
    type Err = NotADate;

    fn from_str(text: &str) -> Result<Date, NotADate> {
        let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return Err(NotADate) };
        let number = |digits: &[u8]| {
            digits
                .iter()
                .try_fold(0, |sum, c| c.is_ascii_digit().then(|| sum * 10 + u32::from(c - b'0')))
                .ok_or(NotADate)
        };
        let year = number(&[y1, y2, y3, y4])? as i32;
        Date::from_ymd(year, number(&[m1, m2])?, number(&[d1, d2])?).ok_or(NotADate)
    }
}

impl fmt::Display for NotADate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not a date from 0001-01-01 to 9999-12-31 in the form YYYY-MM-DD")
    }
}

impl std::error::Error for NotADate {}

/// A change of the offset from UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneChange {
    /// The first instant of the offset.
    pub at: Timestamp,
    /// Seconds east of UTC.
    pub offset_seconds: i32,
    /// The short name that clocks show.
    pub abbreviation: String,
}

impl ZoneChange {
    fn offset(&self) -> Millis {
        i64::from(self.offset_seconds) * SECOND
    }
}

/// A time zone: its offset changes in order. The first one is at `Timestamp::MIN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ZoneParts")]
pub struct Zone {
    name: String,
    changes: Vec<ZoneChange>,
}

/// The serialized form of `Zone`, before validation.
#[derive(Deserialize)]
struct ZoneParts {
    name: String,
    changes: Vec<ZoneChange>,
}

impl TryFrom<ZoneParts> for Zone {
    type Error = ZoneError;

    fn try_from(parts: ZoneParts) -> Result<Zone, ZoneError> {
        Zone::new(parts.name, parts.changes)
    }
}

/// The reason why a zone is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneError {
    /// The first change is missing or is not at `Timestamp::MIN`.
    NoBeginning,
    /// More changes than `Zone::MAX_CHANGES`.
    TooManyChanges(usize),
    /// The change is not later than the previous one.
    OutOfOrder(Timestamp),
    /// An offset of a day or more.
    OffsetTooLarge(i32),
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ZoneError::NoBeginning => f.write_str("a zone's first change must be at the beginning of time"),
            ZoneError::TooManyChanges(count) => write!(f, "a zone of {count} changes; at most {}", Zone::MAX_CHANGES),
            ZoneError::OutOfOrder(at) => {
                write!(f, "the zone's change at {} ms does not follow the one before it", at.0)
            }
            ZoneError::OffsetTooLarge(seconds) => write!(f, "a zone offset of {seconds} s; it must stay below a day"),
        }
    }
}

impl std::error::Error for ZoneError {}

/// The instants that correspond to a local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// Clocks skip the local time.
    Gap {
        /// The first instant after the gap.
        next: Timestamp,
    },
    /// The local time exists once.
    One(Timestamp),
    /// Clocks show the local time twice. If a zone shows it more often, these are the first and the last instant.
    Two(Timestamp, Timestamp),
}

impl Resolved {
    /// Returns the earliest instant that is not before the local time.
    pub fn first(self) -> Timestamp {
        match self {
            Resolved::Gap { next: at } | Resolved::One(at) | Resolved::Two(at, _) => at,
        }
    }

    /// Returns the last instant of an ambiguous local time, otherwise the same as `first`.
    pub fn last(self) -> Timestamp {
        match self {
            Resolved::Gap { next: at } | Resolved::One(at) | Resolved::Two(_, at) => at,
        }
    }
}

impl Zone {
    /// Maximum number of changes. The IANA zone with the most has fewer than 300.
    pub const MAX_CHANGES: usize = 4_096;

    /// Creates a zone from its offset changes, in order.
    pub fn new(name: impl Into<String>, changes: Vec<ZoneChange>) -> Result<Zone, ZoneError> {
        if changes.first().is_none_or(|first| first.at != Timestamp::MIN) {
            return Err(ZoneError::NoBeginning);
        }
        if changes.len() > Zone::MAX_CHANGES {
            return Err(ZoneError::TooManyChanges(changes.len()));
        }
        if let Some(pair) = changes.windows(2).find(|pair| pair[0].at >= pair[1].at) {
            return Err(ZoneError::OutOfOrder(pair[1].at));
        }
        if let Some(change) = changes.iter().find(|change| change.offset().abs() >= DAY) {
            return Err(ZoneError::OffsetTooLarge(change.offset_seconds));
        }
        Ok(Zone { name: name.into(), changes })
    }

    pub fn utc() -> Zone {
        let always = ZoneChange { at: Timestamp::MIN, offset_seconds: 0, abbreviation: "UTC".into() };
        Zone { name: "UTC".into(), changes: vec![always] }
    }

    /// Returns the name in the IANA database.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn changes(&self) -> &[ZoneChange] {
        &self.changes
    }

    /// Returns the offset and abbreviation in force at `t`.
    pub fn offset_at(&self, t: Timestamp) -> &ZoneChange {
        &self.changes[self.period_at(t)]
    }

    pub fn local_date(&self, t: Timestamp) -> Date {
        self.local(t).0
    }

    /// Returns the local date and the full seconds after midnight at `t`.
    pub fn local(&self, t: Timestamp) -> (Date, u32) {
        let label = t.plus(self.offset_at(t).offset()).0;
        let days = label.div_euclid(DAY).clamp(i32::MIN.into(), i32::MAX.into());
        (Date(days as i32), (label.rem_euclid(DAY) / SECOND) as u32)
    }

    /// Returns the instants of `date` and `minutes` after midnight. Values from 1440 on are in the next day.
    pub fn resolve(&self, date: Date, minutes: u16) -> Resolved {
        self.resolve_label(date.label() + i64::from(minutes) * MINUTE)
    }

    /// Returns the instants of `date` and `seconds` after midnight, like `resolve`.
    pub fn resolve_seconds(&self, date: Date, seconds: u32) -> Resolved {
        self.resolve_label(date.label() + i64::from(seconds) * SECOND)
    }

    /// Returns the span from the first instant of `date` to that of the next date. It lasts 23 or 25 hours if clocks
    /// change, and is empty (`start == end`) for a skipped day.
    pub fn day(&self, date: Date) -> Span {
        Span { start: self.resolve(date, 0).first(), end: self.resolve(date.add_days(1), 0).first() }
    }

    /// Returns the midnight that begins `date` if clocks do not change for 48 hours from it. Every local time of this
    /// date and the next is then midnight plus its minutes.
    pub(crate) fn even_midnight(&self, date: Date) -> Option<Timestamp> {
        let (from, to) = (date.label(), date.label() + 2 * DAY);
        let nearby = &self.changes[self.period_at(Timestamp(from - DAY))..];
        for pair in nearby.windows(2).take_while(|pair| pair[1].at.0 <= to + DAY) {
            let (before, after) = (pair[1].at.plus(pair[0].offset()).0, pair[1].at.plus(pair[1].offset()).0);
            // Local times between `before` and `after` are skipped or occur twice.
            if before != after && before.min(after) <= to && from <= before.max(after) {
                return None;
            }
        }
        Some(self.resolve_label(from).first())
    }

    /// Returns the period of constant offset that contains `t`, and the offset in milliseconds.
    pub(crate) fn period(&self, t: Timestamp) -> (Span, Millis) {
        let index = self.period_at(t);
        let end = self.changes.get(index + 1).map_or(Timestamp::MAX, |next| next.at);
        (Span { start: self.changes[index].at, end }, self.changes[index].offset())
    }

    /// Returns the index of the period of constant offset that contains `t`.
    fn period_at(&self, t: Timestamp) -> usize {
        // `new` guarantees that the first change is at `Timestamp::MIN`, so the count is at least 1.
        self.changes.partition_point(|change| change.at <= t) - 1
    }

    fn resolve_label(&self, label: Millis) -> Resolved {
        let (mut first, mut last, mut gap) = (None, None, None);
        // Offsets are shorter than a day, so only periods within a day of the label can contain or skip it.
        let start = self.period_at(Timestamp(label - DAY));
        for (index, change) in self.changes.iter().enumerate().skip(start) {
            if change.at.0 > label + DAY {
                break;
            }
            let shown = Timestamp(label - change.offset());
            let next = self.changes.get(index + 1);
            if change.at <= shown && next.is_none_or(|next| shown < next.at) {
                first = first.or(Some(shown));
                last = Some(shown);
            }
            let jumps = |next: &&ZoneChange| next.at <= shown && Timestamp(label - next.offset()) < next.at;
            gap = gap.or(next.filter(jumps).map(|next| next.at));
        }
        match (first, last, gap) {
            (Some(first), Some(last), _) if first == last => Resolved::One(first),
            (Some(first), Some(last), _) => Resolved::Two(first, last),
            (_, _, gap) => Resolved::Gap { next: gap.expect("a local time without an instant is inside a gap") },
        }
    }
}
