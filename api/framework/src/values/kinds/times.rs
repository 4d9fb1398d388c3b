//! Dates and times in any form with only one possible meaning.

use std::{ops::RangeInclusive, sync::Arc};

use chrono::{
    DateTime, Datelike, FixedOffset, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta, TimeZone,
    Utc,
};
use chrono_tz::Tz;
use engine::records::patient::FIRST_YEAR_OF_BIRTH;
use location::{Date, Timestamp};
use parking_lot::Mutex;
use serde_json::json;

use crate::values::{
    kinds::{Kind, Parsed},
    limits::YEARS,
};

/// Pattern for `YEARS`.
const CENTURIES: &str = "^(19|20|21)";
/// Pattern for `YEARS`, from the first accepted year of birth.
const CENTURIES_OF_BIRTH: &str = "^(18[89]|19|20|21)";

/// Reads times without an offset in the zone of a location, and records each interpretation for the response.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// `None` if the location is unknown; times are read in UTC.
    zone: Option<Tz>,
    /// The client named the zone, so no interpretation is reported.
    named: bool,
    read: Arc<Mutex<Vec<String>>>,
}

/// Maximum number of reported interpretations.
const MAX_READ: usize = 5;

impl Clock {
    pub(crate) fn has_zone(&self) -> bool {
        self.zone.is_some()
    }

    /// Sets the zone for later times. Earlier interpretations stay recorded.
    pub fn set(&mut self, zone: Tz) {
        self.zone = Some(zone);
    }

    /// Returns a clock in the zone that the client named for this request.
    pub fn named(&self, zone: Option<Tz>) -> Clock {
        match zone {
            Some(zone) => Clock { zone: Some(zone), named: true, read: self.read.clone() },
            None => self.clone(),
        }
    }

    /// Takes the recorded sentences, one per time without an offset.
    pub(crate) fn take_read(&self) -> Vec<String> {
        std::mem::take(&mut self.read.lock())
    }

    fn at(&self, local: NaiveDateTime, written: &str) -> DateTime<Utc> {
        let zone = self.zone.unwrap_or(Tz::UTC);
        let (at, odd) = match zone.from_local_datetime(&local) {
            MappedLocalTime::Single(at) => (at, ""),
            MappedLocalTime::Ambiguous(first, _) => (first, " (the first of two: clocks go back then)"),
            // The local time is skipped by a clock change; it is shifted by the length of the gap.
            MappedLocalTime::None => (after_gap(zone, local), " (clocks go forward then and never show it)"),
        };
        let mut read = self.read.lock();
        if !self.named && read.len() < MAX_READ {
            let shown = at.format("%Y-%m-%dT%H:%M:%S%:z");
            read.push(format!("{written} has no offset and was read in {zone}, as {shown}{odd}."));
        }
        at.to_utc()
    }

    /// Returns the start of the day at the location. A date needs no reported interpretation.
    fn midnight(&self, date: NaiveDate) -> DateTime<Utc> {
        let (zone, local) = (self.zone.unwrap_or(Tz::UTC), date.and_time(NaiveTime::MIN));
        zone.from_local_datetime(&local).earliest().unwrap_or_else(|| after_gap(zone, local)).to_utc()
    }
}

/// Interprets a skipped local time with the offset from before the gap.
fn after_gap(zone: Tz, local: NaiveDateTime) -> DateTime<Tz> {
    let before = zone.from_local_datetime(&(local - TimeDelta::hours(3))).earliest();
    let offset = before.map_or(0, |before| before.offset().fix().local_minus_utc());
    zone.from_utc_datetime(&(local - TimeDelta::seconds(offset.into())))
}

/// Reads a date. A date-time gives its day as written.
pub fn date() -> Kind<Date> {
    Kind::for_text(
        || json!({"type": "string", "format": "date", "pattern": CENTURIES}),
        "2026-12-01",
        |text| in_years(days(ParsedDateTime::parse(text).ok_or("must be a date in the form YYYY-MM-DD")?.date), YEARS),
    )
}

