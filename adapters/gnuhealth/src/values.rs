//! Values without a JSON type: `{"__class__": "datetime", ...}`. Datetimes of GNU Health are in UTC without a zone.

use adapter_sdk::{
    money,
    time::{date_of, date_text, day_of, instant_of},
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A time. An unreadable value makes its row unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "__class__", rename = "datetime", try_from = "Value")]
pub struct DateTime {
    year: i64,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    microsecond: u32,
}

/// A date, or the day of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "__class__", rename = "date", try_from = "Value")]
pub struct Date {
    year: i64,
    month: u8,
    day: u8,
}

/// Returns the ISO 8601 text of a datetime, of a date, or of a value that is already text.
fn iso(value: &Value) -> Option<String> {
    let part = |name: &str| value.get(name).map_or(Some(0), Value::as_u64);
    let date = || Some(format!("{:04}-{:02}-{:02}", part("year")?, part("month")?, part("day")?));
    match (value, value.get("__class__").and_then(Value::as_str)) {
        (Value::String(text), _) => Some(text.trim().to_owned()),
        (_, Some("date")) => date(),
        (_, Some("datetime")) => {
            Some(format!("{}T{:02}:{:02}:{:02}", date()?, part("hour")?, part("minute")?, part("second")?))
        }
        _ => None,
    }
}

impl TryFrom<Value> for DateTime {
    type Error = &'static str;

    /// Parses a time. Without a zone it is in UTC.
    fn try_from(value: Value) -> Result<DateTime, &'static str> {
        let text = iso(&value).ok_or("not a time")?;
        let at = instant_of(&text).or_else(|| instant_of(&format!("{text}Z"))).ok_or("not a time")?;
        let microsecond = value["microsecond"].as_u64().and_then(|fraction| fraction.try_into().ok()).unwrap_or(0);
        Ok(DateTime { microsecond, ..DateTime::at(at) })
    }
}

impl TryFrom<Value> for Date {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Date, &'static str> {
        let day = iso(&value).and_then(|text| day_of(&text));
        day.as_deref().and_then(Date::parse).ok_or("not a date")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "__class__", rename = "Decimal")]
pub struct Decimal {
    decimal: String,
}

impl DateTime {
    pub fn at(instant: i64) -> DateTime {
        let (date, second) = (Date::from_days(instant.div_euclid(86_400)), instant.rem_euclid(86_400));
        let part = |seconds: i64, of: i64| u8::try_from(second / seconds % of).unwrap_or_default();
        let Date { year, month, day } = date;
        DateTime { year, month, day, hour: part(3_600, 24), minute: part(60, 60), second: part(1, 60), microsecond: 0 }
    }

    /// Returns the instant; fractions of a second are truncated.
    pub fn instant(&self) -> Option<i64> {
        let DateTime { year, month, day, hour, minute, second, .. } = self;
        instant_of(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
    }
}

impl Date {
    pub fn parse(text: &str) -> Option<Date> {
        date_of(text).map(Date::from_days)
    }

    fn from_days(days: i64) -> Date {
        let text = date_text(days);
        // From the right, because a year may have a sign.
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
    pub fn new(text: impl Into<String>) -> Decimal {
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

/// A boolean: 0 or 1 from SQLite, `false` or `true` from PostgreSQL, null if never set.
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
