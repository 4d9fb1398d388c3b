//! The values JSON has no type for: `{"__class__": "datetime", ...}`. Datetimes of GNU Health are UTC without saying so.

use adapter_sdk::{
    money,
    time::{date_of, date_text, instant_of},
};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "__class__", rename = "datetime")]
pub struct DateTime {
    year: i64,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    microsecond: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "__class__", rename = "date")]
pub struct Date {
    year: i64,
    month: u8,
    day: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "__class__", rename = "Decimal")]
pub struct Decimal {
    decimal: String,
}

impl DateTime {
    pub fn at(instant: i64) -> DateTime {
        let (date, second) = (Date::of_days(instant.div_euclid(86_400)), instant.rem_euclid(86_400));
        let part = |seconds: i64, of: i64| u8::try_from(second / seconds % of).unwrap_or_default();
        let Date { year, month, day } = date;
        DateTime { year, month, day, hour: part(3_600, 24), minute: part(60, 60), second: part(1, 60), microsecond: 0 }
    }

    /// Fractions of a second are cut off.
    pub fn instant(&self) -> Option<i64> {
        let DateTime { year, month, day, hour, minute, second, .. } = self;
        instant_of(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
    }
}

impl Date {
    pub fn of(text: &str) -> Option<Date> {
        date_of(text).map(Date::of_days)
    }

    fn of_days(days: i64) -> Date {
        let text = date_text(days);
        // From the right: a year may have a sign.
        let mut parts = text.rsplitn(3, '-');
        let mut small = || parts.next().and_then(|part| part.parse().ok()).unwrap_or_default();
        let (day, month) = (small(), small());
        Date { year: parts.next().and_then(|part| part.parse().ok()).unwrap_or_default(), month, day }
    }

    pub fn text(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Decimal {
    pub fn of(text: impl Into<String>) -> Decimal {
        Decimal { decimal: text.into() }
    }

    pub fn text(&self) -> &str {
        &self.decimal
    }

    /// See [`money::exact`].
    pub fn exact(&self) -> Option<i128> {
        money::exact(&self.decimal)
    }
}

/// SQLite answers 0 and 1, PostgreSQL false and true; a field nobody ever set is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flag, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Bool(bool),
            Number(i64),
        }
        Ok(Flag(match Option::<Either>::deserialize(deserializer)? {
            Some(Either::Bool(yes)) => yes,
            Some(Either::Number(number)) => number != 0,
            None => false,
        }))
    }
}