/// Reads a date or a date-time.
pub fn date_or_instant<T: 'static>(clock: &Clock, date: fn(Date) -> T, at: fn(Timestamp) -> T) -> Kind<T> {
    let instant = instant(clock);
    let schema = || json!({"type": "string", "format": "date-time"});
    Kind::for_text(schema, "2026-12-01T14:30:00Z", move |text| match ParsedDateTime::parse(text) {
        Some(ParsedDateTime { date: day, time: None, .. }) => in_years(days(day), YEARS).map(date),
        _ => instant.text(text).map(at),
    })
}

fn in_years(date: Date, years: RangeInclusive<i32>) -> Parsed<Date> {
    if years.contains(&date.ymd().0) {
        Ok(date)
    } else {
        Err(format!("must be between the years {} and {}", years.start(), years.end()))
    }
}

/// Reads a date of birth, today at the latest, in any form that can mean one day only.
pub fn birth_date(today: Date) -> Kind<Date> {
    // A schema cannot express all accepted forms; it contains the recommended one.
    let schema = || json!({"type": "string", "format": "date", "pattern": CENTURIES_OF_BIRTH});
    Kind::for_text(schema, "1980-05-06", move |text| {
        let born = in_years(any_date(text)?, FIRST_YEAR_OF_BIRTH..=*YEARS.end())?;
        if born <= today { Ok(born) } else { Err(format!("must not be in the future: today is {today}")) }
    })
    .about("Date of birth: YYYY-MM-DD, or any other unambiguous date (`March 1 1985`, `08/22/1938`).")
}

/// Forms with a clear order: the month as a word, or the year first.
const CLEAR_DATES: &[&str] =
    &["%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%B %d, %Y", "%B %d %Y", "%d %B %Y", "%d. %B %Y", "%d-%B-%Y"];

fn any_date(text: &str) -> Parsed<Date> {
    if let Some(written) = ParsedDateTime::parse(text) {
        return Ok(days(written.date));
    }
    // A date-time gives its day, whatever the form of the day.
    let text = text
        .split_once('T')
        .map_or(text, |(day, time)| if time.starts_with(|c: char| c.is_ascii_digit()) { day } else { text });
    let clear = CLEAR_DATES.iter().find_map(|format| NaiveDate::parse_from_str(text, format).ok());
    if let Some(date) = clear.filter(|date| date.year() >= 1_000) {
        return Ok(days(date));
    }
    let wrong = || "must be a date in the form YYYY-MM-DD".to_owned();
    let parts: Vec<&str> = text.split(['/', '-', '.']).collect();
    let [one, two, year] = parts[..] else { return Err(wrong()) };
    let number = |digits: &str, lengths: std::ops::RangeInclusive<usize>| {
        let plain = lengths.contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| plain)
    };
    let (one, two) = number(one, 1..=2).zip(number(two, 1..=2)).ok_or_else(wrong)?;
    let year = number(year, 4..=4).ok_or_else(wrong)? as i32;
    match (NaiveDate::from_ymd_opt(year, one, two), NaiveDate::from_ymd_opt(year, two, one)) {
        (Some(us), Some(eu)) if us != eu => Err(format!("can mean {us} or {eu}: write it as YYYY-MM-DD")),
        (Some(date), _) | (None, Some(date)) => Ok(days(date)),
        (None, None) => Err(wrong()),
    }
}

fn days(date: NaiveDate) -> Date {
    Date(date.signed_duration_since(NaiveDate::default()).num_days() as i32)
}

