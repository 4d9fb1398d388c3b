//! Closures of a practice: dates, ranges of dates, and ranges with local times.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Date, Span, Zone};

/// Minutes of a day by the clock.
const DAY_MINUTES: u16 = 1440;

/// A time in which no visits are booked: from one local time to another. It may span several days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Closure {
    /// The first date.
    pub from: Date,
    /// Minutes after midnight of `from`.
    pub from_minute: u16,
    /// The last date.
    pub to: Date,
    /// Exclusive end in minutes after midnight of `to`; 1440 for the whole date.
    pub to_minute: u16,
}

impl Closure {
    /// Creates the closure of whole dates, both included.
    pub fn of_days(from: Date, to: Date) -> Closure {
        Closure { from, from_minute: 0, to, to_minute: DAY_MINUTES }
    }

    /// Returns the time of the closure. If clocks show a local time twice, the earlier start and the later end count. A
    /// whole date ends where the next one begins. Returns `None` if clocks skip all of the time.
    pub fn span(&self, zone: &Zone) -> Option<Span> {
        let end = match self.to_minute {
            DAY_MINUTES => zone.day(self.to).end,
            minute => zone.resolve(self.to, minute).last(),
        };
        Span::new(zone.resolve(self.from, self.from_minute).first(), end)
    }

    /// Returns `true` if the closure overlaps a span that starts on `first` and ends on `last`.
    pub(crate) fn overlaps(&self, zone: &Zone, span: Span, first: Date, last: Date) -> bool {
        let is_near = self.from <= last.add_days(1) && first <= self.to.add_days(1);
        is_near && self.span(zone).is_some_and(|closed| closed.overlaps(span))
    }
}

/// Parses `HH:MM` into minutes after midnight, up to 23:59.
pub(crate) fn minute_of_day(text: &str) -> Option<u16> {
    let &[h1, h2, b':', m1, m2] = text.as_bytes() else { return None };
    if ![h1, h2, m1, m2].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |tens: u8, ones: u8| u16::from(tens - b'0') * 10 + u16::from(ones - b'0');
    let (hours, minutes) = (number(h1, h2), number(m1, m2));
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// Formats minutes after midnight as `HH:MM`.
pub(crate) fn show_minute(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// Parses a date with an optional time. A missing time is `None`.
fn point(text: &str) -> Option<(Date, Option<u16>)> {
    match text.split_once('T') {
        None => Some((text.parse().ok()?, None)),
        Some((date, "24:00")) => Some((date.parse().ok()?, Some(DAY_MINUTES))),
        Some((date, time)) => Some((date.parse().ok()?, Some(minute_of_day(time)?))),
    }
}

impl FromStr for Closure {
    type Err = String;

    fn from_str(text: &str) -> Result<Closure, String> {
        let malformed = || {
            format!(
                "must be dates such as 2026-12-24, 2026-12-27..2027-01-02 or 2026-12-31T12:00..2027-01-01T12:00, \
                 not {text}"
            )
        };
        let (begin, end) = text.split_once("..").unwrap_or((text, text));
        let ((from, from_minute), (to, to_minute)) = point(begin).zip(point(end)).ok_or_else(malformed)?;
        if !text.contains("..") && from_minute.is_some() {
            return Err(malformed());
        }
        let (from_minute, to_minute) = (from_minute.unwrap_or(0), to_minute.unwrap_or(DAY_MINUTES));
        if (to, to_minute) <= (from, from_minute) {
            return Err(format!("must end after it begins: {text}"));
        }
        Ok(Closure { from, from_minute, to, to_minute })
    }
}

impl fmt::Display for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Closure { from, from_minute, to, to_minute } = *self;
        match (from_minute, to_minute) {
            (0, DAY_MINUTES) if from == to => write!(f, "{from}"),
            (0, DAY_MINUTES) => write!(f, "{from}..{to}"),
            _ => write!(f, "{from}T{}..{to}T{}", show_minute(from_minute), show_minute(to_minute)),
        }
    }
}