/// Reads `HH:MM` as minutes after midnight. The hour may have one digit, and seconds must be `00`.
pub fn time_of_day() -> Kind<i64> {
    let schema = || json!({"type": "string", "pattern": "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"});
    Kind::for_text(schema, "09:30", |text| {
        let wrong = || "must be a time of day in the form HH:MM".to_owned();
        let number = |digits: &str, max: i64| {
            let plain = (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            digits.parse::<i64>().ok().filter(|number| plain && *number <= max)
        };
        let (hours, minutes) = text.split_once(':').ok_or_else(wrong)?;
        let minutes = minutes.strip_suffix(":00").unwrap_or(minutes);
        let minutes = Some(minutes).filter(|digits| digits.len() == 2).ok_or_else(wrong)?;
        let minutes = number(hours, 24).zip(number(minutes, 59)).map(|(hours, minutes)| hours * 60 + minutes);
        minutes.filter(|minutes| *minutes <= 1_440).ok_or_else(wrong)
    })
}

/// Reads a date-time. Without an offset, or as a date alone, the clock gives the zone.
pub fn instant(clock: &Clock) -> Kind<Timestamp> {
    moment(clock, |date| date)
}

/// Reads the end of a time span. A date alone includes that day.
pub fn end_of(clock: &Clock) -> Kind<Timestamp> {
    moment(clock, |date| date.succ_opt().unwrap_or(date))
}

fn moment(clock: &Clock, day: impl Fn(NaiveDate) -> NaiveDate + Send + Sync + 'static) -> Kind<Timestamp> {
    let clock = clock.clone();
    let schema = || json!({"type": "string", "format": "date-time", "pattern": CENTURIES});
    Kind::for_text(schema, "2026-12-01T14:30:00Z", move |text| {
        let written = ParsedDateTime::parse(text).ok_or("must be a date-time such as 2026-12-01T14:30:00Z")?;
        in_years(days(written.date), YEARS)?;
        let at = match (written.time, written.offset) {
            (None, _) => clock.midnight(day(written.date)),
            (Some(time), None) => clock.at(written.date.and_time(time), text),
            (Some(time), Some(offset)) => {
                let at = written.date.and_time(time).and_local_timezone(offset).single();
                at.ok_or("must be a date-time such as 2026-12-01T14:30:00Z")?.to_utc()
            }
        };
        Ok(Timestamp(at.timestamp_millis()))
    })
}

/// A date-time as written by ISO 8601, RFC 3339 and common libraries.
struct ParsedDateTime {
    date: NaiveDate,
    time: Option<NaiveTime>,
    offset: Option<FixedOffset>,
}

impl ParsedDateTime {
    fn parse(text: &str) -> Option<ParsedDateTime> {
        let (date, rest) = text.split_at_checked(10)?;
        let form = |at: usize, b: u8| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() };
        let date = date.bytes().enumerate().all(|(at, b)| form(at, b)).then_some(date)?;
        let date = date.parse::<NaiveDate>().ok()?;
        if rest.is_empty() {
            return Some(ParsedDateTime { date, time: None, offset: None });
        }
        let rest = rest.strip_prefix(['T', 't', ' '])?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
        let (time, offset) = rest.split_at(end);
        let two_digits = time.get(..2)?.bytes().all(|b| b.is_ascii_digit()) && time.as_bytes().get(2) == Some(&b':');
        let time = ["%H:%M:%S%.f", "%H:%M"].iter().find_map(|form| NaiveTime::parse_from_str(time, form).ok());
        let time = Some(time.filter(|_| two_digits)?);
        let offset = if offset.is_empty() { None } else { Some(offset_of(offset)?) };
        Some(ParsedDateTime { date, time, offset })
    }
}

/// Parses `Z`, `+01:00`, `+0100` or `+01`. A plus sign that was not escaped in a query arrives as a blank.
fn offset_of(text: &str) -> Option<FixedOffset> {
    let text = text.strip_prefix(' ').filter(|rest| rest.starts_with(['+', '-', 'Z', 'z'])).unwrap_or(text);
    if text == "Z" || text == "z" {
        return FixedOffset::east_opt(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+" | " ", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = match digits.split_once(':') {
        Some((hours, minutes)) if hours.len() == 2 && minutes.len() == 2 => format!("{hours}{minutes}"),
        Some(_) => return None,
        None => digits.to_owned(),
    };
    let plain = [2, 4].contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let number = |part: &str| part.parse::<i32>().ok();
    let (hours, minutes) =
        (number(digits.get(..2)?)?, digits.get(2..).filter(|it| !it.is_empty()).map_or(Some(0), number)?);
    (plain && hours < 24 && minutes < 60).then(|| FixedOffset::east_opt(sign * (hours * 60 + minutes) * 60))?
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn new_york() -> Clock {
        Clock { zone: Some("America/New_York".parse().unwrap()), ..Clock::default() }
    }

    #[test]
    fn date_times_in_every_usual_form() {
        let at = instant(&Clock::default()).text("2026-12-01T14:30:00Z").unwrap();
        for same in [
            "2026-12-01T14:30:00+00:00",
            "2026-12-01T14:30:00+0000",
            "2026-12-01T09:30:00-0500",
            "2026-12-01T09:30:00-05",
            "2026-12-01T14:30:00+00",
            "2026-12-01 14:30:00Z",
            "2026-12-01 14:30:00 +0000",
            "2026-12-01T15:30:00 01:00",
            "2026-12-01T15:30:00 0100",
            "2026-12-01T14:30:00.000Z",
            "2026-12-01T14:30Z",
            "2026-12-01t14:30:00z",
            // Local times.
            "2026-12-01T09:30:00",
            "2026-12-01 09:30:00",
            "2026-12-01T09:30",
        ] {
            assert_eq!(instant(&new_york()).text(same), Ok(at), "{same}");
        }
        for wrong in [
            "",
            "yesterday",
            "2026-12-01T",
            "2026-12-01T25:00:00Z",
            "2026-12-01T14:30:00+0",
            "2026-12-01T14:30:00+000",
            "2026-12-01T14:30:00+24:00",
            "2026-12-01T14:30:00+00:60",
            "2026-12-01T14:30:00+1:00",
            "2026-12-01T9:30:00Z",
            "2026-12-01T14:30:00ZZ",
            "2026-12-01T14:30:00 EST",
            "2026-12-01_14:30:00Z",
            "2026-1-1T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "+999999-01-01",
            "01/12/2026",
            "1764599400",
            "2026-12-01T14:30:00+--",
            "2026-12-01é",
            "2026-12-01T14:30:00é",
        ] {
            assert!(instant(&new_york()).text(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_without_offset_uses_the_zone_of_the_location_with_a_note() {
        let clock = new_york();
        let read = |text: &str| instant(&clock).text(text).unwrap();
        let utc = |text: &str| instant(&Clock::default()).text(text).unwrap();
        assert_eq!(read("2026-12-01"), utc("2026-12-01T05:00:00Z"));
        assert!(clock.take_read().is_empty(), "dates need no note");
        assert_eq!(read("2026-11-27T15:00:00"), utc("2026-11-27T20:00:00Z"));
        let notice =
            "2026-11-27T15:00:00 has no offset and was read in America/New_York, as 2026-11-27T15:00:00-05:00.";
        assert_eq!(clock.take_read(), [notice]);
        // A time in the gap of spring, and one in the overlap of autumn.
        assert_eq!(read("2026-03-08T02:30:00"), utc("2026-03-08T07:30:00Z"));
        assert!(clock.take_read()[0].contains("as 2026-03-08T03:30:00-04:00 (clocks go forward"));
        assert_eq!(read("2026-11-01T01:30:00"), utc("2026-11-01T05:30:00Z"));
        assert!(clock.take_read()[0].contains("01:30:00-04:00 (the first of two"));
        let named = clock.named(Some(Tz::Europe__Berlin));
        assert_eq!(instant(&named).text("2026-12-01T09:30:00"), Ok(utc("2026-12-01T08:30:00Z")));
        assert!(named.take_read().is_empty(), "the client named the zone");
        for _ in 0..100 {
            read("2026-12-01T09:30:00");
        }
        assert_eq!(clock.take_read().len(), MAX_READ);
    }

    #[test]
    fn an_end_given_as_a_date_includes_that_day() {
        let clock = new_york();
        let utc = |text: &str| instant(&Clock::default()).text(text);
        assert_eq!(end_of(&clock).text("2026-11-27"), utc("2026-11-28T05:00:00Z"));
        assert_eq!(end_of(&clock).text("2026-11-27T10:00:00Z"), utc("2026-11-27T10:00:00Z"));
    }

    #[test]
    fn unambiguous_birth_dates_are_read_and_ambiguous_ones_refused() {
        let today: Date = "2026-11-21".parse().unwrap();
        let read = |text: &str| birth_date(today).text(text).map(|date| date.to_string());
        for same in [
            "1985-03-01",
            "1985/03/01",
            "19850301",
            "March 1 1985",
            "March 1, 1985",
            "Mar 1, 1985",
            "1 Mar 1985",
            "1 March 1985",
            "01-Mar-1985",
            "1985-03-01T00:00:00Z",
            "1985-03-01 00:00:00",
            "1985-03-01 00:00:00 +0000",
        ] {
            assert_eq!(read(same).as_deref(), Ok("1985-03-01"), "{same}");
        }
        assert_eq!(read("08/22/1938").as_deref(), Ok("1938-08-22"));
        assert_eq!(read("22.08.1938").as_deref(), Ok("1938-08-22"));
        assert_eq!(read("3/3/1985").as_deref(), Ok("1985-03-03"));
        for (both, readings) in [
            ("03/04/1985", "can mean 1985-03-04 or 1985-04-03: write it as YYYY-MM-DD"),
            ("3-4-1985", "can mean 1985-03-04 or 1985-04-03: write it as YYYY-MM-DD"),
            ("03.04.1985", "can mean 1985-03-04 or 1985-04-03: write it as YYYY-MM-DD"),
        ] {
            assert_eq!(read(both), Err(readings.to_owned()), "{both}");
        }
        for wrong in [
            "", "yesterday", "1980-02-30", "80-05-06", "05/06/80", "31/31/1980", "3/4", "1985-3", "0085-03-01",
            "1/2/3/1985",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read("2026-11-21").as_deref(), Ok("2026-11-21"));
        assert_eq!(read("2026-11-22"), Err("must not be in the future: today is 2026-11-21".to_owned()));
        assert_eq!(read("1880-01-01").as_deref(), Ok("1880-01-01"));
        for none in ["1879-12-31", "1753-01-01", "2200-01-01", "9999-12-31"] {
            assert_eq!(read(none), Err("must be between the years 1880 and 2199".to_owned()), "{none}");
        }
    }

    #[test]
    fn dates_and_times_of_day() {
        assert_eq!(date().text("2026-12-01").unwrap().to_string(), "2026-12-01");
        for wrong in [
            "0000-01-01", "9999-12-31", "1899-12-31", "2026-13-01", "2026-2-1", "26-02-01", "2026-02-01T",
            "2026-02-01 or so", "2026-02-01T25:00:00Z", "1899-12-31T00:00:00Z", "x",
        ] {
            assert!(date().text(wrong).is_err(), "{wrong}");
        }
        for same in [
            "2026-02-01T00:00:00Z",
            "2026-02-01T23:59:59.999-11:00",
            "2026-02-01T00:00:00 14:00",
            "2026-02-01 08:00",
            "2026-02-01T08:00:00",
        ] {
            assert_eq!(date().text(same).unwrap().to_string(), "2026-02-01", "{same}");
        }
        assert_eq!(time_of_day().text("09:30"), Ok(570));
        assert_eq!(time_of_day().text("24:00"), Ok(1_440));
        assert_eq!(time_of_day().text("9:30"), Ok(570));
        assert_eq!(time_of_day().text("17:00:00"), Ok(1_020));
        for wrong in ["24:01", "9:5", "17:00:30", "009:30", "09:60", "0930", "-1:00", "+9:30", "", ":"] {
            assert!(time_of_day().text(wrong).is_err(), "{wrong}");
        }
    }
}
